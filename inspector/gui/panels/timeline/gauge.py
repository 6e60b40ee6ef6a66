"""The pressure gauge: the number and its kind, the tank, the legend, and where the window comes from."""

from typing import ClassVar

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.core.words import per_cent
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, delayed, mark, row
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import NOT_IN_FILE, label, say, tip
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.timeline.line_drag import LineDrag
from inspector.gui.panels.timeline.tank import Tank, belief_words, spoken_pressure
from inspector.workbench.gauge import GaugeReading, reading
from inspector.workbench.state import State

_KINDS = {
    "reported": "the provider reported this number for this call",
    "predicted": "what the provider would report: the last reported number, and what changed since at the rate at "
    "which this session's tokens grew; the band says how far off such predictions were",
    "counted": "counted by a tokenizer: nothing was ever reported in this session",
    "estimated": "an estimate: nothing was ever reported in this session",
    "unknown": "there is nothing to count",
}

NARROW, FIGURES = 226, 24
"""Least width, in pixels and in figures."""
LINGER = 800
"""Milliseconds for which the tier that would fire next is still named after another place was chosen."""


class Gauge(Panel):
    """Always visible; reads the State through `workbench.gauge.reading`."""

    TITLE: ClassVar[str] = "Pressure"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._ratio = label("–", role="title")
        self._kind = label(role="badge")
        self._tokens, self._window, self._next, self._estimate = (label(role="quiet", wrap=True) for _ in range(4))
        self._warning = label(role="bad", wrap=True)
        self._state = State()
        self._lingers = delayed(self, LINGER, self._say_next)
        self.tank = Tank(desk.theme, LineDrag(desk.workbench, self))
        self.legend = Legend(desk.theme)
        self.legend.picked.connect(self._look_into)
        self.restyle()
        head = row(self._ratio, self._kind, ..., gap=8)
        head.setAlignment(self._kind, Qt.AlignmentFlag.AlignVCenter)
        words = (self._tokens, self._next, self._window, self._warning)
        shown = ((self.tank, 1), 8, self.legend, 4, self._estimate)
        column(head, *words, 6, *shown, of=self, margins=(13, 4, 13, 10), gap=4)

    def show_state(self, state: State) -> None:
        now = reading(state)
        self.tank.show_reading(now)
        self.legend.show_reading(now)
        self.setAccessibleDescription(spoken_pressure(now))
        self._ratio.setText(_headline(now))
        self._show_kind(now)
        self._state = state
        if now is None or state.previews is not None:
            self._say_next()
        else:  # until it is known again the last word stays for a moment: nothing jumps
            self._lingers.start()
        say(self._tokens, _tokens(now))
        say(self._window, _SOURCES[now.window.source] if now else "")
        say(self._estimate, _estimate(now, state.estimator))
        say(self._warning, "\n".join(now.window.warnings) if now else "")

    def _look_into(self, category: str) -> None:
        """The breakdown with that category chosen; it reduces the buffer list as soon as it knows the messages."""
        self.desk.workbench.look_into((category,))
        self.desk.show_panel("Breakdown")

    def _say_next(self) -> None:
        self._lingers.stop()
        say(self._next, _next(self._state))

    def _show_kind(self, now: GaugeReading | None) -> None:
        kind = now.pressure.kind if now else ""
        say(self._kind, kind)
        self._kind.setToolTip(tip(_KINDS.get(kind, "")))
        mark(self._kind, "kind", kind)

    def restyle(self) -> None:
        super().restyle()
        self.setMinimumWidth(max(NARROW, FIGURES * self.fontMetrics().horizontalAdvance("0")))


def _headline(now: GaugeReading | None) -> str:
    """The share of the window; of an unknown window the tokens."""
    if now is None or now.pressure.tokens is None:
        return "–"
    return grouped(now.pressure.tokens) if now.ratio is None else per_cent(now.ratio, 1)


