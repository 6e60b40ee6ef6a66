"""Split the calls of a thread into segments, each with a fitted line from estimate to report, and measure how often the
report was inside the bands around its prediction.

A segment ends at a recorded compaction of the history, after which another part of the prompt is not in the file, and
at a change of the model, after which another tokenizer counts.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.core.session import Thread
from inspector.core.tokens.fit import FitLine, Sample, fit_line
from inspector.core.tokens.prediction import Prediction
from inspector.core.tokens.quantiles import quantile

LEAST_PREDICTIONS = 20
"""Smallest number of earlier predictions at which a band is used."""
BAND_SHARES = (0.5, 0.8, 0.9, 0.95)
"""Shares of the reports that the bands should hold."""
SHOWN_SHARE = 0.95
"""Share of the reports that the range on the gauge should hold."""


@dataclass(frozen=True, slots=True)
class CallSegment:
    """Calls between two compactions, by one model."""

    samples: tuple[Sample, ...]
    fit: FitLine | None
    """The fitted line; None with fewer than two different estimates."""

    @property
    def first(self) -> int:
        """Return the index of the first request with a sample."""
        return self.samples[0].request

    @property
    def last(self) -> int:
        """Return the index of the last request with a sample."""
        return self.samples[-1].request

    @property
    def model(self) -> str:
        """Return the model of its calls."""
        return self.samples[0].model

    def residual(self, sample: Sample) -> float | None:
        """Return the reported tokens minus those of the line; None without a line."""
        if self.fit is None:
            return None
        return sample.reported - (self.fit.overhead + self.fit.slope * sample.estimated)


def split_segments(thread: Thread, samples: Sequence[Sample]) -> tuple[CallSegment, ...]:
    """Return the segments of a thread's samples, in order."""
    compacted = sorted(
        compaction.before_request
        for compaction in thread.compactions
        if compaction.kind == "summary"
    )
    groups: list[list[Sample]] = []
    former: tuple[int, str] | None = None
    for sample in samples:
        place = bisect_right(compacted, sample.request), sample.model
        if place != former:
            groups.append([])
            former = place
        groups[-1].append(sample)
    return tuple(CallSegment(tuple(group), _fit_line(group)) for group in groups)


def _fit_line(samples: Iterable[Sample]) -> FitLine | None:
    return fit_line([(sample.estimated, sample.reported) for sample in samples])


@dataclass(frozen=True, slots=True)
class BandCoverage:
    """The number of reports that were inside a band."""

    expected: float
    """Share of the reports that should be inside."""
    inside: int
    count: int
    width: float | None
    """Half the width of the current band, as a share of the prediction; None if it differs between requests."""

    @property
    def share(self) -> float:
        """Return the share of the reports that were inside."""
        return self.inside / self.count if self.count else 0.0


def prediction_coverage(predictions: Sequence[tuple[Prediction, int]]) -> tuple[BandCoverage, ...]:
    """Return the coverage of the range that the gauge shows, and of bands that hold given shares of the earlier errors.

    Each band uses only the errors of earlier requests, and counts after the first `LEAST_PREDICTIONS`. Empty without
    predictions. O(predictions²) moves of memory.

    Args:
        predictions: (prediction, tokens that the provider then reported), in the order of the requests.
    """
    if not predictions:
        return ()
    inside = sum(predicted.low <= reported <= predicted.high for predicted, reported in predictions)
    errors = [abs(predicted.tokens / reported - 1) for predicted, reported in predictions]
    bands = [_band_coverage(errors, share) for share in BAND_SHARES]
    return BandCoverage(SHOWN_SHARE, inside, count=len(predictions), width=None), *(
        band for band in bands if band.count
    )


def _band_coverage(errors: Sequence[float], share: float) -> BandCoverage:
    earlier = list[float]()
    inside = 0
    count = 0
    for error in errors:
        if len(earlier) >= LEAST_PREDICTIONS:
            inside += error <= _sorted_quantile(earlier, share)
            count += 1
        insort(earlier, error)
    return BandCoverage(share, inside, count, width=quantile(errors, share))


def _sorted_quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of values that are already sorted."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
