"""opencode's database: which sessions it holds, and what of one of them has changed since the last look.

A session is read with those that it started (its sub-agents). Rows are compared by their bytes; a row that is gone
means that the user has taken turns back, and that all is to be read anew.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from inspector.core.errors import NothingToRead
from inspector.core.jsontext import NotJson, loads
from inspector.transcripts.database.pages import Torn
from inspector.transcripts.database.records import Value
from inspector.transcripts.database.tables import Tables
from inspector.transcripts.database.trees import Cell
from inspector.transcripts.growing import Rewritten, Standing

_TRIES, _SOON, _REST = 100, 4, 0.013
"""How often it is read once more where it changed meanwhile (to open it, to look again), after how many seconds."""
_ABOUT = (
    "id",
    "parent_id",
    "directory",
    "title",
    "version",
    "revert",
    "model",
    "time_created",
    "time_updated",
    "time_archived",
)
_JSON = frozenset(("revert", "model", "data"))
Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept:
    """A session of the database, as its row tells."""

    id: str
    parent: str
    directory: str
    title: str
    created: int
    """ms since 1970, as is `updated`."""
    updated: int
    archived: bool
    row: Row


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look has found."""

    chosen: str
    newest: int
    """When the newest session was begun."""
    about: dict[str, Row]
    known: dict[str, dict[int, int]]
    rows: list[Row]
    """What is new of it."""


class Store:
    """One database. Raises NothingToRead where it is none of opencode's, or cannot be read for long."""

    def __init__(self, path: Path, wanted: str = "") -> None:
        self.path, self._wanted = path, wanted
        self._tables = Tables(path)
        self._standings: tuple[Standing | None, Standing | None] | None = None
        self._chosen: str | None = None
        self._begun = 0
        """When the newest session was begun that was there at first."""
        self._known: dict[str, dict[int, int]] = {"message": {}, "part": {}}
        """By table: the rows that were told, by number, and what they held."""
        self._about: dict[str, Row] = {}

    def sessions(self) -> list[Kept]:
        """All of them, the one that was changed last first."""
        return self._patiently(self._sessions)

    def changes(self) -> list[Row]:
        """What to feed to a reader: all of the session at first, then what has changed. Raises Rewritten."""
        self._standings = self._tables.pages.standings()
        return self._keep(self._patiently(self._look))

    def changes_now(self) -> list[Row]:
        """The same, but nothing where nobody has written, or somebody is writing this moment."""
        now = self._tables.pages.standings()
        if now == self._standings:
            return []
        try:
            found = self._try(self._look, _SOON)
        except Torn:
            return []
        self._standings = now
        return self._keep(found)

    def _keep(self, found: _Look) -> list[Row]:
        """Only now, when all of it was of one moment, is it known."""
        if self._chosen is None:
            self._begun = found.newest
        self._chosen, self._about, self._known = found.chosen, found.about, found.known
        return found.rows

    def _patiently(self, read: Callable[[], T]) -> T:
        try:
            return self._try(read, _TRIES)
        except Torn as why:
            raise NothingToRead(f"{self.path} cannot be read: {why}") from None

    def _try(self, read: Callable[[], T], tries: int) -> T:
        for _ in range(tries - 1):
            try:
                with self._reading():
                    return read()
            except Torn:
                time.sleep(_REST)
        with self._reading():
            return read()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._tables.pages.reading() as changed:
            self._tables.look(changed)
            if not self._tables.has("session", "message", "part"):
                raise NothingToRead(f"{self.path} is an SQLite database, but none of opencode's")
            yield

    # ---- sessions ----------------------------------------------------------------------------------------------------

    def _sessions(self) -> list[Kept]:
        table = self._tables.table("session")
        places = dict(zip(_ABOUT, table.places(_ABOUT), strict=True))
        wanted = sorted(set(places.values()))
        found = []
        for _, cell in self._tables.trees.rows(table.root):
            told = dict(zip(wanted, cell.columns(wanted), strict=True))
            found.append(_kept({name: told[place] for name, place in places.items()}))
        return sorted(found, key=lambda kept: (kept.updated, kept.id), reverse=True)

    def _choose(self, sessions: Sequence[Kept]) -> Kept:
        """The one that was asked for; else the main one that was changed last, and any that was begun since."""
        if self._wanted:
            found = next((kept for kept in sessions if kept.id == self._wanted), None)
            if found is None:
                raise NothingToRead(f"{self.path} holds no session {self._wanted!r}")
            return found
        main = [kept for kept in sessions if not kept.parent]
        if not main:
            raise NothingToRead(f"{self.path} holds no session yet")
        newest = max(main, key=lambda kept: (kept.created, kept.id))
        if self._chosen is None:
            return next((kept for kept in main if not kept.archived), main[0])
        if newest.id != self._chosen and newest.created > self._begun:
            raise Rewritten
        return next((kept for kept in main if kept.id == self._chosen), newest)

    # ---- what has changed --------------------------------------------------------------------------------------------

    def _look(self) -> _Look:
        sessions = self._sessions()
        chosen = self._choose(sessions)
        if self._chosen is not None and chosen.id != self._chosen:
            raise Rewritten
        tree = _tree(sessions, chosen)
        found: list[Row] = []
        if self._chosen is None:
            others = [
                {"id": kept.id, "title": kept.title} for kept in sessions if kept.id != chosen.id and not kept.parent
            ]
            found.append({"table": "database", "row": {"session": chosen.id, "others": others}})
        about = {kept.id: kept.row for kept in tree}
        found += [{"table": "session", "row": row} for name, row in about.items() if self._about.get(name) != row]
        ids = list(about)
        known = {table: self._rows(table, ids, known, found) for table, known in self._known.items()}
        return _Look(chosen.id, max(kept.created for kept in sessions), about, known, found)

    def _rows(self, table: str, sessions: Sequence[str], known: dict[int, int], found: list[Row]) -> dict[int, int]:
        """Adds the rows that are new or say something else. Returns those that there are now."""
        now: dict[int, int] = {}
        for number, cell in self._tables.where(table, "session_id", sessions):
            before = known.get(number)
            if before is not None and not cell.fresh:
                now[number] = before
                continue
            now[number] = said = hash(cell.payload())
            if said != before:
                found.append({"table": table, "row": self._row(table, cell)})
        if not known.keys() <= now.keys():
            raise Rewritten
        return now

    def _row(self, table: str, cell: Cell) -> Row:
        return _parsed(self._tables.read(table, cell))


