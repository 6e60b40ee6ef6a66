"""The rows of the calibration table: an estimator and how well it fits the thread; and how that is worked out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inspector.core.errors import Cancelled
from inspector.core.session import Thread
from inspector.core.tokens.estimators import estimator, weight
from inspector.core.tokens.fit import Fit, fit
from inspector.core.tokens.pressure import is_prefix, thread_pressures
from inspector.gui.bridge import Task
from inspector.gui.look.number_formats import grouped, percent
from inspector.gui.widgets.rows import Column
from inspector.workbench.composition import Category, composition

MEANT, MOSTLY = 50, 0.6


@dataclass(frozen=True, slots=True)
class Row:
    """An estimator of the table; `fit` None = not worked out yet."""

    name: str
    fit: Fit | None
    used: bool
    """Is it the one whose numbers the window shows?"""
    working: bool = False


COLUMNS: Sequence[Column[Row]] = (
    Column("estimator", lambda row: f"{'● ' if row.used else ''}{row.name}", 17),
    Column("next call", lambda row: _share(row.fit.prediction.median if row.fit else None, 2), 7, figures=True),
    Column("p90", lambda row: _share(row.fit.prediction.p90 if row.fit else None, 2), 7, figures=True),
    Column("compacted", lambda row: _share(row.fit.prediction.after_median if row.fit else None), 9, figures=True),
    Column("R²", lambda row: _r2(row), 6, figures=True),
    Column("overhead", lambda row: grouped(round(row.fit.line.overhead)) if row.fit and row.fit.line else "", 8, True),
    Column("slope", lambda row: f"{row.fit.line.slope:.3f}" if row.fit and row.fit.line else "", 5, figures=True),
    Column("factor", lambda row: _share(row.fit.median_abs_error if row.fit else None), 7, figures=True),
)
ABOUT = (
    "next call, p90: error of the number that is shown before the provider reports it, median and 90th "
    "percentile.\ncompacted: its median right after a recorded compaction.\nR², overhead, slope: of the straight line "
    "reported = overhead + slope x estimated.\nfactor: median error of a factor alone, without the part that the file "
    "does not hold.\nEnter or a double click: the window uses this estimator."
)


def has_usage(thread: Thread | None) -> bool:
    """Does any call of the thread report its prompt size?"""
    return thread is not None and any(request.usage and request.usage.prompt for request in thread.requests)


@dataclass(frozen=True, slots=True)
class Share:
    """What the provider reported for each estimated token of one class of content."""

    category: Category
    ratio: float
    requests: int


def by_class(thread: Thread, found: Fit) -> tuple[Share, ...]:
    """By what mostly made the buffer grow from one request to the next; the most frequent class first.

    Only where the buffer grew by MEANT tokens or more, most of them of one class, are reported and estimated growth
    compared, summed a class.
    """
    measure = estimator(found.name)
    sums: dict[Category, tuple[int, int, int]] = {}
    for before, after in pairwise(found.samples):
        old, new = thread.requests[before.request], thread.requests[after.request]
        grown = after.estimated - before.estimated
        if grown < MEANT or not is_prefix(old.view, new.view):
            continue
        had, has = composition(measure, old.view), composition(measure, new.view)
        category = max(has, key=lambda name: has[name] - had.get(name, 0))
        if has[category] - had.get(category, 0) > MOSTLY * grown:
            estimated, reported, count = sums.get(category, (0, 0, 0))
            sums[category] = estimated + grown, reported + after.reported - before.reported, count + 1
    shares = [Share(category, reported / estimated, n) for category, (estimated, reported, n) in sums.items()]
    return tuple(sorted(shares, key=lambda share: -share.requests))


@dataclass(frozen=True, slots=True)
class Worked:
    """One estimator on a thread."""

    fit: Fit
    shares: tuple[Share, ...]
    predicted: Mapping[int, int]
    """Tokens that were shown of a request before it was reported, by its index."""


def worked_out(thread: Thread, name: str, task: Task) -> Worked:
    """The fit of one estimator, its ratios by class, its predictions. Raises Cancelled soon after a cancel."""
    measure = estimator(name)
    for n, message in enumerate(thread.messages):
        if n % 64 == 0 and task.cancelled():
            raise Cancelled("The count was stopped.")
        weight(measure, message)
    pressures = thread_pressures(thread, measure)
    found = fit(thread, measure, pressures)
    predicted = {n: one.predicted.tokens for n, one in enumerate(pressures) if one.predicted is not None}
    return Worked(found, by_class(thread, found), predicted)


def _r2(row: Row) -> str:
    if row.fit is None:
        return "…" if row.working else ""
    return "" if row.fit.r2 is None else f"{row.fit.r2:.4f}"


def _share(value: float | None, places: int = 1) -> str:
    return "" if value is None else percent(value, places)
