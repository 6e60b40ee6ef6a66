"""The rows of the buffer list: their messages, their order, and how a row is painted."""

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
from inspector.gui.widgets.chart import paint_rounded
from inspector.gui.widgets.painted import (
    RIGHT,
    ColumnHead,
    PaintedModel,
    PaintedRow,
    paint_bold,
    paint_subject,
    paint_subject_above,
    paint_text,
    role_width,
)
from inspector.gui.widgets.table import TOP
from inspector.workbench.diff import LETTERS
from inspector.workbench.message_rows import NO_CALLS, MessageRow, message_row

Order: TypeAlias = Literal["Oldest first", "Newest first", "Largest first"]
ORDERS: tuple[Order, ...] = get_args(Order)
NO_FATES: Mapping[str, FateName] = MappingProxyType({})
NARROW, NAMED, ROOMY, WIDE = 62, 72, 80, 92
"""Widths of a row in digits. Below `NARROW`, a row has no tool, badges or bar. Above `NAMED`, the name of a tool is
not truncated; above `ROOMY`, there are sizes and several badges; above `WIDE`, the bar is long."""
EDGE, GAP = 8, 10
"""Pixels at the left and right end of a row, and between its columns."""
NUMBER, LEAST_TOOL, SIZE, TOKENS = 5, 7, 11, 7
"""Widths of columns in digits: message number, short tool name, size in words, tokens."""
SHORT_BAR, LONG_BAR, BAR_HEIGHT = 48, 68, 6
"""Widths of the bar and its height in pixels."""


@dataclass(frozen=True, slots=True)
class BufferRow:
    """The content of a row of the list."""

    number: int
    """Position in the buffer, from 0."""
    message: Message
    row: MessageRow
    tokens: int
    fresh: bool
    """Is the message missing in the buffer of the previous request?"""
    fate: FateName = "kept"
    """What the steps taken did to the message, compared with the recorded buffer."""


class BufferModel(PaintedModel):
    """The rows of the buffer, computed when painted and cached until the thread changes."""

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
        """Converts estimated tokens to those of the gauge at the playhead."""
        self._rows: dict[int, tuple[Message, MessageRow]] = {}
        """The computed row of each message, by `id()` of the message, which is kept so that its id is not reused."""
        self._fates: Mapping[str, FateName] = {}

    def use(self, calls: CallIndex, estimator: Estimator, is_growth: bool) -> bool:
        """Use these calls and this estimator for the rows from now on.

        Args:
            calls: The calls of the thread.
            estimator: Counts the tokens of the messages.
            is_growth: The previous thread has only got more messages.

        Returns:
            True if the cached rows were dropped: for another thread, or if paths are now relative to another folder.
        """
        is_other = not is_growth or calls.folder != self._calls.folder
        if is_other:
            self._rows.clear()
        self._calls = calls
        self._estimator = estimator
        return is_other

    def show(
        self,
        messages: tuple[Message, ...],
        picked: Sequence[int] | None,
        fresh_from: int,
        fates: Mapping[str, FateName] = NO_FATES,
    ) -> None:
        """Show a buffer.

        Args:
            picked: ascending indices of the messages to show; None: all.
            fresh_from: number of the first message that the previous request did not contain.
            fates: what steps did to the messages that they changed, by message id.
        """
        self._fates = fates
        grown = self._growth_at_end(messages) if picked is None and self._picked is None else None
        self._fresh_from = fresh_from
        if grown is None:
            self.beginResetModel()
            self._messages = messages
            self._picked = picked
            self._shown = self._order_messages()
            self.endResetModel()
        elif grown:
            self._splice(messages, grown)
        else:
            self._messages = messages

    def _growth_at_end(self, messages: tuple[Message, ...]) -> int | None:
        """Return by how many messages the buffer grew at its end (negative: shrank); None: it changed elsewhere."""
        old = self._messages
        shorter = min(len(self._messages), len(messages))
        if self._order == "Largest first" or not shorter:
            return None
        is_same = all(map(is_, old[:shorter], messages[:shorter]))
        return len(messages) - len(old) if is_same else None

    def _splice(self, messages: tuple[Message, ...], grown: int) -> None:
        """Insert or remove the rows at the end of the buffer."""
        shorter = min(len(self._messages), len(messages))
        first = 0 if self._order == "Newest first" else shorter
        last = first + abs(grown) - 1
        begin, end = self.beginInsertRows, self.endInsertRows
        if grown < 0:
            begin, end = self.beginRemoveRows, self.endRemoveRows
        begin(TOP, first, last)
        self._messages = messages
        self._shown = self._order_messages()
        end()

    def arrange(self, order: Order) -> None:
        """Sort the rows in another order."""
        self.beginResetModel()
        self._order = order
        self._shown = self._order_messages()
        self.endResetModel()

    def _order_messages(self) -> Sequence[int]:
        chosen = range(len(self._messages)) if self._picked is None else self._picked
        match self._order:
            case "Oldest first":
                return chosen
            case "Newest first":
                return chosen[::-1]
            case "Largest first":
                return sorted(chosen, key=lambda index: -self.tokens(self._messages[index]))

    def tokens(self, message: Message) -> int:
        """Return the tokens of a message, scaled to the total that the gauge shows."""
        return self.scale.rows(count(self._estimator, message)) if self._estimator else 0

    def place_of(self, message_id: str, near: int = -1) -> int:
        """Return the row of a message; -1 if it has none. O(rows), unless it is the first row, the last or `near`."""
        for likely in (0, near, len(self._shown) - 1):
            if 0 <= likely < len(self._shown) and self.message_at(likely).id == message_id:
                return likely
        return next(
            (
                index
                for index, message_index in enumerate(self._shown)
                if self._messages[message_index].id == message_id
            ),
            -1,
        )

    def message_at(self, place: int) -> Message:
        """Return the message of a row."""
        return self._messages[self._shown[place]]

    def row_at(self, place: int) -> BufferRow:
        number = self._shown[place]
        message = self._messages[number]
        cached = self._rows.get(id(message))
        if cached is None:
            cached = self._rows[id(message)] = message, message_row(message, self._calls)
        is_fresh = number >= self._fresh_from
        fate = self._fates.get(message.id, "kept")
        return BufferRow(
            number, message, row=cached[1], tokens=self.tokens(message), fresh=is_fresh, fate=fate
        )

    def size(self) -> int:
        return len(self._shown)

    def words_at(self, place: int) -> str:
        row = self.row_at(place)
        content = row.row
        fate = "" if row.fate == "kept" else row.fate
        words = (str(row.number), fate, content.role, content.tool, *content.badges, content.text)
        return " ".join(word for word in words if word) + f", {grouped(row.tokens)} tokens"


