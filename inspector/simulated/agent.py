"""The script of the simulated agent: look around, read, search, change, run, report, with the tools that are offered.

It is harmless by design: commands only look, and edits append a remark to a line that was read.

The next move follows from the conversation alone: how many calls were made since the user's last message, and what the
results showed. Tools are chosen by their names and schemas, and arguments are made from the tool's own schema. If there
is no tool for a move, a shell is used, with a command that only looks. Tools that the provider runs itself, that ask
somebody, or that serve the agent's own purposes are not used.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from inspector.core.buffer import Tool
from inspector.core.dialects.openai_responses import in_namespace
from inspector.core.facts.reading import facts
from inspector.core.message import Message, Text, ToolCall
from inspector.simulated.arguments import (
    ArgumentSource,
    fill,
    in_shell,
    is_freeform,
    schema_of,
    words_for,
)
from inspector.simulated.call import SimulatedAnswer, SimulatedCall


@dataclass(frozen=True, slots=True)
class Move:
    """One use of a tool: the text before the call, and a pattern for the names of suitable tools.

    `path` is the only path that the call may use; `command` is the equivalent shell command, in which `{path}` and
    `{word}`
    are filled in. Both are empty if there is none.
    """

    words: str
    names: re.Pattern[str]
    path: str = ""
    command: str = ""
    changes: bool = False
    """True if the move changes what was read."""
    agent: str = ""
    """The kind of sub-agent to start; empty for none."""
    task: str = ""
    """The sub-agent's task."""


_SHELL = re.compile(r"(?i)bash|shell|run|exec|command|terminal|test")
_READ = re.compile(r"(?i)read|view|cat|open|fetch|get")
_SHOW = "head -c 4000 {path}"
MOVES = (
    Move(
        "I will look around first.",
        names=re.compile(r"(?i)(?:^|_)(?:ls|list|glob|find|tree)|list_?(?:dir|files)"),
        path=".",
        command="ls -la",
    ),
    Move("Let me read what is there.", names=_READ, command=_SHOW),
    Move(
        "Now I look for the place that matters.",
        names=re.compile(r"(?i)grep|search|find|query|lookup"),
        path=".",
        command="grep -rn {word} . | head -n 20",
    ),
    Move("This is the line to change.", re.compile(r"(?i)edit|replace|patch|update"), changes=True),
    Move("I write down what I found.", re.compile(r"(?i)write|create|save"), "SIMULATED.md"),
    Move("Let me see whether it works.", _SHELL),
)
_RUN = MOVES[-1]
_END = re.compile(r"(?i)\b(?:submit|finish|end|complete)\b[^`\n]{0,120}`(echo \w{4,64})`")
AGAIN = Move("And the next one.", names=_READ, command=_SHOW)
ANY = Move("I will use what there is.", re.compile(""))

_LEFT_ALONE = re.compile(
    r"(?i)image|web|stdin|goal|plan|todo|agent|task|skill|question|user|memory|mcp|resource|worktree|cron|monitor"
    r"|notif|team|notebook|background|output|kill|thread|title|schedule|workflow|artifact|topic|mode"
)
_STARTS = re.compile(r"(?i)agent|task|spawn_agent|invoke_agent")
_HAND_ON = re.compile(
    r"""(?i)\blet an? sub-agent(?: \\?["']([\w-]+)\\?["'])? ([^"]{4,400})""", re.DOTALL
)
"""Matches a request for a sub-agent. Clients may quote the user's text with escaped quotation marks."""
_OURS = (None, "function", "custom")
"""Kinds of tools that the client runs; any other kind is run by the provider."""


def plan(tools: Sequence[Tool], more: int) -> list[tuple[Move, Tool]]:
    """Return the moves for which there is a tool, in order. Reading is repeated: `1 + more` times in total."""
    usable = [tool for tool in tools if _may_be_called(tool)]
    shell = _find_tool(_RUN, usable)
    moves: list[tuple[Move, Tool]] = []
    for move in MOVES:
        assigned = [tool for _, tool in moves if tool is not shell]
        tool = _find_tool(move, [tool for tool in usable if tool not in assigned])
        if tool is None and move.command:
            tool = shell
        if tool is not None:
            moves.append((move, tool))
            moves += [(AGAIN, tool)] * (more if move.names is _READ else 0)
    return moves or [(ANY, tool) for tool in usable[:1]]


