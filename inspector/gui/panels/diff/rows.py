"""The rows of the diff: before on the left, after on the right, the fate and the difference in tokens between them;
what is left out is one row a stretch."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect
from PySide6.QtGui import QFontMetrics, QPainter

from inspector.core.diff import DiffRow
from inspector.core.message import Message
from inspector.core.words import plural
from inspector.gui.look.colours import Colours, fate_colour, grounds, ink, role_colour
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.visible import visible
from inspector.gui.widgets.painted import (
    CENTRE,
    CHOSEN,
    RIGHT,
    PaintedModel,
    PaintedRow,
    paint_bold,
    paint_subject,
    paint_text,
)
from inspector.workbench.diff import FATES, LETTERS, Diff, Listing
from inspector.workbench.message_rows import NO_CALLS, MessageRow, row

ROOMY = 56
"""Figures of a side from which role and tool have a column each."""
NARROW = 36
"""Figures of a side below which a row is one line instead of two sides: their texts could not be read."""
LEAST, MOST, TEXT = 9, 15, 13
"""Figures of room for the name of a tool; and for the text beside it, at least."""


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A message as it stands on one side."""

    number: int
    """Position in that side's buffer, from 0."""
    row: MessageRow
    tokens: int


@dataclass(frozen=True, slots=True)
class DiffLine:
    """What one row shows: a message (`of` and one side at least), or a stretch that is left out (`out` says what)."""

    start: int
    end: int
    of: DiffRow | None = None
    before: DiffSide | None = None
    after: DiffSide | None = None
    out: str = ""


class DiffModel(PaintedModel):
    """Rows are worked out when they are painted, and kept as long as the comparison stays the same."""

    def __init__(self) -> None:
        super().__init__()
        self.listing: Listing | None = None
        self._lines: dict[tuple[int, int], DiffLine] = {}

    @property
    def comparison(self) -> Diff | None:
        """What is shown."""
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
        """(start, end) of each row."""
        return self.listing.rows if self.listing else ()

    def row_at(self, place: int) -> DiffLine:
        stretch = self.listed[place]
        known = self._lines.get(stretch)
        if known is None:
            known = self._lines[stretch] = self._worked_out(*stretch)
        return known

    def place_of(self, message_id: str) -> int:
        """Where this message is shown, -1 where it is not, or is left out. O(log rows)."""
        at = self.comparison.places.get(message_id, -1) if self.comparison else -1
        if at < 0:
            return -1
        low = bisect_right(self.listed, at, key=lambda stretch: stretch[1])
        start, end = self.listed[low]
        return low if end - start == 1 else -1

    def change_after(self, place: int, steps: int) -> int:
        """Where the next change begins (or with -1 the one before), -1 for none."""
        beginnings = self.listing.changes if self.listing else ()
        if steps > 0:
            return next((at for at in beginnings if at > place), -1)
        return next((at for at in reversed(beginnings) if at < place), -1)

    def _worked_out(self, start: int, end: int) -> DiffLine:
        comparison = self.comparison
        assert comparison is not None
        if end - start > 1:
            return DiffLine(start, end, out=_left_out(comparison, comparison.rows[start:end]))
        of = comparison.rows[start]
        before = self._side(of.fate.before, comparison.before[start], of.tokens_before)
        after = self._side(of.fate.after, comparison.after[start], of.tokens_after)
        return DiffLine(start, end, of, before, after)

    def _side(self, message: Message | None, number: int, tokens: int) -> DiffSide | None:
        calls = self.comparison.calls if self.comparison else NO_CALLS
        return None if message is None else DiffSide(number, row(message, calls), tokens)

    def size(self) -> int:
        return len(self.listed)

    def words_at(self, place: int) -> str:
        line = self.row_at(place)
        fate = self.comparison.sides.words[line.of.fate.name] if self.comparison and line.of else ""
        return words(line, fate)


def words(line: DiffLine, fate: str) -> str:
    """A row as it is read out. `fate`: what its fate is called here."""
    if line.of is None:
        return line.out
    side = line.before or line.after
    assert side is not None
    parts = (str(side.number), side.row.role, side.row.tool, side.row.text)
    tokens = f"{grouped(line.of.tokens_before)} to {grouped(line.of.tokens_after)} tokens"
    return f"{fate}: {' '.join(word for word in parts if word)}, {tokens}"


def _left_out(comparison: Diff, rows: Sequence[DiffRow]) -> str:
    """`143 kept · 41,200 tokens`, `12 summarised, 3 cleared · −9,100`."""
    counts = Counter(row.fate.name for row in rows)
    text = ", ".join(f"{grouped(counts[name])} {comparison.sides.words[name]}" for name in FATES if counts[name])
    if set(counts) == {"kept"}:
        return f"{text} · {plural(sum(row.tokens_after for row in rows), 'token')}"
    return f"{text} · {signed(sum(row.delta for row in rows if row.fate.name != 'kept'))} tokens"


