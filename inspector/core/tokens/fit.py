"""How good an estimator is on a session: its numbers compared with what the provider reported.

Three questions. How far off was the number that the program shows before it is reported (prediction)? How far off is
the harness's own way, a factor through the origin (samples, median_abs_error)? And how straight is the line from
estimate to reported number (R2), whatever a fixed overhead or another tokenizer's density does to it?
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
    """Raw."""
    reported: int
    scale: float
    """What was learned, this sample included."""
    predicted: int
    """What the estimator times its learned factor said before it saw this sample."""
    model: str = ""

    @property
    def error(self) -> float:
        """predicted / reported - 1."""
        return self.predicted / self.reported - 1


@dataclass(frozen=True, slots=True)
class FitLine:
    """reported = overhead + slope x estimated, by least squares."""

    overhead: float
    """Tokens that no message accounts for: system prompt and tools where the file lacks them."""
    slope: float
    r2: float | None
    """Share of the variance that the line explains; None where all reported numbers are the same."""


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """Of the number on the gauge, each said before the report was known: |predicted / reported - 1|."""

    errors: tuple[float, ...]
    """Of the next calls, in order; those right after a recorded compaction left out."""
    after: tuple[float, ...] = ()
    """Right after a recorded compaction of the history."""
    inside: int = 0
    """Of these, where the reported number lay within the band."""
    median: float | None = None
    """None where nothing was predicted."""
    p90: float | None = None
    """The 90th percentile."""
    after_median: float | None = None
    """None where there was no compaction."""

    @property
    def requests(self) -> int:
        """Predicted next calls."""
        return len(self.errors)

    @property
    def inside_band(self) -> float | None:
        """Share of those right after a compaction; None where there was none."""
        return self.inside / len(self.after) if self.after else None


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
    line: FitLine | None
    prediction: PredictionErrors

    @property
    def r2(self) -> float | None:
        """Of the line."""
        return self.line.r2 if self.line else None

    @property
    def r2_by_model(self) -> float | None:
        """With a line for each model, which has a tokenizer and a prompt of its own: the share of the variance around
        each model's mean that its line explains. None where all numbers of each are the same."""
        groups = defaultdict[str, list[tuple[float, float]]](list)
        for sample in self.samples:
            groups[sample.model].append((sample.estimated, sample.reported))
        return explained(groups.values())


def calibration_report(thread: Thread, estimators: Iterable[Estimator]) -> tuple[Fit, ...]:
    """One fit an estimator, in their order."""
    return tuple(fit(thread, estimator) for estimator in estimators)


def fit(thread: Thread, estimator: Estimator, pressures: Pressures | None = None) -> Fit:
    """Every call with a reported prompt size, and this estimator. `pressures`: of the same two, where at hand."""
    found = thread_pressures(thread, estimator) if pressures is None else pressures
    refused = tuple(n for n, request in enumerate(thread.requests) if refusals(estimator, request.view))
    samples = _samples(thread, estimator, frozenset(refused))
    errors = [abs(sample.error) for sample in samples]
    points = [(sample.estimated, sample.reported) for sample in samples]
    return Fit(
        estimator.name,
        estimator.kind,
        samples,
        refused,
        quantile(errors, 0.5),
        quantile(errors, 0.9),
        line(points),
        prediction_errors(thread, found),
    )


def prediction_errors(thread: Thread, pressures: Pressures) -> PredictionErrors:
    """How far the predictions of a thread were off."""
    compacted = {compaction.before_request for compaction in thread.compactions if compaction.kind == "summary"}
    plain: list[float] = []
    after: list[float] = []
    inside, last = 0, -1
    for n, pressure in enumerate(pressures):
        predicted = pressure.predicted
        if pressure.reported is None:
            continue
        if predicted is not None:
            error = abs(predicted.tokens / pressure.reported - 1)
            if any(at in compacted for at in range(last + 1, n + 1)):
                after.append(error)
                inside += predicted.low <= pressure.reported <= predicted.high
            else:
                plain.append(error)
        last = n
    middle, high, later = quantile(plain, 0.5), quantile(plain, 0.9), quantile(after, 0.5)
    return PredictionErrors(tuple(plain), tuple(after), inside, middle, high, later)


def _samples(thread: Thread, estimator: Estimator, refused: frozenset[int]) -> tuple[Sample, ...]:
    found: list[Sample] = []
    calibration = Calibration()
    for n, request in enumerate(thread.requests):
        reported = request.usage.prompt if request.usage else 0
        raw = buffer_tokens(estimator, request.view, request.prompt)
        if reported and raw and n not in refused:
            predicted, calibration = calibration.apply(raw), calibration.update(raw, reported)
            found.append(Sample(n, raw, reported, calibration.scale, predicted, request.model))
    return tuple(found)


def explained(groups: Iterable[Sequence[tuple[float, float]]]) -> float | None:
    """R2 of a line of its own through each group of (x, y) points: the share of the variance within the groups."""
    whole = left = 0.0
    for points in groups:
        mean, found = sum(y for _, y in points) / len(points), line(points)
        whole += sum((y - mean) ** 2 for _, y in points)
        left += sum((y - (found.overhead + found.slope * x if found else mean)) ** 2 for x, y in points)
    return max(0.0, 1 - left / whole) if whole else None


def line(points: Sequence[tuple[float, float]]) -> FitLine | None:
    """The straight line through (x, y) points by least squares; None with fewer than two different x."""
    if len({x for x, _ in points}) < 2:
        return None
    xs, ys = zip(*points, strict=True)
    slope, overhead = linear_regression(xs, ys)
    share = min(1.0, correlation(xs, ys) ** 2) if len(set(ys)) > 1 else None  # it is rounded, and may come out above
    return FitLine(overhead, slope, share)
