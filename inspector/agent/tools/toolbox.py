"""The tools of one run: their definitions for the model, and the execution of calls.

Every call produces a message with its result, even if it fails.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from inspector.agent.tools.commands import about_command, run_command
from inspector.agent.tools.common import Question, ToolError, ToolLimits, Workspace, plain, regular
from inspector.agent.tools.looking import list_files, read_file, search_files
from inspector.agent.tools.writing import Change, about_change, plan_edit, plan_write, put, summary
from inspector.core.buffer import Prompt, Tool
from inspector.core.message import Message, ToolCall, ToolResult

_PATH = "Path from the workspace on."
TASK = "task"
"""Name of the call that starts a sub-agent; the runner answers it."""


def _tool(name: str, about: str, required: str, **properties: Mapping[str, Any]) -> Tool:
    schema = {"type": "object", "properties": dict(properties), "required": required.split()}
    return Tool(name, {"name": name, "description": about, "input_schema": schema})


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str, least: int = 1) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": description}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


TOOLS: tuple[Tool, ...] = (
    _tool(
        "list_files",
        "Lists files and folders with their sizes. Links are shown, not followed.",
        "",
        path=_text(f"{_PATH} Default: the workspace."),
        recursive=_flag("Folders below it too. Default true."),
        all=_flag("Also look into .git, node_modules and the like. Default false."),
        limit=_number("Maximum number of lines."),
    ),
    _tool(
        "read_file",
        "Reads lines of a text file.",
        "path",
        path=_text(_PATH),
        offset=_number("First line, from 1."),
        limit=_number("Maximum number of lines. Default 2000."),
        numbers=_flag("Put its number before each line. Default false."),
    ),
    _tool(
        "search_files",
        "Finds the lines that a regular expression (Python's) matches; each line is searched separately.",
        "pattern",
        pattern=_text("The expression."),
        path=_text(f"{_PATH} A folder or a file. Default: the workspace."),
        glob=_text("Only files of this name, for example *.py."),
        ignore_case=_flag("Default false."),
        limit=_number("Maximum number of matches. Default 100."),
    ),
    _tool(
        "edit_file",
        "Replaces a text that occurs exactly once in a file.",
        "path old_text new_text",
        path=_text(_PATH),
        old_text=_text("Exactly as in the file, line ends and indentation included."),
        new_text=_text("The text that replaces it."),
    ),
    _tool(
        "write_file",
        "Writes a whole file, new or not; folders that are missing are made.",
        "path content",
        path=_text(_PATH),
        content=_text("All that the file is to hold."),
    ),
    _tool(
        "run_command",
        "Runs a shell command in the workspace, without input. All that it started ends with it.",
        "command",
        command=_text("For /bin/sh."),
        timeout_s=_number("Seconds after which it is ended. Default 30, at most 600."),
    ),
    _tool(
        TASK,
        "Gives a task to a sub-agent with the same tools and its own buffer; only its last answer is returned.",
        "prompt",
        description=_text("The task in three to five words."),
        prompt=_text("All that the sub-agent needs to know."),
    ),
)
WITHOUT_TASK: tuple[Tool, ...] = tuple(tool for tool in TOOLS if tool.name != TASK)
"""The tools of a sub-agent, which cannot start another one."""


def schema(name: str) -> Mapping[str, Any] | None:
    """Return the schema of a tool's arguments; None if there is no such tool."""
    for tool in TOOLS:
        if tool.name == name and isinstance(tool.definition, Mapping):
            properties: Mapping[str, Any] = tool.definition["input_schema"]
            return properties
    return None


