"""The arguments of a call, checked against the tool's schema: what is wrong is said in words that help."""

from collections.abc import Mapping
from typing import Any

from inspector.agent.tools.refused import Refused, plain
from inspector.agent.tools.schemas import TOOLS, schema
from inspector.core.message import ToolCall

_KINDS: Mapping[str, tuple[type, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


def checked(call: ToolCall) -> dict[str, Any]:
    """The arguments that the schema knows; an optional one that is null counts as not given. Raises Refused."""
    wanted = schema(call.name)
    if wanted is None:
        names = ", ".join(tool.name for tool in TOOLS)
        raise Refused(f"There is no tool {plain(call.name)[:60]!r}. There are {names}.")
    if not isinstance(call.arguments, Mapping):
        raise Refused(f"{call.name} takes a JSON object: {_needs(wanted)}.")
    found: dict[str, Any] = {}
    for name, property_ in wanted["properties"].items():
        value = call.arguments.get(name)
        if value is not None:
            found[name] = _value(call.name, name, property_, value)
        elif name in wanted["required"]:
            raise Refused(f"{call.name} lacks {name!r}. It needs {_needs(wanted)}.")
    return found


def _value(tool: str, name: str, wanted: Mapping[str, Any], value: Any) -> Any:
    kind, told = _KINDS[wanted["type"]]
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not kind:
        raise Refused(f"{tool}: {name!r} must be {told}, not {type(value).__name__}.")
    least = wanted.get("minimum")
    if least is not None and value < least:
        raise Refused(f"{tool}: {name!r} must be at least {least}.")
    return value


def _needs(wanted: Mapping[str, Any]) -> str:
    required = [f"{name} ({_KINDS[wanted['properties'][name]['type']][1]})" for name in wanted["required"]]
    return ", ".join(required) or "nothing; all its arguments are optional"
