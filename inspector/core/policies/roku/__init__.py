"""Roku: five tiers, L0 to L4 (spec section 1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.needs import Answer, Conversation, Failure, SaveText
from inspector.core.outcome import Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.roku import compaction
from inspector.core.policies.roku.compaction import RokuContext
from inspector.core.policies.roku.messages import clearable, freed_raw, half_split, l3_split
from inspector.core.policies.roku.settings import (
    ESTIMATOR,
    Breaker,
    Detector,
    RokuSettings,
    RokuState,
    StepRecord,
    checked,
    raw_tokens,
    total_tokens,
)
from inspector.core.policies.settings import describe_window
from inspector.core.policies.turn import AllDone, Done, TurnContext, calls_of
from inspector.core.policies.verdict import BreakerState, TierName, Verdict, Verdicts, Watermark, compare_to_limit
from inspector.core.recording import from_json
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.harnesses import estimate
from inspector.core.words import per_cent, plural

TRUNCATED = ("max_tokens", "length")
Turn: TypeAlias = TurnContext[RokuSettings, RokuState]
Stage: TypeAlias = tuple[tuple[str, ...], Callable[[RokuContext], AllDone[RokuState]]]
"""Tiers of which one may fire, and what runs them where they are due."""


class RokuPolicy(Policy[RokuSettings, RokuState]):
    """See `Policy`."""

    name = "roku"
    title = "Roku"
    tiers: Sequence[TierName] = (
        TierName("L0", "Microcompact", "Clears all but the newest tool results."),
        TierName("L1", "Context collapse", "Replaces the older half by a mechanical digest."),
        TierName("L2", "Session memory", "Replaces the older half by a summary that is at hand."),
        TierName("L3a", "Remote compact", "Has the provider compact the older half.", calls_model=True),
        TierName("L3b", "Four-section summary", "Has a model summarise the older half.", calls_model=True),
        TierName(
            "L4", "Reactive", "Compacts because the model refused the buffer.", calls_model=True, needs_overflow=True
        ),
    )
    settings_type = RokuSettings
    state_type = RokuState
    prompt_estimator = ESTIMATOR
    memory_setting = ("session_memory", "generate")

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> RokuSettings:
        return checked(super().settings(values, window))

    def parsed(self, data: Mapping[str, Any]) -> RokuState:
        fresh = RokuState()
        samples = [(int(estimated), int(reported)) for estimated, reported in data.get("samples", ())]
        return RokuState(
            self.calibrated(fresh, self.settings_type(), samples).calibration,
            from_json(Breaker, data.get("breaker") or {}),
            from_json(Detector, data.get("cache") or {}),
            tuple(from_json(StepRecord, one) for one in data.get("history", ())),
            str(data.get("working_summary", "")),
        )

    def dump(self, running: RokuState) -> dict[str, Any]:
        """`scale` is derived from the samples, for people to read."""
        return {
            "breaker": asdict(running.breaker),
            "scale": running.calibration.scale,
            "samples": [list(pair) for pair in running.calibration.samples],
            "working_summary": running.working_summary,
            "history": [asdict(one) for one in running.history],
            "cache": asdict(running.detector),
        }

    def learn(self, running: RokuState, settings: RokuSettings, estimated: int, reported: int) -> RokuState:
        return replace(running, calibration=running.calibration.update(estimated, reported))

    def calibrated(self, running: RokuState, settings: RokuSettings, samples: Sequence[tuple[int, int]]) -> RokuState:
        calibration = Calibration()
        for estimated, reported in samples:
            calibration = calibration.update(estimated, reported)
        return replace(running, calibration=calibration)

    def measure(self, context: RokuContext) -> tuple[int, int]:
        raw = raw_tokens(context.buffer)
        return raw, context.running.calibration.apply(raw)

    def breaker(self, context: RokuContext) -> BreakerState:
        breaker = context.running.breaker
        return BreakerState(breaker.open, breaker.failures, context.settings.max_consecutive_autocompact_failures)

    def watermarks(self, settings: RokuSettings) -> tuple[Watermark, ...]:
        return settings.mid_line, settings.high_line

    def due(self, context: RokuContext) -> Verdicts:
        settings, running, moment = context.settings, context.running, context.moment
        total = total_tokens(context.buffer, running)
        mid, mid_due = _why(total, settings.mid_line, settings), settings.mid_line.fires(total)
        high, high_due = _why(total, settings.high_line, settings), settings.high_line.fires(total)
        if half_split(context.messages, settings) <= 1:
            mid, mid_due = f"{mid} · nothing can be removed", False
        if l3_split(context.messages, settings) <= 1:
            high = f"{high} · nothing can be removed"
        memory = compaction.has_memory(context)
        path = compaction.choose_path(context)
        if path == "mechanical":
            remote = f" · {'the breaker is open' if moment.router else 'there is no model'}, so a digest is made"
            local = f" · {'the breaker is open' if running.breaker.open else 'there is no model'}, so a digest is made"
        else:
            remote = "" if moment.remote else " · this provider cannot compact remotely"
            local = " · the provider compacts remotely, so L3a runs" if path == "L3a" else ""
        at_mid, at_high = settings.mid_line.tokens, settings.high_line.tokens
        old = clearable(context.messages, settings)
        freed = running.calibration.apply(freed_raw(context.messages, old))
        none = f"no tool result older than the newest {settings.microcompact_retain_recent} would shrink"
        return (
            Verdict("L0", bool(old), f"{plural(len(old), 'old tool result')} can be cleared" if old else none, freed),
            Verdict("L1", mid_due and not memory, mid + memory * " · session memory exists: L2 runs", total, at_mid),
            Verdict("L2", mid_due and memory, mid + (not memory) * " · no session memory: L1 runs", total, at_mid),
            Verdict("L3a", high_due and path == "L3a", high + remote, total, at_high),
            Verdict("L3b", high_due and path != "L3a", high + local, total, at_high),
            Verdict("L4", bool(moment.overflow), moment.overflow or "only after the model refuses the buffer", total),
        )

    def tier(self, name: str, context: RokuContext) -> Done[RokuState]:
        """L3 chooses its path."""
        chosen = compaction.choose_path(context)
        match name.lower():
            case "l0":
                return compaction.microcompact(context)
            case "l1":
                return compaction.collapse(context)
            case "l2":
                return (yield from compaction.remember(context))
            case "l3" | "l4":
                return (yield from compaction.compact(name.upper(), chosen, context))
            case "l3a" | "l3b":
                tier: compaction.Path = "L3a" if name.lower() == "l3a" else "L3b"
                path: compaction.Path = "mechanical" if context.running.breaker.open else tier
                return (yield from compaction.compact(tier, path, context))
        raise self.unknown(name)

    def unknown(self, tier: str) -> InspectorError:
        known = ", ".join(one.name for one in self.tiers)
        return InspectorError(f"{self.title} has no tier {tier!r}. It has L3 (which chooses) and {known}.")

    def before_call(self, context: RokuContext) -> AllDone[RokuState]:
        """After an overflow L4 and then L0; else L0, the mid tier, and with `placement=preflight` L3."""
        done: list[Outcome[RokuState]] = []
        for _, run in _stages(context):
            done += yield from run(context)
            context = context.after(*done)
        return tuple(done)

    def after_turn(self, context: RokuContext) -> AllDone[RokuState]:
        """With `placement=end_of_turn` (the default) L3."""
        if context.settings.placement == "preflight":
            return ()
        return (yield from compaction.high_tier(context))

    # a turn (spec 1.4, 1.10, 1.12)

    def compact(self, turn: Turn) -> Conversation[None]:
        """Stage by stage, so that each is announced on what the one before it left. L0 may wait for a cold cache."""
        settings, moment = turn.now.settings, turn.now.moment
        cold = not moment.overflow and moment.idle_s is not None and moment.idle_s > settings.cache_ttl_s
        for tiers, run in _stages(turn.now):
            if tiers != ("L0",) or settings.l0_gate == "always" or cold:
                self.announce(turn, tiers)
                turn.apply(*(yield from run(turn.now)))
        detector = turn.running.detector.record_prompt_state(turn.buffer.prompt, moment.model)
        turn.running = replace(turn.running, detector=detector)

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """Once; the model is asked again whatever that changed."""
        again = bool(turn.now.moment.overflow)
        stopped = yield from super().recover(turn, error)
        return stopped if again else ""

    def accept(self, turn: Turn, answer: Answer) -> Conversation[Answer | None]:
        """A truncated answer is asked for once more with the model's full output budget."""
        moment = turn.now.moment
        yield from _learn(turn, answer)
        asked, ceiling = moment.max_tokens, moment.output_ceiling
        if answer.finish in TRUNCATED and not moment.output_cap:
            turn.log("OutputSlotEscalationUnsupported")
        elif answer.finish in TRUNCATED and asked is not None and ceiling is not None and ceiling > asked:
            turn.log(
                "OutputSlotEscalated",
                step=moment.step,
                initial_max_tokens=asked,
                escalated_max_tokens=ceiling,
                model_id=moment.model,
            )
            try:
                answer = yield from turn.ask(ceiling, stream=False)
                yield from _learn(turn, answer)
            except Failure:
                pass
        turn.add(answer.messages)
        return answer

    def act(self, turn: Turn, answer: Answer) -> Conversation[None]:
        """The tools, with their budget and their records; then L3, where it has its place."""
        settings, step = turn.now.settings, turn.now.moment.step
        calls = calls_of(answer)
        results = yield from turn.run_tools(calls)
        turn.add(results)
        if calls:
            spent = sum(estimate(m.result.content) for m in results if m.result)
            exceeded = spent > settings.per_turn_tool_budget_tokens
            turn.log("ToolBudgetCheck", step=step, per_turn_tool_tokens=spent, exceeded=exceeded)
        history = (*turn.running.history, *_records(step, answer, results))
        turn.running = replace(turn.running, history=history)
        if settings.placement == "end_of_turn":
            self.announce(turn, ("L3a", "L3b"))
            turn.apply(*(yield from compaction.high_tier(turn.now)))


