"""The mechanical half of the fallback: reasoning, calls and results go, text stays (spec 2.6)."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.core.message import Message, Opaque, Part, Thinking, ToolCall, ToolResult

_GONE = ("reasoning", "thinking", "tool", "_call", "approval")
"""Words in the kind of an opaque part that stands for reasoning or for a tool's state."""


def prune(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages that nothing was taken from are the very same; those that end up empty are gone."""
    pruned = (_pruned(message) for message in messages)
    return tuple(message for message in pruned if message.parts)


def _pruned(message: Message) -> Message:
    if message.role == "tool":
        return replace(message, parts=())
    parts = tuple(part for part in message.parts if not _goes(part))
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def _goes(part: Part) -> bool:
    match part:
        case Thinking() | ToolCall() | ToolResult():
            return True
        case Opaque(kind):
            return any(word in kind for word in _GONE)
        case _:
            return False
