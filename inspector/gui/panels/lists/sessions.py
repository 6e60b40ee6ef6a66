"""Transcripts to open: those opened lately, and those that lie in the agents' folders on this machine.

The disk is looked at off the GUI thread, when the panel is first seen and on demand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout

from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.rows import Column, Rows
from inspector.transcripts.discover import FoundSession, found_sessions
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class Listed:
    """A transcript on disk."""

    path: str
    title: str
    project: str
    format: str
    size: int | None
    when: str
    recent: bool


COLUMNS: Sequence[Column[Listed]] = (
    Column("title", lambda one: one.title or Path(one.path).name),
    Column("project", lambda one: one.project, 34),
    Column("format", lambda one: "opened lately" if one.recent else one.format, 13),
    Column("size", lambda one: _size(one.size), 8, figures=True),
    Column("changed", lambda one: one.when, 15),
)


class SessionsPanel(Panel):
    """A double click or Enter opens."""

    TITLE: ClassVar[str] = "Sessions"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._listed: Sequence[Listed] | None = None
        self._open = ""
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter by title, project or path")
        self.filter.setClearButtonEnabled(True)
        self.filter.setAccessibleName("Filter sessions")
        self.filter.textChanged.connect(lambda _: self._show())
        self.filter.returnPressed.connect(lambda: self._open_row(0))
        self.setFocusProxy(self.filter)
        self.says = label(role="quiet")
        self.again = QToolButton()
        self.again.setText("look again")
        self.again.setProperty("role", "flat")
        self.again.clicked.connect(self.refresh)
        self.table: Rows[Listed] = Rows("Transcripts on this machine", COLUMNS)
        self.table.opened.connect(self._open_row)
        head = QHBoxLayout()
        head.setContentsMargins(10, 5, 8, 4)
        head.setSpacing(8)
        head.addWidget(self.filter, 2)
        head.addWidget(self.says, 1)
        head.addWidget(self.again)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)

    def show_state(self, state: State) -> None:
        """Looks once, and again when another transcript was opened: it is a recent one now."""
        path = state.session.path if state.session else ""
        if self._listed is None or path != self._open:
            self._open = path
            self.refresh()

    def refresh(self) -> None:
        """Look at the disk again."""
        self.again.setEnabled(False)
        self.says.setText("looking …")
        recents = self.desk.settings.recents()
        self.desk.bridge.run(lambda task: on_disk(recents), self._found, waits=True)

    def _found(self, listed: Sequence[Listed]) -> None:
        self._listed = listed
        self.again.setEnabled(True)
        self._show()

    def _show(self) -> None:
        words = self.filter.text().casefold().split()
        rows = [
            one
            for one in self._listed or ()
            if all(word in f"{one.title} {one.project} {one.path}".casefold() for word in words)
        ]
        self.table.show_rows(rows)
        self.says.setText(_says(len(rows), len(self._listed or ())))

    def _open_row(self, row: int) -> None:
        if row < len(self.table.rows):
            self.desk.open_path(self.table.rows[row].path)


def on_disk(recents: Sequence[str]) -> list[Listed]:
    """Recent transcripts that still exist, then those in the agents' folders that are not among them."""
    found = {str(one.path): one for one in found_sessions()}
    lately = [_listed(found[path], True) if path in found else _recent(path) for path in recents]
    others = [_listed(one, False) for path, one in found.items() if path not in recents]
    return [one for one in lately if one is not None] + others


def _listed(found: FoundSession, recent: bool) -> Listed:
    return Listed(str(found.path), found.title, found.project, found.format, found.size, found.when, recent)


def _recent(path: str) -> Listed | None:
    """A transcript that was opened from elsewhere; None where it is gone."""
    try:
        about = Path(path).stat()
    except OSError:
        return None
    when = f"{datetime.fromtimestamp(about.st_mtime).astimezone():%Y-%m-%d %H:%M}"
    return Listed(path, "", str(Path(path).parent), "", about.st_size, when, True)


def _size(size: int | None) -> str:
    if size is None:
        return ""
    return f"{size / 1_000_000:,.1f} MB" if size >= 100_000 else f"{size / 1_000:,.1f} kB"


def _says(shown: int, total: int) -> str:
    if not total:
        return "No transcripts of Claude Code, Codex or pi in their folders."
    return f"{shown:,} of {total:,}" if shown < total else f"{total:,}"
