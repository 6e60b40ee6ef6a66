"""The reader of Crush sessions: rows of its database, session by session.

A row is `{"table": "crush.sessions" | "crush.messages", "row": {...}}`, its parts parsed; `crush.database` says first
which session is read, and which the database holds.
"""

from typing import Any

from inspector.core.formats.crush.track import CrushTrack
from inspector.core.formats.excerpt import excerpt
from inspector.core.prefix import Prefix
from inspector.core.session import HeldSession, Problem, Session, Thread
from inspector.core.untyped import objects_of, text_at
from inspector.core.words import dollars

NAME = "crush"
TABLES = ("crush.database", "crush.sessions", "crush.messages")
_ONE_POINT = (
    "Crush keeps the tokens of the last call only: its prompt and its answer as one sum, which is shown as the prompt. "
    "Nothing tells how much of it was read from a cache."
)


class CrushReader:
    """A `Reader`. A row that has changed is fed again; a row that is gone needs a fresh reader."""

    def __init__(self) -> None:
        self._tracks: dict[str, CrushTrack] = {}
        self._main = ""
        self._held: list[HeldSession] = []
        self._problems: list[Problem] = []

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a row. Never raises for what it holds."""
        table, row = (value.get("table"), value.get("row")) if isinstance(value, dict) else (None, None)
        if table not in TABLES or not isinstance(row, dict):
            self._problems.append(Problem(line, "not a row of Crush's database", excerpt(value), file))
        elif table == "crush.database":
            self._main = text_at(row, "session")
            told = objects_of(row.get("held"))
            self._held = [HeldSession(text_at(one, "id"), text_at(one, "title")) for one in told]
        elif table == "crush.sessions":
            self._track(text_at(row, "id")).take_session(row)
        elif isinstance(row.get("parts"), list):
            self._track(text_at(row, "session_id")).take_message(row)
        else:
            what = f"the message {text_at(row, 'id')[:60]!r} holds no list of parts: it was left out"
            self._problems.append(Problem(line, what, excerpt(row.get("parts"))))

    def _track(self, name: str) -> CrushTrack:
        track = self._tracks.get(name)
        if track is None:
            track = self._tracks[name] = CrushTrack(name)
        return track

    def session(self) -> Session:
        """The session so far: the main one, and those that it started."""
        main = self._tracks.get(self._main) or next(iter(self._tracks.values()), CrushTrack(""))
        agents = [track for track in self._tracks.values() if track is not main and not track.is_empty()]
        cost = main.about.get("cost")
        notes = [_ONE_POINT]
        if isinstance(cost, int | float) and cost > 0:
            notes.append(f"Crush reckoned {dollars(cost)} for the whole session.")
        return Session(
            format=NAME,
            threads=(main.thread("main", "", ""), *(self._agent(track, main) for track in agents)),
            problems=Prefix(self._problems),
            client="Crush",
            id=main.name,
            notes=tuple(notes),
            side_calls=[call for one in (main, *agents) for call in one.aside("main" if one is main else one.name)],
            held=self._held if len(self._held) > 1 else (),
        )

    def _agent(self, track: CrushTrack, main: CrushTrack) -> Thread:
        named = text_at(track.about, "parent_session_id")
        parent = self._tracks.get(named, main)
        return track.thread(track.name, "main" if parent is main else parent.name, parent.started(track.name))
