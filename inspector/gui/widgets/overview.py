"""The map of a long text: a narrow strip beside it, which shows where headings, code, errors and hits lie, to go there.

Each kind has a column of the strip and a shape of its own, besides its colour.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import delayed
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.widgets.pieces import PlacedPiece
from inspector.gui.widgets.text import PlainText

LandmarkKind: TypeAlias = Literal["heading", "code", "error", "hit"]
WIDTH = 16
"""Pixels."""
NEAR = 5
"""Pixels from which a click goes to a mark instead of the line."""
MOST_ERRORS = 1_000
_COLUMNS: dict[LandmarkKind, tuple[int, int]] = {"code": (1, 3), "heading": (1, 14), "hit": (5, 5), "error": (11, 4)}
"""Left edge and width, in the order of painting."""
_MANY = {"code": "stretches of code"}
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)|\b(?i:error|fatal|panic|exception)(?:\[\w+\])?:|\w(?:Error|Exception)\b:"
    r"|\bFAILED\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Landmark:
    """A stretch of the document, in Qt's positions."""

    kind: LandmarkKind
    start: int
    end: int
    words: str


class Overview(Guarded, QWidget):
    """Of one PlainText; shown while that is higher than its room."""

    def __init__(self, theme: Theme, text: PlainText) -> None:
        super().__init__()
        self._theme, self._text = theme, text
        self._read: Sequence[PlacedPiece] = ()
        self._known = self._errors = 0
        self._found: list[Landmark] = []
        self._here = -1
        self.places: list[tuple[float, float, Landmark]] = []
        """From where to where each is painted; in the order of the text."""
        self._soon = delayed(self, 60, self._place)
        text.filled.connect(self._read_on)
        for changed in (text.rearranged, text.verticalScrollBar().rangeChanged):
            changed.connect(self._soon.start)
        text.verticalScrollBar().valueChanged.connect(self.update)
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # or the text would be wrapped anew, and be higher or lower for it
        self.setSizePolicy(policy)
        self.setFixedWidth(WIDTH)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Map of the text")
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 10 * WIDTH)

    # -- what there is -------------------------------------------------------------------------------------------------

    def _read_on(self) -> None:
        """What was laid in since."""
        pieces = self._text.displayed()
        if pieces is not self._read:
            self._read, self._known, self._errors, self._found, self._here = pieces, 0, 0, [], -1
        for placed in pieces[self._known :]:
            self._found += self._landmarks(placed)
        self._known = len(pieces)
        self._soon.start()

    def _place(self) -> None:
        """Where all of it stands now."""
        hits = [Landmark("hit", start, end, "hit of the search") for start, end in self._text.hits]
        self.places = []
        last = dict[LandmarkKind, tuple[float, float]]()
        for mark in sorted([*self._found, *hits], key=lambda mark: mark.start):
            top, bottom = self._y(mark.start), self._y(mark.end) if mark.kind == "code" else 0.0
            place = top, max(bottom, top + 2)
            if mark.kind == "heading" or last.get(mark.kind) != place:
                self.places.append((*place, mark))
                last[mark.kind] = place
        counts = Counter(landmark.kind for landmark in (*self._found, *hits))
        counted = [(kind, counts[kind]) for kind in get_args(LandmarkKind) if counts[kind]]
        self.setAccessibleDescription(", ".join(plural(many, kind, _MANY.get(kind, "")) for kind, many in counted))
        self.setVisible(bool(self.places) and self._text.verticalScrollBar().maximum() > 0)
        self.update()

    def _landmarks(self, placed: PlacedPiece) -> Iterator[Landmark]:
        piece = placed.piece
        if piece.look == "heading":
            words = line(piece.shown.text.strip())
            yield Landmark("heading", placed.end - len(piece.shown.text.lstrip("\n")), placed.end, words)
            if " · error" in words:
                yield Landmark("error", placed.end - 1, placed.end, words)
            return
        if piece.rules or piece.code is not None:
            if self._found and self._found[-1].kind == "code" and self._found[-1].end == placed.start:
                placed = placed._replace(start=self._found.pop().start)
            yield Landmark("code", placed.start, placed.end, "JSON" if piece.rules == "json" else piece.rules or "code")
            return
        for match in _ERROR.finditer(piece.shown.text):
            if self._errors >= MOST_ERRORS:
                return
            self._errors += 1
            begin = piece.shown.text.rfind("\n", 0, match.start()) + 1
            words = line(piece.shown.text[max(begin, match.start() - 80) : match.end() + 80].partition("\n")[0])
            start = placed.position(match.start())
            yield Landmark("error", start, start + 1, words)

    def _y(self, position: int) -> float:
        document = self._text.document()
        return document.findBlock(position).firstLineNumber() / max(1, document.lineCount()) * self.height()

    # -- how it looks --------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """What is in sight as a ground; over it the marks."""
        c, bar, lines = self._theme.colours, self._text.verticalScrollBar(), max(1, self._text.document().lineCount())
        colours = {"code": c.missing, "heading": c.quiet, "hit": c.accent, "error": c.high}
        with QPainter(self) as painter:
            seen = QRectF(0, bar.value() / lines * self.height(), WIDTH, bar.pageStep() / lines * self.height())
            painter.fillRect(seen, ink(c.hover))
            for kind, (left, width) in _COLUMNS.items():
                for top, bottom, mark in self.places:
                    if mark.kind == kind:
                        painter.fillRect(QRectF(left, top, width, bottom - top), ink(colours[kind]))
            if self.hasFocus():
                painter.setPen(ink(c.accent))
                painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    # -- going there ---------------------------------------------------------------------------------------------------

    def _under(self, y: float) -> Landmark | None:
        near = [(abs(top - y), mark) for top, bottom, mark in self.places if top - NEAR <= y <= bottom + NEAR]
        return min(near, key=lambda pair: pair[0], default=(0.0, None))[1]

    def _go(self, mark: Landmark) -> None:
        self._here = next(n for n, (_, _, other) in enumerate(self.places) if other is mark)
        self._text.go_to(mark.start)
        description = f"{mark.kind} {self._here + 1:,} of {len(self.places):,}: {mark.words}"
        self.setAccessibleDescription(description)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """To the mark there, else to the line."""
        y = event.position().y()
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if (mark := self._under(y)) is not None:
            self._go(mark)
        else:
            self._text.go_to_line(round(y / max(1, self.height()) * self._text.document().lineCount()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down: the mark before and after; Home and End; Enter: into the text."""
        key, last = event.key(), len(self.places) - 1
        step = {
            Qt.Key.Key_Up: self._here - 1,
            Qt.Key.Key_Down: self._here + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._text.setFocus()
        elif key in step and self.places:
            self._go(self.places[max(0, min(step[Qt.Key(key)], last))][2])
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        """What lies under the mouse, in words."""
        if isinstance(event, QHelpEvent):
            mark = self._under(event.pos().y())
            QToolTip.showText(event.globalPos(), tip(mark.words) if mark is not None else "", self)
            return True
        return super().event(event)
