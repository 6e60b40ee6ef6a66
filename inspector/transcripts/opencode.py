"""opencode's database: which sessions it holds, and one of them read like a file, then followed.

A session is read with those that it started (its sub-agents). Rows are compared by what they hold; a row that is gone
means that the user has taken turns back, and that all is to be read anew.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import apsw

from inspector.core.errors import NothingToRead
from inspector.core.formats.format import Head, Reader
from inspector.core.formats.many import place_of
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import HeldSession, Problem, Session
from inspector.transcripts.database import MAGIC, Torn, reading, transcript_stat
from inspector.transcripts.transcript_file import ReadProgress, Rewritten
from inspector.transcripts.unpack import FileStat

_TRIES, _SOON, _REST = 100, 4, 0.013
"""How often it is read once more where it changed meanwhile (to open it, to look again), after how many seconds."""
_SHARE = 3
"""So many times as long as a look took nobody looks again: most of the time is for others."""
_STEP = 2000
"""Rows between two reports of progress."""
_ABOUT = ("id", "parent_id", "directory", "title", "version", "revert", "model", "time_created", "time_updated",
          "time_archived")  # fmt: skip
_JSON = frozenset(("revert", "model", "data"))
Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session of the database."""

    id: str
    parent: str
    directory: str
    title: str
    created: int
    """ms since 1970, as is `updated`."""
    updated: int
    archived: bool
    row: Row


def sessions_in(path: Path) -> list[StoredSession]:
    """The sessions of a database, the one that was changed last first. Raises NothingToRead."""
    return _patiently(path, _sessions)


def _patiently(path: Path, read: Callable[[apsw.Connection], T]) -> T:
    try:
        return _read(path, read, _TRIES)
    except Torn as why:
        raise NothingToRead(f"{path} cannot be read: {why}") from None


def _read(path: Path, read: Callable[[apsw.Connection], T], tries: int) -> T:
    while True:
        tries -= 1
        try:
            with reading(path) as database:
                tables = {name for (name,) in database.execute("select name from sqlite_schema where type = 'table'")}
                if not {"session", "message", "part"} <= tables:
                    raise NothingToRead(f"{path} is an SQLite database, but none of opencode's")
                return read(database)
        except Torn:
            if not tries:
                raise
            time.sleep(_REST)


def _columns(database: apsw.Connection, table: str) -> tuple[list[str], str]:
    """The columns of a table, and how they are selected: JSON as bytes, whatever text it is."""
    names = [name for (name,) in database.execute("select name from pragma_table_info(?)", (table,))]
    names = [name for name in names if table != "session" or name in _ABOUT]
    if "id" not in names:
        raise NothingToRead(f"the table {table} is none of opencode's: it has no ids")
    return names, ", ".join(f'cast("{name}" as blob)' if name in _JSON else f'"{name}"' for name in names)


def _sessions(database: apsw.Connection) -> list[StoredSession]:
    names, selected = _columns(database, "session")
    rows = [_parsed(names, values) for values in database.execute(f"select {selected} from session")]
    return sorted(map(_stored_session, rows), key=lambda one: (one.updated, one.id), reverse=True)


def _stored_session(row: Row) -> StoredSession:
    row = dict.fromkeys(_ABOUT) | row
    return StoredSession(
        id=_str(row["id"]),
        parent=_str(row["parent_id"]),
        directory=_str(row["directory"]),
        title=_str(row["title"]),
        created=_int(row["time_created"]),
        updated=_int(row["time_updated"]),
        archived=row["time_archived"] is not None,
        row={name: value for name, value in row.items() if not name.startswith("time_")},
    )


def _parsed(names: Iterable[str], values: Iterable[Any]) -> Row:
    """With the JSON of some columns read; what is none stays a text, and the reader says so."""
    row: Row = dict(zip(names, values, strict=True))
    for name in _JSON & row.keys():
        if isinstance(value := row[name], bytes):
            try:
                row[name] = loads(value)
            except NotJson:
                row[name] = value.decode(errors="replace")
    return row


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


