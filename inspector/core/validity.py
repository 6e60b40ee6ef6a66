"""Would a provider refuse this buffer, and why; and the repair of what every provider refuses (spec 0.3).

Checked as the wire adapters would send it: neighbouring messages of one role count as one turn, so what is left is
what no adapter can mend - calls and results that do not pair up, a wrong beginning, messages without content.

The repair drops a result without a call before it, and gives a call that is never answered a result that says so.
Nothing else is touched: messages keep their identity, order and parts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias, TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.outcome import Event, FateName, Outcome

Rule: TypeAlias = Literal[
    "result-without-call",
    "call-without-result",
    "duplicate-answer",
    "duplicate-call",
    "order",
    "first-role",
    "empty-message",
    "empty-text",
]

ANTHROPIC, CHAT, RESPONSES = "anthropic", "openai-chat", "openai-responses"


@dataclass(frozen=True, slots=True)
class Invalid:
    """One reason to refuse, at the message `message` (its id)."""

    rule: Rule
    message: str
    why: str
    """A sentence for people."""
    providers: tuple[str, ...]
    """Who refuses it."""


def check(buffer: Buffer) -> tuple[Invalid, ...]:
    """All reasons, in the order of the messages. Empty = any provider takes it. O(messages)."""
    messages = buffer.messages
    place = {id(message): n for n, message in enumerate(messages)}
    found = [*_beginning(messages), *_empty(messages), *_pairs(messages)]
    return tuple(invalid for _, invalid in sorted(found, key=lambda one: place[id(one[0])]))


_Refusals: TypeAlias = Iterator[tuple[Message, Invalid]]


def _beginning(messages: Sequence[Message]) -> _Refusals:
    first = next((message for message in messages if message.role != "system"), None)
    begins = first is not None and any(isinstance(part, Opaque) and part.text for part in first.parts)
    if first is not None and first.role == "assistant" and not begins:  # a compaction by the provider may begin it
        why = "The first message is the assistant's; Anthropic wants a user message first."
        yield first, Invalid("first-role", first.id, why, (ANTHROPIC,))


def _empty(messages: Sequence[Message]) -> _Refusals:
    for run in _runs(messages):
        last = run[-1] is messages[-1]
        if run[0].role == "tool" or (last and run[0].role == "assistant"):
            continue  # a result may be empty, and so may the assistant's last message
        parts = [part for message in run for part in message.parts]
        if not any(_has_content(part) for part in parts):
            why, providers = _why_empty(run[0].role, parts)
            yield run[0], Invalid("empty-message", run[0].id, why, providers)
            continue
        for message in run:
            if any(_is_refused_text(message, part) for part in message.parts):
                why = "A text part without text."
                yield message, Invalid("empty-text", message.id, why, (ANTHROPIC,))


def _runs(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Neighbouring messages of one role: adapters send them as one."""
    for _, run in groupby(messages, lambda message: message.role):
        yield list(run)


def _has_content(part: Part) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking(text, signature):  # all that an interrupted answer leaves; providers took it on real sessions
            return bool(text or signature)
        case _:
            return True


def _why_empty(role: str, parts: Sequence[Part]) -> tuple[str, tuple[str, ...]]:
    if not parts:
        return f"A message of the {role} without content.", (ANTHROPIC, CHAT)
    return f"A message of the {role} that holds nothing but white space.", (ANTHROPIC,)


def _is_refused_text(message: Message, part: Part) -> bool:
    """White space alone is refused of a user; of the assistant it is not: models write it before they think."""
    if not isinstance(part, Text):
        return False
    return not part.text if message.role == "assistant" else not part.text.strip()


@dataclass(frozen=True, slots=True)
class _Spot:
    at: int
    message: Message


def _pairs(messages: Sequence[Message]) -> _Refusals:
    calls, answers = _spots(messages)
    ends = _turn_ends(messages)
    for call_id, made in calls.items():
        yield from _calls(call_id, made, answers.get(call_id, []), ends)
    for call_id, given in answers.items():
        yield from _answers(call_id, given, calls.get(call_id, []))


def _spots(messages: Sequence[Message]) -> tuple[dict[str, list[_Spot]], dict[str, list[_Spot]]]:
    """Where each call id is called, and where it is answered."""
    calls: dict[str, list[_Spot]] = defaultdict(list)
    answers: dict[str, list[_Spot]] = defaultdict(list)
    for at, message in enumerate(messages):
        for call in message.calls:
            calls[call.id].append(_Spot(at, message))
        for part in message.parts:
            if isinstance(part, ToolResult):
                answers[part.call_id].append(_Spot(at, message))
    return calls, answers


