"""The page of an empty window: open, drop, the sample, what was open lately, what lies on this machine."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from inspector.gui.bridge import Bridge
from inspector.gui.look.labels import label, tip
from inspector.gui.look.theme import Theme
from inspector.gui.runs.desk import RunDesk
from inspector.gui.settings import Settings
from inspector.gui.widgets.link_button import Link
from inspector.resources import resource

SHOWN = 8
"""So many rows a column."""


class Welcome(QWidget):
    """Nothing here reads the disk on the GUI thread."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        theme: Theme,
        open_path: Callable[[str], None],
        choose: Callable[[], None],
        runs: RunDesk,
        watch: Callable[[], None],
    ) -> None:
        super().__init__()
        self._settings, self._bridge, self._open_path = settings, bridge, open_path
        self.open = QPushButton("Open a transcript…")
        self.open.setProperty("role", "primary")
        self.open.clicked.connect(choose)
        self.sample = QPushButton("Open the sample")
        self.sample.clicked.connect(lambda: open_path(str(sample_path())))
        self.demo = QPushButton("Run a live demo")
        self.demo.setToolTip(tip("An agent on a small workspace of its own: no key, no network; every tier fires"))
        self.demo.clicked.connect(lambda: runs.demo())
        self.run = QPushButton("Run an agent…")
        self.run.clicked.connect(lambda: runs.ask_new())
        self.watch = QPushButton("Watch an agent…")
        self.watch.setToolTip(
            tip("A proxy between a real agent and its provider: what it sends, live; hold, compact, edit")
        )
        self.watch.clicked.connect(lambda: watch())
        self.drop = _DropArea()
        self.recent = _Column("RECENT", "What you open appears here.", theme, open_path)
        self.found = _Column("FOUND ON THIS MACHINE", "Looking for sessions of your agents…", theme, open_path)
        self._lay_out()

    def _lay_out(self) -> None:
        body = QWidget()
        body.setMaximumWidth(920)
        column = QVBoxLayout(body)
        column.setSpacing(10)
        column.addStretch(1)
        column.addWidget(label("Context Inspector", role="title"))
        words = "See what your agent's model really read, request by request, and what fills its window."
        column.addWidget(label(words, role="quiet"))
        column.addSpacing(8)
        row = QHBoxLayout()
        for button in (self.open, self.sample, self.demo, self.run, self.watch):
            row.addWidget(button)
        row.addStretch()
        column.addLayout(row)
        column.addSpacing(6)
        column.addWidget(self.drop)
        column.addSpacing(14)
        columns = QHBoxLayout()
        columns.setSpacing(36)
        columns.addWidget(self.recent, 1)
        columns.addWidget(self.found, 1)
        column.addLayout(columns)
        column.addStretch(2)
        middle = QHBoxLayout(self)
        middle.setContentsMargins(30, 20, 30, 20)
        middle.addStretch(1)
        middle.addWidget(body, 40)
        middle.addStretch(1)

    def refresh(self) -> None:
        """Show the recents, and look again for sessions, in a job."""
        recents = [(Path(path).name, str(Path(path).parent), path) for path in self._settings.recents()]
        self.recent.show_links(recents)
        self._bridge.run(lambda task: _on_this_machine(), self._show_found, waits=True)

    def _show_found(self, found: Sequence[tuple[str, str, str]]) -> None:
        self.found.show_links(found)
        if not found:
            self.found.say("No sessions of Claude Code, Codex, pi, Gemini CLI or opencode in their usual folders.")

    def drag_over(self, over: bool) -> None:
        """A file is held over the window."""
        self.drop.show_over(over)


def sample_path() -> Path:
    """The session that ships with the program."""
    return resource("sample.jsonl")


def _on_this_machine() -> list[tuple[str, str, str]]:
    """(name, what it is, path), newest first."""
    from inspector.transcripts.sessions import found_sessions

    return [(one.title or Path(one.path).name, f"{one.format} · {one.when}", str(one.path)) for one in found_sessions()]


class _DropArea(QFrame):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("DropArea")
        self.setMinimumHeight(84)
        words = label(
            "Drop a transcript here: Claude Code, Codex, pi, Gemini CLI, opencode, or a request body of an API",
            role="quiet",
        )
        words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        words.setWordWrap(True)
        QVBoxLayout(self).addWidget(words)

    def show_over(self, over: bool) -> None:
        self.setProperty("over", over)
        self.style().polish(self)


class _Column(QWidget):
    """A caption over rows that open something."""

    def __init__(self, caption: str, empty: str, theme: Theme, open_path: Callable[[str], None]) -> None:
        super().__init__()
        self._theme, self._open_path = theme, open_path
        self.rows: list[Link] = []
        self._empty: QLabel = label(empty, role="quiet")
        self._empty.setWordWrap(True)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        self._column.addWidget(label(caption, role="caption"))
        self._column.addSpacing(4)
        self._column.addWidget(self._empty)
        self._column.addStretch()

    def say(self, words: str) -> None:
        """Instead of rows."""
        self._empty.setText(words)

    def show_links(self, links: Sequence[tuple[str, str, str]]) -> None:
        """(name, about, path), the first few."""
        for row in self.rows:
            row.deleteLater()
        self.rows = []
        for name, about, path in links[:SHOWN]:
            row = Link(self._theme, name, about, path)
            row.clicked.connect(lambda _=False, path=path: self._open_path(path))
            self._column.insertWidget(self._column.count() - 1, row)
            self.rows.append(row)
        self._empty.setVisible(not links)
