"""The view that shows all transcript text. It never interprets the text: no rich text, no links, no loading.

Sections are inserted piece by piece: the first immediately, the rest between events, and beyond LIMIT only on demand.
Only visible lines are coloured. Copying yields the original text, never what the widget displays.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TypeAlias

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from inspector.gui.bridge import Bridge, Task
from inspector.gui.guard import Guarded
from inspector.gui.look.fonts import mono_font
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.code import CodeStretch
from inspector.gui.widgets.folds import JsonFold, JsonFolds
from inspector.gui.widgets.pieces import (
    Piece,
    PlacedPiece,
    Section,
    TextLayout,
    spans,
    split_sections,
)
from inspector.gui.widgets.text_looks import Looks, build_looks

FIRST = 60_000
"""Number of characters inserted immediately: more than any screen shows."""
AT_ONCE, BETWEEN = 0.04, 0.015
"""Seconds of inserting before the event loop continues: for the first batch, and for each later one."""
LIMIT = 1_000_000
"""Number of characters that are inserted without a request for the whole text."""
MOST_COLOURED = 300
"""Maximum number of coloured stretches on screen; any further text stays plain."""
LONGEST = 3.0
"""Maximum seconds for highlighting the code of one message. Code crafted to take longer stays plain."""
AHEAD = 3_000
"""Number of characters of code that are highlighted first, and later beyond the visible part. The remaining code is
highlighted when it becomes visible."""
_Stretch: TypeAlias = tuple[int, int, QTextCharFormat]
"""Start and end in Qt's positions, and the format."""


