"""Quantiles of a few values."""

from collections.abc import Iterable


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which `share` of the values lie, interpolated; None of no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
