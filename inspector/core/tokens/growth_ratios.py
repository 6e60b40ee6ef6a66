"""Remember the last ratios of reported to counted growth, and their weighted median."""

from bisect import bisect_left
from collections import deque
from copy import copy
from itertools import accumulate

from inspector.core.rounding import divide_up

_HEAVIEST = 5_000
"""Largest weight of a ratio in counted tokens: a single image, counted as its base64, must not outweigh all text."""
_EXPECTED = 1_500
"""Weight of the prior in counted tokens."""


class Ratios:
    """The last `size` ratios of growth, and their quantiles, weighted by the counted tokens."""

    __slots__ = ("_counts", "_last", "_ordered", "_size", "_sums")

    def __init__(self, size: int) -> None:
        self._size = size
        self._last: deque[tuple[float, int]] = deque()
        self._ordered: list[tuple[float, int]] = []
        self._counts: list[int] = []
        """Weights of the ordered ratios."""
        self._sums: list[int] = []
        """Running sums of these weights."""

    def add(self, grown: int, counted: int) -> None:
        """Add a ratio, and drop the oldest if there are too many. Ignored unless both numbers are above zero."""
        if grown <= 0 or counted <= 0:
            return
        ordered, counts = self._ordered, self._counts
        if len(self._last) == self._size:
            place = bisect_left(ordered, self._last.popleft())
            del ordered[place], counts[place]
        weight = min(counted, _HEAVIEST)
        ratio = (grown / counted, weight)
        self._last.append(ratio)
        place = bisect_left(ordered, ratio)
        ordered.insert(place, ratio)
        counts.insert(place, weight)
        self._sums = list(accumulate(counts))

    def __len__(self) -> int:
        return len(self._last)

    def copy(self) -> "Ratios":
        """Return an independent copy. O(size)."""
        ratios = copy(self)
        ratios._last = self._last.copy()
        ratios._ordered = list(self._ordered)
        ratios._counts = list(self._counts)
        return ratios

    def median(self, expected: float) -> float:
        """Return the median of the ratios and the expected ratio, because the first few ratios are not reliable."""
        sums = self._sums
        whole = (sums[-1] if sums else 0) + _EXPECTED
        half = divide_up(whole, 2)
        expected_at = bisect_left(self._ordered, (expected, _EXPECTED))
        place = bisect_left(sums, half, 0, expected_at)
        if place == expected_at:  # the lower ratios have less than half of the weight
            below = sums[expected_at - 1] if expected_at else 0
            if below + _EXPECTED >= half:
                return expected
            place = bisect_left(sums, half - _EXPECTED, expected_at)
        ratio, _ = self._ordered[place]
        return ratio

    def quantile(self, share: float) -> float | None:
        """Return the ratio at the quantile `share`, weighted by counted tokens; None without ratios."""
        sums = self._sums
        return self._ordered[bisect_left(sums, share * sums[-1])][0] if sums else None
