"""Pi: one tier, compaction into a summary before a cut point (spec section 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Answer, ContextWindowExceeded, Conversation, Failure
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.harness import Policy
from inspector.core.policies.pi import usage
from inspector.core.policies.pi.compaction import TIER, Extension, Job, Reason, compact, judge, verdict
from inspector.core.policies.pi.settings import MAX_FAILURES, PiSettings, PiState, checked
from inspector.core.policies.turn import AllDone, Done, TurnContext, calls_of
from inspector.core.policies.verdict import (
    BreakerState,
    CallReport,
    PolicyInput,
    TierName,
    Verdict,
    Verdicts,
    Watermark,
)
from inspector.core.recording import from_json
from inspector.core.words import per_cent

Context: TypeAlias = TurnContext[PiState]
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

    def measure(self, buffer: Buffer, settings: PiSettings, running: PiState) -> tuple[int, int]:
        """The profile's estimate, twice."""
        tokens = usage.estimated_tokens(buffer, settings)
        return tokens, tokens

    def breaker(self, settings: PiSettings, running: PiState) -> BreakerState | None:
        """Ours, in safe mode; upstream has none."""
        return BreakerState(running.open, running.failures, MAX_FAILURES) if settings.safe else None

    def watermarks(self, settings: PiSettings) -> tuple[Watermark, ...]:
        """Window - reserve. None while the window is unknown."""
        window, reserve = settings.context_window, settings.reserve_tokens
        if not window:
            return ()
        line = window - (window // 4 if usage.is_clamped(settings, reserve) else reserve)
        return (Watermark(f"{per_cent(max(0, line) / window, 1)} compact", max(0, line), "reserve_tokens", (TIER,)),)

    def due(self, buffer: Buffer, settings: PiSettings, running: PiState, moment: PolicyInput) -> Verdicts:
        return (verdict(buffer, settings, running, moment),)

    def tier(
        self, name: str, buffer: Buffer, settings: PiSettings, running: PiState, moment: PolicyInput
    ) -> Done[PiState]:
        """By hand neither trigger nor guards are asked."""
        if name.lower() != TIER:
            raise self.unknown(name)
        running = usage.noted(buffer.messages, running, moment)
        due = judge(buffer, settings, running, moment).due
        reason: Reason = "overflow" if moment.overflow else "threshold" if due else "manual"
        return (yield from compact(Job(buffer, reason, extension=self.extension), settings, running, moment))

    # where in an agent's run Pi looks at the trigger (spec 3.3)

    def before_call(
        self, buffer: Buffer, settings: PiSettings, running: PiState, moment: PolicyInput
    ) -> AllDone[PiState]:
        """After an overflow the recovery; else the check of an answer that was not checked yet.

        With `before_llm` each call is checked; with `agent_end` each new prompt is, whether or not the end of the
        agent's run was.
        """
        running = usage.noted(buffer.messages, running, moment)
        if moment.overflow:
            return ((yield from self._recovered(buffer, settings, running, moment)),)
        place = _place_before(buffer, settings, running)
        return ((yield from self._checked(buffer, place, settings, replace(running, overflowed=False), moment)),)

    def after_turn(
        self, buffer: Buffer, settings: PiSettings, running: PiState, moment: PolicyInput
    ) -> AllDone[PiState]:
        """The check of the newest answer, unless it was checked already or is checked later."""
        running = usage.noted(buffer.messages, running, moment)
        place = _place_after(buffer, settings, running)
        return ((yield from self._checked(buffer, place, settings, running, moment)),)

    def run_due(self, buffer: Buffer, settings: PiSettings, running: PiState, moment: PolicyInput) -> AllDone[PiState]:
        """Wherever the check point lies: the trigger on this very buffer."""
        if moment.overflow:
            return ((yield from self._recovered(buffer, settings, running, moment)),)
        running, place = usage.noted(buffer.messages, running, moment), len(buffer.messages)
        return ((yield from self._checked(buffer, place, settings, running, moment)),)

    def _checked(
        self, buffer: Buffer, place: int | None, settings: PiSettings, running: PiState, moment: PolicyInput
    ) -> Done[PiState]:
        """Look at the first `place` messages, and compact them where that is due; the rest follows untouched. None =
        nobody looks."""
        if place is None:
            return Outcome(TIER, buffer, running)
        rest = buffer.messages[place:]
        head = buffer.with_messages(buffer.messages[:place]) if rest else buffer
        running = replace(running, checked=usage.last_answer(head.messages))
        if not judge(head, settings, running, moment).due:
            return Outcome(TIER, buffer, running)
        return (yield from compact(Job(head, "threshold", rest, extension=self.extension), settings, running, moment))

    def _recovered(self, buffer: Buffer, settings: PiSettings, running: PiState, moment: PolicyInput) -> Done[PiState]:
        """Once: drop the failed answer, compact, try again. A second overflow before any success is the end (spec
        3.8)."""
        if running.overflowed:
            fields = {"result": None, "aborted": False, "willRetry": False, "errorMessage": SECOND_OVERFLOW}
            return Outcome(TIER, buffer, running, (Event("auto_compaction_end", fields),), False, SECOND_OVERFLOW)
        if not settings.enabled:
            return Outcome(TIER, buffer, running, (), False, "automatic compaction is switched off")
        refused = _failed_answer(buffer, running, moment)
        if refused is not None and refused.model != moment.model:
            return Outcome(TIER, buffer, running, (), False, "a model that is no longer selected refused the buffer")
        running = replace(running, overflowed=True)
        live = buffer if refused is None else buffer.with_messages(buffer.messages[:-1])
        job = Job(live, "overflow", retry=True, extension=self.extension)
        outcome = yield from compact(job, settings, running, moment)
        return outcome if refused is None else replace(outcome, changed={**outcome.changed, refused.upto: "dropped"})

    # a turn

    def is_overflow(self, failure: Failure) -> bool:
        return super().is_overflow(failure) or usage.says_overflow(str(failure))

    def recover(self, turn: Context, settings: PiSettings, moment: PolicyInput, error: str) -> Conversation[str]:
        """The recovery itself reports the second overflow."""
        yield from self.compact(turn, settings, replace(moment, overflow=error))
        last = turn.outcomes[-1]
        return "" if last.succeeded else last.error or error

    def accept(
        self, turn: Context, settings: PiSettings, moment: PolicyInput, answer: Answer
    ) -> Conversation[Answer | None]:
        """Append the answer with its usage, check."""
        if usage.is_overflow(answer.finish, "", answer.usage, settings.context_window):
            raise ContextWindowExceeded(SILENT)
        turn.add(answer.messages)
        for message in answer.messages:
            turn.log("message_added", role=message.role)
        turn.running = replace(turn.running, overflowed=False)
        if answer.messages:
            report = CallReport(answer.messages[-1].id, answer.usage, answer.finish, moment.model)
            turn.running = replace(turn.running, reports=usage.needed((*turn.running.reports, report)))
        if settings.check_point == "after_llm":
            yield from self._look_after(turn, settings, moment, answer)
        return answer

    def act(self, turn: Context, settings: PiSettings, moment: PolicyInput, answer: Answer) -> Conversation[None]:
        """Run the tools, check again (each answer is checked once)."""
        turn.add((yield from turn.run_tools(calls_of(answer))))
        if settings.check_point in ("turn_end", "agent_end"):
            yield from self._look_after(turn, settings, moment, answer)

    def _look_after(
        self, turn: Context, settings: PiSettings, moment: PolicyInput, answer: Answer
    ) -> Conversation[None]:
        now = replace(moment, usage=answer.usage, finish=answer.finish, reports=None, overflow="")

        def look(buffer: Buffer, running: PiState) -> tuple[Verdict, ...]:
            looks = _place_after(buffer, settings, usage.noted(buffer.messages, running, now)) is not None
            return self.due(buffer, settings, running, now) if looks else ()

        turn.announce(look, (TIER,))
        turn.apply(*(yield from self.after_turn(turn.buffer, settings, turn.running, now)))

    def announce(self, turn: Context, settings: PiSettings, moment: PolicyInput, tiers: Sequence[str]) -> None:
        """Before a call: where Pi looks at its trigger there at all."""

        def look(buffer: Buffer, running: PiState) -> tuple[Verdict, ...]:
            if moment.overflow:
                looks = settings.enabled and not running.overflowed
            else:
                looks = _place_before(buffer, settings, usage.noted(buffer.messages, running, moment)) is not None
            return self.due(buffer, settings, running, moment) if looks else ()

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


def _place_before(buffer: Buffer, settings: PiSettings, running: PiState) -> int | None:
    """How far a check right before a call looks; None where there is none."""
    place = check_place(buffer.messages, settings)
    if settings.check_point == "agent_end" and place == len(buffer.messages):
        return None  # nobody has prompted
    again = settings.check_point in ("before_llm", "agent_end")
    return None if not again and running.checked == usage.last_answer(buffer.messages) else place


def _place_after(buffer: Buffer, settings: PiSettings, running: PiState) -> int | None:
    """How far a check after a call looks; None where there is none."""
    place = None if settings.check_point == "before_llm" else check_place(buffer.messages, settings)
    return None if running.checked == usage.last_answer(buffer.messages) else place


def _failed_answer(buffer: Buffer, running: PiState, moment: PolicyInput) -> CallReport | None:
    """What is known of the answer at the end that carries the refusal; None where there is none."""
    last = buffer.messages[-1] if buffer.messages else None
    reports = usage.reports_of(buffer.messages, running, moment)
    if last is None or last.role != "assistant" or not reports:
        return None
    return reports[-1] if reports[-1].upto == last.id and reports[-1].finish == "error" else None


POLICY = PiPolicy()
