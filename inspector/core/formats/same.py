"""Is this the same message, told again? For formats that copy messages after a compaction instead of naming them."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable

from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult


class Known:
    """The messages of a buffer by what they say, each to be found once; with or without what was thought."""

    def __init__(self, messages: Iterable[Message], *, thoughts: bool = True) -> None:
        self._found: dict[Hashable, deque[Message]] = defaultdict(deque)
        self._thoughts = thoughts
        for message in messages:
            self._found[self._key(message)].append(message)

    def take(self, message: Message) -> Message | None:
        """The oldest message that says the same and was not taken yet; None where there is none."""
        same = self._found.get(self._key(message))
        return same.popleft() if same else None

    def _key(self, message: Message) -> Hashable:
        parts = (part for part in message.parts if self._thoughts or not isinstance(part, Thinking))
        return message.role, tuple(_part_key(part) for part in parts)


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
