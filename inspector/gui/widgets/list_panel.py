"""How a panel that is one list is laid out: a line that says how much there is, a button that copies it, the list."""

from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from inspector.gui.widgets.rows import Rows


def copy_button(table: Rows[Any]) -> QToolButton:
    """Copies the selected rows of the table, else all."""
    made = QToolButton()
    made.setText("copy")
    made.setProperty("role", "flat")
    made.clicked.connect(lambda: QGuiApplication.clipboard().setText(table.copied()))
    return made


def lay_out_list(panel: QWidget, says: QLabel, copy: QToolButton, table: Rows[Any]) -> None:
    """The table fills the panel, under what is said of it."""
    head = QHBoxLayout()
    head.setContentsMargins(13, 4, 8, 2)
    head.addWidget(says, 1)
    head.addWidget(copy)
    column = QVBoxLayout(panel)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addLayout(head)
    column.addWidget(table, 1)