def _turn_ends(messages: Sequence[Message]) -> list[int]:
    """For each message the index where its turn is over: after the assistant's messages and their results."""
    ends = [len(messages)] * (len(messages) + 1)
    for at in range(len(messages) - 1, -1, -1):
        after = messages[at + 1].role if at + 1 < len(messages) else "user"
        role = messages[at].role
        goes_on = after == "tool" or (role == "assistant" and after == "assistant")
        ends[at] = ends[at + 1] if goes_on else at + 1
    return ends


def _calls(call_id: str, made: list[_Spot], given: list[_Spot], ends: list[int]) -> _Refusals:
    everyone = (ANTHROPIC, CHAT, RESPONSES)
    for n, call in enumerate(made):
        if n and call_id:
            why = f"The call id {call_id} is used a second time."
            yield call.message, Invalid("duplicate-call", call.message.id, why, (ANTHROPIC,))
        answer = given[n] if n < len(given) else None
        if answer is None or answer.at < call.at:
            why = f"The call {call_id} is never answered."
            yield call.message, Invalid("call-without-result", call.message.id, why, everyone)
        elif answer.at >= ends[call.at]:
            why = f"The result of {call_id} does not directly follow its call: another message stands between."
            yield answer.message, Invalid("order", answer.message.id, why, (ANTHROPIC, CHAT))


def _answers(call_id: str, given: list[_Spot], made: list[_Spot]) -> _Refusals:
    for n, answer in enumerate(given):
        if n < len(made) and made[n].at < answer.at:
            continue
        if made and made[0].at < answer.at:
            why = f"The call {call_id} is answered a second time."
            yield answer.message, Invalid("duplicate-answer", answer.message.id, why, (ANTHROPIC, CHAT))
        else:
            why = f"A result for {call_id}, but no call of that id before it."
            providers = (ANTHROPIC, CHAT, RESPONSES)
            yield answer.message, Invalid("result-without-call", answer.message.id, why, providers)


REMOVED = "[Result removed by compaction]"
TIER = "repair"

R = TypeVar("R")


def repair(buffer: Buffer, running: R) -> Outcome[R]:
    """The buffer mended, as an outcome; the very same buffer where there is nothing to mend. O(messages)."""
    kept, dropped, unanswered = _paired(buffer.messages)
    if not dropped and not unanswered:
        return Outcome(TIER, buffer, running)
    messages = tuple(_with_answers(kept, unanswered))
    changed: dict[str, FateName] = {message.id: "dropped" for message in dropped}
    fields = {"dropped_results": len(dropped), "answered_calls": sum(map(len, unanswered.values()))}
    return Outcome(TIER, buffer.with_messages(messages), running, (Event("BufferRepaired", fields),), changed=changed)


def _paired(messages: Iterable[Message]) -> tuple[list[Message], list[Message], dict[int, list[ToolCall]]]:
    """(messages that stay, results without a call, calls without a result by `id()` of their message).

    Of several calls of one id the earlier ones are answered first.
    """
    kept: list[Message] = []
    dropped: list[Message] = []
    waiting: dict[str, list[tuple[Message, ToolCall]]] = {}
    for message in messages:
        results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if any(len(waiting.get(call_id, ())) < times for call_id, times in Counter(results).items()):
            dropped.append(message)
            continue
        for call_id in results:
            waiting[call_id].pop(0)
        for call in message.calls:
            waiting.setdefault(call.id, []).append((message, call))
        kept.append(message)
    unanswered: dict[int, list[ToolCall]] = {}
    for message, call in (one for left in waiting.values() for one in left):
        unanswered.setdefault(id(message), []).append(call)
    return kept, dropped, unanswered


def _with_answers(messages: Iterable[Message], unanswered: dict[int, list[ToolCall]]) -> Iterator[Message]:
    """The missing results after the turn that made the calls: its assistant messages and the results they have."""
    owed: list[Message] = []
    before = ""
    for message in messages:
        goes_on = message.role == "tool" or (before == "assistant" and message.role == "assistant")
        if owed and not goes_on:
            yield from owed
            owed.clear()
        yield message
        owed += (_answer(message, call, n) for n, call in enumerate(unanswered.get(id(message), ())))
        before = message.role
    yield from owed


def _answer(message: Message, call: ToolCall, n: int) -> Message:
    return Message(f"{TIER}-{message.id}-{n}", "tool", (ToolResult(call.id, REMOVED, is_error=True),))
