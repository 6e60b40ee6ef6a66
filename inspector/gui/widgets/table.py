"""A calm table for the smaller lists: plain cells, whole rows, everything by keyboard, rows read only when painted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from inspector.gui.guard import Guarded
from inspector.gui.look.build import delayed
from inspector.gui.look.labels import tip
from inspector.gui.look.visible import line
from inspector.gui.widgets.small import cut_words

T = TypeVar("T")
Index: TypeAlias = QModelIndex | QPersistentModelIndex
TOP = QModelIndex()


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column: its heading, a row's text in it, how wide it is (characters; 0 = what is left)."""

    title: str
    text: Callable[[T], str]
    width: int = 0
    figures: bool = False
    """Numbers stand to the right."""
    least: int = 0
    """Characters that it keeps where the columns get narrower; 0: those of its heading."""
    lines: int = 1
    """Those that a long text of it may take; its row gets so high."""
    about: str = ""
    """What its heading says under the mouse."""


_LEAST = 12
"""Characters of a column that takes what is left."""
_MEASURED = 200
"""Rows whose numbers make a column wider."""
_BESIDE = 18
"""Pixels of a cell that its text does not have."""
_HEADING = 26
"""Pixels of a heading besides its words. A hidden column is asked for its width in vain."""
_MANY = 1_000
"""More rows than this are all one line high."""


class TableModel(Guarded, QAbstractTableModel, Generic[T]):
    """Rows as their columns tell them."""

    def __init__(self, columns: Sequence[Column[T]]) -> None:
        super().__init__()
        self.columns = columns
        self.rows: Sequence[T] = ()
        self.order: tuple[int, bool] | None = None
        """The column by which they are sorted, and whether the largest comes first: its heading says so."""

    def show_rows(self, rows: Sequence[T]) -> None:
        """These from now on."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line(column.text(self.rows[index.row()]), 300 if column.lines == 1 else 900)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(line(column.text(self.rows[index.row()]), 1_000))
        if role == Qt.ItemDataRole.TextAlignmentRole and column.figures:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            title = self.columns[section].title
            return sorted_title(title, self.order[1]) if self.order and self.order[0] == section else title
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.columns[section].about)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if self.columns[section].figures else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


def sorted_title(title: str, falling: bool) -> str:
    """The heading of the column by which rows are sorted: Qt's own sign lies over the words."""
    return f"{title} {'▾' if falling else '▴'}"


