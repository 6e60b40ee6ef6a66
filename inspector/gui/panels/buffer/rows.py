"""The rows of the buffer list: which messages, in which order, and how one is painted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter

from inspector.core.calls import CallIndex
from inspector.core.message import Message
from inspector.core.outcome import FateName
from inspector.core.tokens.estimators import Estimator, count
from inspector.core.tokens.prediction import UNSCALED
from inspector.gui.look.colours import Colours, fate_colour, ink, role_colour
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import visible
from inspector.gui.widgets.painted import (
    RIGHT,
    ColumnHead,
    PaintedModel,
    PaintedRow,
    paint_bold,
    paint_subject,
    paint_text,
    role_width,
)
from inspector.gui.widgets.table import TOP
from inspector.workbench.diff import LETTERS
from inspector.workbench.message_rows import NO_CALLS, MessageRow, row

Order: TypeAlias = Literal["Oldest first", "Newest first", "Largest first"]
ORDERS: tuple[Order, ...] = get_args(Order)
NO_FATES: Mapping[str, FateName] = MappingProxyType({})
NARROW, NAMED, ROOMY, WIDE = 62, 72, 80, 92
"""Figures of a row: below these it does without tool, badges and bar; from these on a tool's name has as much room as
it needs; from these on there are sizes and may be several badges; from these on the bar is long."""
EDGE, GAP = 8, 10
"""Pixels beside a row's content, and between its columns."""
NUMBER, LEAST_TOOL, SIZE, TOKENS = 5, 7, 11, 7
"""Figures of a place in the buffer, of a short name of a tool, of a size in words, and of a count of tokens."""
SHORT_BAR, LONG_BAR, BAR_HEIGHT = 48, 68, 6
"""Pixels."""


@dataclass(frozen=True, slots=True)
class BufferRow:
    """What one row of the list shows."""

    number: int
    """Position in the buffer, from 0."""
    message: Message
    row: MessageRow
    tokens: int
    fresh: bool
    """Was not in the buffer of the request before."""
    fate: FateName = "kept"
    """What our steps made of it, since the recorded buffer."""


