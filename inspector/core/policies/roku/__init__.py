"""Roku: five tiers, L0 to L4 (spec section 1). `POLICY` is the whole of it for everyone else."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json
from inspector.core.needs import Conversation
from inspector.core.outcome import Outcome
from inspector.core.policies.book import Book, Turn
from inspector.core.policies.policy import BreakerState, Moment, TierName, Verdict, Watermark
from inspector.core.policies.roku import running as states
from inspector.core.policies.roku.collapse import collapse, remember
from inspector.core.policies.roku.compaction import Path, choose_path
from inspector.core.policies.roku.microcompact import microcompact
from inspector.core.policies.roku.order import compact, high_tier, mid_tier, react
from inspector.core.policies.roku.running import ESTIMATOR, Running, raw_tokens
from inspector.core.policies.roku.settings import Settings, checked
from inspector.core.policies.roku.turn import play
from inspector.core.policies.roku.verdicts import verdicts
from inspector.core.policies.settings import read
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.estimator import Estimator

TIERS = (
    TierName("L0", "Microcompact", "Clears all but the newest tool results."),
    TierName("L1", "Context collapse", "Replaces the older half by a mechanical digest."),
    TierName("L2", "Session memory", "Replaces the older half by a summary that is at hand."),
    TierName("L3a", "Remote compact", "Has the provider compact the older half.", calls_model=True),
    TierName("L3b", "Four-section summary", "Has a model summarise the older half.", calls_model=True),
    TierName("L4", "Reactive", "Compacts because the model refused the buffer.", calls_model=True),
)


@dataclass(frozen=True, slots=True)
class RokuPolicy:
    """See `core.policies.policy.Policy`."""

    name: str = "roku"
    title: str = "Roku"
    tiers: Sequence[TierName] = TIERS
    prompt_estimator: Estimator = ESTIMATOR

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
        return replace(running, calibration=running.calibration.update(estimated, reported))

    def calibrated(self, running: Running, settings: Settings, samples: Sequence[tuple[int, int]]) -> Running:
        calibration = Calibration()
        for estimated, reported in samples:
            calibration = calibration.update(estimated, reported)
        return replace(running, calibration=calibration)

    def measure(self, buffer: Buffer, settings: Settings, running: Running) -> tuple[int, int]:
        raw = raw_tokens(buffer)
        return raw, running.calibration.apply(raw)

    def breaker(self, settings: Settings, running: Running) -> BreakerState:
        breaker = running.breaker
        return BreakerState(breaker.open, breaker.failures, settings.max_consecutive_autocompact_failures)

    def watermarks(self, settings: Settings) -> tuple[Watermark, ...]:
        mid, high = settings.mid_water_trigger_ratio, settings.compact_threshold_ratio
        return (
            Watermark(f"{mid:.0%} L1 / L2", settings.mid_watermark, "mid_water_trigger_ratio", ("L1", "L2")),
            Watermark(f"{high:.0%} L3", settings.high_watermark, "compact_threshold_ratio", ("L3a", "L3b")),
        )

    def due(self, buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> tuple[Verdict, ...]:
        return verdicts(buffer, settings, running, moment)

    def tier(
        self, name: str, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[Outcome[Running]]:
        match name.lower():
            case "l0":
                return microcompact(buffer, settings, running, moment)
            case "l1":
                return collapse(buffer, settings, running, moment)
            case "l2":
                return (yield from remember(buffer, settings, running, moment))
            case "l3":
                return (yield from compact("L3", choose_path(running, moment), buffer, settings, running, moment))
            case "l3a":
                path: Path = "mechanical" if running.breaker.open else "L3a"
                return (yield from compact("L3a", path, buffer, settings, running, moment))
            case "l3b":
                path = "mechanical" if running.breaker.open else "L3b"
                return (yield from compact("L3b", path, buffer, settings, running, moment))
            case "l4":
                return (yield from react(buffer, settings, running, moment))
        known = ", ".join(tier.name for tier in TIERS)
        raise InspectorError(f"Roku has no tier {name!r}. It has L3 (which chooses) and {known}.")

    def before_call(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """After an overflow L4 and then L0; else L0, the mid tier, and with `placement=preflight` L3."""
        if moment.overflow:
            reacted = yield from react(buffer, settings, running, moment)
            return (reacted, microcompact(reacted.buffer, settings, reacted.running, moment))
        done = [microcompact(buffer, settings, running, moment)]
        done += yield from mid_tier(done[0].buffer, settings, done[0].running, moment)
        if settings.placement == "preflight":
            done += yield from high_tier(done[-1].buffer, settings, done[-1].running, moment)
        return tuple(done)

    def after_turn(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """With `placement=end_of_turn` (the default) L3."""
        if settings.placement == "preflight":
            return ()
        return (yield from high_tier(buffer, settings, running, moment))

    def run_due(
        self, buffer: Buffer, settings: Settings, running: Running, moment: Moment
    ) -> Conversation[tuple[Outcome[Running], ...]]:
        """Each tier where it is due after the one before."""
        done = yield from self.before_call(buffer, settings, running, moment)
        if moment.overflow:
            return done
        return (*done, *(yield from self.after_turn(done[-1].buffer, settings, done[-1].running, moment)))

    def turn(self, book: Book[Running], settings: Settings, moment: Moment) -> Conversation[Turn[Running]]:
        """See `core.policies.turns`."""
        return (yield from play(book, settings, moment))


POLICY = RokuPolicy()
