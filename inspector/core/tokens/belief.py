"""Believed: what a harness would measure that counts its own prompt and calibrates by what was reported (idea 4).

On a recorded session such a harness knows its system prompt and tools, which the transcript often does not hold. So
the unseen part takes part in its sum, in its own units: unseen / slope, with the slope of reported over its own raw
estimate. A calibration through the origin then learns the slope, and not the overhead. The unseen part is the running
median of reported - slope x estimated since the last compaction; everything before a call is known, nothing after it.
"""

from collections import deque
from dataclasses import dataclass

from inspector.core.tokens.calibration import HIGHEST, LOWEST, MAX_SAMPLES, Calibration
from inspector.core.tokens.growth import LASTING, Ratios, prior, quantile

_STRETCH = 16
"""Reports of the stretch that the running median is taken of."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Before a call."""

    unseen: int = 0
    """Of the unseen part, in the estimator's own tokens."""
    samples: tuple[tuple[int, int], ...] = ()
    """(raw estimate with the unseen part, reported) of the last calls: what the calibration has learned from."""

    def calibration(self) -> Calibration:
        """What was learned."""
        found = Calibration()
        for estimated, reported in self.samples:
            found = found.update(estimated, reported)
        return found

    def tokens(self, raw: int) -> int:
        """The calibrated total of a buffer with that raw estimate."""
        return self.calibration().apply(raw + self.unseen)


class Beliefs:
    """Follows the reports of one thread, in order."""

    def __init__(self, estimator: str) -> None:
        self._estimator = estimator
        self._ratios = Ratios(LASTING)
        self._samples: deque[tuple[int, int, int | None]] = deque(maxlen=MAX_SAMPLES)
        """(raw, reported, tokens unseen where its stretch is over; None = of the stretch we are in)."""
        self._stretch: deque[tuple[int, int]] = deque(maxlen=_STRETCH)
        self._model = ""
        self._now = Belief()

    def now(self) -> Belief:
        """Before the next call."""
        return self._now

    def report(self, raw: int, reported: int, model: str, grown: tuple[int, int] | None, *, fresh: bool) -> None:
        """The provider reported a buffer with that raw estimate.

        `grown`: tokens (reported, raw) by which it outgrew the one before, where it extends it. `fresh`: a compaction
        came before it.
        """
        self._model = model or self._model
        if fresh and self._stretch:
            unseen = self._unseen()
            closed = [(told, true, unseen if known is None else known) for told, true, known in self._samples]
            self._samples.clear()
            self._samples.extend(closed)
            self._stretch.clear()
        if grown is not None:
            self._ratios.add(*grown)
        self._stretch.append((raw, reported))
        self._samples.append((raw, reported, None))
        slope = min(HIGHEST, max(LOWEST, self._slope()))  # the range that a calibration can learn
        here = self._unseen()

        def whole(counted: int, known: int | None) -> int:
            return counted + round((here if known is None else known) / slope)

        samples = tuple((whole(counted, known), told) for counted, told, known in self._samples)
        self._now = Belief(round(here / slope), samples)

    def _slope(self) -> float:
        return self._ratios.median(prior(self._estimator, self._model))

    def _unseen(self) -> int:
        """In reported tokens."""
        slope = self._slope()
        return max(0, round(quantile((told - slope * counted for counted, told in self._stretch), 0.5) or 0))
