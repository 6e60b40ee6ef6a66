"""The list of keyboard shortcuts: every command that has one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QVBoxLayout, QWidget

from inspector.gui.commands import Command
from inspector.gui.look.build import column, holding, row, scrolled
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import CONTROL_GAP

MARGINS = (24, 20, 24, 16)
"""Pixels left of, above, right of and below the list."""
FRAME = 48
"""Pixels of the screen's height that are reserved for the title bar of the dialog."""
EDGE = 2
"""Total width of the left and right frame of a scroll area, in pixels."""
COLUMNS, BETWEEN = 3, 40
"""Maximum number of columns of groups, and the pixels between two columns."""


class KeyList(QDialog):
    """The commands with shortcuts, by group, in as many columns as the screen has room for.

    The list is scrolled on a low screen.
    """

    def __init__(self, parent: QWidget, commands: Iterable[Command]) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        groups = defaultdict[str, list[Command]](list)
        for command in commands:
            if command.keys:
                groups[command.group].append(command)
        blocks = [_group_block(name, groups[name]) for name in sorted(groups)]
        screen = parent.screen().availableGeometry()
        inner = holding(row(*_columns(blocks, screen.width()), gap=BETWEEN))
        area = scrolled(inner)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        body = column((area, 1), buttons, of=self, margins=MARGINS)
        content = inner.sizeHint() + QSize(EDGE, EDGE)
        left, top, right, bottom = MARGINS
        beside = left + right + area.verticalScrollBar().sizeHint().width()
        around = top + bottom + body.spacing() + buttons.sizeHint().height()
        width = min(content.width() + beside, screen.width())
        height = min(content.height() + around, screen.height() - FRAME)
        self.resize(width, height)


def _group_block(name: str, commands: Iterable[Command]) -> QWidget:
    return holding(
        column(label(name.upper(), role="caption"), _rows(commands), 12, gap=CONTROL_GAP)
    )


def _columns(blocks: Sequence[QWidget], width: int) -> Sequence[QVBoxLayout]:
    """Distribute the blocks over columns of about the same height, as many as fit into `width` pixels."""
    widest = max(block.sizeHint().width() for block in blocks)
    fitting = (width - MARGINS[0] - MARGINS[2]) // (widest + BETWEEN)
    columns = [column(gap=CONTROL_GAP) for _ in range(max(1, min(COLUMNS, fitting)))]
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
    for index, command in enumerate(commands):
        shortcuts = [
            QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
            for keys in command.keys
        ]
        grid.addWidget(label("  or  ".join(shortcuts), role="strong"), index, 0)
        grid.addWidget(label(command.words.removesuffix("…")), index, 1)
    grid.setColumnStretch(1, 1)
    return grid
