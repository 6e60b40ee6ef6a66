"""A plain-text view with its find bar, its overview strip, and a button that shows all of a long text."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from inspector.gui.bridge import Bridge
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, delayed, field, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BOX_GAP, CONTROL_GAP
from inspector.gui.widgets.overview import Overview
from inspector.gui.widgets.text import PlainText

MOST_HITS = 10_000
"""Maximum number of hits of a search that are counted."""


class FindBar(Guarded, QWidget):
    """A bar that finds text in one PlainText."""

    def __init__(self, view: PlainText) -> None:
        super().__init__()
        self._view = view
        self._hits: Sequence[tuple[int, int]] = ()
        self._current = -1
        self._searched = False
        """True if a search of the session opened the bar, not the user."""
        self.field = field("Find in message")
        self.count = label(role="quiet")
        self._soon = delayed(self, milliseconds=120, call=self._find)
        self.field.textChanged.connect(self._soon.start)
        view.filled.connect(self._search_again)
        back = small_button("↑", lambda: self.step(-1), name="Previous")
        forward = small_button("↓", lambda: self.step(1), name="Next")
        row(
            (self.field, 1),
            self.count,
            back,
            forward,
            of=self,
            margins=(CONTROL_GAP, BOX_GAP, CONTROL_GAP, BOX_GAP),
        )
        self.hide()

    def open(self) -> None:
        """Show the bar with the focus in its field, and find the selected text."""
        self._searched = False
        cursor = self._view.textCursor()
        if cursor.hasSelection():
            chosen = self._view.original(cursor.selectionStart(), cursor.selectionEnd())
            if "\n" not in chosen:
                self.field.setText(chosen[:200])
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self._find()

    def look_for(self, text: str) -> None:
        """Mark the hits of a search of the session and scroll to the first, without taking the focus.

        Args:
            text: The text to search for; empty to end the search.
        """
        if text:
            self._searched = True
            with QSignalBlocker(self.field):
                self.field.setText(text)
            self._find()
            self.setVisible(bool(self._hits))
        elif self._searched:
            self._close()

    def close_bar(self) -> None:
        """Hide the bar and its marks, and focus the text."""
        self._close()
        self._view.setFocus()

    def _close(self) -> None:
        self._searched = False
        self.hide()
        self._hits = ()
        self._view.show_hits(())

    def step(self, by: int) -> None:
        """Go to the next hit (1) or the previous one (-1), and wrap around at the ends."""
        if self._soon.isActive():
            self._soon.stop()
            self._find()
        elif self._hits:
            self._show((self._current + by) % len(self._hits))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next hit on Enter, to the previous one on Shift+Enter; close on Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def _search_again(self) -> None:
        if self._searched and not self._hits:
            self.look_for(self.field.text())
        elif self.isVisible() and self.field.text():
            self._hits = find_hits(self._view, self.field.text())
            self._show(self._current, move=False)

    def _find(self) -> None:
        self._hits = find_hits(self._view, self.field.text())
        position = self._view.textCursor().selectionStart()
        after_cursor = (index for index, hit in enumerate(self._hits) if hit[0] >= position)
        self._show(next(after_cursor, 0 if self._hits else -1))

    def _show(self, current: int, move: bool = True) -> None:
        self._current = current
        self._view.show_hits(self._hits, current if move else -1)
        total = f"{len(self._hits):,}" + ("+" if len(self._hits) >= MOST_HITS else "")
        part = "" if self._view.is_complete else " in the part shown"
        words = f"none{part}" if self.field.text() else ""
        if self._hits:
            words = f"{current + 1:,} of {total}{part}"
        self.count.setText(words)


def find_hits(view: PlainText, text: str) -> list[tuple[int, int]]:
    """Return start and end (Qt's positions) of each occurrence of a text, ignoring case; at most MOST_HITS."""
    hits: list[tuple[int, int]] = []
    if not text:
        return hits
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    for placed in view.displayed():
        for match in pattern.finditer(placed.piece.display.text):
            hits.append((placed.position(match.start()), placed.position(match.end())))
            if len(hits) >= MOST_HITS:
                return hits
    return hits


class TextReader(QWidget):
    """The text view with the find bar above it, the overview beside it, and below it a button to show all of the
    text.
    """

    def __init__(self, theme: Theme, name: str, bridge: Bridge | None = None) -> None:
        super().__init__()
        self.text = PlainText(theme, bridge)
        self.text.setAccessibleName(name)
        self.find_bar = FindBar(self.text)
        self.rest = small_button("", self._show_all)
        self.rest.hide()
        self.text.find_wanted.connect(self.find_bar.open)
        self.text.filled.connect(self._show_rest)
        self.overview = Overview(theme, self.text)
        column(
            self.find_bar, (row((self.text, 1), self.overview, gap=0), 1), self.rest, of=self, gap=0
        )

    def _show_rest(self) -> None:
        self.rest.setVisible(self.text.has_rest)
        if self.text.has_rest:
            self.rest.setText(
                f"The first part of {self.text.length:,} characters is shown. Show all"
            )

    def _show_all(self) -> None:
        self.text.show_all()
        self.rest.hide()
