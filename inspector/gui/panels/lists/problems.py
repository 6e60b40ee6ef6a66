"""What in the transcript could not be read as it stands: listed with its line, never hidden, never fatal."""

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import Qt

from inspector.core.session import Problem, Session
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.gui.navigation import jump
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.list_panel import copy_button, lay_out_list
from inspector.gui.widgets.rows import Column, Rows
from inspector.workbench.state import State

COLUMNS: Sequence[Column[Problem]] = (
    Column("line", lambda problem: f"{problem.line:,}" if problem.line else "", 7, figures=True),
    Column("what", lambda problem: problem.what, 42),
    Column("excerpt", lambda problem: problem.excerpt),
    Column("file", lambda problem: problem.file, 20),
)


class ProblemsPanel(Panel):
    """The problems of the session. A click selects the message that stands on the line, where there is one."""

    TITLE: ClassVar[str] = "Problems"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._session: Session | None = None
        self._count = -1
        self.says = label(role="quiet")
        self.says.setWordWrap(True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.table: Rows[Problem] = Rows("Problems", COLUMNS)
        self.copy = copy_button(self.table)
        self.table.chosen.connect(self._select)
        lay_out_list(self, self.says, self.copy, self.table)

    def show_state(self, state: State) -> None:
        """The session's problems, notes above them."""
        session = state.session
        problems = session.problems if session else ()
        if session is self._session and len(problems) == self._count:
            return
        self._session, self._count = session, len(problems)
        self.table.show_rows(problems)
        self.table.setVisible(bool(problems))
        self.copy.setVisible(bool(problems))
        self.says.setText(_says(session, len(problems)))

    def receive(self, state: State) -> None:
        """The count stands in the title, seen or not."""
        count = len(state.session.problems) if state.session else 0
        self.setWindowTitle(f"{self.TITLE} ({count:,})" if count else self.TITLE)
        super().receive(state)

    def _select(self, row: int, column: int = -1) -> None:
        problem = self.table.rows[row]
        if self._session is None or problem.file or not problem.line:
            return
        for thread in self._session.threads:
            for message in thread.messages:
                if message.line == problem.line:
                    jump(self.desk.workbench, thread.id, None, message.id, stay=True)
                    return


def _says(session: Session | None, count: int) -> str:
    if session is None:
        return "Open a transcript to see what in it could not be read."
    notes = " ".join(session.notes)
    if not count:
        return f"Everything in this file was read. {notes}".rstrip()
    return f"{plural(count, 'problem')}; the rest was read. {notes}".rstrip()
