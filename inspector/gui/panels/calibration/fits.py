"""Compute how well an estimator fits a thread: samples in segments, ratios by class of content, and predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from inspector.core.buffer import is_prefix
from inspector.core.errors import Cancelled
from inspector.core.findings.composition import Category, composition
from inspector.core.session import Thread
from inspector.core.tokens.estimators import estimator, weight
from inspector.core.tokens.fit import Fit, fit
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.segments import (
    BandCoverage,
    CallSegment,
    prediction_coverage,
    split_segments,
)
from inspector.gui.bridge import Task

MEANT, MOSTLY = 50, 0.6
"""Least tokens by which a buffer must grow to be counted, and the share of them that one class must exceed."""


@dataclass(frozen=True, slots=True)
class Share:
    """The ratio of reported to estimated tokens of one class of content."""

    category: Category
    ratio: float
    requests: int


def by_class(thread: Thread, estimator_fit: Fit) -> tuple[Share, ...]:
    """Return the ratio of reported to estimated growth for each class of content, the most frequent class first.

    Growth from one request to the next is counted only if it is at least `MEANT` tokens, and more than the share
    `MOSTLY` of them is of one class. The ratio is that of the sums of each class.
    """
    measure = estimator(estimator_fit.name)
    sums: dict[Category, tuple[int, int, int]] = {}
    for before, after in pairwise(estimator_fit.samples):
        old = thread.requests[before.request]
        new = thread.requests[after.request]
        grown = after.estimated - before.estimated
        if grown < MEANT or not is_prefix(old.view, new.view):
            continue
        had = composition(measure, old.view)
        has = composition(measure, new.view)
        category = max(has, key=lambda name: has[name] - had.get(name, 0))
        if has[category] - had.get(category, 0) > MOSTLY * grown:
            estimated, reported, count = sums.get(category, (0, 0, 0))
            sums[category] = (
                estimated + grown,
                reported + after.reported - before.reported,
                count + 1,
            )
    shares = [
        Share(category, reported / estimated, requests)
        for category, (estimated, reported, requests) in sums.items()
    ]
    return tuple(sorted(shares, key=lambda share: -share.requests))


@dataclass(frozen=True, slots=True)
class EstimatorFit:
    """How well one estimator fits a thread."""

    fit: Fit
    shares: tuple[Share, ...]
    predicted: Mapping[int, int]
    """Tokens predicted for each request before its report, by the index of the request."""
    segments: tuple[CallSegment, ...]
    """The samples in segments, each with its fitted line."""
    coverage: tuple[BandCoverage, ...]
    """How often the reported tokens were inside each band around the prediction."""


def fit_estimator(thread: Thread, name: str, task: Task) -> EstimatorFit:
    """Fit one estimator: its segments, ratios by class, predictions. Raises Cancelled soon after a cancel."""
    measure = estimator(name)
    for index, message in enumerate(thread.messages):
        if index % 64 == 0 and task.cancelled():
            raise Cancelled("The count was stopped.")
        weight(measure, message)
    pressures = thread_pressures(thread, measure)
    overall = fit(thread, measure, pressures)
    predicted = {
        index: pressure.predicted.tokens
        for index, pressure in enumerate(pressures)
        if pressure.predicted is not None
    }
    segments = split_segments(thread, overall.samples)
    pairs = [
        (pressure.predicted, pressure.reported)
        for pressure in pressures
        if pressure.predicted is not None and pressure.reported
    ]
    return EstimatorFit(
        overall,
        shares=by_class(thread, overall),
        predicted=predicted,
        segments=segments,
        coverage=prediction_coverage(pairs),
    )
