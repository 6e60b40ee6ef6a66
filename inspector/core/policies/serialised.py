"""Messages as one text that a summariser reads, for harnesses that do not send them as chat."""

from collections.abc import Iterable, Iterator

from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Text, ToolCall, ToolResult


def serialised(messages: Iterable[Message], longest_result: int) -> str:
    """A paragraph a part; results cut to so many characters; thinking and what only the provider reads left out."""
    return "\n\n".join(line for message in messages for line in _lines(message, longest_result))


def _lines(message: Message, longest: int) -> Iterator[str]:
    who = "User" if message.role == "user" else "System" if message.role == "system" else "Assistant"
    for part in message.parts:
        match part:
            case Text(text=text) if text:
                yield f"[{who}]: {text}"
            case ToolCall():
                yield f"[Tool call]: {part.name}({dumps(part.arguments)})"
            case ToolResult(content=text):
                cut = text if len(text) <= longest else f"{text[:longest]}\n[truncated]"
                yield f"[Tool {'error' if part.is_error else 'result'}]: {cut}"
            case Image():
                yield f"[Attached {part.media_type}]"
            case _:
                pass
