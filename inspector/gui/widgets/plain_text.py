"""The one view of transcript text. It never interprets it: no rich text, no links, nothing fetched, nothing dropped.

Sections are laid in piece by piece: the first at once, the rest between events, beyond LIMIT only on demand. Colours
are worked out for the lines in sight alone. What is copied is the original text, never what the widget displays.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from time import perf_counter

from PySide6.QtCore import QEvent, QMimeData, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QTextBlock, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.plain_json import spans
from inspector.gui.widgets.plain_look import Looks, looks
from inspector.gui.widgets.sections import Piece, Section, pieces
from inspector.gui.widgets.text_layout import Laid, LaidText

FIRST = 60_000
"""Characters laid in at once: more than any screen shows."""
AT_ONCE, BETWEEN = 0.04, 0.015
"""Seconds after which laying in makes way for the rest of the window: at once, and between events."""
LIMIT = 1_000_000
"""Characters laid in unasked."""
MOST_COLOURED = 300
"""Coloured stretches in sight; what lies beyond stays plain."""


class PlainText(Guarded, QPlainTextEdit):
    """Read-only, searchable, of any size."""

    filled = Signal()
    """More has been laid in."""
    find_wanted = Signal()
    """The keys for "find" were pressed here."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._looks: Looks = looks(theme.colours)
        self._sections: Sequence[Section] = ()
        self._pieces: Iterator[Piece] = iter(())
        self._laid = LaidText()
        self._allowed = LIMIT
        self._complete = True
        self._hits: Sequence[tuple[int, int]] = ()
        self._more = QTimer(self)
        self._more.setInterval(0)
        self._more.timeout.connect(lambda: self._fill())
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setViewportMargins(9, 0, 4, 0)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance("0"))
        self.verticalScrollBar().valueChanged.connect(self._colour)

    # -- what is shown ---------------------------------------------------------------------------------------------

    def show_sections(self, sections: Sequence[Section]) -> None:
        """Show these from their beginning."""
        self._more.stop()
        self.setExtraSelections([])
        self.clear()
        self._sections, self._pieces = sections, pieces(sections)
        self._laid, self._hits = LaidText(), ()
        self._allowed, self._complete = LIMIT, False
        self._fill(FIRST, AT_ONCE)
        start = QTextCursor(self.document())
        start.setKeepPositionOnInsert(True)
        self.setTextCursor(start)
        if not self._complete:
            self._more.start()

    def show_all(self) -> None:
        """Lay in what lies beyond LIMIT, too."""
        self._allowed = sum(len(section.text) * 20 for section in self._sections) + LIMIT
        if not self._complete:
            self._more.start()

    @property
    def complete(self) -> bool:
        """Is everything laid in?"""
        return self._complete

    @property
    def waiting(self) -> bool:
        """Is there more that is laid in only on demand?"""
        return not self._complete and not self._more.isActive()

    def restyle(self) -> None:
        """The colours have changed: the same, laid in anew."""
        self._looks = looks(self._theme.colours)
        at = self.verticalScrollBar().value()
        self.show_sections(self._sections)
        self.verticalScrollBar().setValue(at)

    def _fill(self, most: int = LIMIT, seconds: float = BETWEEN) -> None:
        until = perf_counter() + seconds
        in_sight = self.cursorRect(self._end()).top() <= self.viewport().height()
        cursor = self._end()
        cursor.beginEditBlock()
        goal = min(cursor.position() + most, self._allowed)
        while cursor.position() < goal and perf_counter() < until:
            piece = next(self._pieces, None)
            if piece is None:
                self._complete = True
                break
            start = cursor.position()
            cursor.insertText(piece.shown.text, self._looks.of(piece.look))
            self._laid.add(Laid(start, cursor.position(), piece))
        cursor.endEditBlock()
        if self._complete or cursor.position() >= self._allowed:
            self._more.stop()
        if in_sight:
            self._colour()
        self.filled.emit()

    def _end(self) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor

    # -- keys ------------------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        """Says that the keys for "find" mean this text, before the window takes them for the whole session."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and _finds(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+F finds; the rest as ever."""
        if _finds(event):
            self.find_wanted.emit()
        else:
            super().keyPressEvent(event)

    # -- copying ---------------------------------------------------------------------------------------------------

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is copied or dragged out: the original of the selection, plain."""
        data = QMimeData()
        cursor = self.textCursor()
        data.setText(self.original(cursor.selectionStart(), cursor.selectionEnd()))
        return data

    def original(self, start: int, end: int) -> str:
        """The original of what is displayed from `start` to `end` (Qt's positions)."""
        return self._laid.original(start, end)

    # -- finding ---------------------------------------------------------------------------------------------------

    def displayed(self) -> Sequence[Laid]:
        """What is laid in so far."""
        return self._laid.pieces

    def show_hits(self, hits: Sequence[tuple[int, int]], current: int = -1) -> None:
        """Mark these stretches (Qt's positions, in order) and bring the current one into sight."""
        self._hits = hits
        if 0 <= current < len(hits):
            cursor = self.textCursor()
            cursor.setPosition(hits[current][0])
            cursor.setPosition(hits[current][1], QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(cursor)
            self.ensureCursorVisible()
        self._colour()

    # -- colours ---------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other lines are in sight."""
        super().resizeEvent(event)
        self._colour()

    def _colour(self) -> None:
        found: list[QTextEdit.ExtraSelection] = []
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= self.viewport().height() and len(found) < MOST_COLOURED:
            found += (self._selection(*stretch) for stretch in self._stretches(block))
            top += self.blockBoundingRect(block).height()
            block = block.next()
        self.setExtraSelections(found)

    def _stretches(self, block: QTextBlock) -> Iterator[tuple[int, int, QTextCharFormat]]:
        start, end = block.position(), block.position() + block.length() - 1
        for laid, first, last in self._laid.between(start, end):
            shown = laid.piece.shown
            for span in spans(shown.text[first:last], laid.piece.rules):
                place = laid.position(first + span.start), laid.position(first + span.end)
                yield *place, self._looks.kinds[span.kind]
            low = bisect_right(shown.edits, first, key=lambda edit: edit.end)
            for edit in shown.edits[low : low + MOST_COLOURED]:
                if edit.start >= last:
                    break
                yield laid.position(edit.start), laid.position(edit.end), self._looks.token
        low = bisect_right(self._hits, start, key=lambda hit: hit[1])
        for hit in self._hits[low : low + MOST_COLOURED]:
            if hit[0] >= end:
                break
            yield *hit, self._looks.hit

    def _selection(self, start: int, end: int, look: QTextCharFormat) -> QTextEdit.ExtraSelection:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        selection = QTextEdit.ExtraSelection()
        selection.cursor = cursor
        selection.format = look
        return selection


def _finds(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Find)
