"""Measure how good an estimator is on a session, by comparing its numbers with the reported ones.

Three measures: the error of the number that the program showed before the report (`prediction`); the error of the
harness's own calibration, a factor through the origin (`samples`, `median_abs_error`); and the fit of a straight line
from estimate to report (R2), which allows for a fixed overhead and another tokenizer's density.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import correlation, linear_regression

from inspector.core.session import Thread
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimator import Kind
from inspector.core.tokens.estimators import Estimator, buffer_tokens, refusals
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.core.tokens.quantiles import quantile


@dataclass(frozen=True, slots=True)
class Sample:
    """One call that reported its prompt size."""

    request: int
    estimated: int
    """The raw estimate."""
    reported: int
    scale: float
    """The calibration factor, this sample included."""
    predicted: int
    """The estimate times the calibration factor before this sample."""
    model: str = ""

    @property
    def error(self) -> float:
        """Return predicted / reported - 1."""
        return self.predicted / self.reported - 1


@dataclass(frozen=True, slots=True)
class FitLine:
    """The line `reported = overhead + slope x estimated`, fitted by least squares."""

    overhead: float
    """Tokens that no message accounts for: system prompt and tools if the file lacks them."""
    slope: float
    r2: float | None
    """Share of the variance that the line explains; None if all reported numbers are the same."""


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """The errors of the number on the gauge before the report was known: |predicted / reported - 1|."""

    errors: tuple[float, ...]
    """The errors of the calls in order, without those right after a recorded compaction."""
    after: tuple[float, ...] = ()
    """The errors of the calls right after a recorded compaction of the history."""
    inside: int = 0
    """How many of the calls in `after` were reported within the predicted band."""
    median: float | None = None
    """Median of `errors`; None if nothing was predicted."""
    p90: float | None = None
    """The 90th percentile of `errors`."""
    after_median: float | None = None
    """Median of `after`; None if there was no compaction."""

    @property
    def requests(self) -> int:
        """Return the number of calls in `errors`."""
        return len(self.errors)

    @property
    def inside_band(self) -> float | None:
        """Return the share of `after` that was within the band; None without compactions."""
        return self.inside / len(self.after) if self.after else None


@dataclass(frozen=True, slots=True)
class Fit:
    """The quality of an estimator on the calls of one thread. Figures are None if there are too few samples."""

    name: str
    kind: Kind
    samples: tuple[Sample, ...]
    refused: tuple[int, ...]
    """Requests that are left out because the tokenizer refused a text in them."""
    median_abs_error: float | None
    p90_abs_error: float | None
    line: FitLine | None
    prediction: PredictionErrors

    @property
    def r2(self) -> float | None:
        """Return the R2 of the line; None without a line."""
        return self.line.r2 if self.line else None

    @property
    def r2_by_model(self) -> float | None:
        """Return the share of the variance around each model's mean that a line for each model explains.

        Each model has its own tokenizer and prompt. None if all numbers of each model are the same.
        """
        groups = defaultdict[str, list[tuple[float, float]]](list)
        for sample in self.samples:
            groups[sample.model].append((sample.estimated, sample.reported))
        return explained(groups.values())


def calibration_report(thread: Thread, estimators: Iterable[Estimator]) -> tuple[Fit, ...]:
    """Return the fit of each estimator, in their order."""
    return tuple(fit(thread, estimator) for estimator in estimators)


def fit(thread: Thread, estimator: Estimator, pressures: Pressures | None = None) -> Fit:
    """Compare an estimator with every call that reports its prompt size.

    Args:
        thread: The thread.
        estimator: The estimator.
        pressures: The pressures of the thread by this estimator; None: compute them.
    """
    if pressures is None:
        pressures = thread_pressures(thread, estimator)
    refused = tuple(
        n for n, request in enumerate(thread.requests) if refusals(estimator, request.view)
    )
    samples = _samples(thread, estimator, frozenset(refused))
    errors = [abs(sample.error) for sample in samples]
    points = [(sample.estimated, sample.reported) for sample in samples]
    return Fit(
        estimator.name,
        estimator.kind,
        samples,
        refused,
        median_abs_error=quantile(errors, 0.5),
        p90_abs_error=quantile(errors, 0.9),
        line=fit_line(points),
        prediction=prediction_errors(thread, pressures),
    )


def prediction_errors(thread: Thread, pressures: Pressures) -> PredictionErrors:
    """Return how far the predictions of a thread were off."""
    compacted = {
        compaction.before_request
        for compaction in thread.compactions
        if compaction.kind == "summary"
    }
    plain: list[float] = []
    after: list[float] = []
    inside = 0
    last_reported = -1
    for index, pressure in enumerate(pressures):
        predicted = pressure.predicted
        if pressure.reported is None:
            continue
        if predicted is not None:
            error = abs(predicted.tokens / pressure.reported - 1)
            was_compacted = any(at in compacted for at in range(last_reported + 1, index + 1))
            if was_compacted:
                after.append(error)
                inside += predicted.low <= pressure.reported <= predicted.high
            else:
                plain.append(error)
        last_reported = index
    middle = quantile(plain, 0.5)
    high = quantile(plain, 0.9)
    later = quantile(after, 0.5)
    return PredictionErrors(
        tuple(plain), after=tuple(after), inside=inside, median=middle, p90=high, after_median=later
    )


def _samples(thread: Thread, estimator: Estimator, refused: frozenset[int]) -> tuple[Sample, ...]:
    samples: list[Sample] = []
    calibration = Calibration()
    for index, request in enumerate(thread.requests):
        reported = request.usage.prompt if request.usage else 0
        raw = buffer_tokens(estimator, request.view, request.prompt)
        if not reported or not raw or index in refused:
            continue
        predicted = calibration.apply(raw)
        calibration = calibration.update(raw, reported)
        sample = Sample(
            index,
            estimated=raw,
            reported=reported,
            scale=calibration.scale,
            predicted=predicted,
            model=request.model,
        )
        samples.append(sample)
    return tuple(samples)


def explained(groups: Iterable[Sequence[tuple[float, float]]]) -> float | None:
    """Return the share of the variance within groups of (x, y) points that one line per group explains (R2)."""
    whole = left = 0.0
    for points in groups:
        mean = sum(y for _, y in points) / len(points)
        fitted = fit_line(points)
        around_mean = sum((y - mean) ** 2 for _, y in points)
        whole += around_mean
        if fitted is None:
            left += around_mean
        else:
            left += sum((y - (fitted.overhead + fitted.slope * x)) ** 2 for x, y in points)
    return max(0.0, 1 - left / whole) if whole else None


def fit_line(points: Sequence[tuple[float, float]]) -> FitLine | None:
    """Return the straight line through (x, y) points by least squares; None with fewer than two different x."""
    if len({x for x, _ in points}) < 2:
        return None
    xs, ys = zip(*points, strict=True)
    slope, overhead = linear_regression(xs, ys)
    share = None
    if len(set(ys)) > 1:
        # Rounding errors may exceed 1.
        share = min(1.0, correlation(xs, ys) ** 2)
    return FitLine(overhead, slope, share)
