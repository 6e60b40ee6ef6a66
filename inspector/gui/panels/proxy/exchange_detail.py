"""One exchange in full: what the client sent and what came back as messages, and beside it heads and bodies as they
were recorded, keys taken out."""

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
from inspector.gui.look.visible import line
from inspector.gui.panels.message.parts import original
from inspector.gui.panels.proxy.exchange_rows import ListedExchange, kind_words, status_words
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.reader import TextReader
from inspector.transcripts.files import find_exchange


class ExchangeDetail(QWidget):
    """Hidden while none is chosen. `wanted`: its request is to be stood at; `closed`: put away by hand."""

    wanted = Signal(object)
    closed = Signal()

    def __init__(self, theme: Theme, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._row: ListedExchange | None = None
        self._path = ""
        self.head = label(role="strong")
        self.go = button("Go to the request", self._go, about="Stand at it: its buffer, its size (a double click)")
        self.away = small_button("✕", self._close, name="Close the exchange")
        self.said = TextReader(theme, "Messages of the exchange", bridge)
        self.raw = TextReader(theme, "Heads and bodies of the exchange")
        captions = (("MESSAGES, NEWEST FIRST", self.said), ("HEADS AND BODIES, AS RECORDED", self.raw))
        sides = splitter(*(holding(column(label(words, role="caption"), (one, 1), gap=2)) for words, one in captions))
        column(row((self.head, 1), self.go, self.away), (sides, 1), of=self, margins=(0, 4, 0, 0), gap=4)
        self.hide()

    def show_exchange(self, path: str, chosen: ListedExchange) -> None:
        """It is read from the recording, off the GUI thread."""
        same = self._row is not None and path == self._path and chosen.what == self._row.what and self.isVisible()
        self._row, self._path = chosen, path
        one = chosen.what
        words = (f"{one.number:,}", f"{one.method} {one.path}", status_words(one), kind_words(chosen))
        self.head.setText(line(" · ".join(word for word in words if word), 140))
        self.go.setEnabled(chosen.place.request is not None)
        self.show()
        if not same:
            self._bridge.run(
                lambda task: _sections(path, one.line),
                partial(self._read, chosen),
                lambda error: self.raw.text.show_sections((Section(str(error)),)),
            )

    def _read(self, chosen: ListedExchange, found: "tuple[Sequence[Section], Sequence[Section]]") -> None:
        if chosen is self._row:
            for reader, sections in zip((self.said, self.raw), found, strict=True):
                reader.text.show_sections(sections)

    def _go(self) -> None:
        if self._row is not None:
            self.wanted.emit(self._row)

    def _close(self) -> None:
        self.forget()
        self.closed.emit()

    def forget(self) -> None:
        """Another recording: none is chosen."""
        self._row = None
        self.hide()


def _sections(path: str, at: int) -> tuple[Sequence[Section], Sequence[Section]]:
    one = find_exchange(path, at)
    if one is None:
        return (), (Section("It does not stand in the recording any more."),)
    return tuple(_said(one)), tuple(_raw(one))


def _said(one: WholeExchange) -> Iterator[Section]:
    for message in one.answer():
        yield Section(f"answer · {message.role}", original(message))
    messages = one.messages()
    if one.sent is not None:
        sent = plural(len(one.messages(forwarded=False)), "message")
        yield Section(f"the client sent {sent}; {plural(len(messages), 'message')} went on:")
    for n in range(len(messages) - 1, -1, -1):
        yield Section(f"{n:,} · {messages[n].role}{_calls(messages[n])}", original(messages[n]))
    if not messages:
        yield Section("no messages: it is no call of a model")


def _calls(message: Message) -> str:
    names = ", ".join(call.name for call in message.calls)
    return f" · {line(names, 80)}" if names else ""


def _raw(one: WholeExchange) -> Iterator[Section]:
    head = f"{one.request.get('method')} {one.request.get('path')}"
    yield Section("request", f"{line(head, 2_000)}\n{_head(one.request)}", "exact")
    yield from _body("request body", one.request)
    if one.sent is not None:
        yield from _body("forwarded instead", one.sent)
    if one.response is None:
        yield Section("no answer yet")
        return
    error = f"\n{one.response['error']}" if one.response.get("error") else ""
    yield Section(
        "answer", f"{one.response.get('status')} · {one.response.get('ended')}{error}\n{_head(one.response)}", "exact"
    )
    yield from _body("answer body", one.response)


def _head(record: Mapping[str, Any]) -> str:
    found = record.get("headers")
    pairs = [pair for pair in found if isinstance(pair, list) and len(pair) == 2] if isinstance(found, list) else []
    return "\n".join(f"{line(str(name), 200)}: {line(str(value), 4_000)}" for name, value in pairs)


def _body(heading: str, record: Mapping[str, Any]) -> Iterator[Section]:
    for name in ("body", "frames"):
        if name in record:
            yield Section(heading, dumps(record[name]), "code")
    for name in ("stream", "text", "base64", "left_out"):
        if name in record:
            yield Section(f"{heading} · {name.replace('_', ' ')}", str(record[name]), "exact")
