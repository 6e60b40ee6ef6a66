"""Roku: a policy with five tiers, L0 to L4."""

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
from inspector.core.policies.roku.messages import (
    count_freed_tokens,
    find_half_split,
    find_l3_split,
    find_old_results,
)
from inspector.core.policies.roku.settings import (
    ESTIMATOR,
    Breaker,
    Detector,
    RokuSettings,
    RokuState,
    StepRecord,
    check_roku_settings,
    raw_tokens,
    total_tokens,
)
from inspector.core.policies.settings import describe_window
from inspector.core.policies.turn import AllDone, Done, TurnContext, list_calls
from inspector.core.policies.verdict import (
    BreakerState,
    TierName,
    Verdict,
    Verdicts,
    Watermark,
    compare_to_limit,
)
from inspector.core.recording import from_json
from inspector.core.tokens.calibration import Calibration
from inspector.core.tokens.harnesses import estimate
from inspector.core.words import per_cent, plural

TRUNCATED = ("max_tokens", "length")
Turn: TypeAlias = TurnContext[RokuSettings, RokuState]
Stage: TypeAlias = tuple[tuple[str, ...], Callable[[RokuContext], AllDone[RokuState]]]
"""(tiers, function): the function runs whichever of the tiers is due. At most one of them fires."""


