"""The rows of the diff: both sides of a message in one row, what is left out in one row a stretch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from inspector.core.diff import DiffRow
from inspector.core.message import Message
from inspector.gui.guard import Guarded
from inspector.gui.look.number_formats import grouped, plural, signed
from inspector.workbench.diff import FATES, Diff, Listing
from inspector.workbench.message_rows import MessageRow, row

Index: TypeAlias = QModelIndex | QPersistentModelIndex
TOP = QModelIndex()


@dataclass(frozen=True, slots=True)
class Side:
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
    before: Side | None = None
    after: Side | None = None
    out: str = ""


class DiffModel(Guarded, QAbstractTableModel):
    """Rows are worked out when they are painted, and kept as long as the comparison stays the same."""

    LINE = Qt.ItemDataRole.UserRole

    def __init__(self) -> None:
        super().__init__()
        self.listing: Listing | None = None
        self._lines: dict[tuple[int, int], DiffLine] = {}

    @property
    def comparison(self) -> Diff | None:
        """What is shown."""
        return self.listing.comparison if self.listing else None

    # -- what is shown -----------------------------------------------------------------------------------------------

    def show(self, listing: Listing | None) -> None:
        """These rows."""
        self.beginResetModel()
        if listing is None or listing.comparison is not self.comparison:
            self._lines.clear()
        self.listing = listing
        self.endResetModel()

    def open(self, place: int) -> None:
        """Show the rows of the stretch that is left out at `place`."""
        if self.listing is not None:
            self.show(self.listing.opened(place))

    @property
    def listed(self) -> Sequence[tuple[int, int]]:
        """(start, end) of each row."""
        return self.listing.rows if self.listing else ()

    # -- asking ------------------------------------------------------------------------------------------------------

    def line(self, place: int) -> DiffLine:
        """What the row at `place` shows."""
        stretch = self.listed[place]
        known = self._lines.get(stretch)
        if known is None:
            known = self._lines[stretch] = self._made(*stretch)
        return known

    def place_of(self, message_id: str) -> int:
        """Where this message is shown, -1 where it is not, or is left out. O(log rows)."""
        at = self.comparison.places.get(message_id, -1) if self.comparison else -1
        if at < 0:
            return -1
        low, high = 0, len(self.listed)
        while low < high:
            middle = (low + high) // 2
            if self.listed[middle][1] <= at:
                low = middle + 1
            else:
                high = middle
        start, end = self.listed[low]
        return low if end - start == 1 else -1

    def change_after(self, place: int, steps: int) -> int:
        """Where the next change begins (or with -1 the one before), -1 for none."""
        beginnings = self.listing.changes if self.listing else ()
        if steps > 0:
            return next((at for at in beginnings if at > place), -1)
        return next((at for at in reversed(beginnings) if at < place), -1)

    def _made(self, start: int, end: int) -> DiffLine:
        comparison = self.comparison
        assert comparison is not None
        if end - start > 1:
            return DiffLine(start, end, out=_left_out(comparison.rows[start:end]))
        of = comparison.rows[start]
        before = self._side(of.fate.before, comparison.before[start], of.tokens_before)
        after = self._side(of.fate.after, comparison.after[start], of.tokens_after)
        return DiffLine(start, end, of, before, after)

    def _side(self, message: Message | None, number: int, tokens: int) -> Side | None:
        return (
            None
            if message is None
            else Side(number, row(message, self.comparison.tools if self.comparison else {}), tokens)
        )

    # -- Qt ----------------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = TOP) -> int:
        """One a message or stretch."""
        return 0 if parent.isValid() else len(self.listed)

    def columnCount(self, parent: Index = TOP) -> int:
        """One: both sides are painted in one go."""
        return 0 if parent.isValid() else 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The DiffLine for the delegate; words for those who listen."""
        if not index.isValid() or not 0 <= index.row() < len(self.listed):
            return None
        if role == self.LINE:
            return self.line(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return words(self.line(index.row()))
        return None


def words(line: DiffLine) -> str:
    """A row as it is read out."""
    if line.of is None:
        return line.out
    side = line.before or line.after
    assert side is not None
    told = (str(side.number), side.row.role, side.row.tool, side.row.line)
    tokens = f"{grouped(line.of.tokens_before)} to {grouped(line.of.tokens_after)} tokens"
    return f"{line.of.fate.name}: {' '.join(word for word in told if word)}, {tokens}"


def _left_out(rows: Sequence[DiffRow]) -> str:
    """`143 kept · 41,200 tokens`, `12 summarised, 3 cleared · −9,100`."""
    counts = Counter(row.fate.name for row in rows)
    told = ", ".join(f"{grouped(counts[name])} {name}" for name in FATES if counts[name])
    if set(counts) == {"kept"}:
        return f"{told} · {plural(sum(row.tokens_after for row in rows), 'token')}"
    return f"{told} · {signed(sum(row.delta for row in rows))} tokens"
