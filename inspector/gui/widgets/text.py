"""The one view of transcript text. It never interprets it: no rich text, no links, nothing fetched, nothing dropped.

Sections are laid in piece by piece: the first at once, the rest between events, beyond LIMIT only on demand. Colours
are worked out for the lines in sight alone. What is copied is the original text, never what the widget displays.
Beside it a text that can be edited, where an editor can hold it unharmed.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
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
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget, QTextEdit

from inspector.gui.bridge import Bridge, Task
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours
from inspector.gui.look.fonts import mono_font, ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import LONG_LINE, visible
from inspector.gui.widgets.code import CodeStretch, Kind
from inspector.gui.widgets.folds import JsonFold, JsonFolds
from inspector.gui.widgets.pieces import Look, Piece, PlacedPiece, Section, TextLayout, pieces, spans

FIRST = 60_000
"""Characters laid in at once: more than any screen shows."""
AT_ONCE, BETWEEN = 0.04, 0.015
"""Seconds after which laying in makes way for the rest of the window: at once, and between events."""
LIMIT = 1_000_000
"""Characters laid in unasked."""
MOST_COLOURED = 300
"""Coloured stretches in sight; what lies beyond stays plain."""
LONGEST = 3.0
"""Seconds for the words of one message's code: what somebody built to take longer stays plain."""
LARGEST = 400_000
"""Characters an editor is given; it would take more, but slowly."""
_LONG = re.compile(f"[^\n]{{{LONG_LINE + 1},}}")


@dataclass(frozen=True, slots=True)
class Looks:
    """The formats of one palette: of each look of a piece, of each kind of a coloured stretch."""

    texts: Mapping[Look, QTextCharFormat]
    kinds: Mapping[Kind, QTextCharFormat]
    token: QTextCharFormat
    """A hidden character that was spelt out, the sign of a broken line."""
    hit: QTextCharFormat


def looks(colours: Colours) -> Looks:
    """The formats for one palette, at the application's font size."""
    heading = ui_font(weight=QFont.Weight.DemiBold)
    heading.setPointSizeF(max(7.0, heading.pointSizeF() - 1))
    return Looks(
        texts={
            "heading": _text(heading, colours.quiet),
            "prose": _text(ui_font(), colours.text),
            **dict.fromkeys(("code", "exact", "diff"), _text(mono_font(), colours.text)),
        },
        kinds={
            "key": _colour(colours.accent),
            "string": _colour(colours.good),
            "number": _colour(colours.on_tool),
            "word": _colour(colours.on_tool),
            "added": _colour(colours.good),
            "removed": _colour(colours.high),
            "place": _colour(colours.accent),
            "comment": _colour(colours.quiet),
        },
        token=_colour(colours.high, colours.faint),
        hit=_colour(colours.text, colours.selected),
    )


def _text(font: QFont, colour: str) -> QTextCharFormat:
    text_format = _colour(colour)
    text_format.setFont(font)
    return text_format


def _colour(front: str, back: str = "") -> QTextCharFormat:
    text_format = QTextCharFormat()
    text_format.setForeground(QColor(front))
    if back:
        text_format.setBackground(QColor(back))
    return text_format