class DatabaseSession:
    """A session in a database; to be opened and followed as a `TranscriptFile` is.

    Raises NothingToRead where it is none of opencode's, or cannot be read for long.
    """

    held: Sequence[HeldSession] = ()
    """Told by the reader."""

    def __init__(self, path: Path, wanted: str, progress: ReadProgress) -> None:
        self.path, self._wanted, self._progress = path, wanted, progress
        self._stat: FileStat | None = None
        self._due = 0.0
        self._rows: list[Row] = []
        """Read, and not fed yet."""
        self._chosen: str | None = None
        self._begun = 0
        """When the newest session was begun that was there at first."""
        self._known: dict[str, dict[Any, int]] = {"session": {}, "message": {}, "part": {}}
        """By table and id: the rows that were read, and what they held."""
        self._feed: Callable[[int, Any], None] = lambda line, row: None

    @property
    def size(self) -> int:
        """Bytes on disk, of all sessions in it."""
        about = transcript_stat(self.path)
        return about.size if about else 0

    @property
    def problems(self) -> list[Problem]:
        """None of the file's: the reader finds those of the rows."""
        return []

    def torn(self) -> list[Problem]:
        """None: what is read is of one moment."""
        return []

    def head(self) -> Head:
        """What the session is; its messages are read, but not fed."""
        if not self._rows:
            self._stat = transcript_stat(self.path)
            self._rows = self._take(_patiently(self.path, self._changes))
        return Head(self._rows[:60], None, MAGIC)

    def feed(self, reader: Reader, first: Callable[[Session], None] | None = None) -> None:
        """Feed all of it, and from now on what has changed. Raises NothingToRead, Cancelled."""
        self.head()
        self._feed, size = reader.feed, self.size
        for n, row in enumerate(self._rows):
            if n % _STEP == 0:
                self._progress.step(self.path, size * n // len(self._rows))
            self._feed(0, row)
        self._progress.done += size
        self._progress.step(self.path)
        self._rows.clear()

    def read_more(self) -> bool:
        """Feed what has changed; was there anything? Nothing while somebody is writing. Raises Rewritten."""
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

    def _take(self, found: "_Changes") -> list[Row]:
        """Only now, when all of it was of one moment, is it known."""
        if self._chosen is None:
            self._begun = found.newest
        self._chosen, self._known = found.chosen, found.known
        return found.rows

    def _changes(self, database: apsw.Connection) -> "_Changes":
        sessions = _sessions(database)
        chosen = self._choose(sessions)
        rows: list[Row] = []
        if self._chosen is None:
            held = [{"id": one.id, "title": one.title} for one in sessions if not one.parent]
            rows.append({"table": "database", "row": {"session": chosen.id, "held": held}})
        elif chosen.id != self._chosen:
            raise Rewritten
        tree = _tree(sessions, chosen)
        known = {"session": {one.id: hash(repr(one.row)) for one in tree}}
        before = self._known["session"]
        rows += [{"table": "session", "row": one.row} for one in tree if before.get(one.id) != known["session"][one.id]]
        for table in ("message", "part"):
            known[table] = self._changed_rows(database, table, list(known["session"]), rows)
        return _Changes(chosen.id, max(one.created for one in sessions), known, rows)

    def _choose(self, sessions: Sequence[StoredSession]) -> StoredSession:
        """The one that was asked for; else the main one that was changed last, and any that was begun since."""
        if self._wanted:
            listed = sorted(sessions, key=lambda one: bool(one.parent))
            place = place_of([HeldSession(one.id) for one in listed], self._wanted)
            if place is None:
                raise NothingToRead(f"{self.path} holds no session {self._wanted!r}")
            return listed[place]
        main = [one for one in sessions if not one.parent]
        if not main:
            raise NothingToRead(f"{self.path} holds no session yet")
        newest = max(main, key=lambda one: (one.created, one.id))
        if self._chosen is None:
            return next((one for one in main if not one.archived), main[0])
        if newest.id != self._chosen and newest.created > self._begun:
            raise Rewritten
        return next((one for one in main if one.id == self._chosen), newest)

    def _changed_rows(
        self, database: apsw.Connection, table: str, sessions: Sequence[str], found: list[Row]
    ) -> dict[Any, int]:
        """Adds the rows that are new or hold something else. Returns all that there are now."""
        names, selected = _columns(database, table)
        before, now, place = self._known[table], dict[Any, int](), 1 + names.index("id")
        which = "session_id in (select value from json_each(?))"
        query = f"select rowid, {selected} from {table} where {which}"
        changed: list[tuple[int, Row]] = []
        for values in database.execute(query, (json.dumps(sessions),)):
            now[values[place]] = held = hash(values)
            if held != before.get(values[place]):
                changed.append((values[0], _parsed(names, values[1:])))
        found += [{"table": table, "row": row} for _, row in sorted(changed, key=itemgetter(0))]
        if not before.keys() <= now.keys():
            raise Rewritten
        return now


@dataclass(frozen=True, slots=True)
class _Changes:
    """What one look has found."""

    chosen: str
    newest: int
    """When the newest session was begun."""
    known: dict[str, dict[Any, int]]
    rows: list[Row]


def _tree(sessions: Iterable[StoredSession], chosen: StoredSession) -> list[StoredSession]:
    """The session and all that it started, and they in turn."""
    below: dict[str, list[StoredSession]] = {}
    for one in sessions:
        below.setdefault(one.parent, []).append(one)
    tree, seen = [chosen], {chosen.id, ""}
    for one in tree:
        more = [child for child in below.get(one.id, ()) if child.id not in seen]
        seen |= {child.id for child in more}
        tree += sorted(more, key=lambda child: (child.created, child.id))
    return tree
