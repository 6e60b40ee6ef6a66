"""The network table, similar to that of a browser: exchanges or model calls, filtered, sorted, with bars for their
times."""

from collections.abc import Collection
from typing import NamedTuple

from PySide6.QtCore import QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from inspector.gui.bridge import Bridge
from inspector.gui.look.build import button, column, field, holding, keep_hidden
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BOX_GAP
from inspector.gui.panels.proxy.exchange_rows import (
    ALL,
    CHOICES,
    COLUMNS,
    WATERFALL,
    ExchangeModel,
    ListedExchange,
)
from inspector.gui.panels.proxy.exchange_waterfall import waterfall
from inspector.gui.widgets.chips import Chips, flow
from inspector.gui.widgets.column_widths import share_room
from inspector.gui.widgets.painted import MIDDLE, RIGHT, PaintedCell, paint_text
from inspector.gui.widgets.table import FittedTable, Index

_PAD = 7
"""Pixels on each side of a cell."""
_GAP = 5
"""Pixels between a bar and its duration."""
_BARS = 14
"""Minimum width of the waterfall in digits."""
_MEASURED = 50
"""Number of first rows, and of last rows, whose texts are measured for the column widths."""


class ExchangeTable(FittedTable[ListedExchange]):
    """The network table with its waterfall."""

    chosen = Signal(object)
    """Emitted when a row is clicked or an arrow key moves to it."""
    opened = Signal(object)
    """Emitted on Enter or a double click on a row."""

    def __init__(self, theme: Theme, bridge: Bridge) -> None:
        model = ExchangeModel(bridge)
        super().__init__("Exchanges", model)
        self._exchanges = model
        self._bars: dict[object, tuple[float, float, float]] = {}
        self._bars_key: tuple[int, int, int] | None = None
        """Identity of the rows, and the first and the last visible row, for which the bars were made."""
        self._chosen: object = None
        """Id of the selected row, or its thread and request."""
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setItemDelegate(_ExchangeCell(theme, self))
        self.setStyleSheet("QHeaderView::section { padding: 4px 7px; }")
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        header.setSortIndicatorShown(False)  # it would cover the heading, which has its own arrow
        self._exchanges.replaced.connect(self._restore_choice)
        for changed in (self._model.modelReset, self._model.rowsInserted, self._model.dataChanged):
            changed.connect(lambda *_: self._fit())
        self.clicked.connect(lambda index: self._walk(index.row()))

    def show_rows(self, rows: list[ListedExchange]) -> None:
        """Show all exchanges in the order of their arrival."""
        self._exchanges.show_all(rows)

    def show_only(self, which: str, text: str) -> None:
        """Show only the exchanges of a kind that contain a text."""
        self._exchanges.choose(which, text)

    def show_place(self, thread: str, request: int | None) -> None:
        """Select the row of a request; None: select none."""
        self._chosen = (thread, request) if request is not None else None
        self._restore_choice()

    def bars(self) -> dict[object, tuple[float, float, float]]:
        """Return the bars of the visible rows."""
        rows = self.rows
        top = self.rowAt(0)
        bottom = self.rowAt(self.viewport().height() - 1)
        key = (id(rows), top, bottom)
        if self._bars_key != key:
            end = bottom + 1 if bottom >= 0 else len(rows)
            self._bars_key = key
            self._bars = waterfall(rows[max(0, top) : end])
            self.viewport().update()  # bars may move although their rows do not
        return self._bars

    def _open(self, row: int) -> None:
        self.opened.emit(self.rows[row])

    def _walk(self, row: int) -> None:
        self._chosen = self.rows[row].id
        self.chosen.emit(self.rows[row])

    def _restore_choice(self) -> None:
        """Select the row again after the rows were replaced, and scroll to it."""
        place = self._exchanges.places.get(self._chosen) if self._chosen is not None else None
        if place is None:
            self.clearSelection()
        elif place != self.currentIndex().row() or not self.selectedIndexes():
            self._choose_row(place)

    def _choose_row(self, at: int) -> None:
        visible = (index for index in range(len(COLUMNS)) if not self.isColumnHidden(index))
        first_visible = next(visible, 0)
        self.setCurrentIndex(self._model.index(at, first_visible))
        # new rows are laid out in the next turn
        QTimer.singleShot(0, self, lambda: self.scrollTo(self.currentIndex()))

    def _fit(self) -> None:
        """Choose the visible columns and their widths. Empty columns are hidden."""
        full, widths = self._measure_columns()
        room = self.viewport().width()
        _drop_columns(widths, room)
        for index in widths:
            if index != WATERFALL:
                more = max(0, room - sum(widths.values()))
                widths[index] = min(full[index], widths[index] + more)
        # the remaining pixels widen the waterfall or, if it is hidden, all columns
        widened = [WATERFALL] if WATERFALL in widths else sorted(widths)
        share_room(widths, widened, max(0, room - sum(widths.values())))
        self._exchanges.seen = sorted(widths)
        for index in range(len(COLUMNS)):
            self.setColumnHidden(index, index not in widths)
            if index in widths:
                self.setColumnWidth(index, widths[index])

    def _measure_columns(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the pixels that each column needs for its longest text, and its usual width; empty columns are left
        out."""
        rows = (*self.rows[:_MEASURED], *self.rows[-_MEASURED:])
        letters = self.fontMetrics()
        heads = self.horizontalHeader().fontMetrics()
        digit = letters.horizontalAdvance("0")
        full = dict[int, int]()
        usual = dict[int, int]()
        for index, shown_column in enumerate(COLUMNS):
            texts = {shown_column.text(row) for row in rows} - {""}
            if rows and not texts:
                continue
            heading = heads.horizontalAdvance(shown_column.title) + 2 * digit
            longest = max(map(letters.horizontalAdvance, texts), default=0) + 2
            planned = max(shown_column.width * digit, heading) + 2 * _PAD
            full[index] = max(longest, heading) + 2 * _PAD
            usual[index] = min(full[index], planned)
        if WATERFALL in usual:
            usual[WATERFALL] = _BARS * digit
        return full, usual


def _drop_columns(widths: dict[int, int], room: int) -> None:
    """Remove the columns of the highest rank until the others fit. Then restore those for which there is room."""
    dropped = dict[int, int]()
    highest_rank_first = sorted(widths, key=lambda index: -COLUMNS[index].rank)
    for index in highest_rank_first:
        if sum(widths.values()) > room and COLUMNS[index].rank:
            dropped[index] = widths.pop(index)
    for index in reversed(dropped):
        if sum(widths.values()) + dropped[index] <= room:
            widths[index] = dropped[index]


class ExchangeFilter(QWidget):
    """The controls above the table: which exchanges are shown, and a button that saves all of them."""

    chosen = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.which = Chips("Exchanges", CHOICES)
        self.which.select(ALL)
        self.text = field("Filter", name="Filter the exchanges")
        self.text.setMinimumWidth(self.fontMetrics().horizontalAdvance("0") * 20)
        self.save = button(
            "Save as HAR…",
            about="Save all exchanges as an HTTP archive, for browsers and network tools",
        )
        self._which = ALL
        keep_hidden(self, self.which)
        self.setLayout(flow(*self.which.buttons.values(), self.text, self.save))
        self.which.chosen.connect(self._choose)
        self.text.textChanged.connect(lambda _: self.chosen.emit(self._which, self.text.text()))

    def offer(self, kinds: Collection[str]) -> None:
        """Show chips for these kinds, and one for all exchanges."""
        for word, chip in self.which.buttons.items():
            chip.setVisible(bool(kinds) if word == ALL else word in kinds)
        if self._which != ALL and self._which not in kinds:
            self.which.select(ALL)
            self._choose(ALL)

    def _choose(self, which: str) -> None:
        self._which = which
        self.chosen.emit(which, self.text.text())


class _ExchangeCell(PaintedCell):
    def __init__(self, theme: Theme, table: ExchangeTable) -> None:
        super().__init__(theme, table)
        self._table = table

    def paint_cell(
        self, painter: QPainter, rect: QRect, index: Index, chosen: bool, colours: Colours
    ) -> None:
        row = self._table.rows[index.row()]
        inner = rect.adjusted(_PAD, 0, -_PAD, 0)
        if index.column() == WATERFALL:
            self._paint_bar(painter, room=inner, row=row, palette=colours)
            return
        text = str(index.data() or "")
        colour = _colour(colours, row, index.column())
        alignment = RIGHT if COLUMNS[index.column()].figures else MIDDLE
        paint_text(painter, room=inner, text=text, colour=colour, how=alignment)

    def _paint_bar(
        self, painter: QPainter, room: QRect, row: ListedExchange, palette: Colours
    ) -> None:
        """Paint the bar of an exchange, in one colour before and another after its first byte, and its duration beside
        it."""
        shares = self._table.bars().get(row.id)
        text_width = painter.fontMetrics().horizontalAdvance("000 ms") + _GAP
        text_left = room.left()
        if shares is not None:
            bar_width = max(10, room.width() - text_width)
            left, first, right = (room.left() + share * bar_width for share in shares)
            right = max(right, left + 2)
            colours = (palette.missing, palette.accent)
            if row.what.has_failed:
                colours = (palette.high, palette.high)
            _paint_phases(painter, room, edges=(left, first, right), colours=colours)
            text_left = int(right) + _GAP
        painter.setPen(ink(palette.quiet))
        text_room = QRect(text_left, room.top(), text_width, room.height())
        alignment = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(text_room, alignment, COLUMNS[WATERFALL].text(row))


def _paint_phases(
    painter: QPainter,
    room: QRect,
    edges: tuple[float, float, float],
    colours: tuple[str, str],
) -> None:
    """Paint the two parts of a bar between three pixel columns, in the middle of the row."""
    height = room.height() * 0.4
    top = room.center().y() - height / 2 + 1
    for left, right, colour in zip(edges, edges[1:], colours, strict=False):
        painter.fillRect(QRectF(left, top, right - left, height), ink(colour))


def _colour(colours: Colours, row: ListedExchange, column: int) -> str:
    """Return the colour of the text of a cell."""
    if COLUMNS[column].title == "status":
        tones = {"good": colours.good, "bad": colours.high, "waits": colours.low}
        return tones.get(row.tone, colours.quiet)
    is_held = COLUMNS[column].title == "held" and row.tone == "waits"
    return colours.low if is_held else colours.text


class FilteredTable(NamedTuple):
    """The filter above the table."""

    widget: QWidget
    """The widget that holds both."""
    filter: ExchangeFilter
    table: ExchangeTable


def filtered_table(theme: Theme, bridge: Bridge) -> FilteredTable:
    """Make the table and its filter, which are connected."""
    exchange_filter = ExchangeFilter()
    table = ExchangeTable(theme, bridge)
    exchange_filter.chosen.connect(table.show_only)
    widget = holding(column(exchange_filter, (table, 1), gap=BOX_GAP))
    return FilteredTable(widget, exchange_filter, table)
