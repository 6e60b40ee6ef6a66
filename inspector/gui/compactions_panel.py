"""The compactions that the transcript records: where, why, how much, what was kept. A click goes there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout

from inspector.core.message import Text
from inspector.core.session import Compaction, Thread
from inspector.core.tokens.pressure import compaction_sizes
from inspector.gui.numbers import grouped, plural
from inspector.gui.panel import Desk, Panel
from inspector.gui.plain import label
from inspector.gui.rows import Column, Rows
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class Listed:
    """A recorded compaction with its sizes."""

    compaction: Compaction
    before: int | None
    after: int | None


COLUMNS: Sequence[Column[Listed]] = (
    Column("request", lambda one: grouped(one.compaction.before_request), 6, figures=True),
    Column("trigger", lambda one: one.compaction.trigger or "not told", 7),
    Column("kind", lambda one: one.compaction.kind, 7),
    Column("before", lambda one: _tokens(one.before), 7, figures=True),
    Column("after", lambda one: _tokens(one.after), 6, figures=True),
    Column("freed", lambda one: _freed(one), 7, figures=True),
    Column("what stayed", lambda one: _stayed(one.compaction)),
    Column("line", lambda one: grouped(one.compaction.line) if one.compaction.line else "", 5, figures=True),
    Column("time", lambda one: one.compaction.time[:16].replace("T", " "), 16),
)


class CompactionsPanel(Panel):
    """One row a compaction, in the order of the file. Enter or a double click opens the summary."""

    TITLE: ClassVar[str] = "Compactions"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._thread: Thread | None = None
        self._count = (-1, -1)
        self.says = label(role="quiet")
        self.says.setWordWrap(True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.says.setContentsMargins(13, 6, 13, 4)
        self.table: Rows[Listed] = Rows("Recorded compactions", COLUMNS)
        self.table.chosen.connect(self._go)
        self.table.opened.connect(self._open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.says)
        column.addWidget(self.table, 1)
        self.table.hide()

    def show_state(self, state: State) -> None:
        """The compactions of the chosen thread."""
        thread = state.thread
        compactions = thread.compactions if thread else ()
        count = (len(compactions), len(thread.requests) if thread else 0)
        if thread is self._thread and count == self._count:
            return
        self._thread, self._count = thread, count
        rows = [Listed(one, *compaction_sizes(thread, one)) for one in compactions] if thread else []
        self.table.show_rows(rows)
        self.table.setVisible(bool(rows))
        self.says.setText(_says(thread, rows))

    def receive(self, state: State) -> None:
        """The count stands in the title, seen or not."""
        count = len(state.thread.compactions) if state.thread else 0
        self.setWindowTitle(f"{self.TITLE} ({count:,})" if count else self.TITLE)
        super().receive(state)

    def _go(self, row: int, column: int = -1) -> None:
        compaction, thread = self.table.rows[row].compaction, self._thread
        if thread is None:
            return
        sent = compaction.before_request < len(thread.requests)
        self.desk.workbench.move(compaction.before_request if sent else None)
        if compaction.summary is not None:
            self.desk.workbench.select(compaction.summary.id)

    def _open(self, row: int) -> None:
        self._go(row)
        if self.table.rows[row].compaction.summary is not None:
            self.desk.show_panel("Message")


def _tokens(tokens: int | None) -> str:
    return "unknown" if tokens is None else grouped(tokens)


def _freed(one: Listed) -> str:
    return "" if one.before is None or one.after is None else grouped(one.before - one.after)


def _stayed(compaction: Compaction) -> str:
    found = []
    if compaction.summary is not None:
        size = sum(len(part.text) for part in compaction.summary.parts if isinstance(part, Text))
        found.append(f"summary of {plural(size, 'character')}")
    if compaction.kept:
        found.append(f"{plural(compaction.kept, 'message')} word for word")
    if compaction.cleared:
        found.append(f"{plural(len(compaction.cleared), 'message')} cleared")
    return ", ".join(found)


def _says(thread: Thread | None, rows: Sequence[Listed]) -> str:
    if thread is None:
        return "Open a transcript to see the compactions it records."
    if not rows:
        return "This thread records no compaction."
    many = plural(len(rows), "recorded compaction")
    return f"{many}. A click goes to the first request behind it, Enter opens the summary."
