"""How good an estimator is on a session: its numbers against what the provider reported.

Two questions. How far off was the calibrated estimate, before it had seen the answer (errors)? And how straight is the
line from estimate to reported number (R2), whatever a fixed overhead or another tokenizer's density does to it?
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.core.session import Thread
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.estimators import Estimator, refusals
from inspector.core.tokens.pressure import Pressures, thread_pressures


@dataclass(frozen=True, slots=True)
class Sample:
    """One call that reported its prompt size."""

    request: int
    estimated: int
    """Raw."""
    reported: int
    scale: float
    """What was learned, this sample included."""
    predicted: int
    """What the calibrated estimator said before it saw this sample."""

    @property
    def error(self) -> float:
        """predicted / reported - 1."""
        return self.predicted / self.reported - 1


@dataclass(frozen=True, slots=True)
class Line:
    """reported = overhead + slope x estimated, by least squares."""

    overhead: float
    """Tokens that no message accounts for: system prompt and tools where the file lacks them."""
    slope: float
    r2: float | None
    """Share of the variance that the line explains; None where all reported numbers are the same."""


@dataclass(frozen=True, slots=True)
class Fit:
    """An estimator on the calls of one thread. Figures are None where there are too few samples for them."""

    name: str
    kind: Kind
    samples: tuple[Sample, ...]
    refused: tuple[int, ...]
    """Requests that count for nothing, because the tokenizer refused a text in them."""
    median_abs_error: float | None
    p90_abs_error: float | None
    line: Line | None

    @property
    def r2(self) -> float | None:
        """Of the line."""
        return self.line.r2 if self.line else None


def calibration_report(thread: Thread, estimators: Iterable[Estimator]) -> tuple[Fit, ...]:
    """One fit an estimator, in their order."""
    return tuple(fit(thread, estimator) for estimator in estimators)


def best_fit(fits: Iterable[Fit]) -> Fit | None:
    """The one with the straightest line; None where none has a line."""
    straight = [(found.r2, -n, found) for n, found in enumerate(fits) if found.r2 is not None]
    return max(straight)[2] if straight else None


def fit(thread: Thread, estimator: Estimator, pressures: Pressures | None = None) -> Fit:
    """Every call with a reported prompt size against this estimator. `pressures`: of the same two, where at hand."""
    found = thread_pressures(thread, estimator) if pressures is None else pressures
    refused = tuple(n for n, request in enumerate(thread.requests) if refusals(estimator, request.view))
    samples = _samples(found, frozenset(refused))
    errors = sorted(abs(sample.error) for sample in samples)
    points = [(sample.estimated, sample.reported) for sample in samples]
    return Fit(
        estimator.name, estimator.kind, samples, refused, quantile(errors, 0.5), quantile(errors, 0.9), line(points)
    )


def _samples(pressures: Pressures, refused: frozenset[int]) -> tuple[Sample, ...]:
    return tuple(
        Sample(n, pressure.estimated, pressure.reported, calibration.scale, pressure.calibrated)
        for n, (pressure, calibration) in enumerate(zip(pressures, pressures.calibrations, strict=True))
        if pressure.reported and pressure.estimated and n not in refused
    )


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the ordered values lie, interpolated; None of no values."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def line(points: Sequence[tuple[float, float]]) -> Line | None:
    """The straight line through (x, y) points by least squares; None with fewer than two different x."""
    if len({x for x, _ in points}) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    slope = xy / xx
    return Line(mean_y - slope * mean_x, slope, min(1.0, xy * xy / (xx * yy)) if yy else None)
