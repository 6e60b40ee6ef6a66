"""Days and alarms as text."""

from collections.abc import Iterable
from itertools import groupby

from tidewatch.alarms import alarms
from tidewatch.daily import Day, days
from tidewatch.readings import Reading


def report(readings: Iterable[Reading]) -> str:
    """One paragraph a day, then the alarms."""
    found = list(readings)
    if not found:
        return "No readings."
    paragraphs = [
        _paragraph(list(of_day)) for _, of_day in groupby(days(found), key=lambda one: one.date)
    ]
    told = [f"{one.time:%Y-%m-%d %H:%M} {one.gauge}: {one.what}" for one in alarms(found)]
    return "\n\n".join([*paragraphs, "\n".join(["Alarms:", *told]) if told else "No alarms."])


def _paragraph(of_day: "list[Day]") -> str:
    lines = [f"{of_day[0].date:%A, %d %B %Y}"]
    for one in of_day:
        doubt = "" if one.is_whole else f" (only {one.readings} readings)"
        lines.append(
            f"  {one.gauge}: high {one.high:.2f} m, low {one.low:.2f} m, mean {one.mean:.2f} m{doubt}"
        )
    return "\n".join(lines)