def _tokens(now: GaugeReading | None) -> str:
    if now is None:
        return "nothing open"
    if now.pressure.tokens is None:
        return "no tokens to count"
    whole = f" of {grouped(now.window.tokens)}" if now.window.tokens else ""
    was = _change(now.pressure.tokens, now.before)
    band = now.pressure.band
    likely = f"\nmost likely {grouped(band[0])} to {grouped(band[1])}" if band is not None else ""
    count = f"{grouped(now.pressure.tokens)}{whole} " if now.ratio is not None else ""  # the headline says it
    return f"{count}tokens{likely}{was}"


def _change(tokens: int, before: int | None) -> str:
    """What our steps made of it, on a line of its own."""
    if before is None:
        return ""
    return f"\n{signed(tokens - before)} from {grouped(before)}" if tokens != before else "\nas before the step"


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


def _estimate(now: GaugeReading | None, name: str) -> str:
    """What the estimator counts, and what the policy believes, with its error."""
    if now is None:
        return ""
    slope = f" × {now.slope:.2f}" if now.pressure.estimated and now.pressure.kind in ("reported", "predicted") else ""
    lines = [f"{name} counts {grouped(now.pressure.estimated)}{slope}"]
    if now.believed is not None:
        lines.append(belief_words(now))
        lines += ["by its own count till the next report, without system prompt and tools"] * now.by_itself
    return "\n".join((*lines, *now.late))


class Legend(Guarded, QWidget):
    """Every part of the buffer with its colour, its name and its tokens, in the order of the tank, top down.

    A click, or Enter on the row that the arrows walked to, picks a part.
    """

    picked = Signal(str)
    """A category, or `unseen`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[tuple[str, str, str], ...] = ()
        """(colour, name, number)."""
        self._reading: GaugeReading | None = None
        self._at = 0
        """The row that Enter picks."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("What fills the buffer")

    def _pick(self, at: int) -> None:
        if 0 <= at < len(self._rows):
            self._at = at
            self.picked.emit("unseen" if self._rows[at][1] == NOT_IN_FILE else self._rows[at][1])

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._pick(int(event.position().y()) // self._height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick(self._at)
        elif step is not None:
            self._at = max(0, min(self._at + step, len(self._rows) - 1))
            self.update()
        else:
            super().keyPressEvent(event)

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Show this one from now on."""
        self._reading = reading
        count = len(self._rows)
        self._rows = ()
        if reading is not None:
            c = self._theme.colours
            parts = [(c.categories[name], str(name), grouped(tokens)) for name, tokens in reversed(reading.parts)]
            parts += [(c.missing, NOT_IN_FILE, grouped(reading.unseen))] * bool(reading.unseen)
            self._rows = tuple(parts)
        self.setAccessibleDescription(", ".join(f"{name} {number}" for _, name, number in self._rows))
        if len(self._rows) != count:
            self.updateGeometry()
        self.update()

    def restyle(self) -> None:
        self.show_reading(self._reading)

    def _height(self) -> int:
        return self.fontMetrics().height() + 4

    def sizeHint(self) -> QSize:
        return QSize(200, self._height() * len(self._rows))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height() * len(self._rows))

    def paintEvent(self, event: QPaintEvent) -> None:
        colours, high = self._theme.colours, self._height()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        middle = Qt.AlignmentFlag.AlignVCenter
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for n, (colour, name, number) in enumerate(self._rows):
                room = QRectF(0, n * high, self.width(), high)
                if n == self._at and self.hasFocus():
                    painter.fillRect(room, ink(colours.hover))
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(ink(colour))
                painter.drawRoundedRect(QRectF(0, room.top() + (high - 9) / 2, 9, 9), 2.5, 2.5)
                room.setLeft(17)
                painter.setPen(ink(colours.quiet))
                painter.setFont(self.font())
                painter.drawText(room, middle, name)
                painter.setPen(ink(colours.text))
                painter.setFont(bold)
                painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, number)
