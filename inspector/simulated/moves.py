"""What an agent does one after the other, and with which of the tools it is offered: by their names and schemas.

Where there is no tool for a move, a shell does it, with a command that only looks. Tools that the provider runs itself,
that ask somebody, or that serve the agent's own ends are left alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.buffer import Tool


@dataclass(frozen=True, slots=True)
class Move:
    """What a tool is used for: what is said with it, the names such a tool has, the only path it is given, and the
    shell's way to do the same (`{path}` and `{word}` are filled in; empty: there is none)."""

    words: str
    names: re.Pattern[str]
    path: str = ""
    command: str = ""
    changes: bool = False
    """Does it change what was read?"""
    agent: str = ""
    """The kind of sub-agent that is started, and ..."""
    task: str = ""
    """... what it is told."""


_SHELL = re.compile(r"(?i)bash|shell|run|exec|command|terminal|test")
_READ = re.compile(r"(?i)read|view|cat|open|fetch|get")
_SHOW = "head -c 4000 {path}"
MOVES = (
    Move(
        "I will look around first.",
        re.compile(r"(?i)(?:^|_)(?:ls|list|glob|find|tree)|list_?(?:dir|files)"),
        ".",
        "ls -la",
    ),
    Move("Let me read what is there.", _READ, "", _SHOW),
    Move(
        "Now I look for the place that matters.",
        re.compile(r"(?i)grep|search|find|query|lookup"),
        ".",
        "grep -rn {word} . | head -n 20",
    ),
    Move("This is the line to change.", re.compile(r"(?i)edit|replace|patch|update"), changes=True),
    Move("I write down what I found.", re.compile(r"(?i)write|create|save"), "SIMULATED.md"),
    Move("Let me see whether it works.", _SHELL),
)
_RUN = MOVES[-1]
_END = re.compile(r"(?i)\b(?:submit|finish|end|complete)\b[^`\n]{0,120}`(echo \w{4,64})`")
AGAIN = Move("And the next one.", _READ, "", _SHOW)
ANY = Move("I will use what there is.", re.compile(""))

_LEFT_ALONE = re.compile(
    r"(?i)image|web|stdin|goal|plan|todo|agent|task|skill|question|user|memory|mcp|resource|worktree|cron|monitor"
    r"|notif|team|notebook|background|output|kill|thread|title|schedule|workflow|artifact|topic|mode"
)
_STARTS = re.compile(r"(?i)agent|task|spawn_agent|invoke_agent")
_HAND_ON = re.compile(r"""(?i)\blet an? sub-agent(?: \\?["']([\w-]+)\\?["'])? ([^"]{4,400})""", re.DOTALL)
"""Clients may quote the user, quotes and all."""
_OURS = (None, "function", "custom")
"""Kinds of tools that the client runs; any other is the provider's own."""


def plan(tools: Sequence[Tool], more: int) -> list[tuple[Move, Tool]]:
    """The moves for which there is a tool, in order; it reads `1 + more` times."""
    usable = [tool for tool in tools if _may_be_called(tool)]
    shell = _fitting(_RUN, usable)
    found: list[tuple[Move, Tool]] = []
    for move in MOVES:
        taken = [tool for _, tool in found if tool is not shell]
        tool = _fitting(move, [one for one in usable if one not in taken])
        if tool is None and move.command:
            tool = shell
        if tool is not None:
            found.append((move, tool))
            found += [(AGAIN, tool)] * (more if move.names is _READ else 0)
    return found or [(ANY, tool) for tool in usable[:1]]


def handed_on(asked: str, tools: Sequence[Tool]) -> list[tuple[Move, Tool]]:
    """The call that starts a sub-agent, where the user wants one and there is a tool for it."""
    inner = (Tool(one.get("name", ""), one) for tool in tools for one in in_namespace(tool.definition))
    usable = [tool for tool in (*tools, *inner) if _may_be_called(tool) and _STARTS.fullmatch(tool.name)]
    if not usable or (told := _HAND_ON.search(asked)) is None:
        return []
    return [(Move("Somebody else can do that.", _STARTS, agent=told[1] or "", task=told[2]), usable[0])]


def in_namespace(definition: Any) -> Sequence[Mapping[str, Any]]:
    """The tools of a namespace (Responses); none of any other tool."""
    is_one = isinstance(definition, Mapping) and definition.get("type") == "namespace"
    tools = definition.get("tools") if is_one else None
    return [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []


def farewell(asked: str, tools: Sequence[Tool]) -> list[tuple[Move, Tool]]:
    """The command by which the user wants to be told that all is done, where one is asked for: a mere `echo`."""
    told, shell = _END.search(asked), _fitting(_RUN, [tool for tool in tools if _may_be_called(tool)])
    return [(Move("That is all.", _SHELL, command=told[1]), shell)] if told and shell else []


def _fitting(move: Move, tools: Sequence[Tool]) -> Tool | None:
    return next((one for one in tools if move.names.search(one.name) and not _LEFT_ALONE.search(one.name)), None)


def _may_be_called(tool: Tool) -> bool:
    definition = tool.definition
    if not isinstance(definition, Mapping) or not tool.name:
        return False
    return definition.get("type") in _OURS and definition.get("defer_loading") is not True