def _stages(context: RokuContext) -> list[Stage]:
    """What runs before a call, in this order (spec 1.4, 1.10)."""
    if context.moment.overflow:
        return [(("L4",), _l4), (("L0",), _l0)]
    preflight = context.settings.placement == "preflight"
    high: list[Stage] = [(("L3a", "L3b"), compaction.high_tier)] if preflight else []
    return [(("L0",), _l0), (("L1", "L2"), compaction.mid_tier), *high]


def _l0(context: RokuContext) -> AllDone[RokuState]:
    yield from ()
    return (compaction.microcompact(context),)


def _l4(context: RokuContext) -> AllDone[RokuState]:
    return ((yield from compaction.compact("L4", compaction.choose_path(context), context)),)


def _learn(turn: Turn, answer: Answer) -> Conversation[None]:
    """Calibrate and watch the cache. The event is sent even where no usage was reported."""
    usage, step = answer.usage, turn.now.moment.step
    raw = raw_tokens(turn.buffer)  # what was really sent: somebody may have edited it
    before = turn.running.calibration.apply(raw)
    calibration = turn.running.calibration.update(raw, usage.prompt if usage else 0)
    turn.log(
        "EstimatorCalibrated",
        step=step,
        estimated_prompt_tokens=before,
        prompt_tokens=usage.prompt if usage else 0,
        scale=calibration.scale,
    )
    detector, found = turn.running.detector.check_response(usage.cache_read if usage else 0)
    breaker = turn.running.breaker.good_turn(turn.now.settings.breaker_recovery_after)
    turn.running = replace(turn.running, calibration=calibration, detector=detector, breaker=breaker)
    if found is None:
        return
    changed = ", ".join(found.changed)
    text = f"step {step}: {found.tokens_lost} cached tokens lost; changed: {changed}\n"
    try:
        path = (yield SaveText(text, "cache-break")).text
    except Failure:  # a diagnostic that cannot be written is ignored
        path = ""
    turn.log(
        "CacheBreakDetected",
        step=step,
        reason="cache_read_drop",
        tokens_lost=found.tokens_lost,
        component_changed=changed,
        diagnostic_path=path,
    )


def _records(step: int, answer: Answer, results: Sequence[Message]) -> list[StepRecord]:
    """What LoopState.history keeps of the turn: a record a call, or one for the final answer."""
    said = "\n".join(message.text for message in answer.messages)
    names = {call.id: call.name for message in answer.messages for call in message.calls}
    if not names:
        return [StepRecord(step, None, "", "final", message=said)]
    found = [m.result for m in results if m.result is not None]
    return [StepRecord(step, names.get(one.call_id), said, "tool", not one.is_error, one.content) for one in found]


def _why(total: int, line: Watermark, settings: RokuSettings) -> str:
    window = describe_window(settings.context_window_tokens, settings.window_from)
    return compare_to_limit(total, line.tokens, f"{per_cent(getattr(settings, line.setting))} of {window}")


POLICY = RokuPolicy()
