"""Cline's sessions since 4.0: `ID.messages.json`, rewritten as it grows, and the files beside it.

Every answer holds the usage of its call. `ID.compaction.json` describes the last compaction: the messages that replace
the first messages of the session, and how many they replace. Earlier compactions are not recorded. Agents that the
session started have separate files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from inspector.core.buffer import Prompt
from inspector.core.dialects.anthropic import ANTHROPIC
from inspector.core.formats.format import (
    AgentFolder,
    Contents,
    DocumentReader,
    FedValues,
    Format,
    Head,
)
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.reading import ProblemList, iso_time
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.jsontext import dumps
from inspector.core.message import Message
from inspector.core.session import Compaction, Session
from inspector.core.untyped import count_of, object_of, objects_of, text_at
from inspector.core.usage import Usage

NAME = "cline-session"
_MESSAGES = ".messages.json"
_LEAD = "lead"
_COUNTS = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")


def is_messages(value: Any) -> bool:
    """Is this a messages file: a list of messages with the agent and the session to which they belong?"""
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list):
        return False
    return value.get("agent") in (_LEAD, "subagent", "teammate") and bool(
        text_at(value, "sessionId")
    )


def companions(path: PurePath) -> Sequence[str]:
    """Return globs for the session's description, its compaction, and the messages of the agents that it started."""
    stem = path.name.removesuffix(_MESSAGES)
    return (f"{stem}.json", f"{stem}.compaction.json", f"*{_MESSAGES}") if stem != path.name else ()


def is_companion(head: Head, session: Session) -> bool:
    """Does the file name this session, or is it the compaction file, which names none?"""
    value = head.document
    if is_messages(value):
        return bool(value["agent"] != _LEAD and value["sessionId"] == session.id)
    return text_at(value, "session_id") == session.id or _is_compaction(value)


def _is_compaction(value: Any) -> bool:
    return isinstance(value, Mapping) and "source_message_count" in value


def read(fed: FedValues) -> Session:
    """Read the files of one session."""
    problems = ProblemList()
    main = dict[str, Any]()
    main_line = 0
    about = dict[str, Any]()
    compacted = dict[str, Any]()
    agents = dict[str, tuple[Mapping[str, Any], int]]()
    for line, value, file in fed:
        if is_messages(value) and not file:
            main, main_line = value, line
        elif is_messages(value):
            agents[file] = value, line
        elif _is_compaction(value):
            compacted = value
        elif file and isinstance(value, Mapping):
            about = dict(value)
        else:
            problems.note(line, "no messages of a session", value, file)
    threads = [GrowingThread()]
    _lay(threads[0], main, main_line, compacted, text_at(about, "model"), problems)
    for file, (value, line) in sorted(agents.items()):
        name = PurePath(file).name.removesuffix(_MESSAGES)
        threads.append(GrowingThread(name, text_at(value, "taskType"), "main"))
        _lay(threads[-1], value, line, {}, "", problems)
    finished = tuple(thread.thread() for thread in threads)
    return Session(NAME, finished, problems, client="Cline", id=text_at(main, "sessionId"))


def _lay(
    thread: GrowingThread,
    value: Mapping[str, Any],
    line: int,
    compacted: Mapping[str, Any],
    model: str,
    problems: ProblemList,
) -> None:
    rows = objects_of(value.get("messages"))
    thread.prompt, thread.model = Prompt(text_at(value, "system_prompt") or None), model
    metrics = [object_of(row, "metrics") for row in rows]
    beside = any(_parts(used)[0] < sum(_parts(used)[1:3]) for used in metrics)
    compacted_before = compacted.get("source_message_count")
    by_content: dict[str, list[Sequence[Message]]] = {}
    for n, (row, used) in enumerate(zip(rows, metrics, strict=True)):
        if n == compacted_before:
            _compact(thread, compacted, by_content, line)
        wire = _wire(row)
        time = iso_time(row.get("ts"))
        if row.get("role") == "assistant":
            problems.note_absurd(used, line, used)
            model_id = text_at(object_of(row, "modelInfo"), "id")
            thread.call(_usage(used, beside), model_id, time, "", line)
        before = thread.view().length
        thread.hear(ANTHROPIC, [wire], text_at(row, "id") or f"m{n}", line, time)
        by_content.setdefault(dumps(wire), []).append(thread.view().tail(before))
    if len(rows) == compacted_before:
        _compact(thread, compacted, by_content, line)


