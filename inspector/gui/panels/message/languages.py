"""The language of what a tool was handed and of what it gave back, by the call: the file it names, the command it runs.

No language where that is not said: prose that is coloured as code misleads.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from inspector.core.calls import COMMAND_KEYS, FILE_KEYS, command_of, first_text
from inspector.core.message import ToolCall, ToolResult
from inspector.gui.widgets.code import language_of, numbered

_PLAIN = ("description", "prompt", "message", "explanation", "thought", "pattern", "query")
"""Arguments that are not what stands in the file."""
_PRINTS = frozenset(("cat", "head", "tail", "nl", "sed"))
_MOST = 1_000
"""Characters of a command that is looked at."""
_OUTPUT = re.compile(r"(?:^|\n)(?:Final )?Output:\n")
"""What tools write between how a command went and what it wrote."""


def argument_language(name: str, arguments: Mapping[str, Any]) -> str:
    """Of one argument of a call."""
    if name in COMMAND_KEYS:
        return "bash"
    if name in _PLAIN:
        return ""
    said = arguments.get("language")
    return (language_of(said) if isinstance(said, str) else "") or _language_of_path(first_text(arguments, FILE_KEYS))


def result_language(call: object, result: ToolResult) -> tuple[str, int]:
    """Of what came back, and after how many characters it begins: of a file that was read, or printed by a command."""
    if not isinstance(call, ToolCall) or not isinstance(call.arguments, Mapping) or result.is_error:
        return "", 0
    arguments = call.arguments
    language = _language_of_path(first_text(arguments, FILE_KEYS))
    if language:
        others = [name for name, value in arguments.items() if isinstance(value, str) and name not in FILE_KEYS]
        return (language, 0) if numbered(result.content) or not others else ("", 0)
    begins = _OUTPUT.search(result.content, 0, _MOST)
    return _language_of_path(_printed(command_of(call))), begins.end() if begins else 0


def _language_of_path(path: str) -> str:
    """A folder may be called like a language."""
    name = PurePath(path[-300:].replace("\\", "/")).name
    return language_of(name) if "." in name or name.endswith("file") else ""


def _printed(command: str) -> str:
    """The file that a command does nothing but print."""
    if len(command) > _MOST:
        return ""
    try:
        words = shlex.split(command.rpartition("&&")[2])
    except ValueError:
        return ""
    if "|" in words and words[0] == "nl":
        words = words[: words.index("|")]
    simple = words and words[0] in _PRINTS and not {"|", ";", ">", ">>", "||", "<<"} & {*words}
    return words[-1] if simple else ""
