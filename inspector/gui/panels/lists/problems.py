"""What in the transcript could not be read as it stands: listed with its line, never hidden, never fatal."""

from collections.abc import Sequence
from typing import ClassVar

from inspector.core.session import Problem, Session
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.navigation import go_to
from inspector.gui.panels.list_panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.state import State


class ProblemsPanel(ListPanel[Problem]):
    """The problems of the session. A click selects the message that stands on the line, where there is one."""

    TITLE: ClassVar[str] = "Problems"
    NAME = "Problems"
    COLUMNS: ClassVar[Sequence[Column[Problem]]] = (
        Column("line", lambda problem: f"{problem.line:,}" if problem.line else "", 7, figures=True),
        Column("what", lambda problem: problem.what, 42, lines=2),
        Column("excerpt", lambda problem: problem.excerpt),
        Column("file", lambda problem: problem.file, 20),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._session: Session | None = None
        self._count = -1
        self.say_at_length()
        self.lay_out((self.says, 1), self.copy_button())

    def show_state(self, state: State) -> None:
        """The session's problems, notes above them."""
        session = state.session
        problems = session.problems if session else ()
        if session is self._session and len(problems) == self._count:
            return
        self._session, self._count = session, len(problems)
        self.show_rows(problems, _says(session, len(problems)))

    def counted(self, state: State) -> int:
        return len(state.session.problems) if state.session else 0

    def choose(self, place: int, column: int = -1) -> None:
        problem = self.table.rows[place]
        if self._session is None or problem.file or not problem.line:
            return
        for thread in self._session.threads:
            for message in thread.messages:
                if message.line == problem.line:
                    go_to(self.desk.workbench, thread.id, None, message.id, stay=True)
                    return


def _says(session: Session | None, count: int) -> str:
    if session is None:
        return "Open a transcript to see what in it could not be read."
    notes = " ".join(session.notes)
    if not count:
        return f"Everything in this file was read. {notes}".rstrip()
    return f"{plural(count, 'problem')}; the rest was read. {notes}".rstrip()
