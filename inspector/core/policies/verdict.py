"""The further input of a policy beside the buffer, and its output: tiers, verdicts, watermarks, circuit breaker."""

from dataclasses import dataclass
from typing import TypeAlias

from inspector.core.session import NOTHING_FILED, Filed
from inspector.core.usage import FIVE_MINUTES_S, Usage


@dataclass(frozen=True, slots=True)
class CallReport:
    """The provider's report on an earlier request, and the part of the buffer that the report covers."""

    upto: str
    """Id of the last message of the answer or, without an answer, of the last message that was sent."""
    usage: Usage | None = None
    finish: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """The further input of a policy, beside the buffer, its settings and its running state."""

    step: int = 0
    """Number of the turn, as it appears in events."""
    model: str = ""
    usage: Usage | None = None
    """Reported usage of the previous request; None if not reported."""
    finish: str = ""
    """Finish reason of the previous request, in the provider's own word."""
    reports: tuple[CallReport, ...] | None = None
    """Reports of the requests since the latest recorded compaction, oldest first, back to one that has usage and did
    not fail. None if unknown; `usage` and `finish` are then those of the newest answer in the buffer."""
    summary: str = ""
    """An existing session memory summary (Roku L2)."""
    remote: bool = False
    """True if the provider can compact remotely."""
    instructions: str = ""
    """The user's instructions for a manual compaction."""
    overflow: str = ""
    """Error text of the model that refused the buffer as too long; empty if it did not refuse."""
    router: bool = True
    """True if there is a model to call."""
    max_tokens: int | None = None
    """Most output tokens that the next request allows."""
    output_ceiling: int | None = None
    """Most output tokens that the model supports; None if unknown."""
    output_cap: bool = True
    """True if the provider lets the client limit the output."""
    agent: str = ""
    """Id of the sub-agent that the buffer belongs to; empty for the main agent."""
    idle_s: float | None = None
    """Seconds since the last successful request; None if unknown."""
    filed: Filed = NOTHING_FILED
    """The records of the session's file other than the messages."""
    cache_ttl_s: int = FIVE_MINUTES_S
    """Lifetime of the session's entries in the provider's cache, in seconds."""
    keeps_instructions: bool = False
    """True if every policy must keep the client's instructions among the messages (`instructions.py`)."""


@dataclass(frozen=True, slots=True)
class TierName:
    """A tier as the user sees it."""

    name: str
    title: str
    what: str
    """The effect on the buffer, one sentence."""
    calls_model: bool = False
    after_turn: bool = False
    """True if the tier fires after a turn rather than before a request."""
    needs_overflow: bool = False
    """True if the tier fires only after the model refused the buffer (`PolicyInput.overflow`)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a tier would fire now, and why: `118,402 ≤ 120,000 (60% of 200,000): 1,599 tokens to go`."""

    tier: str
    due: bool
    why: str
    tokens: int | None = None
    """The size that was compared with the limit; None if the tier compares no size."""
    limit: int | None = None
    """The limit of the tier, such as its watermark; None if it has none."""


Verdicts: TypeAlias = tuple[Verdict, ...]


def compare_to_limit(tokens: int, limit: int, of: str, *, fires_on: bool = False) -> str:
    """Compare tokens with a limit: `118,402 ≤ 120,000 (60% of 200,000): 1,599 to go`.

    Args:
        tokens: The size of the buffer.
        limit: The limit of the tier.
        of: Description of the limit, for the brackets.
        fires_on: True if the tier fires at the limit (>=), False if only above it (>).
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
    """True if the tiers fire at the watermark (>=), False if only above it (>)."""

    @property
    def least(self) -> int:
        """Return the smallest size, in tokens, at which the tiers fire."""
        return self.tokens if self.fires_on else self.tokens + 1

    def fires(self, tokens: int) -> bool:
        """Do the tiers fire for a buffer of this size, by the policy's own count?"""
        return tokens >= self.least

    def to_go(self, tokens: int) -> int:
        """Return the tokens until the tiers fire; 0 or negative if they fire already."""
        return self.tokens - tokens + (not self.fires_on and tokens <= self.tokens)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A policy's circuit breaker, which opens after `limit` consecutive failures."""

    open: bool
    failures: int
    limit: int
