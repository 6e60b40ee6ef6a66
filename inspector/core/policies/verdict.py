"""The input of a policy beside the buffer, and its output: tiers, verdicts, watermarks and circuit breaker."""

from dataclasses import dataclass
from typing import TypeAlias

from inspector.core.session import NOTHING_FILED, Filed
from inspector.core.usage import FIVE_MINUTES_S, Usage


@dataclass(frozen=True, slots=True)
class CallReport:
    """What the provider reported for an earlier call, and which part of the buffer it covers."""

    upto: str
    """Id of the last message of its answer; without an answer, of the last message that was sent."""
    usage: Usage | None = None
    finish: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """What a policy may know besides the buffer, its settings and its running state."""

    step: int = 0
    """Number of the turn, as it appears in events."""
    model: str = ""
    usage: Usage | None = None
    """What the provider reported for the previous call; None if nothing."""
    finish: str = ""
    """How that call ended, in the provider's own word."""
    reports: tuple[CallReport, ...] | None = None
    """The newest calls since the latest recorded compaction, oldest first, back to one that reported usage and did not
    fail. None if unknown: then `usage` and `finish` are those of the newest answer in the buffer."""
    summary: str = ""
    """An existing session memory summary (Roku L2)."""
    remote: bool = False
    """The provider can compact remotely."""
    instructions: str = ""
    """What the user wants kept (manual compaction)."""
    overflow: str = ""
    """What the model said when it refused the buffer as too long; empty if it did not."""
    router: bool = True
    """There is a model to call."""
    max_tokens: int | None = None
    """Output tokens that the next call asks for."""
    output_ceiling: int | None = None
    """The most output tokens that the model accepts; None if unknown."""
    output_cap: bool = True
    """The provider lets the client set the output budget."""
    agent: str = ""
    """The sub-agent whose buffer it is; empty for the main agent."""
    idle_s: float | None = None
    """Seconds since the last successful call; None if unknown."""
    filed: Filed = NOTHING_FILED
    """What the session's file holds beside the messages."""
    cache_ttl_s: int = FIVE_MINUTES_S
    """How long the provider keeps what the session writes to its cache."""
    keeps_instructions: bool = False
    """The client's instructions among the messages stay, whatever the policy does (`instructions.py`)."""


@dataclass(frozen=True, slots=True)
class TierName:
    """A tier as the user sees it."""

    name: str
    title: str
    what: str
    """One sentence: what it does to the buffer."""
    calls_model: bool = False
    after_turn: bool = False
    """It fires after a turn, not before a call."""
    needs_overflow: bool = False
    """It fires only if the model refused the buffer (`PolicyInput.overflow`)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Would this tier fire now, and why: `118,402 ≤ 120,000 (60% of 200,000): 1,599 tokens to go`."""

    tier: str
    due: bool
    why: str
    tokens: int | None = None
    """The size that was compared."""
    limit: int | None = None
    """The watermark that it was compared with."""


Verdicts: TypeAlias = tuple[Verdict, ...]


def compare_to_limit(tokens: int, limit: int, of: str, *, fires_on: bool = False) -> str:
    """Return `118,402 ≤ 120,000 (60% of 200,000): 1,599 to go`.

    Args:
        of: what the limit is, for the brackets.
        fires_on: the tier fires on the limit (>=), not only above it (>).
    """
    over, under = ("≥", "<") if fires_on else (">", "≤")
    if tokens > limit or (fires_on and tokens == limit):
        return f"{tokens:,} {over} {limit:,} ({of}): {tokens - limit:,} over"
    return f"{tokens:,} {under} {limit:,} ({of}): {limit - tokens + (not fires_on):,} to go"


@dataclass(frozen=True, slots=True)
class Watermark:
    """A line on the gauge and the timeline, at `tokens`; `setting` is the field that moves it."""

    label: str
    tokens: int
    setting: str
    tiers: tuple[str, ...]
    fires_on: bool = False
    """The tiers fire on the line (>=), not above it (>)."""

    @property
    def least(self) -> int:
        """The smallest buffer that fires the line's tiers."""
        return self.tokens if self.fires_on else self.tokens + 1

    def fires(self, tokens: int) -> bool:
        """Does a buffer of that size, by the policy's own count, fire the line's tiers?"""
        return tokens >= self.least

    def to_go(self, tokens: int) -> int:
        """Return the tokens until it does; 0 or negative if it is over the line."""
        return self.tokens - tokens + (not self.fires_on and tokens <= self.tokens)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A policy's circuit breaker: after `limit` failures in a row it opens."""

    open: bool
    failures: int
    limit: int
