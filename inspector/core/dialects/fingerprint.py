"""Is this wire item the one we know? By what a model reads in it, not by its bytes.

Clients send the same message again and again, but move their cache marks, give it another id, write a text as a string
or as a block, and some take thinking or a passing reminder away. None of that makes it another message.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

_REMINDER = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)
_PASSING = frozenset(("cache_control", "id", "status", "metadata", "internal_chat_message_metadata_passthrough"))


def fingerprint(messages: Sequence[Message], *, whole: bool = False) -> str:
    """Of the messages that one wire item was read into. `whole`: thinking and reminders count, too."""
    said: list[Any] = []
    for message in messages:
        said.append(message.role)
        said += [_said(part) for part in message.parts if whole or not _is_passing(part)]
    return blake2b(dumps(said).encode("utf-8", errors="replace"), digest_size=16).hexdigest()


def is_reminder(part: Part) -> bool:
    """Nothing but what a client adds in passing?"""
    return isinstance(part, Text) and (not part.text.strip() or _REMINDER.fullmatch(part.text) is not None)


def _is_passing(part: Part) -> bool:
    match part:
        case Thinking():
            return True
        case Text():
            return is_reminder(part)
        case Opaque(kind):
            return kind == "redacted_thinking"
    return False


def _said(part: Part) -> Any:
    match part:
        case Text(text):
            return ["text", text]
        case Thinking(text):
            return ["thinking", text]
        case ToolCall(id_, name, arguments):
            return ["call", id_, name, arguments]
        case ToolResult(call_id, content, is_error):
            return ["result", call_id, content, is_error]
        case Image(media_type, data, url):
            return ["image", media_type, data, url]
        case Opaque(kind, value):
            return ["opaque", kind, _lasting(value)]


def _lasting(value: Any) -> Any:
    if isinstance(value, Mapping):
        only_named = len(value) <= 2  # a reference to an item that the provider holds: its id is all there is
        return {name: one for name, one in value.items() if name not in _PASSING or (name == "id" and only_named)}
    return value