def sub_agent_moves(request: str, tools: Sequence[Tool]) -> list[tuple[Move, Tool]]:
    """Return the call that starts a sub-agent, if the user wants one and there is a tool for it."""
    inner = (
        Tool(definition.get("name", ""), definition)
        for tool in tools
        for definition in in_namespace(tool.definition)
    )
    usable = [
        tool for tool in (*tools, *inner) if _may_be_called(tool) and _STARTS.fullmatch(tool.name)
    ]
    if not usable or (match := _HAND_ON.search(request)) is None:
        return []
    return [
        (
            Move("Somebody else can do that.", _STARTS, agent=match[1] or "", task=match[2]),
            usable[0],
        )
    ]


def end_moves(request: str, tools: Sequence[Tool]) -> list[tuple[Move, Tool]]:
    """Return the final `echo` command with which the user wants the end to be signalled, if the request names one."""
    match = _END.search(request)
    shell = _find_tool(_RUN, [tool for tool in tools if _may_be_called(tool)])
    return [(Move("That is all.", _SHELL, command=match[1]), shell)] if match and shell else []


def _find_tool(move: Move, tools: Sequence[Tool]) -> Tool | None:
    return next(
        (
            tool
            for tool in tools
            if move.names.search(tool.name) and not _LEFT_ALONE.search(tool.name)
        ),
        None,
    )


def _may_be_called(tool: Tool) -> bool:
    definition = tool.definition
    if not isinstance(definition, Mapping) or not tool.name:
        return False
    return definition.get("type") in _OURS and definition.get("defer_loading") is not True


# -- earlier calls


@dataclass(frozen=True, slots=True)
class _Past:
    """The part of the conversation since the user's last message."""

    asked: str
    since: Sequence[Message]

    @property
    def moves(self) -> int:
        """Return the number of calls so far. Calls that a compaction removed are counted from the text of its
        summary.
        """
        reported = sum(
            made(message.text)
            for message in self.since
            if message.role in _TELLING or message.summary
        )
        numbers = [
            int(match[1]) + 1
            for message in self.since
            for call in message.calls
            if (match := _NUMBERED.match(call.id))
        ]
        return max([reported + sum(1 for message in self.since if message.calls), *numbers])


def made(text: str) -> int:
    """Return the number of calls that a text mentions: by the simulated provider's own sentence, or by the lines of a
    summary or transcript.
    """
    counts = _COUNTED.findall(text)
    if not counts:
        return len(_TOLD.findall(text))
    last_count = counts[-1]
    text_after = text[text.rindex(last_count) :]
    return int(last_count) + len(_CALLED.findall(text_after))


def counted(messages: Sequence[Message]) -> str:
    """Return the sentence for a summary that says how many calls were made, so that the agent does not start again."""
    if len(messages) == 1:
        number = made(messages[0].text) or len(_CALLED.findall(messages[0].text))
    else:
        number = _read_past(messages).moves
    return f"Tool calls so far: {number}"


_NUMBERED = re.compile(r"(?:call|toolu)_[0-9a-f]{22}(\d\d)$")
"""Matches the provider's own call ids, which end in the number of the move. The newest calls survive a compaction."""
_TELLING = ("user", "system")
_COUNTED = re.compile(r"Tool calls so far: (\d{1,6})\b")
_TOLD = re.compile(r"(?m)→ tool_use: |^- .*: (?:ok|error)$")
_CALLED = re.compile(r"(?m)^[^\S\n]*\[Assistant tool calls?\]|^[^\S\n]*\[?tool[ _-](?:call|use)\b")
"""Matches the ways in which clients write calls that are to be summarised."""
_MACHINE = re.compile(
    r"\s*(?:[<\[(]|# AGENTS\.md|This session is being continued|Another language model started"
    r"|The conversation history before this point was compacted|\*\*\* |Previous conversation was compacted)"
)
"""Matches reminders and summaries, which clients send in the user's role."""
_GOAL = re.compile(r"(?m)^Goal:\s*^- (.+)$")


