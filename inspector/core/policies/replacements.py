"""Replacements for messages that a policy removes: summaries, placeholders in tool results, messages without parts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha1

from inspector.core.message import Mark, Message, Part, Role, Text, ToolResult

PLACEHOLDER = "[Old tool result content cleared]"


def inserted(kind: str, role: Role, text: str, made_from: Sequence[Message]) -> Message:
    """Return a summary message. Its id depends only on `kind` and the ids of `made_from`, so equal steps agree.

    The message has the mark `summary`, which is never sent: by it every policy recognises the summaries of others.
    """
    key = sha1(
        "\n".join(message.id for message in made_from).encode("utf-8", "replace"),
        usedforsecurity=False,
    )
    return Message(f"{kind}-{key.hexdigest()[:16]}", role, (Text(text),), summary=True)


def clear_result(message: Message, placeholder: str = PLACEHOLDER) -> Message:
    """Return a tool result without its content, images included. Only for a message with a result."""
    return replace_content(message, placeholder, "placeholder")


def replace_content(message: Message, content: str, mark: Mark | None = None) -> Message:
    """Return the same result with other content; call id and error flag stay. Only for a message with a result."""
    result = message.result
    assert result is not None
    parts = (ToolResult(result.call_id, content, result.is_error),)
    mark = message.mark if mark is None else mark
    return Message(
        message.id,
        message.role,
        parts,
        message.together,
        message.summary,
        mark,
        message.line,
        message.time,
    )  # dataclasses.replace costs four times as much


def remove_parts(
    messages: Iterable[Message], is_removed: Callable[[Part], bool]
) -> tuple[Message, ...]:
    """Remove parts, and messages that hold nothing else. A message that keeps all its parts is the same object."""
    remaining = []
    for message in messages:
        parts = tuple(part for part in message.parts if not is_removed(part))
        if parts:
            remaining.append(
                message if len(parts) == len(message.parts) else replace(message, parts=parts)
            )
    return tuple(remaining)
