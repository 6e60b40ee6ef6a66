"""The command palette, which also accepts `request 120` or a text to search for."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from inspector.gui.commands import Command, matches
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column
from inspector.gui.look.colours import ink
from inspector.gui.look.theme import Theme

WIDTH, ROWS = 560, 11
COMMAND = Qt.ItemDataRole.UserRole


class _Painter(Guarded, QStyledItemDelegate):
    """Paints a command's text on the left and its keys on the right."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Any) -> QSize:
        return QSize(0, option.fontMetrics.height() + 12)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Any) -> None:
        command = index.data(COMMAND)
        colours = self._theme.colours
        rect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink(colours.selected))
            painter.drawRoundedRect(rect.adjusted(2, 1, -2, -1), 6, 6)
        inner = rect.adjusted(12, 0, -12, 0)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.setPen(ink(colours.quiet))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, command.shown_keys)
        room = QRect(inner)
        room.setRight(inner.right() - option.fontMetrics.horizontalAdvance(command.shown_keys) - 12)
        painter.setPen(ink(colours.text))
        words = option.fontMetrics.elidedText(
            command.words, Qt.TextElideMode.ElideRight, room.width()
        )
        painter.drawText(room, middle, words)
        painter.restore()


class CommandPalette(Guarded, QFrame):
    """A box over the window. The typed text also searches the session, unless it begins with `>`."""

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
        self._commands = commands
        self._offers = offers
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
        """Show the palette with `text` already typed."""
        width = min(WIDTH, self._over.width() - 40)
        self.setGeometry((self._over.width() - width) // 2, 44, width, 50)
        self.line.setText(text)
        self._typed(text)
        self.show()
        self.raise_()
        self.line.setFocus()

    def close_again(self) -> None:
        """Hide the palette and give the focus back to the window."""
        self.hide()
        self._over.setFocus()

    def _typed(self, text: str) -> None:
        only = text.lstrip().startswith(">")
        typed = text.lstrip().removeprefix(">")
        offers = self._offers(typed.strip()) if typed.strip() and not only else ()
        matching = matches(self._commands(), typed, offers)
        self.list.clear()
        for command in matching:
            item = QListWidgetItem(command.words, self.list)
            item.setData(COMMAND, command)
        self.list.setCurrentRow(0)
        rows = max(1, min(ROWS, len(matching)))
        high = self.list.sizeHintForRow(0) if matching else 30
        self.resize(self.width(), self.line.sizeHint().height() + 30 + rows * high)

    def _run(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.close_again()
            item.data(COMMAND).run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list on arrow keys, and close on Escape or when the focus leaves."""
        if event.type() == QEvent.Type.FocusOut and self.isVisible():
            self.hide()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: 8,
                Qt.Key.Key_PageUp: -8,
            }
            if event.key() == Qt.Key.Key_Escape:
                self.close_again()
                return True
            if event.key() in step and self.list.count():
                place = self.list.currentRow() + step[Qt.Key(event.key())]
                self.list.setCurrentRow(max(0, min(place, self.list.count() - 1)))
                return True
        return super().eventFilter(watched, event)
