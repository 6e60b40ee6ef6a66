"""From a line of the log to a reading.

The log is written by several stations and by people, so a line that is no reading is nothing to worry about: it is left
out. That makes this file a dangerous one. Whatever the pattern below does not know disappears without a word, and every
figure further on is a little wrong.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

QUALITIES = ("good", "fair", "poor")

LINE = re.compile(
    r"(?P<time>\d{2} [A-Z][a-z]+ \d{4} \d{2}:\d{2}) "
    r"(?P<gauge>[a-z]+(?:-[a-z]+)*): "
    r"height (?P<height>\d+\.\d+) metres above chart datum, "
    r"sensor (?P<sensor>[a-z]+), "
    r"battery (?P<battery>[a-z]+), "
    r"quality (?P<quality>[a-z]+)"
)


@dataclass(frozen=True)
class Reading:
    """One measurement. `height` in metres above chart datum."""

    time: datetime
    gauge: str
    height: float
    sensor: str
    battery: str
    quality: str

    @property
    def counts(self) -> bool:
        """Is it good enough to be used at all?"""
        return self.quality != "poor"


def read(lines: Iterable[str]) -> Iterator[Reading]:
    """The readings among the lines, in the order of the log."""
    for line in lines:
        reading = read_line(line)
        if reading is not None:
            yield reading


def read_line(line: str) -> "Reading | None":
    """The reading on a line, or None where it holds none."""
    found = LINE.match(line.strip())
    if found is None or found["quality"] not in QUALITIES:
        return None
    return Reading(
        time=datetime.strptime(found["time"], "%d %B %Y %H:%M").replace(tzinfo=timezone.utc),  # noqa: UP017
        gauge=found["gauge"],
        height=float(found["height"]),
        sensor=found["sensor"],
        battery=found["battery"],
        quality=found["quality"],
    )
