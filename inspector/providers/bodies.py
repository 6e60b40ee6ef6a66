"""From a need to the buffer that is sent: without what only another provider, or nobody any more, can read."""

from collections.abc import Container, Sequence
from dataclasses import replace

from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Message, Opaque, Part, Text, Thinking
from inspector.core.needs import Summarize

_OPENAIS = ("reasoning", "compaction", "compaction_summary", "context_compaction", "item_reference")
_ANTHROPICS = ("redacted_thinking", "document", "search_result", "container_upload", "fallback")


def summary_buffer(need: Summarize) -> Buffer:
    """Instructions as the system prompt, the messages as chat, the text as the last user message."""
    said = (Message("asked", "user", (Text(need.text),)),) if need.text else ()
    return Buffer((*need.messages, *said), Prompt(need.instructions, ()))


def sendable(messages: Sequence[Message], own: Container[str], anthropic: bool) -> tuple[Message, ...]:
    """The messages without foreign parts. Thinking goes along only in messages that this provider gave (`own`)."""
    found: list[Message] = []
    for message in messages:
        mine = message.id in own
        parts = tuple(part for part in message.parts if _can_read(part, mine, anthropic))
        if parts:
            found.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
    return tuple(found)


def _can_read(part: Part, mine: bool, anthropic: bool) -> bool:
    match part:
        case Thinking(signature=signature):
            return mine and bool(signature)
        case Opaque(kind=kind) if anthropic:
            return kind not in _OPENAIS and not kind.endswith(("_call", "_call_output"))
        case Opaque(kind=kind):
            return kind not in _ANTHROPICS and not kind.endswith(("_tool_use", "_tool_result"))
    return True