_KINDS: Mapping[str, tuple[type, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


def checked(call: ToolCall) -> dict[str, Any]:
    """Return the arguments that the schema defines; an optional argument that is null is omitted. Raises ToolError."""
    rules = schema(call.name)
    if rules is None:
        names = ", ".join(tool.name for tool in TOOLS)
        raise ToolError(f"There is no tool {plain(call.name)[:60]!r}. There are {names}.")
    if not isinstance(call.arguments, Mapping):
        raise ToolError(f"{call.name} takes a JSON object: {_needs(rules)}.")
    arguments: dict[str, Any] = {}
    for name, property_ in rules["properties"].items():
        value = call.arguments.get(name)
        if value is not None:
            arguments[name] = _value(call.name, name, property_, value)
        elif name in rules["required"]:
            raise ToolError(f"{call.name} lacks {name!r}. It needs {_needs(rules)}.")
    return arguments


def _value(tool: str, name: str, property_: Mapping[str, Any], value: Any) -> Any:
    kind, expected = _KINDS[property_["type"]]
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not kind:
        raise ToolError(f"{tool}: {name!r} must be {expected}, not {type(value).__name__}.")
    least = property_.get("minimum")
    if least is not None and value < least:
        raise ToolError(f"{tool}: {name!r} must be at least {least}.")
    return value


def _needs(rules: Mapping[str, Any]) -> str:
    required = [
        f"{name} ({_KINDS[rules['properties'][name]['type']][1]})" for name in rules["required"]
    ]
    return ", ".join(required) or "nothing; all its arguments are optional"


_TEXT = """You are an agent that works in one folder, the workspace: {folder}
Do what the user asks with the tools. Paths are given from the workspace on; nothing outside it can be read or written.
Look before you change; read a file before you edit it. After a change run the tests or whatever shows that it works.
Reading and searching are free. Writing and commands may be put to the user first; where they say no, respect it.
Older parts of this conversation may be cleared or summarised: what you need again, read again.
When you are done, say in a few sentences what you did, what you checked, and what is left. Do not claim what you have \
not seen."""
_SUB_AGENT = """
You are a sub-agent: another agent gave you this task and reads only your last message."""


def prompt(workspace: Path, sub_agent: bool = False) -> Prompt:
    """Return the system prompt and tools of an agent in this workspace. `sub_agent`: another agent started it."""
    text = _TEXT.format(folder=workspace)
    return Prompt(text + _SUB_AGENT, WITHOUT_TASK) if sub_agent else Prompt(text, TOOLS)


class _PendingChange(NamedTuple):
    """A change about which the user was asked."""

    call: ToolCall
    change: Change


class Toolbox:
    """Executes tool calls in a workspace. Close it when done. Raises InspectorError if `workspace` is not a folder."""

    def __init__(self, workspace: Path, limits: ToolLimits | None = None) -> None:
        self._limits = limits or ToolLimits()
        self._workspace = Workspace(workspace)
        self._asked: _PendingChange | None = None
        """The change that the user was asked about last. Exactly this change is made, even if the file changes
        meanwhile.
        """

    @property
    def folder(self) -> Path:
        """Return the path of the workspace, with links resolved."""
        return self._workspace.folder

    def close(self) -> None:
        """Close the workspace. May be called twice."""
        self._workspace.close()

    def __enter__(self) -> "Toolbox":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def peek(self, path: str, most: int = 16_000) -> str:
        """Return the first `most` bytes of a text file, for the runner itself; empty if there is no such file."""
        try:
            with self._workspace.place(path) as place, os.fdopen(regular(place), "rb") as file:
                return plain(file.read(most).decode("utf-8", "replace"))
        except ToolError:
            return ""

    def needs_permission(self, call: ToolCall) -> Question | None:
        """Return the question to ask the user before a call; None for a call that needs no permission.

        A call that will be refused anyway needs none: it changes nothing, and its result says why.
        """
        try:
            arguments = checked(call)
            match call.name:
                case "edit_file" | "write_file":
                    change = self._change(call.name, arguments)
                    self._asked = _PendingChange(call, change)
                    return about_change(call.name, change)
                case "run_command":
                    return about_command(
                        arguments["command"], str(self.folder), self._seconds(arguments)
                    )
        except ToolError:
            pass
        return None

    def covered_by_always(self, call: ToolCall) -> str:
        """Return the key under which an "always" for this call is remembered. Calls with the same key are allowed, too.

        For a tool that changes files the key is the tool; for a command it is that exact command.
        """
        if call.name != "run_command" or not isinstance(call.arguments, dict):
            return call.name
        return f"{call.name}: {call.arguments.get('command')}"

    def run(self, call: ToolCall, cancelled: Callable[[], bool] = lambda: False) -> Message:
        """Run a call and return its result. Errors of the model or the file system become error results, never
        exceptions.
        """
        try:
            text, failed = self._run(call, checked(call), cancelled)
        except ToolError as why:
            text = str(why)
            failed = True
        return result_of(call, plain(text), failed)

    def _run(
        self, call: ToolCall, arguments: dict[str, Any], cancelled: Callable[[], bool]
    ) -> tuple[str, bool]:
        workspace = self._workspace
        limits = self._limits
        match call.name:
            case "list_files":
                return list_files(workspace, limits, arguments, cancelled), False
            case "read_file":
                return read_file(workspace, limits, arguments), False
            case "search_files":
                return search_files(workspace, limits, arguments, cancelled), False
            case "edit_file" | "write_file":
                pending = self._asked
                self._asked = None
                if pending is not None and pending.call is call:
                    change = pending.change
                else:
                    change = self._change(call.name, arguments)
                put(workspace, arguments["path"], change)
                return summary(change), False
            case "run_command":
                return run_command(
                    self.folder,
                    command=arguments["command"],
                    seconds=self._seconds(arguments),
                    limits=limits,
                    cancelled=cancelled,
                )
        raise ToolError(f"{TASK} starts a sub-agent, which this agent has not.")

    def _change(self, tool: str, arguments: dict[str, Any]) -> Change:
        plan = plan_edit if tool == "edit_file" else plan_write
        return plan(self._workspace, self._limits, arguments)

    def _seconds(self, arguments: dict[str, Any]) -> float:
        seconds = float(arguments.get("timeout_s") or self._limits.command_s)
        return min(seconds, self._limits.command_most_s)


def result_of(call: ToolCall, text: str, failed: bool = True) -> Message:
    """Return the result of a call as a message."""
    return Message(f"{call.id}.result", "tool", (ToolResult(call.id, text, failed),))


def denied(call: ToolCall) -> Message:
    """Return the result of a call that the user did not allow."""
    return result_of(
        call, "The user said no to this call. Respect it; do not try it by another way."
    )
