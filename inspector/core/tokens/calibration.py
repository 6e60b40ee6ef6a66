"""What a harness learns from what the provider reports: one factor, the mean of the last ratios (spec 1.3); and what it
would believe on a recorded session, where it counts its own prompt (idea 4).

Such a harness knows its system prompt and tools, which the transcript often does not hold. So the unseen part takes
part in its sum, in its own units: unseen / slope, with the slope of reported over its own raw estimate. A calibration
through the origin then learns the slope, and not the overhead. The unseen part is the running median of
reported - slope x estimated since the last compaction; everything before a call is known, nothing after it.
"""

import math
from collections import deque
from copy import copy
from dataclasses import dataclass

from inspector.core.tokens.prediction import LASTING, Ratios, prior
from inspector.core.tokens.quantiles import quantile

MAX_SAMPLES = 8
LOWEST, HIGHEST = 0.5, 2.0
"""The scale never leaves this range. The clamp acts on the mean, not on the single ratio."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The last samples and the scale learned from them. A value: `update` gives a new one."""

    samples: tuple[tuple[int, int], ...] = ()
    """(raw estimate right before the call, prompt tokens the provider reported), oldest first."""
    scale: float = 1.0

    def update(self, estimated: int, real: int) -> "Calibration":
        """With one more sample. `estimated` must be raw: feeding scaled totals back converges to the wrong point.

        Unchanged where either number is 0 (nothing was sent, or nothing reported).
        """
        if estimated <= 0 or real <= 0:
            return self
        samples = (*self.samples, (estimated, real))[-MAX_SAMPLES:]
        try:
            mean = sum(real / estimated for estimated, real in samples) / len(samples)
        except OverflowError:  # numbers no float holds
            return Calibration(samples, self.scale)
        return Calibration(samples, min(HIGHEST, max(LOWEST, mean)) if math.isfinite(mean) else self.scale)

    def apply(self, raw: int) -> int:
        """`raw` times the scale, half away from zero."""
        return math.floor(raw * self.scale + 0.5) if raw else 0


_RUNNING_MEDIAN = 16
"""Reports of the stretch that the running median is taken of."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Before a call. There is one of each request: what they have in common they share."""

    reported: tuple[tuple[int, int, int | None], ...] = ()
    """(raw estimate, prompt tokens reported, tokens unseen where its stretch is over) of the last calls."""
    here: int = 0
    """Tokens unseen in the stretch we are in."""
    slope: float = 1.0
    """Reported tokens for an estimated one."""

    @property
    def unseen(self) -> int:
        """Of the unseen part, in the estimator's own tokens."""
        return round(self.here / self.slope)

    @property
    def samples(self) -> tuple[tuple[int, int], ...]:
        """(raw estimate with the unseen part, reported) of the last calls: what the calibration has learned from."""
        here, slope = self.here, self.slope
        return tuple(
            [(raw + round((here if known is None else known) / slope), told) for raw, told, known in self.reported]
        )

    def calibration(self) -> Calibration:
        """What was learned."""
        kept = tuple(pair for pair in self.samples if pair[0] > 0 and pair[1] > 0)[-MAX_SAMPLES:]
        return Calibration(kept[:-1]).update(*kept[-1]) if kept else Calibration()

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
        self._stretch: deque[tuple[int, int]] = deque(maxlen=_RUNNING_MEDIAN)
        self._model = ""
        self._now = Belief()

    def now(self) -> Belief:
        """Before the next call."""
        return self._now

    def copy(self) -> "Beliefs":
        """Return beliefs from the same reports, to be led on by itself. O(1)."""
        made = copy(self)
        made._ratios = self._ratios.copy()
        made._samples, made._stretch = self._samples.copy(), self._stretch.copy()
        return made

    def report(self, raw: int, reported: int, model: str, grown: tuple[int, int] | None, *, fresh: bool) -> None:
        """The provider reported a buffer with that raw estimate.

        `grown`: tokens (reported, raw) by which it outgrew the one before, where it extends it. `fresh`: a compaction
        came before it.
        """
        self._model = model or self._model
        if fresh and self._stretch:
            self._close_samples()
            self._stretch.clear()
        if grown is not None and not grown[1]:
            self._see_unrecorded(grown[0])
        if grown is not None:
            self._ratios.add(*grown)
        self._stretch.append((raw, reported))
        self._samples.append((raw, reported, None))
        slope = min(HIGHEST, max(LOWEST, self._slope()))  # the range that a calibration can learn
        self._now = Belief(tuple(self._samples), self._unseen(), slope)

    def _close_samples(self) -> None:
        """What was unseen in the samples so far stays as it is known now."""
        unseen = self._unseen()
        closed = [(told, true, unseen if known is None else known) for told, true, known in self._samples]
        self._samples.clear()
        self._samples.extend(closed)

    def _see_unrecorded(self, tokens: int) -> None:
        """The buffer grew, and no message of that is recorded: a harness that counts its prompt counts them at once."""
        if tokens and self._stretch:
            self._close_samples()
            moved = [(raw, reported + tokens) for raw, reported in self._stretch]
            self._stretch.clear()
            self._stretch.extend(moved)

    def _slope(self) -> float:
        return self._ratios.median(prior(self._estimator, self._model))

    def _unseen(self) -> int:
        """In reported tokens."""
        slope = self._slope()
        return max(0, round(quantile((told - slope * counted for counted, told in self._stretch), 0.5) or 0))
