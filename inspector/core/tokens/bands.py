"""Compute the band around a prediction of the next call from the session's own prediction errors, by kind of growth.

An error is measured as a share of what was unknown: a few tokens of framing and reminders, and a part of the new
messages. These shares are stored by kind, because predictions that are accurate to a few tokens while tools answer may
be far off at a new turn. The usual errors of other sessions count, too, until the session has enough errors.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.tokens.quantiles import quantile

Growth: TypeAlias = Literal["first", "grew", "large", "turn", "cleared", "uncounted"]
"""first: one of the first requests; large: by thousands of tokens; turn: the user wrote something; cleared: messages
were removed or changed; uncounted: the new messages are not recorded."""

LARGE = 4_000
"""Tokens of growth above which the kind is *large*."""
FIRST = 3
"""Reports after which a session is no longer new."""
LEAST = 16
"""Smallest distance in tokens from a prediction to either end of its band: framing varies by a few tokens."""
_KEPT = 64
"""Largest number of stored errors for each kind."""
_INSIDE = 0.96
"""Share of the errors that the band should contain."""


@dataclass(frozen=True, slots=True)
class BandPrior:
    """The usual errors of predictions, until a session shows its own."""

    units: Mapping[Growth, tuple[float, float]]
    """The unit of errors by kind: (tokens, share of the change, or of the whole prompt if nothing is counted). About 95
    of 100 predictions of a kind have an error of at most one unit."""
    spread: tuple[float, ...]
    """The distribution of errors over sessions, in these units."""

    def unit(self, kind: Growth, change: int, doubt: float = 0.0) -> float:
        """Return the tokens of one unit. `doubt`: the smallest share of the change to use."""
        fixed, share = self.units[kind]
        return fixed + max(share, doubt) * abs(change)


_UNIT: Mapping[Growth, tuple[float, float]] = {
    "first": (98, 0.09),
    "grew": (130, 0.03),
    "large": (220, 0.15),
    "turn": (250, 0.12),
    "cleared": (200, 0.25),
    "uncounted": (100, 0.08),
}
_USUAL = (
    0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.18, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0, 2.0,
)  # fmt: skip
PRIOR = BandPrior(_UNIT, _USUAL)
"""Fitted over sessions of many clients by `python packaging/make_fidelity.py --fit`."""


class Bands:
    """The errors of one thread's predictions, by kind."""

    def __init__(self, prior: BandPrior = PRIOR) -> None:
        self._prior = prior
        self._errors: dict[Growth, deque[float]] = {}

    def copy(self) -> "Bands":
        """Return an independent copy. O(1)."""
        bands = Bands(self._prior)
        bands._errors = {kind: errors.copy() for kind, errors in self._errors.items()}
        return bands

    def room(self, kind: Growth, change: int, doubt: float = 0.0) -> int:
        """Return the tokens on either side of a prediction.

        Args:
            kind: kind of the change since the last report.
            change: predicted tokens of the change; tokens of the whole prompt if nothing is counted.
            doubt: relative uncertainty of counted tokens, while the session has too few reports to show it.
        """
        errors = (
            quantile((*self._errors.get(_merged(kind), ()), *self._prior.spread), _INSIDE) or 0.0
        )
        return max(LEAST, round(errors * self._prior.unit(kind, change, doubt)))

    def learn(self, kind: Growth, change: int, error: int) -> None:
        """Store the error of a prediction, in tokens."""
        errors = self._errors.setdefault(_merged(kind), deque(maxlen=_KEPT))
        errors.append(abs(error) / self._prior.unit(kind, change))


def _merged(kind: Growth) -> Growth:
    """Return the kind under which errors are stored: those of the first requests count for later growth."""
    return "grew" if kind == "first" else kind