def _tree(sessions: Iterable[Kept], chosen: Kept) -> list[Kept]:
    """The session and all that it started, and they in turn."""
    below: dict[str, list[Kept]] = {}
    for kept in sessions:
        below.setdefault(kept.parent, []).append(kept)
    tree, seen = [chosen], {chosen.id, ""}
    for kept in tree:
        more = [one for one in below.get(kept.id, ()) if one.id not in seen]
        seen |= {one.id for one in more}
        tree += sorted(more, key=lambda one: (one.created, one.id))
    return tree


def _kept(told: dict[str, Value]) -> Kept:
    row = _parsed(told)
    return Kept(
        id=_str(row["id"]),
        parent=_str(row["parent_id"]),
        directory=_str(row["directory"]),
        title=_str(row["title"]),
        created=_int(row["time_created"]),
        updated=_int(row["time_updated"]),
        archived=row["time_archived"] is not None,
        row={name: value for name, value in row.items() if not name.startswith("time_")},
    )


def _parsed(row: dict[str, Value]) -> Row:
    """With the JSON of some columns read; what is none stays as it is, and the reader tells."""
    parsed: Row = dict(row)
    for name in _JSON & parsed.keys():
        value = parsed[name]
        if isinstance(value, str | bytes):
            try:
                parsed[name] = loads(value.encode(errors="replace") if isinstance(value, str) else value)
            except NotJson:
                continue
    return parsed


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