def next_move(call: SimulatedCall) -> SimulatedAnswer:
    """Return the next tool call, or the final text."""
    past = _read_past(call.buffer.messages)
    tools = call.buffer.prompt.tools or ()
    steps = plan(tools, 1 + sha256(past.asked.encode("utf-8", "replace")).digest()[0] % 2)
    steps = sub_agent_moves(past.asked, tools) + steps + end_moves(past.asked, tools)
    if past.moves >= len(steps):
        return SimulatedAnswer(_report(past))
    move, tool = steps[past.moves]
    source = _find_arguments(past, move)
    arguments: str | dict[str, Any]
    if is_freeform(tool.definition):
        arguments = words_for(tool.name, source)
    else:
        arguments = fill(schema_of(tool.definition), source)
    return SimulatedAnswer(
        move.words,
        (ToolCall(f"call_{call.digest[:22]}{past.moves % 100:02d}", tool.name, arguments),),
        "calls",
    )


def _read_past(messages: Sequence[Message]) -> _Past:
    with_results = {
        message.together for message in messages if message.role == "tool" and message.together
    }
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if (
            message.role == "user"
            and message.together not in with_results
            and (typed := _typed(message))
        ):
            return _Past(typed, messages[index + 1 :])
    goals = (match[1] for message in messages if (match := _GOAL.search(message.text)))
    return _Past(next(goals, ""), messages)


def _typed(message: Message) -> str:
    """Return what the user typed, without the reminders in the same message."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    return "\n".join(text for text in texts if text.strip() and not _MACHINE.match(text))


def _find_arguments(past: _Past, move: Move) -> ArgumentSource:
    """Return what arguments are made of: paths that were mentioned, words of the request, and lines that were read."""
    calls = {call.id: call for message in past.since for call in message.calls}
    paths, lines = _find_paths_and_lines(past, move, calls)
    words = [
        word for word in re.findall(r"[A-Za-z_]{4,40}", past.asked) if word.lower() not in _COMMON
    ]
    if move.path:
        paths = [move.path]
    where = tuple(paths) or ("README.md",)
    about = tuple(words) or ("TODO",)
    source = ArgumentSource(
        where, words=about, lines=tuple(lines), turn=len(calls), agent=move.agent, task=move.task
    )
    return replace(source, command=in_shell(move.command, source)) if move.command else source


def _find_paths_and_lines(
    past: _Past, move: Move, calls: Mapping[str, ToolCall]
) -> tuple[list[str], list[str]]:
    """Return the paths that were mentioned, and a line to change; with a line, only the path of its file."""
    request = Message("", "user", (Text(past.asked),))
    paths = dict.fromkeys(fact.text for fact in facts(request) if fact.kind == "path")
    lines: list[str] = []
    for message in past.since[-40:]:
        if message.result is None or message.result.is_error:
            continue
        content = message.result.content[:20_000]
        paths.update(dict.fromkeys(_FILE.findall(content)[:50]))
        read = _path_of(calls.get(message.result.call_id))
        if move.changes and read and (line := _find_unique_line(content)):
            paths = {read: None}
            lines = [line]
    return list(paths), lines


def _path_of(call: ToolCall | None) -> str:
    named = call.arguments if call is not None and isinstance(call.arguments, dict) else {}
    return next(
        (value for key, value in named.items() if isinstance(value, str) and _PATH_KEY.search(key)),
        "",
    )


def _find_unique_line(content: str) -> str:
    """Return a line that occurs once, without its line number, so that an edit can name it; empty if there is none."""
    for numbered_line in reversed(content.splitlines()):
        line = _NUMBER.sub("", numbered_line)
        if 8 < len(line) < 200 and content.count(line) == 1:
            return line
    return ""


_PATH_KEY = re.compile(r"(?i)path|file")
_NUMBER = re.compile(r"^\s*\d+(?:→|\t|\| ?|: )")
_COMMON = frozenset(
    (
        "what",
        "with",
        "this",
        "that",
        "from",
        "have",
        "will",
        "would",
        "should",
        "could",
        "please",
        "there",
        "where",
    )
)
_FILE = re.compile(r"(?m)^(?:[-rwxdl]{10}.*\s)?([\w./-]{1,120}\.\w{1,6})$")


def _report(past: _Past) -> str:
    """Return the final text: which tools were called and how the calls ended."""
    names = Counter(call.name for message in past.since for call in message.calls)
    used = ", ".join(f"{name} ({count})" for name, count in names.items())
    failed = sum(1 for message in past.since if message.result and message.result.is_error)
    failures = f"{failed} of the calls failed. " if failed else ""
    goal = " ".join(past.asked.split())[:160]
    return f"(simulated) That is done. You asked: {goal}\nI used {used or 'no tool'}. {failures}Nothing is left to do."
