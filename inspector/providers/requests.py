"""What is sent of a buffer: the parts that a provider can read, and the tools in its form.

The bytes of the tools stay the same for a whole session, because any change invalidates the provider's cache.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from inspector.core.buffer import Tool
from inspector.core.dialects.tool_shapes import ToolShape, shaped_tools
from inspector.core.jsontext import WRAPPED, dumps, loads
from inspector.core.message import Message, Opaque, Part, Thinking

_OPENAIS = ("reasoning", "compaction", "compaction_summary", "context_compaction", "item_reference")
_ANTHROPICS = ("redacted_thinking", "document", "search_result", "container_upload", "fallback")


def sendable(
    messages: Sequence[Message], own: Container[str], anthropic: bool
) -> tuple[Message, ...]:
    """Return the messages without parts of other providers.

    Thinking is sent only in messages that this provider wrote (`own`).
    """
    sendable_messages: list[Message] = []
    for message in messages:
        mine = message.id in own
        parts = tuple(part for part in message.parts if _can_read(part, mine, anthropic))
        if parts:
            sendable_messages.append(
                message if len(parts) == len(message.parts) else replace(message, parts=parts)
            )
    return tuple(sendable_messages)


def _can_read(part: Part, mine: bool, anthropic: bool) -> bool:
    match part:
        case Thinking(signature=signature):
            return mine and bool(signature)
        case Opaque(kind=kind) if anthropic:
            return kind not in _OPENAIS and not kind.endswith(("_call", "_call_output"))
        case Opaque(kind=kind):
            return kind not in _ANTHROPICS and not kind.endswith(("_tool_use", "_tool_result"))
    return True


# -- tools, frozen


@dataclass(frozen=True, slots=True)
class FrozenTools:
    """Tools in a provider's form. `json` is the list of definitions as it is sent; `source` are the original tools."""

    source: tuple[Tool, ...] = ()
    json: bytes = b"[]"

    def definitions(self) -> list[Any]:
        """Return the list to send, with the keys always in the same order, so that the bytes are always the same."""
        tools: list[Any] = loads(self.json, deepest=WRAPPED)
        return tools

    def holds(self, tools: Sequence[Tool]) -> bool:
        """Are these the same tools, in any order and with their keys in any order?"""
        return tuple(tools) == self.source or _canonical(tools) == _canonical(self.source)


def freeze(tools: Iterable[Tool], shape: ToolShape) -> FrozenTools:
    """Return the tools in a provider's form."""
    source = tuple(tools)
    return FrozenTools(source, dumps(shaped_tools(source, shape)).encode("utf-8", "replace"))


def _canonical(tools: Iterable[Tool]) -> list[bytes]:
    return sorted(
        orjson.dumps(_plain_value(tool.definition), option=orjson.OPT_SORT_KEYS) for tool in tools
    )


def _plain_value(value: Any) -> Any:
    """Return the value with what orjson cannot sort (deep nesting, huge numbers) replaced by its text."""
    return loads(dumps(value).encode("utf-8", "replace"), deepest=WRAPPED)


def without_cache_mark(definition: Any) -> Any:
    """Return a tool's definition without a recorded cache marker."""
    if not isinstance(definition, Mapping):
        return definition
    return {key: value for key, value in definition.items() if key != "cache_control"}
