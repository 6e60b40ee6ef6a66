"""The agent's script: look around, read, search, change, run, report. With whatever tools are offered.

The next move follows from the conversation alone: how many calls were made since the user's last words, what the
results showed. Arguments are made from the tool's own schema.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from inspector.core.facts import facts
from inspector.core.message import Message, Text, ToolCall
from inspector.simulated.arguments import Known, fill, in_shell, is_freeform, schema_of, words_for
from inspector.simulated.call import Call, Said
from inspector.simulated.moves import Move, farewell, handed_on, plan


@dataclass(frozen=True, slots=True)
class _Past:
    """The part of the conversation since the user spoke last."""

    asked: str
    since: Sequence[Message]

    @property
    def moves(self) -> int:
        """Calls so far; those that a compaction took away are counted by what it says of them."""
        told = sum(made(message.text) for message in self.since if message.role in _TELLING or message.summary)
        numbers = [int(found[1]) + 1 for one in self.since for call in one.calls if (found := _NUMBERED.match(call.id))]
        return max([told + sum(1 for message in self.since if message.calls), *numbers])


def made(text: str) -> int:
    """Calls that a text tells of: by our own word, else by the lines that a summary or a serialised talk has."""
    said = _COUNTED.findall(text)
    return int(said[-1]) + len(_CALLED.findall(text[text.rindex(said[-1]) :])) if said else len(_TOLD.findall(text))


def counted(messages: Sequence[Message]) -> str:
    """What a summary says, so that an agent that goes on from it does not begin again."""
    if len(messages) == 1:
        number = made(messages[0].text) or len(_CALLED.findall(messages[0].text))
    else:
        number = _past(messages).moves
    return f"Tool calls so far: {number}"


_NUMBERED = re.compile(r"(?:call|toolu)_[0-9a-f]{22}(\d\d)$")
"""Our own ids end in the number of the move: the newest calls stay, whatever a compaction leaves of the others."""
_TELLING = ("user", "system")
_COUNTED = re.compile(r"Tool calls so far: (\d{1,6})\b")
_TOLD = re.compile(r"(?m)→ tool_use: |^- .*: (?:ok|error)$")
_CALLED = re.compile(r"(?m)^\s*\[Assistant tool calls?\]|^\s*\[?tool[ _-](?:call|use)\b")
"""How clients write down the calls that they want to have summarised."""
_MACHINE = re.compile(
    r"\s*(?:[<\[(]|# AGENTS\.md|This session is being continued|Another language model started"
    r"|The conversation history before this point was compacted|\*\*\* |Previous conversation was compacted)"
)
"""Reminders and summaries travel in the user's name."""
_GOAL = re.compile(r"(?m)^Goal:\s*^- (.+)$")


def next_move(call: Call) -> Said:
    """The next tool call, or the final words."""
    past = _past(call.buffer.messages)
    tools = call.buffer.prompt.tools or ()
    steps = plan(tools, 1 + sha256(past.asked.encode("utf-8", "replace")).digest()[0] % 2)
    steps = handed_on(past.asked, tools) + steps + farewell(past.asked, tools)
    if past.moves >= len(steps):
        return Said(_report(past))
    move, tool = steps[past.moves]
    known = _known(past, move)
    arguments = words_for(tool.name, known) if is_freeform(tool.definition) else fill(schema_of(tool.definition), known)
    return Said(
        move.words, (ToolCall(f"call_{call.digest[:22]}{past.moves % 100:02d}", tool.name, arguments),), "calls"
    )


def _past(messages: Sequence[Message]) -> _Past:
    with_results = {message.together for message in messages if message.role == "tool" and message.together}
    for n in range(len(messages) - 1, -1, -1):
        message = messages[n]
        if message.role == "user" and message.together not in with_results and (typed := _typed(message)):
            return _Past(typed, messages[n + 1 :])
    goals = (found[1] for message in messages if (found := _GOAL.search(message.text)))
    return _Past(next(goals, ""), messages)


def _typed(message: Message) -> str:
    """What the user wrote by hand: reminders stand beside it in the same message."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    return "\n".join(text for text in texts if text.strip() and not _MACHINE.match(text))


def _known(past: _Past, move: Move) -> Known:
    """What arguments can be made of: paths that were named, words that were asked for, lines that were read."""
    paths = dict.fromkeys(fact.text for fact in facts(Message("", "user", (Text(past.asked),))) if fact.kind == "path")
    calls = {call.id: call for message in past.since for call in message.calls}
    lines: list[str] = []
    for message in past.since[-40:]:
        if message.result is None or message.result.is_error:
            continue
        content = message.result.content[:20_000]
        paths.update(dict.fromkeys(_FILE.findall(content)[:50]))
        read = _path_of(calls.get(message.result.call_id))
        if move.changes and read and (found := _unlike_any_other(content)):
            paths, lines = {read: None}, [found]
    words = [word for word in re.findall(r"[A-Za-z_]{4,40}", past.asked) if word.lower() not in _COMMON]
    only = (move.path,) if move.path else ()
    where, about = only or tuple(paths) or ("README.md",), tuple(words) or ("TODO",)
    known = Known(where, about, tuple(lines), len(calls), agent=move.agent, task=move.task)
    return replace(known, command=in_shell(move.command, known)) if move.command else known


def _path_of(call: ToolCall | None) -> str:
    """The file that a call named."""
    named = call.arguments if call is not None and isinstance(call.arguments, dict) else {}
    return next((value for key, value in named.items() if isinstance(value, str) and _PATH_KEY.search(key)), "")


def _unlike_any_other(content: str) -> str:
    """A line that can be named for a change, without the number that a tool put before it; empty: there is none."""
    lines = [_NUMBER.sub("", line) for line in content.splitlines()]
    return next((line for line in reversed(lines) if 8 < len(line) < 200 and content.count(line) == 1), "")


_PATH_KEY = re.compile(r"(?i)path|file")
_NUMBER = re.compile(r"^\s*\d+(?:→|\t|\| ?|: )")
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
