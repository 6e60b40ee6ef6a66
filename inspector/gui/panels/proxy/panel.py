"""The proxy: its address, what is held and for how long, when requests are held, what has passed. What was recorded is
shown by the other panels."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedLayout, QWidget

from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, empty_page, mark, row
from inspector.gui.look.labels import label, tip
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.proxy.hold_box import HoldBox, client_title
from inspector.gui.panels.proxy.rule_row import RuleRow
from inspector.gui.widgets.table import Column, Rows
from inspector.proxy.live_proxy import ExchangeRow
from inspector.workbench.live import Prospect, ProxyView
from inspector.workbench.state import State


def what(one: ExchangeRow) -> str:
    """Who called what: `Claude Code 3f21… messages`."""
    call = one.path.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]
    session = one.session.removeprefix("tag ")[:8]
    return " ".join(word for word in (client_title(one.client), session, one.thread[:8], "·", call or one.path) if word)


def outcome(one: ExchangeRow) -> str:
    """How it went."""
    status = str(one.status) if one.status else ""
    if not one.ended:
        return one.done or "…"
    ended = "" if one.ended == "complete" else one.ended
    return " ".join(word for word in (status, one.done if one.done != "as it was" else "", ended) if word)


COLUMNS: Sequence[Column[ExchangeRow]] = (
    Column("#", lambda one: str(one.exchange), 3, figures=True),
    Column("client and call", what),
    Column("ms", lambda one: f"{one.first_byte_ms:,.0f}" if one.first_byte_ms else "", 4, figures=True),
    Column("answer", outcome, 11),
)


class ProxyPanel(Panel):
    """Every choice goes to the gate at once."""

    TITLE: ClassVar[str] = "Proxy"
    LIVE: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        assert desk.proxies is not None
        proxies = desk.proxies
        self._controller = proxies.controller
        self._brought: set[int] = set()
        self.address = label(role="strong")
        self.to = label(role="quiet", wrap=True)
        self.copy = button("Copy", self._copy, about="Copy the address")
        self.connect_ = button("Connect a client…", proxies.connect, about="The exact lines for each client")
        self.stop = button("Stop", self._controller.stop, about="End the proxy; the recording stays")
        show = self._controller.show_recording
        self.show_recording = button("Show the recording", show, about="It is not what is open")
        self.begin = button("Watch an agent…", proxies.watch, about="Choose the provider, and listen")
        self.rule = RuleRow()
        self.rule.chosen.connect(self._controller.set_rule)
        self.rule.next_one.connect(self._controller.hold_next)
        self.boxes: dict[int, HoldBox] = {}
        self.nothing = label("Nothing is held.", role="quiet")
        self.passed: Rows[ExchangeRow] = Rows("Exchanges", COLUMNS)
        self._rows: Sequence[ExchangeRow] = ()
        self._lay_out()
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._tick)

    def _lay_out(self) -> None:
        held, scroll, page = QWidget(), QScrollArea(), QWidget()
        self._held = column(self.nothing, ..., of=held, gap=6)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(held)
        column(
            row((self.address, 1), self.copy, self.stop),
            self.to,
            row(self.connect_, self.show_recording, ...),
            4,
            label("HOLD A REQUEST", role="caption"),
            self.rule,
            4,
            label("HELD", role="caption"),
            (scroll, 3),
            label("EXCHANGES", role="caption"),
            (self.passed, 2),
            of=page,
            margins=(13, 8, 10, 8),
            gap=5,
        )
        what_for = (
            "A proxy on this machine, between a real agent and its provider: see what the model reads while the agent "
            "works, hold a request, compact or edit it by hand, let it go."
        )
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty_page(what_for, self.begin))
        self._stack.addWidget(page)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def receive(self, state: State) -> None:
        """Seen or not: a request that comes to be held brings it to the front, and the tab tells that there is one."""
        super().receive(state)
        holds = state.proxy.holds if state.proxy is not None else ()
        self.setWindowTitle(f"{self.TITLE} ●" if holds else self.TITLE)
        placed = {hold.id for hold in holds if hold.time}
        if placed - self._brought:
            self.desk.show_panel(self.TITLE)
        self._brought = placed

    def show_state(self, state: State) -> None:
        """The proxy as it stands, and what would become of what it holds."""
        proxy = state.proxy
        listens = proxy is not None and bool(proxy.url)
        self._stack.setCurrentIndex(1 if listens else 0)
        self.begin.setEnabled(proxy is None)
        if proxy is None or not listens:
            self._show_holds(None)
            return
        self.address.setText(proxy.url)
        trouble = f" · {proxy.trouble}" if proxy.trouble else ""
        name = Path(proxy.record).name
        self.to.setText(line(f"to {proxy.upstream}, into {name}{trouble}", 300))
        self.to.setToolTip(tip(proxy.record))
        mark(self.connect_, "role", "" if proxy.rows else "primary")
        self.show_recording.setVisible(not state.proxy_is_open)
        self.rule.show_rule(proxy.rule, proxy.is_next)
        self._show_holds(proxy)
        if proxy.rows is not self._rows:
            self._rows = proxy.rows
            self.passed.show_rows(tuple(reversed(self._rows)))

    def _show_holds(self, proxy: ProxyView | None) -> None:
        holds = proxy.holds if proxy is not None else ()
        for gone in self.boxes.keys() - {hold.id for hold in holds}:
            self.boxes.pop(gone).deleteLater()
        for n, hold in enumerate(holds):
            if hold.id not in self.boxes:
                to = self._controller
                self.boxes[hold.id] = HoldBox(hold, to.look, to.forward, to.compact, to.drop)
                self._held.insertWidget(n, self.boxes[hold.id])
            known = proxy.prospects.get(hold.id) if proxy is not None else None
            self.boxes[hold.id].show_hold(hold, known or Prospect())
        self.nothing.setVisible(not holds)
        if bool(holds) != self._second.isActive():
            self._second.start() if holds else self._second.stop()

    def _tick(self) -> None:
        if self.seen:
            for box in self.boxes.values():
                box.tick()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.address.text())