class RokuPolicy(Policy[RokuSettings, RokuState]):
    """Roku as a `Policy`. It calibrates its estimate with reported usage."""

    name = "roku"
    title = "Roku"
    tiers: Sequence[TierName] = (
        TierName("L0", "Microcompact", "Clears all but the newest tool results."),
        TierName("L1", "Context collapse", "Replaces the older half by a mechanical digest."),
        TierName("L2", "Session memory", "Replaces the older half by an existing summary."),
        TierName(
            "L3a", "Remote compact", "Has the provider compact the older half.", calls_model=True
        ),
        TierName(
            "L3b", "Four-section summary", "Has a model summarise the older half.", calls_model=True
        ),
        TierName(
            "L4",
            "Reactive",
            "Compacts because the model refused the buffer.",
            calls_model=True,
            needs_overflow=True,
        ),
    )
    settings_type = RokuSettings
    state_type = RokuState
    prompt_estimator = ESTIMATOR
    memory_setting = ("session_memory", "generate")

    def settings(
        self, values: Sequence[tuple[str, str]] = (), window: int | None = None
    ) -> RokuSettings:
        return check_roku_settings(super().settings(values, window))

    def parsed(self, data: Mapping[str, Any]) -> RokuState:
        fresh = RokuState()
        samples = [
            (int(estimated), int(reported)) for estimated, reported in data.get("samples", ())
        ]
        calibration = self.calibrated(fresh, self.settings_type(), samples).calibration
        breaker = from_json(Breaker, data.get("breaker") or {})
        detector = from_json(Detector, data.get("cache") or {})
        history = tuple(from_json(StepRecord, record) for record in data.get("history", ()))
        return RokuState(
            calibration,
            breaker,
            detector,
            history,
            working_summary=str(data.get("working_summary", "")),
        )

    def dump(self, running: RokuState) -> dict[str, Any]:
        """Return the state as JSON. `scale` is derived from the samples and only for people to read."""
        return {
            "breaker": asdict(running.breaker),
            "scale": running.calibration.scale,
            "samples": [list(pair) for pair in running.calibration.samples],
            "working_summary": running.working_summary,
            "history": [asdict(record) for record in running.history],
            "cache": asdict(running.detector),
        }

    def learn(
        self, running: RokuState, settings: RokuSettings, estimated: int, reported: int
    ) -> RokuState:
        return replace(running, calibration=running.calibration.update(estimated, reported))

    def calibrated(
        self, running: RokuState, settings: RokuSettings, samples: Sequence[tuple[int, int]]
    ) -> RokuState:
        calibration = Calibration()
        for estimated, reported in samples:
            calibration = calibration.update(estimated, reported)
        return replace(running, calibration=calibration)

    def measure(self, context: RokuContext) -> tuple[int, int]:
        raw = raw_tokens(context.buffer)
        return raw, context.running.calibration.apply(raw)

    def breaker(self, context: RokuContext) -> BreakerState:
        breaker = context.running.breaker
        return BreakerState(
            breaker.open, breaker.failures, context.settings.max_consecutive_autocompact_failures
        )

    def watermarks(self, settings: RokuSettings) -> tuple[Watermark, ...]:
        return settings.mid_line, settings.high_line

    def due(self, context: RokuContext) -> Verdicts:
        overflow = context.moment.overflow
        total = total_tokens(context.buffer, context.running)
        l4 = Verdict(
            "L4",
            due=bool(overflow),
            why=overflow or "only after the model refuses the buffer",
            tokens=total,
        )
        return (
            _judge_l0(context),
            *_judge_mid_tier(context, total),
            *_judge_high_tier(context, total),
            l4,
        )

    def tier(self, name: str, context: RokuContext) -> Done[RokuState]:
        """Run a tier. L3 and L4 choose their path themselves. Raises InspectorError for an unknown name."""
        chosen = compaction.choose_path(context)
        match name.lower():
            case "l0":
                return compaction.clear_old_results(context)
            case "l1":
                return compaction.collapse_older_half(context)
            case "l2":
                return (yield from compaction.use_session_memory(context))
            case "l3" | "l4":
                return (yield from compaction.compact_segment(name.upper(), chosen, context))
            case "l3a" | "l3b":
                tier: compaction.Path = "L3a" if name.lower() == "l3a" else "L3b"
                path: compaction.Path = "mechanical" if context.running.breaker.open else tier
                return (yield from compaction.compact_segment(tier, path, context))
        raise self.unknown(name)

    def unknown(self, tier: str) -> InspectorError:
        names = ", ".join(tier.name for tier in self.tiers)
        return InspectorError(
            f"{self.title} has no tier {tier!r}. It has L3 (which chooses) and {names}."
        )

    def before_call(self, context: RokuContext) -> AllDone[RokuState]:
        """Run the stages before a request: L0, the mid tier, and with `placement=preflight` L3.

        After an overflow, run L4 and then L0 instead.
        """
        done: list[Outcome[RokuState]] = []
        for _, run in _stages(context):
            done += yield from run(context)
            context = context.after(*done)
        return tuple(done)

    def after_turn(self, context: RokuContext) -> AllDone[RokuState]:
        """Run L3 if it is due and `placement` is `end_of_turn`, the default."""
        if context.settings.placement == "preflight":
            return ()
        return (yield from compaction.run_high_tier(context))

    # a turn of the agent

    def compact(self, turn: Turn) -> Conversation[None]:
        """Compact stage by stage. Each stage is announced for the buffer that the previous stage left.

        With `l0_gate=cache_ttl`, L0 runs only if the cache is cold.
        """
        settings, moment = turn.now.settings, turn.now.moment
        is_cold = (
            not moment.overflow
            and moment.idle_s is not None
            and moment.idle_s > settings.cache_ttl_s
        )
        for tiers, run in _stages(turn.now):
            if tiers != ("L0",) or settings.l0_gate == "always" or is_cold:
                self.announce(turn, tiers)
                turn.apply(*(yield from run(turn.now)))
        detector = turn.running.detector.record_prompt_state(turn.buffer.prompt, moment.model)
        turn.running = replace(turn.running, detector=detector)

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """Compact once after an overflow. The model is asked again even if the buffer did not change."""
        is_second = bool(turn.now.moment.overflow)
        error_after = yield from super().recover(turn, error)
        return error_after if is_second else ""

    def accept(self, turn: Turn, answer: Answer) -> Conversation[Answer | None]:
        """Accept the answer. If it is truncated, ask once more with the model's full output budget."""
        moment = turn.now.moment
        yield from _learn(turn, answer)
        requested, ceiling = moment.max_tokens, moment.output_ceiling
        if answer.finish in TRUNCATED and not moment.output_cap:
            turn.log("OutputSlotEscalationUnsupported")
        elif answer.finish in TRUNCATED and _is_below(requested, ceiling):
            turn.log(
                "OutputSlotEscalated",
                step=moment.step,
                initial_max_tokens=requested,
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
        """Run the tools, check their token budget, record them, and with `placement=end_of_turn` run L3 if due."""
        settings, step = turn.now.settings, turn.now.moment.step
        calls = list_calls(answer)
        results = yield from turn.run_tools(calls)
        turn.add(results)
        if calls:
            spent = sum(estimate(message.result.content) for message in results if message.result)
            exceeded = spent > settings.per_turn_tool_budget_tokens
            turn.log("ToolBudgetCheck", step=step, per_turn_tool_tokens=spent, exceeded=exceeded)
        history = (*turn.running.history, *_records(step, answer, results))
        turn.running = replace(turn.running, history=history)
        if settings.placement == "end_of_turn":
            self.announce(turn, ("L3a", "L3b"))
            turn.apply(*(yield from compaction.run_high_tier(turn.now)))


def _is_below(requested: int | None, ceiling: int | None) -> bool:
    return requested is not None and ceiling is not None and ceiling > requested


def _judge_l0(context: RokuContext) -> Verdict:
    old = find_old_results(context.messages, context.settings)
    freed = context.running.calibration.apply(count_freed_tokens(context.messages, old))
    if old:
        why = f"{plural(len(old), 'old tool result')} can be cleared"
    else:
        why = f"no tool result older than the newest {context.settings.microcompact_retain_recent} would shrink"
    return Verdict("L0", due=bool(old), why=why, tokens=freed)


def _judge_mid_tier(context: RokuContext, total: int) -> Verdicts:
    line = context.settings.mid_line
    why = _compare_to_line(total, line, context.settings)
    is_due = line.fires(total)
    if find_half_split(context.messages, context.settings) <= 1:
        why += " · nothing can be removed"
        is_due = False
    has_memory = compaction.has_memory(context)
    l1_why = why
    l2_why = why
    if has_memory:
        l1_why += " · session memory exists: L2 runs"
    else:
        l2_why += " · no session memory: L1 runs"
    return (
        Verdict("L1", due=is_due and not has_memory, why=l1_why, tokens=total, limit=line.tokens),
        Verdict("L2", due=is_due and has_memory, why=l2_why, tokens=total, limit=line.tokens),
    )


def _judge_high_tier(context: RokuContext, total: int) -> Verdicts:
    line = context.settings.high_line
    why = _compare_to_line(total, line, context.settings)
    is_due = line.fires(total)
    if find_l3_split(context.messages, context.settings) <= 1:
        why += " · nothing can be removed"
    path = compaction.choose_path(context)
    is_remote = path == "L3a"
    remote_note, local_note = _explain_path(path, context)
    l3a_why = why + remote_note
    l3b_why = why + local_note
    return (
        Verdict("L3a", due=is_due and is_remote, why=l3a_why, tokens=total, limit=line.tokens),
        Verdict("L3b", due=is_due and not is_remote, why=l3b_why, tokens=total, limit=line.tokens),
    )


def _explain_path(path: compaction.Path, context: RokuContext) -> tuple[str, str]:
    """Return the notes on the path for the verdicts of (L3a, L3b): why the tier would not run, or make a digest."""
    moment, breaker = context.moment, context.running.breaker
    if path == "mechanical":
        remote = "the breaker is open" if moment.router else "there is no model"
        local = "the breaker is open" if breaker.open else "there is no model"
        return f" · {remote}, so a digest is made", f" · {local}, so a digest is made"
    if path == "L3a":
        return "", " · the provider compacts remotely, so L3a runs"
    return "" if moment.remote else " · this provider cannot compact remotely", ""


def _stages(context: RokuContext) -> list[Stage]:
    """Return the stages that run before a request, in order."""
    if context.moment.overflow:
        return [(("L4",), _l4), (("L0",), _l0)]
    stages: list[Stage] = [(("L0",), _l0), (("L1", "L2"), compaction.run_mid_tier)]
    if context.settings.placement == "preflight":
        stages.append((("L3a", "L3b"), compaction.run_high_tier))
    return stages


def _l0(context: RokuContext) -> AllDone[RokuState]:
    yield from ()
    return (compaction.clear_old_results(context),)


def _l4(context: RokuContext) -> AllDone[RokuState]:
    return (
        (yield from compaction.compact_segment("L4", compaction.choose_path(context), context)),
    )


def _learn(turn: Turn, answer: Answer) -> Conversation[None]:
    """Update calibration, breaker and cache detector. The calibration event is sent even without reported usage."""
    usage, step = answer.usage, turn.now.moment.step
    raw = raw_tokens(turn.buffer)  # of the sent buffer: the user may have edited it
    before = turn.running.calibration.apply(raw)
    reported = usage.prompt if usage else 0
    cache_read = usage.cache_read if usage else 0
    calibration = turn.running.calibration.update(raw, reported)
    turn.log(
        "EstimatorCalibrated",
        step=step,
        estimated_prompt_tokens=before,
        prompt_tokens=reported,
        scale=calibration.scale,
    )
    detector, cache_break = turn.running.detector.check_response(cache_read)
    breaker = turn.running.breaker.good_turn(turn.now.settings.breaker_recovery_after)
    turn.running = replace(
        turn.running, calibration=calibration, detector=detector, breaker=breaker
    )
    if cache_break is None:
        return
    changed = ", ".join(cache_break.changed)
    text = f"step {step}: {cache_break.tokens_lost} cached tokens lost; changed: {changed}\n"
    try:
        path = (yield SaveText(text, "cache-break")).text
    except Failure:  # a diagnostic that cannot be written is ignored
        path = ""
    turn.log(
        "CacheBreakDetected",
        step=step,
        reason="cache_read_drop",
        tokens_lost=cache_break.tokens_lost,
        component_changed=changed,
        diagnostic_path=path,
    )


def _records(step: int, answer: Answer, results: Sequence[Message]) -> list[StepRecord]:
    """Return the records of a turn for LoopState.history: one for each call, or one for the final answer."""
    text = "\n".join(message.text for message in answer.messages)
    names = {call.id: call.name for message in answer.messages for call in message.calls}
    if not names:
        return [StepRecord(step, kind="final", message=text)]
    results_given = [message.result for message in results if message.result is not None]
    return [
        StepRecord(
            step,
            tool=names.get(result.call_id),
            reason=text,
            kind="tool",
            ok=not result.is_error,
            message=result.content,
        )
        for result in results_given
    ]


def _compare_to_line(total: int, line: Watermark, settings: RokuSettings) -> str:
    window = describe_window(settings.context_window_tokens, settings.window_from)
    return compare_to_limit(
        total, line.tokens, f"{per_cent(getattr(settings, line.setting))} of {window}"
    )


POLICY = RokuPolicy()
