"""The range of requests that a plot shows: a part of the session that can be zoomed and moved."""

from math import ceil, floor

from PySide6.QtCore import QObject, Signal

BEFORE, AFTER = 0.5, 0.7
"""Margin left of the first request and right of the last one, in requests.

The buffer after the last record is painted 0.6 requests to the right of the last one.
"""
LEAST = 4.0
"""Minimum number of requests in the range."""
NEARLY = 0.01
"""Number of requests by which the range may miss the whole session and still count as the whole."""


def end_place(count: int) -> float:
    """Return the axis position of the buffer after the last record, in a thread of `count` requests."""
    return count - 1 + 0.6


class RequestRange(QObject):
    """The visible range. `first` and `last` are its edges in requests; request 3 extends from 2.5 to 3.5."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.count = 0
        self.first, self.last = self.whole

    @property
    def whole(self) -> tuple[float, float]:
        """The edges of the range that shows every request."""
        return -BEFORE, max(self.count, 1) - 1 + AFTER

    @property
    def is_whole(self) -> bool:
        """True if every request of the session is visible."""
        first, last = self.whole
        return self.first <= first + NEARLY and self.last >= last - NEARLY

    @property
    def width(self) -> float:
        """Width of the range in requests."""
        return self.last - self.first

    @property
    def requests(self) -> tuple[int, int]:
        """The first and the last request whose middle is visible."""
        first, last = max(0, ceil(self.first)), min(self.count - 1, floor(self.last))
        return (
            (first, last) if first <= last else (self.nearest(self.first), self.nearest(self.first))
        )

    def nearest(self, place: float) -> int:
        """Return the request nearest to an axis position; 0 in an empty session."""
        return max(0, min(round(place), self.count - 1))

    def set_count(self, count: int, keeps_view: bool) -> None:
        """Set the number of requests.

        Args:
            count: The new number of requests.
            keeps_view: Keep a zoomed range, and move it with the end if it was at the end. False: show all requests.
        """
        former = self.count
        closer = keeps_view and not self.is_whole
        self.count = count
        if not closer:
            self.show(*self.whole)
            return
        moved = count - former if self.last >= former - 1 else 0
        self.show(self.first + moved, self.last + moved)

    def show(self, first: float, last: float) -> None:
        """Show the range from `first` to `last`, cut to the session but never narrower than `LEAST` requests."""
        lowest, highest = self.whole
        width = min(max(last - first, LEAST), highest - lowest)
        middle = (first + last) / 2
        first = max(lowest, min(middle - width / 2, highest - width))
        if (first, first + width) != (self.first, self.last):
            self.first, self.last = first, first + width
        self.changed.emit()

    def show_all(self) -> None:
        """Show every request of the session."""
        self.show(*self.whole)

    def zoom(self, factor: float, at: float) -> None:
        """Show `factor` times as many requests. The axis position `at` keeps its pixel."""
        lowest, highest = self.whole
        width = min(max(self.width * factor, LEAST), highest - lowest)
        share = (at - self.first) / self.width
        self.show(at - share * width, at + (1 - share) * width)

    def move(self, requests: float) -> None:
        """Move the range by a number of requests, at most to the end of the session."""
        lowest, highest = self.whole
        way = max(lowest - self.first, min(requests, highest - self.last))
        self.show(self.first + way, self.last + way)
