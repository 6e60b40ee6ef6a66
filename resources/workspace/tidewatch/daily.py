"""High water, low water and mean of each day, gauge by gauge."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from tidewatch.readings import Reading

ENOUGH = 24
"""Readings of a day below which nothing is said about it: a mean over three hours is no mean."""


@dataclass(frozen=True)
class Day:
    """One day of one gauge. Heights in metres above chart datum."""

    date: date
    gauge: str
    high: float
    low: float
    mean: float
    readings: int

    @property
    def range(self) -> float:
        """Metres between low and high water."""
        return round(self.high - self.low, 2)

    @property
    def is_whole(self) -> bool:
        """Were there enough readings to speak of a day?"""
        return self.readings >= ENOUGH


def days(readings: Iterable[Reading]) -> "list[Day]":
    """All days of all gauges, in order of date, then of gauge. Poor readings are left out."""
    heights: dict[tuple[date, str], list[float]] = defaultdict(list)
    for reading in readings:
        if reading.counts:
            heights[reading.time.date(), reading.gauge].append(reading.height)
    return [_day(when, gauge, found) for (when, gauge), found in sorted(heights.items())]


def _day(when: date, gauge: str, heights: "list[float]") -> Day:
    return Day(
        date=when,
        gauge=gauge,
        high=max(heights),
        low=min(heights),
        mean=round(sum(heights) / len(heights), 3),
        readings=len(heights),
    )


def day(readings: Iterable[Reading], when: date, gauge: str) -> Day:
    """One day of one gauge. Raises KeyError where there was no reading."""
    for found in days(readings):
        if found.date == when and found.gauge == gauge:
            return found
    raise KeyError(f"{gauge} has no reading of {when}")
