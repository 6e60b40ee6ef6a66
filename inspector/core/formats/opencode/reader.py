"""The reader of opencode sessions: an export of one session, or rows of the database, session by session.

A row is `{"table": "session" | "message" | "part", "row": {...}}`, its JSON columns parsed. `{"table": "database",
"row": {"session": id, "held": [...]}}` says first which session is read, and which the database holds.
"""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.excerpt import excerpt
from inspector.core.formats.opencode.content import KINDS, string
from inspector.core.formats.opencode.second import PREFIX, SecondReader
from inspector.core.formats.opencode.track import StoredTrack
from inspector.core.prefix import Prefix
from inspector.core.session import HeldSession, Problem, Session, Thread
from inspector.core.untyped import list_of, object_of, text_at
from inspector.core.usage import ABSURD, is_absurd

NAME = "opencode"
TABLES = ("database", "session", "message", "part")
"""Other sessions that are named; of more, their number is told."""


def is_second(value: Any) -> bool:
    """Is it a row of opencode 2?"""
    return isinstance(value, dict) and text_at(value, "table").startswith(PREFIX)


class OpencodeReader:
    """A `Reader`. A row that has changed is fed again; a row that is gone needs a fresh reader."""

    def __init__(self) -> None:
        self._tracks: dict[str, StoredTrack] = {}
        self._main = ""
        self._held: list[HeldSession] = []
        self._problems: list[Problem] = []
        self._unknown: set[str] = set()
        self._second: SecondReader | None = None
        """Of the rows of opencode 2."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take an export, or a row. Never raises for what it holds."""
        if is_second(value):
            self._second = self._second or SecondReader()
            self._second.feed(line, value)
        elif not isinstance(value, dict):
            self._problems.append(Problem(line, "not a record of a session", excerpt(value), file))
        elif isinstance(row := value.get("row"), dict) and value.get("table") in TABLES:
            self._take_row(line, str(value["table"]), row)
        elif isinstance(info := value.get("info"), dict) and isinstance(value.get("messages"), list):
            self._take_export(line, info, value["messages"])
        else:
            self._problems.append(Problem(line, "not an opencode session", excerpt(value), file))

    # ---- rows ----------------------------------------------------------------------------------------------------

    def _take_row(self, line: int, table: str, row: Mapping[str, Any]) -> None:
        if table == "database":
            self._main = string(row, "session")
            told = (one for one in list_of(row.get("held")) if isinstance(one, dict))
            self._held = [HeldSession(string(one, "id"), string(one, "title")) for one in told]
        elif table == "session":
            self._track(string(row, "id")).info = row
        elif isinstance(data := row.get("data"), dict):
            track = self._track(string(row, "session_id"))
            if table == "message":
                made = row.get("time_created")
                self._check(line, data)
                time = {"created": made} | {**object_of(data, "time")}
                track.take_message({**data, "id": string(row, "id"), "time": time})
            else:
                self._take_part(line, track, {**data, "id": string(row, "id")}, string(row, "message_id"))
        else:
            what = f"the {table} {string(row, 'id')[:60]!r} holds no JSON object: it was left out"
            self._problems.append(Problem(line, what, excerpt(row.get("data"))))

    def _take_part(self, line: int, track: StoredTrack, part: Mapping[str, Any], message: str) -> None:
        kind = part.get("type")
        self._check(line, part)
        track.take_part(part, message)
        if (not isinstance(kind, str) or kind not in KINDS) and str(kind) not in self._unknown:
            self._unknown.add(str(kind))
            self._problems.append(Problem(line, f"unknown part type {str(kind)[:40]!r}", excerpt(part)))

    def _check(self, line: int, told: Mapping[str, Any]) -> None:
        if is_absurd(told.get("tokens")):
            self._problems.append(Problem(line, ABSURD, excerpt(told)))

    def _track(self, name: str) -> StoredTrack:
        track = self._tracks.get(name)
        if track is None:
            track = self._tracks[name] = StoredTrack(name)
        return track

    # ---- an export -------------------------------------------------------------------------------------------------

    def _take_export(self, line: int, info: Mapping[str, Any], messages: list[Any]) -> None:
        self._main = string(info, "id")
        track = self._track(self._main)
        track.info = info
        for n, one in enumerate(messages):
            about = one.get("info") if isinstance(one, dict) else None
            if not isinstance(about, dict):
                self._problems.append(Problem(line, "not a message of a session", excerpt(one)))
                continue
            name = string(about, "id") or f"message-{n:06}"
            self._check(line, about)
            track.take_message({**about, "id": name})
            for m, part in enumerate(list_of(one.get("parts"))):
                if isinstance(part, dict):
                    self._take_part(line, track, {**part, "id": string(part, "id") or f"{name}-{m:06}"}, name)
                else:
                    self._problems.append(Problem(line, "not a part of a message", excerpt(part)))

    # ---- what there is so far --------------------------------------------------------------------------------------

    def session(self) -> Session:
        """The session so far: the main one, and those that it started."""
        if self._second is not None:
            return self._second.session()
        main = self._tracks.get(self._main) or next(iter(self._tracks.values()), StoredTrack(""))
        tracks = [main, *(track for track in self._tracks.values() if track is not main and track.order)]
        threads = [main.thread("main", "", ""), *(self._agent(track, main) for track in tracks[1:])]
        return Session(
            format=NAME,
            threads=tuple(threads),
            problems=Prefix(self._problems),
            client=f"opencode {string(main.info, 'version')}".rstrip(),
            id=string(main.info, "id"),
            notes=tuple(self._notes(main)),
            held=self._held if len(self._held) > 1 else (),
            side_calls=[call for one in tracks for call in one.aside("main" if one is main else one.name)],
        )

    def _agent(self, track: StoredTrack, main: StoredTrack) -> Thread:
        named = string(track.info, "parent_id") or string(track.info, "parentID")
        parent = self._tracks.get(named, main)
        return track.thread(track.name, "main" if parent is main else parent.name, parent.started(track.name))

    def _notes(self, main: StoredTrack) -> list[str]:
        notes = []
        if main.reverted():
            notes.append("The user has taken turns back: the next call sends what stands before them.")
        if parent := string(main.info, "parent_id") or string(main.info, "parentID"):
            notes.append(f"This is the session of a sub-agent, started by {parent}.")
        return notes