class DiffDelegate(PaintedRow):
    """One row of the diff."""

    tool = LEAST
    """Figures of room for the name of a tool."""

    def name_tools(self, names: Iterable[str]) -> None:
        """The rows that come have these tools."""
        if (room := min(MOST, max([LEAST, *(len(name) + 1 for name in names)]))) != self.tool:
            self.tool = room
            self.forget()

    def height(self, metrics: QFontMetrics) -> int:
        return metrics.height() + 5

    def paint_row(self, painter: QPainter, rect: QRect, row: DiffLine, marked: int, c: Colours) -> None:
        if row.of is None:
            painter.setPen(ink(c.quiet))
            painter.drawText(rect, CENTRE, f"⋯   {row.out}   ⋯")
        else:
            self._paint_message(painter, rect, row, row.of, marked, c)
        if marked == CHOSEN:
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(c.accent))

    def _paint_message(
        self, painter: QPainter, rect: QRect, row: DiffLine, of: DiffRow, marked: int, c: Colours
    ) -> None:
        metrics = painter.fontMetrics()
        middle = metrics.horizontalAdvance("S  −000,000") + 18
        half = (rect.width() - middle) // 2
        if half < NARROW * metrics.horizontalAdvance("0"):
            self._paint_narrow(painter, rect, row, of, marked, c)
            return
        left, right = QRect(0, 0, half, rect.height()), QRect(half + middle, 0, half, rect.height())
        changed = of.fate.name != "kept"
        if changed and not marked:
            was, now = grounds(c.window, c.high, c.good)
            for side, room, ground in ((row.before, left, was), (row.after, right, now)):
                painter.fillRect(room.adjusted(0, 0, 0, -1), ground if side else ink(c.faint))
        colour = c.text if changed else c.quiet
        for one, room in ((row.before, left), (row.after, right)):
            if one is not None:
                self._paint_side(painter, room, one, colour, c)
        self._paint_fate(painter, QRect(half, 0, middle, rect.height()), of, c)

    def _paint_narrow(
        self, painter: QPainter, rect: QRect, row: DiffLine, of: DiffRow, marked: int, c: Colours
    ) -> None:
        """One line for both sides: the fate, the message as it is now, or was, and what it counted before and after."""
        changed = of.fate.name != "kept"
        if changed and not marked:
            was, now = grounds(c.window, c.high, c.good)
            ground = now if row.before is None else was if row.after is None else ink(c.faint)
            painter.fillRect(rect.adjusted(0, 0, 0, -1), ground)
        wide = painter.fontMetrics().horizontalAdvance("S") + 12
        paint_bold(painter, QRect(9, 0, wide, rect.height()), LETTERS[of.fate.name], fate_colour(c, of.fate.name))
        side = row.after or row.before
        assert side is not None
        tokens = (
            grouped(side.tokens)
            if row.before is None or row.after is None or not of.delta or not changed
            else (f"{grouped(of.tokens_before)} → {grouped(of.tokens_after)}")
        )
        self._paint_side(painter, rect.adjusted(wide, 0, 0, 0), side, c.text if changed else c.quiet, c, tokens)

    def _paint_side(
        self, painter: QPainter, room: QRect, side: DiffSide, colour: str, c: Colours, tokens: str = ""
    ) -> None:
        """Number, role, tool, first line, tokens."""
        metrics = painter.fontMetrics()
        digit, high, x = metrics.horizontalAdvance("0"), room.height(), room.left() + 8
        painter.setPen(ink(c.quiet))
        painter.drawText(QRect(x, 0, 4 * digit, high), RIGHT, str(side.number))
        x += 4 * digit + 9
        right = room.right() - 8
        painter.setPen(ink(colour))
        tokens, roomy = tokens or grouped(side.tokens), room.width() >= ROOMY * digit
        width = max(metrics.horizontalAdvance(tokens), 4 * digit)
        painter.drawText(QRect(right - width, 0, width, high), RIGHT, tokens)
        role, tool = side.row.role, visible(side.row.tool).text
        who = metrics.horizontalAdvance("assistant") + 10
        if not roomy:
            spare = right - max(width, 7 * digit) - x - TEXT * digit
            who = max(who, min(spare, self.tool * digit))  # a result's row has its tool's name there
        first = role if roomy or role != "tool" else tool or role
        paint_text(painter, QRect(x, 0, min(who - 6, right - width - 6 - x), high), first, role_colour(c, role))
        x += who
        if roomy:
            paint_text(painter, QRect(x, 0, (self.tool - 1) * digit, high), tool, c.quiet)
            x += self.tool * digit
        paint_subject(painter, QRect(x, 0, right - width - 8 - x, high), side.row, colour, c.quiet)

    def _paint_fate(self, painter: QPainter, room: QRect, of: DiffRow, c: Colours) -> None:
        paint_bold(painter, room.adjusted(9, 0, 0, 0), LETTERS[of.fate.name], fate_colour(c, of.fate.name))
        if of.delta and of.fate.name != "kept":
            painter.setPen(ink(c.quiet))
            painter.drawText(room.adjusted(0, 0, -9, 0), RIGHT, signed(of.delta))