class PlainText(Guarded, QPlainTextEdit):
    """Read-only, searchable, of any size. With a bridge, which finds its words, code is coloured by its language."""

    filled = Signal()
    """More has been laid in."""
    rearranged = Signal()
    """Lines were hidden or shown, other stretches are marked."""
    find_wanted = Signal()
    """The keys for "find" were pressed here."""

    def __init__(self, theme: Theme, bridge: Bridge | None = None) -> None:
        super().__init__()
        self._theme, self._bridge = theme, bridge
        self._looks: Looks = looks(theme.colours)
        self._sections: Sequence[Section] = ()
        self._pieces: Iterator[Piece] = iter(())
        self._layout, self._folds = TextLayout(), JsonFolds(self.document())
        self._allowed = LIMIT
        self._complete = True
        self._hits: Sequence[tuple[int, int]] = ()
        self._unread: list[CodeStretch] = []
        """Code that was laid in, whose words nobody looks for yet."""
        self._task: Task | None = None
        self._colouring = False
        self._again = QTimer(self, singleShot=True, interval=0)
        self._again.timeout.connect(self._colour)
        self._more = QTimer(self, interval=0)
        self._more.timeout.connect(lambda: self._fill())
        self.setReadOnly(True)
        self.setTextInteractionFlags(self.textInteractionFlags() | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setViewportMargins(9, 0, 4, 0)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance("0"))
        self.verticalScrollBar().valueChanged.connect(self._colour)
        self.viewport().setMouseTracking(True)

    # -- what is shown ---------------------------------------------------------------------------------------------

    def show_sections(self, sections: Sequence[Section]) -> None:
        """Show these from their beginning."""
        self._more.stop()
        self._layout, self._hits = TextLayout(), ()
        self._colour()
        self.clear()
        self._sections, self._pieces = sections, pieces(sections)
        self._folds.clear()
        self._unread = []
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._allowed, self._complete = LIMIT, False
        self._fill(FIRST, AT_ONCE)
        start = QTextCursor(self.document())
        start.setKeepPositionOnInsert(True)
        self.setTextCursor(start)
        if not self._complete:
            self._more.start()

    def show_all(self) -> None:
        """Lay in what lies beyond LIMIT, too."""
        self._allowed = 20 * self.length + LIMIT
        if not self._complete:
            self._more.start()

    @property
    def length(self) -> int:
        """Characters of all sections."""
        return sum(len(section.text) for section in self._sections)

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
        goal, folding = min(cursor.position() + most, self._allowed), False
        while cursor.position() < goal and perf_counter() < until:
            piece = next(self._pieces, None)
            if piece is None:
                self._complete = True
                break
            start = cursor.position()
            cursor.insertText(piece.shown.text, self._looks.texts[piece.look])
            self._layout.add(placed := PlacedPiece(start, cursor.position(), piece))
            if piece.brackets:
                self._folds.add(placed)
                folding = True
            if piece.code is not None and not piece.at:
                self._unread.append(piece.code)
        cursor.endEditBlock()
        if folding:
            self._measure()
        if self._complete or cursor.position() >= self._allowed:
            self._more.stop()
        if in_sight:
            self._colour()
        self._find_words()
        self.filled.emit()

    def _find_words(self) -> None:
        """Of the code that was laid in; it is coloured when they are found."""
        if self._bridge is None or self._task is not None or not self._unread:
            return
        stretches, self._unread = self._unread, []

        def job(task: Task) -> None:
            until = perf_counter() + LONGEST
            for code in stretches:
                code.find(lambda: task.cancelled() or perf_counter() > until)

        def done(_: None) -> None:
            self._task = None
            self._colour()
            self._find_words()

        self._task = self._bridge.run(job, done, lane="answer")

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
        """Ctrl+F finds, Enter folds what the cursor stands in, or unfolds it; the rest as ever."""
        if _finds(event):
            self.find_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (fold := self.fold):
            self.toggle(fold)
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
        return self._layout.original(start, end)

    # -- finding ---------------------------------------------------------------------------------------------------

    def displayed(self) -> Sequence[PlacedPiece]:
        """What is laid in so far."""
        return self._layout.pieces

    def show_hits(self, hits: Sequence[tuple[int, int]], current: int = -1) -> None:
        """Mark these stretches (Qt's positions, in order) and bring the current one into sight."""
        self._hits = hits
        if 0 <= current < len(hits):
            cursor = self.textCursor()
            cursor.setPosition(hits[current][0])
            cursor.setPosition(hits[current][1], QTextCursor.MoveMode.KeepAnchor)
            self._folds.reveal(cursor.block())
            self._measure()
            below = 4 * self.fontMetrics().lineSpacing()  # what opens above it a moment later takes so much
            seen = self.viewport().rect().adjusted(0, 0, 0, -below).contains(self.cursorRect(cursor))
            self.setTextCursor(cursor)
            if not seen:
                self.centerCursor()
        self._colour()
        self.rearranged.emit()

    @property
    def hits(self) -> Sequence[tuple[int, int]]:
        """The stretches that are marked."""
        return self._hits

    def go_to(self, position: int) -> None:
        """The cursor there (Qt's position), its line into sight."""
        cursor = self.textCursor()
        cursor.setPosition(position)
        self._folds.reveal(cursor.block())
        self._measure()
        self.setTextCursor(cursor)
        self.go_to_line(cursor.block().firstLineNumber())

    def go_to_line(self, number: int) -> None:
        """That line near the top."""
        bar = self.verticalScrollBar()
        bar.setValue(number - bar.pageStep() // 5)

    # -- folding ---------------------------------------------------------------------------------------------------

    @property
    def fold(self) -> JsonFold | None:
        """The object or list of JSON that begins in the line of the cursor, else the one that it stands in."""
        return self._folds.around(self.textCursor().block())

    def toggle(self, fold: JsonFold) -> None:
        """Fold it, or unfold it."""
        cursor = self.textCursor()
        cursor.setPosition(self.document().findBlockByNumber(fold.first).position())
        self.setTextCursor(cursor)
        self._folds.toggle(fold)
        self._measure()
        self._colour()

    def fold_all(self, folded: bool) -> None:
        """What was folded at first; or unfold everything."""
        self._folds.set_all(folded)
        self._measure()
        self._colour()

    def _measure(self) -> None:
        """Lines were shown or hidden, which Qt counts only when it is told."""
        layout = self.document().documentLayout()
        layout.documentSizeChanged.emit(layout.documentSize())
        self.viewport().update()
        self.rearranged.emit()

    def _signs(self) -> Iterator[tuple[JsonFold, QRectF, str]]:
        """What can be folded in sight: where its sign stands, after the line, and what that says."""
        metrics = QFontMetricsF(mono_font())
        for block, top in self._in_sight():
            if (fold := self._folds.at(block)) is not None and (lines := block.layout().lineCount()):
                line = block.layout().lineAt(lines - 1)
                words = fold.words if self._folds.is_folded(fold) else "▾"
                left = self.contentOffset().x() + line.x() + line.naturalTextWidth() + metrics.averageCharWidth()
                width = metrics.horizontalAdvance(words) + metrics.averageCharWidth()
                yield fold, QRectF(left, top + line.y(), width, line.height()), words

    def _sign_at(self, place: QPointF) -> JsonFold | None:
        return next((fold for fold, where, _ in self._signs() if where.contains(place)), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text, and the signs of what can be folded."""
        super().paintEvent(event)
        with QPainter(self.viewport()) as painter:
            painter.setFont(mono_font())
            for _, where, words in self._signs():
                painter.setPen(QColor(self._theme.colours.accent if len(words) > 1 else self._theme.colours.quiet))
                painter.drawText(where, Qt.AlignmentFlag.AlignCenter, words)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """On a sign: fold or unfold."""
        if event.button() == Qt.MouseButton.LeftButton and (fold := self._sign_at(event.position())):
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
            self._again.start()  # Qt lays out what it colours, which scrolls and resizes: a change of its list kills it
            return
        selections: list[QTextEdit.ExtraSelection] = []
        for block, _ in self._in_sight():
            selections += (self._selection(*stretch) for stretch in self._stretches(block))
            if len(selections) >= MOST_COLOURED:
                break
        self._colouring = True
        try:
            self.setExtraSelections(selections)
        finally:
            self._colouring = False

    def _in_sight(self) -> Iterator[tuple[QTextBlock, float]]:
        """The blocks, and how far down each begins."""
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= self.viewport().height():
            yield block, top
            top += self.blockBoundingRect(block).height()
            block = self._folds.after(block)

    def _stretches(self, block: QTextBlock) -> Iterator[tuple[int, int, QTextCharFormat]]:
        start, end = block.position(), block.position() + block.length() - 1
        for placed, first, last in self._layout.between(start, end):
            displayed = placed.piece.shown
            for span in spans(displayed.text[first:last], placed.piece.rules):
                place = placed.position(first + span.start), placed.position(first + span.end)
                yield *place, self._looks.kinds[span.kind]
            if (code := placed.piece.code) is not None:
                at = placed.piece.at
                for span in code.between(at + displayed.back(first), at + displayed.back(last)):
                    begin, close = (placed.position(displayed.place(place - at)) for place in (span.start, span.end))
                    yield begin, close, self._looks.kinds[span.kind]
            low = bisect_right(displayed.edits, first, key=lambda edit: edit.end)
            for edit in displayed.edits[low : low + MOST_COLOURED]:
                if edit.start >= last:
                    break
                yield placed.position(edit.start), placed.position(edit.end), self._looks.token
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


class NeedText(QStackedWidget):
    """What an editor would change or choke on (controls, endless lines) is shown as it is, read-only."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.editor = QPlainTextEdit()
        self.editor.setObjectName("NeedText")
        self.editor.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.reader = PlainText(theme)
        for view in (self.editor, self.reader):
            view.setAccessibleName(name)
            self.addWidget(view)
        self._text = ""

    def show_text(self, text: str) -> None:
        """Another text."""
        self._text = text
        if editable(text):
            self.editor.setPlainText(text)
            self.editor.document().setModified(False)
            self.setCurrentWidget(self.editor)
        else:
            self.reader.show_sections((Section("", text),))
            self.setCurrentWidget(self.reader)

    def text(self) -> str:
        """As it is to be sent: the original, to the letter, unless it was edited."""
        if self.currentWidget() is self.editor and self.editor.document().isModified():
            return self.editor.toPlainText()
        return self._text

    @property
    def edited(self) -> bool:
        """Has the person changed it?"""
        return self.text() != self._text

    def hold(self, held: bool) -> None:
        """While somebody answers, nothing is edited."""
        self.editor.setReadOnly(held)


def editable(text: str) -> bool:
    """Would an editor hold this text unharmed, and quickly?"""
    return len(text) <= LARGEST and not _LONG.search(text) and visible(text).text == text
