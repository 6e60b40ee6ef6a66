"""What somebody should be told about."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidewatch.readings import Reading

QUAY = 3.60
"""Metres above datum at which the quay is under water."""
WEAK = ("low", "empty")
"""What a battery is when its gauge is about to fall silent."""
APART = 0.25
"""Metres by which two gauges of the same harbour may differ at the same moment."""


@dataclass(frozen=True)
class Alarm:
    """One thing, and when it was seen first."""

    time: datetime
    gauge: str
    what: str


def alarms(readings: Iterable[Reading]) -> "list[Alarm]":
    """All alarms, oldest first; the same one of the same gauge at most once a day."""
    found = list(readings)
    every = [*_flooded(found), *_weak(found), *_apart(found)]
    told: set[tuple[str, str, object]] = set()
    kept = []
    for alarm in sorted(every, key=lambda one: one.time):
        key = (alarm.gauge, alarm.what.split(":")[0], alarm.time.date())
        if key not in told:
            told.add(key)
            kept.append(alarm)
    return kept


def _flooded(readings: "list[Reading]") -> Iterator[Alarm]:
    for one in readings:
        if one.counts and one.height >= QUAY:
            yield Alarm(one.time, one.gauge, f"quay under water: {one.height - QUAY:.2f} m")


def _weak(readings: "list[Reading]") -> Iterator[Alarm]:
    for one in readings:
        if one.battery in WEAK:
            yield Alarm(one.time, one.gauge, f"battery: {one.battery}")


def _apart(readings: "list[Reading]") -> Iterator[Alarm]:
    at: dict[datetime, list[Reading]] = defaultdict(list)
    for one in readings:
        if one.counts:
            at[one.time].append(one)
    for time, both in at.items():
        spread = max(one.height for one in both) - min(one.height for one in both)
        if spread > APART:
            yield Alarm(time, both[0].gauge, f"gauges disagree: {spread:.2f} m")


def flooded_for(
    readings: Iterable[Reading], gauge: str, step: timedelta = timedelta(minutes=30)
) -> timedelta:
    """How long the quay was under water, by one gauge. Each reading stands for `step`."""
    under = [one for one in readings if one.gauge == gauge and one.counts and one.height >= QUAY]
    return len(under) * step
