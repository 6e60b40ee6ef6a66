"""Repairs what makes every provider refuse a buffer: calls and results that do not pair up (spec 0.3 a, b).

A result without a call before it is dropped; a call that is never answered is given a result that says so. Nothing else
is touched: messages keep their identity, order and parts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from inspector.core.buffer import Buffer
from inspector.core.message import Message, ToolCall, ToolResult
from inspector.core.outcome import Event, FateName, Outcome

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
    """The missing results behind the turn that made the calls: its assistant messages and the results they have."""
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
