"""Read the sessions in agents' databases: list them, read one of them like a file, and follow it.

A session is read with the sessions that it started (its sub-agents). Rows are compared by their content. A missing row
means that the user took turns back; then all rows are read again.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import apsw

from inspector.core.errors import NothingToRead
from inspector.core.formats.foreign import foreign_database
from inspector.core.formats.format import Head, Reader
from inspector.core.formats.many import find_place
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import HeldSession, Problem, Session
from inspector.core.untyped import text_of
from inspector.transcripts.database import (
    MAGIC,
    DamagedDatabase,
    Torn,
    open_snapshot,
    transcript_stat,
)
from inspector.transcripts.transcript_file import ReadProgress, Rewritten
from inspector.transcripts.unpack import FileStat

_TRIES, _SOON, _REST = 100, 4, 0.013
"""How often reading is repeated if the database changed (when opening, when checking again), and the pause in
seconds.
"""
_SHARE = 3
"""The pause after a check, as a multiple of its duration, so that most of the time is left to other work."""
_IN_MS = 10**11
"""Times since 1970 that are at least this large are in ms; smaller ones are in seconds."""
_STEP = 2000
"""Rows between two reports of progress."""
Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The tables and columns in which an agent stores its sessions."""

    format: str
    agent: str
    sessions: str
    """The table of sessions."""
    tables: tuple[str, ...]
    """Tables whose rows belong to a session (`session_id`), in the order in which they are fed."""
    parent: str
    times: tuple[str, str]
    """Names of the columns with the time of creation and of the last update."""
    about: tuple[str, ...]
    """The columns of a session that are fed to the reader."""
    json: frozenset[str]
    others: tuple[str, ...] = ()
    """Further tables by which the layout is recognised."""
    archived: str = ""
    """The column with the time at which a session was archived; empty if the layout has none."""
    seconds: bool = False
    """True if times are usually in seconds, not ms."""
    prefix: str = ""
    """Prefix of the table names under which rows are fed to the reader."""
    id: str = "id"
    """The column with the id of a session."""
    title: str = "title"
    """The column with the title of a session."""
    row: str = "id"
    """The column with the id of a session's row."""
    order: str = "rowid"
    """The column that determines the order in which rows are fed."""
    is_log: bool = False
    """True if rows are only added. If a row that was read has changed, all rows are read again."""

    def holds(self, tables: set[str]) -> bool:
        """Do these table names belong to a database with this layout?"""
        return tables.issuperset((self.sessions, *self.tables, *self.others))


LAYOUTS = (
    StoreLayout(
        format="opencode",
        agent="opencode",
        sessions="session_v2",  # since 2.0; the older tables are kept unchanged
        tables=("session_message",),
        parent="parent_id",
        times=("time_created", "time_updated"),
        archived="time_archived",
        about=("id", "parent_id", "directory", "title", "version", "revert", "fork_session_id"),
        json=frozenset(("revert", "data")),
        prefix="opencode2.",
        order="seq",
    ),
    StoreLayout(
        format="opencode",
        agent="opencode",
        sessions="session",
        tables=("message", "part"),
        parent="parent_id",
        times=("time_created", "time_updated"),
        archived="time_archived",
        about=("id", "parent_id", "directory", "title", "version", "revert", "model"),
        json=frozenset(("revert", "model", "data")),
    ),
    StoreLayout(
        format="crush",
        agent="Crush",
        sessions="sessions",
        tables=("messages",),
        others=("files", "goose_db_version"),
        parent="parent_session_id",
        times=("created_at", "updated_at"),
        about=(
            "id",
            "parent_session_id",
            "title",
            "prompt_tokens",
            "completion_tokens",
            "cost",
            "summary_message_id",
        ),
        json=frozenset(("parts",)),
        seconds=True,  # despite what its schema says
        prefix="crush.",
    ),
    StoreLayout(
        format="openclaw",
        agent="OpenClaw",
        sessions="session_windows",
        tables=("transcript_events",),
        parent="parent_session_key",  # a key that several successive sessions share, so each session is read alone
        times=("created_at", "updated_at"),
        about=("session_id", "session_key", "parent_session_key"),
        json=frozenset(("event_json",)),
        prefix="openclaw.",
        id="session_id",
        title="session_key",
        row="seq",
        order="seq",
        is_log=True,
    ),
)
_CRUSH_FOLDER = ".crush"
"""Crush keeps its database in this folder of the project."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a database."""

    format: str
    id: str
    parent: str
    directory: str
    title: str
    created: int
    """Time of creation in ms since 1970; `updated` has the same unit."""
    updated: int
    archived: bool
    row: Row


