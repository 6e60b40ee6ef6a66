"""What was promised of recorded changes, one by one, and when the shown number crosses a line.

Figures for docs/fidelity.md, one thread at a time; `make_fidelity.py` puts them on the page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.core.buffer import is_prefix
from inspector.core.session import Request, Thread
from inspector.core.tokens.change_sizes import change_sizes
from inspector.core.tokens.pressure import Pressure, Pressures, known_pressures, summary_since

WATERMARKS = (0.6, 0.75)
WINDOWS = (64_000, 128_000, 200_000, 256_000)
"""Windows whose lines are looked at: few sessions come near those of their own."""
NEAR_REQUESTS = 3
LEAST_FREED = 250
"""Tokens from which on messages that went or read otherwise are a clearing."""
NEAR_FREED, NEAR_AFTER = 0.1, 0.03


@dataclass(frozen=True, slots=True)
class Clearing:
    """Messages that were cleared without a summary, and what was said of it before the report came."""

    session: str
    request: int
    before: int
    freed: int
    """By the prediction."""
    after: int
    reported: int

    @property
    def freed_error(self) -> float:
        """Of what is freed, by the same size before."""
        return self.freed / (self.before - self.reported) - 1

    @property
    def after_error(self) -> float:
        """Of the number after."""
        return self.after / self.reported - 1


def clearings(thread: Thread, session: str) -> Iterator[Clearing]:
    """Yield the clearings of a thread whose size was predicted before it was reported."""
    pressures = known_pressures(thread)
    anchor: Request | None = None
    for request in thread.requests:
        pressure = pressures[request.index]
        if pressure.reported is None:
            continue
        if anchor is not None and not is_prefix(anchor.view, request.view):
            found = _clearing(thread, pressures, request, anchor)
            if found is not None:
                yield Clearing(session, *found)
        anchor = request


def _clearing(
    thread: Thread, pressures: Pressures, request: Request, anchor: Request
) -> tuple[int, int, int, int, int] | None:
    pressure = pressures[request.index]
    before = change_sizes(thread, pressures, request.index).before.tokens
    if before is None or pressure.predicted is None or pressure.reported is None:
        return None
    if summary_since(thread, request, anchor.index) is not None:
        return None
    freed = before - pressure.predicted.tokens
    if max(freed, before - pressure.reported) < LEAST_FREED or before == pressure.reported:
        return None
    return request.index, before, freed, pressure.predicted.tokens, pressure.reported


def crossing_delays(thread: Thread) -> Iterator[int | None]:
    """Yield requests by which the shown number crossed a line later than the reports did; None where it never did.

    The shown number is what was predicted of a buffer before it was reported. Each line is looked at on its own, from
    the first report below it on.
    """
    pressures = known_pressures(thread)
    told = [
        pressure
        for pressure in pressures
        if pressure.reported is not None and pressure.predicted is not None
    ]
    for limit in (share * window for window in WINDOWS for share in WATERMARKS):
        reported = _first_above(told, limit, by_report=True)
        shown = _first_above(told, limit, by_report=False)
        if reported:
            yield None if shown is None else shown - reported


def _first_above(pressures: Sequence[Pressure], limit: float, *, by_report: bool) -> int | None:
    for n, pressure in enumerate(pressures):
        predicted = pressure.predicted.tokens if pressure.predicted is not None else 0
        if ((pressure.reported or 0) if by_report else predicted) > limit:
            return n
    return None


def clearings_line(found: Sequence[Clearing]) -> str:
    """Say how many clearings are as near as is asked."""
    freed = sum(abs(one.freed_error) <= NEAR_FREED for one in found)
    after = sum(abs(one.after_error) <= NEAR_AFTER for one in found)
    return (
        f"Old messages or thinking were cleared without a summary {len(found)} times: the tokens freed are within "
        f"{NEAR_FREED:.0%} in {freed}, the size afterwards within {NEAR_AFTER:.0%} in {after}."
    )


def crossings_line(delays: Sequence[int | None]) -> str:
    """Say in one sentence how near the shown number crossed the lines."""
    near = sum(late is not None and abs(late) <= NEAR_REQUESTS for late in delays)
    windows = ", ".join(f"{window:,}" for window in WINDOWS)
    return (
        f"The number shown crosses 60% and 75% of windows of {windows} tokens within {NEAR_REQUESTS} requests of the "
        f"report {near} of {len(delays)} times, and misses a line {list(delays).count(None)} times."
    )
