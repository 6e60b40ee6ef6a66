"""The legend below the tank: every part of the buffer with its colour, its name and its tokens."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import NOT_RECORDED, part_title, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.workbench.pressure.gauge import GaugeReading

_SWATCH, _NAME_LEFT = 9, 18
"""Pixels of a colour, and from the left edge to the name."""
_APART = 8
"""Pixels between a name and its number, at least; a name without room is cut, its hover has all of it."""


class Legend(Guarded, QWidget):
    """The parts in the order of the tank, top down. Hover explains a part.

    A click, or Enter on the row that the arrows walked to, picks it.
    """

    picked = Signal(str)
    """A category, or `unseen`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[tuple[str, str, str], ...] = ()
        """(colour, name, number)."""
        self._parts: tuple[str, ...] = ()
        """The part that each row shows."""
        self._reading: GaugeReading | None = None
        self._at = 0
        """The row that Enter picks."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("What fills the buffer")

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Show this one from now on."""
        self._reading = reading
        count = len(self._rows)
        self._rows, self._parts = (), ()
        if reading is not None:
            colours = self._theme.colours
            parts = [(str(name), colours.categories[name], tokens) for name, tokens in reversed(reading.parts)]
            if reading.unseen:
                parts.append(("unseen", colours.missing, reading.unseen))
            self._parts = tuple(name for name, _, _ in parts)
            self._rows = tuple((colour, part_title(name), grouped(tokens)) for name, colour, tokens in parts)
        self.setAccessibleDescription(", ".join(f"{name} {number}" for _, name, number in self._rows))
        if len(self._rows) != count:
            self.updateGeometry()
        self.update()

    def restyle(self) -> None:
        self.show_reading(self._reading)

    def _pick(self, at: int) -> None:
        if 0 <= at < len(self._rows):
            self._at = at
            self.picked.emit(self._parts[at])

    def _row_at(self, y: float) -> int:
        return int(y) // self._height()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._pick(self._row_at(event.position().y()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick(self._at)
        elif step is not None:
            self._at = max(0, min(self._at + step, len(self._rows) - 1))
            self.update()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.about(event.pos().y())), self)
            return True
        return super().event(event)

    def about(self, y: float) -> str:
        """Explain the part at that height; empty where there is none."""
        at, reading = self._row_at(y), self._reading
        if reading is None or not 0 <= at < len(self._rows):
            return ""
        name = self._rows[at][1]
        likely = f"Most likely: {reading.not_recorded}." if name == NOT_RECORDED else ""
        return explain("difference" if self._parts[at] == "difference" else name, likely)

    def _height(self) -> int:
        return self.fontMetrics().height() + 5

    def sizeHint(self) -> QSize:
        return QSize(200, self._height() * len(self._rows))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self._height() * len(self._rows))

    def paintEvent(self, event: QPaintEvent) -> None:
        colours, high = self._theme.colours, self._height()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        middle = Qt.AlignmentFlag.AlignVCenter
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for at, (colour, name, number) in enumerate(self._rows):
                room = QRectF(0, at * high, self.width(), high)
                if at == self._at and self.hasFocus():
                    painter.fillRect(room, ink(colours.hover))
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(ink(colour))
                painter.drawRoundedRect(QRectF(0, room.top() + (high - _SWATCH) / 2, _SWATCH, _SWATCH), 2, 2)
                room.setLeft(_NAME_LEFT)
                painter.setPen(ink(colours.text))
                painter.setFont(self.font())
                number_width = QFontMetricsF(bold).horizontalAdvance(number) + _APART
                words = self.fontMetrics().elidedText(
                    name, Qt.TextElideMode.ElideRight, int(room.width() - number_width)
                )
                painter.drawText(room, middle, words)
                painter.setFont(bold)
                painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, number)
