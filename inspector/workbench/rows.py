"""One row a message: what the buffer list shows of it, worked out when it is looked at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.jsontext import dumps
from inspector.core.message import Image, Json, Message, Opaque, Text, Thinking, ToolResult
from inspector.workbench.composition import Category, message_category

Badge: TypeAlias = Literal["error", "image", "thinking", "summary", "cleared", "client", "reminder", "opaque"]
FIRST_LINE = 400
"""Characters of a first line that are kept."""
_LOOK = 4000
"""Characters that are searched for the first line."""


@dataclass(frozen=True, slots=True)
class Row:
    """`line` is text of the transcript: never markup, may hold anything but line breaks."""

    role: str
    tool: str
    line: str
    badges: tuple[Badge, ...]
    category: Category


def row(message: Message, tools: Mapping[str, str]) -> Row:
    """The row of a message. `tools`: name of the tool by call id."""
    calls = message.calls
    if calls:
        tool = calls[0].name + (f" +{len(calls) - 1}" if len(calls) > 1 else "")
    else:
        result = message.result
        tool = tools.get(result.call_id, "") if result else ""
    return Row(message.role, tool, first_line(message), badges(message), message_category(message))


def tool_names(messages: Iterable[Message]) -> dict[str, str]:
    """Name of the tool by call id."""
    return {call.id: call.name for message in messages for call in message.calls}


def first_line(message: Message) -> str:
    """The first line with something on it: of text or a result, else a call's arguments, else of thinking."""
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(content=text) if found := _line(text):
                return found
            case _:
                pass
    if message.calls:
        return _arguments(message.calls[0].arguments)
    for part in message.parts:
        match part:
            case Thinking(text) if found := _line(text):
                return found
            case Image(media_type=kind):
                return kind
            case Opaque(kind=kind):
                return kind
            case _:
                pass
    return ""


def _arguments(arguments: Json) -> str:
    """What a call asks for, without the brackets: `command: ls -l  timeout: 5`."""
    if not isinstance(arguments, Mapping):
        return _line(arguments if isinstance(arguments, str) else dumps(arguments))
    words = ((key, value if isinstance(value, str) else dumps(value)) for key, value in arguments.items())
    return "  ".join(f"{_line(key)}: {_line(value)}" for key, value in words)[:FIRST_LINE]


def _line(text: str) -> str:
    for line in text[:_LOOK].splitlines():
        if stripped := line.strip():
            return stripped[:FIRST_LINE]
    return ""


def badges(message: Message) -> tuple[Badge, ...]:
    """What the eye should catch, most urgent first."""
    found: list[Badge] = []
    if any(isinstance(part, ToolResult) and part.is_error for part in message.parts):
        found.append("error")
    if message.summary:
        found.append("summary")
    match message.mark:
        case "placeholder":
            found.append("cleared")
        case "meta":
            found.append("client")
        case "attachment":
            found.append("reminder")
        case "":
            pass
    kinds: tuple[tuple[type, Badge], ...] = ((Image, "image"), (Thinking, "thinking"), (Opaque, "opaque"))
    found += [name for kind, name in kinds if any(isinstance(part, kind) for part in message.parts)]
    return tuple(found)
