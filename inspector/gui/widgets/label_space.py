"""Place labels over a plot or beside it, so that none overlaps another and, if possible, none covers a curve."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetrics, QFontMetricsF

LABELS_APART = 18
"""Pixels between two labels in a row."""


class LabelSpace:
    """The space for labels in a plot: no two labels overlap, and a label covers a curve only if there is no other
    place.

    Args:
        area: The pixels in which labels may be placed.
        is_crossed: Returns True if a curve crosses a rectangle.
    """

    def __init__(
        self, area: QRectF, is_crossed: Callable[[QRectF], bool] = lambda room: False
    ) -> None:
        self._area = area
        self.is_crossed = is_crossed
        self.taken: list[QRectF] = []
        self._edges: list[tuple[float, float, float, float]] = []
        """Edges of the reserved rectangles (left, top, right, bottom), for fast tests of many labels at many places."""

    def take(self, room: QRectF) -> None:
        """Reserve a rectangle: no label is placed there."""
        self.taken.append(room)
        self._edges.append((room.left(), room.top(), room.right(), room.bottom()))

    def _right_of_taken(self, room: QRectF, apart: float) -> float | None:
        """Return the right edge of the labels within `apart` pixels of a rectangle; None if there are none."""
        left, right = room.left() - apart, room.right() + apart
        top, bottom = room.top(), room.bottom()
        rightmost: float | None = None
        for taken_left, taken_top, taken_right, taken_bottom in self._edges:
            meets = (
                taken_left < right
                and left < taken_right
                and taken_top < bottom
                and top < taken_bottom
            )
            if meets and (rightmost is None or taken_right > rightmost):
                rightmost = taken_right
        return rightmost

    def place(
        self,
        size: QSizeF,
        corners: Iterable[QPointF],
        slides: bool = False,
        apart: float = 0,
        over: bool = True,
    ) -> QRectF | None:
        """Reserve a place for a label at the first free corner.

        Args:
            size: Size of the label in pixels.
            corners: Top left corners to try, in this order.
            slides: Also try places to the right of an occupied corner.
            apart: Pixels that must be free to the left and the right.
            over: Cover a curve if there is no other place.

        Returns:
            The reserved rectangle; None if there is no room.
        """
        crossed: QRectF | None = None
        for corner in corners:
            room = QRectF(corner, size)
            while self._area.contains(room):
                right = self._right_of_taken(room, apart)
                if right is None and not self.is_crossed(room):
                    self.take(room)
                    return room
                if right is None and crossed is None:
                    crossed = QRectF(room)
                if not slides:
                    break
                room.moveLeft(
                    (room.left() + 3 * LABELS_APART) if right is None else right + LABELS_APART
                )
        if crossed is None or not over:
            return None
        self.take(crossed)
        return crossed


def elide_name(name: str, metrics: QFontMetrics | QFontMetricsF, room: float) -> str:
    """Return a name such as `Anthropic context editing 84%` cut to `room` pixels without losing its last word."""
    if metrics.horizontalAdvance(name) <= room:
        return name
    head, _, tail = name.rpartition(" ")
    left = room - metrics.horizontalAdvance(f" {tail}")
    whole = QFontMetricsF(metrics)
    return f"{whole.elidedText(head, Qt.TextElideMode.ElideRight, max(0.0, left))} {tail}"


def stack_labels(tops: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Return the tops of labels stacked within `room` pixels, each as near to its desired top as the others allow.

    Args:
        tops: the desired top of each label, from the top down.
        heights: the height of each label.

    Returns:
        One top per label; empty if there is no room for all.
    """
    places = list[float]()
    floor = room
    for top, height in zip(reversed(tops), reversed(heights), strict=True):
        places.append(min(top, floor - height))
        floor = places[-1]
    places.reverse()
    roof = 0.0
    for place, height in enumerate(heights):
        places[place] = max(places[place], roof)
        roof = places[place] + height
    return places if roof <= room + 0.5 else []
