"""Find in the text on display: a line to type in, how many there are, to the next and back. Escape closes it."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtGui import QKeyEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.labels import label
from inspector.gui.widgets.plain_text import PlainText

MOST = 10_000
"""Hits that are counted."""


class FindBar(Guarded, QWidget):
    """Belongs to one PlainText."""

    def __init__(self, view: PlainText) -> None:
        super().__init__()
        self._view = view
        self._hits: Sequence[tuple[int, int]] = ()
        self._current = -1
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find in message")
        self.field.setAccessibleName("Find in message")
        self.field.setClearButtonEnabled(True)
        self.count = label(role="quiet")
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(120)
        self._soon.timeout.connect(self._find)
        self.field.textChanged.connect(self._soon.start)
        view.filled.connect(self._again)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 4, 8, 4)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        for text, name, step in (("↑", "Previous", -1), ("↓", "Next", 1)):
            button = QToolButton()
            button.setText(text)
            button.setAccessibleName(name)
            button.setProperty("role", "flat")
            button.clicked.connect(lambda _=False, step=step: self.step(step))
            row.addWidget(button)
        self.hide()

    def open(self) -> None:
        """Show it, ready to type; what is selected is looked for."""
        cursor = self._view.textCursor()
        if cursor.hasSelection():
            chosen = self._view.original(cursor.selectionStart(), cursor.selectionEnd())
            if "\n" not in chosen:
                self.field.setText(chosen[:200])
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self._find()

    def close_bar(self) -> None:
        """Hide it and its marks."""
        self.hide()
        self._hits = ()
        self._view.show_hits(())
        self._view.setFocus()

    def step(self, by: int) -> None:
        """To the next hit (1) or the one before (-1), around the ends."""
        if self._soon.isActive():
            self._soon.stop()
            self._find()
        elif self._hits:
            self._show((self._current + by) % len(self._hits))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter: next; Shift+Enter: the one before; Escape: close."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def _again(self) -> None:
        if self.isVisible() and self.field.text():
            self._hits = find(self._view, self.field.text())
            self._show(self._current, move=False)

    def _find(self) -> None:
        self._hits = find(self._view, self.field.text())
        at = self._view.textCursor().selectionStart()
        self._show(next((n for n, hit in enumerate(self._hits) if hit[0] >= at), 0 if self._hits else -1))

    def _show(self, current: int, move: bool = True) -> None:
        self._current = current
        self._view.show_hits(self._hits, current if move else -1)
        total = f"{len(self._hits):,}" + ("+" if len(self._hits) >= MOST else "")
        part = "" if self._view.complete else " in the part shown"
        self.count.setText(
            f"{current + 1:,} of {total}{part}" if self._hits else f"none{part}" if self.field.text() else ""
        )


def find(view: PlainText, text: str) -> list[tuple[int, int]]:
    """Where the text is displayed (Qt's positions), whatever its case; MOST at most."""
    hits: list[tuple[int, int]] = []
    if not text:
        return hits
    wanted = re.compile(re.escape(text), re.IGNORECASE)
    for laid in view.displayed():
        for match in wanted.finditer(laid.piece.shown.text):
            hits.append((laid.position(match.start()), laid.position(match.end())))
            if len(hits) >= MOST:
                return hits
    return hits
