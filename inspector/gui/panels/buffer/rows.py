"""The rows of the buffer list: which messages, in which order, and how one is painted."""

from collections.abc import Mapping, Sequence
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
from inspector.gui.widgets.painted import RIGHT, PaintedModel, PaintedRow, paint_bold, paint_subject, paint_text
from inspector.gui.widgets.table import TOP
from inspector.workbench.diff import LETTERS
from inspector.workbench.message_rows import NO_CALLS, MessageRow, row

Order: TypeAlias = Literal["newest first", "oldest first", "largest first"]
ORDERS: tuple[Order, ...] = get_args(Order)
NO_FATES: Mapping[str, FateName] = MappingProxyType({})
NARROW, NAMED, ROOMY, WIDE = 62, 72, 80, 92
"""Figures of a row: below these it does without tool, badges and bar; from these on a tool's name has as much room as
it needs; from these on there may be several badges; from these on the bar is long."""


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
        self._order: Order = "newest first"
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
        if self._order == "largest first" or not shorter:
            return None
        same = all(map(is_, old[:shorter], messages[:shorter]))
        return len(messages) - len(old) if same else None

    def _splice(self, messages: tuple[Message, ...], grown: int) -> None:
        old, new = len(self._messages), len(messages)
        at = 0 if self._order == "newest first" else min(old, new)
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
            case "oldest first":
                return chosen
            case "newest first":
                return chosen[::-1]
            case "largest first":
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
        """The message in this row."""
        return self._messages[self._shown[place]]

    def row_at(self, place: int) -> BufferRow:
        number = self._shown[place]
        message = self._messages[number]
        known = self._rows.get(id(message))
        if known is None:  # the message is kept with it, so that its id is not used again
            known = self._rows[id(message)] = message, row(message, self._calls)
        fate = self._fates.get(message.id, "kept")
        return BufferRow(number, message, known[1], self.tokens(message), number >= self._fresh_from, fate)

    def size(self) -> int:
        return len(self._shown)

    def words_at(self, place: int) -> str:
        one = self.row_at(place)
        fate = "" if one.fate == "kept" else one.fate
        words = (str(one.number), fate, one.row.role, one.row.tool, *one.row.badges, one.row.text)
        return " ".join(word for word in words if word) + f", {grouped(one.tokens)} tokens"


class BufferDelegate(PaintedRow):
    """Number, role, tool, first line, badges, bar, tokens. `largest`: tokens that fill the bar."""

    largest = 1
    tool = 7
    """Figures of room for the name of a tool."""
    _lettered = False

    def letter(self, on: bool) -> None:
        """Leave room for the letters of fates, which messages have after steps of ours."""
        if on != self._lettered:
            self._lettered = on
            self.forget()

    def key(self, row: BufferRow) -> tuple[object, ...]:
        return id(row.message), row.number, row.tokens, row.fresh, row.fate

    def paint_row(self, painter: QPainter, rect: QRect, row: BufferRow, marked: int, c: Colours) -> None:
        metrics = painter.fontMetrics()
        if row.fresh or row.fate != "kept":
            strip = c.accent if row.fate == "kept" else fate_colour(c, row.fate)
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(strip))
        left = self._paint_left(painter, rect, metrics, row, c)
        right = self._paint_right(painter, rect, metrics, row, c)
        right = self._paint_badges(painter, rect, right, row, c)
        paint_subject(painter, QRect(left, 0, right - left - 8, rect.height()), row.row, c.text, c.quiet)

    def _paint_left(self, painter: QPainter, rect: QRect, metrics: QFontMetrics, row: BufferRow, c: Colours) -> int:
        """Number, role, tool. Returns where the first line begins."""
        digit = metrics.horizontalAdvance("0")
        x, high = 8, rect.height()
        painter.setPen(ink(c.quiet))
        painter.drawText(QRect(x, 0, 5 * digit, high), RIGHT, str(row.number))
        x += 5 * digit + 9
        if self._lettered:
            if row.fate != "kept":
                paint_bold(painter, QRect(x, 0, 2 * digit, high), LETTERS[row.fate], fate_colour(c, row.fate))
            x += 2 * digit
        role, tool, wide = row.row.role, visible(row.row.tool).text, metrics.horizontalAdvance("assistant") + 12
        narrow = rect.width() < NARROW * digit
        first = tool or role if narrow and role == "tool" else role
        paint_text(painter, QRect(x, 0, wide - 6, high), first, role_colour(c, role))
        x += wide
        if narrow:
            return x
        room = (self.tool if rect.width() > NAMED * digit else 7) * digit
        paint_text(painter, QRect(x, 0, room - 8, high), tool, c.quiet)
        return x + room

    def _paint_right(self, painter: QPainter, rect: QRect, metrics: QFontMetrics, row: BufferRow, c: Colours) -> int:
        """Bar and tokens. Returns where they begin."""
        number = metrics.horizontalAdvance("0,000,000")
        right = rect.right() - 12
        painter.setPen(ink(c.text))
        painter.drawText(QRect(right - number, 0, number, rect.height()), RIGHT, grouped(row.tokens))
        digit = metrics.horizontalAdvance("0")
        if rect.width() < NARROW * digit:
            return right - max(metrics.horizontalAdvance(grouped(row.tokens)), 5 * digit)
        width = 86 if rect.width() > WIDE * digit else 48
        bar = QRectF(right - number - width, rect.center().y() - 2, width, 5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(c.faint))
        painter.drawRoundedRect(bar, 2.5, 2.5)
        if row.tokens:
            share = min(1.0, row.tokens / max(1, self.largest))
            painter.setBrush(ink(c.categories[row.row.category]))
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), max(5.0, width * share), 5), 2.5, 2.5)
        return int(bar.left()) - 8

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
            colour = {"error": c.high, "summary": c.good, "cleared": c.low}.get(badge, c.quiet)
            painter.setPen(ink(colour if badge in ("error", "summary", "cleared") else c.line))
            painter.drawRoundedRect(chip, high / 2, high / 2)
            painter.setPen(ink(colour))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, badge)
            right -= width + 6
        painter.setFont(normal)
        return right
