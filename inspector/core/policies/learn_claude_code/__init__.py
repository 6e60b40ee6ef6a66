"""learn-claude-code v5: micro, auto and manual compaction, large outputs on disk (spec section 4).

`POLICY` is the whole of it for everyone else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.book import Book, Turn
from inspector.core.policies.learn_claude_code import order
from inspector.core.policies.learn_claude_code import running as states
from inspector.core.policies.learn_claude_code.auto import compact
from inspector.core.policies.learn_claude_code.loop import play
from inspector.core.policies.learn_claude_code.micro import microcompact
from inspector.core.policies.learn_claude_code.running import Running
from inspector.core.policies.learn_claude_code.settings import Settings, checked
from inspector.core.policies.learn_claude_code.spill import spill
from inspector.core.policies.learn_claude_code.verdicts import verdicts
from inspector.core.policies.learn_claude_code.wire import list_tokens
from inspector.core.policies.policy import BreakerState, Moment, TierName, Verdict, Watermark
from inspector.core.policies.settings import read, share_of

TIERS = (
    TierName("micro", "Micro-compaction", "Clears large old outputs of some tools."),
    TierName("auto", "Auto compaction", "Has a model summarise all; keeps the newest messages.", calls_model=True),
    TierName("manual", "Manual /compact", "As auto, when the user asks, with their wishes.", calls_model=True),
    TierName("spill", "Large output", "Saves a very large tool output to disk; a preview stays."),
)


@dataclass(frozen=True, slots=True)
class LearnClaudeCodePolicy:
    """See `core.policies.policy.Policy`."""

    name: str = "learn-claude-code"
    title: str = "learn-claude-code v5"
    tiers: Sequence[TierName] = TIERS
    prompt_estimator: None = None

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> Settings:
        """The window is its own constant, whatever the model's is."""
        return checked(read(Settings(), values, window, follows=False))

    def fresh(self, settings: Settings) -> Running:
        return Running()

    def load(self, settings: Settings, data: Json) -> Running:
        return states.load(data)

    def dump(self, running: Running) -> dict[str, Any]:
        return states.dump(running)

    def learn(self, running: Running, settings: Settings, estimated: int, reported: int) -> Running:
        return running  # its estimate is never compared with what the provider reports

    def calibrated(self, running: Running, settings: Settings, samples: Sequence[tuple[int, int]]) -> Running:
        return running

    def measure(self, buffer: Buffer, settings: Settings, running: Running) -> tuple[int, int]:
        total = list_tokens(buffer.messages)
        return total, total

    def breaker(self, settings: Settings, running: Running) -> BreakerState | None:
        """Safe mode's only: upstream has none."""
        if not settings.safe:
            return None
        return BreakerState(running.open, running.failures, settings.max_summary_failures)

    def watermarks(self, settings: Settings) -> tuple[Watermark, ...]:
        limit = max(0, settings.threshold)
        share = share_of(limit, settings.context_window, settings.window_from)
        return (Watermark(f"{share} auto", limit, "overhead", ("auto",)),)

    def due(self, buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
        return verdicts(buffer, settings, running, moment)

    def tier(
        self, name: str, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[Outcome[Running]]:
        match name.lower():
            case "micro":
                return microcompact(buffer, settings, running)
            case "auto":
                return (yield from compact("auto", buffer, settings, running, moment))
            case "manual":
                return (yield from compact("manual", buffer, settings, running, moment))
            case "spill":
                return (yield from spill(buffer, settings, running))
        known = ", ".join(tier.name for tier in TIERS)
        raise InspectorError(f"learn-claude-code has no tier {name!r}. It has {known}.")

    def before_call(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """Large outputs that came in, micro-compaction, auto compaction. A refusal of the buffer changes nothing."""
        return (yield from order.before_call(buffer, settings, running, moment, micro=not moment.agent))

    def after_turn(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """Nothing: what tools return is handled before the next call."""
        yield from ()
        return ()

    def run_due(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """As before the call."""
        done = yield from self.before_call(buffer, settings, running, moment)
        return done or (Outcome("auto", buffer, running),)

    def turn(self, book: Book[Running], settings: Settings, moment: Moment) -> Conversation[Turn[Running]]:
        """See `core.policies.turns`."""
        return (yield from play(book, settings, moment))


POLICY = LearnClaudeCodePolicy()
