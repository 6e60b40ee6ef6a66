"""The overview of a long text: its scroll bar, which also marks headings, code, errors and hits, to jump to them.

Kinds differ in column and shape as well as in colour.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias, get_args

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import delayed
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import CHOICE_RADIUS
from inspector.gui.look.visible import line
from inspector.gui.widgets.pieces import PlacedPiece
from inspector.gui.widgets.text import PlainText

LandmarkKind: TypeAlias = Literal["heading", "code", "error", "hit"]
WIDTH = 16
"""Width of the strip in pixels."""
_LEAST_THUMB = 20
"""Least height in pixels of the stretch that stands for the visible text."""
NEAR = 5
"""Pixels around a mark within which a click jumps to the mark and not to the line."""
MOST_ERRORS = 1_000
_COLUMNS: dict[LandmarkKind, tuple[int, int]] = {
    "code": (2, 3),
    "heading": (2, 7),
    "hit": (5, 6),
    "error": (11, 4),
}
"""Left edge and width in pixels, in the order of painting."""
_MANY = {"code": "stretches of code"}
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)|\b(?i:error|fatal|panic|exception)(?:\[\w+\])?:|\w(?:Error|Exception)\b:"
    r"|\bFAILED\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Landmark:
    """A stretch of the document that is worth jumping to. `start` and `end` are Qt's positions."""

    kind: LandmarkKind
    start: int
    end: int
    words: str


