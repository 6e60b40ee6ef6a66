"""Read Mistral Vibe's sessions: `messages.jsonl`, and `meta.json` beside it with system prompt, tools and totals.

Only the last call's tokens are recorded. The tokens of earlier calls are only in the totals of the session.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt
from inspector.core.dialects.openai_chat import CHAT
from inspector.core.formats.format import (
    AgentFolder,
    Contents,
    DocumentReader,
    FedValues,
    Format,
    Head,
)
from inspector.core.formats.growing import GrowingThread, measured
from inspector.core.formats.reading import ProblemList
from inspector.core.formats.signs import FileSign, FileSigns
from inspector.core.session import Session
from inspector.core.untyped import count_of, object_of, objects_of, text_of
from inspector.core.usage import Usage

NAME = "vibe"
_MESSAGES, _META = "messages.jsonl", "meta.json"
_ROLES = ("user", "assistant", "tool")


def _is_meta(value: Any) -> bool:
    stats = object_of(value, "stats")
    return "session_prompt_tokens" in stats and "session_id" in value and "environment" in value


_SIGNS = FileSigns(
    FileSign(_is_meta, "document"),
    FileSign({"role": "|".join(_ROLES), "message_id": "<text>"}, "every", sure=0.95),
)


def companions(path: PurePath) -> Sequence[str]:
    """Return the name of the other file: `meta.json` for the messages, `messages.jsonl` for the metadata."""
    return {_MESSAGES: (_META,), _META: (_MESSAGES,)}.get(path.name, ())


def is_companion(head: Head, session: Session) -> bool:
    """Is the file the messages or the metadata? A folder holds only one session."""
    del session
    return _SIGNS(head) > 0 or all(
        isinstance(value, Mapping) and "role" in value for value in head.values
    )


def read(fed: FedValues) -> Session:
    """Read the messages with their metadata."""
    problems = ProblemList()
    meta = dict[str, Any]()
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for line, value, file in fed:
        if _is_meta(value):
            meta = value
        elif isinstance(value, Mapping) and value.get("role") in _ROLES:
            rows.append((line, value))
        else:
            problems.note(line, "not a message", value, file)
    thread = GrowingThread(title=text_of(meta.get("title")))
    thread.prompt = _prompt(meta)
    answers = [n for n, (_, row) in enumerate(rows) if row["role"] == "assistant"]
    usage = _usage(object_of(meta, "stats")) if meta.get("total_messages") == len(rows) else None
    for n, (line, row) in enumerate(rows):
        if row["role"] == "assistant":
            thread.call(usage if n == answers[-1] else None, _model(meta), line=line)
        thread.hear(CHAT, [row], text_of(row.get("message_id")) or f"m{n}", line)
    name = text_of(meta.get("session_id"))
    notes = tuple(_notes(meta))
    return Session(NAME, (thread.thread(),), problems, client="Mistral Vibe", id=name, notes=notes)


def _prompt(meta: Mapping[str, Any]) -> Prompt:
    """Return system prompt and tools. An empty list means that no tools were offered; a missing list is unknown."""
    if not meta:
        return NOT_IN_FILE
    system = meta.get("system_prompt")
    tools = meta.get("tools_available")
    read = CHAT.prompt(
        {"messages": [system] if isinstance(system, Mapping) else [], "tools": tools}
    )
    return Prompt(read.system or None, read.tools if isinstance(tools, list) else None)


def _usage(stats: Mapping[str, Any]) -> Usage | None:
    """Return the usage of the last call; None if prompt and answer do not add up to the context tokens.

    In that case the recorded numbers are not those of one call.
    """
    prompt, output = (
        count_of(stats.get(f"last_turn_{name}_tokens")) for name in ("prompt", "completion")
    )
    read = min(prompt, count_of(stats.get("last_turn_cached_tokens")))
    return (
        measured(Usage(prompt - read, read, output=output))
        if prompt + output == stats.get("context_tokens")
        else None
    )


def _model(meta: Mapping[str, Any]) -> str:
    """Return the provider's name of the model, for which the configuration uses an alias."""
    config = object_of(meta, "config")
    short = text_of(config.get("active_model"))
    models = objects_of(config.get("models"))
    named = next(
        (text_of(model.get("name")) for model in models if model.get("alias") == short), ""
    )
    return text_of(meta.get("model")) or named or short


def _notes(meta: Mapping[str, Any]) -> Sequence[str]:
    if not meta:
        return (
            "What Vibe writes beside the messages (meta.json: system prompt, tools, tokens) was not found.",
        )
    stats = object_of(meta, "stats")
    prompt, output = (
        count_of(stats.get(f"session_{name}_tokens")) for name in ("prompt", "completion")
    )
    return (
        (
            f"All calls of the session together: {prompt:,} tokens of prompts, {output:,} of answers.",
        )
        if prompt
        else ()
    )


FORMAT = Format(
    NAME,
    title="Mistral Vibe session",
    sniff=_SIGNS,
    start=partial(DocumentReader, read),
    companions=companions,
    is_companion=is_companion,
    grows=True,
    of_folder=(_MESSAGES, _META),
    folders=(AgentFolder("logs/session/*/messages.jsonl", ".vibe", "VIBE_HOME"),),
    contents=Contents(
        "of the last call", system="yes", tools="yes", more="`messages.jsonl` with `meta.json`"
    ),
)