class BufferModel(PaintedModel):
    """Rows are worked out when they are painted, and kept as long as the thread stays the same."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: tuple[Message, ...] = ()
        self._shown: Sequence[int] = ()
        self._order: Order = ORDERS[0]
        self._picked: Sequence[int] | None = None
        self._fresh_from = 0
        self._calls = NO_CALLS
        self._estimator: Estimator | None = None
        self.scale = UNSCALED
        """What a counted token weighs where we stand."""
        self._rows: dict[int, tuple[Message, MessageRow]] = {}
        self._fates: Mapping[str, FateName] = {}

    def forget(self, calls: CallIndex, estimator: Estimator) -> None:
        """Another thread or estimator: nothing that was worked out holds any more."""
        self._rows.clear()
        self._calls, self._estimator = calls, estimator

    def show(
        self,
        messages: tuple[Message, ...],
        picked: Sequence[int] | None,
        fresh_from: int,
        fates: Mapping[str, FateName] = NO_FATES,
    ) -> None:
        """The buffer, and which of its messages (ascending indices; None = all). `fates`: of those that changed."""
        self._fates = fates
        grown = self._grown(messages) if picked is None and self._picked is None else None
        self._fresh_from = fresh_from
        if grown is None:
            self.beginResetModel()
            self._messages, self._picked = messages, picked
            self._shown = self._arranged()
            self.endResetModel()
        elif grown:
            self._splice(messages, grown)
        else:
            self._messages = messages

    def _grown(self, messages: tuple[Message, ...]) -> int | None:
        """By how many messages the buffer grew or shrank at its end; None where it changed otherwise."""
        old, shorter = self._messages, min(len(self._messages), len(messages))
        if self._order == "Largest first" or not shorter:
            return None
        same = all(map(is_, old[:shorter], messages[:shorter]))
        return len(messages) - len(old) if same else None

    def _splice(self, messages: tuple[Message, ...], grown: int) -> None:
        old, new = len(self._messages), len(messages)
        at = 0 if self._order == "Newest first" else min(old, new)
        last = at + abs(grown) - 1
        begin, end = (
            (self.beginInsertRows, self.endInsertRows) if grown > 0 else (self.beginRemoveRows, self.endRemoveRows)
        )
        begin(TOP, at, last)
        self._messages = messages
        self._shown = self._arranged()
        end()

    def arrange(self, order: Order) -> None:
        """Sort by this from now on."""
        self.beginResetModel()
        self._order = order
        self._shown = self._arranged()
        self.endResetModel()

    def _arranged(self) -> Sequence[int]:
        chosen = range(len(self._messages)) if self._picked is None else self._picked
        match self._order:
            case "Oldest first":
                return chosen
            case "Newest first":
                return chosen[::-1]
            case "Largest first":
                return sorted(chosen, key=lambda n: -self.tokens(self._messages[n]))

    def tokens(self, message: Message) -> int:
        """Tokens of a message, in proportion to what the gauge shows."""
        return self.scale.rows(count(self._estimator, message)) if self._estimator else 0

    def place_of(self, message_id: str, near: int = -1) -> int:
        """The row that shows this message, -1 for none. O(rows) unless it is the first, the last or `near`."""
        for likely in (0, near, len(self._shown) - 1):
            if 0 <= likely < len(self._shown) and self.message_at(likely).id == message_id:
                return likely
        return next((n for n, at in enumerate(self._shown) if self._messages[at].id == message_id), -1)

    def message_at(self, place: int) -> Message:
        """Return the message of a row."""
        return self._messages[self._shown[place]]

    def row_at(self, place: int) -> BufferRow:
        number = self._shown[place]
        message = self._messages[number]
        cached = self._rows.get(id(message))
        if cached is None:  # the message is kept with it, so that its id is not used again
            cached = self._rows[id(message)] = message, row(message, self._calls)
        fate = self._fates.get(message.id, "kept")
        return BufferRow(number, message, cached[1], self.tokens(message), number >= self._fresh_from, fate)

    def size(self) -> int:
        return len(self._shown)

    def words_at(self, place: int) -> str:
        row = self.row_at(place)
        fate = "" if row.fate == "kept" else row.fate
        words = (str(row.number), fate, row.row.role, row.row.tool, *row.row.badges, row.row.text)
        return " ".join(word for word in words if word) + f", {grouped(row.tokens)} tokens"


class BufferDelegate(PaintedRow):
    """Number, role, tool, subject, badges, size, bar, tokens. `largest`: tokens that fill the bar."""

    largest = 1
    tool = 7
    """Figures of room for the name of a tool."""
    _lettered = False

    def letter(self, on: bool) -> None:
        """Leave room for the letters of fates, which messages have after steps of ours."""
        if on != self._lettered:
            self._lettered = on
            self.forget()

    def columns(self, rect: QRect, metrics: QFontMetrics) -> "BufferColumns":
        """Place the columns in the room of a row."""
        return buffer_columns(rect, metrics, self.tool, self._lettered)

    def key(self, row: BufferRow) -> tuple[object, ...]:
        return id(row.message), row.number, row.tokens, row.fresh, row.fate

    def paint_row(self, painter: QPainter, rect: QRect, row: BufferRow, marked: int, c: Colours) -> None:
        columns = self.columns(rect, painter.fontMetrics())
        if row.fresh or row.fate != "kept":
            strip = c.accent if row.fate == "kept" else fate_colour(c, row.fate)
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(strip))
        paint_text(painter, columns.number, str(row.number), c.quiet, RIGHT)
        if columns.fate is not None and row.fate != "kept":
            paint_bold(painter, columns.fate, LETTERS[row.fate], fate_colour(c, row.fate))
        role, tool = row.row.role, visible(row.row.tool).text
        is_named_by_tool = columns.tool is None and role == "result"
        paint_text(painter, columns.role, tool or role if is_named_by_tool else role, role_colour(c, role))
        if columns.tool is not None:
            paint_text(painter, columns.tool, tool, c.quiet)
        if columns.size is not None:
            paint_text(painter, columns.size, row.row.size, c.quiet, RIGHT)
        if columns.bar is not None:
            self._paint_bar(painter, QRectF(columns.bar), row, c)
        paint_text(painter, columns.tokens, grouped(row.tokens), c.text, RIGHT)
        subject = columns.subject
        right = self._paint_badges(painter, rect, subject.right(), row, c)
        paint_subject(painter, subject.adjusted(0, 0, right - subject.right(), 0), row.row, c.text, c.quiet)

    def _paint_bar(self, painter: QPainter, room: QRectF, row: BufferRow, c: Colours) -> None:
        """Paint the tokens as a share of the largest message."""
        bar = QRectF(room.left(), room.center().y() - BAR_HEIGHT / 2, room.width(), BAR_HEIGHT)
        round_ends = BAR_HEIGHT / 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(c.faint))
        painter.drawRoundedRect(bar, round_ends, round_ends)
        if row.tokens:
            share = min(1.0, row.tokens / max(1, self.largest))
            painter.setBrush(ink(c.categories[row.row.category]))
            bar.setWidth(max(float(BAR_HEIGHT), bar.width() * share))
            painter.drawRoundedRect(bar, round_ends, round_ends)

    def _paint_badges(self, painter: QPainter, rect: QRect, right: int, row: BufferRow, c: Colours) -> int:
        """Chips, right to left. Returns where they begin."""
        digit = painter.fontMetrics().horizontalAdvance("0")
        if not row.row.badges or rect.width() < NARROW * digit:
            return right
        font = QFont(painter.font())
        normal = QFont(font)
        font.setPointSizeF(font.pointSizeF() * 0.86)
        painter.setFont(font)
        metrics = QFontMetrics(font)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for badge in reversed(row.row.badges[: 3 if rect.width() > ROOMY * digit else 1]):
            width = metrics.horizontalAdvance(badge) + 14
            high = metrics.height() + 2
            chip = QRectF(right - width + 0.5, rect.center().y() - high / 2 + 0.5, width, high)
            colour = {"error": c.high, "cleared": c.low}.get(badge, c.quiet)
            painter.setPen(ink(colour if badge in ("error", "cleared") else c.line))
            painter.drawRoundedRect(chip, high / 2, high / 2)
            painter.setPen(ink(colour))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, badge)
            right -= width + 6
        painter.setFont(normal)
        return right


@dataclass(frozen=True, slots=True)
class BufferColumns:
    """Where the columns of a row are; None for those that a narrow list leaves out."""

    number: QRect
    fate: QRect | None
    role: QRect
    tool: QRect | None
    subject: QRect
    size: QRect | None
    bar: QRect | None
    tokens: QRect


def buffer_columns(rect: QRect, metrics: QFontMetrics, tool: int, has_fates: bool) -> BufferColumns:
    """Place the columns; the subject takes what is left. `tool`: figures of room for the name of a tool."""
    digit, high = metrics.horizontalAdvance("0"), rect.height()
    figures = rect.width() // max(1, digit)

    def column(left: int, width: int) -> QRect:
        return QRect(left, rect.top(), max(0, width), high)

    number = column(rect.left() + EDGE, NUMBER * digit)
    left = number.right() + GAP
    fate = column(left, 2 * digit) if has_fates else None
    left = fate.right() if fate is not None else left
    role = column(left, role_width(metrics))
    left = role.right() + GAP
    names = None
    if figures >= NARROW:
        names = column(left, (tool if figures > NAMED else LEAST_TOOL) * digit)
        left = names.right() + GAP
    tokens = column(rect.right() - EDGE - TOKENS * digit, TOKENS * digit)
    right = tokens.left() - GAP
    bar = None
    if figures >= NARROW:
        width = LONG_BAR if figures > WIDE else SHORT_BAR
        bar = column(right - width, width)
        right = bar.left() - GAP
    size = None
    if figures > ROOMY:
        size = column(right - SIZE * digit, SIZE * digit)
        right = size.left() - GAP
    return BufferColumns(number, fate, role, names, column(left, right - left), size, bar, tokens)


def buffer_heads(columns: BufferColumns) -> Iterable[ColumnHead]:
    """Yield the name of each column with its place."""
    yield ColumnHead(columns.number, "#", RIGHT)
    yield ColumnHead(columns.role, "Role")
    if columns.tool is not None:
        yield ColumnHead(columns.tool, "Tool")
    yield ColumnHead(columns.subject, "Subject")
    if columns.size is not None:
        yield ColumnHead(columns.size, "Size", RIGHT)
    yield ColumnHead(columns.tokens, "Tokens", RIGHT)
