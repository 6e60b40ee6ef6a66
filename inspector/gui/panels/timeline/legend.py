"""The legend below the gauge: each part of the buffer with its colour, name and tokens."""

from typing import NamedTuple

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.words import NOT_RECORDED, part_title
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.chart import bold_font, paint_rounded
from inspector.workbench.pressure.gauge import GaugeReading

_SWATCH, _NAME_LEFT = 9, 18
"""Pixels of a colour swatch, and from the left edge to the name."""
_APART = 8
"""Minimum pixels between a name and its number. A name that does not fit is cut; its tooltip has the full name."""


class LegendRow(NamedTuple):
    """What a row of the legend shows."""

    colour: str
    name: str
    number: str


class Legend(Guarded, QWidget):
    """The legend of the gauge: the parts in the order of the gauge, from the top, each with a tooltip.

    A click selects a part, and so does Enter on the row that the arrow keys moved to.
    """

    picked = Signal(str)
    """Emitted with the selected category, or `unseen`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[LegendRow, ...] = ()
        self._parts: tuple[str, ...] = ()
        """The part that each row shows."""
        self._reading: GaugeReading | None = None
        self._at = 0
        """The row that Enter selects."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("What fills the buffer")

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Show the parts of a reading; None: clear the legend."""
        self._reading = reading
        count = len(self._rows)
        parts = self._parts_of(reading) if reading is not None else []
        self._parts = tuple(name for name, _, _ in parts)
        self._rows = tuple(
            LegendRow(colour, part_title(name), grouped(tokens)) for name, colour, tokens in parts
        )
        self.setAccessibleDescription(
            ", ".join(f"{name} {number}" for _, name, number in self._rows)
        )
        if len(self._rows) != count:
            self.updateGeometry()
        self.update()

    def _parts_of(self, reading: GaugeReading) -> list[tuple[str, str, int]]:
        """Return (name, colour, tokens) of each part, from the top of the gauge."""
        colours = self._theme.colours
        parts = [
            (str(name), colours.categories[name], tokens)
            for name, tokens in reversed(reading.parts)
        ]
        if reading.unseen:
            parts.append(("unseen", colours.missing, reading.unseen))
        return parts

    def restyle(self) -> None:
        self.show_reading(self._reading)

    def _pick(self, at: int) -> None:
        """Select the part of a row, if the row exists."""
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
        """Return the tooltip of the part at a pixel row; empty if there is none."""
        place = self._row_at(y)
        reading = self._reading
        if reading is None or not 0 <= place < len(self._rows):
            return ""
        if self._parts[place] == "difference":
            return explain("difference")
        name = self._rows[place].name
        likely = f"Most likely: {reading.not_recorded}." if name == NOT_RECORDED else ""
        return explain(name, likely)

    def _height(self) -> int:
        return self.fontMetrics().height() + 5

    def sizeHint(self) -> QSize:
        return QSize(200, self._height() * len(self._rows))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self._height() * len(self._rows))

    def paintEvent(self, event: QPaintEvent) -> None:
        high = self._height()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for index, (colour, name, number) in enumerate(self._rows):
                room = QRectF(0, index * high, self.width(), high)
                if index == self._at and self.hasFocus():
                    painter.fillRect(room, ink(self._theme.colours.hover))
                swatch = QRectF(0, room.top() + (high - _SWATCH) / 2, _SWATCH, _SWATCH)
                paint_rounded(painter, room=swatch, colour=colour, radius=2)
                room.setLeft(_NAME_LEFT)
                self._paint_words(painter, room, name, number)

    def _paint_words(self, painter: QPainter, room: QRectF, name: str, number: str) -> None:
        """Paint the name of a part, cut to the room beside its number, and the number."""
        bold = bold_font(self.font())
        middle = Qt.AlignmentFlag.AlignVCenter
        number_width = QFontMetricsF(bold).horizontalAdvance(number) + _APART
        name_width = int(room.width() - number_width)
        painter.setPen(ink(self._theme.colours.text))
        painter.setFont(self.font())
        painter.drawText(
            room,
            middle,
            self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, name_width),
        )
        painter.setFont(bold)
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, number)
