"""Thinking of earlier turns: whether a model is sent it again, and messages without it."""

import re
from collections.abc import Iterable

from inspector.core.message import Message, Opaque, Part, Thinking

_MODEL = re.compile(
    r"claude-(?:(?P<old>\d)(?:[-.]\d)?(?:-|$)|(?P<family>[a-z]+)-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?)"
)
"""claude-3-7-sonnet-..., claude-2.1; claude-opus-4-1-20250805, anthropic/claude-sonnet-4.5, claude-sonnet-4@2025..."""


def keeps_thinking(model: str) -> bool:
    """Does thinking stay when the next turn begins? From Opus 4.5 on; taken of any model that nothing is known of."""
    found = _MODEL.search(model.lower())
    if found is None:
        return True
    if found["old"]:
        return False
    version = int(found["major"]), int(found["minor"] or 0)
    return version >= ((4, 5) if found["family"] == "opus" else (4, 6))


def without_thinking(messages: Iterable[Message]) -> list[Message]:
    """The messages, but for their thinking; those that hold nothing else are left out."""
    return [left for message in messages if (left := _without(message)) is not None]


def _without(message: Message) -> Message | None:
    if message.role != "assistant":
        return message
    parts = tuple(part for part in message.parts if not _is_thinking(part))
    if len(parts) == len(message.parts):
        return message
    if not parts:
        return None
    m = message
    return Message(m.id, m.role, parts, m.together, m.summary, m.mark, m.line, m.time)


def _is_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) or (isinstance(part, Opaque) and part.kind == "redacted_thinking")
