"""A summariser that needs no model: it copies sentences and writes none. Deterministic; its text begins with a label.

Goal: the user's own sentences. Accomplished: tool calls and whether they succeeded. Key Decisions: sentences that
announce a choice, and errors. Relevant Files: the paths of tool calls, changed files first.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inspector.core.calls import COMMAND_KEYS, FILE_KEYS, first_text
from inspector.core.facts.reading import facts, instructions
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message, Text, ToolCall
from inspector.core.needs import Summarize

LABEL = "(offline summary: extracted from the messages, not written by a model)"
LONGEST_LINE = 200
GOALS, ACTIONS, DECISIONS, ERRORS, FILES = 6, 10, 8, 6, 20

_DECISION = re.compile(
    r"(?i)\b(?:decid|instead of|rather than|because|the (?:cause|problem|bug|fix|reason) is"
    r"|i(?:'ll| will) (?:use|keep|not)|we (?:should|need|must)|root cause|turns out|chose|prefer)"
    r"|决定|原因|因为|改用|而不是|问题在于"
)
_WRITES = ("edit", "write", "patch", "create", "replace", "multiedit", "notebookedit")


@dataclass
class _Extract:
    goals: dict[str, None] = field(default_factory=dict)
    actions: dict[str, None] = field(default_factory=dict)
    decisions: dict[str, None] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)


def summarise(need: Summarize) -> str:
    """Return the summary for a need: four sections with headers. Uses the need's text if it has no messages."""
    messages = need.source or need.messages
    extract = _collect(messages) if messages else _from_text(need.text)
    goals = _first_and_last(list(extract.goals), GOALS)
    actions = list(extract.actions)[-ACTIONS:]
    decisions = list(extract.decisions)[-DECISIONS:]
    errors = list(extract.errors)[-ERRORS:]
    files = [f"{path} (changed)" for path in extract.written]
    files += [path for path in extract.seen if path not in extract.written]
    sections = (
        _section("Goal", goals, nothing="not stated by the user"),
        _section("Accomplished", actions, nothing="no tool was used"),
        _section("Key Decisions", decisions + errors, nothing="none stated"),
        _section("Relevant Files", files[:FILES], nothing="none named"),
    )
    return "\n".join([LABEL, *sections])


def _section(title: str, lines: Sequence[str], nothing: str) -> str:
    if not lines:
        return f"{title}: {nothing}"
    return "\n".join([f"{title}:", *(f"- {_short(line)}" for line in lines)])


def _first_and_last(lines: list[str], limit: int) -> list[str]:
    """Return at most `limit` lines: the first half of them from the beginning, the other half from the end."""
    if len(lines) <= limit:
        return lines
    first_count = limit // 2
    last_count = limit - first_count
    return [*lines[:first_count], *lines[-last_count:]]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _collect(messages: Iterable[Message]) -> _Extract:
    extract = _Extract()
    names = dict[str, str]()
    for message in messages:
        extract.goals.update((fact.text, None) for fact in instructions(message))
        for part in message.parts:
            if isinstance(part, ToolCall):
                about = first_text(part.arguments, (*COMMAND_KEYS, *FILE_KEYS))
                names[part.id] = f"{part.name} {_short(about)}" if about else part.name
                _add_files(part, extract)
            elif isinstance(part, Text) and message.role == "assistant":
                extract.decisions.update(dict.fromkeys(_decisions(part.text)))
        result = message.result
        if result is not None:
            state = "error" if result.is_error else "ok"
            extract.actions[f"{names.get(result.call_id, 'tool')}: {state}"] = None
            if result.is_error:
                extract.errors[f"error: {_short(result.content)}"] = None
    return extract


def _from_text(text: str) -> _Extract:
    extract = _Extract()
    lines = text.splitlines()
    goals = [line.removeprefix("User: ") for line in lines if line.startswith("User: ")]
    extract.goals.update(dict.fromkeys(goals))
    extract.decisions.update(dict.fromkeys(_decisions(text)))
    for fact in facts(Message("", "assistant", (Text(text),))):
        if fact.kind == "path":
            extract.seen[fact.text] = None
        elif fact.kind == "error":
            extract.errors[fact.text] = None
    tools = [line.split("tool_use: ", 1)[1] for line in lines if "→ tool_use: " in line]
    for name in dict.fromkeys(tools):
        extract.actions[f"{name} called {tools.count(name)} times"] = None
    return extract


def _decisions(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if _DECISION.search(sentence)]


def _add_files(call: ToolCall, extract: _Extract) -> None:
    if not isinstance(call.arguments, dict):
        return
    is_writing = any(word in call.name.lower() for word in _WRITES)
    files = extract.written if is_writing else extract.seen
    for key in FILE_KEYS:
        value = call.arguments.get(key)
        if isinstance(value, str) and value:
            files[value] = None
