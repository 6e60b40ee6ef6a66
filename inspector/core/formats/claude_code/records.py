"""One line of the file, with the fields that decide where it belongs; the problems and signs of a file.

A sign is something after which the client may call in another way: another version, a session opened again, another
mode, tools that were added or removed, commands and skills.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from inspector.core.jsontext import dumps
from inspector.core.message import ToolCall
from inspector.core.session import Problem, Sign, SignKind
from inspector.core.untyped import object_of, text_at, texts_at


class ChainRecord:
    """A parsed line that has a place in the chain of records."""

    __slots__ = ("file", "line", "parent", "time", "uuid", "value")

    def __init__(self, value: dict[str, Any], line: int, file: str = "") -> None:
        self.value, self.line, self.file = value, line, file
        uuid, parent, time = value.get("uuid"), value.get("parentUuid", ""), value.get("timestamp")
        self.uuid: str = uuid if isinstance(uuid, str) and uuid else f"{file}line-{line}"
        self.parent: str | None = parent if parent is None or isinstance(parent, str) else ""
        """uuid of the record it hangs on; None = on nothing, it is a beginning; empty = it does not say."""
        self.time: str = time if isinstance(time, str) else ""


@lru_cache(maxsize=256)  # a file names a few, on every line
def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers that compare; none if it is not recorded."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:3])


_EXCERPT = 160
"""Characters of the record that a problem shows."""


class ProblemLog:
    """The problems of a session, in the order in which they were met."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._kinds: set[str] = set()

    def add(self, what: str, line: int, value: Any, file: str = "") -> None:
        """Add a problem of a line to the list."""
        self.problems.append(Problem(line, what, dumps(value)[:_EXCERPT], file))

    def add_kind(self, what: str, line: int, value: Any, file: str = "") -> None:
        """List a problem that is the same for every record of its kind, where it is first met."""
        if what not in self._kinds:
            self._kinds.add(what)
            self.add(what, line, value, file)


_COMMAND = re.compile(r"<command-name>/?([\w:.-]{1,60})</command-name>")
_COMMANDS: dict[str, SignKind] = {
    **dict.fromkeys(("exit", "quit", "resume", "continue", "login"), "restart"),
    **dict.fromkeys(("mcp", "plugin", "reload-plugins", "agents"), "tools"),
}
"""Others may change settings, and are shown as that. (`/model` shows in the model.)"""
_TOOLS = {
    "deferred_tools_delta": "tools",
    "mcp_instructions_delta": "instructions of MCP servers",
    "agent_listing_delta": "agents",
}


_TOOL_CHANGES = {
    "addedNames": "came",
    "addedTypes": "came",
    "removedNames": "went",
    "removedTypes": "went",
}


class SignLog:
    """The signs of the main agent, in the order of the file."""

    def __init__(self) -> None:
        self.signs: list[Sign] = []
        self._version = self._mode = ""

    def take(self, kind: str, record: ChainRecord) -> None:
        """Take a record of the chain."""
        value = record.value
        version, mode = value.get("version"), value.get("permissionMode")
        if version != self._version and isinstance(version, str) and version:
            if self._version:
                self._add("restart", f"Claude Code {self._version} became {version}", record)
            self._version = version
        if mode != self._mode and isinstance(mode, str) and mode:
            if self._mode:
                self._add("settings", f"mode {self._mode} became {mode}", record)
            self._mode = mode
        if kind == "user":
            self._take_command(object_of(value, "message").get("content"), record)
        elif kind == "attachment":
            self._take_attachment(object_of(value, "attachment"), record)
        elif kind == "progress":
            self._take_hook(text_at(object_of(value, "data"), "hookName"), record)

    def take_call(self, call: ToolCall, record: ChainRecord) -> None:
        """Take a tool call of the model."""
        if call.name == "Skill":
            self._add(
                "settings",
                f"the skill {text_at(call.arguments, 'skill')[:60]} was launched",
                record,
            )

    def _take_command(self, content: Any, record: ChainRecord) -> None:
        command = (
            _COMMAND.search(content)
            if isinstance(content, str) and "<command-name>" in content
            else None
        )
        if command is not None:
            name = command[1]
            self._add(_COMMANDS.get(name, "settings"), f"the command /{name} was given", record)

    def _take_attachment(self, attachment: Mapping[str, Any], record: ChainRecord) -> None:
        kind = text_at(attachment, "type")
        self._take_hook(text_at(attachment, "hookName"), record)
        if kind not in _TOOLS:
            return
        changes = []
        for key, how in _TOOL_CHANGES.items():
            if names := texts_at(attachment, key):
                changes.append(f"{', '.join(names[:5])} {how}")
        words = ", ".join(changes)[:160] or "changed"
        self._add("tools", f"{_TOOLS[kind]}: {words}", record)

    def _take_hook(self, name: str, record: ChainRecord) -> None:
        if name in ("SessionStart:resume", "SessionStart:startup"):
            self._add("restart", f"the client was started ({name})", record)

    def _add(self, kind: SignKind, what: str, record: ChainRecord) -> None:
        sign = Sign(kind, " ".join(what.split()), record.line)
        if not self.signs or self.signs[-1] != sign:
            self.signs.append(sign)