class Overview(Guarded, QWidget):
    """The strip beside one PlainText, in place of its scroll bar. It is visible while the text needs scrolling."""

    def __init__(self, theme: Theme, text: PlainText) -> None:
        super().__init__()
        self._theme = theme
        self._text = text
        self._pieces: Sequence[PlacedPiece] = ()
        self._piece_count = 0
        """Number of pieces that were searched for landmarks."""
        self._error_count = 0
        self._landmarks: list[Landmark] = []
        self._current = -1
        self.places: list[tuple[float, float, Landmark]] = []
        """Top and bottom of each mark in pixels, in the order of the text."""
        self._grip: float | None = None
        """Pixels between the upper edge of the visible part and the mouse that drags it; None if it is not dragged."""
        self._soon = delayed(self, milliseconds=60, call=self._place_marks)
        text.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        text.filled.connect(self._find_landmarks)
        for changed in (text.rearranged, text.verticalScrollBar().rangeChanged):
            changed.connect(self._soon.start)
        text.verticalScrollBar().valueChanged.connect(self.update)
        policy = self.sizePolicy()
        # Otherwise showing the strip would wrap the text again.
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.setFixedWidth(WIDTH)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Overview of the text")
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 10 * WIDTH)

    # -- landmarks -----------------------------------------------------------------------------------------------------

    def _find_landmarks(self) -> None:
        """Find the landmarks of the pieces that were inserted since the last call."""
        pieces = self._text.displayed()
        if pieces is not self._pieces:
            self._pieces = pieces
            self._landmarks = []
            self._piece_count = self._error_count = 0
            self._current = -1
        for placed in pieces[self._piece_count :]:
            self._landmarks += self._landmarks_of(placed)
        self._piece_count = len(pieces)
        self._soon.start()

    def _landmarks_of(self, placed: PlacedPiece) -> Iterator[Landmark]:
        piece = placed.piece
        if piece.look == "heading":
            yield from _heading_landmarks(placed)
        elif piece.rules or piece.code is not None:
            yield self._code_landmark(placed)
        else:
            yield from self._error_landmarks(placed)

    def _code_landmark(self, placed: PlacedPiece) -> Landmark:
        """Return the landmark of a piece of code, merged with that of directly preceding code."""
        start = placed.start
        rules = placed.piece.rules
        former = self._landmarks[-1] if self._landmarks else None
        if former is not None and former.kind == "code" and former.end == start:
            start = self._landmarks.pop().start
        words: str = rules or "code"
        if rules == "json":
            words = "JSON"
        return Landmark("code", start, placed.end, words)

    def _error_landmarks(self, placed: PlacedPiece) -> Iterator[Landmark]:
        """Yield a landmark for each error in prose, up to MOST_ERRORS in the whole text."""
        text = placed.piece.display.text
        for match in _ERROR.finditer(text):
            if self._error_count >= MOST_ERRORS:
                return
            self._error_count += 1
            line_start = text.rfind("\n", 0, match.start()) + 1
            context = text[max(line_start, match.start() - 80) : match.end() + 80]
            start = placed.position(match.start())
            yield Landmark("error", start, end=start + 1, words=line(context.partition("\n")[0]))

    # -- marks ---------------------------------------------------------------------------------------------------------

    def _place_marks(self) -> None:
        """Compute where every mark is painted. If several of a kind share a place, only the first is kept."""
        hits = [Landmark("hit", start, end, words="search hit") for start, end in self._text.hits]
        landmarks = sorted([*self._landmarks, *hits], key=lambda mark: mark.start)
        self.places = []
        last_places = dict[LandmarkKind, tuple[float, float]]()
        for mark in landmarks:
            place = self._place_of(mark)
            if mark.kind == "heading" or last_places.get(mark.kind) != place:
                self.places.append((*place, mark))
                last_places[mark.kind] = place
        self.setAccessibleDescription(_count_words(landmarks))
        self.setVisible(self._text.verticalScrollBar().maximum() > 0)
        self.update()

    def _place_of(self, mark: Landmark) -> tuple[float, float]:
        """Return top and bottom of a mark in pixels: code is as high as its lines, other marks are two pixels high."""
        top = self._y(mark.start)
        bottom = self._y(mark.end) if mark.kind == "code" else 0.0
        return top, max(bottom, top + 2)

    def _y(self, position: int) -> float:
        """Return the pixel row of a position of Qt."""
        document = self._text.document()
        line_number = document.findBlock(position).firstLineNumber()
        return line_number / max(1, document.lineCount()) * self.height()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the visible part of the text as a background, and the marks over it."""
        palette = self._theme.colours
        colours = {
            "code": palette.missing,
            "heading": palette.quiet,
            "hit": palette.accent,
            "error": palette.high,
        }
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink(palette.hover if self._grip is None else palette.selected))
            painter.drawRoundedRect(self._visible_part(), CHOICE_RADIUS, CHOICE_RADIUS)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            for kind, (left, width) in _COLUMNS.items():
                colour = ink(colours[kind])
                for top, bottom, mark in self.places:
                    if mark.kind == kind:
                        painter.fillRect(QRectF(left, top, width, bottom - top), colour)
            if self.hasFocus():
                painter.setPen(ink(palette.accent))
                painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _visible_part(self) -> QRectF:
        """Return the rectangle that stands for the visible part of the text."""
        bar = self._text.verticalScrollBar()
        per_line = self.height() / max(1, bar.maximum() + bar.pageStep())
        height = max(_LEAST_THUMB, bar.pageStep() * per_line)
        top = min(bar.value() * per_line, self.height() - height)
        return QRectF(0, top, WIDTH, height)

    # -- jumping -------------------------------------------------------------------------------------------------------

    def _mark_at(self, y: float) -> Landmark | None:
        """Return the mark nearest to a pixel row, at most NEAR pixels away; None if there is none."""
        nearest = None
        nearest_distance = inf
        for top, bottom, mark in self.places:
            distance = abs(top - y)
            if top - NEAR <= y <= bottom + NEAR and distance < nearest_distance:
                nearest = mark
                nearest_distance = distance
        return nearest

    def _jump_to(self, mark: Landmark) -> None:
        marks = [mark for _, _, mark in self.places]
        self._current = next(index for index, other in enumerate(marks) if other is mark)
        self._text.go_to(mark.start)
        self.setAccessibleDescription(
            f"{mark.kind} {self._current + 1:,} of {len(marks):,}: {mark.words}"
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Jump to the mark under the mouse. If there is none, drag the visible part, or jump to the line."""
        y = event.position().y()
        if event.button() != Qt.MouseButton.LeftButton:
            return
        mark = self._mark_at(y)
        visible = self._visible_part()
        if mark is not None:
            self._jump_to(mark)
        elif visible.top() <= y <= visible.bottom():
            self._grip = y - visible.top()
        else:
            share = y / max(1, self.height())
            self._text.go_to_line(round(share * self._text.document().lineCount()))
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scroll the text while the visible part is dragged."""
        if self._grip is not None:
            bar = self._text.verticalScrollBar()
            share = (event.position().y() - self._grip) / max(1, self.height())
            bar.setValue(round(share * (bar.maximum() + bar.pageStep())))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grip = None
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the text."""
        QApplication.sendEvent(self._text.verticalScrollBar(), event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Jump to the previous or next mark on Up and Down, to the ends on Home and End; Enter focuses the text."""
        key = event.key()
        last = len(self.places) - 1
        targets = {
            Qt.Key.Key_Up: self._current - 1,
            Qt.Key.Key_Down: self._current + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._text.setFocus()
        elif key in targets and self.places:
            number = max(0, min(targets[Qt.Key(key)], last))
            self._jump_to(self.places[number][2])
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        """Describe the mark under the mouse in a tooltip."""
        if isinstance(event, QHelpEvent):
            mark = self._mark_at(event.pos().y())
            QToolTip.showText(event.globalPos(), tip(mark.words) if mark is not None else "", self)
            return True
        return super().event(event)


def _heading_landmarks(placed: PlacedPiece) -> Iterator[Landmark]:
    """Yield the landmark of a heading, and an error landmark if the heading reports an error."""
    text = placed.piece.display.text
    words = line(text.strip())
    yield Landmark(
        "heading", start=placed.end - len(text.lstrip("\n")), end=placed.end, words=words
    )
    if " · error" in words:
        yield Landmark("error", start=placed.end - 1, end=placed.end, words=words)


def _count_words(landmarks: Sequence[Landmark]) -> str:
    """Return the number of landmarks by kind, such as `3 headings, 1 error`."""
    counts = Counter(mark.kind for mark in landmarks)
    kinds = [kind for kind in get_args(LandmarkKind) if counts[kind]]
    return ", ".join(plural(counts[kind], kind, _MANY.get(kind, "")) for kind in kinds)
