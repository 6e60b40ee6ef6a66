"""A session in a database on its way in, with the hands of a file: those of `Opening`, and those of `Growing`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspector.core.errors import Cancelled
from inspector.core.formats.format import Head, Reader
from inspector.core.session import Problem, Session
from inspector.transcripts.database.naming import database_of, stands
from inspector.transcripts.database.pages import MAGIC
from inspector.transcripts.database.store import Store
from inspector.transcripts.growing import Growing
from inspector.transcripts.opening import Opening, Watch

_STEP = 2000
"""Rows between two words about how far it is."""


class Database:
    """As `Opening` and `Growing`: head, feed, settle, read_more."""

    def __init__(self, path: Path, session: str, watch: Watch) -> None:
        self.path, self._watch = path, watch
        self._store = Store(path, session)
        self._rows: list[dict[str, Any]] = []
        self._feed: Callable[[int, Any], None] = lambda line, row: None

    @property
    def size(self) -> int:
        """Bytes on disk, of all sessions in it."""
        about = stands(self.path)
        return about[2] if about else 0

    @property
    def problems(self) -> list[Problem]:
        """Of the rows: the reader tells."""
        return []

    def head(self) -> Head:
        """What the session is; its messages are read, but not fed. Raises NothingToRead."""
        if not self._rows:
            self._rows = self._store.changes()
        return Head(self._rows[:60], None, MAGIC)

    def feed(self, reader: Reader, first: Callable[[Session], None] | None = None) -> None:
        """Feed all of it, and from now on what has changed. Raises NothingToRead, Cancelled."""
        self.head()
        self._feed, size = reader.feed, self.size
        for n, row in enumerate(self._rows):
            if n % _STEP == 0:
                self._step(size * n // len(self._rows))
            self._feed(0, row)
        self._watch.done += size
        self._step(0)
        self._rows.clear()

    def _step(self, done: int) -> None:
        if self._watch.cancelled is not None and self._watch.cancelled():
            raise Cancelled(f"opening {self.path} was cancelled")
        if self._watch.progress is not None:
            done += self._watch.done
            self._watch.progress(done, max(self._watch.total, done))

    def settle(self) -> None:
        """Nothing to keep in mind: the store knows what was told."""

    def read_more(self) -> bool:
        """Feed what has changed; was there anything? Raises Rewritten."""
        rows = self._store.changes_now()
        for row in rows:
            self._feed(0, row)
        return bool(rows)


def opening(path: Path, watch: Watch) -> Opening | Database:
    """Whatever the path names, to be opened."""
    found = database_of(path)
    return Database(*found, watch) if found else Opening(path, watch)


def growing(path: Path, watch: Watch) -> Growing | Database:
    """Whatever the path names, to be followed."""
    found = database_of(path)
    return Database(*found, watch) if found else Growing(path, watch)
