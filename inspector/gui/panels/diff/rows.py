"""The rows of the diff: one line for each message with its tokens before, the letter of its fate, and its tokens after.

Consecutive messages that are left out share one row. A change is shown by the letter and a bold number, not by a
background colour.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect
from PySide6.QtGui import QFontMetrics, QPainter

from inspector.core.diff import DiffRow
from inspector.core.message import Message
from inspector.core.words import plural
from inspector.gui.look.colours import Colours, fate_colour, ink, role_colour
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.visible import visible
from inspector.gui.widgets.painted import (
    CENTRE,
    CHOSEN,
    RIGHT,
    ColumnHead,
    PaintedModel,
    PaintedRow,
    paint_bold,
    paint_subject,
    paint_text,
    role_width,
)
from inspector.workbench.diff import FATES, LETTERS, Diff, Listing
from inspector.workbench.message_rows import NO_CALLS, MessageRow, message_row

ROOMY = 64
"""Width in digits from which role and tool have a column each."""
LEAST, MOST = 9, 15
"""Least and most width of the tool column in digits."""
EDGE, GAP = 8, 10
"""Pixels at the left and right end of a row, and between its columns."""
NUMBER, TOKENS = 4, 7
"""Widths in digits of the column of message numbers and of the columns of tokens."""


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A message on one side of the comparison."""

    number: int
    """Position in that side's buffer, from 0."""
    row: MessageRow
    tokens: int


@dataclass(frozen=True, slots=True)
class DiffLine:
    """The content of one row: a message (`of` and at least one side), or messages left out (described by `out`).

    The row shows the rows of the comparison from `start` to `end` (exclusive).
    """

    start: int
    end: int
    of: DiffRow | None = None
    before: DiffSide | None = None
    after: DiffSide | None = None
    out: str = ""


class DiffModel(PaintedModel):
    """The rows of a comparison, computed when painted and cached until the comparison changes."""

    def __init__(self) -> None:
        super().__init__()
        self.listing: Listing | None = None
        self._lines: dict[tuple[int, int], DiffLine] = {}

    @property
    def comparison(self) -> Diff | None:
        """The comparison shown; None if there is none yet."""
        return self.listing.comparison if self.listing else None

    def show(self, listing: Listing | None) -> None:
        self.beginResetModel()
        if listing is None or listing.comparison is not self.comparison:
            self._lines.clear()
        self.listing = listing
        self.endResetModel()

    def open(self, place: int) -> None:
        if self.listing is not None:
            self.show(self.listing.opened(place))

    @property
    def listed(self) -> Sequence[tuple[int, int]]:
        """(start, end) of each row: the rows of the comparison that it shows, `end` exclusive."""
        return self.listing.rows if self.listing else ()

    def row_at(self, place: int) -> DiffLine:
        stretch = self.listed[place]
        cached = self._lines.get(stretch)
        if cached is None:
            cached = self._lines[stretch] = self._make_line(*stretch)
        return cached

    def place_of(self, message_id: str) -> int:
        """Return the row that shows a message; -1 if there is none or the message is left out. O(log rows)."""
        place = self.comparison.places.get(message_id, -1) if self.comparison else -1
        if place < 0:
            return -1
        low = bisect_right(self.listed, place, key=lambda stretch: stretch[1])
        start, end = self.listed[low]
        return low if end - start == 1 else -1

    def change_after(self, place: int, steps: int) -> int:
        """Return the row at which the next change (or with `steps` -1 the previous one) begins; -1 if there is none."""
        beginnings = self.listing.changes if self.listing else ()
        if steps > 0:
            return next((beginning for beginning in beginnings if beginning > place), -1)
        return next((beginning for beginning in reversed(beginnings) if beginning < place), -1)

    def _make_line(self, start: int, end: int) -> DiffLine:
        comparison = self.comparison
        assert comparison is not None
        if end - start > 1:
            return DiffLine(start, end, out=_left_out_words(comparison, comparison.rows[start:end]))
        diff_row = comparison.rows[start]
        before = self._side(diff_row.fate.before, comparison.before[start], diff_row.tokens_before)
        after = self._side(diff_row.fate.after, comparison.after[start], diff_row.tokens_after)
        return DiffLine(start, end, diff_row, before, after)

    def _side(self, message: Message | None, number: int, tokens: int) -> DiffSide | None:
        calls = self.comparison.calls if self.comparison else NO_CALLS
        return None if message is None else DiffSide(number, message_row(message, calls), tokens)

    def size(self) -> int:
        return len(self.listed)

    def words_at(self, place: int) -> str:
        line = self.row_at(place)
        fate = self.comparison.sides.words[line.of.fate.name] if self.comparison and line.of else ""
        return diff_row_text(line, fate)


def diff_row_text(line: DiffLine, fate: str) -> str:
    """Return the text of a row for screen readers. `fate` is the name of its fate in this comparison."""
    if line.of is None:
        return line.out
    side = line.before or line.after
    assert side is not None
    parts = (str(side.number), side.row.role, side.row.tool, side.row.text)
    tokens = f"{grouped(line.of.tokens_before)} to {grouped(line.of.tokens_after)} tokens"
    return f"{fate}: {' '.join(word for word in parts if word)}, {tokens}"


