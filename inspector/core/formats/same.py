"""Is this the same message, told again? For formats that copy messages after a compaction instead of naming them."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable

from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult


class Known:
    """The messages of a buffer by what they say, each to be found once."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._found: dict[Hashable, deque[Message]] = defaultdict(deque)
        for message in messages:
            self._found[_key(message)].append(message)

    def take(self, message: Message) -> Message | None:
        """The oldest message that says the same and was not taken yet; None where there is none."""
        same = self._found.get(_key(message))
        return same.popleft() if same else None


def _key(message: Message) -> Hashable:
    return message.role, tuple(_part_key(part) for part in message.parts)


def _part_key(part: Part) -> Hashable:
    match part:
        case Text(text):
            return text
        case Thinking(text, signature):
            return "thinking", text, signature
        case ToolCall(call_id, name):
            return "call", call_id, name
        case ToolResult(call_id, content):
            return "result", call_id, content
        case Image(_, data, url):
            return "image", data, url
        case Opaque(kind, value):
            return "opaque", kind, dumps(value)
