"""What a policy is: a harness's way to compact, told as settings, verdicts and tiers.

Settings are a frozen dataclass (the settings form and `--set` are built from its fields). Running state is a value
that goes in and comes out. `due` explains every tier, fired or not, as data. A tier is a conversation (`core.needs`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Json
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.session import NOTHING_FILED, Filed
from inspector.core.tokens.estimator import Estimator
from inspector.core.usage import MINUTES, Usage


@dataclass(frozen=True, slots=True)
class Report:
    """What the provider reported for a call before, and how far into the buffer that speaks."""

    upto: str
    """Id of the last message of its answer; where it left none, of the last message that was sent."""
    usage: Usage | None = None
    finish: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a policy may know besides the buffer, its settings and its running state."""

    step: int = 0
    """Number of the turn, as it appears in events."""
    model: str = ""
    usage: Usage | None = None
    """What the provider reported for the call just before, where it did."""
    finish: str = ""
    """How that call ended, in the provider's word."""
    reports: tuple[Report, ...] | None = None
    """The newest calls since the latest recorded compaction, oldest first, back to one that reported usage and did not
    fail. None = nobody looked: `usage` and `finish` are then those of the newest answer in the buffer."""
    summary: str = ""
    """A session memory summary that is at hand (Roku L2)."""
    remote: bool = False
    """The provider can compact remotely."""
    instructions: str = ""
    """What the user wants kept (manual compaction)."""
    overflow: str = ""
    """What the model said when it refused the buffer as too long; empty where it did not."""
    router: bool = True
    """There is a model to call at all."""
    max_tokens: int | None = None
    """Output tokens that the next call asks for."""
    output_ceiling: int | None = None
    """The most the model can be asked for, where known."""
    output_cap: bool = True
    """The provider lets the client set the output budget."""
    agent: str = ""
    """The sub-agent whose buffer it is; empty for the main agent."""
    idle_s: float | None = None
    """Seconds since the last successful call, where known."""
    filed: Filed = NOTHING_FILED
    """What the session's file tells beside the messages."""
    cache_ttl_s: int = MINUTES
    """How long the provider keeps what the session writes to its cache."""


@dataclass(frozen=True, slots=True)
class TierName:
    """A tier as the user meets it."""

    name: str
    title: str
    what: str
    """One sentence: what it does to the buffer."""
    calls_model: bool = False
    after_turn: bool = False
    """It fires behind a turn, not before a call."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Would this tier fire now, and why: `118,402 <= 120,000 (60 % of 200,000): 1,599 tokens to go`."""

    tier: str
    due: bool
    why: str
    tokens: int | None = None
    """What was compared ..."""
    limit: int | None = None
    """... with this watermark."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """A line on the gauge and the timeline: `tokens` = where it lies, `setting` = the field that moves it."""

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
        """Does a buffer that the policy measures like this fire the line's tiers?"""
        return tokens >= self.least

    def to_go(self, tokens: int) -> int:
        """Tokens until it does; 0 or less = over by so many."""
        return self.tokens - tokens + (not self.fires_on and tokens <= self.tokens)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A policy's circuit breaker: after `limit` failures in a row it opens."""

    open: bool
    failures: int
    limit: int


S = TypeVar("S")
R = TypeVar("R")


class Policy(Protocol[S, R]):
    """One harness. Stateless: all state goes in and comes out."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def tiers(self) -> Sequence[TierName]: ...
    @property
    def prompt_estimator(self) -> Estimator | None:
        """By what the harness counts its own system prompt and calibrates the whole: on a recorded session the part
        that the transcript does not hold then takes part in its measure (`Prompt.unseen`). None: it counts messages
        alone, or goes by what was reported."""
        ...

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> S:
        """Settings from `KEY=VALUE` pairs, by the harness's own spelling or snake_case, case ignored.

        Raises InspectorError with a sentence for an unknown key or a value outside its hard limits.
        """
        ...

    def fresh(self, settings: S) -> R:
        """Running state at the start of a session."""
        ...

    def load(self, settings: S, data: Json) -> R:
        """Running state from its JSON. Raises InspectorError."""
        ...

    def dump(self, running: R) -> dict[str, Any]:
        """Running state as JSON, readable by `load`."""
        ...

    def learn(self, running: R, settings: S, estimated: int, reported: int) -> R:
        """Feed one (raw estimate, reported prompt tokens) pair to the calibration."""
        ...

    def calibrated(self, running: R, settings: S, samples: Sequence[tuple[int, int]]) -> R:
        """With the calibration that is learned from these (raw estimate, reported) pairs alone. Asked only where
        `prompt_estimator` is given."""
        ...

    def measure(self, buffer: Buffer, settings: S, running: R) -> tuple[int, int]:
        """(raw estimate, calibrated estimate) of the buffer, by the policy's own estimator."""
        ...

    def breaker(self, settings: S, running: R) -> BreakerState | None:
        """The circuit breaker; None where the harness has none."""
        ...

    def watermarks(self, settings: S) -> tuple[Watermark, ...]:
        """The lines, lowest first."""
        ...

    def due(self, buffer: Buffer, settings: S, running: R, moment: Moment) -> tuple[Verdict, ...]:
        """A verdict for every tier, in the policy's order. Pure; changes nothing."""
        ...

    def tier(self, name: str, buffer: Buffer, settings: S, running: R, moment: Moment) -> Conversation[Outcome[R]]:
        """Run one tier whether or not it is due. Raises InspectorError for an unknown name."""
        ...

    def before_call(
        self, buffer: Buffer, settings: S, running: R, moment: Moment
    ) -> Conversation[tuple[Outcome[R], ...]]:
        """What the harness does right before a model call, in its own order; each outcome starts from the one before.

        After an overflow (`moment.overflow`): what it does before it tries again.
        """
        ...

    def after_turn(
        self, buffer: Buffer, settings: S, running: R, moment: Moment
    ) -> Conversation[tuple[Outcome[R], ...]]:
        """What the harness does after a model call and its tools."""
        ...

    def run_due(self, buffer: Buffer, settings: S, running: R, moment: Moment) -> Conversation[tuple[Outcome[R], ...]]:
        """Everything that is due on this buffer, before the call or after it, in the policy's own order.

        Never empty: where nothing is due, an outcome that changed nothing says so.
        """
        ...
