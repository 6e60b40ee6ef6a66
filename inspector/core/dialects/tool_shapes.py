"""Convert tool definitions to each provider's form, from whatever form was recorded."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from inspector.core.buffer import Tool
from inspector.core.message import Json

ToolShape: TypeAlias = Callable[[Tool], Any]
"""(tool) -> its definition in a provider's form; None if the tool cannot be offered to that provider."""

_ANTHROPICS_OWN = re.compile(r"_\d{8}$")
"""Type of Anthropic's own tools, such as `bash_20250124` and `web_search_20250305`."""
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""Schema of a tool that takes free text, for APIs whose arguments must be an object."""
_NOTHING = {"type": "object", "properties": {}}


def shaped_tools(tools: Iterable[Tool], shape: ToolShape) -> list[Any]:
    """Return the definitions in a provider's form, without the tools that cannot be offered to that provider."""
    return [definition for tool in tools if (definition := shape(tool)) is not None]


def for_anthropic(tool: Tool) -> Any:
    """Return `{name, description, input_schema}`; a tool that is already in Anthropic's form is unchanged.

    Return None if the definition is not recorded, or belongs to another provider's own tool.
    """
    wire = tool.definition
    if not isinstance(wire, Mapping):
        return None
    if "input_schema" in wire or _is_anthropics(wire):
        return dict(wire)
    if not _is_function(wire):
        return None
    name, description, schema = _parts(tool, wire)
    return {"name": name, "description": description, "input_schema": schema}


def for_chat(tool: Tool) -> Any:
    """Return `{type: function, function: {name, description, parameters}}`; None for Anthropic's own tools."""
    wire = tool.definition
    if not isinstance(wire, Mapping) or _is_anthropics(wire):
        return None
    if "function" in wire or "custom" in wire:
        return dict(wire)
    if not _is_function(wire):
        return None
    name, description, schema = _parts(tool, wire)
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


def for_responses(tool: Tool) -> Any:
    """Return `{type: function, name, description, parameters}`; OpenAI's own tools are unchanged."""
    wire = tool.definition
    if not isinstance(wire, Mapping) or _is_anthropics(wire):
        return None
    if "function" not in wire and "input_schema" not in wire and isinstance(wire.get("type"), str):
        return dict(wire)
    name, description, schema = _parts(tool, wire)
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": schema,
        "strict": False,
    }


def _is_anthropics(wire: Mapping[str, Any]) -> bool:
    kind = wire.get("type")
    return isinstance(kind, str) and _ANTHROPICS_OWN.search(kind) is not None


def _is_function(wire: Mapping[str, Any]) -> bool:
    """Is this a tool that the client runs, with its own name and arguments?"""
    if wire.get("type") == "custom" and "name" in wire:
        return True
    return any(key in wire for key in ("input_schema", "function", "parameters", "custom"))


def _parts(tool: Tool, wire: Mapping[str, Any]) -> tuple[str, str, Json]:
    inner = wire.get("function") or wire.get("custom")
    named = inner if isinstance(inner, Mapping) else wire
    schema = named.get("input_schema") or named.get("parameters")
    if not isinstance(schema, Mapping):
        schema = _FREE_TEXT if wire.get("type") == "custom" else _NOTHING
    description = named.get("description")
    if not isinstance(description, str):
        description = ""
    return tool.name, description, schema
