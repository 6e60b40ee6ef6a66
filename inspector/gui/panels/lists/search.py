"""Search in the buffer and through the session: which messages hold a text, when each came and when it left.

A row, or Enter on it, goes to the request where the message first appears; a click on "leaves" to the request that no
longer holds it. Searching runs off the GUI thread a moment after the last key.
"""

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout

from inspector.core.session import Session
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped, plural
from inspector.gui.navigation import jump
from inspector.gui.panels.lists.search_rows import COLUMNS, LEAVES, Found, found_in
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.rows import Rows
from inspector.workbench.state import State

MOST = 5_000
"""Rows that are shown."""
SCOPES = ("this buffer", "this thread", "all threads")


class SearchPanel(Panel):
    """A field to type in and the messages that hold what was typed."""

    TITLE: ClassVar[str] = "Search"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._task: Task | None = None
        self._searched: tuple[object, ...] = ()
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search the messages")
        self.field.setClearButtonEnabled(True)
        self.field.setAccessibleName("Search the messages")
        self.setFocusProxy(self.field)
        self.scope = QComboBox()
        self.scope.addItems(SCOPES)
        self.scope.setCurrentIndex(1)
        self.scope.setAccessibleName("Where to search")
        self.case = QToolButton()
        self.case.setText("Aa")
        self.case.setCheckable(True)
        self.case.setProperty("role", "flat")
        self.case.setAccessibleName("Match case")
        self.case.setToolTip("Match case")
        self.says = label(role="quiet")
        self.table: Rows[Found] = Rows("Messages that hold the text", COLUMNS)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(180)
        self._soon.timeout.connect(self._search)
        self.field.textChanged.connect(self._soon.start)
        self.field.returnPressed.connect(self._first)
        self.scope.currentIndexChanged.connect(self._search)
        self.case.toggled.connect(self._search)
        self.table.chosen.connect(self._go)
        self.table.opened.connect(lambda row: desk.show_panel("Message"))
        self._lay_out()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(10, 5, 8, 4)
        head.setSpacing(8)
        for widget in (self.field, self.case, self.scope, self.says):
            head.addWidget(widget, 2 if widget is self.field else 1 if widget is self.says else 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)

    def show_state(self, state: State) -> None:
        """Another session, thread or (where only the buffer is searched) request is searched anew."""
        self._state = state
        if self._wanted() != self._searched:
            self._search()

    def take(self, text: str) -> None:
        """Look for what was typed elsewhere, at once."""
        self.field.setText(text)
        self._search()

    def _wanted(self) -> tuple[object, ...]:
        """All that the result depends on; sessions and threads by identity, as comparing them is long."""
        state, scope = self._state, self.scope.currentIndex()
        place = state.request.view if scope == 0 and state.request else None
        size = len(state.thread.messages) if state.thread else 0
        return id(state.session), id(state.thread), size, place, scope, self.case.isChecked(), self.field.text()

    def _search(self) -> None:
        self._soon.stop()
        self._searched = self._wanted()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        text, session, thread = self.field.text(), self._state.session, self._state.thread
        if not text or session is None or thread is None:
            self._show_found(())
            return
        threads = session.threads if self.scope.currentIndex() == 2 else (thread,)
        ids = frozenset(map(id, self._state.buffer().messages)) if self.scope.currentIndex() == 0 else None
        case = self.case.isChecked()
        self.says.setText("searching …")
        self._task = self.desk.bridge.run(lambda task: found_in(threads, text, case, ids, task), self._show_found)

    def _show_found(self, found: Sequence[Found]) -> None:
        self.table.show_rows(found[:MOST])
        self.table.setColumnHidden(len(COLUMNS) - 1, self.scope.currentIndex() != 2)
        self.says.setText(_says(self._state.session, self.field.text(), found))

    def _first(self) -> None:
        if self._soon.isActive():
            self._search()
        elif self.table.rows:
            self.table.setFocus()
            self.table.selectRow(max(0, self.table.currentIndex().row()))
            self._go(max(0, self.table.currentIndex().row()), -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Down goes from the field into the rows."""
        if event.key() == Qt.Key.Key_Down and self.table.rows:
            self._first()
        else:
            super().keyPressEvent(event)

    def _go(self, row: int, column: int) -> None:
        found = self.table.rows[row]
        stay = found.hit.stay
        at = None if stay is None else stay.left if column == LEAVES and stay.left is not None else stay.came
        here = stay is None or self.scope.currentIndex() == 0
        jump(self.desk.workbench, found.thread.id, at, found.hit.message.id, stay=here)


def _says(session: Session | None, text: str, found: Sequence[Found]) -> str:
    if session is None:
        return "Open a transcript to search it."
    if not text:
        return ""
    if not found:
        return "Nothing holds this text."
    return plural(len(found), "message") + (f", the first {grouped(MOST)} shown" if len(found) > MOST else "")