def _compact(
    thread: GrowingThread,
    compacted: Mapping[str, Any],
    by_content: Mapping[str, list[Sequence[Message]]],
    line: int,
) -> None:
    """Replace the buffer with the messages of the compaction file; the first new message is the summary."""
    time = text_at(compacted, "updated_at")
    placed: list[tuple[bool, Sequence[Message]]] = []
    # Of several equal messages the last is kept.
    for row in reversed(objects_of(compacted.get("messages"))):
        wire = _wire(row)
        if old := by_content.get(dumps(wire)):
            placed.append((True, old.pop()))
        else:
            placed.append((False, _new(wire, len(placed), line, time)))
    placed.reverse()
    kept_count = sum(len(messages) for is_old, messages in placed if is_old)
    new_places = [n for n, (is_old, messages) in enumerate(placed) if messages and not is_old]
    summary = None
    first_new = len(placed)
    rest = list[tuple[bool, Sequence[Message]]]()
    if new_places:
        first_new = new_places[0]
        summary_message, *others = placed[first_new][1]
        summary = replace(summary_message, summary=True)
        rest = [(False, others), *placed[first_new + 1 :]]
    before = [message for _, messages in placed[:first_new] for message in messages]
    thread.begin_again(
        before,
        Compaction(
            before_request=0, trigger="", summary=summary, kept=kept_count, line=line, time=time
        ),
    )
    for is_old, messages in rest:
        if is_old:
            thread.repeat(messages)
        else:
            thread.say(messages)


def _new(wire: Any, number: int, line: int, time: str) -> Sequence[Message]:
    units = ANTHROPIC.units([wire], line, time)
    return [
        replace(message, id=f"compacted {number}", mark="meta")
        for unit in units
        for message in unit
    ]


def _wire(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as an Anthropic message. Only images have another form in the file."""
    content = row.get("content")
    blocks = [_block(block) for block in content] if isinstance(content, list) else content
    return {"role": row.get("role"), "content": blocks}


def _block(block: Any) -> Any:
    if (
        isinstance(block, Mapping)
        and block.get("type") == "image"
        and isinstance(data := block.get("data"), str)
    ):
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": block.get("mediaType"), "data": data},
        }
    return block


def _parts(used: Mapping[str, Any]) -> tuple[int, int, int, int]:
    prompt, read, written, output = (count_of(used.get(key)) for key in _COUNTS)
    return prompt, read, written, output


def _usage(used: Mapping[str, Any], beside: bool) -> Usage | None:
    """Return the usage of a call; None if not recorded.

    `beside` is True if `inputTokens` excludes cached tokens: some call of the file has more cached than input tokens.
    """
    prompt, read, written, output = _parts(used)
    return (
        measured(
            Usage(
                prompt if beside else prompt - read - written,
                read,
                cache_write=written,
                output=output,
            )
        )
        if used
        else None
    )


FORMAT = Format(
    NAME,
    title="Cline session (4.0 and later)",
    sniff=FileSigns(FileSign(is_messages, "document")),
    start=partial(DocumentReader, read),
    companions=companions,
    is_companion=is_companion,
    grows=True,
    folders=(AgentFolder("*/*.messages.json", ".cline/data/sessions", "CLINE_SESSION_DATA_DIR"),),
    contents=Contents(
        tokens="yes", system="yes", more="`*.messages.json`, with the files beside it"
    ),
)
