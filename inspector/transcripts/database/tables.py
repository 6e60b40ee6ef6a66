"""The tables of a database by name: their columns, and their rows by the value of one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspector.core.errors import NothingToRead
from inspector.transcripts.database.pages import Pages
from inspector.transcripts.database.records import Value, column_names
from inspector.transcripts.database.trees import Cell, Trees


@dataclass(frozen=True, slots=True)
class Table:
    """Where a table lies, and what its columns are called."""

    root: int
    columns: tuple[str, ...]
    indexes: tuple[tuple[str, int], ...] = ()
    """(first column, root) of its indexes."""

    def places(self, names: Iterable[str]) -> list[int]:
        """Where these columns stand; those that the table does not have stand behind all others."""
        return [self.columns.index(name) if name in self.columns else len(self.columns) for name in names]


class Tables:
    """The tables of one database, at one moment: see `Pages.reading`."""

    def __init__(self, path: Path) -> None:
        self.pages = Pages(path)
        self.trees = Trees(self.pages)
        self._found: dict[str, Table] = {}

    def look(self, changed: set[int] | None) -> None:
        """These pages were written since the last look."""
        self.trees.forget(changed)
        if changed is None or 1 in changed or not self._found:
            self._found = self._read()

    def has(self, *names: str) -> bool:
        """Are there tables of these names?"""
        return all(name in self._found for name in names)

    def table(self, name: str) -> Table:
        """The table. Raises NothingToRead."""
        if name not in self._found:
            raise NothingToRead(f"{self.pages.path} has no table {name!r}")
        return self._found[name]

    def _read(self) -> dict[str, Table]:
        if self.pages.page(1)[56:60] not in (b"\0\0\0\0", b"\0\0\0\1"):
            raise NothingToRead(f"{self.pages.path} holds its texts as UTF-16, which is not read")
        tables: dict[str, tuple[int, str]] = {}
        indexes: list[tuple[str, str, int]] = []
        for _, cell in self.trees.rows(1):
            kind, name, on, root, sql = cell.columns(range(5))
            if not isinstance(root, int) or not isinstance(sql, str) or not root:
                continue  # a view, a virtual table, an index that SQLite made by itself
            if kind == "table":
                tables[str(name)] = (root, sql)
            elif kind == "index" and " where " not in sql.lower() and (of := column_names(_behind_on(sql))):
                indexes.append((str(on), of[0], root))
        return {
            name: Table(root, tuple(column_names(sql)), tuple((first, at) for on, first, at in indexes if on == name))
            for name, (root, sql) in tables.items()
            if not sql.rstrip().lower().endswith("without rowid")
        }

    def where(self, name: str, column: str, values: Sequence[str]) -> Iterator[tuple[int, Cell]]:
        """Number and cell of the rows whose column is one of these, by the table's own index where it has one."""
        table = self.table(name)
        root = next((root for first, root in table.indexes if first == column), None)
        if root is not None:
            numbers = sorted({number for value in values for number in self.trees.numbers(root, value)})
            yield from self.trees.rows(table.root, numbers)
            return
        places, sought = table.places([column]), set(values)
        for number, cell in self.trees.rows(table.root):
            if cell.columns(places)[0] in sought:
                yield number, cell

    def read(self, name: str, cell: Cell) -> dict[str, Value]:
        """All columns of a row."""
        names = self.table(name).columns
        return dict(zip(names, cell.columns(range(len(names))), strict=True))


def _behind_on(sql: str) -> str:
    """The columns of a CREATE INDEX: what stands in the parentheses at its end."""
    return sql[sql.rfind("(") :] if "(" in sql else ""
