"""Building blocks of plots painted with QPainter: scales, round steps, grid, axis numbers, lines, bands, marks.

Every paint function paints one thing with a painter that is already active.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from inspector.gui.look.colours import ink

NUMBERS_APART = 1.8
"""Minimum distance of two numbers beside a plot, as a multiple of the letter height."""
AXIS_GAP = 10
"""Pixels between the numbers of an axis and the plot."""


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Values from `low` to `high`, laid out in pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    @property
    def per_value(self) -> float:
        """Number of pixels per unit of value."""
        return (self.end - self.start) / ((self.high - self.low) or 1)

    def pixel(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (value - self.low) * self.per_value

    def value(self, pixel: float) -> float:
        """Return the value at a pixel."""
        return self.low + (pixel - self.start) / (self.per_value or 1)


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that is at least `least`."""
    power = 10.0 ** floor(log10(max(least, 1e-9)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def round_values(scale: LinearScale, apart: float, least: float = 0.0) -> list[float]:
    """Return round values on a scale that are at least `apart` pixels and at least `least` in value from each other."""
    pixels_per_value = abs(scale.per_value) or 1
    step = round_step(max(apart / pixels_per_value, least))
    low, high = sorted((scale.low, scale.high))
    # the small number keeps the ends of the scale, whose quotients may be off by a rounding error
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def paint_grid(
    painter: QPainter, area: QRectF, scale: LinearScale, values: Iterable[float], colour: str
) -> None:
    """Paint a hairline across the area at each value of its vertical scale."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(ink(colour), 1))
    for value in values:
        y = round(scale.pixel(value))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)


def paint_axis_numbers(
    painter: QPainter,
    area: QRectF,
    scale: LinearScale,
    values: Iterable[float],
    colour: str,
    spell: Callable[[float], str],
) -> None:
    """Write the values of a vertical scale at the left of the area, each beside its line."""
    high = QFontMetricsF(painter.font()).height()
    painter.setPen(ink(colour))
    for value in values:
        room = QRectF(0, scale.pixel(value) - high / 2, area.left() - AXIS_GAP, high)
        painter.drawText(
            room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, spell(value)
        )


def paint_curve(painter: QPainter, lines: Iterable[Sequence[QPointF]], pen: QPen) -> None:
    """Paint a curve as separate lines; a line of one point becomes a dot."""
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for points in lines:
        if len(points) == 1:
            dot = QPen(pen)
            dot.setCapStyle(Qt.PenCapStyle.RoundCap)
            dot.setWidthF(pen.widthF() + 2)
            painter.setPen(dot)
            painter.drawPoint(points[0])
            painter.setPen(pen)
        else:
            painter.drawPolyline(QPolygonF(points))


def bold_font(font: QFont) -> QFont:
    """Return a copy of a font in a slightly heavier weight."""
    bold = QFont(font)
    bold.setWeight(QFont.Weight.DemiBold)
    return bold


def solid_pen(colour: str, width: float = 1.0) -> QPen:
    """Return a pen for a solid line."""
    return QPen(ink(colour), width)


def dashed_pen(colour: str, width: float = 1.0) -> QPen:
    """Return a pen for a dashed line."""
    return QPen(ink(colour), width, Qt.PenStyle.DashLine)


def paint_horizontal(painter: QPainter, y: float, left: float, right: float, pen: QPen) -> None:
    """Paint a horizontal line between two pixels."""
    painter.setPen(pen)
    painter.drawLine(QPointF(left, y), QPointF(right, y))


def paint_vertical(painter: QPainter, x: float, top: float, bottom: float, pen: QPen) -> None:
    """Paint a vertical line between two pixels."""
    painter.setPen(pen)
    painter.drawLine(QPointF(x, top), QPointF(x, bottom))


def paint_rounded(painter: QPainter, room: QRectF, colour: str, radius: float) -> None:
    """Fill a rectangle with rounded corners."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink(colour))
    painter.drawRoundedRect(room, radius, radius)


def paint_ring(painter: QPainter, middle: QPointF, radius: float, pen: QPen) -> None:
    """Paint a circle without filling it."""
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawEllipse(middle, radius, radius)


def paint_triangle(painter: QPainter, corners: Sequence[tuple[float, float]], colour: str) -> None:
    """Fill a triangle (or another polygon) between these corners."""
    shape = QPainterPath()
    shape.addPolygon(QPolygonF([QPointF(x, y) for x, y in corners]))
    shape.closeSubpath()
    painter.fillPath(shape, ink(colour))


def paint_pointer(painter: QPainter, x: float, tip: float, colour: str) -> None:
    """Fill a triangle whose lower corner is at (x, tip)."""
    top = tip - 7
    paint_triangle(painter, ((x, tip), (x - 4, top), (x + 4, top)), colour)


def paint_band(painter: QPainter, room: QRectF, colour: str | QColor) -> None:
    """Fill a rectangle within a row, at least one pixel wide."""
    fill = ink(colour) if isinstance(colour, str) else colour
    painter.fillRect(QRectF(room.left(), room.top(), max(1.0, room.width()), room.height()), fill)
