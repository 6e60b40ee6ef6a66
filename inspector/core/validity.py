"""Find out whether a provider would refuse a buffer, and repair what every provider refuses.

The buffer is checked in the form in which the wire adapters would send it, with neighbouring messages of one role as
one turn. The remaining errors are those that no adapter can repair: calls and results that do not pair up, a wrong
beginning, messages without content. Each dialect lists the errors that its provider refuses.

The repair drops a result that has no call before it, and adds a result to a call that was never answered, with a text
that says so. Nothing else changes: messages keep their identity, order and parts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.dialect import Refusal
from inspector.core.message import Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.outcome import Event, FateName, Outcome

ANTHROPIC, CHAT, RESPONSES = "anthropic", "openai-chat", "openai-responses"


@dataclass(frozen=True, slots=True)
class Invalid:
    """One reason to refuse a buffer. `message` is the id of the message with the error."""

    rule: str
    """A `Refusal` of `dialect.py`; a blank message counts as an empty one."""
    message: str
    why: str
    """A sentence for people."""
    providers: tuple[str, ...]
    """The dialects whose provider refuses it."""


def find_refusals(buffer: Buffer) -> tuple[Invalid, ...]:
    """Return why a provider would refuse the buffer, in the order of the messages; empty if none would. O(messages)."""
    messages = buffer.messages
    troubles = (*_check_beginning(messages), *_check_contents(messages), *_check_pairs(messages))
    ordered = sorted(troubles, key=itemgetter(0))
    return tuple(_as_invalid(messages[at], refusal, why) for at, refusal, why in ordered)


def _as_invalid(message: Message, refusal: Refusal, why: str) -> Invalid:
    rule = "empty-message" if refusal == "blank-message" else refusal
    return Invalid(rule, message=message.id, why=why, providers=_refusing(refusal))


@cache
def _refusing(refusal: Refusal) -> tuple[str, ...]:
    return tuple(dialect.name for dialect in DIALECTS.values() if refusal in dialect.refuses)


_Troubles: TypeAlias = Iterator[tuple[int, Refusal, str]]
"""(index of the message, rule that it breaks, the reason as a sentence)."""


def _check_beginning(messages: Sequence[Message]) -> _Troubles:
    for at, message in enumerate(messages):
        if message.role == "system":
            continue
        # A compaction by the provider may come first.
        is_compaction = any(isinstance(part, Opaque) and part.text for part in message.parts)
        if message.role == "assistant" and not is_compaction:
            yield (
                at,
                "first-role",
                "The first message is the assistant's; Anthropic requires a user message first.",
            )
        return


def _check_contents(messages: Sequence[Message]) -> _Troubles:
    end = 0
    # Adapters send each group as one message.
    for role, group in groupby(messages, lambda message: message.role):
        run = list(group)
        start = end
        end = end + len(run)
        may_be_empty = role == "tool" or (role == "assistant" and end == len(messages))
        if may_be_empty:
            continue
        parts = [part for message in run for part in message.parts]
        if not parts:
            yield start, "empty-message", f"A message of the {role} has no content."
        elif not any(map(_has_content, parts)):
            yield (
                start,
                "blank-message",
                f"A message of the {role} holds only white space.",
            )
        else:
            for at, message in enumerate(run, start):
                if _has_empty_text(message):
                    yield at, "empty-text", "A text part is empty."


def _has_empty_text(message: Message) -> bool:
    """Has a message a text part without text? White space by a model counts as text, because models write some before
    they think."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if message.role != "assistant":
        texts = [text.strip() for text in texts]
    return not all(texts)


def _has_content(part: Part) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking(
            text, signature
        ):  # an interrupted answer may hold nothing else; providers accepted this
            return bool(text or signature)
        case _:
            return True


def _check_pairs(messages: Sequence[Message]) -> _Troubles:
    calls: dict[str, list[int]] = defaultdict(list)
    answers: dict[str, list[int]] = defaultdict(list)
    for at, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls[part.id].append(at)
            elif isinstance(part, ToolResult):
                answers[part.call_id].append(at)
    ends = _turn_ends(messages)
    for call_id, call_places in calls.items():
        yield from _check_calls(call_id, call_places, answers=answers.get(call_id, []), ends=ends)
    for call_id, answer_places in answers.items():
        yield from _check_answers(call_id, answer_places, calls.get(call_id, []))


