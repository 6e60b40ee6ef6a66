"""The curves of a thread in the timeline: reported, predicted, the policy's own count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QPointF

from inspector.gui.widgets.chart import LinearScale
from inspector.gui.widgets.request_range import end_place
from inspector.workbench.pressure.timeline import NO_SERIES, Series

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"

CURVES = ("believed", "reported", "unreported")
"""Names of the curves in the order in which they are painted."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve: positions along the request axis, and a value for each; NaN if there is none."""

    places: "Numbers"
    values: "Numbers"

    def pieces(self, across: LinearScale, up: LinearScale) -> Iterator[list[QPointF]]:
        """Yield the visible part in pixels, one list of points for each stretch without a gap.

        If many requests share a pixel column, only the lowest and the highest are painted.
        """
        import numpy as np

        first, last = np.searchsorted(self.places, (across.low, across.high))
        first, last = max(0, int(first) - 1), min(len(self.places), int(last) + 1)
        x = across.start + (self.places[first:last] - across.low) * across.per_value
        y = up.start + (self.values[first:last] - up.low) * up.per_value
        every = len(x) // max(1, round(across.end - across.start))
        if every > 1:
            x, y = _thin_points(x, y, every)
        is_known = ~np.isnan(y)
        edges = np.flatnonzero(
            np.diff(np.concatenate(([False], is_known, [False])).astype(np.int8))
        )
        for start, end in edges.reshape(-1, 2).tolist():
            pairs = zip(x[start:end].tolist(), y[start:end].tolist(), strict=True)
            yield [QPointF(*pair) for pair in pairs]


def _thin_points(x: "Numbers", y: "Numbers", every: int) -> "tuple[Numbers, Numbers]":
    """Return the lowest and the highest of each `every` consecutive points."""
    import numpy as np

    starts = np.arange(0, len(x), every)
    low, high = np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)
    thin_x = np.repeat(x[starts], 2)
    thin_y = np.empty(2 * len(starts))
    thin_y[0::2], thin_y[1::2] = low, high
    return thin_x, thin_y


@dataclass(frozen=True, slots=True)
class Curves:
    """A series, and the curves that are drawn of it."""

    series: Series = NO_SERIES
    heights: Sequence[int | None] = ()
    """The size that is shown for each request, in tokens; None if it is unknown."""
    lines: Mapping[str, Curve] = field(default_factory=dict)
    """The curves by their names in `CURVES`."""
    top: int = 1
    """The highest value in tokens."""


def make_curves(series: Series | None) -> Curves:
    """Return the curves of a series. Runs on any thread. O(requests)."""
    if series is None:
        return Curves()
    heights = series.heights
    top = max((*filter(None, heights), *series.believed, series.end or 0), default=1)
    lines = {name: _curve(name, getattr(series, name)) for name in CURVES}
    return Curves(series, heights, lines, top)


def _curve(name: str, values: Sequence[int | None]) -> Curve:
    import numpy as np

    places = np.arange(len(values), dtype=np.float64)
    if name == "unreported" and len(values):
        places[-1] = end_place(len(values) - 1)
    return Curve(places, np.array(values, dtype=np.float64))
