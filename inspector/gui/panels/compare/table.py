"""The table of the comparison: each cell a figure, beneath it the difference from what happened; sorted by a click."""

from PySide6.QtCore import QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import tip
from inspector.gui.look.theme import Theme
from inspector.gui.panels.buffer.model import Index
from inspector.gui.panels.compare.look import SAMPLE, look, paint_sample
from inspector.gui.panels.compare.rows import COLUMNS, Standing, as_table, differs, ordered, shown
from inspector.gui.widgets.rows import Rows
from inspector.workbench.compare import FIGURES, NAMES, Comparison

_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


class CompareTable(Rows[Standing]):
    """`picked` carries the name of the policy that was chosen."""

    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__("Policies side by side", COLUMNS)
        self._comparison = Comparison()
        self._by, self._falling = -1, True
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.setItemDelegate(_TwoLines(theme, self))
        self.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().height() * 2.1))
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort)
        what = "\n".join(f"{figure.name}: {figure.what}" for figure in FIGURES)
        header.setToolTip(tip(f"{what}\nBeneath each: the difference from what happened. A click sorts."))
        self.chosen.connect(lambda row, _: self.picked.emit(self.rows[row].name))

    def show_comparison(self, found: Comparison, picked: str) -> None:
        """These rows, that one selected."""
        self._comparison = found
        self.show_rows(ordered(found, self._by, self._falling))
        place = next((n for n, row in enumerate(self.rows) if row.name == picked), -1)
        if place >= 0:
            self.setCurrentIndex(self.model().index(place, max(0, self.currentIndex().column())))
        else:
            self.clearSelection()

    def _sort(self, column: int) -> None:
        """The largest first, by a second click the smallest, by a third as chosen."""
        if column != self._by:
            self._by, self._falling = column, column > 0
        elif self._falling == (column > 0):
            self._falling = not self._falling
        else:
            self._by = -1
        header = self.horizontalHeader()
        header.setSortIndicatorShown(self._by >= 0)
        order = Qt.SortOrder.DescendingOrder if self._falling else Qt.SortOrder.AscendingOrder
        header.setSortIndicator(self._by, order)
        here = self.currentIndex().row()
        self.show_comparison(self._comparison, self.rows[here].name if here >= 0 else "")

    def copied(self) -> str:
        """All of it, for a spreadsheet."""
        return as_table(self.rows)


class _TwoLines(Guarded, QStyledItemDelegate):
    def __init__(self, theme: Theme, table: CompareTable) -> None:
        super().__init__(table)
        self._theme, self._table = theme, table

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The figure, and quietly its difference."""
        row, c = self._table.rows[index.row()], self._theme.colours
        picked = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(option.rect, ink(c.selected if picked else c.window))
        painter.setPen(ink(c.line))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        inner = option.rect.adjusted(9, 2, -9, -2)
        painter.setFont(option.font)
        if index.column() == 0:
            self._paint_name(painter, inner, row, picked)
        else:
            self._paint_figure(painter, inner, row, index.column() - 1)
        painter.restore()

    def _paint_name(self, painter: QPainter, room: QRect, row: Standing, picked: bool) -> None:
        c = self._theme.colours
        bold = QFont(painter.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(ink(look(row.name).colour(c)))
        painter.drawText(room, _LEFT, look(row.name).letter)
        paint_sample(painter, QRectF(room.left() + 15, room.top(), SAMPLE.width(), room.height()), row.name, c)
        left = room.adjusted(22 + SAMPLE.width(), 0, 0, 0)
        if not picked:
            bold.setWeight(QFont.Weight.Normal)
            painter.setFont(bold)
        painter.setPen(ink(c.text))
        painter.drawText(left, _LEFT, _elided(painter, NAMES.get(row.name, row.name), left))

    def _paint_figure(self, painter: QPainter, room: QRect, row: Standing, number: int) -> None:
        c, figure = self._theme.colours, FIGURES[number]
        gap = differs(figure, row)
        upper, lower = QRect(room), QRect(room)
        if gap:
            upper.setHeight(room.height() // 2)
            lower.setTop(room.top() + room.height() // 2)
        painter.setPen(ink(c.text))
        painter.drawText(upper, _RIGHT, _elided(painter, shown(figure, row), upper))
        if gap:
            small = QFont(painter.font())
            small.setPointSizeF(self._theme.small)
            painter.setFont(small)
            painter.setPen(ink(c.quiet))
            painter.drawText(lower, _RIGHT, _elided(painter, gap, lower))


def _elided(painter: QPainter, text: str, room: QRect) -> str:
    return painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