def _turn_ends(messages: Sequence[Message]) -> list[int]:
    """Return for each message the index at which its turn ends: after the assistant's messages and their results."""
    ends = [len(messages)] * (len(messages) + 1)
    for at in range(len(messages) - 1, -1, -1):
        next_role = messages[at + 1].role if at + 1 < len(messages) else "user"
        is_inside = next_role == "tool" or (
            messages[at].role == "assistant" and next_role == "assistant"
        )
        ends[at] = ends[at + 1] if is_inside else at + 1
    return ends


def _check_calls(call_id: str, calls: list[int], answers: list[int], ends: list[int]) -> _Troubles:
    for number, at in enumerate(calls):
        if number and call_id:
            yield at, "duplicate-call", f"The call id {call_id} is used a second time."
        answer = answers[number] if number < len(answers) else -1
        if answer < at:
            yield at, "call-without-result", f"The call {call_id} is never answered."
        elif answer >= ends[at]:
            why = f"The result of {call_id} does not directly follow its call: another message is between them."
            yield answer, "order", why


def _check_answers(call_id: str, answers: list[int], calls: list[int]) -> _Troubles:
    for number, at in enumerate(answers):
        follows_its_call = number < len(calls) and calls[number] < at
        if follows_its_call:
            continue
        if calls and calls[0] < at:
            yield at, "duplicate-answer", f"The call {call_id} is answered a second time."
        else:
            yield (
                at,
                "result-without-call",
                f"A result for {call_id} has no call of that id before it.",
            )


REMOVED = "[Result removed by compaction]"
TIER = "repair"

R = TypeVar("R")


def repair(buffer: Buffer, running: R) -> Outcome[R]:
    """Repair the buffer, as an outcome; the very same buffer if nothing is wrong. O(messages)."""
    messages, dropped, unanswered = _pair_results(buffer.messages)
    if not dropped and not unanswered:
        return Outcome(TIER, buffer, running)
    repaired = tuple(_with_answers(messages, unanswered))
    changed: dict[str, FateName] = {message.id: "dropped" for message in dropped}
    fields = {"dropped_results": len(dropped), "answered_calls": sum(map(len, unanswered.values()))}
    return Outcome(
        TIER,
        buffer=buffer.with_messages(repaired),
        running=running,
        events=(Event("BufferRepaired", fields),),
        changed=changed,
    )


def _pair_results(
    messages: Iterable[Message],
) -> tuple[list[Message], list[Message], dict[int, list[ToolCall]]]:
    """Return (messages to keep, messages whose result has no call, calls without a result by `id()` of their message).

    If several calls have one id, the first result answers the first call.
    """
    staying: list[Message] = []
    dropped: list[Message] = []
    waiting: dict[str, list[tuple[Message, ToolCall]]] = {}
    for message in messages:
        results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if any(
            len(waiting.get(call_id, ())) < times for call_id, times in Counter(results).items()
        ):
            dropped.append(message)
            continue
        for call_id in results:
            waiting[call_id].pop(0)
        for call in message.calls:
            waiting.setdefault(call.id, []).append((message, call))
        staying.append(message)
    unanswered: dict[int, list[ToolCall]] = {}
    for message, call in chain.from_iterable(waiting.values()):
        unanswered.setdefault(id(message), []).append(call)
    return staying, dropped, unanswered


def _with_answers(
    messages: Iterable[Message], unanswered: dict[int, list[ToolCall]]
) -> Iterator[Message]:
    """Yield the messages with the missing results added, after the assistant messages and results of their turn."""
    missing: list[Message] = []
    last_role = ""
    for message in messages:
        is_inside = message.role == "tool" or (
            last_role == "assistant" and message.role == "assistant"
        )
        if missing and not is_inside:
            yield from missing
            missing.clear()
        yield message
        for n, call in enumerate(unanswered.get(id(message), ())):
            result = ToolResult(call.id, REMOVED, is_error=True)
            missing.append(Message(f"{TIER}-{message.id}-{n}", "tool", (result,)))
        last_role = message.role
    yield from missing
