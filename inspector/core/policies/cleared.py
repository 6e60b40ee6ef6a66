"""A tool result whose content was cleared to make room: the same message, with a placeholder for what the tool said."""

from inspector.core.message import Message, ToolResult

PLACEHOLDER = "[Old tool result content cleared]"


def cleared(message: Message) -> Message:
    """Call id and error flag stay; images and all else go. Only for a message with a result."""
    result = message.result
    assert result is not None
    stub = ToolResult(result.call_id, PLACEHOLDER, result.is_error)
    return Message(
        message.id, message.role, (stub,), message.together, message.summary, "placeholder", message.line, message.time
    )  # by hand: dataclasses.replace costs four times as much
