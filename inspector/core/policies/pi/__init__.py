"""Pi: one tier, compaction into a summary before a cut point (spec section 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, Conversation, Failure
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.pi import usage
from inspector.core.policies.pi.compaction import TIER, Extension, Job, Reason, compact, judge, verdict
from inspector.core.policies.pi.settings import MAX_FAILURES, PiContext, PiSettings, PiState, checked
from inspector.core.policies.turn import AllDone, Done, TurnContext, calls_of
from inspector.core.policies.verdict import (
    BreakerState,
    CallReport,
    TierName,
    Verdicts,
    Watermark,
)
from inspector.core.recording import from_json
from inspector.core.words import per_cent

Turn: TypeAlias = TurnContext[PiSettings, PiState]
SECOND_OVERFLOW = "Context overflow recovery failed: the buffer is too long even after compaction"
SILENT = "the answer was given, but its prompt was larger than the window"


class PiPolicy(Policy[PiSettings, PiState]):
    """See `Policy`. Pi calibrates nothing: it takes what is reported, or its estimate as it is."""

    name = "pi"
    title = "Pi"
    tiers: Sequence[TierName] = (
        TierName(TIER, "Compaction", "Has a model summarise all but the newest messages, a long turn in two.", True),
    )
    settings_type = PiSettings
    state_type = PiState

    def __init__(self, extension: Extension | None = None) -> None:
        self.extension = extension
        """May veto a compaction, or write its summary."""

    def settings(self, values: Sequence[tuple[str, str]] = (), window: int | None = None) -> PiSettings:
        return checked(super().settings(values, window))

    def parsed(self, data: Mapping[str, Any]) -> PiState:
        return PiState(
            tuple(from_json(CallReport, one) for one in data.get("reports", ())),
            str(data.get("border", "")),
            str(data.get("checked", "")),
            int((data.get("breaker") or {}).get("failures", 0)),
            bool(data.get("overflowed", False)),
            int(data.get("compactions", 0)),
            int(data.get("messages", 0)),
            str(data.get("seen", "")),
            str(data.get("first_kept", "")),
        )

    def dump(self, running: PiState) -> dict[str, Any]:
        """The frequency is derived, for people to read."""
        return {
            "breaker": {"failures": running.failures, "open": running.open},
            "reports": [asdict(one) for one in running.reports],
            "border": running.border,
            "first_kept": running.first_kept,
            "checked": running.checked,
            "overflowed": running.overflowed,
            "compactions": running.compactions,
            "messages": running.messages,
            "messages_per_compaction": running.messages / running.compactions if running.compactions else None,
            "seen": running.seen,
        }

    def measure(self, context: PiContext) -> tuple[int, int]:
        """The profile's estimate, twice."""
        tokens = usage.estimated_tokens(context.buffer, context.settings)
        return tokens, tokens

    def breaker(self, context: PiContext) -> BreakerState | None:
        """Ours, in safe mode; upstream has none."""
        running = context.running
        return BreakerState(running.open, running.failures, MAX_FAILURES) if context.settings.safe else None

    def watermarks(self, settings: PiSettings) -> tuple[Watermark, ...]:
        """Window - reserve. None while the window is unknown."""
        window, reserve = settings.context_window, settings.reserve_tokens
        if not window:
            return ()
        line = window - (window // 4 if usage.is_clamped(settings, reserve) else reserve)
        return (Watermark(f"{per_cent(max(0, line) / window, 1)} compact", max(0, line), "reserve_tokens", (TIER,)),)

    def due(self, context: PiContext) -> Verdicts:
        return (verdict(context),)

    def tier(self, name: str, context: PiContext) -> Done[PiState]:
        """By hand neither trigger nor guards are asked."""
        if name.lower() != TIER:
            raise self.unknown(name)
        context = usage.noted(context)
        due = judge(context).due
        reason: Reason = "overflow" if context.moment.overflow else "threshold" if due else "manual"
        return (yield from compact(Job(reason, extension=self.extension), context))

    # where in an agent's run Pi looks at the trigger (spec 3.3)

    def before_call(self, context: PiContext) -> AllDone[PiState]:
        """After an overflow the recovery; else the check of an answer that was not checked yet.

        With `before_llm` each call is checked; with `agent_end` each new prompt is, whether or not the end of the
        agent's run was.
        """
        context = usage.noted(context)
        if context.moment.overflow:
            return ((yield from self._recovered(context)),)
        place = _place_before(context)
        recovered = replace(context.running, overflowed=False)
        return ((yield from self._checked(context.with_running(recovered), place)),)

    def after_turn(self, context: PiContext) -> AllDone[PiState]:
        """The check of the newest answer, unless it was checked already or is checked later."""
        context = usage.noted(context)
        return ((yield from self._checked(context, _place_after(context))),)

    def run_due(self, context: PiContext) -> AllDone[PiState]:
        """Wherever the check point lies: the trigger on this very buffer."""
        if context.moment.overflow:
            return ((yield from self._recovered(context)),)
        return ((yield from self._checked(usage.noted(context), len(context.messages))),)

    def _checked(self, context: PiContext, place: int | None) -> Done[PiState]:
        """Look at the first `place` messages, and compact them where that is due; the rest follows untouched. None =
        nobody looks."""
        if place is None:
            return context.unchanged(TIER)
        rest = context.messages[place:]
        head = context.with_messages(context.messages[:place]) if rest else context
        head = head.with_running(replace(context.running, checked=usage.last_answer(head.messages)))
        if not judge(head).due:
            return Outcome(TIER, context.buffer, head.running)
        return (yield from compact(Job("threshold", rest, extension=self.extension), head))

    def _recovered(self, context: PiContext) -> Done[PiState]:
        """Once: drop the failed answer, compact, try again. A second overflow before any success is the end (spec
        3.8)."""
        buffer, running, model = context.buffer, context.running, context.moment.model
        if running.overflowed:
            fields = {"result": None, "aborted": False, "willRetry": False, "errorMessage": SECOND_OVERFLOW}
            return Outcome(TIER, buffer, running, (Event("auto_compaction_end", fields),), False, SECOND_OVERFLOW)
        if not context.settings.enabled:
            return Outcome(TIER, buffer, running, (), False, "automatic compaction is switched off")
        refused = _failed_answer(context)
        if refused is not None and refused.model != model:
            return Outcome(TIER, buffer, running, (), False, "a model that is no longer selected refused the buffer")
        live = context.with_running(replace(running, overflowed=True))
        if refused is not None:
            live = live.with_messages(buffer.messages[:-1])
        outcome = yield from compact(Job("overflow", retry=True, extension=self.extension), live)
        return outcome if refused is None else replace(outcome, changed={**outcome.changed, refused.upto: "dropped"})

    # a turn

    def is_overflow(self, failure: Failure) -> bool:
        return super().is_overflow(failure) or usage.says_overflow(str(failure))

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """The recovery itself reports the second overflow."""
        turn.update_moment(overflow=error)
        yield from self.compact(turn)
        last = turn.outcomes[-1]
        return "" if last.succeeded else last.error or error

    def accept(self, turn: Turn, answer: Answer) -> Conversation[Answer | None]:
        """Append the answer with its usage, check."""
        settings = turn.now.settings
        if usage.is_overflow(answer.finish, "", answer.usage, settings.context_window):
            raise ContextWindowExceeded(SILENT)
        turn.add(answer.messages)
        for message in answer.messages:
            turn.log("message_added", role=message.role)
        turn.running = replace(turn.running, overflowed=False)
        if answer.messages:
            report = CallReport(answer.messages[-1].id, answer.usage, answer.finish, turn.now.moment.model)
            turn.running = replace(turn.running, reports=usage.needed((*turn.running.reports, report)))
        if settings.check_point == "after_llm":
            yield from self._look_after(turn, answer)
        return answer

    def act(self, turn: Turn, answer: Answer) -> Conversation[None]:
        """Run the tools, check again (each answer is checked once)."""
        turn.add((yield from turn.run_tools(calls_of(answer))))
        if turn.now.settings.check_point in ("turn_end", "agent_end"):
            yield from self._look_after(turn, answer)

    def _look_after(self, turn: Turn, answer: Answer) -> Conversation[None]:
        turn.update_moment(usage=answer.usage, finish=answer.finish, reports=None, overflow="")

        def look(context: PiContext) -> Verdicts:
            return self.due(context) if _place_after(usage.noted(context)) is not None else ()

        turn.announce(look, (TIER,))
        turn.apply(*(yield from self.after_turn(turn.now)))

    def announce(self, turn: Turn, tiers: Sequence[str]) -> None:
        """Before a call: where Pi looks at its trigger there at all."""

        def look(context: PiContext) -> Verdicts:
            if context.moment.overflow:
                looks = context.settings.enabled and not context.running.overflowed
            else:
                looks = _place_before(usage.noted(context)) is not None
            return self.due(context) if looks else ()

        turn.announce(look, tiers)


def check_place(messages: Sequence[Message], settings: PiSettings) -> int | None:
    """How many of the messages were there when Pi looked at the newest answer; None where it has not come to that."""
    if settings.check_point == "before_llm":
        return len(messages)
    answer = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "assistant"), None)
    if answer is None:
        return None
    after = next((n for n in range(answer + 1, len(messages)) if messages[n].role != "tool"), len(messages))
    match settings.check_point:
        case "after_llm":
            return answer + 1
        case "agent_end":
            return None if messages[answer].calls else answer + 1
    answered = {one.result.call_id for one in messages[answer + 1 : after] if one.result is not None}
    return after if all(call.id in answered for call in messages[answer].calls) else None


def _place_before(context: PiContext) -> int | None:
    """How far a check right before a call looks; None where there is none."""
    messages, settings = context.messages, context.settings
    place = check_place(messages, settings)
    if settings.check_point == "agent_end" and place == len(messages):
        return None  # nobody has prompted
    again = settings.check_point in ("before_llm", "agent_end")
    return None if not again and context.running.checked == usage.last_answer(messages) else place


def _place_after(context: PiContext) -> int | None:
    """How far a check after a call looks; None where there is none."""
    messages, settings = context.messages, context.settings
    place = None if settings.check_point == "before_llm" else check_place(messages, settings)
    return None if context.running.checked == usage.last_answer(messages) else place


def _failed_answer(context: PiContext) -> CallReport | None:
    """What is known of the answer at the end that carries the refusal; None where there is none."""
    last = context.messages[-1] if context.messages else None
    reports = usage.reports_of(context)
    if last is None or last.role != "assistant" or not reports:
        return None
    return reports[-1] if reports[-1].upto == last.id and reports[-1].finish == "error" else None


POLICY = PiPolicy()
