"""The curves of the timeline as numbers that can be drawn: O(requests), so that a long session may do it elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from inspector.gui.widgets.plot_parts import end_place
from inspector.workbench.timeline import Series

UPPER, LOWER = ("believed", "reported", "unreported"), ("cache_read", "fresh", "output")
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Curves:
    """A series, and what is drawn of it."""

    series: Series | None = None
    heights: Sequence[int | None] = ()
    points: "Mapping[str, tuple[Numbers, Numbers]]" = field(default_factory=dict)
    """(requests, values) of a curve, by its name."""
    top: int = 1
    """The highest value of the upper plot ..."""
    most: int = 0
    """... and of the lower one."""


def curves(series: Series | None) -> Curves:
    """What is drawn of a series. Any thread."""
    if series is None:
        return Curves()
    heights = series.heights
    top = max((*filter(None, heights), *series.believed, series.end or 0), default=1)
    most = max(filter(None, (*series.cache_read, *series.fresh, *series.output)), default=0)
    points = {name: _points(name, getattr(series, name)) for name in (*UPPER, *LOWER)}
    return Curves(series, heights, points, top, most)


def _points(name: str, values: Sequence[int | None]) -> "tuple[Numbers, Numbers]":
    places = np.arange(len(values), dtype=np.float64)
    if name == "unreported" and len(values):
        places[-1] = end_place(len(values) - 1)
    return places, np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
