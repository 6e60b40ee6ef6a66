"""Where in an agent's run Pi looks at the trigger (spec 3.3), and its recovery from an overflow (spec 3.8)."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.buffer import Buffer
from inspector.core.message import Message
from inspector.core.needs import Conversation
from inspector.core.outcome import Event, Outcome
from inspector.core.policies.pi.compaction import TIER, Extension, Task, compact
from inspector.core.policies.pi.judgement import judge
from inspector.core.policies.pi.running import Running, last_answer, noted, reports_of
from inspector.core.policies.pi.settings import Settings
from inspector.core.policies.policy import Moment

SECOND_OVERFLOW = "Context overflow recovery failed: the buffer is too long even after compaction"


def check_place(messages: Sequence[Message], settings: Settings) -> int | None:
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


def before_call(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment, extension: Extension | None = None
) -> Conversation[Outcome[Running]]:
    """After an overflow the recovery; else the check of an answer that was not checked yet.

    With `before_llm` each call is checked; with `agent_end` each new prompt is, whether or not the end of the agent's
    run was.
    """
    running = noted(buffer.messages, running, moment)
    if moment.overflow:
        return (yield from recover(buffer, settings, running, moment, extension))
    running = replace(running, overflowed=False)
    place = _place_before(buffer, settings, running)
    if place is None:
        return Outcome(TIER, buffer, running)
    return (yield from check(buffer, place, settings, running, moment, extension))


def _place_before(buffer: Buffer, settings: Settings, running: Running) -> int | None:
    """How far a check right before a call looks; None where there is none."""
    place = check_place(buffer.messages, settings)
    if settings.check_point == "agent_end" and place == len(buffer.messages):
        return None  # nobody has prompted
    again = settings.check_point in ("before_llm", "agent_end")
    return None if not again and running.checked == last_answer(buffer.messages) else place


def _place_after(buffer: Buffer, settings: Settings, running: Running) -> int | None:
    """How far a check behind a call looks; None where there is none."""
    place = None if settings.check_point == "before_llm" else check_place(buffer.messages, settings)
    return None if running.checked == last_answer(buffer.messages) else place


def looks_before(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> bool:
    """Does `before_call` look at the trigger, or recover?"""
    if moment.overflow:
        return settings.enabled and not running.overflowed
    return _place_before(buffer, settings, noted(buffer.messages, running, moment)) is not None


def looks_after(buffer: Buffer, settings: Settings, running: Running, moment: Moment) -> bool:
    """Does `after_turn` look at the trigger?"""
    return _place_after(buffer, settings, noted(buffer.messages, running, moment)) is not None


def after_turn(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment, extension: Extension | None = None
) -> Conversation[Outcome[Running]]:
    """The check of the newest answer, unless it was checked already or is checked later."""
    running = noted(buffer.messages, running, moment)
    place = _place_after(buffer, settings, running)
    if place is None:
        return Outcome(TIER, buffer, running)
    return (yield from check(buffer, place, settings, running, moment, extension))


def check(
    buffer: Buffer, place: int, settings: Settings, running: Running, moment: Moment, extension: Extension | None = None
) -> Conversation[Outcome[Running]]:
    """Look at the first `place` messages, and compact them where that is due; the rest follows untouched."""
    rest = buffer.messages[place:]
    head = buffer.with_messages(buffer.messages[:place]) if rest else buffer
    running = replace(running, checked=last_answer(head.messages))
    if not judge(head, settings, running, moment).due:
        return Outcome(TIER, buffer, running)
    return (yield from compact(Task(head, "threshold", rest, extension=extension), settings, running, moment))


def recover(
    buffer: Buffer, settings: Settings, running: Running, moment: Moment, extension: Extension | None = None
) -> Conversation[Outcome[Running]]:
    """Once: drop the failed answer, compact, try again. A second overflow before any success is the end."""
    if running.overflowed:
        fields = {"result": None, "aborted": False, "willRetry": False, "errorMessage": SECOND_OVERFLOW}
        return Outcome(TIER, buffer, running, (Event("auto_compaction_end", fields),), False, SECOND_OVERFLOW)
    if not settings.enabled:
        return Outcome(TIER, buffer, running, (), False, "automatic compaction is switched off")
    running = replace(running, overflowed=True)
    failed = _failed_answer(buffer, running, moment)
    live = buffer.with_messages(buffer.messages[:-1]) if failed else buffer
    outcome = yield from compact(Task(live, "overflow", retry=True, extension=extension), settings, running, moment)
    if not failed:
        return outcome
    return replace(outcome, changed={**outcome.changed, failed: "dropped"})


def _failed_answer(buffer: Buffer, running: Running, moment: Moment) -> str:
    """Id of the answer at the end that carries the refusal; empty where there is none."""
    last = buffer.messages[-1] if buffer.messages else None
    reports = reports_of(buffer.messages, running, moment)
    if last is None or last.role != "assistant" or not reports:
        return ""
    return last.id if reports[-1].upto == last.id and reports[-1].finish == "error" else ""
