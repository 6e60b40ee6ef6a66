"""What is sent of a buffer: the parts that this provider can read, the tools in its shape, whatever shape they had.

The bytes of the tools stay the same for a whole session, or the provider's cache is lost.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import orjson

from inspector.core.buffer import Tool
from inspector.core.jsontext import WRAPPED, dumps, loads
from inspector.core.message import Json, Message, Opaque, Part, Thinking

_OPENAIS = ("reasoning", "compaction", "compaction_summary", "context_compaction", "item_reference")
_ANTHROPICS = ("redacted_thinking", "document", "search_result", "container_upload", "fallback")


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


# -- tools, frozen

Shape: TypeAlias = Callable[[Tool], Any]
"""A tool's definition in a provider's own shape; None for a tool that this provider cannot be offered."""


@dataclass(frozen=True, slots=True)
class FrozenTools:
    """`json` is the list of definitions as it stands on the wire; `source` are the tools it was made of."""

    source: tuple[Tool, ...] = ()
    json: bytes = b"[]"

    def definitions(self) -> list[Any]:
        """The list to send: always the same keys in the same order, so always the same bytes."""
        found: list[Any] = loads(self.json, deepest=WRAPPED)
        return found

    def holds(self, tools: Sequence[Tool]) -> bool:
        """Are these the same tools? In whatever order they and their keys come."""
        return tuple(tools) == self.source or _canonical(tools) == _canonical(self.source)


def freeze(tools: Iterable[Tool], shape: Shape) -> FrozenTools:
    """The tools in a provider's shape."""
    source = tuple(tools)
    shaped = [found for tool in source if (found := shape(tool)) is not None]
    return FrozenTools(source, dumps(shaped).encode("utf-8", "replace"))


def _canonical(tools: Iterable[Tool]) -> list[bytes]:
    return sorted(orjson.dumps(_plain(tool.definition), option=orjson.OPT_SORT_KEYS) for tool in tools)


def _plain(value: Any) -> Any:
    """What orjson cannot sort (deep nesting, huge numbers) goes in as its text."""
    return loads(dumps(value).encode("utf-8", "replace"), deepest=WRAPPED)


# -- tools, in each provider's shape

_ANTHROPICS_OWN = re.compile(r"_\d{8}$")
"""`bash_20250124`, `web_search_20250305`: tools that Anthropic brings along."""
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""How a tool that takes free text is offered where arguments must be an object."""
_NOTHING = {"type": "object", "properties": {}}


def for_anthropic(tool: Tool) -> Any:
    """`{name, description, input_schema}`. Cache markers of the recording are taken off."""
    wire = tool.definition
    if not isinstance(wire, Mapping):
        return None
    if "input_schema" in wire or _is_anthropics(wire):
        return {key: value for key, value in wire.items() if key != "cache_control"}
    if not _is_function(wire):
        return None
    name, told, schema = _parts(tool, wire)
    return {"name": name, "description": told, "input_schema": schema}


def for_chat(tool: Tool) -> Any:
    """`{type: function, function: {name, description, parameters}}`."""
    wire = tool.definition
    if not isinstance(wire, Mapping) or _is_anthropics(wire):
        return None
    if "function" in wire:
        return dict(wire)
    if not _is_function(wire):
        return None
    name, told, schema = _parts(tool, wire)
    return {"type": "function", "function": {"name": name, "description": told, "parameters": schema}}


def for_responses(tool: Tool) -> Any:
    """`{type: function, name, description, parameters}`; OpenAI's own tools as they are."""
    wire = tool.definition
    if not isinstance(wire, Mapping) or _is_anthropics(wire):
        return None
    if "function" not in wire and "input_schema" not in wire and isinstance(wire.get("type"), str):
        return dict(wire)
    name, told, schema = _parts(tool, wire)
    return {"type": "function", "name": name, "description": told, "parameters": schema, "strict": False}


def _is_anthropics(wire: Mapping[str, Any]) -> bool:
    return isinstance(kind := wire.get("type"), str) and bool(_ANTHROPICS_OWN.search(kind))


def _is_function(wire: Mapping[str, Any]) -> bool:
    """Something the client runs: it has a name and arguments of its own."""
    return any(key in wire for key in ("input_schema", "function", "parameters", "custom")) or (
        wire.get("type") == "custom" and "name" in wire
    )


def _parts(tool: Tool, wire: Mapping[str, Any]) -> tuple[str, str, Json]:
    inner = wire.get("function") or wire.get("custom")
    named = inner if isinstance(inner, Mapping) else wire
    schema = named.get("input_schema") or named.get("parameters")
    if not isinstance(schema, Mapping):
        schema = _FREE_TEXT if wire.get("type") == "custom" else _NOTHING
    told = named.get("description")
    return tool.name, told if isinstance(told, str) else "", schema
