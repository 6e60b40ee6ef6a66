"""Pulse Coder: one tier, summary of all but the newest user turns (spec section 2). `POLICY` is the whole of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.book import Book, Turn
from inspector.core.policies.policy import Moment, TierName, Verdict, Watermark
from inspector.core.policies.pulse import running as states
from inspector.core.policies.pulse import settings as config
from inspector.core.policies.pulse import sites
from inspector.core.policies.pulse.compaction import TIER, compact
from inspector.core.policies.pulse.loop import play
from inspector.core.policies.pulse.running import Running, begun
from inspector.core.policies.pulse.settings import Settings
from inspector.core.policies.pulse.summary import tokens
from inspector.core.policies.pulse.verdicts import verdict
from inspector.core.policies.settings import share_of

TIERS = (TierName(TIER, "Compact", "Has a model summarise all but the newest user turns.", calls_model=True),)


@dataclass(frozen=True, slots=True)
class PulsePolicy:
    """See `core.policies.policy.Policy`."""

    name: str = "pulse"
    title: str = "Pulse Coder"
    tiers: Sequence[TierName] = TIERS
    prompt_estimator: None = None

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> Settings:
        return config.read(values, window)

    def fresh(self, settings: Settings) -> Running:
        return Running()

    def load(self, settings: Settings, data: Json) -> Running:
        return states.load(data)

    def dump(self, running: Running) -> dict[str, Any]:
        return states.dump(running)

    def learn(self, running: Running, settings: Settings, estimated: int, reported: int) -> Running:
        return running  # Pulse never looks at what the provider reports

    def calibrated(self, running: Running, settings: Settings, samples: Sequence[tuple[int, int]]) -> Running:
        return running

    def measure(self, buffer: Buffer, settings: Settings, running: Running) -> tuple[int, int]:
        total = tokens(buffer.messages, settings)
        return total, total

    def breaker(self, settings: Settings, running: Running) -> None:
        return None

    def watermarks(self, settings: Settings) -> tuple[Watermark, ...]:
        limit = settings.compact_trigger
        share = share_of(limit, settings.context_window_tokens, settings.window_from)
        return (Watermark(f"{share} compact", limit, "compact_trigger", (TIER,), fires_on=True),)

    def due(self, buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
        return (verdict(buffer, settings, running, moment),)

    def tier(
        self, name: str, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[Outcome[Running]]:
        """Forced, by hand: it costs no attempt of the loop."""
        if name.lower() != TIER:
            raise InspectorError(f"Pulse Coder has no tier {name!r}. It has {TIER}.")
        return (yield from compact(buffer, settings, running, "forced"))

    def before_call(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """Forced where the call before ended with `length` (`moment.finish`); then where it is due."""
        trouble = sites.forced(moment, settings)
        return (yield from sites.before_call(buffer, settings, begun(running, buffer.messages), trouble))

    def after_turn(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """Nothing: what a call's end calls for is done on the way to the next one."""
        yield from ()
        return ()

    def run_due(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """As before the call."""
        done = yield from self.before_call(buffer, settings, running, moment)
        return done or (Outcome(TIER, buffer, running),)

    def turn(self, book: Book[Running], settings: Settings, moment: Moment) -> Conversation[Turn[Running]]:
        """See `core.policies.turns`. With a prompt that was not there before, attempts are counted anew."""
        book.running = begun(book.running, book.buffer.messages)
        return (yield from play(book, settings, moment))


POLICY = PulsePolicy()
