"""The legend of the timeline: every colour of the plot with its name. A click on an entry hides its area or curve."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line

SWATCH, STROKE = 9, 18
"""Width in pixels of a colour swatch, and of a line sample."""
SPACE, APART = 6, 14
"""Pixels between a swatch and its name, and between two entries."""
ROW_HEIGHT = 22
LONGEST = 24
"""Maximum number of characters of a name."""


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """An entry of the legend: a colour and its name."""

    name: str
    """The name by which the area or curve is hidden."""
    title: str
    colour: str
    stroke: Qt.PenStyle | None = None
    """How the curve is drawn; None for an area."""


CURVE_NAMES = {"reported": "reported", "unreported": "predicted", "believed": "own count"}
"""Titles of the timeline's curves, by name."""


def list_curves(colours: Colours) -> list[LegendEntry]:
    """Return an entry for each curve."""
    entries = list[LegendEntry]()
    for name, title in CURVE_NAMES.items():
        colour = colours.missing if name == "believed" else colours.accent
        stroke = Qt.PenStyle.DashLine if name == "unreported" else Qt.PenStyle.SolidLine
        entries.append(LegendEntry(name, title, colour, stroke=stroke))
    return entries


class PlotLegend(Guarded, QWidget):
    """The entries from left to right, in as many rows as needed. Left, Right and Space control it from the keyboard."""

    toggled = Signal(str)
    """Emitted with the name of the entry that was clicked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.entries: tuple[LegendEntry, ...] = ()
        self.hidden: set[str] = set()
        self._at = 0
        """Index of the entry that Space hides or shows."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Legend of the timeline")

    def show_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Replace the entries."""
        if tuple(entries) != self.entries:
            self.entries = tuple(entries)
            self._at = 0
            self._describe()
            self.updateGeometry()

    def hide_names(self, names: set[str]) -> None:
        """Strike out exactly the entries with these names."""
        self.hidden = set(names)
        self._describe()

    def _describe(self) -> None:
        words = [
            entry.title + (" (hidden)" if entry.name in self.hidden else "")
            for entry in self.entries
        ]
        self.setAccessibleDescription(", ".join(words))
        self.update()

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @property
    def _font(self) -> QFont:
        return ui_font(self._theme.small)

    def _width_of(self, entry: LegendEntry) -> float:
        sign = SWATCH if entry.stroke is None else STROKE
        return (
            sign + SPACE + QFontMetricsF(self._font).horizontalAdvance(line(entry.title, LONGEST))
        )

    @property
    def full_width(self) -> int:
        """Width in pixels of all entries in one row."""
        return round(sum(self._width_of(entry) + APART for entry in self.entries))

    @property
    def row_height(self) -> int:
        """Height of a row in pixels."""
        return max(ROW_HEIGHT, round(QFontMetricsF(self._font).height()) + 4)

    def rooms(self, width: int) -> list[QRectF]:
        """Return the rectangle of each entry in a legend of `width` pixels."""
        rooms = list[QRectF]()
        x = 0.0
        y = 0
        for entry in self.entries:
            wide = self._width_of(entry)
            if x > 0 and x + wide > width:
                x, y = 0.0, y + self.row_height
            rooms.append(QRectF(x, y, wide, self.row_height))
            x += wide + APART
        return rooms

    def height_in(self, width: int) -> int:
        """Return the height in pixels that all entries need in a legend of `width` pixels."""
        rooms = self.rooms(width)
        return round(rooms[-1].bottom()) if rooms else self.row_height

    def sizeHint(self) -> QSize:
        return QSize(self.full_width, self.row_height)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.row_height)

    # -- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._theme.colours
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for index, (entry, room) in enumerate(
                zip(self.entries, self.rooms(self.width()), strict=True)
            ):
                is_hidden = entry.name in self.hidden
                self._paint_sign(painter, entry, room, is_hidden)
                font = QFont(self._font)
                font.setStrikeOut(is_hidden)
                painter.setFont(font)
                painter.setPen(ink(colours.quiet if is_hidden else colours.text))
                words = room.adjusted((SWATCH if entry.stroke is None else STROKE) + SPACE, 0, 2, 0)
                painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, line(entry.title, LONGEST))
                if index == self._at and self.hasFocus():
                    painter.setPen(QPen(ink(colours.accent), 1))
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    painter.drawRoundedRect(room.adjusted(-3, 1, 4, -1), 3, 3)

    def _paint_sign(
        self, painter: QPainter, entry: LegendEntry, room: QRectF, is_hidden: bool
    ) -> None:
        middle = room.center().y()
        if entry.stroke is not None:
            painter.setPen(QPen(ink(entry.colour), 1.8, entry.stroke, Qt.PenCapStyle.FlatCap))
            painter.drawLine(QPointF(room.left(), middle), QPointF(room.left() + STROKE, middle))
            return
        painter.setPen(QPen(ink(entry.colour), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush if is_hidden else ink(entry.colour))
        swatch = QRectF(room.left() + 0.5, middle - SWATCH / 2, SWATCH - 1, SWATCH - 1)
        painter.drawRoundedRect(swatch, 2, 2)

    # -- mouse and keys ------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Hide or show the entry under the mouse."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        rooms = self.rooms(self.width())
        place = next(
            (
                index
                for index, room in enumerate(rooms)
                if room.adjusted(-4, 0, 4, 0).contains(event.position())
            ),
            None,
        )
        if place is not None:
            self._at = place
            self.toggled.emit(self.entries[place].name)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.entries:
            self.toggled.emit(self.entries[self._at].name)
        elif step is not None:
            self._at = max(0, min(self._at + step, len(self.entries) - 1))
            self.update()
        else:
            super().keyPressEvent(event)
