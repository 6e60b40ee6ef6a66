"""The commands shown: the palette, where `request 120` or a text to be searched can be typed, too; the list of keys."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from inspector.gui.commands import Command, matches
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, holding, row, scrolled
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme

WIDTH, ROWS = 560, 11
COMMAND = Qt.ItemDataRole.UserRole


class _Painter(Guarded, QStyledItemDelegate):
    """Words on the left, keys on the right."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Any) -> QSize:
        return QSize(0, option.fontMetrics.height() + 12)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Any) -> None:
        command, c, rect = index.data(COMMAND), self._theme.colours, option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink(c.selected))
            painter.drawRoundedRect(rect.adjusted(2, 1, -2, -1), 6, 6)
        inner = rect.adjusted(12, 0, -12, 0)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.setPen(ink(c.quiet))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, command.shown_keys)
        room = QRect(inner)
        room.setRight(inner.right() - option.fontMetrics.horizontalAdvance(command.shown_keys) - 12)
        painter.setPen(ink(c.text))
        words = option.fontMetrics.elidedText(command.words, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, middle, words)
        painter.restore()


class CommandPalette(Guarded, QFrame):
    """Lies over the window while it is open. Without `>` in front, a text can be searched for as well."""

    def __init__(
        self,
        parent: QWidget,
        theme: Theme,
        commands: Callable[[], Sequence[Command]],
        offers: Callable[[str], Sequence[Command]],
    ) -> None:
        super().__init__(parent)
        self.setObjectName("PaletteBox")
        self._over = parent
        self._commands, self._offers = commands, offers
        self.line = QLineEdit()
        self.line.setPlaceholderText("Type a command, a request number, or a text to search for")
        self.line.setAccessibleName("Command")
        self.list = QListWidget()
        self.list.setAccessibleName("Matching commands")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setItemDelegate(_Painter(theme, self.list))
        self.list.setUniformItemSizes(True)
        self.list.itemClicked.connect(self._run)
        self.line.textChanged.connect(self._typed)
        self.line.returnPressed.connect(lambda: self._run(self.list.currentItem()))
        self.line.installEventFilter(self)
        column(self.line, self.list, of=self, margins=(8, 8, 8, 8))
        self.hide()

    def open(self, text: str = "") -> None:
        """Show it, empty or with a beginning."""
        width = min(WIDTH, self._over.width() - 40)
        self.setGeometry((self._over.width() - width) // 2, 44, width, 50)
        self.line.setText(text)
        self._typed(text)
        self.show()
        self.raise_()
        self.line.setFocus()

    def close_again(self) -> None:
        """Hide it and give the focus back to the window."""
        self.hide()
        self._over.setFocus()

    def _typed(self, text: str) -> None:
        only = text.lstrip().startswith(">")
        typed = text.lstrip().removeprefix(">")
        offers = self._offers(typed.strip()) if typed.strip() and not only else ()
        found = matches(self._commands(), typed, offers)
        self.list.clear()
        for command in found:
            item = QListWidgetItem(command.words, self.list)
            item.setData(COMMAND, command)
        self.list.setCurrentRow(0)
        rows = max(1, min(ROWS, len(found)))
        high = self.list.sizeHintForRow(0) if found else 30
        self.resize(self.width(), self.line.sizeHint().height() + 30 + rows * high)

    def _run(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.close_again()
            item.data(COMMAND).run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows move in the list, Escape closes, leaving closes."""
        if event.type() == QEvent.Type.FocusOut and self.isVisible():
            self.hide()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
            if event.key() == Qt.Key.Key_Escape:
                self.close_again()
                return True
            if event.key() in step and self.list.count():
                at = self.list.currentRow() + step[Qt.Key(event.key())]
                self.list.setCurrentRow(max(0, min(at, self.list.count() - 1)))
                return True
        return super().eventFilter(watched, event)


MARGINS = (24, 20, 24, 16)
"""Around the list of keys, in pixels."""
FRAME = 48
"""Pixels of the screen's height that the title bar of a dialog may take."""
EDGE = 2
"""Pixels of a scroll area that are its frame, left and right together."""
COLUMNS, BETWEEN = 3, 40
"""At most so many columns of groups, and the pixels between two of them."""


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
        wanted = inner.sizeHint() + QSize(EDGE, EDGE)
        width = wanted.width() + left + right + area.verticalScrollBar().sizeHint().width()
        height = wanted.height() + top + bottom + body.spacing() + buttons.sizeHint().height()
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
