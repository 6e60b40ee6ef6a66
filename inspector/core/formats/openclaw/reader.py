"""Read OpenClaw sessions: pi sessions, completed by the files beside them.

A trajectory records the system prompt and the tools of each run. `sessions.json` records the context window and the
session that started this session. Since 2026.8 the lines are rows of a database (`transcripts.stores`):
`{"table": "openclaw.transcript_events", "row": {"seq": ..., "event_json": ...}}`. A preceding `openclaw.database` row
lists the sessions of the database.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import NOT_IN_FILE, Prompt, View
from inspector.core.formats.openclaw.trajectory import SCHEMA, compiled_prompt, is_runtime_context
from inspector.core.formats.pi.reader import PiReader
from inspector.core.formats.pi.tree import EntryNode, settle
from inspector.core.formats.reading import RecordPosition
from inspector.core.prefix import Prefix
from inspector.core.session import HeldSession, Request, Session
from inspector.core.untyped import count_of, object_of, objects_of, text_at, text_of
from inspector.core.usage import Usage

NAME = "openclaw"
_DATABASE = "openclaw.database"
_GATEWAY = "openclaw"
"""The provider of answers that OpenClaw wrote itself, without a model call."""


class OpenClawReader(PiReader):
    """The `Reader` of OpenClaw sessions and their companion files."""

    def __init__(self) -> None:
        super().__init__()
        self._times: list[str] = []
        self._prompts: list[Prompt] = []
        """System prompt and tools in force from each of `_times` on."""
        self._index: Mapping[str, Any] = {}
        self._beside = 0
        """Number of records taken from companion files."""
        self._runtime: set[str] = set()
        """Ids of records that are sent with a single prompt only."""
        self._told: list[Request] = []
        """The requests with prompt and window from the companion files."""
        self._told_with = 0
        """Value of `_beside` for which `_told` was built."""
        self._held: tuple[HeldSession, ...] = ()
        """The sessions of a database."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a record of the session or of its trajectory, a row of the database, or the index."""
        if is_row(value):
            row = object_of(value, "row")
            if value["table"] == _DATABASE:
                rows = objects_of(row.get("held"))
                self._held = tuple(
                    HeldSession(text_at(row, "id"), text_at(row, "title")) for row in rows
                )
            elif "event_json" in row:
                super().feed(1 + count_of(row.get("seq")), row["event_json"])
        elif not file:
            super().feed(line, value)
        elif isinstance(value, dict) and value.get("traceSchema") == SCHEMA:
            if value.get("type") == "context.compiled":
                self._times.append(
                    max(text_of(value.get("ts")), self._times[-1] if self._times else "")
                )
                self._prompts.append(compiled_prompt(value.get("data")))
                self._beside += 1
        else:
            self._index = entry_of(value, text_at(self._header, "id")) or self._index
            self._beside += 1

    def _take(
        self, kind: str, value: Mapping[str, Any], where: RecordPosition, node: EntryNode
    ) -> None:
        if kind == "custom_message" and is_runtime_context(value):
            self._runtime.add(where.id)
        elif (
            self._runtime
            and kind == "message"
            and object_of(value, "message").get("role") == "user"
        ):
            node.edits = dict.fromkeys(self._stale(settle(node)))
            node.pending = bool(node.edits)
        super()._take(kind, value, where, node)

    def _stale(self, view: View) -> Iterator[str]:
        """Yield the ids of runtime contexts that were sent with the last prompt only. O(messages since that prompt)."""
        beside, prompt = True, False
        for message in view.backwards():
            if message.id not in self._runtime:
                if prompt:
                    return
                beside = False
                prompt = message.role == "user" and not message.mark
            elif not beside:
                yield message.id

    def _is_call(self, message: Mapping[str, Any], usage: Usage | None) -> bool:
        return message.get("provider") != _GATEWAY and super()._is_call(message, usage)

    def session(self) -> Session:
        """Return the session so far. O(new requests), or O(all requests) after a new record of a companion file."""
        session = super().session()
        notes = [*session.notes, *(_started_by(self._index))]
        held = self._held if len(self._held) > 1 else ()
        session = replace(session, format=NAME, client="OpenClaw", notes=tuple(notes), held=held)
        if not self._beside:
            return session
        if self._told_with != self._beside:
            self._told, self._told_with = [], self._beside
        window, last = self._window(), session.main.model
        for request in session.main.requests[len(self._told) :]:
            own = window if request.model == last else None
            self._told.append(replace(request, prompt=self._prompt_at(request.time), window=own))
        prompt = self._prompts[-1] if self._prompts else NOT_IN_FILE
        main = replace(session.main, requests=Prefix(self._told), prompt=prompt, window=window)
        return replace(session, threads=(main,))

    def _prompt_at(self, time: str) -> Prompt:
        """Return the prompt of the latest run that began before `time`, the time of an answer."""
        at = bisect_right(self._times, time)
        return self._prompts[at - 1] if at else NOT_IN_FILE

    def _window(self) -> int | None:
        return count_of(self._index.get("contextTokens")) or None


def is_row(value: Any) -> bool:
    """Is the value a row of OpenClaw's database?"""
    return isinstance(value, dict) and text_at(value, "table").startswith("openclaw.")


def entry_of(index: Any, session: str) -> Mapping[str, Any]:
    """Return the entry of a session in an index (`sessions.json`); empty if the index does not name the session."""
    for entry in index.values() if isinstance(index, dict) and session else ():
        if isinstance(entry, dict) and entry.get("sessionId") == session:
            return entry
    return {}


def _started_by(entry: Mapping[str, Any]) -> list[str]:
    parent = text_of(entry.get("spawnedBy"))
    return [f"This is the session of a sub-agent, started by {parent}."] if parent else []
