"""Read sessions of a database from rows that `transcripts.stores` reads: one session and those that it started.

All rows except the last are added to the thread once. If one of them changes, which is rare, the thread is rebuilt.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar

from inspector.core.formats.format import BuiltReader
from inspector.core.formats.growing import GrowingThread
from inspector.core.session import HeldSession, Session
from inspector.core.untyped import objects_of, text_at


class ThreadLayer:
    """Appends stored units, such as messages, to a thread."""

    def __init__(self) -> None:
        self.thread = GrowingThread()

    def copy(self) -> Self:
        """Return an independent copy, which can take units without changing this object."""
        other = copy(self)
        other.thread = self.thread.copy()
        return other

    def take(self, unit: Any) -> None:
        """Take the next unit of the session."""
        raise NotImplementedError

    def end(self, about: Mapping[str, Any]) -> None:
        """Finish the thread after the last unit so far. `about` is the session's own row."""


class SessionRows:
    """The rows of one session, and the thread built from them."""

    def __init__(self, name: str, start: Callable[[], ThreadLayer]) -> None:
        self.name = name
        self.about: Mapping[str, Any] = {}
        """The session's own row."""
        self._start = start
        self._lay_anew()

    def _lay_anew(self) -> None:
        self._laying, self._laid = self._start(), list[Any]()

    def _units(self) -> Sequence[Any]:
        """Return the stored units in order. An unchanged unit is the same object each time."""
        raise NotImplementedError

    def describe(self, about: Mapping[str, Any]) -> None:
        """Set or replace the session's own row."""
        self.about = about

    def is_empty(self) -> bool:
        """True if no message of the session was read yet."""
        return not self._units()

    def started(self, name: str) -> str:
        """Return the id of the tool call that started the session `name`; empty if not recorded."""
        raise NotImplementedError

    def thread(self) -> GrowingThread:
        """Return the thread so far. O(new units), or O(all units) if an earlier unit has changed."""
        units = self._units()
        if any(laid is not other for laid, other in zip(self._laid, units, strict=False)):
            self._lay_anew()
        for unit in units[len(self._laid) : -1]:
            self._laying.take(unit)
            self._laid.append(unit)
        laying = self._laying.copy()
        for unit in units[-1:]:
            laying.take(unit)
        laying.end(self.about)
        return laying.thread


S = TypeVar("S", bound=SessionRows)


class StoredReader(BuiltReader, Generic[S]):
    """A `Reader` of database rows. A changed row is fed again; a deleted row requires a new reader."""

    def __init__(self, format_: str, start: Callable[[str], S]) -> None:
        """Begin without sessions. `start` returns a session of the given name without rows."""
        super().__init__()
        self._format, self._start = format_, start
        self._main = ""
        self._sessions: dict[str, S] = {}
        self._held: tuple[HeldSession, ...] = ()

    def _told_of(self, main: S) -> tuple[str, Sequence[str]]:
        """Return the name of the program that wrote the session, and notes."""
        raise NotImplementedError

    def _take_database(self, row: Mapping[str, Any]) -> None:
        """Take the first row: the id of the session to read, and the sessions that the database holds."""
        self._main, self._held = text_at(row, "session"), held_in(row)

    def _session(self, name: str) -> S:
        if name not in self._sessions:
            self._sessions[name] = self._start(name)
        return self._sessions[name]

    def _build(self) -> Session:
        main = (
            self._sessions.get(self._main)
            or next(iter(self._sessions.values()), None)
            or self._start("")
        )
        agents = [
            rows for rows in self._sessions.values() if rows is not main and not rows.is_empty()
        ]
        threads = [main.thread()]
        for rows in agents:
            parent = self._sessions.get(parent_session(rows.about) or main.name, main)
            thread = rows.thread()
            thread.id, thread.parent = rows.name, "main" if parent is main else parent.name
            thread.parent_call = parent.started(rows.name)
            threads.append(thread)
        for rows, thread in zip((main, *agents), threads, strict=True):
            thread.title = text_at(rows.about, "title")
        client, notes = self._told_of(main)
        side_calls = [
            replace(call, thread=thread.id) for thread in threads for call in thread.side_calls
        ]
        return Session(
            format=self._format,
            threads=tuple(thread.thread() for thread in threads),
            problems=tuple(self._problems),
            client=client,
            id=main.name,
            notes=tuple(notes),
            side_calls=side_calls,
            held=self._held,
        )


def parent_session(about: Mapping[str, Any]) -> str:
    """Return the id of the session that started this session; empty if the user started it."""
    return next(
        filter(
            None, (text_at(about, key) for key in ("parent_id", "parentID", "parent_session_id"))
        ),
        "",
    )


def held_in(row: Mapping[str, Any]) -> tuple[HeldSession, ...]:
    """Return the sessions that a database holds, from its first row; empty if it holds only one."""
    held = tuple(
        HeldSession(text_at(row, "id"), text_at(row, "title"))
        for row in objects_of(row.get("held"))
    )
    return held if len(held) > 1 else ()
