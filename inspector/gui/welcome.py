"""The page of a window without a session: buttons to open or run something, recent files and found sessions."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from inspector.gui.bridge import Bridge
from inspector.gui.look.build import button, column, mark, row
from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme
from inspector.gui.runs.desk import RunDesk
from inspector.gui.settings import Settings
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.small import LinkButton
from inspector.resources import resource

SHOWN = 8
"""Maximum number of rows in a column."""
NONE_FOUND = "No sessions in the usual folders of known agents."


class Welcome(QWidget):
    """The welcome page. It never reads the disk on the GUI thread."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        theme: Theme,
        open_path: Callable[[str], None],
        choose: Callable[[], None],
        runs: RunDesk,
        watch: Callable[[], None],
        receive: Callable[[], None],
    ) -> None:
        super().__init__()
        self._settings = settings
        self._bridge = bridge
        self._open_path = open_path
        demo = "Run an agent in a small sample workspace: no key, no network; every tier fires"
        proxy = "Start a proxy between a real agent and its provider: watch, hold, compact and edit its requests live"
        spans = "Open an address on this machine that receives an agent's OpenTelemetry spans; no proxy is needed"
        self.open = button("Open a transcript…", choose, role="primary")
        self.sample = button("Open the sample", lambda: open_path(str(sample_path())))
        self.demo = button("Run a live demo", lambda: runs.demo(), about=demo)
        self.run = button("Run an agent…", lambda: runs.ask_new())
        self.watch = button("Watch an agent…", lambda: watch(), about=proxy)
        self.receive = button("Receive spans", lambda: receive(), about=spans)
        self.drop = _DropArea()
        self.recent = _Links(
            "RECENT", empty="Sessions that you open appear here.", theme=theme, open_path=open_path
        )
        self.found = _Links(
            "FOUND ON THIS MACHINE",
            empty="Looking for sessions of your agents…",
            theme=theme,
            open_path=open_path,
        )
        self._lay_out()

    def _lay_out(self) -> None:
        body = QWidget()
        body.setMaximumWidth(920)
        words = "See what your agent's model really read, request by request, and what fills its window."
        title = label("Context Inspector", role="title")
        what = label(words, role="quiet")
        begin = flow(self.open, self.sample, self.demo, self.run, self.watch, self.receive)
        links = row((self.recent, 1), (self.found, 1), gap=36)
        column(
            (..., 1),
            title,
            what,
            8,
            begin,
            6,
            self.drop,
            14,
            links,
            (..., 2),
            of=body,
            margins=None,
            gap=10,
        )
        row((..., 1), (body, 40), (..., 1), of=self, margins=(30, 20, 30, 20))

    def refresh(self) -> None:
        """Show the recent transcripts, and start a job that searches this machine for sessions."""
        recents = [
            (Path(path).name, str(Path(path).parent), path) for path in self._settings.recents()
        ]
        self.recent.show_links(recents)
        self._bridge.run(lambda task: _find_sessions(), self._show_found, lane="wait")

    def _show_found(self, sessions: Sequence[tuple[str, str, str]]) -> None:
        self.found.show_links(sessions)
        if not sessions:
            self.found.say(NONE_FOUND)


def sample_path() -> Path:
    """Return the path of the sample session that is installed with the program."""
    return resource("sample.jsonl")


def _find_sessions() -> list[tuple[str, str, str]]:
    """Return (name, description, path) of the sessions found on this machine, newest first."""
    from inspector.transcripts.discover import found_sessions

    return [
        (
            session.title or Path(session.path).name,
            f"{session.format} · {session.when}",
            str(session.path),
        )
        for session in found_sessions()
    ]


class _DropArea(QFrame):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("DropArea")
        self.setMinimumHeight(84)
        words = label(
            "Drop a file or a folder here: a session of Claude Code, Codex, pi, Gemini CLI, opencode or another agent, "
            "a trace, captured traffic, a request body of an API",
            role="quiet",
            wrap=True,
            centred=True,
        )
        QVBoxLayout(self).addWidget(words)

    def show_over(self, over: bool) -> None:
        """Highlight the area while a file is held over the window."""
        mark(self, "over", over)


class _Links(QWidget):
    """A caption above rows, each of which opens a file."""

    def __init__(
        self, caption: str, empty: str, theme: Theme, open_path: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._theme = theme
        self._open_path = open_path
        self.rows: list[LinkButton] = []
        self._empty = label(empty, role="quiet", wrap=True)
        self._column = column(label(caption, role="caption"), 4, self._empty, ..., of=self, gap=1)

    def say(self, words: str) -> None:
        """Set the sentence that is shown if there are no rows."""
        self._empty.setText(words)

    def show_links(self, links: Sequence[tuple[str, str, str]]) -> None:
        """Show the first SHOWN links, given as (name, description, path)."""
        for link in self.rows:
            link.deleteLater()
        self.rows = []
        for name, about, path in links[:SHOWN]:
            link = LinkButton(self._theme, name, about, whole=path)
            link.clicked.connect(lambda _=False, path=path: self._open_path(path))
            self._column.insertWidget(self._column.count() - 1, link)
            self.rows.append(link)
        self._empty.setVisible(not links)