def sessions_in(path: Path) -> list[StoredSession]:
    """Return the sessions of a database, most recently changed first. Raises NothingToRead."""
    return _read_with_retries(path, lambda database, layout: _sessions(path, database, layout))


def _read_with_retries(path: Path, read: Callable[[apsw.Connection, StoreLayout], T]) -> T:
    try:
        return _read(path, read, _TRIES)
    except DamagedDatabase as why:
        raise NothingToRead(str(why)) from None
    except Torn as why:
        raise NothingToRead(f"{path} cannot be read: {why}") from None


def _read(path: Path, read: Callable[[apsw.Connection, StoreLayout], T], tries: int) -> T:
    was_damaged = False
    while True:
        tries -= 1
        try:
            with open_snapshot(path) as database:
                return read(database, _layout_of(path, database))
        except Torn as why:
            is_damaged = isinstance(why, DamagedDatabase)
            if not tries or (is_damaged and was_damaged):
                raise
            was_damaged = is_damaged
            time.sleep(_REST)


def _layout_of(path: Path, database: apsw.Connection) -> StoreLayout:
    tables = {
        name for (name,) in database.execute("select name from sqlite_schema where type = 'table'")
    }
    if not tables:
        raise NothingToRead(
            f"{path} is an SQLite database without tables: was its -wal file left behind?"
        )
    held = [layout for layout in LAYOUTS if layout.holds(tables)]
    for layout in held:
        if list(database.execute(f"select 1 from {layout.sessions} limit 1")):
            return layout
    if held:
        return held[0]
    if foreign := foreign_database(tables):
        raise NothingToRead(f"{path}: {foreign.sentence}")
    agents = ", ".join(dict.fromkeys(layout.agent for layout in LAYOUTS))
    raise NothingToRead(
        f"{path} is an SQLite database of an unknown program. Databases of these can be read: {agents}"
    )


def _columns(database: apsw.Connection, layout: StoreLayout, table: str) -> tuple[list[str], str]:
    """Return the columns of a table, and the SQL that selects them. JSON columns are selected as bytes, even if
    invalid.
    """
    names = [
        name for (name,) in database.execute("select name from pragma_table_info(?)", (table,))
    ]
    columns = (*layout.about, *layout.times, layout.archived)
    names = [name for name in names if table != layout.sessions or name in columns]
    if (layout.id if table == layout.sessions else layout.row) not in names:
        raise NothingToRead(f"the table {table} is none of {layout.agent}'s: it has no ids")
    return names, ", ".join(
        f'cast("{name}" as blob)' if name in layout.json else f'"{name}"' for name in names
    )


def _sessions(path: Path, database: apsw.Connection, layout: StoreLayout) -> list[StoredSession]:
    names, selected = _columns(database, layout, layout.sessions)
    query = f"select {selected} from {layout.sessions}"
    rows = [_parsed(layout, names, values) for values in database.execute(query)]
    sessions = [_stored_session(path, layout, row) for row in rows]
    return sorted(sessions, key=lambda session: (session.updated, session.id), reverse=True)


def _stored_session(path: Path, layout: StoreLayout, row: Row) -> StoredSession:
    about = dict.fromkeys(layout.about) | {
        name: value for name, value in row.items() if name in layout.about
    }
    if "directory" not in about:
        about["directory"] = (
            str(path.absolute().parent.parent) if path.parent.name == _CRUSH_FOLDER else ""
        )
    created, updated = (_ms(layout, row.get(name)) for name in layout.times)
    session_id = text_of(about[layout.id])
    parent = text_of(about[layout.parent])
    title, directory = text_of(about[layout.title]), text_of(about["directory"])
    is_archived = row.get(layout.archived) is not None
    return StoredSession(
        format=layout.format,
        id=session_id,
        parent=parent,
        directory=directory,
        title=title,
        created=created,
        updated=updated,
        archived=is_archived,
        row=about,
    )


