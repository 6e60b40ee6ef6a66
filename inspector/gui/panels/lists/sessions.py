"""Transcripts to open: the others of a file or folder with many, the recent ones, and those that lie in the agents'
folders on this machine. The disk is looked at off the GUI thread, when the panel is first seen and on demand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from inspector.core.session import HeldSession
from inspector.gui.desk import Desk
from inspector.gui.look.build import field, small_button
from inspector.gui.look.number_formats import size_words
from inspector.gui.panels.panel import ListPanel
from inspector.gui.welcome import NONE_FOUND
from inspector.gui.widgets.table import Column
from inspector.transcripts.database import split_session_path
from inspector.transcripts.discover import FoundSession, describe_session, found_sessions
from inspector.workbench.state import State

RECENT, HELD, ON_DISK = "recent", "in this file", "on disk"
"""How a session came into the list."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session of the list; `name` tells it from the others."""

    session: FoundSession
    name: str
    origin: str


class SessionsPanel(ListPanel[SessionRow]):
    """A double click or Enter opens."""

    TITLE: ClassVar[str] = "Sessions"
    NAME = "Transcripts on this machine"
    COLUMNS: ClassVar[Sequence[Column[SessionRow]]] = (
        Column("title", lambda row: row.name, 34, least=18, lines=3),
        Column("project", lambda row: row.session.project, lines=2),
        Column("format", lambda row: row.session.format, 13, least=15, lines=2),
        Column("size", lambda row: size_words(row.session.size), 8, figures=True),
        Column("changed", lambda row: row.session.when, 16, least=18),
        Column("found", lambda row: row.origin, 12, least=12),
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
        self.lay_out((self.filter, 2), (self.says, 1), self.again, margins=(10, 5, 8, 4), gap=8)

    def show_state(self, state: State) -> None:
        """Looks once, and again when another transcript was opened: it is a recent one now."""
        path = state.session.path if state.session else ""
        if self._on_disk is None or path != self._open:
            self._open, self._held = path, state.session.held if state.session else ()
            self._format = state.session.format if state.session else ""
            self.refresh()

    def refresh(self) -> None:
        self.again.setEnabled(False)
        self.says.setText("looking …")
        recents, held, format_name = self.desk.settings.recents(), self._held, self._format
        self.desk.bridge.run(
            lambda task: [*held_rows(held, format_name), *disk_rows(recents)], self._show_arrived, lane="wait"
        )

    def _show_arrived(self, rows: Sequence[SessionRow]) -> None:
        self._on_disk = rows
        self.again.setEnabled(True)
        self._show()

    def _show(self) -> None:
        words = self.filter.text().casefold().split()
        rows = [row for row in self._on_disk or () if _has_words(row, words)]
        self.table.show_rows(rows)
        held = f"; first the {len(self._held):,} of what is open" if self._held else ""
        count, total = len(rows), len(self._on_disk or ())
        many = f"{count:,} of {total:,}" if count < total else f"{total:,}"
        self.says.setText((many if total else NONE_FOUND) + held)

    def open(self, place: int) -> None:
        if place < len(self.table.rows):
            self.desk.open_path(str(self.table.rows[place].session.path))


def disk_rows(recents: Sequence[str]) -> list[SessionRow]:
    """Recent transcripts that still exist, then those in the agents' folders that are not among them."""
    by_path = {str(session.path): session for session in found_sessions()}
    described = [by_path.get(path) or describe_session(Path(path)) for path in recents]
    recent = [session for session in described if session is not None]
    others = [session for path, session in by_path.items() if path not in recents]
    names = iter(_names([*recent, *others]))
    rows = [SessionRow(session, next(names), RECENT) for session in recent]
    return rows + [SessionRow(session, next(names), ON_DISK) for session in others]


def held_rows(held: Sequence[HeldSession], format_name: str) -> list[SessionRow]:
    """The sessions of the file or folder that is open, the open one among them, by their ids."""
    rows = []
    for inner in held:
        file = split_session_path(Path(inner.path))[0]
        try:
            about = file.stat()
        except OSError:
            continue
        changed = datetime.fromtimestamp(about.st_mtime, UTC)
        session = FoundSession(Path(inner.path), format_name, about.st_size, changed, str(file.parent), inner.title)
        rows.append(SessionRow(session, f"{inner.id}  {inner.title}".strip(), HELD))
    return rows


def _names(sessions: Sequence[FoundSession]) -> list[str]:
    """The title of each; the end of its path, too, if it has none or another session has the same."""
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
    """The end of each path, with as many of its folders as tell it from the others."""
    names = [path.name for path in paths]
    for depth in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        counts = Counter(names)
        if max(counts.values()) == 1:
            break
        longer = (str(Path(*path.parts[-depth:])) for path in paths)
        names = [end if counts[name] > 1 else name for name, end in zip(names, longer, strict=True)]
    return names


def _has_words(row: SessionRow, words: Sequence[str]) -> bool:
    """Are all words in the name, project or path of a session?"""
    text = f"{row.name} {row.session.project} {row.session.path}".casefold()
    return all(word in text for word in words)