class BufferDelegate(PaintedRow):
    """Paints number, role, tool, subject, badges, size, bar and tokens of a message."""

    largest = 1
    """Tokens that fill the bar."""
    tool = 7
    """Width of the column of tools in digits."""
    _lettered = False
    has_two_lines = False
    """Is the text of a message painted below its subject instead of beside it?"""

    def height(self, metrics: QFontMetrics) -> int:
        """Return the height of a row in pixels."""
        return super().height(metrics) + (metrics.lineSpacing() if self.has_two_lines else 0)

    def letter(self, is_on: bool) -> None:
        """Show or hide the column of letters that say what steps did to a message."""
        if is_on != self._lettered:
            self._lettered = is_on
            self.forget()

    def columns(self, rect: QRect, metrics: QFontMetrics) -> "BufferColumns":
        """Return the rectangles of the columns in a row."""
        return buffer_columns(rect, metrics, self.tool, has_fates=self._lettered)

    def key(self, row: BufferRow) -> tuple[object, ...]:
        return id(row.message), row.number, row.tokens, row.fresh, row.fate

    def paint_row(
        self, painter: QPainter, rect: QRect, row: BufferRow, marked: int, colours: Colours
    ) -> None:
        metrics = painter.fontMetrics()
        top = rect.adjusted(0, 0, 0, -metrics.lineSpacing()) if self.has_two_lines else rect
        columns = self.columns(top, metrics)
        paint_text(
            painter, room=columns.number, text=str(row.number), colour=colours.quiet, how=RIGHT
        )
        self._paint_change(painter, rect, columns, row, colours)
        self._paint_role(painter, columns, row.row, colours)
        if columns.size is not None:
            paint_text(
                painter, room=columns.size, text=row.row.size, colour=colours.quiet, how=RIGHT
            )
        if columns.bar is not None:
            self._paint_bar(painter, room=QRectF(columns.bar), row=row, colours=colours)
        paint_text(
            painter, room=columns.tokens, text=grouped(row.tokens), colour=colours.text, how=RIGHT
        )
        subject = columns.subject
        right = self._paint_badges(
            painter, rect=top, right=subject.right(), row=row, colours=colours
        )
        room = subject.adjusted(0, 0, right - subject.right(), 0)
        if self.has_two_lines:
            below = QRect(subject.left(), 0, columns.tokens.right() - subject.left(), rect.height())
            below.setTop(top.bottom() - (top.height() - metrics.height()) // 2)
            paint_subject_above(
                painter,
                above=room,
                below=below,
                row=row.row,
                colour=colours.text,
                quiet=colours.quiet,
            )
        else:
            paint_subject(painter, room, row.row, colour=colours.text, quiet=colours.quiet)

    def _paint_change(
        self,
        painter: QPainter,
        rect: QRect,
        columns: "BufferColumns",
        row: BufferRow,
        colours: Colours,
    ) -> None:
        """Paint a strip at the left of a new or changed message, and the letter of its fate."""
        if row.fate != "kept":
            colour = fate_colour(colours, row.fate)
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(colour))
            if columns.fate is not None:
                paint_bold(painter, room=columns.fate, text=LETTERS[row.fate], colour=colour)
        elif row.fresh:
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(colours.accent))

    def _paint_role(
        self, painter: QPainter, columns: "BufferColumns", row: MessageRow, colours: Colours
    ) -> None:
        """Paint the role and the tool. Without a tool column, a result shows the name of its tool instead of a role."""
        tool = visible(row.tool).text
        name: str = row.role
        if columns.tool is not None:
            paint_text(painter, room=columns.tool, text=tool, colour=colours.quiet)
        elif tool and row.role == "result":
            name = tool
        paint_text(painter, room=columns.role, text=name, colour=role_colour(colours, row.role))

    def _paint_bar(self, painter: QPainter, room: QRectF, row: BufferRow, colours: Colours) -> None:
        """Paint a bar whose length is the share of the largest message's tokens."""
        top = room.center().y() - BAR_HEIGHT / 2
        bar = QRectF(room.left(), top, room.width(), BAR_HEIGHT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_rounded(painter, room=bar, colour=colours.faint, radius=BAR_HEIGHT / 2)
        if row.tokens:
            share = min(1.0, row.tokens / max(1, self.largest))
            bar.setWidth(max(float(BAR_HEIGHT), bar.width() * share))
            paint_rounded(
                painter,
                room=bar,
                colour=colours.categories[row.row.category],
                radius=BAR_HEIGHT / 2,
            )

    def _paint_badges(
        self, painter: QPainter, rect: QRect, right: int, row: BufferRow, colours: Colours
    ) -> int:
        """Paint the badges from right to left, and return the x coordinate of their left end."""
        digit = painter.fontMetrics().horizontalAdvance("0")
        if not row.row.badges or rect.width() < NARROW * digit:
            return right
        font = QFont(painter.font())
        normal = QFont(font)
        font.setPointSizeF(font.pointSizeF() * 0.86)
        painter.setFont(font)
        metrics = QFontMetrics(font)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        most = 3 if rect.width() > ROOMY * digit else 1
        height = metrics.height() + 2
        top = rect.center().y() - height / 2 + 0.5
        warning_colours = {"error": colours.high, "cleared": colours.low}
        for badge in reversed(row.row.badges[:most]):
            width = metrics.horizontalAdvance(badge) + 14
            chip = QRectF(right - width + 0.5, top, width, height)
            colour = warning_colours.get(badge, colours.quiet)
            painter.setPen(ink(warning_colours.get(badge, colours.line)))
            painter.drawRoundedRect(chip, height / 2, height / 2)
            painter.setPen(ink(colour))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, badge)
            right -= width + 6
        painter.setFont(normal)
        return right


