"""A panel that is one list: a line that says how much there is, maybe a button that copies it, and the table."""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QToolButton

from inspector.gui.desk import Desk
from inspector.gui.look.build import Item, Margins, column, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.table import Column, Rows, T


class ListPanel(Panel, Generic[T]):
    """What inherits from it names the columns; `show_state` says which rows there are."""

    NAME: ClassVar[str]
    """What the table is called where it is read out."""
    COLUMNS: ClassVar[Sequence[Column[Any]]]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.says = label(role="quiet")
        self.copy: QToolButton | None = None
        self.table: Rows[T] = Rows(self.NAME, self.COLUMNS)
        self.table.chosen.connect(self.choose)
        self.table.opened.connect(self.open)

    def lay_out(
        self, *head: Item, margins: Margins = (13, 4, 8, 2), gap: int | None = None, above: Sequence[QLayout] = ()
    ) -> None:
        """`head` in a row, the table below it; without rows what is said has all the room, at its top."""
        column(*above, (row(*head, margins=margins, gap=gap), 1), (self.table, 1_000), of=self, gap=0)

    def copy_button(self) -> QToolButton:
        """It copies the selected rows, else all."""
        self.copy = small_button("copy", self.table.copy)
        return self.copy

    def say_at_length(self) -> None:
        """What is said may take several lines."""
        self.says.setWordWrap(True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.says.setContentsMargins(0, 4, 0, 0)  # as the words of a button beside it stand

    def show_rows(self, rows: Sequence[T], words: str) -> None:
        """These, and what is said of them."""
        self.table.show_rows(rows)
        self.table.setVisible(bool(rows))
        if self.copy is not None:
            self.copy.setVisible(bool(rows))
        self.says.setText(words)

    def choose(self, place: int, column: int = -1) -> None:
        """A row was clicked in a column, or walked to (-1)."""

    def open(self, place: int) -> None:
        """Enter or a double click on a row."""
