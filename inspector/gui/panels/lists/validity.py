"""Would a provider refuse the buffer where we stand, recorded or stepped, and why. What does not pair up can be mended.

A check costs as much as the buffer is long, so it is made off the GUI thread.
"""

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout

from inspector.core.buffer import Buffer, View
from inspector.core.validity import Invalid, check
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import plural
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.rows import Column, Rows
from inspector.workbench.state import State

COLUMNS: Sequence[Column[Invalid]] = (
    Column("rule", lambda invalid: invalid.rule, 17),
    Column("why", lambda invalid: invalid.why),
    Column("refused by", lambda invalid: ", ".join(invalid.providers), 20),
    Column("message", lambda invalid: invalid.message, 10),
)

MENDED = ("result-without-call", "call-without-result", "duplicate-answer")
MENDS = (
    "A step of its own: results without a call are dropped, calls without a result are given one "
    "that says that it was removed. It can be undone."
)


class ValidityPanel(Panel):
    """The reasons to refuse, in the order of the messages. A click selects the message."""

    TITLE: ClassVar[str] = "Valid"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._view: View | Buffer | None = None
        self.says = label(role="quiet")
        self.says.setWordWrap(True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._task: Task | None = None
        self.mend = QToolButton()
        self.mend.setText("Repair (safe)")
        self.mend.setToolTip(tip(MENDS))
        self.mend.clicked.connect(desk.workbench.stepping.repair)
        self.mend.hide()
        self.table: Rows[Invalid] = Rows("Why a provider would refuse this buffer", COLUMNS)
        self.table.chosen.connect(lambda row, column: desk.workbench.select(self.table.rows[row].message))
        head = QHBoxLayout()
        head.setContentsMargins(13, 6, 8, 4)
        head.addWidget(self.says, 1)
        head.addWidget(self.mend, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        self.table.hide()
        self._latest = State()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(200)
        self._soon.timeout.connect(lambda: self.show_state(self._latest))

    def receive(self, state: State) -> None:
        """The verdict stands in the title, seen or not; unseen it may come a moment later."""
        super().receive(state)
        self._latest = state
        if not self.seen:
            self._soon.start()

    def show_state(self, state: State) -> None:
        """Check the buffer where we stand, if it is another one."""
        thread = state.thread
        if thread is None:
            self.says.setText("Open a transcript to see whether a provider would take its buffers.")
            return
        stepped = state.stepped_buffer
        view = stepped or (state.request.view if state.request else thread.end)
        if view is self._view or (stepped is None and view == self._view):
            return
        self._view = view
        if self._task is not None:
            self._task.cancel()
        self._task = self.desk.bridge.run(lambda task: check(state.buffer()), self._show)

    def _show(self, found: Sequence[Invalid]) -> None:
        self.table.show_rows(found)
        self.table.setVisible(bool(found))
        self.mend.setVisible(any(invalid.rule in MENDED for invalid in found))
        self.says.setText(_says(found))
        self.setWindowTitle(f"{self.TITLE} ✗ ({len(found):,})" if found else f"{self.TITLE} ✓")


def _says(found: Sequence[Invalid]) -> str:
    if not found:
        return "Any provider would take this buffer."
    providers = sorted({name for invalid in found for name in invalid.providers})
    return f"{plural(len(found), 'reason')} to refuse this buffer: {', '.join(providers)}."
