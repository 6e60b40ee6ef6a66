"""The pressure gauge: the number and its kind, the tank, the legend, and where the window comes from."""

from typing import ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout

from inspector.gui.desk import Desk
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped, percent, signed
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.timeline.line_drag import LineDrag
from inspector.gui.panels.timeline.tank import Tank
from inspector.gui.panels.timeline.tank_words import belief_words
from inspector.gui.widgets.legend import Legend
from inspector.workbench.gauge import GaugeReading, reading
from inspector.workbench.state import State

_KINDS = {
    "reported": "the provider told this number for this call",
    "predicted": "what the provider would report: the last reported number, and what changed since at the rate at "
    "which this session's tokens grew; the band says how far off such predictions were",
    "counted": "counted by a tokenizer: nothing was ever reported in this session",
    "estimated": "an estimate: nothing was ever reported in this session",
    "unknown": "there is nothing to count",
}


LINGER = 800
"""Milliseconds for which the tier that would fire next is still named after another place was chosen."""


class Gauge(Panel):
    """Always visible; reads the State through `workbench.reading`."""

    TITLE: ClassVar[str] = "Pressure"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._ratio = label("–", role="title")
        self._kind = label(role="badge")
        self._tokens = label(role="quiet")
        self._window = label(role="quiet")
        self._next = label(role="quiet")
        self._state = State()
        self._lingers = QTimer(self, singleShot=True, interval=LINGER)
        self._lingers.timeout.connect(self._say_next)
        self._warning = label(role="bad")
        self._estimate = label(role="quiet")
        self.tank = Tank(desk.theme, LineDrag(desk.workbench, self))
        self.legend = Legend(desk.theme)
        for text in (self._tokens, self._next, self._window, self._warning, self._estimate):
            text.setWordWrap(True)
        self.setMinimumWidth(226)
        self._lay_out()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._ratio)
        head.addWidget(self._kind, 0, Qt.AlignmentFlag.AlignVCenter)
        head.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(13, 4, 13, 10)
        column.setSpacing(4)
        column.addLayout(head)
        for widget in (self._tokens, self._next, self._window, self._warning):
            column.addWidget(widget)
        column.addSpacing(6)
        column.addWidget(self.tank, 1)
        column.addSpacing(8)
        column.addWidget(self.legend)
        column.addSpacing(4)
        column.addWidget(self._estimate)

    def show_state(self, state: State) -> None:
        """The reading at the playhead."""
        now = reading(state)
        self.tank.show_reading(now)
        self.legend.show_reading(now)
        self._ratio.setText(percent(now.ratio) if now and now.ratio is not None else "–")
        self._show_kind(now)
        self._tokens.setText(_tokens(now))
        self._state = state
        if now is None or state.previews is not None:
            self._say_next()
        else:  # until it is known again the last word stays for a moment: nothing jumps
            self._lingers.start()
        self._window.setText(_window(now))
        self._estimate.setText(_estimate(now, state.estimator))
        warnings = now.window.warnings if now else ()
        self._warning.setText("\n".join(warnings))
        self._warning.setVisible(bool(warnings))
        _hide_if_empty(self._window, self._tokens, self._estimate, self._next)

    def _say_next(self) -> None:
        self._lingers.stop()
        self._next.setText(_next(self._state))
        _hide_if_empty(self._next)

    def _show_kind(self, now: GaugeReading | None) -> None:
        kind = now.pressure.kind if now else ""
        self._kind.setText(kind)
        self._kind.setVisible(bool(kind))
        self._kind.setToolTip(tip(_KINDS.get(kind, "")))
        if self._kind.property("kind") != kind:
            self._kind.setProperty("kind", kind)
            self._kind.style().polish(self._kind)

    def restyle(self) -> None:
        """The tank keeps colours."""
        self.tank.restyle()
        self.legend.restyle()


def _hide_if_empty(*labels: QLabel) -> None:
    for each in labels:
        each.setVisible(bool(each.text()))


def _tokens(now: GaugeReading | None) -> str:
    if now is None:
        return "nothing open"
    if now.pressure.tokens is None:
        return "no tokens to count"
    whole = f" of {grouped(now.window.tokens)}" if now.window.tokens else ""
    was = f"\n{signed(now.pressure.tokens - now.before)} from {grouped(now.before)}" if now.before is not None else ""
    band = now.pressure.band
    likely = f"\nmost likely {grouped(band[0])} to {grouped(band[1])}" if band is not None else ""
    return f"{grouped(now.pressure.tokens)}{whole} tokens{likely}{was}"


def _next(state: State) -> str:
    """Which tier would fire first; empty while nobody has worked it out."""
    previews = state.previews
    if previews is None or not previews.verdicts:
        return ""
    return f"{previews.next} would fire next" if previews.next else "no tier is due"


_SOURCES = {
    "recorded": "window recorded in the file",
    "inferred": "window inferred from the session",
    "catalogue": "window from the model catalogue",
    "user": "window set by you",
    "unknown": "window unknown: choose one above",
}


def _window(now: GaugeReading | None) -> str:
    return _SOURCES[now.window.source] if now else ""


def _estimate(now: GaugeReading | None, name: str) -> str:
    """What the estimator counts, and what the policy believes, with its error."""
    if now is None:
        return ""
    slope = f" × {now.slope:.2f}" if now.pressure.kind in ("reported", "predicted") else ""
    lines = [f"{name} counts {grouped(now.pressure.estimated)}{slope}"]
    if now.believed is not None:
        lines.append(belief_words(now))
    return "\n".join((*lines, *now.late))
