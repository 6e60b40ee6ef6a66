"""The network table: exchanges, or calls, as browsers show them, filtered, sorted, with their times as bars."""

from collections.abc import Collection

from PySide6.QtCore import QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from inspector.gui.bridge import Bridge
from inspector.gui.look.build import button, column, field, holding, keep
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.theme import Theme
from inspector.gui.panels.proxy.exchange_rows import (
    ALL,
    CHOICES,
    COLUMNS,
    WATERFALL,
    ExchangeModel,
    ListedExchange,
    waterfall,
)
from inspector.gui.widgets.chips import Chips, flow
from inspector.gui.widgets.painted import MIDDLE, RIGHT, PaintedCell, paint_text
from inspector.gui.widgets.table import FittedTable, Index

_PAD = 7
"""Pixels at both sides of a cell."""
_BARS = 14
"""Figures of room that the waterfall has at least."""
_MEASURED = 50
"""Rows, the first and the last, by whose texts columns get their widths."""


class ExchangeTable(FittedTable[ListedExchange]):
    """`chosen`: a row was clicked or walked to; `opened`: Enter or a double click on it."""

    chosen = Signal(object)
    opened = Signal(object)

    def __init__(self, theme: Theme, bridge: Bridge) -> None:
        model = ExchangeModel(bridge)
        super().__init__("Exchanges", model)
        self._exchanges = model
        self._bars: tuple[object, dict[object, tuple[float, float, float]]] = (None, {})
        self._chosen: object = None
        """Id of the row that is chosen, or its thread and request."""
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setItemDelegate(_ExchangeCell(theme, self))
        self.setStyleSheet("QHeaderView::section { padding: 4px 7px; }")
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        header.setSortIndicatorShown(False)  # it stands in the heading's words: Qt's own lies over them
        self._exchanges.replaced.connect(self._stand_again)
        for changed in (self._model.modelReset, self._model.rowsInserted, self._model.dataChanged):
            changed.connect(lambda *_: self._fit())
        self.clicked.connect(lambda index: self._walk(index.row()))

    def show_rows(self, rows: list[ListedExchange]) -> None:
        """All exchanges, in the order in which they came."""
        self._exchanges.show_all(rows)

    def show_only(self, which: str, text: str) -> None:
        """Those of a kind in which the text stands."""
        self._exchanges.choose(which, text)

    def show_place(self, thread: str, request: int | None) -> None:
        """The row of that request is the chosen one."""
        self._chosen = (thread, request) if request is not None else None
        self._stand_again()

    def bars(self) -> dict[object, tuple[float, float, float]]:
        """The waterfall of the rows in sight."""
        rows = self.rows
        top, bottom = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        seen = rows[max(0, top) : bottom + 1 if bottom >= 0 else len(rows)]
        key = (id(rows), top, bottom)
        if self._bars[0] != key:
            self._bars = (key, waterfall(seen))
            self.viewport().update()  # rows that stayed where they were have their bars elsewhere
        return self._bars[1]

    def _open(self, row: int) -> None:
        self.opened.emit(self.rows[row])

    def _walk(self, row: int) -> None:
        self._chosen = self.rows[row].id
        self.chosen.emit(self.rows[row])

    def _stand_again(self) -> None:
        at = self._exchanges.places.get(self._chosen) if self._chosen is not None else None
        if at is None:
            self.clearSelection()
        elif at != self.currentIndex().row() or not self.selectedIndexes():
            seen = next((n for n in range(len(COLUMNS)) if not self.isColumnHidden(n)), 0)
            self.setCurrentIndex(self._model.index(at, seen))
            QTimer.singleShot(0, self, lambda: self.scrollTo(self.currentIndex()))  # new rows have no place yet

    def _fit(self) -> None:
        """Columns in which nothing stands are left out; where there is no room for all others, those that say least go.
        What is left over is the waterfall's; without one all get a share of it."""
        rows = (*self.rows[:_MEASURED], *self.rows[-_MEASURED:])
        letters, heads = self.fontMetrics(), self.horizontalHeader().fontMetrics()
        figure, widths, whole = letters.horizontalAdvance("0"), dict[int, int](), dict[int, int]()
        for n, one in enumerate(COLUMNS):
            texts = {text for row in rows if (text := one.text(row))}
            if texts or not rows:
                least = heads.horizontalAdvance(one.title) + 2 * figure
                whole[n] = max(max(map(letters.horizontalAdvance, texts), default=0) + 2, least) + 2 * _PAD
                widths[n] = min(whole[n], max(one.width * figure, least) + 2 * _PAD)
        if WATERFALL in widths:
            widths[WATERFALL] = _BARS * figure
        room = self.viewport().width()
        gone = dict[int, int]()
        for n in sorted(widths, key=lambda n: -COLUMNS[n].rank):
            if sum(widths.values()) > room and COLUMNS[n].rank:
                gone[n] = widths.pop(n)
        for n in reversed(gone):  # a narrow one may fit where a wide one did not
            if sum(widths.values()) + gone[n] <= room:
                widths[n] = gone[n]
        for n in widths:
            if n != WATERFALL:  # what the columns leave over goes to those whose texts are longer
                widths[n] = min(whole[n], widths[n] + max(0, room - sum(widths.values())))
        left = max(0, room - sum(widths.values()))
        wider = [WATERFALL] if WATERFALL in widths else sorted(widths)
        for place, n in enumerate(wider, 1):
            widths[n] += left * place // len(wider) - left * (place - 1) // len(wider)
        self._exchanges.seen = sorted(widths)
        for n in range(len(COLUMNS)):
            self.setColumnHidden(n, n not in widths)
            if n in widths:
                self.setColumnWidth(n, widths[n])


