"""The rows of the buffer list: which messages, in which order. One column, so that the view asks once a row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from inspector.core.message import Message
from inspector.core.outcome import FateName
from inspector.core.tokens.estimators import Estimator, count
from inspector.core.tokens.prediction import UNSCALED
from inspector.gui.guard import Guarded
from inspector.gui.look.number_formats import grouped
from inspector.workbench.message_rows import MessageRow, row

Order: TypeAlias = Literal["newest first", "oldest first", "largest first"]
ORDERS: tuple[Order, ...] = get_args(Order)
Index: TypeAlias = QModelIndex | QPersistentModelIndex
TOP = QModelIndex()
NO_FATES: Mapping[str, FateName] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Line:
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


class BufferModel(Guarded, QAbstractTableModel):
    """Rows are worked out when they are painted, and kept as long as the thread stays the same."""

    LINE = Qt.ItemDataRole.UserRole

    def __init__(self) -> None:
        super().__init__()
        self._messages: tuple[Message, ...] = ()
        self._shown: Sequence[int] = ()
        self._order: Order = "newest first"
        self._picked: Sequence[int] | None = None
        self._fresh_from = 0
        self._tools: Mapping[str, str] = {}
        self._estimator: Estimator | None = None
        self.scale = UNSCALED
        """What a counted token weighs where we stand."""
        self._rows: dict[int, tuple[Message, MessageRow]] = {}
        self._fates: Mapping[str, FateName] = {}

    # -- what is shown -----------------------------------------------------------------------------------------------

    def forget(self, tools: Mapping[str, str], estimator: Estimator) -> None:
        """Another thread or estimator: nothing that was worked out holds any more."""
        self._rows.clear()
        self._tools, self._estimator = tools, estimator

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
        if grown is None or grown == 0:
            if grown is None:
                self.beginResetModel()
                self._messages, self._picked = messages, picked
                self._shown = self._arranged()
                self.endResetModel()
            else:
                self._messages = messages
            return
        self._splice(messages, grown)

    def _grown(self, messages: tuple[Message, ...]) -> int | None:
        """By how many messages the buffer grew or shrank at its end; None where it changed otherwise."""
        old, shorter = self._messages, min(len(self._messages), len(messages))
        if self._order == "largest first" or not shorter:
            return None
        same = all(map(_is, old[:shorter], messages[:shorter]))
        return len(messages) - len(old) if same else None

    def _splice(self, messages: tuple[Message, ...], grown: int) -> None:
        old, new = len(self._messages), len(messages)
        at = 0 if self._order == "newest first" else min(old, new)
        last = at + abs(grown) - 1
        if grown > 0:
            self.beginInsertRows(TOP, at, last)
        else:
            self.beginRemoveRows(TOP, at, last)
        self._messages = messages
        self._shown = self._arranged()
        if grown > 0:
            self.endInsertRows()
        else:
            self.endRemoveRows()

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

    # -- asking ------------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole buffer."""
        return self._messages

    def place_of(self, message_id: str, near: int = -1) -> int:
        """The row that shows this message, -1 for none. O(rows) unless it is the first or `near`."""
        for likely in (0, near):
            if 0 <= likely < len(self._shown) and self.message_at(likely).id == message_id:
                return likely
        return next((n for n, at in enumerate(self._shown) if self._messages[at].id == message_id), -1)

    def message_at(self, place: int) -> Message:
        """The message in this row."""
        return self._messages[self._shown[place]]

    def line(self, place: int) -> Line:
        """What the row at `place` shows."""
        number = self._shown[place]
        message = self._messages[number]
        known = self._rows.get(id(message))
        if known is None:  # the message is kept with it, so that its id is not used again
            known = self._rows[id(message)] = message, row(message, self._tools)
        fate = self._fates.get(message.id, "kept")
        return Line(number, message, known[1], self.tokens(message), number >= self._fresh_from, fate)

    # -- Qt ----------------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = TOP) -> int:
        """One a message."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = TOP) -> int:
        """One."""
        return 0 if parent.isValid() else 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The Line for the delegate; words for those who listen."""
        if not index.isValid() or not 0 <= index.row() < len(self._shown):
            return None
        if role == self.LINE:
            return self.line(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            line = self.line(index.row())
            fate = "" if line.fate == "kept" else line.fate
            words: Iterable[str] = (
                str(line.number),
                fate,
                line.row.role,
                line.row.tool,
                *line.row.badges,
                line.row.line,
            )
            return " ".join(word for word in words if word) + f", {grouped(line.tokens)} tokens"
        return None


def _is(one: Message, other: Message) -> bool:
    return one is other
