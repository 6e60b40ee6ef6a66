"""Read opencode sessions: an export of one session, or rows of the database, session by session.

A row is `{"table": "session" | "message" | "part", "row": {...}}` with its JSON columns parsed. Tables of opencode 2
are called `opencode2.session_v2` and `opencode2.session_message`. A row of the table `database` comes first.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.formats.opencode.content import KINDS, string
from inspector.core.formats.opencode.first import FirstSession
from inspector.core.formats.opencode.second import SecondSession
from inspector.core.formats.reading import note_shared_ids
from inspector.core.formats.stored import StoredReader, parent_session
from inspector.core.identity import UniqueIds
from inspector.core.untyped import list_of, object_of, text_at

NAME = "opencode"
_SECOND = "opencode2."
TABLES = ("database", "session", "message", "part")
SECOND_TABLES = (f"{_SECOND}database", f"{_SECOND}session_v2", f"{_SECOND}session_message")
_REVERTED = "The user undid the last turns: the next call sends only the turns before them."
_PRUNED = "Results that opencode cleared later are shown unchanged in the buffers: {:,}."


class OpencodeReader(StoredReader[FirstSession | SecondSession]):
    """A `Reader` of database rows or of an export."""

    def __init__(self) -> None:
        super().__init__(NAME, FirstSession)
        self._unknown: set[str] = set()
        self._shared_ids = 0
        """Number of messages and parts of an export that share the id of an earlier message or part."""

    def _take(self, line: int, value: Any, file: str) -> None:
        if not isinstance(value, dict):
            self._problems.note(line, "not a record of a session", value, file)
            return
        row = value.get("row")
        table = value.get("table")
        if isinstance(row, dict) and table in (*TABLES, *SECOND_TABLES):
            self._take_row(line, str(table), row)
            return
        info = value.get("info")
        messages = value.get("messages")
        if isinstance(info, dict) and isinstance(messages, list):
            self._take_export(line, info, messages)
            return
        self._problems.note(line, "not an opencode session", value, file)

    def _take_row(self, line: int, table: str, row: Mapping[str, Any]) -> None:
        if table.startswith(_SECOND):
            self._start = SecondSession
            table = table.removeprefix(_SECOND).removeprefix("session_")
        if table == "database":
            self._take_database(row)
        elif table in ("session", "v2"):
            self._session(string(row, "id")).describe(row)
        else:
            self._take_data(line, table, row)

    def _take_data(self, line: int, table: str, row: Mapping[str, Any]) -> None:
        """Take a message or a part, which is the object in the column `data`."""
        name = string(row, "id")
        data = row.get("data")
        if not isinstance(data, dict):
            what = f"the {table} {name[:60]!r} holds no JSON object: it was left out"
            self._problems.note(line, what, data)
            return
        session = self._session(string(row, "session_id"))
        named = {**data, "id": name}
        if table == "part":
            self._take_part(line, session, part=named, name=string(row, "message_id"))
            return
        self._problems.note_absurd(data.get("tokens"), line, data)
        created = {"created": row.get("time_created")}
        named["time"] = created | {**object_of(data, "time")}
        session.take_message(named, row)

    def _take_part(
        self, line: int, session: FirstSession | SecondSession, part: Mapping[str, Any], name: str
    ) -> None:
        kind = part.get("type")
        self._problems.note_absurd(part.get("tokens"), line, part)
        session.take_part(part, name)
        is_known = isinstance(kind, str) and kind in KINDS
        if not is_known and str(kind) not in self._unknown:
            self._unknown.add(str(kind))
            self._problems.note(line, f"unknown part type {str(kind)[:40]!r}", part)

    def _take_export(self, line: int, info: Mapping[str, Any], messages: list[Any]) -> None:
        self._main = string(info, "id")
        session = self._session(self._main)
        session.describe(info)
        names = UniqueIds()
        part_names = UniqueIds()
        for place, message in enumerate(messages):
            about = message.get("info") if isinstance(message, dict) else None
            if not isinstance(about, dict):
                self._problems.note(line, "not a message of a session", message)
                continue
            name = self._claim(names, string(about, "id") or f"message-{place:06}")
            self._problems.note_absurd(about.get("tokens"), line, about)
            session.take_message({**about, "id": name}, {"place": place})
            self._take_exported_parts(line, session, name, message, part_names)

    def _take_exported_parts(
        self,
        line: int,
        session: FirstSession | SecondSession,
        name: str,
        message: Mapping[str, Any],
        part_names: UniqueIds,
    ) -> None:
        """Take the parts of the exported message that is called `name`."""
        for place, part in enumerate(list_of(message.get("parts"))):
            if not isinstance(part, dict):
                self._problems.note(line, "not a part of a message", part)
                continue
            part_name = self._claim(part_names, string(part, "id") or f"{name}-{place:06}")
            self._take_part(line, session, part={**part, "id": part_name}, name=name)

    def _claim(self, names: UniqueIds, name: str) -> str:
        claimed = names.claim(name)
        self._shared_ids += claimed != name
        return claimed

    def _told_of(self, main: FirstSession | SecondSession) -> tuple[str, Sequence[str]]:
        notes = note_shared_ids(self._shared_ids, "messages and parts")
        if isinstance(main.about.get("revert"), dict):
            notes.append(_REVERTED)
        parent = parent_session(main.about)
        if parent:
            notes.append(f"This is the session of a sub-agent, started by {parent}.")
        source = text_at(main.about, "fork_session_id")
        if source:
            notes.append(f"This session was forked from {source}.")
        pruned = sum(session.pruned_later() for session in self._sessions.values())
        if pruned:
            notes.append(_PRUNED.format(pruned))
        return f"opencode {string(main.about, 'version')}".rstrip(), notes
