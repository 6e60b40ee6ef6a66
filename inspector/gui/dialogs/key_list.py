"""The list of keys: every command that has one."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QVBoxLayout, QWidget

from inspector.gui.commands import Command
from inspector.gui.look.build import column, holding, row, scrolled
from inspector.gui.look.labels import label

MARGINS = (24, 20, 24, 16)
"""Around the list of keys, in pixels."""
FRAME = 48
"""Pixels of the screen's height that the title bar of a dialog may take."""
EDGE = 2
"""Pixels of a scroll area that are its frame, left and right together."""
COLUMNS, BETWEEN = 3, 40
"""The largest number of columns of groups, and the pixels between two of them."""


class KeyList(QDialog):
    """The commands that have keys, by group, in as many columns as the screen is wide; scrolled where it is low."""

    def __init__(self, parent: QWidget, commands: Iterable[Command]) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        with_keys = sorted((command for command in commands if command.keys), key=lambda command: command.group)
        blocks = [_block(name, group) for name, group in groupby(with_keys, key=lambda command: command.group)]
        screen = parent.screen().availableGeometry()
        inner = holding(row(*_columns(blocks, screen.width()), gap=BETWEEN))
        area = scrolled(inner)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        body = column((area, 1), buttons, of=self, margins=MARGINS)
        left, top, right, bottom = MARGINS
        content = inner.sizeHint() + QSize(EDGE, EDGE)
        width = content.width() + left + right + area.verticalScrollBar().sizeHint().width()
        height = content.height() + top + bottom + body.spacing() + buttons.sizeHint().height()
        self.resize(min(width, screen.width()), min(height, screen.height() - FRAME))


def _block(name: str, commands: Iterable[Command]) -> QWidget:
    return holding(column(label(name.upper(), role="caption"), _rows(commands), 12, gap=8))


def _columns(blocks: Sequence[QWidget], width: int) -> Sequence[QVBoxLayout]:
    """The blocks in columns of about the same height, as many as stand side by side in `width` pixels."""
    widest = max(block.sizeHint().width() for block in blocks)
    fitting = (width - MARGINS[0] - MARGINS[2]) // (widest + BETWEEN)
    columns = [column(gap=8) for _ in range(max(1, min(COLUMNS, fitting)))]
    heights = [0] * len(columns)
    for block in blocks:
        lowest = heights.index(min(heights))
        columns[lowest].addWidget(block)
        heights[lowest] += block.sizeHint().height()
    for filled in columns:
        filled.addStretch()
    return columns


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
