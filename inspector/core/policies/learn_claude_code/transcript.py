"""The list as the summariser reads it: heavily cut, as upstream cuts it (spec 4.1)."""

from collections.abc import Iterator, Sequence

from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.wire import Wire, wires


def readable(messages: Sequence[Message], settings: Settings) -> str:
    """A paragraph a wire message. So many characters of each, of each tool result, and of all; the end is cut off."""
    lines: list[str] = []
    room = settings.summary_total_chars
    for wire in wires(messages):
        if room <= 0:
            break
        role = "user" if wire[0].role == "tool" else wire[0].role
        text = "\n".join(_texts(wire, settings))[: settings.summary_message_chars]
        lines.append(f"[{role}]: {text}")
        room -= len(lines[-1]) + 1
    return "\n".join(lines)[: settings.summary_total_chars]


def _texts(wire: Wire, settings: Settings) -> Iterator[str]:
    limit = settings.summary_result_chars
    for part in (part for message in wire for part in message.parts):
        match part:
            case Text(text):
                yield text
            case ToolCall():
                yield f"[tool {part.name} {dumps(part.arguments)[:limit]}]"
            case ToolResult():
                yield f"[result {'(error) ' * part.is_error}{part.content[:limit]}]"
            case _:
                pass
