"""Whether a provider would refuse the current buffer, and why. Calls and results without a partner can be repaired."""

from collections.abc import Sequence
from typing import ClassVar

from inspector.core.validity import Invalid, find_refusals
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, delayed, small_button
from inspector.gui.look.tokens import LIST_HEAD
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.message_rows import no_messages_words
from inspector.workbench.state import State

MENDED = ("result-without-call", "call-without-result", "duplicate-answer")
MENDS = (
    "Take a step that drops each result without a call, and answers each call without a result with a note that its "
    "result was removed. You can undo the step."
)


class ValidityPanel(ListPanel[Invalid]):
    """The reasons to refuse the buffer, in the order of the messages. A click selects the message."""

    TITLE: ClassVar[str] = "Valid"

    NAME = "Why a provider would refuse this buffer"
    COLUMNS: ClassVar[Sequence[Column[Invalid]]] = (
        Column("rule", lambda invalid: invalid.rule, width=17),
        Column("why", lambda invalid: invalid.why, lines=3),
        Column("refused by", lambda invalid: ", ".join(invalid.providers), width=20),
        Column("message", lambda invalid: invalid.message, width=10),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._job = LatestJob(desk.bridge)
        self.mend = small_button(
            "Repair (safe)", desk.workbench.stepping.repair, about=MENDS, role=""
        )
        self.mend.hide()
        self.say_at_length()
        self.lay_out((self.says, 1), column(self.mend, ...), margins=LIST_HEAD)
        self.table.hide()
        self._latest = State()
        self._soon = delayed(self, milliseconds=200, call=lambda: self.show_state(self._latest))

    def receive(self, state: State) -> None:
        """Show the verdict in the title even while the panel is hidden; it is then computed after a short delay."""
        super().receive(state)
        self._latest = state
        if not self.seen:
            self._soon.start()

    def show_state(self, state: State) -> None:
        """Check the current buffer if it has changed."""
        if state.thread is None:
            self.says.setText("Open a transcript to see whether a provider would take its buffers.")
            return
        stepped = state.stepped_buffer
        if not self.is_new("verdict", stepped, () if stepped is not None else (state.view,)):
            return
        if stepped is None and not state.view.length:
            self._job.cancel()
            self.show_rows((), no_messages_words(state))
            self.mend.hide()
            self.setWindowTitle(self.TITLE)
            return
        self._job.run(lambda task: find_refusals(state.buffer()), self._show)

    def _show(self, problems: Sequence[Invalid]) -> None:
        self.show_rows(problems, _says(problems))
        self.mend.setVisible(any(invalid.rule in MENDED for invalid in problems))
        self.setWindowTitle(
            f"{self.TITLE} ✗ ({len(problems):,})" if problems else f"{self.TITLE} ✓"
        )

    def choose(self, place: int, column: int = -1) -> None:
        self.desk.workbench.select(self.table.rows[place].message)


def _says(problems: Sequence[Invalid]) -> str:
    if not problems:
        return "Any provider would take this buffer."
    providers = sorted({name for invalid in problems for name in invalid.providers})
    return f"{plural(len(problems), 'reason')} why {', '.join(providers)} would refuse this buffer."
