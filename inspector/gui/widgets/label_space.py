"""Where labels may stand over a plot or beside one: none on another, and on a curve only where there is no other
place."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetrics, QFontMetricsF

LABELS_APART = 18
"""Pixels between two labels in a line."""


class LabelSpace:
    """Where labels may stand in a plot without one lying on another, or on a curve: the first that asks gets the place.

    `is_crossed`: does a curve go through there?
    """

    def __init__(self, area: QRectF, is_crossed: Callable[[QRectF], bool] = lambda room: False) -> None:
        self._area, self.is_crossed = area, is_crossed
        self.taken: list[QRectF] = []
        self._edges: list[tuple[float, float, float, float]] = []
        """Left, top, right and bottom of what is taken: there may be a hundred labels, each tried at many places."""

    def take(self, room: QRectF) -> None:
        """Nothing else there."""
        self.taken.append(room)
        self._edges.append((room.left(), room.top(), room.right(), room.bottom()))

    def _right_of_taken(self, room: QRectF, apart: float) -> float | None:
        """Return the right edge of what stands in the room, or so many pixels beside it; None if nothing does."""
        left, right = room.left() - apart, room.right() + apart
        top, bottom = room.top(), room.bottom()
        rightmost: float | None = None
        for taken_left, taken_top, taken_right, taken_bottom in self._edges:
            meets = taken_left < right and left < taken_right and taken_top < bottom and top < taken_bottom
            if meets and (rightmost is None or taken_right > rightmost):
                rightmost = taken_right
        return rightmost

    def place(
        self, size: QSizeF, corners: Iterable[QPointF], slides: bool = False, apart: float = 0, over: bool = True
    ) -> QRectF | None:
        """The first of these top left corners where it is free, and so many pixels on either side, taken; `over`: over
        a curve where there is no other. None: they are taken. `slides`: also right of what stands there."""
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
                room.moveLeft((room.left() + 3 * LABELS_APART) if right is None else right + LABELS_APART)
        if crossed is None or not over:
            return None
        self.take(crossed)
        return crossed


def elide_name(name: str, metrics: QFontMetrics | QFontMetricsF, room: float) -> str:
    """Return a name such as `Anthropic context editing 84%` cut to `room` pixels; its last word always stays."""
    if metrics.horizontalAdvance(name) <= room:
        return name
    head, _, tail = name.rpartition(" ")
    left = room - metrics.horizontalAdvance(f" {tail}")
    whole = QFontMetricsF(metrics)
    return f"{whole.elidedText(head, Qt.TextElideMode.ElideRight, max(0.0, left))} {tail}"


def stack_labels(tops: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Return where labels of these heights begin, one below the other within `room` pixels: each where it is wanted,
    or as near as it can be without lying on another. Empty where there is no room for all.

    Args:
        tops: where each is wanted to begin, from the top down.
    """
    places, floor = list[float](), room
    for top, height in zip(reversed(tops), reversed(heights), strict=True):
        places.append(min(top, floor - height))
        floor = places[-1]
    places.reverse()
    roof = 0.0
    for place, height in enumerate(heights):
        places[place] = max(places[place], roof)
        roof = places[place] + height
    return places if roof <= room + 0.5 else []
