"""Make arguments for a tool call that its schema allows."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

DEEPEST = 6
"""Maximum number of levels of a schema that are filled in; deeper values are empty."""

_TASK, _AGENT = ("prompt", "message", "description"), ("subagenttype", "agenttype", "agentname")
_COMMANDS = ("ls -la", "git status --short", "wc -l README.md")

_REMARK = "  # looked at"


@dataclass(frozen=True, slots=True)
class ArgumentSource:
    """What arguments are made of: paths and words that were mentioned, lines of results, and the number of earlier
    calls.
    """

    paths: Sequence[str]
    words: Sequence[str]
    lines: Sequence[str]
    turn: int
    command: str = ""
    """The shell command to run; empty for one that only looks."""
    agent: str = ""
    task: str = ""
    """The task of the sub-agent `agent` to be started; empty for none."""

    def path(self) -> str:
        """Return a path, a different one each turn."""
        return self.paths[self.turn % len(self.paths)]

    def word(self) -> str:
        """Return a word, a different one each turn."""
        return self.words[self.turn % len(self.words)]

    def in_shell(self) -> str:
        """Return the shell command; if none is given, a different one each turn."""
        return self.command or _COMMANDS[self.turn % len(_COMMANDS)]

    def line(self) -> str:
        return self.lines[-1] if self.lines else self.word()


def schema_of(definition: Any) -> Mapping[str, Any]:
    """Return the schema of a tool's arguments, in any dialect; empty if the tool has none."""
    if not isinstance(definition, Mapping):
        return {}
    inner = definition.get("function")
    named = inner if isinstance(inner, Mapping) else definition
    schema = (
        named.get("input_schema") or named.get("parameters") or named.get("parametersJsonSchema")
    )
    return schema if isinstance(schema, Mapping) else {}


def is_freeform(definition: Any) -> bool:
    """Does the tool take a text instead of arguments (Responses, type `custom`)?"""
    return (
        isinstance(definition, Mapping)
        and definition.get("type") == "custom"
        and not schema_of(definition)
    )


def words_for(name: str, source: ArgumentSource) -> str:
    """Return the input of a tool that takes a text: a patch that adds a file, a command, or a word."""
    if "patch" in name.lower():
        return f"*** Begin Patch\n*** Add File: SIMULATED.md\n+Looked at: {source.word()}\n*** End Patch\n"
    return source.in_shell() if source.command or "exec" in name.lower() else source.word()


def in_shell(command: str, source: ArgumentSource) -> str:
    """Return a move's command with a path and a word filled in."""
    return command.format(path=quote(source.path()), word=quote(source.word()))


def fill(schema: Mapping[str, Any], source: ArgumentSource) -> dict[str, Any]:
    """Return arguments that the schema allows: the required ones, or the first property if none is required."""
    value = _value("", {"type": "object", **schema}, source, 0)
    return value if isinstance(value, dict) else {}


def _value(name: str, schema: Any, source: ArgumentSource, depth: int) -> Any:
    """Return a value that the schema allows."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return ""
    if isinstance(options := schema.get("enum"), Sequence) and options:
        return options[0]
    if "const" in schema:
        return schema["const"]
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(inner := schema.get(choice), Sequence) and inner:
            return _value(name, inner[0], source, depth + 1)
    return _value_of_kind(_kind(schema), name, schema, source, depth)


def _value_of_kind(
    kind: str, name: str, schema: Mapping[str, Any], source: ArgumentSource, depth: int
) -> Any:
    match kind:
        case "object":
            return _object(schema, source, depth)
        case "array":
            return _array(name, schema, source, depth)
        case "integer" | "number":
            return (
                max(1, schema["minimum"]) if isinstance(schema.get("minimum"), int | float) else 1
            )
        case "boolean":
            return False
        case "null":
            return None
    return _text(name, source)


def _array(name: str, schema: Mapping[str, Any], source: ArgumentSource, depth: int) -> list[Any]:
    if name in ("command", "cmd"):
        return ["bash", "-c", source.in_shell()]
    if schema.get("minItems") or name in ("edits", "paths", "files"):
        return [_value(name, schema.get("items"), source, depth + 1)]
    return []


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = next((name for name in kind if name != "null"), "string")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "string"


def _object(schema: Mapping[str, Any], source: ArgumentSource, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = schema.get("required")
    names = (
        [name for name in required if name in properties] if isinstance(required, Sequence) else []
    )
    names = names or list(properties)[:1]
    if source.agent:
        names += [name for name in properties if _bare_name(name) in _AGENT and name not in names]
    return {name: _value(name, properties[name], source, depth + 1) for name in names}


def _bare_name(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _text(name: str, source: ArgumentSource) -> str:
    """Return a text for a property, by its name."""
    plain = _bare_name(name)
    if source.task and plain in _TASK:
        return source.task
    if source.agent and plain in _AGENT:
        return source.agent
    if source.task and plain == "taskname":
        return re.sub(r"\W+", "_", source.task.lower())[:24].strip("_")
    for names, make in _TEXTS:
        if plain in names:
            return make(source)
    if "path" in plain or "file" in plain:
        return source.path()
    return source.word()


_TEXTS: tuple[tuple[tuple[str, ...], Callable[[ArgumentSource], str]], ...] = (
    (("command", "cmd", "script"), ArgumentSource.in_shell),
    (("oldstring", "oldtext", "oldstr", "old", "find"), ArgumentSource.line),
    (
        ("newstring", "newtext", "newstr", "new", "replace", "replacement"),
        lambda source: source.line() + _REMARK,
    ),
    (("pattern", "query", "regex", "search", "term", "q"), ArgumentSource.word),
    (("url", "uri"), lambda source: "http://127.0.0.1/"),
    (("content", "contents", "text", "body"), lambda source: f"Looked at: {source.word()}\n"),
    (("cwd", "directory", "dir", "root", "folder"), lambda source: "."),
)
"""For names of properties, a function that makes the text."""


def lower_types(schema: Any, depth: int = 0) -> Any:
    """Return the schema with its types in lower case: Gemini writes `STRING`."""
    if depth > 8 or not isinstance(schema, Mapping | list):
        return schema
    if isinstance(schema, list):
        return [lower_types(item, depth + 1) for item in schema]
    lowered = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            lowered[key] = value.lower()
        else:
            lowered[key] = lower_types(value, depth + 1)
    return lowered
