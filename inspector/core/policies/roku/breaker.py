"""The circuit breaker: three failures in a row, and summaries are mechanical for the rest of the session (spec 1.8)."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Breaker:
    """Closed(failures) or open. Upstream never closes it again; `good_turns` serves our optional recovery."""

    failures: int = 0
    open: bool = False
    good_turns: int = 0

    def succeeded(self) -> "Breaker":
        """A compaction succeeded."""
        return self if self.open else Breaker()

    def failed(self, limit: int) -> "tuple[Breaker, bool]":
        """A compaction failed with an error. Says whether this is the failure that opens it."""
        if self.open:
            return self, False
        failures = self.failures + 1
        return Breaker(failures, failures >= limit), failures >= limit

    def good_turn(self, recovery_after: int) -> "Breaker":
        """A turn went well. Ours: after `recovery_after` of them in a row an open breaker closes; 0 = never."""
        if not self.open or recovery_after <= 0:
            return self
        turns = self.good_turns + 1
        return Breaker() if turns >= recovery_after else replace(self, good_turns=turns)
