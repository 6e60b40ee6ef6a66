"""Which messages of a buffer are wanted: by kind at once, by text in a job that can be stopped."""

from collections.abc import Callable, Iterator, Sequence

from inspector.core.errors import Cancelled
from inspector.core.jsontext import dumps
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult

_KINDS: dict[str, Callable[[Message], bool]] = {
    "user": lambda message: message.role == "user",
    "assistant": lambda message: message.role == "assistant",
    "tool": lambda message: message.role == "tool",
    "system": lambda message: message.role == "system",
    "errors": lambda message: any(isinstance(part, ToolResult) and part.is_error for part in message.parts),
    "summaries": lambda message: message.summary,
    "images": lambda message: any(isinstance(part, Image) for part in message.parts),
    "cleared": lambda message: message.mark == "placeholder",
}
KINDS = ("all", *_KINDS)


def of_kind(messages: Sequence[Message], kind: str) -> list[int] | None:
    """Indices of the messages of a kind, None for all of them. Raises KeyError for an unknown kind."""
    if kind == "all":
        return None
    wanted = _KINDS[kind]
    return [n for n, message in enumerate(messages) if wanted(message)]


def with_text(
    messages: Sequence[Message], text: str, among: Sequence[int] | None, cancelled: Callable[[], bool]
) -> list[int]:
    """Indices of the messages that hold `text` anywhere, case ignored. Raises Cancelled."""
    needle = text.casefold()
    found = []
    for n in range(len(messages)) if among is None else among:
        if cancelled():
            raise Cancelled("The filter was changed.")
        if any(needle in piece.casefold() for piece in _pieces(messages[n])):
            found.append(n)
    return found


def _pieces(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text) | Thinking(text):
                yield text
            case ToolCall(name=name):
                yield name
                yield dumps(part.arguments)
            case ToolResult(content=content):
                yield content
            case Image() | Opaque():
                pass
