"""Pi: one tier, compaction into a summary before a cut point (spec section 3). `POLICY` is all of it for others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.book import Book, Turn
from inspector.core.policies.pi import checks
from inspector.core.policies.pi import running as states
from inspector.core.policies.pi.compaction import TIER, Extension, Reason, Task, compact
from inspector.core.policies.pi.judgement import judge, verdict
from inspector.core.policies.pi.running import Running, noted
from inspector.core.policies.pi.settings import MAX_FAILURES, Settings, checked
from inspector.core.policies.pi.trigger import is_clamped
from inspector.core.policies.pi.turn import play
from inspector.core.policies.pi.usage import estimated_tokens
from inspector.core.policies.policy import BreakerState, Moment, TierName, Verdict, Watermark
from inspector.core.policies.settings import read

TIERS = (TierName(TIER, "Compaction", "Has a model summarise all but the newest messages, a long turn in two.", True),)


@dataclass(frozen=True, slots=True)
class PiPolicy:
    """See `core.policies.policy.Policy`. `extension` may veto a compaction, or write its summary."""

    name: str = "pi"
    title: str = "Pi"
    tiers: Sequence[TierName] = TIERS
    prompt_estimator: None = None
    extension: Extension | None = None

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> Settings:
        """The window is the model's, where it is known."""
        return checked(read(Settings(), values, window, follows=True))

    def fresh(self, settings: Settings) -> Running:
        return Running()

    def load(self, settings: Settings, data: Json) -> Running:
        return states.load(data)

    def dump(self, running: Running) -> dict[str, Any]:
        return states.dump(running)

    def learn(self, running: Running, settings: Settings, estimated: int, reported: int) -> Running:
        """Pi calibrates nothing: it takes what is reported, or its estimate as it is."""
        return running

    def calibrated(self, running: Running, settings: Settings, samples: Sequence[tuple[int, int]]) -> Running:
        return running

    def measure(self, buffer: Buffer, settings: Settings, running: Running) -> tuple[int, int]:
        """The profile's estimate, twice."""
        tokens = estimated_tokens(buffer, settings)
        return tokens, tokens

    def breaker(self, settings: Settings, running: Running) -> BreakerState | None:
        """Ours, in safe mode; upstream has none."""
        return BreakerState(running.open, running.failures, MAX_FAILURES) if settings.safe else None

    def watermarks(self, settings: Settings) -> tuple[Watermark, ...]:
        """Window - reserve. None while the window is unknown."""
        window, reserve = settings.context_window, settings.reserve_tokens
        if not window:
            return ()
        line = window - (window // 4 if is_clamped(settings, reserve) else reserve)
        return (Watermark(f"{max(0, line) / window:.1%} compact", max(0, line), "reserve_tokens", (TIER,)),)

    def due(self, buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
        return (verdict(buffer, settings, running, moment),)

    def tier(
        self, name: str, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[Outcome[Running]]:
        """By hand neither trigger nor guards are asked."""
        if name.lower() != TIER:
            raise InspectorError(f"Pi has no tier {name!r}. It has {TIER}.")
        running = noted(buffer.messages, running, moment)
        due = judge(buffer, settings, running, moment).due
        reason: Reason = "overflow" if moment.overflow else "threshold" if due else "manual"
        return (yield from compact(Task(buffer, reason, extension=self.extension), settings, running, moment))

    def before_call(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        return ((yield from checks.before_call(buffer, settings, running, moment, self.extension)),)

    def after_turn(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        return ((yield from checks.after_turn(buffer, settings, running, moment, self.extension)),)

    def run_due(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """Wherever the check point lies: the trigger on this very buffer."""
        if moment.overflow:
            return ((yield from checks.recover(buffer, settings, running, moment, self.extension)),)
        running, place = noted(buffer.messages, running, moment), len(buffer.messages)
        return ((yield from checks.check(buffer, place, settings, running, moment, self.extension)),)

    def turn(self, book: Book[Running], settings: Settings, moment: Moment) -> Conversation[Turn[Running]]:
        """See `core.policies.turns`."""
        return (yield from play(book, settings, moment, self.extension))


POLICY = PiPolicy()