class WholeRows(Guarded, QTableView):
    """What all our lists have in common: whole rows of one height, no grid, scrolled by pixels, left by Tab."""

    def __init__(self, name: str, model: QAbstractItemModel, height: Callable[[QFontMetrics], int]) -> None:
        """`height`: of a row, in pixels, for a font."""
        super().__init__()
        self._height = height
        self.empty = ""
        """What is said where there are no rows."""
        self.setModel(model)
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        upright = self.verticalHeader()
        upright.hide()
        upright.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        upright.setMinimumSectionSize(12)
        upright.setDefaultSectionSize(height(self.fontMetrics()))

    def changeEvent(self, event: QEvent) -> None:
        """Other letters, other rows."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.verticalHeader().setDefaultSectionSize(self._height(self.fontMetrics()))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.empty and not self.model().rowCount():
            with QPainter(self.viewport()) as painter:
                painter.setPen(self.palette().placeholderText().color())
                room = self.viewport().rect().adjusted(13, 0, -13, 0)
                painter.drawText(room, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.empty)


class FittedTable(WholeRows, Generic[T]):
    """What all tables have in common: columns fitted anew when room or letters change, everything by keyboard."""

    LINES: ClassVar[float] = 1.6
    """Of letters, in the height of a row."""

    def __init__(self, name: str, model: TableModel[T]) -> None:
        super().__init__(name, model, lambda metrics: int(metrics.height() * self.LINES))
        self._model = model
        self.horizontalHeader().setHighlightSections(False)
        self.doubleClicked.connect(lambda index: self._open(index.row()))

    def _fit(self) -> None:
        """Which columns are shown, and how wide."""
        raise NotImplementedError

    def _open(self, row: int) -> None:
        """Enter or a double click on it."""
        raise NotImplementedError

    def _walk(self, row: int) -> None:
        """By an arrow, to it."""
        raise NotImplementedError

    @property
    def rows(self) -> Sequence[T]:
        """What is shown, from above."""
        return self._model.rows

    def copied(self) -> str:
        """The selected rows in full, else all: a line each, cells between tabs."""
        chosen = sorted({index.row() for index in self.selectedIndexes()}) or range(len(self.rows))
        return "\n".join(self._spell_row(self.rows[place]) for place in chosen)

    def _spell_row(self, row: T) -> str:
        cells = (column.text(row) for column in self._model.columns)
        return "\t".join(" ".join(cell.split()) for cell in cells)

    def copy(self) -> None:
        """The same, to the clipboard."""
        QGuiApplication.clipboard().setText(self.copied())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens, Ctrl+C copies, the arrows walk."""
        row = self.currentIndex().row()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
            self._open(row)
        else:
            super().keyPressEvent(event)
            if self.currentIndex().row() not in (row, -1):
                self._walk(self.currentIndex().row())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other room."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """Only now its letters are sure."""
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Other letters; what is not seen is fitted when it is."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.isVisible():
            self._fit()


class _Cells(Guarded, QStyledItemDelegate):
    """A text without room takes more lines where its column may, else it is cut, but never in a number."""

    def __init__(self, table: "Rows[Any]") -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if self._table.lines_of(index.row(), index.column()) > 1:
            option.features |= QStyleOptionViewItem.ViewItemFeature.WrapText
        elif option.textElideMode == Qt.TextElideMode.ElideRight:
            option.text = cut_words(option.text, option.fontMetrics, option.rect.width() - _BESIDE)


class Rows(FittedTable[T], Generic[T]):
    """`chosen`: a row was clicked in a column, or walked to (column -1); `opened`: Enter or a double click on it."""

    SPREADS: ClassVar[bool] = False
    """Room that no column asks for is shared by all of them."""
    chosen = Signal(int, int)
    opened = Signal(int)

    def __init__(self, name: str, columns: Sequence[Column[T]]) -> None:
        super().__init__(name, TableModel(columns))
        self.setItemDelegate(_Cells(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setStyleSheet("QTableView::item { padding: 0 6px; } QHeaderView::section { padding: 4px 9px; }")
        self._unwanted: set[int] = set()
        self._fitted: tuple[object, ...] = ()
        self._wraps = [n for n, column in enumerate(columns) if column.lines > 1]
        self._heights = delayed(self, 0, self._fit_heights)
        self.horizontalHeader().sectionResized.connect(lambda *_: self._heights.start())
        self._fit()
        self.clicked.connect(lambda index: self.chosen.emit(index.row(), index.column()))

    def _open(self, row: int) -> None:
        self.opened.emit(row)

    def _walk(self, row: int) -> None:
        self.chosen.emit(row, -1)

    def show_rows(self, rows: Sequence[T]) -> None:
        """Show these; the place in the list stays where it can."""
        at, scrolled = self.currentIndex().row(), self.verticalScrollBar().value()
        self._model.show_rows(rows)
        self._fit()
        self._fit_heights()
        if 0 <= at < len(rows):
            self.setCurrentIndex(self._model.index(at, 0))
            self.verticalScrollBar().setValue(scrolled)

    def leave_out(self, column: int, out: bool) -> None:
        """Do not show a column, whatever room there is; or show it again."""
        (self._unwanted.add if out else self._unwanted.discard)(column)
        self._fit()

    def _fit(self) -> None:
        """Columns as wide as they should be; where that is too much the texts among them get narrower, down to their
        headings, then those farthest to the right are left out. Nothing is scrolled sideways."""
        self._heights.start()
        header, columns, room = self.horizontalHeader(), self._model.columns, self.viewport().width()
        figure = self.fontMetrics().horizontalAdvance("0")
        header.setMinimumSectionSize(3 * figure)
        least = [self._least_width(n, column) for n, column in enumerate(columns)]
        if (of := (room, figure, *least, *self._unwanted)) == self._fitted:
            return  # what the user made of them stays
        self._fitted = of
        least = [max(least[n], column.least * figure) for n, column in enumerate(columns)]
        rest = max((least[n] for n, column in enumerate(columns) if not column.width), default=0)  # they share it alike
        widths = {
            n: max(column.width * figure + 15, least[n]) if column.width else max(_LEAST * figure, rest)
            for n, column in enumerate(columns)
            if n not in self._unwanted
        }
        narrow = {n: least[n] if columns[n].width else rest for n in widths}
        for n in sorted(widths, reverse=True):
            if sum(map(narrow.__getitem__, widths)) > room and len(widths) > 1 and columns[n].width:
                del widths[n]
        for n in sorted(widths, key=lambda n: (not columns[n].figures, -widths[n])):
            if (over := sum(widths.values()) - room) > 0:
                widths[n] = max(narrow[n], widths[n] - over)
        left = room - sum(widths.values())
        for n, width in tuple(widths.items()):  # what those leave over goes to the others
            if columns[n].width and (more := min(left, columns[n].width * figure + 15 - width)) > 0:
                widths[n], left = width + more, left - more
        for place, n in enumerate(widths if self.SPREADS and left > 0 else (), 1):
            widths[n] += left * place // len(widths) - left * (place - 1) // len(widths)
        for n, column in enumerate(columns):
            self.setColumnHidden(n, n not in widths)
            stretched = not column.width
            header.setSectionResizeMode(
                n, QHeaderView.ResizeMode.Stretch if stretched else QHeaderView.ResizeMode.Interactive
            )
            if n in widths and not stretched:
                header.resizeSection(n, widths[n])

    def _least_width(self, place: int, column: Column[T]) -> int:
        """Pixels that the heading of a column takes, and its numbers, of which none is cut."""
        header, letters = self.horizontalHeader(), self.fontMetrics()
        heading = header.fontMetrics().horizontalAdvance(column.title) + _HEADING
        widths = [header.sectionSizeHint(place), heading]
        if column.figures:
            cells = "\n".join(column.text(row) for row in self._model.rows[:_MEASURED])
            widths += [letters.horizontalAdvance(number) + 20 for number in cells.split("\n")]
        return max(widths)

    def lines_of(self, row: int, column: int) -> int:
        """How many lines the text of a cell takes; at most those of its column."""
        of, text, room = self._model.columns[column], self._text(row, column), self.columnWidth(column) - _BESIDE
        if of.lines == 1 or len(self.rows) > _MANY or self.isColumnHidden(column):
            return 1
        metrics = self.fontMetrics()
        if (wide := metrics.horizontalAdvance(text)) <= room:
            return 1
        if wide > of.lines * room:
            return of.lines
        whole = metrics.boundingRect(0, 0, room, 0, Qt.TextFlag.TextWordWrap, text)
        return min(of.lines, round(whole.height() / metrics.lineSpacing()))

    def _text(self, row: int, column: int) -> str:
        return str(self._model.index(row, column).data())

    def _fit_heights(self) -> None:
        """Rows as high as their texts need."""
        upright, rows = self.verticalHeader(), len(self.rows)
        for row in range(rows if self._wraps and rows <= _MANY else 0):  # of many none is higher
            more = max(self.lines_of(row, column) for column in self._wraps) - 1
            high = upright.defaultSectionSize() + more * self.fontMetrics().lineSpacing()
            if high != upright.sectionSize(row):
                upright.resizeSection(row, high)
