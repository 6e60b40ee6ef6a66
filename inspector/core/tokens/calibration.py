"""The calibration of a harness (one factor, the mean of the last ratios of reported to estimated tokens), and the own
count of a harness that counts its prompt, on a recorded session.

Such a harness knows its system prompt and tools, but the transcript often does not hold them. So the part that is not
in the file is added to the harness's sum in its own unit: unseen / slope, where slope is reported / estimated tokens. A
calibration through the origin then learns the slope, and not the overhead. The unseen part is the running median of
reported - slope x estimated since the last compaction. Only reports of earlier calls are used for it.
"""

import math
from collections import deque
from copy import copy
from dataclasses import dataclass

from inspector.core.tokens.growth_ratios import Ratios
from inspector.core.tokens.prediction import LASTING, prior
from inspector.core.tokens.quantiles import quantile

MAX_SAMPLES = 8
LOWEST, HIGHEST = 0.5, 2.0
"""The scale never leaves this range. The clamp acts on the mean, not on the single ratio."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The last samples and the scale learned from them. Immutable: `update` returns a new calibration."""

    samples: tuple[tuple[int, int], ...] = ()
    """(raw estimate right before the call, prompt tokens the provider reported), oldest first."""
    scale: float = 1.0

    def update(self, estimated: int, real: int) -> "Calibration":
        """Return the calibration with one more sample; unchanged if either number is 0 (nothing sent, or reported).

        Args:
            estimated: The raw estimate: with scaled totals the calibration would converge to a wrong factor.
            real: The reported tokens.
        """
        if estimated <= 0 or real <= 0:
            return self
        samples = (*self.samples, (estimated, real))[-MAX_SAMPLES:]
        try:
            mean = sum(real / estimated for estimated, real in samples) / len(samples)
        except OverflowError:  # the numbers are too large for a float
            return Calibration(samples, self.scale)
        if not math.isfinite(mean):
            return Calibration(samples, self.scale)
        return Calibration(samples, min(HIGHEST, max(LOWEST, mean)))

    def apply(self, raw: int) -> int:
        """Return `raw` times the scale, rounded half away from zero."""
        return math.floor(raw * self.scale + 0.5) if raw else 0


_RUNNING_MEDIAN = 16
"""Number of the last reports since a compaction from which the running median is computed."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What a harness has learned from the reports of earlier calls."""

    reported: tuple[tuple[int, int, int | None], ...] = ()
    """(raw estimate, reported prompt tokens, unseen tokens) of the last calls. The unseen tokens are None for calls of
    the current stretch, which has not been compacted yet."""
    current_unseen: int = 0
    """Unseen tokens of the current stretch, in reported tokens."""
    slope: float = 1.0
    """Reported tokens per estimated token."""

    @property
    def unseen(self) -> int:
        """Return the unseen part, in the estimator's own tokens."""
        return round(self.current_unseen / self.slope)

    @property
    def samples(self) -> tuple[tuple[int, int], ...]:
        """Return (raw estimate with the unseen part, reported tokens) of the last calls: the calibration's samples."""
        samples = []
        for raw, reported, final_unseen in self.reported:
            unseen = self.current_unseen if final_unseen is None else final_unseen
            samples.append((raw + round(unseen / self.slope), reported))
        return tuple(samples)

    def calibration(self) -> Calibration:
        """Return the calibration by the last samples."""
        pairs = tuple(pair for pair in self.samples if pair[0] > 0 and pair[1] > 0)[-MAX_SAMPLES:]
        return Calibration(pairs[:-1]).update(*pairs[-1]) if pairs else Calibration()

    def tokens(self, raw: int) -> int:
        """Return the calibrated total of a buffer with that raw estimate."""
        return self.calibration().apply(raw + self.unseen)


class Beliefs:
    """Updates the belief of a harness with the reports of one thread, in order."""

    def __init__(self, estimator: str) -> None:
        self._estimator = estimator
        self._ratios = Ratios(LASTING)
        self._samples: deque[tuple[int, int, int | None]] = deque(maxlen=MAX_SAMPLES)
        """(raw estimate, reported tokens, unseen tokens), as in `Belief.reported`."""
        self._stretch: deque[tuple[int, int]] = deque(maxlen=_RUNNING_MEDIAN)
        self._model = ""
        self._now = Belief()

    def now(self) -> Belief:
        """Return the belief before the next call."""
        return self._now

    def copy(self) -> "Beliefs":
        """Return an independent copy. O(1)."""
        beliefs = copy(self)
        beliefs._ratios = self._ratios.copy()
        beliefs._samples = self._samples.copy()
        beliefs._stretch = self._stretch.copy()
        return beliefs

    def report(
        self, raw: int, reported: int, model: str, grown: tuple[int, int] | None, *, fresh: bool
    ) -> None:
        """Learn from a report.

        Args:
            raw: The raw estimate of the buffer.
            reported: Its tokens by the provider.
            model: The model that answered; empty: the same as before.
            grown: (reported, raw) tokens by which the buffer grew; None if it does not extend the previous one.
            fresh: Was the buffer compacted before this call?
        """
        self._model = model or self._model
        if fresh and self._stretch:
            self._close_samples()
            self._stretch.clear()
        if grown is not None:
            grown_reported, grown_raw = grown
            if not grown_raw:
                self._see_unrecorded(grown_reported)
            self._ratios.add(grown_reported, grown_raw)
        self._stretch.append((raw, reported))
        self._samples.append((raw, reported, None))
        slope = min(HIGHEST, max(LOWEST, self._slope()))  # the range that a calibration can learn
        self._now = Belief(tuple(self._samples), self._unseen(), slope)

    def _close_samples(self) -> None:
        """Fix the unseen tokens of the samples so far."""
        unseen = self._unseen()
        closed = [
            (raw, reported, unseen if final is None else final)
            for raw, reported, final in self._samples
        ]
        self._samples.clear()
        self._samples.extend(closed)

    def _see_unrecorded(self, tokens: int) -> None:
        """Learn that the buffer grew by `tokens` without a recorded message.

        A harness that counts its prompt includes these tokens at once.
        """
        if not tokens or not self._stretch:
            return
        self._close_samples()
        with_tokens = [(raw, reported + tokens) for raw, reported in self._stretch]
        self._stretch.clear()
        self._stretch.extend(with_tokens)

    def _slope(self) -> float:
        return self._ratios.median(prior(self._estimator, self._model))

    def _unseen(self) -> int:
        """Return the unseen part of the current stretch, in reported tokens."""
        slope = self._slope()
        overheads = [reported - slope * raw for raw, reported in self._stretch]
        return max(0, round(quantile(overheads, 0.5) or 0))
