"""How true the numbers are that nobody reported: the next call, the one after a compaction, what Roku believes.

Figures for docs/fidelity.md, one session at a time; `make_fidelity.py` puts them on the page.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inspector.core.session import Session, Thread
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.fit import Fit, PredictionErrors, fit_line, prediction_errors
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.quantiles import quantile
from inspector.core.words import per_cent

WATERMARKS = (0.6, 0.75)
WINDOW = 200_000
NEAR = 3
"""Requests by which a belief may cross a line earlier or later."""
LEAST = 7
"""Calls with usage that a stretch needs: a line through fewer points says little."""


@dataclass(frozen=True, slots=True)
class ShownNumbers:
    """Of one session's main thread."""

    format: str
    predicted: PredictionErrors
    believed: tuple[float, ...]
    """|what Roku believes / reported - 1|, call by call."""
    crossings: tuple[int | None, ...]
    """For each watermark of a 200,000 window that was reached: requests by which the belief was late; None = missed."""
    stretches: tuple[float, ...]
    """R2 of each stretch between compactions, by the best estimator."""


def shown_numbers(session: Session, fit: Fit) -> ShownNumbers:
    """`fit`: of the estimator with the straightest line."""
    thread = session.main
    pressures, counts = known_pressures(thread), known_counts(thread, estimator(DEFAULT_ESTIMATOR))
    told = [(n, one.reported) for n, one in enumerate(pressures) if n and one.reported]
    predicted = prediction_errors(thread, pressures)
    believed = tuple(abs(counts.at(n).calibrated / reported - 1) for n, reported in told)
    return ShownNumbers(
        session.format,
        predicted,
        believed,
        tuple(_crossings(thread)),
        tuple(_stretches(thread, fit)),
    )


def _crossings(thread: Thread) -> Iterator[int | None]:
    found, counts = (
        known_pressures(thread),
        known_counts(thread, estimator(DEFAULT_ESTIMATOR)).counts,
    )
    for share in WATERMARKS:
        limit = share * WINDOW
        true = next(
            (n for n, one in enumerate(found) if one.reported is not None and one.reported > limit),
            None,
        )
        own = next((n for n, one in enumerate(counts) if n and one.calibrated > limit), None)
        if true:  # a session that begins above the line tells nothing
            yield None if own is None else own - true


def _stretches(thread: Thread, fit: Fit) -> Iterator[float]:
    borders = sorted({one.before_request for one in thread.compactions if one.kind == "summary"})
    stretches: dict[int, list[tuple[float, float]]] = {}
    for sample in fit.samples:
        stretches.setdefault(bisect_right(borders, sample.request), []).append(
            (sample.estimated, sample.reported)
        )
    for points in stretches.values():
        found = fit_line(points) if len(points) >= LEAST else None
        if found is not None and found.r2 is not None:
            yield found.r2


def numbers_table(titles: Mapping[str, str], measured: Sequence[ShownNumbers]) -> list[str]:
    """One row a format over all calls, then what is asked of all sessions together."""
    lines = [
        "| format | next calls | median error | 90 % below | sessions within 1 % / 3 % | "
        "after a compaction | median error | inside the band |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, title in titles.items():
        some = [one for one in measured if one.format == name]
        lines += [_row(title, [one.predicted for one in some])] if some else []
    return [*lines, "", *_beliefs(measured)]


def _row(title: str, found: Sequence[PredictionErrors]) -> str:
    errors = [error for one in found for error in one.errors]
    after = [error for one in found for error in one.after]
    good = sum((one.median or 0) <= 0.01 and (one.p90 or 0) <= 0.03 for one in found)
    inside = f"{sum(one.inside for one in found)} of {len(after)}" if after else ""
    cells = [
        title,
        f"{len(errors):,}",
        _percent(quantile(errors, 0.5)),
        _percent(quantile(errors, 0.9)),
        f"{good} of {len(found)}",
        f"{len(after)}",
        _percent(quantile(after, 0.5)),
        inside,
    ]
    return f"| {' | '.join(cells)} |"


def _beliefs(measured: Sequence[ShownNumbers]) -> list[str]:
    errors = [error for one in measured for error in one.believed]
    crossed = [late for one in measured for late in one.crossings]
    near = sum(late is not None and abs(late) <= NEAR for late in crossed)
    stretches = [r2 for one in measured for r2 in one.stretches]
    return [
        f"What Roku believes, against the reported count: median error {_percent(quantile(errors, 0.5))}, 90 % below "
        f"{_percent(quantile(errors, 0.9))}; it crosses 60 % and 75 % of a {WINDOW:,} window within {NEAR} requests of "
        f"the reported count {near} times of {len(crossed)}, and misses a line {crossed.count(None)} times.",
        "",
        f"R2 per stretch between compactions ({len(stretches)} stretches with {LEAST} calls or more): median "
        f"{quantile(stretches, 0.5) or 0:.4f}, 10th percentile {quantile(stretches, 0.1) or 0:.4f}.",
    ]


LEAST_CALLS = 4
"""Calls with usage of a session whose predictions are judged as a whole."""


@dataclass(frozen=True, slots=True)
class SessionErrors:
    """How far the predictions of one thread were off, as a whole."""

    name: str
    median: float
    p90: float
    is_scripted: bool
    """Every answer but the last reports the same output: it was not counted."""

    @property
    def is_near(self) -> bool:
        """Is it as near as is asked?"""
        return self.median <= 0.01 and self.p90 <= 0.03


def session_errors(session: Session, name: str) -> Iterator[SessionErrors]:
    """Yield the threads of a session that have enough calls."""
    for n, thread in enumerate(session.threads):
        told = [
            request.usage for request in thread.requests if request.usage and request.usage.prompt
        ]
        found = prediction_errors(thread, known_pressures(thread))
        if len(told) < LEAST_CALLS or found.median is None or found.p90 is None:
            continue
        outputs = {usage.output for usage in told[:-1]}
        place = name if thread is session.main else f"{name}, thread {n + 1}"
        yield SessionErrors(place, found.median, found.p90, len(outputs) == 1)


def sessions_lines(found: Sequence[SessionErrors]) -> list[str]:
    """Say how many sessions are as near as is asked, and which are not."""
    near = sum(one.is_near for one in found)
    missing = [one for one in found if not one.is_near]
    lines = [
        f"Sessions, agents that they started among them, with {LEAST_CALLS} calls or more whose median is 1 % or less "
        f"and 90 % of whose calls are within 3 %: {near} of {len(found)} (asked: 97 %)."
    ]
    for one in missing:
        why = "; the provider was a script without a tokenizer" if one.is_scripted else ""
        lines.append(
            f"- `{one.name}`: median {_percent(one.median)}, 90 % below {_percent(one.p90)}{why}"
        )
    return lines


def _percent(value: float | None) -> str:
    return "" if value is None else per_cent(value, 2)
