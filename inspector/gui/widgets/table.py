"""A table for the smaller lists: plain cells, whole rows, full keyboard control, rows read only when painted."""

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
from inspector.gui.look.fonts import row_height
from inspector.gui.look.labels import tip
from inspector.gui.look.tokens import CELL_INSET, INSET, ROW_LINES
from inspector.gui.look.visible import line
from inspector.gui.widgets.column_widths import share_room, widen_columns
from inspector.gui.widgets.small import cut_words

T = TypeVar("T")
Index: TypeAlias = QModelIndex | QPersistentModelIndex
TOP = QModelIndex()


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column: its heading, a function for the text of a row, and its width in characters (0: the remaining room)."""

    title: str
    text: Callable[[T], str]
    width: int = 0
    figures: bool = False
    """True if the column holds numbers, which are aligned to the right."""
    least: int = 0
    """Minimum width in characters when columns are narrowed; 0: the length of the heading."""
    lines: int = 1
    """Maximum number of lines of a long text; the row becomes as high as needed."""
    about: str = ""
    """Tooltip of the heading."""


_LEAST = 12
"""Minimum width in characters of a column that takes the remaining room."""
_PADDING = 15
"""Pixels that are added to the text width of a column when its width is set."""
_MEASURED = 200
"""Number of rows whose numbers can widen a column."""
_BESIDE = 18
"""Pixels of a cell that are not available for its text."""
_HEADING = 26
"""Pixels of a heading besides its text. Qt reports no size for a hidden column."""
_MANY = 1_000
"""Number of rows above which no row is measured, and all rows have the same height."""
LINES_OF_MANY = 2
"""Number of lines per row in a table with more than _MANY rows, if a column may have several lines."""


class TableModel(Guarded, QAbstractTableModel, Generic[T]):
    """The rows of a table, and the columns that convert a row to texts."""

    def __init__(self, columns: Sequence[Column[T]]) -> None:
        super().__init__()
        self.columns = columns
        self.rows: Sequence[T] = ()
        self.order: tuple[int, bool] | None = None
        """Index of the column by which the rows are sorted, and True for descending order. Its heading has a mark."""

    def show_rows(self, rows: Sequence[T]) -> None:
        """Replace all rows of the table."""
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

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            title = capitalise_first(self.columns[section].title)
            if self.order and self.order[0] == section:
                return sorted_title(title, self.order[1])
            return title
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.columns[section].about)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft
            if self.columns[section].figures:
                side = Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


def capitalise_first(title: str) -> str:
    """Return the title with a capital first letter: `Needed again` for `needed again`."""
    return title[:1].upper() + title[1:]


def sorted_title(title: str, falling: bool) -> str:
    """Return the heading of the sorted column with an arrow. Qt's own arrow would cover the text."""
    return f"{title} {'▾' if falling else '▴'}"


