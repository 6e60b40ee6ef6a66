"""The list of keys (F1): every command that has some, by group."""

from collections.abc import Iterable
from itertools import groupby

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from inspector.gui.commands import Command
from inspector.gui.look.labels import label


class KeyList(QDialog):
    """Groups in columns."""

    def __init__(self, parent: QWidget, commands: Iterable[Command]) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 16)
        columns = QHBoxLayout()
        columns.setSpacing(40)
        column.addLayout(columns)
        halves = [QVBoxLayout(), QVBoxLayout()]
        for half in halves:
            half.setSpacing(8)
            columns.addLayout(half)
        with_keys = sorted((command for command in commands if command.keys), key=lambda command: command.group)
        for name, group in groupby(with_keys, key=lambda command: command.group):
            half = halves[0] if name < "S" else halves[1]
            half.addWidget(label(name.upper(), role="caption"))
            half.addLayout(_rows(group))
            half.addSpacing(12)
        for half in halves:
            half.addStretch()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)


def _rows(commands: Iterable[Command]) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(18)
    grid.setVerticalSpacing(7)
    for n, command in enumerate(commands):
        spelt = [QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText) for keys in command.keys]
        grid.addWidget(label("  or  ".join(spelt), role="strong"), n, 0)
        grid.addWidget(label(command.words.removesuffix("…")), n, 1)
    grid.setColumnStretch(1, 1)
    return grid
