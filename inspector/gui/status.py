"""The strip at the bottom: what is open, in one line, and the keys that walk through it."""

from collections.abc import Callable, Mapping

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from inspector.core.session import Session
from inspector.gui.guard import Guarded
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.workbench.state.state import Following, State

_FOLLOWING: Mapping[Following, str] = {
    "": "",
    "file": "following · ",
    "project": "following the newest of this project · ",
}


class StatusStrip(Guarded, QFrame):
    """A click on the problems shows them."""

    def __init__(self, show_problems: Callable[[], None]) -> None:
        super().__init__()
        self.setObjectName("StatusStrip")
        self.words = label("Nothing open")
        self.problems = QPushButton()
        self.problems.setProperty("role", "flat")
        self.problems.clicked.connect(show_problems)
        self.keys = label("← → request    ↑ ↓ message    0–4 tier    Ctrl+Z undo    Ctrl+K commands    F1 keys")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 1, 12, 1)
        row.addWidget(self.words)
        row.addWidget(self.problems)
        row.addStretch()
        row.addWidget(self.keys)
        self._session: Session | None = None
        self._following: Following = ""
        self.problems.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The keys give way where there is no room for both."""
        super().resizeEvent(event)
        self.keys.setVisible(self.width() > self.words.sizeHint().width() + self.keys.sizeHint().width() + 140)

    def show_state(self, state: State) -> None:
        """Counts of the whole session."""
        if state.session is self._session and state.following == self._following:
            return
        session, self._following = state.session, state.following
        self._session = session
        self.problems.setVisible(bool(session and session.problems))
        if session is None:
            self.words.setText("Nothing open")
            return
        self.words.setText(f"{_FOLLOWING[state.following]}{_told(session)}")
        self.problems.setText(plural(len(session.problems), "problem"))


def _told(session: Session) -> str:
    main = session.main
    words = [
        session.client or session.format,
        plural(len(main.messages), "message"),
        plural(len(main.requests), "request"),
        plural(len(main.compactions), "compaction"),
    ]
    agents = sum(1 for thread in session.threads[1:] if thread.parent)
    others = len(session.threads) - 1 - agents
    words += [plural(agents, "sub-agent")] if agents else []
    words += [plural(others, "other conversation")] if others else []  # several agents at one proxy
    return " · ".join(words)
