"""The list as the summariser reads it: heavily cut, as upstream cuts it (spec 4.1)."""

from collections.abc import Iterator, Sequence

from inspector.core.dialects.anthropic import result_content
from inspector.core.message import Message, Text, ToolResult
from inspector.core.policies.learn_claude_code.settings import Settings
from inspector.core.policies.learn_claude_code.wire import wire_role


def readable(messages: Sequence[Message], settings: Settings) -> str:
    """A line for each text and each tool result, none for a call: so many characters of each, and of all; the end is
    cut off."""
    lines: list[str] = []
    room = settings.summary_total_chars
    for line in (line for message in messages for line in _lines(message, settings)):
        if room <= 0:
            break
        lines.append(line)
        room -= len(line) + 1
    return "\n".join(lines)[: settings.summary_total_chars]


def _lines(message: Message, settings: Settings) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text):
                yield f"[{wire_role(message)}] {text[: settings.summary_message_chars]}"
            case ToolResult():  # a list of blocks as Python writes one
                yield f"[tool_result] {str(result_content(message))[: settings.summary_result_chars]}"
            case _:
                pass
