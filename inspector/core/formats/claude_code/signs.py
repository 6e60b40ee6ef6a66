"""What a Claude Code file records beside the messages, and after which the client may call in another way: another
version, a session opened again, another mode, tools that came or went, commands and skills."""

import re
from collections.abc import Mapping
from typing import Any

from inspector.core.formats.claude_code.records import ChainRecord
from inspector.core.message import ToolCall
from inspector.core.session import Sign, SignKind
from inspector.core.untyped import object_of, text_at, texts_at

_COMMAND = re.compile(r"<command-name>/?([\w:.-]{1,60})</command-name>")
_COMMANDS: dict[str, SignKind] = {
    **dict.fromkeys(("exit", "quit", "resume", "continue", "login"), "restart"),
    **dict.fromkeys(("mcp", "plugin", "reload-plugins", "agents"), "tools"),
}
"""Others may change settings, and are told as that. (`/model` shows in the model.)"""
_TOOLS = {
    "deferred_tools_delta": "tools",
    "mcp_instructions_delta": "instructions of MCP servers",
    "agent_listing_delta": "agents",
}


class SignLog:
    """The signs of the main agent, in the order of the file."""

    def __init__(self) -> None:
        self.signs: list[Sign] = []
        self._version = self._mode = ""

    def take(self, kind: str, record: ChainRecord) -> None:
        """One record of the chain."""
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
        """A call of the model."""
        if call.name == "Skill":
            self._add("settings", f"the skill {text_at(call.arguments, 'skill')[:60]} was launched", record)

    def _take_command(self, content: Any, record: ChainRecord) -> None:
        if isinstance(content, str) and "<command-name>" in content and (found := _COMMAND.search(content)):
            name = found[1]
            self._add(_COMMANDS.get(name, "settings"), f"the command /{name} was given", record)

    def _take_attachment(self, attachment: Mapping[str, Any], record: ChainRecord) -> None:
        kind = text_at(attachment, "type")
        self._take_hook(text_at(attachment, "hookName"), record)
        if kind not in _TOOLS:
            return
        told = (("came", "addedNames"), ("came", "addedTypes"), ("went", "removedNames"), ("went", "removedTypes"))
        words = ", ".join(f"{', '.join(names[:5])} {how}" for how, key in told if (names := texts_at(attachment, key)))
        self._add("tools", f"{_TOOLS[kind]}: {words[:160] or 'changed'}", record)

    def _take_hook(self, name: str, record: ChainRecord) -> None:
        if name in ("SessionStart:resume", "SessionStart:startup"):
            self._add("restart", f"the client was started ({name})", record)

    def _add(self, kind: SignKind, what: str, record: ChainRecord) -> None:
        sign = Sign(kind, " ".join(what.split()), record.line)
        if not self.signs or self.signs[-1] != sign:
            self.signs.append(sign)
