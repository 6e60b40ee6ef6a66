"""Sessions of a database: the one that is read and those that it started, row by row (`transcripts.stores` reads them).

All stored rows but the last are laid out once: they seldom change, and then everything is laid out again.
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
    """Puts one stored unit after another into a thread."""

    def __init__(self) -> None:
        self.thread = GrowingThread()

    def copy(self) -> Self:
        """Return a copy that continues from here, while this one stays."""
        other = copy(self)
        other.thread = self.thread.copy()
        return other

    def take(self, unit: Any) -> None:
        """Take the next unit of the session."""
        raise NotImplementedError

    def end(self, about: Mapping[str, Any]) -> None:
        """There are no more for now. `about`: the session's own row."""


class SessionRows:
    """What the rows of one session tell."""

    def __init__(self, name: str, start: Callable[[], ThreadLayer]) -> None:
        self.name = name
        self.about: Mapping[str, Any] = {}
        """Its own row."""
        self._start = start
        self._lay_anew()

    def _lay_anew(self) -> None:
        self._laying, self._laid = self._start(), list[Any]()

    def _units(self) -> Sequence[Any]:
        """Return what is stored, in order: the same object while it is unchanged."""
        raise NotImplementedError

    def describe(self, about: Mapping[str, Any]) -> None:
        """Its own row, new or once more."""
        self.about = about

    def is_empty(self) -> bool:
        """Has no message of it come yet?"""
        return not self._units()

    def started(self, name: str) -> str:
        """The tool call that started the session of that name; empty where none tells."""
        raise NotImplementedError

    def thread(self) -> GrowingThread:
        """The thread so far. O(units), but for those that were laid before."""
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
    """A `Reader` of rows. One that has changed is fed again; a row that is gone needs a fresh reader."""

    def __init__(self, format_: str, start: Callable[[str], S]) -> None:
        """`start`: a session of that name, of which no row has come."""
        super().__init__()
        self._format, self._start = format_, start
        self._main = ""
        self._sessions: dict[str, S] = {}
        self._held: tuple[HeldSession, ...] = ()

    def _told_of(self, main: S) -> tuple[str, Sequence[str]]:
        """The program that wrote it, and notes."""
        raise NotImplementedError

    def _take_database(self, row: Mapping[str, Any]) -> None:
        """The first row: which session is read, and which the database holds."""
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
    """Return the session that started this one, by the key of any agent; empty for the user's own."""
    return next(
        filter(
            None, (text_at(about, key) for key in ("parent_id", "parentID", "parent_session_id"))
        ),
        "",
    )


def held_in(row: Mapping[str, Any]) -> tuple[HeldSession, ...]:
    """The sessions that a database holds, as the first row tells them; none where it is one alone."""
    held = tuple(
        HeldSession(text_at(row, "id"), text_at(row, "title"))
        for row in objects_of(row.get("held"))
    )
    return held if len(held) > 1 else ()
