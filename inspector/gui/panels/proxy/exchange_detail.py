"""The detail view of an exchange: messages and answer, and beside them headers and bodies as recorded, without keys."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from inspector.core.formats.proxy.whole import WholeExchange
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.words import plural
from inspector.gui.bridge import Bridge
from inspector.gui.look.build import button, column, holding, row, small_button, splitter
from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BOX_GAP, LINE_GAP
from inspector.gui.look.visible import line
from inspector.gui.panels.message.parts import original
from inspector.gui.panels.proxy.exchange_rows import ListedExchange, exchange_status, kind_words
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.transcripts.files import find_exchange


class ExchangeDetail(QWidget):
    """Shows the selected exchange; hidden if none is selected."""

    go_wanted = Signal(object)
    """Emitted when the user wants to go to the request of the exchange."""
    closed = Signal()
    """Emitted when the user closed the exchange."""

    def __init__(self, theme: Theme, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._row: ListedExchange | None = None
        self._path = ""
        self.head = label(role="strong")
        about_go = "Show the buffer and the size of this request (double-click the row)"
        self.go = button("Go to the request", self._ask_to_go, about=about_go)
        self.away = small_button("✕", self._close, name="Close the exchange")
        self.messages = TextReader(theme, "Messages of the exchange", bridge)
        self.raw = TextReader(theme, "Heads and bodies of the exchange")
        left = _captioned("MESSAGES, NEWEST FIRST", self.messages)
        right = _captioned("HEADS AND BODIES, AS RECORDED", self.raw)
        head = row((self.head, 1), self.go, self.away)
        column(head, (splitter(left, right), 1), of=self, margins=(0, BOX_GAP, 0, 0), gap=BOX_GAP)
        self.hide()

    def show_exchange(self, path: str, chosen: ListedExchange) -> None:
        """Show an exchange, which a job reads from the recording at `path`."""
        former = self._row
        former_path = self._path
        self._row = chosen
        self._path = path
        exchange = chosen.what
        request_line = f"{exchange.method} {exchange.path}"
        words = (
            f"{exchange.number:,}",
            request_line,
            exchange_status(exchange),
            kind_words(chosen),
        )
        self.head.setText(line(" · ".join(filter(None, words)), 140))
        self.go.setEnabled(chosen.place.request is not None)
        is_same = former is not None and former.what == exchange and former_path == path
        is_shown = self.isVisible() and is_same
        self.show()
        if not is_shown:
            self._bridge.run(
                lambda task: _sections(path, exchange.line),
                partial(self._show_sections, chosen),
                lambda error: self.raw.text.show_sections((Section(str(error)),)),
            )

    def _show_sections(
        self, chosen: ListedExchange, sections: "tuple[Sequence[Section], Sequence[Section]]"
    ) -> None:
        """Show the messages and the raw exchange, unless another exchange was selected meanwhile."""
        if chosen is self._row:
            self.messages.text.show_sections(sections[0])
            self.raw.text.show_sections(sections[1])

    def _ask_to_go(self) -> None:
        if self._row is not None:
            self.go_wanted.emit(self._row)

    def _close(self) -> None:
        self.forget()
        self.closed.emit()

    def forget(self) -> None:
        """Forget and hide the exchange, because another recording is shown."""
        self._row = None
        self.hide()


def _captioned(caption: str, reader: TextReader) -> QWidget:
    return holding(column(label(caption, role="caption"), (reader, 1), gap=LINE_GAP))


def _sections(path: str, at: int) -> tuple[Sequence[Section], Sequence[Section]]:
    """Return the messages and the raw form of the exchange in line `at` of a recording."""
    exchange = find_exchange(path, at)
    if exchange is None:
        return (), (Section("The recording no longer contains this exchange."),)
    return tuple(_message_sections(exchange)), tuple(_raw_sections(exchange))


def _message_sections(exchange: WholeExchange) -> Iterator[Section]:
    """Yield the answer, then the messages from the newest to the oldest."""
    for message in exchange.answer():
        yield Section(f"answer · {message.role}", original(message))
    messages = exchange.messages()
    if exchange.sent is not None:
        sent = plural(len(exchange.messages(forwarded=False)), "message")
        forwarded = plural(len(messages), "message")
        yield Section(f"the client sent {sent}; the proxy forwarded {forwarded}:")
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        yield Section(f"{index:,} · {message.role}{_tool_names(message)}", original(message))
    if not messages:
        yield Section("no messages: this exchange is not a model call")


def _tool_names(message: Message) -> str:
    names = ", ".join(call.name for call in message.calls)
    return f" · {line(names, 80)}" if names else ""


def _raw_sections(exchange: WholeExchange) -> Iterator[Section]:
    """Yield headers and bodies of request and answer as recorded."""
    request = exchange.request
    response = exchange.response
    request_line = line(f"{request.get('method')} {request.get('path')}", 2_000)
    yield Section("request", f"{request_line}\n{_headers(request)}", "exact")
    yield from _body("request body", request)
    if exchange.sent is not None:
        yield from _body("forwarded instead", exchange.sent)
    if response is None:
        yield Section("no answer yet")
        return
    status_line = f"{response.get('status')} · {response.get('ended')}"
    if response.get("error"):
        status_line += f"\n{response['error']}"
    yield Section("answer", f"{status_line}\n{_headers(response)}", "exact")
    yield from _body("answer body", response)


def _headers(record: Mapping[str, Any]) -> str:
    """Return the headers, one per line."""
    headers = record.get("headers")
    if not isinstance(headers, list):
        return ""
    pairs = [pair for pair in headers if isinstance(pair, list) and len(pair) == 2]
    return "\n".join(f"{line(str(name), 200)}: {line(str(value), 4_000)}" for name, value in pairs)


def _body(heading: str, record: Mapping[str, Any]) -> Iterator[Section]:
    for name in ("body", "frames"):
        if name in record:
            yield Section(heading, dumps(record[name]), "code")
    for name in ("stream", "text", "base64", "left_out"):
        if name in record:
            yield Section(f"{heading} · {name.replace('_', ' ')}", str(record[name]), "exact")
