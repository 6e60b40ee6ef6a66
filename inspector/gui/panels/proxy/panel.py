"""The proxy: its address, what is held and for how long, when requests are held, what has passed.

How it stands comes from `desk.proxies.proxying`, not from the State; what was recorded is shown by the other panels.
"""

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QStackedLayout, QVBoxLayout, QWidget

from inspector.gui.desk import Desk
from inspector.gui.look.build import empty_page
from inspector.gui.look.labels import label, tip
from inspector.gui.look.visible import line
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.proxy.hold_box import HoldBox
from inspector.gui.panels.proxy.rule_row import RuleRow
from inspector.gui.panels.proxy.words import outcome, what
from inspector.gui.proxies.controller import Proxying
from inspector.gui.widgets.table import Column, Rows
from inspector.proxy.holds.hold import HoldInfo
from inspector.proxy.live_proxy import ExchangeRow
from inspector.workbench.state import State

COLUMNS: Sequence[Column[ExchangeRow]] = (
    Column("#", lambda one: str(one.exchange), 3, figures=True),
    Column("client and call", what),
    Column("ms", lambda one: f"{one.first_byte_ms:,.0f}" if one.first_byte_ms else "", 4, figures=True),
    Column("answer", outcome, 11),
)


class ProxyPanel(Panel):
    """Every choice goes to the gate at once."""

    TITLE: ClassVar[str] = "Proxy"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        assert desk.proxies is not None
        self._proxies = desk.proxies
        self._proxying: Proxying = desk.proxies.proxying
        self.address = label(role="strong")
        self.to = label(role="quiet")
        self.to.setWordWrap(True)
        self.copy = _button("Copy", "Copy the address", self._copy)
        self.connect_ = _button("Connect a client…", "The exact lines for each client", self._proxies.connect)
        self.stop = _button("Stop", "End the proxy; the recording stays", self._proxying.stop)
        self.show_recording = _button("Show the recording", "It is not what is open", self._proxying.show_recording)
        self.rule = RuleRow()
        self.rule.chosen.connect(self._proxying.set_rule)
        self.rule.next_one.connect(self._proxying.hold_next)
        self.boxes: dict[int, HoldBox] = {}
        self.nothing = label("Nothing is held.", role="quiet")
        self.passed: Rows[ExchangeRow] = Rows("Exchanges", COLUMNS)
        self._rows: Sequence[ExchangeRow] = ()
        self._lay_out()
        self._second = QTimer(self, interval=1000)
        self._second.timeout.connect(self._tick)
        self._proxying.changed.connect(self._changed)
        self._proxying.held.connect(self._held)
        self._show()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self.address, 1)
        for button in (self.copy, self.stop):
            head.addWidget(button)
        more = QHBoxLayout()
        for button in (self.connect_, self.show_recording):
            more.addWidget(button)
        more.addStretch()
        held = QWidget()
        self._held_column = QVBoxLayout(held)
        self._held_column.setContentsMargins(0, 0, 0, 0)
        self._held_column.setSpacing(6)
        self._held_column.addWidget(self.nothing)
        self._held_column.addStretch()
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidget(held)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(13, 8, 10, 8)
        column.setSpacing(5)
        column.addLayout(head)
        column.addWidget(self.to)
        column.addLayout(more)
        column.addSpacing(4)
        column.addWidget(label("HOLD A REQUEST", role="caption"))
        column.addWidget(self.rule)
        column.addSpacing(4)
        column.addWidget(label("HELD", role="caption"))
        column.addWidget(self._scroll, 3)
        column.addWidget(label("EXCHANGES", role="caption"))
        column.addWidget(self.passed, 2)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty())
        self._stack.addWidget(page)

    def _empty(self) -> QWidget:
        self.begin = _button("Watch an agent…", "Choose the provider, and listen", self._proxies.watch)
        return empty_page(
            "A proxy on this machine, between a real agent and its provider: see what the model reads while the agent "
            "works, hold a request, compact or edit it by hand, let it go.",
            self.begin,
        )

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Steps may have been taken on what is held."""
        self._show()

    def come_forward(self, in_front: bool) -> None:
        """What passed while it was behind another tab."""
        super().come_forward(in_front)
        if self.seen:
            self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """The same, for the dock as a whole."""
        super().showEvent(event)
        self._show()

    def _changed(self) -> None:
        self.setWindowTitle(f"{self.TITLE} ●" if self._proxying.holds else self.TITLE)
        if self.seen:
            self._show()

    def _held(self, hold: HoldInfo) -> None:
        """Seen or not: it comes to the front."""
        del hold
        self.desk.show_panel(self.TITLE)

    def _show(self) -> None:
        proxying = self._proxying
        watching = proxying.watching
        self._stack.setCurrentIndex(0 if watching is None else 1)
        self.begin.setEnabled(not proxying.active)
        if watching is None:
            return
        self.address.setText(watching.url)
        trouble = f" · {watching.trouble}" if watching.trouble else ""
        self.to.setText(line(f"to {watching.upstream}, into {watching.record.name}{trouble}", 300))
        self.to.setToolTip(tip(str(watching.record)))
        role = "" if proxying.rows else "primary"
        if self.connect_.property("role") != role:
            self.connect_.setProperty("role", role)
            self.connect_.style().polish(self.connect_)
        self.show_recording.setVisible(not proxying.shown)
        self.rule.show_rule(proxying.rule, proxying.is_next)
        self._show_holds(proxying.holds)
        if proxying.rows is not self._rows:
            self._rows = proxying.rows
            self.passed.show_rows(tuple(reversed(self._rows)))

    def _show_holds(self, holds: Sequence[HoldInfo]) -> None:
        for gone in self.boxes.keys() - {hold.id for hold in holds}:
            self.boxes.pop(gone).deleteLater()
        for n, hold in enumerate(holds):
            if hold.id not in self.boxes:
                box = HoldBox(hold, self._proxying.look, self._forward, self._proxying.compact, self._proxying.drop)
                self.boxes[hold.id] = box
                self._held_column.insertWidget(n, box)
            self.boxes[hold.id].show_hold(hold, self._proxying.prospect(hold))
        self.nothing.setVisible(not holds)
        if bool(holds) != self._second.isActive():
            self._second.start() if holds else self._second.stop()

    def _forward(self, hold: HoldInfo, stepped: bool) -> None:
        self._proxying.forward(hold, stepped=stepped)

    def _tick(self) -> None:
        if self.seen:
            for box in self.boxes.values():
                box.tick()

    def _copy(self) -> None:
        if self._proxying.watching is not None:
            QGuiApplication.clipboard().setText(self._proxying.watching.url)


def _button(words: str, what: str, run: object) -> QPushButton:
    made = QPushButton(words)
    made.setToolTip(tip(what))
    made.clicked.connect(lambda: run())  # type: ignore[operator]
    return made
