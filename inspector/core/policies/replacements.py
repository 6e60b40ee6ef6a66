"""What stands in for messages that go: a summary, a placeholder in a tool result; and messages without some parts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha1

from inspector.core.message import Mark, Message, Part, Role, Text, ToolResult

PLACEHOLDER = "[Old tool result content cleared]"


def inserted(kind: str, role: Role, text: str, made_from: Sequence[Message]) -> Message:
    """A summary message. Its id depends on `kind` and the ids of `made_from` only: the same step makes the same id.

    `summary` is set on it: that mark travels with the message and never on the wire. Every policy inserts one, none
    needs to know how the others name theirs.
    """
    key = sha1("\n".join(message.id for message in made_from).encode("utf-8", "replace"), usedforsecurity=False)
    return Message(f"{kind}-{key.hexdigest()[:16]}", role, (Text(text),), summary=True)


def clear_result(message: Message, placeholder: str = PLACEHOLDER) -> Message:
    """A tool result without its content, to make room. Images and all else go. Only for a message with a result."""
    return replace_content(message, placeholder, "placeholder")


def replace_content(message: Message, content: str, mark: Mark | None = None) -> Message:
    """The same result with other content; call id and error flag stay. Only for a message with a result."""
    result = message.result
    assert result is not None
    parts = (ToolResult(result.call_id, content, result.is_error),)
    mark = message.mark if mark is None else mark
    return Message(
        message.id, message.role, parts, message.together, message.summary, mark, message.line, message.time
    )  # by hand: dataclasses.replace costs four times as much


def remove_parts(messages: Iterable[Message], gone: Callable[[Part], bool]) -> tuple[Message, ...]:
    """The messages without some parts, and without those that hold nothing else. What nothing was taken from is the
    very same message."""
    found = []
    for message in messages:
        parts = tuple(part for part in message.parts if not gone(part))
        if parts:
            found.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
    return tuple(found)
