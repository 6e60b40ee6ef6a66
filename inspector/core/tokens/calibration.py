"""What an estimator learns from what the provider reports: one factor, the mean of the last ratios (spec 1.3)."""

import math
from dataclasses import dataclass

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
        mean = _mean_ratio(samples)
        return Calibration(samples, min(HIGHEST, max(LOWEST, mean)) if math.isfinite(mean) else self.scale)

    def apply(self, raw: int) -> int:
        """`raw` times the scale, half away from zero."""
        return math.floor(raw * self.scale + 0.5) if raw else 0


def _mean_ratio(samples: tuple[tuple[int, int], ...]) -> float:
    try:
        return sum(real / estimated for estimated, real in samples) / len(samples)
    except OverflowError:  # numbers no float holds
        return math.inf
