"""The agent's script: look around, read, search, change, run, report. With whatever tools are offered.

The next move follows from the conversation alone: how many calls were made since the user's last words, what the
results showed. Arguments are made from the tool's own schema.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from inspector.core.buffer import Tool
from inspector.core.facts import facts
from inspector.core.message import Message, ToolCall
from inspector.live.simulated.arguments import Known, fill, schema_of
from inspector.live.simulated.call import Call, Said


@dataclass(frozen=True, slots=True)
class Move:
    """What a tool is used for, what is said with it, the names that such a tool has, the only path it is given."""

    words: str
    names: re.Pattern[str]
    path: str = ""


MOVES = (
    Move("I will look around first.", re.compile(r"(?i)(?:^|_)(?:ls|list|glob|find|tree)|list_?(?:dir|files)"), "."),
    Move("Let me read what is there.", re.compile(r"(?i)read|view|cat|open|fetch|get")),
    Move("Now I look for the place that matters.", re.compile(r"(?i)grep|search|find|query|lookup"), "."),
    Move("This is the line to change.", re.compile(r"(?i)edit|replace|patch|update")),
    Move("I write down what I found.", re.compile(r"(?i)write|create|save"), "SIMULATED.md"),
    Move("Let me see whether it works.", re.compile(r"(?i)bash|shell|run|exec|command|terminal|test")),
)
AGAIN = Move("And the next one.", MOVES[1].names)
ANY = Move("I will use what there is.", re.compile(""))


@dataclass(frozen=True, slots=True)
class _Past:
    """The part of the conversation since the user spoke last."""

    asked: str
    since: Sequence[Message]

    @property
    def moves(self) -> int:
        """Calls so far; those that a compaction took away are counted by what it says of them."""
        told = sum(len(_TOLD.findall(message.text)) for message in self.since if message.role == "user")
        return told + sum(1 for message in self.since if message.calls)


_TOLD = re.compile(r"(?m)→ tool_use: |^- .*: (?:ok|error)$")
_MACHINE = re.compile(r"\s*[<\[(]")
"""Reminders and summaries travel in the user's name."""


def next_move(call: Call) -> Said:
    """The next tool call, or the final words."""
    past = _past(call.buffer.messages)
    plan = _plan(past.asked, call.buffer.prompt.tools or ())
    if past.moves >= len(plan):
        return Said(_report(past))
    move, tool = plan[past.moves]
    arguments = fill(schema_of(tool.definition), _known(call.buffer.messages, past, move))
    return Said(move.words, (ToolCall(f"call_{call.digest}", tool.name, arguments),), "calls")


def _past(messages: Sequence[Message]) -> _Past:
    with_results = {message.together for message in messages if message.role == "tool" and message.together}
    for n in range(len(messages) - 1, -1, -1):
        message = messages[n]
        typed = message.role == "user" and message.text.strip() and not _MACHINE.match(message.text)
        if typed and message.together not in with_results:
            return _Past(message.text, messages[n + 1 :])
    return _Past("", messages)


def _plan(asked: str, tools: Sequence[Tool]) -> list[tuple[Move, Tool]]:
    """The moves for which there is a tool, in order; how often it reads depends on what was asked."""
    found: list[tuple[Move, Tool]] = []
    for move in MOVES:
        used = [tool for _, tool in found]
        tool = next((one for one in tools if move.names.search(one.name) and one not in used), None)
        if tool is not None:
            found.append((move, tool))
    if not found:
        return [(ANY, tools[0])]
    reads = [(AGAIN, tool) for move, tool in found if move is MOVES[1]]
    more = 1 + sha256(asked.encode("utf-8", "replace")).digest()[0] % 2
    return found[:2] + reads * more + found[2:]


def _known(messages: Sequence[Message], past: _Past, move: Move) -> Known:
    """What arguments can be made of: paths that were named, words that were asked for, lines that were read."""
    paths: dict[str, None] = {}
    lines: list[str] = []
    for message in messages[-40:]:
        if message.result is not None:
            paths.update(dict.fromkeys(_FILE.findall(message.result.content[:20_000])[:50]))
            lines += [line for line in message.result.content[:20_000].splitlines() if 8 < len(line) < 200]
        paths.update((fact.text, None) for fact in facts(message) if fact.kind == "path")
    words = [word for word in re.findall(r"[A-Za-z_]{4,40}", past.asked) if word.lower() not in _COMMON]
    calls = sum(len(message.calls) for message in past.since)
    only = (move.path,) if move.path else ()
    return Known(only or tuple(paths) or ("README.md",), tuple(words) or ("TODO",), tuple(lines), calls)


_COMMON = frozenset(
    ("what", "with", "this", "that", "from", "have", "will", "would", "should", "could", "please", "there", "where")
)
_FILE = re.compile(r"(?m)^(?:[-rwxdl]{10}.*\s)?([\w./-]{1,120}\.\w{1,6})$")


def _report(past: _Past) -> str:
    """The final words: what was called and how it went."""
    used = _counted(call.name for message in past.since for call in message.calls)
    failed = sum(1 for message in past.since if message.result and message.result.is_error)
    told = f"{failed} of the calls failed. " if failed else ""
    goal = " ".join(past.asked.split())[:160]
    return f"(simulated) That is done. You asked: {goal}\nI used {used or 'no tool'}. {told}Nothing is left to do."


def _counted(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(f"{name} ({listed.count(name)})" for name in dict.fromkeys(listed))