class PlainText(Guarded, QPlainTextEdit):
    """A read-only, searchable text of any size.

    Args:
        theme: Provides colours and fonts.
        bridge: Runs syntax highlighting on a worker thread; None: code is not highlighted.
    """

    filled = Signal()
    """Emitted after more text was inserted."""
    rearranged = Signal()
    """Emitted after lines were hidden or shown, or other stretches were marked."""
    find_wanted = Signal()
    """Emitted when the shortcut for "find" is pressed in this view."""

    def __init__(self, theme: Theme, bridge: Bridge | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._bridge = bridge
        self._looks: Looks = build_looks(theme.colours)
        self._sections: Sequence[Section] = ()
        self._pieces: Iterator[Piece] = iter(())
        self._layout, self._folds = TextLayout(), JsonFolds(self.document())
        self._allowed = LIMIT
        self._complete = True
        self._hits: Sequence[tuple[int, int]] = ()
        self._unread: dict[CodeStretch, int] = {}
        """Code that has yet to be highlighted, and the index in it up to which."""
        self._task: Task | None = None
        self._colouring = False
        self._again = QTimer(self, singleShot=True, interval=0)
        self._again.timeout.connect(self._colour)
        self._more = QTimer(self, interval=0)
        self._more.timeout.connect(lambda: self._fill())
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            self.textInteractionFlags() | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setViewportMargins(9, 0, 4, 0)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance("0"))
        self.verticalScrollBar().valueChanged.connect(self._colour)
        self.viewport().setMouseTracking(True)

    # -- what is shown ---------------------------------------------------------------------------------------------

    def show_sections(self, sections: Sequence[Section]) -> None:
        """Replace the text by these sections and scroll to the top."""
        self._more.stop()
        self._layout = TextLayout()
        self._hits = ()
        self._select([])
        self.clear()
        self._sections = sections
        self._pieces = split_sections(sections)
        self._folds.clear()
        self._unread = {}
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._allowed = LIMIT
        self._complete = False
        self._fill(FIRST, AT_ONCE)
        start = QTextCursor(self.document())
        start.setKeepPositionOnInsert(True)
        self.setTextCursor(start)
        if not self._complete:
            self._more.start()

    def show_all(self) -> None:
        """Insert the text beyond LIMIT as well."""
        self._allowed = 20 * self.length + LIMIT
        if not self._complete:
            self._more.start()

    @property
    def length(self) -> int:
        """Number of characters of all sections."""
        return sum(len(section.text) for section in self._sections)

    @property
    def is_complete(self) -> bool:
        """True if the whole text is inserted."""
        return self._complete

    @property
    def has_rest(self) -> bool:
        """True if there is more text, which is inserted only by `show_all`."""
        return not self._complete and not self._more.isActive()

    def restyle(self) -> None:
        """Insert the same text again in the colours of the theme."""
        self._looks = build_looks(self._theme.colours)
        scroll_position = self.verticalScrollBar().value()
        self.show_sections(self._sections)
        self.verticalScrollBar().setValue(scroll_position)

    def _fill(self, most: int = LIMIT, seconds: float = BETWEEN) -> None:
        """Insert pieces for at most `most` characters and at most `seconds`."""
        until = perf_counter() + seconds
        in_sight = self.cursorRect(self._end()).top() <= self.viewport().height()
        cursor = self._end()
        cursor.beginEditBlock()
        goal = min(cursor.position() + most, self._allowed)
        folding = False
        while cursor.position() < goal and perf_counter() < until:
            piece = next(self._pieces, None)
            if piece is None:
                self._complete = True
                break
            start = cursor.position()
            cursor.insertText(piece.display.text, self._looks.texts[piece.look])
            self._layout.add(placed := PlacedPiece(start, cursor.position(), piece))
            if piece.brackets:
                self._folds.add(placed)
                folding = True
            if piece.code is not None and not piece.at:
                self._unread[piece.code] = AHEAD
        cursor.endEditBlock()
        if folding:
            self._measure()
        if self._complete or cursor.position() >= self._allowed:
            self._more.stop()
        if in_sight:
            self._colour()
        self._highlight_code()
        self.filled.emit()

    def _highlight_code(self) -> None:
        """Highlight the code that is or may soon be visible in a job, and colour it when the job ends."""
        if self._bridge is None or self._task is not None or not self._unread:
            return
        stretches = self._unread
        self._unread = {}

        def job(task: Task) -> None:
            end = perf_counter() + LONGEST
            for code, place in stretches.items():
                code.find(lambda: task.cancelled() or perf_counter() > end, place)

        def done(_: None) -> None:
            self._task = None
            self._colour()
            self._highlight_code()

        self._task = self._bridge.run(job, done, lane="answer")

    def _end(self) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor

    # -- keys ------------------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        """Claim the shortcut for "find". Otherwise the window would use it to search the whole session."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and _is_find(event)
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the find bar on Ctrl+F, fold or unfold JSON at the cursor on Enter; leave the other keys to Qt."""
        if _is_find(event):
            self.find_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (fold := self.fold):
            self.toggle(fold)
        else:
            super().keyPressEvent(event)

    # -- copying ---------------------------------------------------------------------------------------------------

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the original text of the selection, plain, for copying and dragging."""
        data = QMimeData()
        cursor = self.textCursor()
        data.setText(self.original(cursor.selectionStart(), cursor.selectionEnd()))
        return data

    def original(self, start: int, end: int) -> str:
        """Return the original of the text displayed from `start` to `end` (Qt's positions)."""
        return self._layout.original(start, end)

    # -- finding ---------------------------------------------------------------------------------------------------

    def displayed(self) -> Sequence[PlacedPiece]:
        """Return the pieces inserted so far."""
        return self._layout.pieces

    def show_hits(self, hits: Sequence[tuple[int, int]], current: int = -1) -> None:
        """Mark these stretches (Qt's positions, in order) and scroll to the current one."""
        self._hits = hits
        if 0 <= current < len(hits):
            cursor = self.textCursor()
            cursor.setPosition(hits[current][0])
            cursor.setPosition(hits[current][1], QTextCursor.MoveMode.KeepAnchor)
            self._folds.reveal(cursor.block())
            self._measure()
            # Height of the find bar, which opens a moment later.
            below = 4 * self.fontMetrics().lineSpacing()
            seen = (
                self.viewport().rect().adjusted(0, 0, 0, -below).contains(self.cursorRect(cursor))
            )
            self.setTextCursor(cursor)
            if not seen:
                self.centerCursor()
        self._colour()
        self.rearranged.emit()

    @property
    def hits(self) -> Sequence[tuple[int, int]]:
        """The marked stretches, in Qt's positions."""
        return self._hits

    def go_to(self, position: int) -> None:
        """Move the cursor to a position (Qt's) and scroll to its line."""
        cursor = self.textCursor()
        cursor.setPosition(position)
        self._folds.reveal(cursor.block())
        self._measure()
        self.setTextCursor(cursor)
        self.go_to_line(cursor.block().firstLineNumber())

    def go_to_line(self, number: int) -> None:
        """Scroll until that line is near the top."""
        bar = self.verticalScrollBar()
        bar.setValue(number - bar.pageStep() // 5)

    # -- folding ---------------------------------------------------------------------------------------------------

    @property
    def fold(self) -> JsonFold | None:
        """The JSON object or list that begins in the line of the cursor, or the innermost one around it."""
        return self._folds.around(self.textCursor().block())

    def toggle(self, fold: JsonFold) -> None:
        """Fold an object or list, or unfold it, and move the cursor to its first line."""
        cursor = self.textCursor()
        cursor.setPosition(self.document().findBlockByNumber(fold.first).position())
        self.setTextCursor(cursor)
        self._folds.toggle(fold)
        self._measure()
        self._colour()

    def fold_all(self, folded: bool) -> None:
        """Restore the initial folds (`folded`), or unfold everything."""
        self._folds.set_all(folded)
        self._measure()
        self._colour()

    def _measure(self) -> None:
        """Make Qt count the lines again after some were hidden or shown."""
        layout = self.document().documentLayout()
        layout.documentSizeChanged.emit(layout.documentSize())
        self.viewport().update()
        self.rearranged.emit()

    def _signs(self) -> Iterator[tuple[JsonFold, QRectF, str]]:
        """Yield each visible fold with the rectangle of its sign, which follows the line, and the text of the sign."""
        metrics = QFontMetricsF(mono_font())
        for block, top in self._visible_blocks():
            fold = self._folds.at(block)
            line_count = block.layout().lineCount()
            if fold is None or not line_count:
                continue
            line = block.layout().lineAt(line_count - 1)
            words = fold.words if self._folds.is_folded(fold) else "▾"
            blank = metrics.averageCharWidth()
            line_end = self.contentOffset().x() + line.x() + line.naturalTextWidth()
            width = metrics.horizontalAdvance(words) + blank
            room = QRectF(line_end + blank, top + line.y(), width, line.height())
            yield fold, room, words

    def _sign_at(self, place: QPointF) -> JsonFold | None:
        return next((fold for fold, where, _ in self._signs() if where.contains(place)), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the text and the signs of its folds."""
        super().paintEvent(event)
        with QPainter(self.viewport()) as painter:
            painter.setFont(mono_font())
            for _, where, words in self._signs():
                painter.setPen(
                    QColor(
                        self._theme.colours.accent if len(words) > 1 else self._theme.colours.quiet
                    )
                )
                painter.drawText(where, Qt.AlignmentFlag.AlignCenter, words)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold or unfold on a click on a sign."""
        if event.button() == Qt.MouseButton.LeftButton and (
            fold := self._sign_at(event.position())
        ):
            self.toggle(fold)
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if not event.buttons():
            shape = Qt.CursorShape
            over = self._sign_at(event.position()) is not None
            self.viewport().setCursor(shape.PointingHandCursor if over else shape.IBeamCursor)

    # -- colours ---------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._colour()

    def _colour(self) -> None:
        if self._colouring:
            self._again.start()
            return
        selections: list[QTextEdit.ExtraSelection] = []
        for block, _ in self._visible_blocks():
            selections += (self._selection(*stretch) for stretch in self._stretches(block))
            if len(selections) >= MOST_COLOURED:
                break
        self._select(selections)
        if self._unread:
            self._highlight_code()

    def _select(self, selections: list[QTextEdit.ExtraSelection]) -> None:
        if self._colouring:
            self._again.start()  # Qt lays out and scrolls while it colours: changing its list meanwhile crashes
            return
        self._colouring = True
        try:
            self.setExtraSelections(selections)
        finally:
            self._colouring = False

    def _visible_blocks(self) -> Iterator[tuple[QTextBlock, float]]:
        """Yield the visible blocks with the pixel row at which each begins."""
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= self.viewport().height():
            yield block, top
            top += self.blockBoundingRect(block).height()
            block = self._folds.after(block)

    def _stretches(self, block: QTextBlock) -> Iterator[_Stretch]:
        """Yield the coloured stretches of a block: tokens of its language, hidden characters, hits."""
        start, end = block.position(), block.position() + block.length() - 1
        for placed, first, last in self._layout.between(start, end):
            yield from self._line_stretches(placed, first, last)
            yield from self._code_stretches(placed, first, last)
            yield from self._hidden_stretches(placed, first, last)
        yield from self._hit_stretches(start, end)

    def _line_stretches(self, placed: PlacedPiece, first: int, last: int) -> Iterator[_Stretch]:
        """Yield the stretches of a line of JSON or of a diff."""
        piece = placed.piece
        for span in spans(piece.display.text[first:last], piece.rules):
            begin = placed.position(first + span.start)
            close = placed.position(first + span.end)
            yield begin, close, self._looks.kinds[span.kind]

    def _code_stretches(self, placed: PlacedPiece, first: int, last: int) -> Iterator[_Stretch]:
        """Yield the stretches of code. Span indices count from the beginning of the code, not of the piece."""
        code = placed.piece.code
        start = placed.piece.at
        displayed = placed.piece.display
        if code is None:
            return
        begins = start + displayed.back(first)
        ends = start + displayed.back(last)
        if code.spans is not None and not code.is_complete and code.coloured_to < ends:
            self._unread[code] = ends + AHEAD
        for span in code.between(begins, ends):
            begin = placed.position(displayed.place(span.start - start))
            close = placed.position(displayed.place(span.end - start))
            yield begin, close, self._looks.kinds[span.kind]

    def _hidden_stretches(self, placed: PlacedPiece, first: int, last: int) -> Iterator[_Stretch]:
        """Yield the spelt-out hidden characters."""
        edits = placed.piece.display.edits
        low = bisect_right(edits, first, key=lambda edit: edit.end)
        for edit in edits[low : low + MOST_COLOURED]:
            if edit.start >= last:
                return
            yield placed.position(edit.start), placed.position(edit.end), self._looks.token

    def _hit_stretches(self, start: int, end: int) -> Iterator[_Stretch]:
        """Yield the hits of a search between two positions."""
        low = bisect_right(self._hits, start, key=lambda hit: hit[1])
        for hit in self._hits[low : low + MOST_COLOURED]:
            if hit[0] >= end:
                return
            yield *hit, self._looks.hit

    def _selection(self, start: int, end: int, look: QTextCharFormat) -> QTextEdit.ExtraSelection:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        selection = QTextEdit.ExtraSelection()
        selection.cursor = cursor
        selection.format = look
        return selection


def _is_find(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Find)
