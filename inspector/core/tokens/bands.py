"""How far a prediction of the next call may be off: learned from the session's own errors, by kind of growth.

An error is measured as a share of what was unknown: a few tokens of framing and reminders, and a part of the new
messages. These shares are stored by kind, because a session that is predicted to a few tokens while tools answer may be
far off at a new turn. Until there are enough of them, the usual errors of other sessions count, too.
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
"""Tokens of growth from which on it is *large*."""
FIRST = 3
"""Reports after which a session is no longer new."""
LEAST = 16
"""Tokens on either side of a prediction at least: framing alone is unsure by a few tokens."""
_KEPT = 64
"""Errors of a kind that are remembered."""
_INSIDE = 0.96
"""Share of the errors that are to lie within the band."""


@dataclass(frozen=True, slots=True)
class BandPrior:
    """The usual errors of predictions, until a session shows its own."""

    units: Mapping[Growth, tuple[float, float]]
    """(tokens, share of the change; of the whole prompt where nothing is counted): about what 95 of 100 predictions of
    that kind are off by at most."""
    spread: tuple[float, ...]
    """Errors in that unit, as they are spread over sessions."""

    def unit(self, kind: Growth, change: int, doubt: float = 0.0) -> float:
        """Return tokens of one unit. `doubt`: the least share of the change."""
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
            kind: what makes the buffer another one.
            change: predicted tokens by which it is another one; of the whole prompt where nothing is counted.
            doubt: how far a counted token may be off, as a share of it, while the session has not said.
        """
        errors = (
            quantile((*self._errors.get(_merged(kind), ()), *self._prior.spread), _INSIDE) or 0.0
        )
        return max(LEAST, round(errors * self._prior.unit(kind, change, doubt)))

    def learn(self, kind: Growth, change: int, error: int) -> None:
        """Remember by how many tokens a prediction was off."""
        errors = self._errors.setdefault(_merged(kind), deque(maxlen=_KEPT))
        errors.append(abs(error) / self._prior.unit(kind, change))


def _merged(kind: Growth) -> Growth:
    """The first requests teach what the later ones are like."""
    return "grew" if kind == "first" else kind
