"""Make the messages with which policies replace others: summaries, cleared tool results, messages with fewer parts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha1

from inspector.core.message import Mark, Message, Part, Role, Text, ToolResult

PLACEHOLDER = "[Old tool result content cleared]"


def inserted(kind: str, role: Role, text: str, made_from: Sequence[Message]) -> Message:
    """Return a summary message. Its id depends only on `kind` and the ids of `made_from`, so it is reproducible.

    The message has the flag `summary`, by which every policy recognises summaries. The flag is never sent.
    """
    key = sha1(
        "\n".join(message.id for message in made_from).encode("utf-8", "replace"),
        usedforsecurity=False,
    )
    return Message(f"{kind}-{key.hexdigest()[:16]}", role, (Text(text),), summary=True)


def clear_result(message: Message, placeholder: str = PLACEHOLDER) -> Message:
    """Replace the content of a tool result, including images, by a placeholder. The message must have a result."""
    return replace_content(message, placeholder, "placeholder")


def replace_content(message: Message, content: str, mark: Mark | None = None) -> Message:
    """Replace the content of a tool result; keep call id and error flag. The message must have a result."""
    result = message.result
    assert result is not None
    parts = (ToolResult(result.call_id, content, result.is_error),)
    mark = message.mark if mark is None else mark
    # `dataclasses.replace` costs four times as much.
    return Message(
        message.id,
        message.role,
        parts,
        message.together,
        message.summary,
        mark,
        message.line,
        message.time,
    )


def remove_parts(
    messages: Iterable[Message], is_removed: Callable[[Part], bool]
) -> tuple[Message, ...]:
    """Remove parts, and messages without other parts. A message that keeps all its parts is the same object."""
    remaining = []
    for message in messages:
        parts = tuple(part for part in message.parts if not is_removed(part))
        if not parts:
            continue
        if len(parts) != len(message.parts):
            message = replace(message, parts=parts)
        remaining.append(message)
    return tuple(remaining)
