"""Transcripts to open: the others of a file or folder with many, those opened lately, and those that lie in the agents'
folders on this machine. The disk is looked at off the GUI thread, when the panel is first seen and on demand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from inspector.core.session import HeldSession
from inspector.gui.desk import Desk
from inspector.gui.look.build import field, small_button
from inspector.gui.look.number_formats import size_words
from inspector.gui.panels.panel import ListPanel
from inspector.gui.welcome import NONE_FOUND
from inspector.gui.widgets.table import Column
from inspector.transcripts.database import named
from inspector.transcripts.discover import FoundSession, found_sessions
from inspector.workbench.state import State

LATELY, HELD = "opened lately", "in this file"


class SessionsPanel(ListPanel[FoundSession]):
    """A double click or Enter opens."""

    TITLE: ClassVar[str] = "Sessions"
    NAME = "Transcripts on this machine"
    COLUMNS: ClassVar[Sequence[Column[FoundSession]]] = (
        Column("title", lambda one: one.title or one.path.name, 34, least=18, lines=3),
        Column("project", lambda one: one.project, lines=2),
        Column("format", lambda one: one.format, 13, least=15, lines=2),
        Column("size", lambda one: size_words(one.size), 8, figures=True),
        Column("changed", lambda one: one.when, 16, least=18),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._on_disk: Sequence[FoundSession] | None = None
        self._open = ""
        self._held: Sequence[HeldSession] = ()
        self.filter = field("Filter by title, project or path", "Filter", name="Filter sessions")
        self.filter.textChanged.connect(lambda _: self._show())
        self.filter.returnPressed.connect(lambda: self.open(0))
        self.setFocusProxy(self.filter)
        self.again = small_button("look again", self.refresh)
        self.lay_out((self.filter, 2), (self.says, 1), self.again, margins=(10, 5, 8, 4), gap=8)

    def show_state(self, state: State) -> None:
        """Looks once, and again when another transcript was opened: it is a recent one now."""
        path = state.session.path if state.session else ""
        if self._on_disk is None or path != self._open:
            self._open, self._held = path, state.session.held if state.session else ()
            self.refresh()

    def refresh(self) -> None:
        self.again.setEnabled(False)
        self.says.setText("looking …")
        recents, held = self.desk.settings.recents(), self._held
        self.desk.bridge.run(lambda task: [*beside(held), *on_disk(recents)], self._arrived, waits=True)

    def _arrived(self, rows: Sequence[FoundSession]) -> None:
        self._on_disk = rows
        self.again.setEnabled(True)
        self._show()

    def _show(self) -> None:
        words = self.filter.text().casefold().split()
        rows = [
            one
            for one in self._on_disk or ()
            if all(word in f"{one.title} {one.project} {one.path}".casefold() for word in words)
        ]
        self.table.show_rows(rows)
        held = f"; first the {len(self._held):,} of what is open" if self._held else ""
        shown, total = len(rows), len(self._on_disk or ())
        many = f"{shown:,} of {total:,}" if shown < total else f"{total:,}"
        self.says.setText((many if total else NONE_FOUND) + held)

    def open(self, place: int) -> None:
        if place < len(self.table.rows):
            self.desk.open_path(str(self.table.rows[place].path))


def on_disk(recents: Sequence[str]) -> list[FoundSession]:
    """Recent transcripts that still exist, then those in the agents' folders that are not among them."""
    found = {str(one.path): one for one in found_sessions()}
    lately = [one for path in recents if (one := found.get(path) or _elsewhere(path)) is not None]
    others = [one for path, one in found.items() if path not in recents]
    return [replace(one, format=LATELY) for one in lately] + others


def beside(held: Sequence[HeldSession]) -> list[FoundSession]:
    """Those of the file or folder that is open, the open one among them, by their ids."""
    rows = [(one, _elsewhere(one.path)) for one in held]
    return [replace(row, format=HELD, title=f"{one.id}  {one.title}".strip()) for one, row in rows if row]


def _elsewhere(path: str) -> FoundSession | None:
    """A transcript that was opened from elsewhere; None where it is gone."""
    file = named(Path(path))[0]
    try:
        about = file.stat()
    except OSError:
        return None
    changed = datetime.fromtimestamp(about.st_mtime).astimezone()
    return FoundSession(Path(path), LATELY, about.st_size, changed, str(file.parent), "")
