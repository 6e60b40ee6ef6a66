"""The panel of the proxy and of the span receiver, with the network table.

It shows their addresses, the held requests, the rule that holds requests, and a table of the open session: the
exchanges of a recording, whether or not a proxy still writes to it, or the model calls of another session.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from inspector.core.session import Session
from inspector.core.untyped import digits_of
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.dialogs.ask import ask_new_file
from inspector.gui.live.status import spans_words
from inspector.gui.look.build import (
    button,
    column,
    holding,
    keep_hidden,
    line_field,
    mark,
    row,
    scrolled,
    splitter,
)
from inspector.gui.look.fonts import mono_font
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, CONTROL_GAP, PANEL_INSETS
from inspector.gui.look.visible import line
from inspector.gui.navigation import go_to
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.proxy.bar import END_PROXY, END_RECEIVER
from inspector.gui.panels.proxy.exchange_detail import ExchangeDetail
from inspector.gui.panels.proxy.exchange_rows import ListedExchange, kinds_of, list_exchanges
from inspector.gui.panels.proxy.exchange_table import filtered_table
from inspector.gui.panels.proxy.hold_box import HoldBox
from inspector.gui.proxies.dialog import ClientLines
from inspector.gui.widgets.chips import Chips, flow
from inspector.gui.widgets.small import Elided
from inspector.proxy.holds.hold import HoldInfo, Rule
from inspector.transcripts.saving import save_har
from inspector.workbench.live import Prospect, ProxyView, ReceiverView
from inspector.workbench.state import State
from inspector.workbench.words.live_words import last_promise

OFF, WATERMARK, EACH = "never", "at a watermark", "each request"
_KINDS: dict[str, Literal["off", "watermark", "each"]] = {
    OFF: "off",
    WATERMARK: "watermark",
    EACH: "each",
}
CHOICES = (
    (
        OFF,
        "No request is held. Conversations that you shortened are shortened again; the rest passes byte for byte.",
    ),
    (
        WATERMARK,
        "A request is held when its conversation reaches this share of the window, once more half-way from there to "
        "the full window, and every time from the full window on.",
    ),
    (EACH, "Every request of a conversation is held. Titles, probes and token counts pass."),
)


class RuleRow(QWidget):
    """The controls of the rule that holds requests.

    `chosen` is emitted with a Rule, `next_one` with whether the next request is to be held.
    """

    chosen = Signal(object)
    next_one = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self._rule = Rule()
        self.kind = Chips("Hold", CHOICES)
        self.kind.chosen.connect(lambda word: self._choose(replace(self._rule, kind=_KINDS[word])))
        self.ratio = line_field("Watermark in percent of the window", about="Percent of the window")
        self.ratio.setMaximumWidth(self.fontMetrics().horizontalAdvance("100%") + 34)
        self.ratio.editingFinished.connect(self._take_typed_ratio)
        about = "Size of the model's window in tokens, if it is not known from the model's name"
        self.window_ = line_field("Window in tokens", hint="window as known", about=about)
        self.window_.setMaximumWidth(self.fontMetrics().horizontalAdvance("0") * 18)
        self.window_.editingFinished.connect(self._take_typed_window)
        next_one = "Hold the next request of a conversation, whatever the rule says"
        self.next = button(
            "Hold the next one",
            lambda checked: self.next_one.emit(checked),
            about=next_one,
            checkable=True,
        )
        self.watermark = holding(row(self.ratio, label("of", role="quiet"), self.window_))
        what = label("Hold a request", role="quiet")
        keep_hidden(self, self.kind)
        self.setLayout(flow(what, *self.kind.buttons.values(), self.watermark, self.next))

    def show_rule(self, rule: Rule, is_next: bool) -> None:
        """Show a rule without emitting signals."""
        self._rule = rule
        self.kind.select(next(word for word, kind in _KINDS.items() if kind == rule.kind))
        self.watermark.setVisible(rule.kind == "watermark")
        if not self.ratio.hasFocus():
            self.ratio.setText(f"{round(rule.ratio * 100)}%")
        if not self.window_.hasFocus():
            self.window_.setText(f"{rule.window:,}" if rule.window else "")
        self.next.setChecked(is_next)

    def _take_typed_ratio(self) -> None:
        ratio = digits_of(self.ratio.text().replace("%", "").strip())
        if ratio and ratio <= 150:
            self._choose(replace(self._rule, ratio=ratio / 100))
        self.ratio.setText(f"{round(self._rule.ratio * 100)}%")

    def _take_typed_window(self) -> None:
        typed = digits_of(self.window_.text().replace(",", "").replace(" ", "").strip())
        tokens = typed if typed and typed <= 100_000_000 else None
        if tokens != self._rule.window:
            self._choose(replace(self._rule, window=tokens))

    def _choose(self, rule: Rule) -> None:
        if rule != self._rule:
            self._rule = rule
            self.chosen.emit(rule)


REPLACES = "Open the recording in place of the open file"
LINES = """\
export OTEL_EXPORTER_OTLP_ENDPOINT={}
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"""
"""Lines for a shell. Tracers include messages only if the last line asks for them."""


class ProxyPanel(Panel):
    """The panel of proxy and receiver. Every choice is passed to the gate at once."""

    TITLE: ClassVar[str] = "Proxy"
    LIVE: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        assert desk.proxies is not None
        proxies = desk.proxies
        self._controller = proxies.controller
        self._brought: set[int | str] = set()
        """Held requests (by id) and addresses for which the panel was already brought to the front."""
        self.address, self.copy = _address()
        self.to = label(role="quiet", wrap=True)
        self.connect_ = button(
            "Connect a client…",
            proxies.connect,
            about="Show the exact lines that connect each client",
        )
        self.stop = button("Stop", self._controller.stop, about=END_PROXY)
        show = self._controller.show_recording
        self.show_recording = button("Show the recording", show, about=REPLACES)
        self.begin = button(
            "Watch an agent…", proxies.watch, about="Choose the provider and start the proxy"
        )
        spans = "Receive spans from OpenTelemetry exporters at an address on this machine, without a proxy"
        self.begin_receiving = button("Receive spans", proxies.receive, about=spans)
        self.receiver = ReceiverRow(
            proxies.stop_receiving, lambda: proxies.receiver.show_recording()
        )
        self.rule = RuleRow()
        self.rule.chosen.connect(self._controller.set_rule)
        self.rule.next_one.connect(self._controller.hold_next)
        self.boxes: dict[int, HoldBox] = {}
        self.answered: HoldBox | None = None
        """The box of the request that was forwarded last; None after it was closed."""
        self.clients = ClientLines()
        self.exchanges, self.filter, self.table = filtered_table(desk.theme, desk.bridge)
        self.detail = ExchangeDetail(desk.theme, desk.bridge)
        self.caption = label(role="caption")
        self.says = Elided("quiet")
        self._session: Session | None = None
        self._listing = LatestJob(desk.bridge)
        self._lay_out()
        self._connect_table()
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._tick)

    def _connect_table(self) -> None:
        self.filter.save.clicked.connect(lambda _: self._save_har())
        self.table.chosen.connect(self._look_into)
        self.table.opened.connect(self._go_to)
        self.detail.go_wanted.connect(self._go_to)
        self.detail.closed.connect(self.table.setFocus)

    def _lay_out(self) -> None:
        self.outcome = label(role="quiet", wrap=True)
        self.outcome.hide()
        self._held = column(gap=CHIP_GAP)
        self._holds = scrolled(holding(self._held), "Held requests")
        self._holds.hide()
        head = flow(
            self.address, self.copy, self.connect_, self.show_recording, self.stop, gap=CONTROL_GAP
        )
        self._listening = holding(column(head, self.to, self.rule, gap=CHIP_GAP))
        calls = column(
            row(self.caption, (self.says, 1), gap=CONTROL_GAP), (self.exchanges, 1), gap=BOX_GAP
        )
        self._split = splitter(holding(calls), self.detail, down=True)
        self._elsewhere = label(
            "Another session is open, so this list shows its requests, not the proxy's exchanges.",
            role="quiet",
            wrap=True,
        )
        what_for = (
            "A proxy runs on this machine, between an agent and its provider: see what the model reads while the agent "
            "works, hold a request, compact or edit it, and forward it. If the agent is traced with OpenTelemetry, "
            "receive its spans instead; no proxy is needed."
        )
        words = label(what_for, role="quiet", wrap=True)
        self._begins = holding(
            column(words, row(self.begin, self.begin_receiving, ...), gap=CHIP_GAP)
        )
        heads = (
            self._begins,
            self.receiver,
            self._listening,
            self._holds,
            self.outcome,
            self._elsewhere,
        )
        tables = ((table, 1) for table in (self.clients, self._split))
        column(*heads, *tables, of=self, margins=PANEL_INSETS, gap=CONTROL_GAP)

    def receive(self, state: State) -> None:
        """Bring the panel to the front for a new address or held request, and mark its tab while a request is held."""
        super().receive(state)
        holds = state.proxy.holds if state.proxy is not None else ()
        self.setWindowTitle(f"{self.TITLE} ●" if holds else self.TITLE)
        if state.session is None:
            return  # nothing can be brought to the front before the recording is open
        current = {hold.id for hold in holds if hold.time} | {
            view.url for view in (state.proxy, state.receiver) if view is not None and view.url
        }
        if current - self._brought:
            self.desk.show_panel(self.TITLE)
        self._brought = current

    def show_state(self, state: State) -> None:
        """Show the proxy with its held requests, the receiver, and the exchanges or model calls of the session."""
        session = state.session
        proxy = state.proxy if state.proxy is not None and state.proxy.url else None
        receiver = state.receiver if state.receiver is not None and state.receiver.url else None
        is_recording = session is not None and session.format == "proxy"
        has_exchanges = is_recording and session is not None and bool(session.exchanges)
        self._begins.setVisible(proxy is None and receiver is None and not has_exchanges)
        self.begin.setEnabled(state.proxy is None)
        self.begin_receiving.setEnabled(state.receiver is None)
        self.receiver.setVisible(receiver is not None)
        if receiver is not None:
            self.receiver.show_receiver(receiver, state.receiver_is_open)
        self._listening.setVisible(proxy is not None)
        self.clients.setVisible(proxy is not None and state.proxy_is_open and not has_exchanges)
        self._split.setVisible(not self.clients.isVisibleTo(self))
        self._elsewhere.setVisible(proxy is not None and not is_recording)
        if proxy is not None:
            self._show_proxy(proxy, state, has_exchanges)
        self._show_holds(proxy)
        if session is not self._session:
            self._show_session(session)
        self._show_place(state)

    def _show_proxy(self, proxy: ProxyView, state: State, has_exchanges: bool) -> None:
        self.address.setText(proxy.url)
        trouble = f" · {proxy.trouble}" if proxy.trouble else ""
        name = Path(proxy.record).name
        self.to.setText(line(f"Forwards to {proxy.upstream}, records into {name}{trouble}", 300))
        self.to.setToolTip(tip(proxy.record))
        self.clients.show_url(proxy.url)
        mark(self.connect_, "role", "" if has_exchanges else "primary")
        self.show_recording.setVisible(not state.proxy_is_open)
        self.rule.show_rule(proxy.rule, proxy.is_next)

    def _show_holds(self, proxy: ProxyView | None) -> None:
        holds = proxy.holds if proxy is not None else ()
        for gone in self.boxes.keys() - {hold.id for hold in holds}:
            box = self.boxes.pop(gone)
            if (focus := QApplication.focusWidget()) is not None and box.isAncestorOf(focus):
                self.table.setFocus()  # otherwise Qt would give it to the window's first widget
            self._keep_answered(box)
        if holds:
            self._forget_answered()
        for index, hold in enumerate(holds):
            if hold.id not in self.boxes:
                self.boxes[hold.id] = HoldBox(hold, self._look_at, self._controller)
                self._held.insertWidget(index, self.boxes[hold.id])
            prospect = proxy.prospects.get(hold.id) if proxy is not None else None
            self.boxes[hold.id].show_hold(hold, prospect or Prospect())
        self._holds.setVisible(bool(holds) or self.answered is not None)
        self.fit()
        if bool(holds) != self._second.isActive():
            self._second.start() if holds else self._second.stop()

    def _keep_answered(self, box: HoldBox) -> None:
        """Keep the box of a request that was forwarded here until the next one is held, so that its report can be
        read.
        """
        if box.taken is None:
            box.deleteLater()
            return
        self._forget_answered()
        self.answered = box
        box.show_taken()
        box.close_.clicked.connect(self._close_answered)
        self._show_report()

    def _forget_answered(self) -> None:
        if self.answered is not None:
            self.answered.deleteLater()
            self.answered = None

    def _close_answered(self) -> None:
        self._forget_answered()
        self._holds.setVisible(bool(self.boxes))
        self.table.setFocus()
        self.fit()

    def _show_report(self) -> None:
        """Show the tokens that the recording reports for the request that was forwarded last."""
        if self.answered is None or self._session is None:
            return
        number = self.answered.hold.exchange
        found = (each for each in reversed(self._session.exchanges) if each.number == number)
        exchange = next(found, None)
        if exchange is not None and exchange.usage is not None:
            self.answered.show_report(exchange.usage.prompt)

    def _look_at(self, hold: HoldInfo) -> None:
        self._controller.look(hold)
        self.desk.show_panel("Buffer")

    def fit(self) -> None:
        """Set the height of the held requests: one box is fully visible, several boxes get at most half of the
        panel.
        """
        width = max(1, self._holds.viewport().width())
        answered = [] if self.answered is None else [self.answered]
        heights = [box.heightForWidth(width) for box in (*self.boxes.values(), *answered)]
        gaps = 6 * max(0, len(heights) - 1)
        needed = sum(heights) + gaps
        most = max(self.height() // 2, max(heights, default=0))
        style_border = self._holds.height() - self._holds.contentsRect().height()
        self._holds.setFixedHeight(style_border + min(most, needed))

    # -- what has passed -----------------------------------------------------------------------------------------------

    @property
    def _is_recording(self) -> bool:
        return self._session is not None and self._session.format == "proxy"

    def _show_session(self, session: Session | None) -> None:
        """Show the exchanges or calls of a session. If the session grows, new ones are added as they are written."""
        if session is None or self._session is None or session.path != self._session.path:
            self._listing.cancel()  # otherwise its rows would appear as those of this session
            self.detail.forget()
            self.table.show_rows([])
            self.says.show_text("")
            say(self.outcome, "")
        self._session = session
        self._show_report()
        self.caption.setText("EXCHANGES" if self._is_recording else "REQUESTS")
        self.table.empty = (
            "" if session is not None else "Open a transcript to see its requests here."
        )
        self.filter.save.setVisible(self._is_recording)
        if session is not None and not self._listing.busy:
            self._list(session)

    def _list(self, session: Session) -> None:
        def work() -> tuple[list[ListedExchange], Collection[str], str]:
            rows = list_exchanges(session)
            return rows, kinds_of(rows), last_promise(session) if session.format == "proxy" else ""

        def done(result: tuple[list[ListedExchange], Collection[str], str]) -> None:
            rows, kinds, promise = result
            say(self.outcome, promise)
            self.filter.offer(kinds)
            self.filter.text.setVisible(bool(rows))
            self.table.show_rows(rows)
            self._show_place(self.desk.workbench.state)
            click = "see what was sent and received" if self._is_recording else "go to its request"
            count = plural(len(rows), "exchange" if self._is_recording else "request")
            self.says.show_text(
                f"{count}. Click a row to {click}; double-click it to read its buffer."
            )
            self.table.empty = "No row matches the filter." if rows else "No request is recorded."
            if self._session is not session and self._session is not None:
                self._list(self._session)

        self._listing.run(lambda task: work(), done)

    def _show_place(self, state: State) -> None:
        """Select the row of the current request, if a click on a row moves the playhead."""
        if not self._is_recording:
            self.table.show_place(state.thread_id, state.at)

    def _look_into(self, chosen: ListedExchange) -> None:
        if self._session is None:
            return
        if not self._is_recording:
            if chosen.place.request is not None:
                go_to(self.desk.workbench, chosen.place.thread, chosen.place.request, "")
            return
        if not self.detail.isVisible():
            self._split.setSizes([self._split.height() // 2, self._split.height() // 2])
        self.detail.show_exchange(self._session.path, chosen)

    def _go_to(self, chosen: ListedExchange) -> None:
        if chosen.place.request is None:
            self.desk.say(
                f"This {chosen.place.kind or 'exchange'} belongs to no conversation, so it has no buffer."
            )
            return
        go_to(self.desk.workbench, chosen.place.thread, chosen.place.request, "")
        self.desk.show_panel("Buffer")

    def _save_har(self) -> None:
        session = self._session
        if session is None:
            return
        name = f"{Path(session.path).stem}.har"
        path = ask_new_file(
            self, self.desk.settings, title="Save as HAR", name=name, kinds="HTTP archives (*.har)"
        )
        if not path:
            return
        words = f"{plural(len(session.exchanges), 'exchange')} written to {Path(path).name}."
        self.desk.bridge.run(
            lambda task: save_har(session, path, force=True),
            lambda _: self.desk.say(words),
            lambda error: self.desk.say(str(error)),
        )

    def _tick(self) -> None:
        if self.seen:
            for box in self.boxes.values():
                box.tick()


class ReceiverRow(QWidget):
    """The address and connection lines of the span receiver, shown while it is listening."""

    def __init__(self, stop: Callable[[], None], show: Callable[[], None]) -> None:
        super().__init__()
        self.address, self.copy = _address()
        self.says = label(role="quiet", wrap=True)
        self.show_recording = button("Show the recording", show, about=REPLACES)
        self.stop = button("Stop", stop, about=END_RECEIVER)
        self.lines = label(wrap=True)
        self.lines.setFont(mono_font())
        self.copy_lines = _copy_button(self.lines, "Copy the lines for a shell")
        self.how = QWidget()
        ask = label(
            "No span received yet. Enter these lines in a shell, then start the traced agent there:",
            role="quiet",
            wrap=True,
        )
        lines = row((self.lines, 1), self.copy_lines, gap=CONTROL_GAP)
        column(ask, lines, of=self.how, gap=CHIP_GAP)
        head = flow(self.address, self.copy, self.show_recording, self.stop, gap=CONTROL_GAP)
        column(head, self.says, self.how, of=self, gap=CHIP_GAP)

    def show_receiver(self, view: ReceiverView, is_open: bool) -> None:
        """Show the address, the number of received spans, and how to connect a client."""
        self.address.setText(view.url)
        self.says.setText(line(spans_words(view), 300))
        self.says.setToolTip(tip(view.record))
        self.show_recording.setVisible(not is_open)
        self.lines.setText(LINES.format(view.url))
        self.how.setVisible(not view.spans)


def _address() -> tuple[QLabel, QPushButton]:
    address = label(role="title")
    address.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return address, _copy_button(address, "Copy the address")


def _copy_button(source: QLabel, about: str) -> QPushButton:
    return button("Copy", lambda: QGuiApplication.clipboard().setText(source.text()), about=about)
