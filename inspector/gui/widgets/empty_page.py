"""The page of a panel that has nothing to show yet: what it is for, and the buttons with which it begins."""

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from inspector.gui.look.labels import label


def empty_page(what: str, *begin: QPushButton) -> QWidget:
    """The words above, the buttons in a row below them."""
    made = QWidget()
    words = label(what, role="quiet")
    words.setWordWrap(True)
    row = QHBoxLayout()
    for button in begin:
        row.addWidget(button)
    row.addStretch()
    column = QVBoxLayout(made)
    column.setContentsMargins(13, 12, 12, 12)
    column.addWidget(words)
    column.addLayout(row)
    column.addStretch()
    return made