class ExchangeFilter(QWidget):
    """Over the table: which exchanges, and what is done with all of them. `save` is called to export."""

    chosen = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.which = Chips("Exchanges", CHOICES)
        self.which.select(ALL)
        self.text = field("Filter", name="Filter the exchanges")
        self.text.setMinimumWidth(self.fontMetrics().horizontalAdvance("0") * 20)
        self.save = button("Save as HAR…", about="All exchanges as an HTTP archive, for browsers and network tools")
        self._which = ALL
        keep(self, self.which)
        self.setLayout(flow(*self.which.buttons.values(), self.text, self.save))
        self.which.chosen.connect(self._choose)
        self.text.textChanged.connect(lambda _: self.chosen.emit(self._which, self.text.text()))

    def offer(self, kinds: Collection[str]) -> None:
        """Chips for these only, and for all of them."""
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

    def paint_cell(self, painter: QPainter, rect: QRect, index: Index, chosen: bool, c: Colours) -> None:
        row, inner = self._table.rows[index.row()], rect.adjusted(_PAD, 0, -_PAD, 0)
        if index.column() == WATERFALL:
            self._paint_bar(painter, inner, row, c)
        else:
            one = COLUMNS[index.column()]
            text, colour = str(index.data() or ""), _colour(c, row, index.column())
            paint_text(painter, inner, text, colour, RIGHT if one.figures else MIDDLE)

    def _paint_bar(self, painter: QPainter, room: QRect, row: ListedExchange, c: Colours) -> None:
        words = COLUMNS[WATERFALL].text(row)
        at = self._table.bars().get(row.id)
        gap, width = 5, painter.fontMetrics().horizontalAdvance("000 ms")
        high = room.height() * 0.4
        top, wide = room.center().y() - high / 2 + 1, max(10, room.width() - width - gap)
        right = 0.0
        if at is not None:
            left, first, right = (room.left() + share * wide for share in at)
            right = max(right, left + 2)
            before, after = (c.high, c.high) if row.what.has_failed else (c.missing, c.accent)
            painter.fillRect(QRectF(left, top, first - left, high), ink(before))
            painter.fillRect(QRectF(first, top, right - first, high), ink(after))
        painter.setPen(ink(c.quiet))
        where = QRect(int(right) + gap if at is not None else room.left(), room.top(), width + gap, room.height())
        painter.drawText(where, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)


def _colour(c: Colours, row: ListedExchange, at: int) -> str:
    if COLUMNS[at].title == "status":
        return {"good": c.good, "bad": c.high, "waits": c.low, "": c.quiet}[row.tone]
    return c.low if COLUMNS[at].title == "held" and row.tone == "waits" else c.text


def filtered_table(theme: Theme, bridge: Bridge) -> tuple[QWidget, ExchangeFilter, ExchangeTable]:
    """The table under its filter."""
    over, table = ExchangeFilter(), ExchangeTable(theme, bridge)
    over.chosen.connect(table.show_only)
    return holding(column(over, (table, 1), gap=4)), over, table