@dataclass(frozen=True, slots=True)
class BufferColumns:
    """The rectangles of the columns of a row; None for a column that a narrow list leaves out."""

    number: QRect
    fate: QRect | None
    role: QRect
    tool: QRect | None
    subject: QRect
    size: QRect | None
    bar: QRect | None
    tokens: QRect


def buffer_columns(rect: QRect, metrics: QFontMetrics, tool: int, has_fates: bool) -> BufferColumns:
    """Return the rectangles of the columns of a row; the subject takes the remaining width.

    Args:
        tool: width of the tool column in digits.
        has_fates: True if there is a column for the letters of fates.
    """
    digit = metrics.horizontalAdvance("0")
    high = rect.height()
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
    return BufferColumns(
        number,
        fate,
        role,
        tool=names,
        subject=column(left, right - left),
        size=size,
        bar=bar,
        tokens=tokens,
    )


def buffer_heads(columns: BufferColumns) -> Iterable[ColumnHead]:
    """Yield the name of each column with its rectangle."""
    yield ColumnHead(columns.number, "#", RIGHT)
    yield ColumnHead(columns.role, "Role")
    if columns.tool is not None:
        yield ColumnHead(columns.tool, "Tool")
    yield ColumnHead(columns.subject, "Subject")
    if columns.size is not None:
        yield ColumnHead(columns.size, "Size", RIGHT)
    yield ColumnHead(columns.tokens, "Tokens", RIGHT)
