"""The tools of one run, called in one place: a call comes in, a message with its result goes out, whatever happens."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspector.agent.tools.commands import about_command, run_command
from inspector.agent.tools.common import Question, ToolError, ToolLimits, plain
from inspector.agent.tools.inside import Workspace, regular
from inspector.agent.tools.looking import list_files, read_file, search_files
from inspector.agent.tools.schemas import TASK, checked
from inspector.agent.tools.writing import Change, about_change, edited, put, summary, written
from inspector.core.message import Message, ToolCall, ToolResult


class Toolbox:
    """Raises InspectorError where `workspace` is no folder. Close it when done."""

    def __init__(self, workspace: Path, limits: ToolLimits | None = None) -> None:
        self._limits = limits or ToolLimits()
        self._workspace = Workspace(workspace)
        self._asked: tuple[ToolCall, Change] | None = None
        """The change that was asked about last: this one is made, or none, whatever becomes of the file meanwhile."""

    @property
    def folder(self) -> Path:
        """The workspace, links resolved."""
        return self._workspace.folder

    def close(self) -> None:
        """Give the workspace back. May be called twice."""
        self._workspace.close()

    def __enter__(self) -> "Toolbox":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def peek(self, path: str, most: int = 16_000) -> str:
        """The first `most` bytes of a text file, for the runner itself; empty where there is none."""
        try:
            with self._workspace.place(path) as place, os.fdopen(regular(place), "rb") as file:
                return plain(file.read(most).decode("utf-8", "replace"))
        except ToolError:
            return ""

    def needs_permission(self, call: ToolCall) -> Question | None:
        """What the person is to be asked first: what it will do, word for word; None for a call that is free.

        A call that would be refused anyway is free: it changes nothing, and its result says why.
        """
        try:
            arguments = checked(call)
            match call.name:
                case "edit_file" | "write_file":
                    change = self._change(call.name, arguments)
                    self._asked = call, change
                    return about_change(call.name, change)
                case "run_command":
                    return about_command(arguments["command"], str(self.folder), self._seconds(arguments))
        except ToolError:
            pass
        return None

    def covered_by_always(self, call: ToolCall) -> str:
        """What an "always" for this call is remembered by: calls of the same key are not asked about again.

        A tool that changes files: that tool. A command: that very command.
        """
        if call.name != "run_command" or not isinstance(call.arguments, dict):
            return call.name
        return f"{call.name}: {call.arguments.get('command')}"

    def run(self, call: ToolCall, cancelled: Callable[[], bool] = lambda: False) -> Message:
        """Do it. Never raises for what the model or the file system did: that is an error result."""
        try:
            text, failed = self._run(call, checked(call), cancelled)
        except ToolError as why:
            text, failed = str(why), True
        return result_of(call, plain(text), failed)

    def _run(self, call: ToolCall, arguments: dict[str, Any], cancelled: Callable[[], bool]) -> tuple[str, bool]:
        workspace, limits = self._workspace, self._limits
        match call.name:
            case "list_files":
                return list_files(workspace, limits, arguments, cancelled), False
            case "read_file":
                return read_file(workspace, limits, arguments), False
            case "search_files":
                return search_files(workspace, limits, arguments, cancelled), False
            case "edit_file" | "write_file":
                asked, self._asked = self._asked, None
                change = asked[1] if asked is not None and asked[0] is call else self._change(call.name, arguments)
                put(workspace, arguments["path"], change)
                return summary(change), False
            case "run_command":
                ran = run_command(self.folder, arguments["command"], self._seconds(arguments), limits, cancelled)
                return str(ran), ran.failed
        raise ToolError(f"{TASK} starts a sub-agent, which this agent has not.")

    def _change(self, tool: str, arguments: dict[str, Any]) -> Change:
        return (edited if tool == "edit_file" else written)(self._workspace, self._limits, arguments)

    def _seconds(self, arguments: dict[str, Any]) -> float:
        return min(float(arguments.get("timeout_s") or self._limits.command_s), self._limits.command_most_s)


def result_of(call: ToolCall, text: str, failed: bool = True) -> Message:
    """A result as a message."""
    return Message(f"{call.id}.result", "tool", (ToolResult(call.id, text, failed),))


def denied(call: ToolCall) -> Message:
    """The result of a call that was not allowed."""
    return result_of(call, "The user said no to this call. Respect it; do not try it by another way.")
