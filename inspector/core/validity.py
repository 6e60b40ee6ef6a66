"""Would a provider refuse this buffer, and why; and the repair of what every provider refuses.

Checked as the wire adapters would send it: neighbouring messages of one role count as one turn, so what is left is
what no adapter can mend - calls and results that do not pair up, a wrong beginning, messages without content.

The repair drops a result without a call before it, and gives a call that is never answered a result that says so.
Nothing else is touched: messages keep their identity, order and parts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
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
    found = sorted((*_beginning(messages), *_empty(messages), *_pairs(messages)), key=itemgetter(0))
    return tuple(Invalid(rule, messages[at].id, why, providers) for at, rule, why, providers in found)


_Refusals: TypeAlias = Iterator[tuple[int, Rule, str, tuple[str, ...]]]
"""Place of the message, rule, sentence, who refuses it."""


def _beginning(messages: Sequence[Message]) -> _Refusals:
    at, first = next(((n, one) for n, one in enumerate(messages) if one.role != "system"), (0, None))
    begins = first is not None and any(isinstance(part, Opaque) and part.text for part in first.parts)
    if first is not None and first.role == "assistant" and not begins:  # a compaction by the provider may begin it
        why = "The first message is the assistant's; Anthropic wants a user message first."
        yield at, "first-role", why, (ANTHROPIC,)


def _empty(messages: Sequence[Message]) -> _Refusals:
    end = 0
    for role, group in groupby(messages, lambda message: message.role):  # which adapters send as one
        run = list(group)
        start, end = end, end + len(run)
        if role == "tool" or (role == "assistant" and end == len(messages)):
            continue  # a result may be empty, and so may the assistant's last message
        parts = [part for message in run for part in message.parts]
        if not any(_has_content(part) for part in parts):
            if parts:
                why = f"A message of the {role} that holds nothing but white space."
                yield start, "empty-message", why, (ANTHROPIC,)
            else:
                yield start, "empty-message", f"A message of the {role} without content.", (ANTHROPIC, CHAT)
            continue
        for at, message in enumerate(run, start):
            texts = [part.text for part in message.parts if isinstance(part, Text)]
            if role != "assistant":  # models write white space before they think
                texts = [text.strip() for text in texts]
            if not all(texts):
                yield at, "empty-text", "A text part without text.", (ANTHROPIC,)


def _has_content(part: Part) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking(text, signature):  # all that an interrupted answer leaves; providers took it on real sessions
            return bool(text or signature)
        case _:
            return True


def _pairs(messages: Sequence[Message]) -> _Refusals:
    calls: dict[str, list[int]] = defaultdict(list)
    answers: dict[str, list[int]] = defaultdict(list)
    for at, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls[part.id].append(at)
            elif isinstance(part, ToolResult):
                answers[part.call_id].append(at)
    ends = _turn_ends(messages)
    for call_id, made in calls.items():
        yield from _calls(call_id, made, answers.get(call_id, []), ends)
    for call_id, given in answers.items():
        yield from _answers(call_id, given, calls.get(call_id, []))


def _turn_ends(messages: Sequence[Message]) -> list[int]:
    """For each message the index where its turn is over: after the assistant's messages and their results."""
    ends = [len(messages)] * (len(messages) + 1)
    for at in range(len(messages) - 1, -1, -1):
        after = messages[at + 1].role if at + 1 < len(messages) else "user"
        role = messages[at].role
        goes_on = after == "tool" or (role == "assistant" and after == "assistant")
        ends[at] = ends[at + 1] if goes_on else at + 1
    return ends


def _calls(call_id: str, made: list[int], given: list[int], ends: list[int]) -> _Refusals:
    for n, at in enumerate(made):
        if n and call_id:
            yield at, "duplicate-call", f"The call id {call_id} is used a second time.", (ANTHROPIC,)
        answer = given[n] if n < len(given) else -1
        if answer < at:
            yield at, "call-without-result", f"The call {call_id} is never answered.", (ANTHROPIC, CHAT, RESPONSES)
        elif answer >= ends[at]:
            why = f"The result of {call_id} does not directly follow its call: another message stands between."
            yield answer, "order", why, (ANTHROPIC, CHAT)


def _answers(call_id: str, given: list[int], made: list[int]) -> _Refusals:
    for n, at in enumerate(given):
        if n < len(made) and made[n] < at:
            continue
        if made and made[0] < at:
            yield at, "duplicate-answer", f"The call {call_id} is answered a second time.", (ANTHROPIC, CHAT)
        else:
            why = f"A result for {call_id}, but no call of that id before it."
            yield at, "result-without-call", why, (ANTHROPIC, CHAT, RESPONSES)


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
        for n, call in enumerate(unanswered.get(id(message), ())):
            result = ToolResult(call.id, REMOVED, is_error=True)
            owed.append(Message(f"{TIER}-{message.id}-{n}", "tool", (result,)))
        before = message.role
    yield from owed
