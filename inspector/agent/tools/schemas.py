"""The tools as the model is offered them."""

from collections.abc import Mapping
from typing import Any

from inspector.core.buffer import Tool

_PATH = "Path from the workspace on."
TASK = "task"
"""The call that starts a sub-agent; the runner answers it."""


def _tool(name: str, told: str, required: str, **properties: Mapping[str, Any]) -> Tool:
    schema = {"type": "object", "properties": dict(properties), "required": required.split()}
    return Tool(name, {"name": name, "description": told, "input_schema": schema})


def _text(told: str) -> dict[str, Any]:
    return {"type": "string", "description": told}


def _number(told: str, least: int = 1) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": told}


def _flag(told: str) -> dict[str, Any]:
    return {"type": "boolean", "description": told}


TOOLS: tuple[Tool, ...] = (
    _tool(
        "list_files",
        "Lists files and folders with their sizes. Links are shown, not followed.",
        "",
        path=_text(f"{_PATH} Default: the workspace."),
        recursive=_flag("Folders below it too. Default true."),
        all=_flag("Also look into .git, node_modules and the like. Default false."),
        limit=_number("At most so many lines."),
    ),
    _tool(
        "read_file",
        "Reads lines of a text file.",
        "path",
        path=_text(_PATH),
        offset=_number("First line, from 1."),
        limit=_number("At most so many lines. Default 2000."),
        numbers=_flag("Put its number before each line. Default false."),
    ),
    _tool(
        "search_files",
        "Finds the lines that a regular expression (Python's) matches; each line is looked at by itself.",
        "pattern",
        pattern=_text("The expression."),
        path=_text(f"{_PATH} A folder or a file. Default: the workspace."),
        glob=_text("Only files of this name, for example *.py."),
        ignore_case=_flag("Default false."),
        limit=_number("At most so many matches. Default 100."),
    ),
    _tool(
        "edit_file",
        "Replaces a text that occurs exactly once in a file.",
        "path old_text new_text",
        path=_text(_PATH),
        old_text=_text("Exactly as it stands in the file, line ends and indentation included."),
        new_text=_text("What is to stand there instead."),
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
        "Gives a task to a sub-agent with the same tools and a buffer of its own; only its last words come back.",
        "prompt",
        description=_text("The task in three to five words."),
        prompt=_text("All that the sub-agent needs to know."),
    ),
)
WITHOUT_TASK: tuple[Tool, ...] = tuple(tool for tool in TOOLS if tool.name != TASK)
"""What a sub-agent is offered: it starts none of its own."""


def schema(name: str) -> Mapping[str, Any] | None:
    """The schema of a tool's arguments; None where there is no such tool."""
    for tool in TOOLS:
        if tool.name == name and isinstance(tool.definition, Mapping):
            found: Mapping[str, Any] = tool.definition["input_schema"]
            return found
    return None
