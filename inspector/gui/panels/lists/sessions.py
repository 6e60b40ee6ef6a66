"""Transcripts to open: other sessions of the open file or folder, recent ones, and those in the agents' folders on this
machine. The disk is searched off the GUI thread, when the panel is first shown and on demand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from inspector.core.session import HeldSession
from inspector.core.words import plural
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import field, small_button
from inspector.gui.look.number_formats import size_words
from inspector.gui.look.tokens import CONTROL_GAP, LIST_HEAD
from inspector.gui.panels.panel import ListPanel
from inspector.gui.welcome import NONE_FOUND
from inspector.gui.widgets.table import Column
from inspector.transcripts.database import split_session_path
from inspector.transcripts.discover import FoundSession, describe_session, found_sessions
from inspector.workbench.state import State

RECENT, HELD, ON_DISK = "recent", "in this file", "on disk"
"""Where a session was found."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session of the list, with a name that no other session has."""

    session: FoundSession
    name: str
    origin: str


class SessionsPanel(ListPanel[SessionRow]):
    """The sessions of this machine; a double click or Enter opens one."""

    TITLE: ClassVar[str] = "Sessions"
    NAME = "Transcripts on this machine"
    COLUMNS: ClassVar[Sequence[Column[SessionRow]]] = (
        Column("title", lambda row: row.name, width=34, least=18, lines=3),
        Column("project", lambda row: row.session.project, lines=2),
        Column("format", lambda row: row.session.format, width=13, least=15, lines=2),
        Column("size", lambda row: size_words(row.session.size), width=8, figures=True),
        Column("changed", lambda row: row.session.when, width=16, least=18),
        Column("found", lambda row: row.origin, width=12, least=12),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._on_disk: Sequence[SessionRow] | None = None
        self._open = self._format = ""
        self._held: Sequence[HeldSession] = ()
        self.filter = field("Filter by title, project or path", "Filter", name="Filter sessions")
        self.filter.textChanged.connect(lambda _: self._show())
        self.filter.returnPressed.connect(lambda: self.open(0))
        self.setFocusProxy(self.filter)
        self.again = small_button("Refresh", self.refresh)
        self.lay_out(
            (self.filter, 2), (self.says, 1), self.again, margins=LIST_HEAD, gap=CONTROL_GAP
        )

    def show_state(self, state: State) -> None:
        """Search the disk at the first call, and again after another transcript was opened, which is then recent."""
        session = state.session
        path = session.path if session else ""
        if self._on_disk is not None and path == self._open:
            return
        self._open = path
        self._held = session.held if session else ()
        self._format = session.format if session else ""
        self.refresh()

    def refresh(self) -> None:
        self.again.setEnabled(False)
        self.says.setText("looking …")
        recents = self.desk.settings.recents()
        held = self._held
        format_name = self._format

        def find_rows(task: Task) -> list[SessionRow]:
            return [*held_rows(held, format_name), *disk_rows(recents)]

        self.desk.bridge.run(find_rows, self._show_found, lane="wait")

    def _show_found(self, rows: Sequence[SessionRow]) -> None:
        self._on_disk = rows
        self.again.setEnabled(True)
        self._show()

    def _show(self) -> None:
        """Show the sessions that match the filter, and how many there are."""
        words = self.filter.text().casefold().split()
        listed = self._on_disk or ()
        rows = [row for row in listed if _has_words(row, words)]
        self.table.show_rows(rows)
        count = len(rows)
        total = len(listed)
        sentence = plural(total, "session")
        if count < total:
            sentence = f"{count:,} of {sentence}"
        if not total:
            sentence = NONE_FOUND
        if self._held:
            sentence += f"; the {len(self._held):,} of the open file come first"
        self.says.setText(sentence)

    def open(self, place: int) -> None:
        if place < len(self.table.rows):
            self.desk.open_path(str(self.table.rows[place].session.path))


def disk_rows(recents: Sequence[str]) -> list[SessionRow]:
    """Return the recent transcripts that still exist, then the others in the agents' folders."""
    by_path = {str(session.path): session for session in found_sessions()}
    described = [by_path.get(path) or describe_session(Path(path)) for path in recents]
    recent = [session for session in described if session is not None]
    others = [session for path, session in by_path.items() if path not in recents]
    sessions = [*recent, *others]
    origins = [RECENT] * len(recent) + [ON_DISK] * len(others)
    return list(map(SessionRow, sessions, _names(sessions), origins))


def held_rows(held: Sequence[HeldSession], format_name: str) -> list[SessionRow]:
    """Return the sessions of the open file or folder, including the open one, named by their ids."""
    rows = []
    for inner in held:
        path = Path(inner.path)
        file = split_session_path(path)[0]
        try:
            status = file.stat()
        except OSError:
            continue
        changed = datetime.fromtimestamp(status.st_mtime, UTC)
        session = FoundSession(
            path,
            format_name,
            status.st_size,
            modified=changed,
            project=str(file.parent),
            title=inner.title,
        )
        rows.append(SessionRow(session, f"{inner.id}  {inner.title}".strip(), HELD))
    return rows


def _names(sessions: Sequence[FoundSession]) -> list[str]:
    """Return a name for each session: its title, with the end of its path if the title is not unique.

    A session without a title is named by the end of its path.
    """
    titles = Counter(session.title for session in sessions)
    tails = distinct_names([session.path for session in sessions])
    names = []
    for session, tail in zip(sessions, tails, strict=True):
        if session.title and titles[session.title] > 1:
            names.append(f"{session.title} · {tail}")
        else:
            names.append(session.title or tail)
    return names


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return the end of each path, with as many folders as are needed to make it unique."""
    names = [path.name for path in paths]
    deepest = max((len(path.parts) for path in paths), default=0)
    for depth in range(2, deepest + 1):
        counts = Counter(names)
        if max(counts.values()) == 1:
            break
        for index, path in enumerate(paths):
            if counts[names[index]] > 1:
                names[index] = str(Path(*path.parts[-depth:]))
    return names


def _has_words(row: SessionRow, words: Sequence[str]) -> bool:
    """Are all words in the name, project or path of a session?"""
    text = f"{row.name} {row.session.project} {row.session.path}".casefold()
    return all(word in text for word in words)
