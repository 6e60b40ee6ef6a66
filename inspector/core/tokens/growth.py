"""What a counted token weighs in the provider's own: the slope, learned from how a thread's reported size grew.

Between two requests whose buffers extend each other, the reported numbers differ by what was appended and by nothing
else: neither the system prompt nor any other part that the transcript lacks takes part in it. The slope is the median
of these ratios (grown as reported / grown as counted), each weighing as much as it counted: a handful of tokens says
little. Until a thread has grown, a prior by model family and estimator stands for it.
"""

import re
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable

RECENT = 16
"""Ratios that the slope for the next call is learned from: what an agent does now is like what it did a moment ago."""
LASTING = 128
"""Ratios that the slope of whole buffers is learned from."""
_HEAVIEST = 5_000
"""Counted tokens that a ratio weighs at most: a single image, counted as its base64, must not outvote all text."""

_EXPECTED = 1_500
"""Counted tokens that the prior weighs beside what was learned."""

_FAMILIES = (
    (re.compile(r"claude-(?:opus|sonnet|haiku|fable)-(?:[5-9]|\d{2,})(?!\d)|fable"), 1.46),
    (re.compile(r"claude"), 1.12),
    (re.compile(r"gpt|codex|(?:^|/)o[1345](?:-|$)"), 0.97),
    (re.compile(r"gemini"), 0.9),
)
"""Tokens of the model for one of o200k, as measured over sessions of each family."""
_OTHER_FAMILY = 1.0
_ESTIMATORS = {"roku": 1.12, "pi": 1.23, "chars4": 1.14}
"""Tokens of o200k for one that the estimator counts, over the same sessions."""


def prior(estimator: str, model: str) -> float:
    """The slope as long as nothing was learned: by model family and estimator, from sessions of each."""
    name = model.lower()
    family = next((factor for pattern, factor in _FAMILIES if pattern.search(name)), _OTHER_FAMILY)
    return family * _ESTIMATORS.get(estimator, 1.0)


class Ratios:
    """The last `size` ratios of growth, and their quantiles, each weighing as much as was counted."""

    __slots__ = ("_last", "_ordered", "_size", "_total")

    def __init__(self, size: int) -> None:
        self._size = size
        self._last: deque[tuple[float, int]] = deque()
        self._ordered: list[tuple[float, int]] = []
        self._total = 0

    def add(self, grown: int, counted: int) -> None:
        """One more; the oldest leaves where there are too many. Only what grew by both measures says anything."""
        if grown <= 0 or counted <= 0:
            return
        if len(self._last) == self._size:
            oldest = self._last.popleft()
            del self._ordered[bisect_left(self._ordered, oldest)]
            self._total -= oldest[1]
        one = (grown / counted, min(counted, _HEAVIEST))
        self._last.append(one)
        insort(self._ordered, one)
        self._total += one[1]

    def __len__(self) -> int:
        return len(self._last)

    def median(self, expected: float) -> float:
        """With what is expected of such a session as one more ratio: the first few alone say little."""
        one, total = (expected, _EXPECTED), self._total + _EXPECTED
        at, below = bisect_left(self._ordered, one), 0
        for ratio, counted in (*self._ordered[:at], one, *self._ordered[at:]):
            below += counted
            if 2 * below >= total:
                return ratio
        return expected

    def quantile(self, share: float) -> float | None:
        """The ratio below which `share` of all that was counted lies; None of none."""
        wanted, below = share * self._total, 0
        for ratio, counted in self._ordered:
            below += counted
            if below >= wanted:
                return ratio
        return None


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which `share` of the values lie, interpolated; None of no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
