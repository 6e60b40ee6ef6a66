"""Arguments for a tool call, made from the tool's JSON schema and from what the conversation has shown.

Harmless by design: commands only look, edits append a remark to a line that was read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

DEEPEST = 6
"""Levels of a schema that are filled; below it, emptiness."""
_COMMANDS = ("ls -la", "git status --short", "wc -l README.md")
_REMARK = "  # looked at"


@dataclass(frozen=True, slots=True)
class ArgumentSource:
    """Paths and words that were named, lines of results, and how many calls were made already."""

    paths: Sequence[str]
    words: Sequence[str]
    lines: Sequence[str]
    turn: int
    command: str = ""
    """What the shell is to do; empty: have a look."""
    agent: str = ""
    task: str = ""
    """A sub-agent that is started, and its task."""

    def path(self) -> str:
        """Another one at each turn."""
        return self.paths[self.turn % len(self.paths)]

    def word(self) -> str:
        """Another one at each turn."""
        return self.words[self.turn % len(self.words)]

    def in_shell(self) -> str:
        """Another command at each turn, where none is wanted."""
        return self.command or _COMMANDS[self.turn % len(_COMMANDS)]

    def line(self) -> str:
        """The line that is to be changed."""
        return self.lines[-1] if self.lines else self.word()


def schema_of(definition: Any) -> Mapping[str, Any]:
    """The schema of a tool's arguments, in whichever dialect the tool was defined; empty where it has none."""
    if not isinstance(definition, Mapping):
        return {}
    inner = definition.get("function")
    named = inner if isinstance(inner, Mapping) else definition
    schema = named.get("input_schema") or named.get("parameters") or named.get("parametersJsonSchema")
    return schema if isinstance(schema, Mapping) else {}


def is_freeform(definition: Any) -> bool:
    """Does the tool take a text instead of arguments (Responses, type `custom`)?"""
    return isinstance(definition, Mapping) and definition.get("type") == "custom" and not schema_of(definition)


def words_for(name: str, known: ArgumentSource) -> str:
    """What a tool is given that takes a text: a patch that adds a file, a command, or a word."""
    if "patch" in name.lower():
        return f"*** Begin Patch\n*** Add File: SIMULATED.md\n+Looked at: {known.word()}\n*** End Patch\n"
    return known.in_shell() if known.command or "exec" in name.lower() else known.word()


def in_shell(command: str, known: ArgumentSource) -> str:
    """A move's command with its path and word."""
    return command.format(path=quote(known.path()), word=quote(known.word()))


def fill(schema: Mapping[str, Any], known: ArgumentSource) -> dict[str, Any]:
    """Arguments that the schema allows: what is required, or the first property where nothing is."""
    value = _value("", {"type": "object", **schema}, known, 0)
    return value if isinstance(value, dict) else {}


def _value(name: str, schema: Any, known: ArgumentSource, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return ""
    if isinstance(options := schema.get("enum"), Sequence) and options:
        return options[0]
    if "const" in schema:
        return schema["const"]
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(inner := schema.get(choice), Sequence) and inner:
            return _value(name, inner[0], known, depth + 1)
    match _kind(schema):
        case "object":
            return _object(schema, known, depth)
        case "array":
            if name in ("command", "cmd"):
                return ["bash", "-c", known.in_shell()]
            least = schema.get("minItems")
            wanted = 1 if least or name in ("edits", "paths", "files") else 0
            return [_value(name, schema.get("items"), known, depth + 1) for _ in range(wanted)]
        case "integer" | "number":
            return max(1, schema["minimum"]) if isinstance(schema.get("minimum"), int | float) else 1
        case "boolean":
            return False
        case "null":
            return None
    return _text(name, known)


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = next((one for one in kind if one != "null"), "string")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "string"


def _object(schema: Mapping[str, Any], known: ArgumentSource, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = schema.get("required")
    names = [one for one in required if one in properties] if isinstance(required, Sequence) else []
    names = names or list(properties)[:1]
    if known.agent:
        names += [one for one in properties if _bare(one) in _AGENT and one not in names]
    return {name: _value(name, properties[name], known, depth + 1) for name in names}


_TASK, _AGENT = ("prompt", "message", "description"), ("subagenttype", "agenttype", "agentname")


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _text(name: str, known: ArgumentSource) -> str:
    plain = _bare(name)
    if known.task and plain in _TASK:
        return known.task
    if known.agent and plain in _AGENT:
        return known.agent
    if known.task and plain == "taskname":
        return re.sub(r"\W+", "_", known.task.lower())[:24].strip("_")
    match plain:
        case "command" | "cmd" | "script":
            return known.in_shell()
        case "oldstring" | "oldtext" | "oldstr" | "old" | "find":
            return known.line()
        case "newstring" | "newtext" | "newstr" | "new" | "replace" | "replacement":
            return known.line() + _REMARK
        case "pattern" | "query" | "regex" | "search" | "term" | "q":
            return known.word()
        case "url" | "uri":
            return "http://127.0.0.1/"
        case "content" | "contents" | "text" | "body":
            return f"Looked at: {known.word()}\n"
        case "cwd" | "directory" | "dir" | "root" | "folder":
            return "."
    if "path" in plain or "file" in plain:
        return known.path()
    return known.word()


def lower_types(schema: Any, depth: int = 0) -> Any:
    """The same schema with its types in small letters: Gemini writes `STRING`."""
    if depth > 8 or not isinstance(schema, Mapping | list):
        return schema
    if isinstance(schema, list):
        return [lower_types(one, depth + 1) for one in schema]
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else lower_types(value, depth + 1)
        for key, value in schema.items()
    }
