"""Find the turns of Pulse Coder's buffer, and prune messages."""

from collections.abc import Sequence
from itertools import pairwise

from inspector.core.message import Message, Opaque, Part, Thinking, ToolCall, ToolResult
from inspector.core.policies.replacements import remove_parts

_GONE = ("reasoning", "thinking", "tool", "_call", "approval")
"""Words in the kind of an opaque part that contains reasoning or the state of a tool."""


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Return the indices of the messages that begin a turn. O(messages)."""
    answered_at: dict[str, int] = {}
    groups_with_results = set[str]()
    for at, message in enumerate(messages):
        if message.result is not None:
            answered_at[message.result.call_id] = at
            if message.together:
                groups_with_results.add(message.together)
    starts = []
    last_result = -1  # of the calls so far
    for at, message in enumerate(messages):
        for call in message.calls:
            last_result = max(last_result, answered_at.get(call.id, -1))
        is_beside_result = message.together in groups_with_results
        if message.role == "user" and at > last_result and not is_beside_result:
            starts.append(at)
    return starts


def split_by_turns(
    messages: Sequence[Message], keep: int
) -> tuple[Sequence[Message], Sequence[Message]]:
    """Split messages into (old, recent). `recent` has the newest `keep` turns, or everything if there are fewer."""
    starts = turn_starts(messages)
    at = starts[-keep] if len(starts) > keep else 0
    return messages[:at], messages[at:]


def split_into_units(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """Split the messages into units that stay together: turns and earlier summaries."""
    edges = {0, len(messages), *turn_starts(messages)}
    for at, message in enumerate(messages):
        if message.summary:
            edges |= {at, at + 1}
    return [messages[start:end] for start, end in pairwise(sorted(edges))]


def prune(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Remove reasoning, calls and results, and keep the text."""
    return remove_parts((message for message in messages if message.role != "tool"), _is_pruned)


def _is_pruned(part: Part) -> bool:
    match part:
        case Thinking() | ToolCall() | ToolResult():
            return True
        case Opaque(kind):
            return any(word in kind for word in _GONE)
        case _:
            return False
