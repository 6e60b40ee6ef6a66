"""Formats that are recognised but cannot be read yet: each gets a name, so that its user learns what the file is."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.formats.format import Head


def recognise(head: Head) -> str:
    """What the file is, for a sentence ("a HAR web capture, which ..."); empty where it is nothing that we know of."""
    title = _title(head)
    return title if title in _WHOLE else f"{title}, which cannot be read yet"


def _title(head: Head) -> str:
    if title := _by_bytes(head.data):
        return title
    first = head.document if head.document is not None else next(iter(head.values), None)
    if isinstance(first, list):
        return _list(first)
    return _object(first, head.values) if isinstance(first, Mapping) else ""


def _by_bytes(data: bytes) -> str:
    start = data[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data.startswith(b"PK\x03\x04"):
        inspect = b"header.json" in data or b"_journal/" in data or b"samples/" in data
        return "an Inspect .eval log" if inspect else "a zip archive"
    if data[:4] in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"):
        return _WAL
    if data.startswith(b"SQLite format 3\x00"):
        return "an SQLite database of no agent that is known"
    if start.startswith(b"interactions:") or b"\ninteractions:" in start:
        return "a VCR cassette in which no model is asked in words that are known here"
    if b"# aider chat started at" in data:
        return "an Aider chat log"
    return _ANSWER if _EVENTS.match(start) else ""


_EVENTS = re.compile(rb"(?:(?:(?:event|id|retry)?:[^\n]*)?\r?\n){0,9}data: ?\{")
_ANSWER = (
    "the stream of an answer alone: what was asked is not in it. Open the body of the request, a capture that holds"
    " both (HAR, for one), or record the calls with `context-inspector proxy`"
)
_NOTE = "the note beside a sub-agent of Claude Code: open the .jsonl of that name"
_PRINTED = (
    "what an agent printed of a run: what it sent is not in it. Open the session that it wrote under its own folder"
    " (`context-inspector sessions` lists them)"
)
_ANSWERS = "the answers of a batch alone: what was asked stands in the file that was sent for them"
_WAL = "the write-ahead log of a database: open the database beside it, whose name it has"
_WHOLE = ("", _NOTE, _ANSWER, _ANSWERS, _PRINTED, _WAL)
_OBJECTS: Sequence[tuple[frozenset[str], str]] = tuple(
    (frozenset(keys.split()), title)
    for keys, title in (
        ("session agent task packets", "a claude-tap capture in which no model is asked in words that are known here"),
        ("v agent cli_version ts content", "an Entire compact transcript (the session is full.jsonl beside it)"),
        ("agentType toolUseId", _NOTE),
        ("custom_id response error", _ANSWERS),
        ("custom_id result", _ANSWERS),
        ("chat_messages uuid name", "an export of claude.ai's chats"),
        ("mapping current_node title", "an export of ChatGPT's chats"),
        ("type subtype session_id result num_turns", _PRINTED),
        ("response stats session_id", _PRINTED),
        ("type timestamp sessionID part", _PRINTED),
        ("turn timestamp messages response", "a list of captured turns (claude-tap)"),
    )
)


def _object(first: Mapping[str, Any], values: Sequence[Any]) -> str:
    if (log := first.get("log")) and isinstance(log, Mapping) and "entries" in log:
        return "a HAR web capture in which no model is asked in words that are known here"
    if first.get("type") == "session" and "trace_id" in first:
        return "an LHAR capture"
    if first.get("type") == "thread.started" and "thread_id" in first:  # codex exec --json
        return _PRINTED
    request = first.get("request")
    if isinstance(request, Mapping) and "response" in first and ("method" in request or "headers" in request):
        return "a proxy log in which no model is asked in words that are known here"
    return next((title for keys, title in _OBJECTS if keys <= first.keys()), "")


def _list(rows: Sequence[Any]) -> str:
    some = [row for row in rows[:20] if isinstance(row, Mapping)]
    return next((title for keys, title in _OBJECTS if some and keys <= some[0].keys()), "")
