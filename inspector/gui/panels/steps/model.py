"""The rows of the tree of steps. A name can be edited; nothing else."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, Qt

from inspector.gui.guard import Guarded
from inspector.gui.look.number_formats import grouped
from inspector.gui.panels.buffer.model import TOP, Index
from inspector.workbench.steps import ORIGIN, Branches, StepRow, branches


class StepsModel(Guarded, QAbstractTableModel):
    """`here`: the step we stand at; `against`: the one that we compare with, where it was chosen."""

    ROW = Qt.ItemDataRole.UserRole

    def __init__(self, rename: Callable[[int, str], None]) -> None:
        super().__init__()
        self._rename = rename
        self.rows: Sequence[StepRow] = ()
        self.branches: Sequence[Branches] = ()
        self.here, self.against = ORIGIN, -2

    def show(self, rows: Sequence[StepRow], here: int, against: int | None) -> None:
        """Only what is new is told: a name that is being edited stays open."""
        against = -2 if against is None else against
        if [row.at for row in rows] == [row.at for row in self.rows]:
            self.rows, self.here, self.against = rows, here, against
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, 0))
            return
        self.beginResetModel()
        self.rows, self.here, self.against = rows, here, against
        self.branches = branches(rows)
        self.endResetModel()

    def place_of(self, at: int) -> int:
        """The row of a step, -1 for none."""
        return next((n for n, row in enumerate(self.rows) if row.at == at), -1)

    def rowCount(self, parent: Index = TOP) -> int:
        """One a step, and one for the recorded buffer."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = TOP) -> int:
        """One."""
        return 0 if parent.isValid() else 1

    def flags(self, index: Index) -> Qt.ItemFlag:
        """The recorded buffer has no name of its own."""
        flags = super().flags(index)
        if index.isValid() and self.rows[index.row()].at != ORIGIN:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The StepRow for the delegate, the name for the editor, words for those who listen."""
        if not index.isValid() or not 0 <= index.row() < len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == self.ROW:
            return row
        if role == Qt.ItemDataRole.EditRole:
            return row.name
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return words(row, row.at == self.here)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A new name, if it is one."""
        name = str(value).strip()
        row = self.rows[index.row()]
        if not name or name == row.name:
            return False
        self._rename(row.at, name)
        return True


def words(row: StepRow, here: bool) -> str:
    """A row as it is read out."""
    standing = ", we stand here" if here else ""
    if row.before is None:
        return f"{row.name}, {grouped(row.tokens)} tokens{standing}"
    told = f"step {row.at + 1}, {row.name}, {grouped(row.before)} to {grouped(row.tokens)} tokens, {facts(row)}"
    return told + standing


def facts(row: StepRow) -> str:
    """`L0 + L1 · succeeded · offline`; the tier is not told again where the step is named after it."""
    if row.succeeded:
        ended = "succeeded" if row.fired else "did nothing"
    else:
        ended = row.error.replace("_", " ") or "nothing to compact"
    fired = " + ".join(row.fired)
    told = ["" if fired == row.name else fired, ended, ", ".join(row.answered)]
    return " · ".join(word for word in told if word)
