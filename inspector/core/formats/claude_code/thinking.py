"""Thinking of earlier turns: whether a model is sent it again, and a buffer without it."""

import re
from functools import lru_cache

from inspector.core.buffer import Stretch, View
from inspector.core.message import Message, Opaque, Part, Thinking

_MODEL = re.compile(
    r"claude-(?:(?P<old>\d)(?:[-.]\d)?(?:-|$)|(?P<family>[a-z]+)-(?P<major>\d{1,2})(?!\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?)"
)
"""claude-3-7-sonnet-..., claude-2.1; claude-opus-4-1-20250805, anthropic/claude-sonnet-4.5, claude-sonnet-4@2025..."""


@lru_cache(maxsize=64)  # asked at every call, of one or two models
def keeps_thinking(model: str) -> bool:
    """Does thinking stay when the next turn begins? From Opus 4.5 on; taken of any model that nothing is known of."""
    found = _MODEL.search(model.lower())
    if found is None:
        return True
    if found["old"]:
        return False
    version = int(found["major"]), int(found["minor"] or 0)
    return version >= ((4, 5) if found["family"] == "opus" else (4, 6))


def without_thinking(stretch: Stretch, start: int, turn: int) -> tuple[Stretch, int]:
    """The stretch without the thinking between two places, and how many messages were nothing else. O(those behind)."""
    tail = stretch.view().tail(start)
    size = max(0, turn - start)
    left = [kept for message in tail[:size] if (kept := _without(message)) is not None]
    same = next((n for n, (old, new) in enumerate(zip(tail, left, strict=False)) if old is not new), len(left))
    if same == size:
        return stretch, 0
    return Stretch(View(stretch, start + same), [*left[same:], *tail[size:]]), size - len(left)


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
