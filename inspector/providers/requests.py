"""What is sent of a buffer: the parts that this provider can read, the tools in its shape, whatever shape they had.

The bytes of the tools stay the same for a whole session, or the provider's cache is lost.
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
    """The messages without foreign parts. Thinking goes along only in messages that this provider gave (`own`)."""
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
    """`json` is the list of definitions as it is sent; `source` are the tools that it was made of."""

    source: tuple[Tool, ...] = ()
    json: bytes = b"[]"

    def definitions(self) -> list[Any]:
        """The list to send: always the same keys in the same order, so always the same bytes."""
        tools: list[Any] = loads(self.json, deepest=WRAPPED)
        return tools

    def holds(self, tools: Sequence[Tool]) -> bool:
        """Are these the same tools? In whatever order they and their keys come."""
        return tuple(tools) == self.source or _canonical(tools) == _canonical(self.source)


def freeze(tools: Iterable[Tool], shape: ToolShape) -> FrozenTools:
    """The tools in a provider's shape."""
    source = tuple(tools)
    return FrozenTools(source, dumps(shaped_tools(source, shape)).encode("utf-8", "replace"))


def _canonical(tools: Iterable[Tool]) -> list[bytes]:
    return sorted(
        orjson.dumps(_plain(tool.definition), option=orjson.OPT_SORT_KEYS) for tool in tools
    )


def _plain(value: Any) -> Any:
    """What orjson cannot sort (deep nesting, huge numbers) goes in as its text."""
    return loads(dumps(value).encode("utf-8", "replace"), deepest=WRAPPED)


def without_cache_mark(definition: Any) -> Any:
    """A tool's definition without the cache marker of the recording."""
    if not isinstance(definition, Mapping):
        return definition
    return {key: value for key, value in definition.items() if key != "cache_control"}