class WholeRows(Guarded, QTableView):
    """Base class of all lists: whole rows of one height, no grid, scrolled by pixels. Tab moves out of the list."""

    def __init__(
        self, name: str, model: QAbstractItemModel, height: Callable[[QFontMetrics], int]
    ) -> None:
        """Create the list.

        Args:
            name: Name for screen readers.
            model: The model of the rows.
            height: Returns the row height in pixels for a font.
        """
        super().__init__()
        self._height = height
        self.empty = ""
        """The text shown if there are no rows."""
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
        """Fit the height of the rows to a new font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._set_row_height()

    def _set_row_height(self) -> None:
        """Set the height that the font needs for all rows."""
        self.verticalHeader().setDefaultSectionSize(self._height(self.fontMetrics()))

    @property
    def content_height(self) -> int:
        """The height in pixels at which all rows are visible."""
        header = self.horizontalHeader()
        head = 0 if header.isHidden() else header.sizeHint().height()
        return head + self.verticalHeader().length() + 2

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.empty and not self.model().rowCount():
            with QPainter(self.viewport()) as painter:
                painter.setPen(self.palette().placeholderText().color())
                room = self.viewport().rect().adjusted(INSET, 0, -INSET, 0)
                painter.drawText(
                    room, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.empty
                )


class FittedTable(WholeRows, Generic[T]):
    """Base class of all tables: columns are fitted when size or font change, and every action has a key."""

    LINES: ClassVar[float] = ROW_LINES
    """Height of a row in lines of text."""

    def __init__(self, name: str, model: TableModel[T]) -> None:
        super().__init__(name, model, lambda metrics: row_height(metrics, self.LINES))
        self._model = model
        self.horizontalHeader().setHighlightSections(False)
        self.doubleClicked.connect(lambda index: self._open(index.row()))

    def _fit(self) -> None:
        """Choose the visible columns and their widths."""
        raise NotImplementedError

    def _open(self, row: int) -> None:
        """Handle Enter or a double click on a row."""
        raise NotImplementedError

    def _walk(self, row: int) -> None:
        """Handle that an arrow key has moved to a row."""
        raise NotImplementedError

    @property
    def rows(self) -> Sequence[T]:
        """The rows in the order in which they are shown."""
        return self._model.rows

    def copied(self) -> str:
        """Return the selected rows, or all if none is selected: one row per line, cells in full and separated by
        tabs.
        """
        chosen = sorted({index.row() for index in self.selectedIndexes()}) or range(len(self.rows))
        return "\n".join(self._spell_row(self.rows[place]) for place in chosen)

    def _spell_row(self, row: T) -> str:
        cells = (column.text(row) for column in self._model.columns)
        return "\t".join(" ".join(cell.split()) for cell in cells)

    def copy(self) -> None:
        """Copy the text of `copied` to the clipboard."""
        QGuiApplication.clipboard().setText(self.copied())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open a row on Enter, copy on Ctrl+C, and handle the row that an arrow key moved to."""
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
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the columns. Only now is the font final."""
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Fit the columns to a new font. A hidden table does so when it is shown."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.isVisible():
            self._fit()


class _Cells(Guarded, QStyledItemDelegate):
    """Wraps a text that does not fit if its column allows several lines; otherwise cuts it, but never within a
    number.
    """

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
    """The table that most panels use."""

    _wraps: Sequence[int] = ()
    """Indices of the columns whose texts may take several lines."""
    SPREADS: ClassVar[bool] = False
    """True if room that no column needs is shared among all columns."""
    chosen = Signal(int, int)
    """Emitted with row and column of a click; the column is -1 if an arrow key moved to the row."""
    opened = Signal(int)
    """Emitted with the row on which Enter was pressed or which was double-clicked."""

    def __init__(self, name: str, columns: Sequence[Column[T]]) -> None:
        super().__init__(name, TableModel(columns))
        self.setItemDelegate(_Cells(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setStyleSheet(
            f"QTableView::item {{ padding: 0 {CELL_INSET}px; }} QHeaderView::section {{ padding: 4px 9px; }}"
        )
        self._left_out: set[int] = set()
        self._fitted: tuple[object, ...] = ()
        self._wraps = [place for place, column in enumerate(columns) if column.lines > 1]
        self._heights = delayed(self, milliseconds=0, call=self._fit_heights)
        self.horizontalHeader().sectionResized.connect(lambda *_: self._heights.start())
        self._fit()
        self.clicked.connect(lambda index: self.chosen.emit(index.row(), index.column()))

    def _open(self, row: int) -> None:
        self.opened.emit(row)

    def _walk(self, row: int) -> None:
        self.chosen.emit(row, -1)

    def show_rows(self, rows: Sequence[T]) -> None:
        """Replace all rows, and keep the current row and the scroll position if possible."""
        row = self.currentIndex().row()
        scrolled = self.verticalScrollBar().value()
        self._model.show_rows(rows)
        self._fit()
        self._fit_heights()
        if 0 <= row < len(rows):
            self.setCurrentIndex(self._model.index(row, 0))
            self.verticalScrollBar().setValue(scrolled)

    def leave_out(self, column: int, out: bool) -> None:
        """Hide a column regardless of the available room (`out`), or show it again."""
        if out:
            self._left_out.add(column)
        else:
            self._left_out.discard(column)
        self._fit()

    def _fit(self) -> None:
        """Choose the visible columns and their widths, unless nothing has changed, because the user may resize
        columns.
        """
        self._heights.start()
        header = self.horizontalHeader()
        columns = self._model.columns
        room = self.viewport().width()
        digit = self.fontMetrics().horizontalAdvance("0")
        header.setMinimumSectionSize(3 * digit)
        least = [self._least_width(index, column) for index, column in enumerate(columns)]
        conditions = (room, digit, *least, *self._left_out)
        if conditions == self._fitted:
            return
        self._fitted = conditions
        widths = self._fit_widths(least, room, digit)
        for index, column in enumerate(columns):
            self.setColumnHidden(index, index not in widths)
            stretches = not column.width
            mode = (
                QHeaderView.ResizeMode.Stretch if stretches else QHeaderView.ResizeMode.Interactive
            )
            header.setSectionResizeMode(index, mode)
            if index in widths and not stretches:
                header.resizeSection(index, widths[index])

    def _fit_widths(self, least: Sequence[int], room: int, digit: int) -> dict[int, int]:
        """Return the width in pixels of each visible column.

        If the columns do not fit, text columns become narrower, down to the width of their headings; then the rightmost
        columns are hidden. The table never scrolls sideways.

        Args:
            least: Pixels that the heading and the numbers of each column need.
            room: Width of the table in pixels.
            digit: Width of a digit in pixels.
        """
        columns = self._model.columns
        least = [max(least[index], column.least * digit) for index, column in enumerate(columns)]
        stretching = [least[index] for index, column in enumerate(columns) if not column.width]
        # Columns that take the remaining room share it equally.
        least_stretched = max(stretching, default=0)
        full = {
            index: column.width * digit + _PADDING
            for index, column in enumerate(columns)
            if column.width
        }
        narrow = dict[int, int]()
        widths = dict[int, int]()
        for index, column in enumerate(columns):
            if index not in self._left_out:
                narrow[index] = least[index] if column.width else least_stretched
                planned = full.get(index, _LEAST * digit)
                widths[index] = max(planned, narrow[index])
        self._drop_columns(widths, narrow, room)
        self._narrow_columns(widths, narrow, room)
        left = widen_columns(widths, full, room - sum(widths.values()))
        if self.SPREADS and left > 0:
            share_room(widths, tuple(widths), left)
        return widths

    def _drop_columns(self, widths: dict[int, int], narrow: dict[int, int], room: int) -> None:
        """Remove columns from the right until the others fit at their minimum widths.

        A stretching column always stays.
        """
        for column in sorted(widths, reverse=True):
            does_not_fit = sum(narrow[other] for other in widths) > room
            if does_not_fit and len(widths) > 1 and self._model.columns[column].width:
                del widths[column]

    def _narrow_columns(self, widths: dict[int, int], narrow: dict[int, int], room: int) -> None:
        """Narrow columns until all fit: columns of numbers first, and within each kind the widest first."""
        columns = self._model.columns

        def rank(column: int) -> tuple[bool, int]:
            return not columns[column].figures, -widths[column]

        for column in sorted(widths, key=rank):
            excess = sum(widths.values()) - room
            if excess > 0:
                widths[column] = max(narrow[column], widths[column] - excess)

    def _least_width(self, place: int, column: Column[T]) -> int:
        """Return the pixels that the heading of a column and its numbers need; neither may be cut."""
        header = self.horizontalHeader()
        letters = self.fontMetrics()
        heading = header.fontMetrics().horizontalAdvance(capitalise_first(column.title)) + _HEADING
        widths = [header.sectionSizeHint(place), heading]
        if column.figures:
            cells = "\n".join(column.text(row) for row in self._model.rows[:_MEASURED])
            widths += [letters.horizontalAdvance(number) + 20 for number in cells.split("\n")]
        return max(widths)

    def lines_of(self, row: int, column: int) -> int:
        """Return the number of lines that the text of a cell takes, at most the limit of its column."""
        most = self._model.columns[column].lines
        if most == 1 or self.isColumnHidden(column):
            return 1
        if self._has_many:
            most = min(most, LINES_OF_MANY)
        text = self._text(row, column)
        room = self.columnWidth(column) - _BESIDE
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(text)
        if width <= room:
            return 1
        if width > most * room:
            return most
        wrapped = metrics.boundingRect(0, 0, room, 0, Qt.TextFlag.TextWordWrap, text)
        return min(most, round(wrapped.height() / metrics.lineSpacing()))

    def _text(self, row: int, column: int) -> str:
        return str(self._model.index(row, column).data())

    @property
    def _has_many(self) -> bool:
        return len(self.rows) > _MANY

    def _set_row_height(self) -> None:
        """Set the height that the font needs for all rows.

        A long table with texts gets two lines per row, unmeasured. O(1).
        """
        wraps_any = any(not self.isColumnHidden(column) for column in self._wraps)
        lines = LINES_OF_MANY if wraps_any and self._has_many else 1
        high = self._height(self.fontMetrics()) + (lines - 1) * self.fontMetrics().lineSpacing()
        if lines > 1 or high != self.verticalHeader().defaultSectionSize():
            self.verticalHeader().setDefaultSectionSize(high)

    def _fit_heights(self) -> None:
        """Set the height of each row to what its texts need. In a long table all rows have the same height."""
        if not self._wraps:
            return
        self._set_row_height()
        if self._has_many:
            return
        upright = self.verticalHeader()
        spacing = self.fontMetrics().lineSpacing()
        for row in range(len(self.rows)):
            further_lines = max(self.lines_of(row, column) for column in self._wraps) - 1
            height = upright.defaultSectionSize() + further_lines * spacing
            if height != upright.sectionSize(row):
                upright.resizeSection(row, height)
