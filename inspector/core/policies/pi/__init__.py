"""Pi: a policy with one tier, which replaces everything before a cut point by a summary."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from typing import Any, TypeAlias

from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, Conversation, Failure
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.pi.compaction import (
    TIER,
    Extension,
    Job,
    Reason,
    give_verdict,
    judge_trigger,
    run_compaction,
)
from inspector.core.policies.pi.context_size import (
    drop_old_reports,
    estimate_buffer,
    is_clamped,
    is_overflow,
    last_answer_id,
    note_reports,
    read_reports,
    says_overflow,
)
from inspector.core.policies.pi.settings import (
    MAX_FAILURES,
    PiContext,
    PiSettings,
    PiState,
    apply_defaults,
)
from inspector.core.policies.turn import AllDone, Done, TurnContext, list_calls
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
    """Pi as a `Policy`. It does not calibrate: it uses the reported usage, or its plain estimate."""

    name = "pi"
    title = "Pi"
    tiers: Sequence[TierName] = (
        TierName(
            TIER,
            title="Compaction",
            what="Has a model summarise all but the newest messages; splits a long turn.",
            calls_model=True,
        ),
    )
    settings_type = PiSettings
    state_type = PiState

    def __init__(self, extension: Extension | None = None) -> None:
        self.extension = extension
        """Function that may veto a compaction or supply its summary; None if there is none."""

    def settings(
        self, values: Sequence[tuple[str, str]] = (), window: int | None = None
    ) -> PiSettings:
        return apply_defaults(super().settings(values, window))

    def parsed(self, data: Mapping[str, Any]) -> PiState:
        breaker = data.get("breaker") or {}
        reports = tuple(from_json(CallReport, report) for report in data.get("reports", ()))
        state = PiState(
            reports,
            border=str(data.get("border", "")),
            checked=str(data.get("checked", "")),
            seen=str(data.get("seen", "")),
            first_kept=str(data.get("first_kept", "")),
        )
        return replace(
            state,
            failures=int(breaker.get("failures", 0)),
            overflowed=bool(data.get("overflowed", False)),
            compactions=int(data.get("compactions", 0)),
            messages=int(data.get("messages", 0)),
        )

    def dump(self, running: PiState) -> dict[str, Any]:
        """Return the state as JSON. `messages_per_compaction` is derived and only for people to read."""
        return {
            "breaker": {"failures": running.failures, "open": running.open},
            "reports": [asdict(report) for report in running.reports],
            "border": running.border,
            "first_kept": running.first_kept,
            "checked": running.checked,
            "overflowed": running.overflowed,
            "compactions": running.compactions,
            "messages": running.messages,
            "messages_per_compaction": running.messages / running.compactions
            if running.compactions
            else None,
            "seen": running.seen,
        }

    def measure(self, context: PiContext) -> tuple[int, int]:
        """Return the raw and the calibrated estimate, which are equal: Pi does not calibrate."""
        tokens = estimate_buffer(context.buffer, context.settings)
        return tokens, tokens

    def breaker(self, context: PiContext) -> BreakerState | None:
        """Return the breaker of safe mode; Pi itself has none."""
        if not context.settings.safe:
            return None
        running = context.running
        return BreakerState(running.open, running.failures, MAX_FAILURES)

    def watermarks(self, settings: PiSettings) -> tuple[Watermark, ...]:
        """Return one watermark at window - reserve; none while the window is unknown."""
        window, reserve = settings.context_window, settings.reserve_tokens
        if not window:
            return ()
        if is_clamped(settings, reserve):
            reserve = window // 4
        line = max(0, window - reserve)
        return (
            Watermark(
                f"{per_cent(line / window, places=1)} compact",
                tokens=line,
                setting="reserve_tokens",
                tiers=(TIER,),
            ),
        )

    def due(self, context: PiContext) -> Verdicts:
        return (give_verdict(context),)

    def tier(self, name: str, context: PiContext) -> Done[PiState]:
        """Compact, regardless of trigger and guards. Raises InspectorError for an unknown name."""
        if name.lower() != TIER:
            raise self.unknown(name)
        context = note_reports(context)
        reason: Reason = "threshold" if judge_trigger(context).due else "manual"
        if context.moment.overflow:
            reason = "overflow"
        return (yield from run_compaction(Job(reason, extension=self.extension), context))

    # when Pi checks the trigger in an agent's run

    def before_call(self, context: PiContext) -> AllDone[PiState]:
        """Recover from an overflow, or check the trigger if the newest answer has not been checked.

        The check point `before_llm` checks before each request. `agent_end` checks before each new prompt, even if the
        trigger was already checked at the end of the agent's run.
        """
        context = note_reports(context)
        if context.moment.overflow:
            return ((yield from self._recover_once(context)),)
        place = _place_before(context)
        recovered = replace(context.running, overflowed=False)
        return ((yield from self._compact_if_due(context.with_running(recovered), place)),)

    def after_turn(self, context: PiContext) -> AllDone[PiState]:
        """Check the trigger for the newest answer, unless that answer was already checked or is checked later."""
        context = note_reports(context)
        return ((yield from self._compact_if_due(context, _place_after(context))),)

    def run_due(self, context: PiContext) -> AllDone[PiState]:
        """Check the trigger on this buffer, regardless of the check point."""
        if context.moment.overflow:
            return ((yield from self._recover_once(context)),)
        return ((yield from self._compact_if_due(note_reports(context), len(context.messages))),)

    def _compact_if_due(self, context: PiContext, place: int | None) -> Done[PiState]:
        """Check the trigger on the first `place` messages, and compact them if due. `place` None: no check."""
        if place is None:
            return context.unchanged(TIER)
        rest = context.messages[place:]
        head = context.with_messages(context.messages[:place]) if rest else context
        head = head.with_running(replace(context.running, checked=last_answer_id(head.messages)))
        if not judge_trigger(head).due:
            return Outcome(TIER, context.buffer, head.running)
        return (yield from run_compaction(Job("threshold", rest, extension=self.extension), head))

    def _recover_once(self, context: PiContext) -> Done[PiState]:
        """Drop the failed answer and compact, for another attempt. A second overflow before any success is an error."""
        buffer = context.buffer
        running = context.running
        model = context.moment.model
        if running.overflowed:
            fields = {
                "result": None,
                "aborted": False,
                "willRetry": False,
                "errorMessage": SECOND_OVERFLOW,
            }
            return Outcome(
                TIER,
                buffer,
                running,
                events=(Event("auto_compaction_end", fields),),
                succeeded=False,
                error=SECOND_OVERFLOW,
            )
        if not context.settings.enabled:
            return Outcome(
                TIER, buffer, running, succeeded=False, error="automatic compaction is switched off"
            )
        refused = _failed_answer(context)
        if refused is not None and refused.model != model:
            return Outcome(
                TIER,
                buffer,
                running,
                succeeded=False,
                error="a model that is no longer selected refused the buffer",
            )
        live = context.with_running(replace(running, overflowed=True))
        if refused is not None:
            live = live.with_messages(buffer.messages[:-1])
        job = Job("overflow", retry=True, extension=self.extension)
        outcome = yield from run_compaction(job, live)
        if refused is None:
            return outcome
        return replace(outcome, changed={**outcome.changed, refused.upto: "dropped"})

    # a turn of the agent

    def is_overflow(self, failure: Failure) -> bool:
        return super().is_overflow(failure) or says_overflow(str(failure))

    def recover(self, turn: Turn, error: str) -> Conversation[str]:
        """Compact after an overflow. The compaction itself reports a second overflow."""
        turn.update_moment(overflow=error)
        yield from self.compact(turn)
        last = turn.outcomes[-1]
        return "" if last.succeeded else last.error or error

    def accept(self, turn: Turn, answer: Answer) -> Conversation[Answer | None]:
        """Add the answer and its usage report, and check the trigger if the check point is `after_llm`."""
        settings = turn.now.settings
        if is_overflow(answer.finish, "", answer.usage, settings.context_window):
            raise ContextWindowExceeded(SILENT)
        turn.add(answer.messages)
        for message in answer.messages:
            turn.log("message_added", role=message.role)
        turn.running = replace(turn.running, overflowed=False)
        if answer.messages:
            report = CallReport(
                answer.messages[-1].id, answer.usage, answer.finish, turn.now.moment.model
            )
            turn.running = replace(
                turn.running, reports=drop_old_reports((*turn.running.reports, report))
            )
        if settings.check_point == "after_llm":
            yield from self._check_answer(turn, answer)
        return answer

    def act(self, turn: Turn, answer: Answer) -> Conversation[None]:
        """Run the tools, then check the trigger. Each answer is checked only once."""
        turn.add((yield from turn.run_tools(list_calls(answer))))
        if turn.now.settings.check_point in ("turn_end", "agent_end"):
            yield from self._check_answer(turn, answer)

    def _check_answer(self, turn: Turn, answer: Answer) -> Conversation[None]:
        turn.update_moment(usage=answer.usage, finish=answer.finish, reports=None, overflow="")

        def look(context: PiContext) -> Verdicts:
            return self.due(context) if _place_after(note_reports(context)) is not None else ()

        turn.announce(look, (TIER,))
        turn.apply(*(yield from self.after_turn(turn.now)))

    def announce(self, turn: Turn, tiers: Sequence[str]) -> None:
        """Announce the due tiers before a request, if Pi checks its trigger at that point."""

        def look(context: PiContext) -> Verdicts:
            if context.moment.overflow:
                looks = context.settings.enabled and not context.running.overflowed
            else:
                looks = _place_before(note_reports(context)) is not None
            return self.due(context) if looks else ()

        turn.announce(look, tiers)


def count_checked_messages(messages: Sequence[Message], settings: PiSettings) -> int | None:
    """Return the number of messages that Pi's check of the newest answer covers; None if the check is still to come."""
    if settings.check_point == "before_llm":
        return len(messages)
    answer_end = len(messages)
    while answer_end and messages[answer_end - 1].role != "assistant":
        answer_end -= 1
    if not answer_end:
        return None
    answer = messages[answer_end - 1]
    match settings.check_point:
        case "after_llm":
            return answer_end
        case "agent_end":
            return None if answer.calls else answer_end
    results = list(takewhile(lambda message: message.role == "tool", messages[answer_end:]))
    answered = {message.result.call_id for message in results if message.result is not None}
    if not all(call.id in answered for call in answer.calls):
        return None
    return answer_end + len(results)


def _place_before(context: PiContext) -> int | None:
    """Return the number of messages that a check right before a request covers; None for no check."""
    messages, settings = context.messages, context.settings
    place = count_checked_messages(messages, settings)
    if settings.check_point == "agent_end" and place == len(messages):
        return None  # there is no new prompt
    is_repeated = settings.check_point in ("before_llm", "agent_end")
    if not is_repeated and context.running.checked == last_answer_id(messages):
        return None
    return place


def _place_after(context: PiContext) -> int | None:
    """Return the number of messages that a check after a request covers; None for no check."""
    messages, settings = context.messages, context.settings
    if settings.check_point == "before_llm" or context.running.checked == last_answer_id(messages):
        return None
    return count_checked_messages(messages, settings)


def _failed_answer(context: PiContext) -> CallReport | None:
    """Return the report of a refused answer at the end of the buffer; None if there is none."""
    last = context.messages[-1] if context.messages else None
    reports = read_reports(context)
    if last is None or last.role != "assistant" or not reports:
        return None
    is_refused = reports[-1].upto == last.id and reports[-1].finish == "error"
    return reports[-1] if is_refused else None


POLICY = PiPolicy()
