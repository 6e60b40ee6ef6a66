"""Calls that read: which file or page a tool call wants to see, and which one it changes. By names only."""

from collections.abc import Mapping

from inspector.core.message import ToolCall

PATH_KEYS = ("file_path", "path", "filename", "file", "notebook_path", "target_file", "absolute_path", "url", "uri")
_COMMAND_KEYS = ("command", "cmd", "script")
_WRITERS = ("edit", "write", "patch", "create", "replace", "insert", "delete", "move")
_READERS = ("cat", "head", "tail", "sed", "nl", "less", "more", "bat", "type", "get-content")
_WRAPPERS = ("bash", "sh", "zsh", "-c", "-lc", "-l")


def writes(call: ToolCall) -> bool:
    """Does its name say that it changes something?"""
    name = call.name.lower()
    return any(word in name for word in _WRITERS)


def path_of(call: ToolCall) -> str:
    """The path or address among its arguments; empty where there is none."""
    if not isinstance(call.arguments, Mapping):
        return ""
    return next((v for key in PATH_KEYS if isinstance(v := call.arguments.get(key), str) and v), "")


def read_by(call: ToolCall) -> str:
    """What a reading call wants to see: its path, or the command that prints a file; empty where it does not read."""
    if writes(call):
        return ""
    return path_of(call) or _printed(call)


def _printed(call: ToolCall) -> str:
    """`cat a.py`, where the call runs it; a command that prints and does more than that counts as well."""
    if not isinstance(call.arguments, Mapping):
        return ""
    command = next((v for key in _COMMAND_KEYS if (v := call.arguments.get(key))), "")
    words = command if isinstance(command, list) else [command]
    text = next((w for w in words if isinstance(w, str) and w not in _WRAPPERS), "")
    if isinstance(command, list) and words and words[0] not in _WRAPPERS:
        text = " ".join(word for word in words if isinstance(word, str))
    first = text.split(None, 1)[0].lower() if text.strip() else ""
    return text if first in _READERS and " -i" not in text else ""