def _left_out_words(comparison: Diff, rows: Sequence[DiffRow]) -> str:
    """Return `143 kept · 41,200 tokens` or `12 summarised, 3 cleared · −9,100 tokens`."""
    counts = Counter(row.fate.name for row in rows)
    text = ", ".join(
        f"{grouped(counts[name])} {comparison.sides.words[name]}" for name in FATES if counts[name]
    )
    if set(counts) == {"kept"}:
        return f"{text} · {plural(sum(row.tokens_after for row in rows), 'token')}"
    return f"{text} · {signed(sum(row.delta for row in rows if row.fate.name != 'kept'))} tokens"


class DiffDelegate(PaintedRow):
    """Paints a row of the comparison."""

    tool = LEAST
    """Width of the tool column in digits."""

    def name_tools(self, names: Iterable[str]) -> None:
        """Fit the width of the tool column to the names of the tools in the next rows."""
        if (room := min(MOST, max([LEAST, *(len(name) + 1 for name in names)]))) != self.tool:
            self.tool = room
            self.forget()

    def paint_row(
        self, painter: QPainter, rect: QRect, row: DiffLine, marked: int, colours: Colours
    ) -> None:
        if row.of is None:
            painter.setPen(ink(colours.quiet))
            painter.drawText(rect, CENTRE, f"⋯   {row.out}   ⋯")
        else:
            self._paint_message(painter, rect, row, row.of, marked, colours)
        if marked == CHOSEN:
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(colours.accent))

    def _paint_message(
        self,
        painter: QPainter,
        rect: QRect,
        row: DiffLine,
        diff_row: DiffRow,
        marked: int,
        colours: Colours,
    ) -> None:
        """Paint the message of the side after or, if there is none, that of the side before."""
        columns = diff_columns(rect, painter.fontMetrics(), self.tool)
        side = row.after or row.before
        assert side is not None
        is_changed = diff_row.fate.name != "kept"
        colour = colours.text if is_changed else colours.quiet
        painter.setPen(ink(colours.quiet))
        painter.drawText(columns.number, RIGHT, str(side.number))
        role = side.row.role
        tool = visible(side.row.tool).text
        first = role if columns.tool is not None or role != "result" else tool or role
        paint_text(painter, room=columns.role, text=first, colour=role_colour(colours, role))
        if columns.tool is not None:
            paint_text(painter, room=columns.tool, text=tool, colour=colours.quiet)
        paint_subject(
            painter, room=columns.subject, row=side.row, colour=colour, quiet=colours.quiet
        )
        if row.before is not None:
            paint_text(
                painter,
                room=columns.before,
                text=grouped(diff_row.tokens_before),
                colour=colour,
                how=RIGHT,
            )
        paint_bold(
            painter,
            room=columns.fate,
            text=LETTERS[diff_row.fate.name],
            colour=fate_colour(colours, diff_row.fate.name),
        )
        if row.after is not None:
            paint = paint_bold if is_changed else paint_text
            paint(painter, columns.after, grouped(diff_row.tokens_after), colour, RIGHT)


@dataclass(frozen=True, slots=True)
class DiffColumns:
    """The rectangles of the columns of a row.

    `tool` is None in a narrow row, in which a result shows the name of its tool instead of its role.
    """

    number: QRect
    role: QRect
    tool: QRect | None
    subject: QRect
    before: QRect
    fate: QRect
    after: QRect


def diff_columns(rect: QRect, metrics: QFontMetrics, tool: int) -> DiffColumns:
    """Return the rectangles of the columns; the subject takes the remaining width.

    Args:
        tool: width of the tool column in digits.
    """
    digit = metrics.horizontalAdvance("0")
    high = rect.height()

    def column(left: int, width: int) -> QRect:
        return QRect(left, rect.top(), max(0, width), high)

    number = column(rect.left() + EDGE, NUMBER * digit)
    role = column(number.right() + GAP, role_width(metrics))
    is_roomy = rect.width() >= ROOMY * digit
    names = column(role.right() + GAP, tool * digit) if is_roomy else None
    after = column(rect.right() - EDGE - TOKENS * digit, TOKENS * digit)
    letter = metrics.horizontalAdvance("S") + 4
    fate = column(after.left() - letter, letter)
    before = column(fate.left() - GAP - TOKENS * digit, TOKENS * digit)
    left = (names or role).right() + GAP
    return DiffColumns(
        number,
        role,
        tool=names,
        subject=column(left, before.left() - GAP - left),
        before=before,
        fate=fate,
        after=after,
    )


def diff_heads(columns: DiffColumns) -> Iterable[ColumnHead]:
    """Yield the name of each column with its rectangle."""
    yield ColumnHead(columns.number, "#", RIGHT)
    yield ColumnHead(columns.role, "Role")
    if columns.tool is not None:
        yield ColumnHead(columns.tool, "Tool")
    yield ColumnHead(columns.subject, "Subject")
    yield ColumnHead(columns.before, "Before", RIGHT)
    yield ColumnHead(columns.after, "After", RIGHT)