def _parsed(layout: StoreLayout, names: Iterable[str], values: Iterable[Any]) -> Row:
    """Return a row with its JSON columns parsed. Invalid JSON remains text, which the reader reports."""
    row: Row = dict(zip(names, values, strict=True))
    for name in layout.json & row.keys():
        if isinstance(value := row[name], bytes):
            try:
                row[name] = loads(value)
            except NotJson:
                row[name] = value.decode(errors="replace")
    return row


def _ms(layout: StoreLayout, time: Any) -> int:
    """Return a time in ms since 1970; 0 if the value is not a time."""
    if not isinstance(time, int):
        return 0
    return 1000 * time if layout.seconds and time < _IN_MS else time


class DatabaseSession:
    """A session in a database, which is opened and followed like a `TranscriptFile`.

    Raises NothingToRead if the database belongs to no known agent, or cannot be read for a long time.
    """

    held: Sequence[HeldSession] = ()
    """Always empty: the reader lists the sessions."""

    def __init__(self, path: Path, session: str, progress: ReadProgress) -> None:
        self.path, self._wanted, self._progress = path, session, progress
        self._stat: FileStat | None = None
        self._due = 0.0
        self._rows: list[Row] = []
        """Rows that were read and not fed yet."""
        self._chosen: str | None = None
        self._begun = 0
        """Creation time of the newest session that existed at first."""
        self._known: dict[str, dict[Any, int]] = {}
        """The rows that were read, by table and id, each with a hash of its content."""
        self._feed: Callable[[int, Any], None] = lambda line, row: None

    @property
    def records(self) -> int:
        """Return the number of rows that were read."""
        return sum(map(len, self._known.values()))

    @property
    def size(self) -> int:
        """Return the size of the whole database on disk, in bytes."""
        about = transcript_stat(self.path)
        return about.size if about else 0

    @property
    def problems(self) -> list[Problem]:
        """Return no problems: the reader finds those of the rows."""
        return []

    def torn(self) -> list[Problem]:
        """Return no problems: a database is read in a consistent state."""
        return []

    def head(self) -> Head:
        """Return the first rows of the session for detection. All rows are read, but not fed yet."""
        if not self._rows:
            self._stat = transcript_stat(self.path)
            self._rows = self._take(_read_with_retries(self.path, self._changes))
        return Head(self._rows[:60], data=MAGIC)

    def feed(self, reader: Reader, first: Callable[[Session], None] | None = None) -> None:
        """Feed all rows; later calls of `read_more` feed changes. Raises NothingToRead, Cancelled."""
        self.head()
        self._feed, size = reader.feed, self.size
        for index, row in enumerate(self._rows):
            if index % _STEP == 0:
                self._progress.step(self.path, size * index // len(self._rows))
            self._feed(0, row)
        self._progress.done += size
        self._progress.step(self.path)
        self._rows.clear()

    def read_more(self) -> bool:
        """Feed the rows that have changed. Return whether there were any; False while the database is being written.

        Raises Rewritten.
        """
        now, begun = transcript_stat(self.path), time.monotonic()
        if now == self._stat or begun < self._due:
            return False
        try:
            rows = self._take(_read(self.path, self._changes, _SOON))
        except Torn:
            return False
        self._stat, self._due = now, time.monotonic() + _SHARE * (time.monotonic() - begun)
        for row in rows:
            self._feed(0, row)
        return bool(rows)

    def _take(self, changes: "_Changes") -> list[Row]:
        """Return the changed rows and remember the new state, which is known to be consistent only now."""
        if self._chosen is None:
            self._begun = changes.newest
        self._chosen, self._known = changes.chosen, changes.known_rows
        return changes.rows

    def _changes(self, database: apsw.Connection, layout: StoreLayout) -> "_Changes":
        sessions = _sessions(self.path, database, layout)
        chosen = self._choose(sessions)
        rows: list[Row] = []
        if self._chosen is None:
            held = [
                {"id": session.id, "title": session.title}
                for session in sessions
                if not session.parent
            ]
            rows.append(
                {"table": f"{layout.prefix}database", "row": {"session": chosen.id, "held": held}}
            )
        elif chosen.id != self._chosen:
            raise Rewritten
        tree = _tree(sessions, chosen)
        table = layout.sessions
        known_rows = {table: {member.id: hash(repr(member.row)) for member in tree}}
        before = self._known.get(table, {})
        changed = [
            member.row for member in tree if before.get(member.id) != known_rows[table][member.id]
        ]
        rows += [{"table": f"{layout.prefix}{table}", "row": row} for row in changed]
        for table in layout.tables:
            known_rows[table] = self._changed_rows(
                database, layout, table, sessions=[member.id for member in tree], rows=rows
            )
        return _Changes(
            chosen.id,
            newest=max(session.created for session in sessions),
            known_rows=known_rows,
            rows=rows,
        )

    def _choose(self, sessions: Sequence[StoredSession]) -> StoredSession:
        """Return the wanted session; without one, the main session that was changed last.

        Raises Rewritten if a newer main session was created since.
        """
        if self._wanted:
            listed = sorted(sessions, key=lambda session: bool(session.parent))
            place = find_place([HeldSession(session.id) for session in listed], self._wanted)
            if place is None:
                raise NothingToRead(f"{self.path} holds no session {self._wanted!r}")
            return listed[place]
        main = [session for session in sessions if not session.parent]
        if not main:
            raise NothingToRead(f"{self.path} holds no session yet")
        newest = max(main, key=lambda session: (session.created, session.id))
        if self._chosen is None:
            return next((session for session in main if not session.archived), main[0])
        if newest.id != self._chosen and newest.created > self._begun:
            raise Rewritten
        return next((session for session in main if session.id == self._chosen), newest)

    def _changed_rows(
        self,
        database: apsw.Connection,
        layout: StoreLayout,
        table: str,
        sessions: Sequence[str],
        rows: list[Row],
    ) -> dict[Any, int]:
        """Append the rows that are new or changed to `rows`. Return the ids and hashes of all current rows."""
        names, selected = _columns(database, layout, table)
        before, now, place = (
            self._known.get(table, {}),
            dict[Any, int](),
            1 + names.index(layout.row),
        )
        which = "session_id in (select value from json_each(?))"
        query = f"select {layout.order}, {selected} from {table} where {which}"
        changed: list[tuple[Any, Row]] = []
        for values in database.execute(query, (json.dumps(sessions),)):
            now[values[place]] = held = hash(values)
            if held != before.get(values[place]):
                if layout.is_log and values[place] in before:
                    raise Rewritten
                changed.append((values[0], _parsed(layout, names, values[1:])))
        name = f"{layout.prefix}{table}"
        rows += [{"table": name, "row": row} for _, row in sorted(changed, key=_storage_order)]
        if not before.keys() <= now.keys():
            raise Rewritten
        return now


def _storage_order(changed: tuple[Any, Row]) -> tuple[int, Any]:
    """Return the sort key of a row by the column it is ordered by, whose values may be of any storage class.

    SQLite sorts NULL before numbers, numbers before texts, and texts before blobs.
    """
    place, _ = changed
    match place:
        case None:
            return 0, 0
        case int() | float():
            return 1, place
        case str():
            return 2, place
        case _:
            return 3, place


@dataclass(frozen=True, slots=True)
class _Changes:
    """The result of one check of the database."""

    chosen: str
    newest: int
    """Creation time of the newest session."""
    known_rows: dict[str, dict[Any, int]]
    rows: list[Row]


def _tree(sessions: Iterable[StoredSession], chosen: StoredSession) -> list[StoredSession]:
    """Return a session and all sessions that it started, directly or indirectly."""
    below: dict[str, list[StoredSession]] = {}
    for member in sessions:
        below.setdefault(member.parent, []).append(member)
    tree, seen = [chosen], {chosen.id, ""}
    for member in tree:
        more = [child for child in below.get(member.id, ()) if child.id not in seen]
        seen |= {child.id for child in more}
        tree += sorted(more, key=lambda child: (child.created, child.id))
    return tree
