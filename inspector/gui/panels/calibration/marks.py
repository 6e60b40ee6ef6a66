"""Colours, shapes and words for the segments in the calibration charts."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from inspector.core.tokens.segments import CallSegment
from inspector.core.words import plural
from inspector.gui.look.colours import Colours
from inspector.gui.look.number_formats import grouped

_LIGHT = ("#0072b2", "#b34700", "#007a58", "#8a4fbf", "#8a5a00", "#a5407c")
_DARK = ("#56b4e9", "#f0854f", "#2fb888", "#b59cf5", "#e69f00", "#d48fc0")
SHAPES = ("circle", "square", "triangle", "diamond")
HALF = 2.6
"""Pixels from the middle of a point to its edge."""


def segment_colour(colours: Colours, number: int) -> str:
    """Return the colour of a segment, counted from 0."""
    palette = _DARK if colours.dark else _LIGHT
    return palette[number % len(palette)]


def paint_point(painter: QPainter, place: QPointF, number: int, half: float = HALF) -> None:
    """Paint a point in the shape of its segment, with the painter's brush."""
    x = place.x()
    y = place.y()
    reach = half + 1
    shape = SHAPES[number % len(SHAPES)]
    if shape == "circle":
        painter.drawEllipse(place, half, half)
    elif shape == "square":
        painter.drawRect(QRectF(x - half, y - half, 2 * half, 2 * half))
    elif shape == "triangle":
        top = QPointF(x, y - reach)
        left = QPointF(x - reach, y + half)
        right = QPointF(x + reach, y + half)
        painter.drawPolygon([top, left, right])
    else:
        top = QPointF(x, y - reach)
        right = QPointF(x + reach, y)
        bottom = QPointF(x, y + reach)
        left = QPointF(x - reach, y)
        painter.drawPolygon([top, right, bottom, left])


def segment_words(segment: CallSegment, number: int) -> str:
    """Return `Segment 1, requests 0 to 78`."""
    return f"Segment {number + 1}, requests {segment.first:,} to {segment.last:,}"


def equation_words(segment: CallSegment) -> str:
    """Return `reported = 1.227 × estimated + 20,011`."""
    if segment.fit is None:
        return f"no line: {plural(len(segment.samples), 'sample')}"
    overhead = round(segment.fit.overhead)
    sign = "−" if overhead < 0 else "+"
    slope = f"{segment.fit.slope:.3f}".replace("-", "−")
    return f"reported = {slope} × estimated {sign} {grouped(abs(overhead))}"
