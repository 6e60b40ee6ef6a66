"""What a call is filed under: its MCP server, as clients spell it, and the file or command that it is about.

Spelled as Claude Code and Codex do (`mcp__server__tool`), Gemini CLI and VS Code (`mcp_server_tool`: the server has no
underscore), Goose and older Codex (`server__tool`), OpenCode (`server_tool`, and its own tools have none); Cline names
the server in the arguments. Where a client sends its tools by namespace, the namespace is the server's.
"""

import re
from collections.abc import Iterator, Mapping

from inspector.core.buffer import Prompt
from inspector.core.calls import command_of, patched_files, path_of
from inspector.core.dialects.openai_responses import in_namespace
from inspector.core.message import Json, ToolCall

_SPELLED = re.compile(r"mcp__(?P<one>.+?)(?:__.*)?$|mcp_(?P<two>[^_]+)_.+|(?P<three>[^_].*?)__[^_].*")
_OPENCODE = re.compile(r"(?P<server>[a-zA-Z0-9-]+)_.+")
_OPENCODE_OWN = frozenset({"apply_patch", "plan_exit", "plan_enter"})
_BY_ARGUMENT = ("use_mcp_tool", "access_mcp_resource", "call_mcp_tool")
_SUBJECTS = ("pattern", "query", "skill", "description", "title", "name", "id", "prompt")
LONGEST = 200
"""Characters of a file or command in a name."""


def server_of(tool: str, client: str = "", arguments: Json = None) -> str:
    """The MCP server that a tool is of, as its client spells names; empty where it is the client's own."""
    if tool in _BY_ARGUMENT and isinstance(arguments, Mapping):
        return str(arguments.get("server_name") or arguments.get("server") or "")
    match = _SPELLED.fullmatch(tool)
    if match is not None:
        return next(group for group in match.groups() if group is not None)
    if client == "opencode" and tool not in _OPENCODE_OWN and (match := _OPENCODE.fullmatch(tool)):
        return match["server"]
    return ""


def offered(prompt: Prompt, client: str = "") -> Iterator[tuple[str, str, Json]]:
    """(name, server, definition) of every tool that goes along; those of a namespace one by one."""
    for tool in prompt.tools or ():
        inner = in_namespace(tool.definition)
        if not inner:
            yield tool.name, server_of(tool.name, client), tool.definition
        for one in inner:
            yield str(one.get("name", "")), server_of(tool.name, client) or tool.name, one


def subject_of(call: ToolCall) -> str:
    """The file, else the command, else whatever the call is about, on one line; empty where nothing tells."""
    arguments = call.arguments
    if isinstance(arguments, str):
        return _one_line(next(iter(patched_files(arguments)), arguments))
    if not isinstance(arguments, Mapping):
        return ""
    said = path_of(call) or command_of(call)
    said = said or next((v for key in _SUBJECTS if isinstance(v := arguments.get(key), str) and v), "")
    if not said:
        said = next((v for v in arguments.values() if isinstance(v, str) and v), "")
        said = next(iter(patched_files(said)), said)
    return _one_line(said)


def _one_line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
