"""A record with the fields that decide its place in the chain, and the problems and signs of a file.

A sign is an event after which the client's requests may differ: a new client version, a resumed session, a new mode,
tools added or removed, a command or a skill.
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
    """A parsed line that belongs to a chain of records."""

    __slots__ = ("file", "line", "parent", "time", "uuid", "value")

    def __init__(self, value: dict[str, Any], line: int, file: str = "") -> None:
        self.value, self.line, self.file = value, line, file
        uuid = value.get("uuid")
        parent = value.get("parentUuid", "")
        time = value.get("timestamp")
        self.uuid: str = uuid if isinstance(uuid, str) and uuid else f"{file}line-{line}"
        self.parent: str | None = parent if parent is None or isinstance(parent, str) else ""
        """uuid of the parent record; None if the record begins a chain; empty if not recorded."""
        self.time: str = time if isinstance(time, str) else ""


@lru_cache(maxsize=256)  # every line names a version, but a file has only a few of them
def numbers(version: str) -> tuple[int, ...]:
    """Return a version as a tuple of up to 3 numbers, to be compared; empty if not recorded."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:3])


_EXCERPT = 160
"""Characters of the record that a problem shows."""


class ProblemLog:
    """The problems of a session, in the order of reading."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._kinds: set[str] = set()

    def add(self, what: str, line: int, value: Any, file: str = "") -> None:
        """Add a problem of a line to the list."""
        self.problems.append(Problem(line, what, excerpt=dumps(value)[:_EXCERPT], file=file))

    def add_kind(self, what: str, line: int, value: Any, file: str = "") -> None:
        """Add a problem that every record of its kind has. Only the first record is listed."""
        if what not in self._kinds:
            self._kinds.add(what)
            self.add(what, line, value, file)


_COMMAND = re.compile(r"<command-name>/?([\w:.-]{1,60})</command-name>")
_COMMANDS: dict[str, SignKind] = {
    **dict.fromkeys(("exit", "quit", "resume", "continue", "login"), "restart"),
    **dict.fromkeys(("mcp", "plugin", "reload-plugins", "agents"), "tools"),
}
"""Kind of sign by command. Other commands may change settings and have the kind `settings`."""
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
        """Add the signs of a chained record: a new version or mode, a command, an attachment, a hook."""
        value = record.value
        version = value.get("version")
        mode = value.get("permissionMode")
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
        """Add a sign if the tool call launches a skill."""
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
