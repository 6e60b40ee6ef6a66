"""Quantiles of a few values."""

from collections.abc import Iterable


def quantile(values: Iterable[float], share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values are, interpolated; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
