"""A live run out of any transcript: the buffer of one of its requests, made so that a provider takes it.

What had to be changed for that is said, sentence by sentence; messages that need no change stay the same objects.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from inspector.agent.tools.toolbox import prompt
from inspector.core.buffer import Buffer, Prompt
from inspector.core.message import Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Session, Thread
from inspector.core.validity import check, repair
from inspector.core.words import plural

System: TypeAlias = Literal["recorded", "ours"]
BEGINNING = "(The conversation begins in the middle: what was before is not known.)"
_GOOD_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""What every provider takes for the id of a call."""


@dataclass(frozen=True, slots=True)
class Fork:
    """`start` and `forked_from` of a Plan, and what was changed, in sentences."""

    start: Buffer
    forked_from: dict[str, Json]
    changes: tuple[str, ...]


def fork(
    session: Session,
    thread: Thread,
    at: int | None,
    workspace: Path,
    buffer: Buffer | None = None,
    system: System = "recorded",
) -> Fork:
    """Begin at request `at` (None = after the last record). `buffer`: what was made of it by hand.

    The tools are ours; the system prompt is the transcript's own where it holds one, unless `system` says otherwise.
    """
    changes: list[str] = []
    if buffer is not None:
        changes.append("The buffer was changed by hand before it was forked.")
    else:
        buffer = thread.place(at).buffer()
    start = Buffer(_taken(buffer.messages, changes), _prompt(buffer.prompt, workspace.resolve(), system, changes))
    place: dict[str, Json] = {"path": session.path, "session": session.id, "format": session.format}
    source: dict[str, Json] = {**place, "thread": thread.id, "request": at, "model": thread.model, "changes": changes}
    return Fork(start, source, tuple(changes))


def _prompt(recorded: Prompt, workspace: Path, system: System, changes: list[str]) -> Prompt:
    ours = prompt(workspace)
    if recorded.tools is None:
        changes.append("The transcript does not hold its tools: the run has its own.")
    elif recorded.tools != ours.tools:
        changes.append(f"Its {plural(len(recorded.tools), 'tool')} gave way to the run's own {len(ours.tools or ())}.")
    if system == "recorded" and recorded.system:
        return Prompt(recorded.system, ours.tools)
    changes.append(
        "Its system prompt was replaced by the run's own."
        if recorded.system
        else "The transcript does not hold its system prompt: the run has its own."
    )
    return ours


def _taken(messages: Sequence[Message], changes: list[str]) -> tuple[Message, ...]:
    """The messages as every provider takes them."""
    kept = _filled(messages, changes)
    kept = _named(kept, changes)
    kept = _paired(kept, changes)
    first = next((message for message in kept if message.role != "system"), None)
    if first is not None and first.role == "assistant":
        changes.append("A user message was put before the assistant's first one.")
        kept = (Message(f"before-{first.id}", "user", (Text(BEGINNING),), mark="meta"), *kept)
    sealed = sum(isinstance(part, Opaque | Thinking) for message in kept for part in message.parts)
    if sealed:
        changes.append(
            f"Not sent: {plural(sealed, 'part')} that only their own provider can read (thinking among them)."
        )
    return kept


def _filled(messages: Sequence[Message], changes: list[str]) -> tuple[Message, ...]:
    """Without text parts that say nothing, and without messages that hold nothing a provider would be sent."""
    kept: list[Message] = []
    for message in messages:
        parts = tuple(part for part in message.parts if not (isinstance(part, Text) and not part.text.strip()))
        if any(not isinstance(part, Thinking) for part in parts):
            kept.append(message if len(parts) == len(message.parts) else replace(message, parts=parts))
    if len(kept) < len(messages):
        changes.append(f"Left out: {plural(len(messages) - len(kept), 'message')} without content.")
    return tuple(kept)


def _named(messages: Sequence[Message], changes: list[str]) -> tuple[Message, ...]:
    """Ids of calls that every provider takes, each used once; a result follows the newest call of its id."""
    names: dict[str, str] = {}
    used = set[str]()
    found: list[Message] = []
    renamed = 0
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            new = part
            if isinstance(part, ToolCall):
                name, n = _good(part.id), 2
                while name in used:
                    name, n = _good(f"{part.id}~{n}"), n + 1
                used.add(name)
                names[part.id] = name
                new = part if name == part.id else replace(part, id=name)
                renamed += name != part.id
            elif isinstance(part, ToolResult) and names.get(part.call_id, part.call_id) != part.call_id:
                new = replace(part, call_id=names[part.call_id])
            parts.append(new)
        same = all(one is other for one, other in zip(parts, message.parts, strict=True))
        found.append(message if same else replace(message, parts=tuple(parts)))
    if renamed:
        changes.append(
            f"Another id for {plural(renamed, 'tool call')}: theirs was used twice, or not every provider takes it."
        )
    return tuple(found)


def _good(name: str) -> str:
    if _GOOD_ID.fullmatch(name):
        return name
    return f"call_{sha256(name.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _paired(messages: tuple[Message, ...], changes: list[str]) -> tuple[Message, ...]:
    """Every result right after its call, every call with one result."""
    bad = [one.rule for one in check(Buffer(messages))]
    if "order" in bad or "duplicate-answer" in bad:
        messages = tuple(_ordered(messages))
        changes.append("Tool results were put right after their calls, each once.")
    mended = repair(Buffer(messages), None)
    for event in mended.events:
        dropped, answered = (event.fields.get(name) for name in ("dropped_results", "answered_calls"))
        if isinstance(dropped, int) and dropped:
            changes.append(f"Left out: {plural(dropped, 'tool result')} without a call.")
        if isinstance(answered, int) and answered:
            changes.append(f"Given a result that says so: {plural(answered, 'tool call')} without one.")
    return mended.buffer.messages


def _ordered(messages: Sequence[Message]) -> Iterator[Message]:
    results: dict[str, Message] = {}
    for message in messages:
        if message.result is not None:
            results.setdefault(message.result.call_id, message)
    owed: list[Message] = []
    for message in messages:
        if message.role != "assistant":
            yield from owed
            owed.clear()
        if message.result is not None:
            continue
        yield message
        owed += (results.pop(call.id) for call in message.calls if call.id in results)
    yield from owed
