"""Lists whose rows are painted as a whole: a model, a delegate that paints a row, and a view.

Each row is painted into a cached picture, so that moving and scrolling mostly copy pictures.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QItemSelectionModel,
    QObject,
    QPoint,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.fonts import row_height
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import PAINTED_HEAD
from inspector.gui.look.visible import visible
from inspector.gui.widgets.table import TOP, Index, WholeRows
from inspector.workbench.message_rows import MessageRow, RowRole

MIDDLE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
RIGHT = MIDDLE | Qt.AlignmentFlag.AlignRight
CENTRE = MIDDLE | Qt.AlignmentFlag.AlignHCenter
PICTURES = 300
"""Maximum number of rows whose pictures are cached, about 70 KB each."""
PLAIN, HOVERED, CHOSEN = 0, 1, 2


class PaintedModel(Guarded, QAbstractListModel):
    """A list of rows. A subclass provides their number, the value of each and its text for screen readers."""

    ROW = Qt.ItemDataRole.UserRole

    def size(self) -> int:
        """Return the number of rows."""
        raise NotImplementedError

    def row_at(self, place: int) -> Any:
        """Return the value that the delegate paints in a row."""
        raise NotImplementedError

    def words_at(self, place: int) -> str:
        """Return the text of a row for screen readers."""
        raise NotImplementedError

    def rowCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else self.size()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or not 0 <= index.row() < self.size():
            return None
        if role == self.ROW:
            return self.row_at(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.words_at(index.row())
        return None


class PaintedRow(Guarded, QStyledItemDelegate):
    """Paints the rows of a list, all of one height. A subclass paints a single row."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pictures: dict[tuple[object, ...], tuple[QPixmap, object]] = {}
        """Cached pictures, the most recently used last.

        Each row is kept with its picture, so that no other object can get the id that the key contains.
        """

    def height(self, metrics: QFontMetrics) -> int:
        """Return the height of a row in pixels for a font."""
        return row_height(metrics)

    def key(self, row: Any) -> tuple[object, ...]:
        """Return all values that determine the look of a row."""
        return (id(row),)

    def ground(self, row: Any, marked: int) -> str:
        """Return the background colour of a row that is PLAIN, HOVERED or CHOSEN."""
        colours = self._theme.colours
        return (colours.window, colours.faint, colours.selected)[marked]

    def paint_row(
        self, painter: QPainter, rect: QRect, row: Any, marked: int, colours: Colours
    ) -> None:
        """Paint a row over its background."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop all cached pictures after a change that is not part of their keys."""
        self._pictures.clear()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, self.height(option.fontMetrics))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint a row from its picture, which is painted again only if its key has changed."""
        row = index.data(PaintedModel.ROW)
        if row is None:
            return
        rect = option.rect
        state = option.state
        flag = QStyle.StateFlag
        marked = HOVERED if state & flag.State_MouseOver else PLAIN
        if state & flag.State_Selected:
            marked = CHOSEN
        density = painter.device().devicePixelRatioF()
        key = (
            *self.key(row),
            marked,
            self._theme.colours.window,
            self._theme.points,
            rect.width(),
            rect.height(),
            density,
        )
        cached = self._pictures.pop(key, None)
        if cached is None:
            cached = self._picture(row, rect.size(), option.font, marked, density), row
            if len(self._pictures) >= PICTURES:
                del self._pictures[next(iter(self._pictures))]
        self._pictures[key] = cached
        painter.drawPixmap(rect.topLeft(), cached[0])

    def _picture(self, row: Any, size: QSize, font: QFont, marked: int, density: float) -> QPixmap:
        picture = QPixmap(size * density)
        rect = QRect(QPoint(0, 0), size)
        colours = self._theme.colours
        picture.setDevicePixelRatio(density)
        picture.fill(ink(self.ground(row, marked)))
        with QPainter(picture) as painter:
            painter.setFont(font)
            painter.setPen(ink(colours.line))
            painter.drawLine(rect.bottomLeft(), rect.bottomRight())
            self.paint_row(painter, rect, row, marked, colours)
        return picture


class PaintedCell(Guarded, QStyledItemDelegate):
    """Paints the cells of a table over their background. A subclass paints a single cell."""

    def __init__(self, theme: Theme, table: QTableView) -> None:
        super().__init__(table)
        self._theme = theme

    def paint_cell(
        self, painter: QPainter, rect: QRect, index: Index, chosen: bool, colours: Colours
    ) -> None:
        """Paint a cell; `chosen` says whether its row is selected."""
        raise NotImplementedError

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        colours = self._theme.colours
        painter.save()
        painter.fillRect(option.rect, ink(colours.selected if chosen else colours.window))
        painter.setFont(option.font)
        self.paint_cell(painter, option.rect, index, chosen, colours)
        painter.restore()


def paint_text(painter: QPainter, room: QRect, text: str, colour: str, how: int = MIDDLE) -> None:
    """Paint one line, cut with an ellipsis if it does not fit."""
    if room.width() > 0:
        painter.setPen(ink(colour))
        end = Qt.TextElideMode.ElideRight
        elided = painter.fontMetrics().elidedText(
            text, end, room.width(), Qt.TextFlag.TextSingleLine
        )
        painter.drawText(room, how, elided)


ROUNDING = 2
"""Pixels by which a text may be wider than the sum of its letters."""
_WIDE_ROLES: tuple[RowRole, ...] = ("assistant", "summary", "reminder")


def role_width(metrics: QFontMetrics) -> int:
    """Return the width in pixels of the longest role name."""
    return max(map(metrics.horizontalAdvance, _WIDE_ROLES)) + ROUNDING


SUBJECT_GAP, LEAST_LINE = 14, 12
"""Pixels between a subject and the text after it, and the digits that must fit in the rest of the row to show that
text."""


def paint_subject(painter: QPainter, room: QRect, row: MessageRow, colour: str, quiet: str) -> None:
    """Paint the subject of a message and, in second-rank colour, its text; only the text if it has no subject.

    A path that does not fit is cut at its beginning.
    """
    line = visible(row.line).text
    if not row.subject:
        paint_text(painter, room, text=line, colour=colour)
        return
    subject = visible(row.subject).text
    metrics = painter.fontMetrics()
    width = metrics.horizontalAdvance(subject)
    if width > room.width() and " " not in subject:
        subject = metrics.elidedText(subject, Qt.TextElideMode.ElideLeft, room.width())
    paint_text(painter, room, text=subject, colour=colour)
    rest = room.adjusted(width + SUBJECT_GAP, 0, 0, 0)
    if rest.width() >= LEAST_LINE * metrics.horizontalAdvance("0"):
        paint_text(painter, room=rest, text=line, colour=quiet)


def paint_subject_above(
    painter: QPainter, above: QRect, below: QRect, row: MessageRow, colour: str, quiet: str
) -> None:
    """Paint the subject of a message in one line and its text in the next; a long subject or text takes both.

    Args:
        above: room of the first line.
        below: room of the second line, which may be wider.
    """
    metrics = painter.fontMetrics()
    first = visible(row.subject or row.line).text
    second = visible(row.line).text
    is_path = bool(row.subject) and " " not in first
    if is_path:
        first = metrics.elidedText(first, Qt.TextElideMode.ElideLeft, above.width())
    elif metrics.horizontalAdvance(first) > above.width():
        first, second = split_line(first, metrics, above.width())
        quiet = colour
    elif not row.subject:
        second = ""
    paint_text(painter, room=above, text=first, colour=colour)
    paint_text(painter, room=below, text=second, colour=quiet)


def split_line(text: str, metrics: QFontMetrics, width: int) -> tuple[str, str]:
    """Split a text wider than `width` pixels, at the last blank that fits or, without one, between two letters."""
    most = bisect_right(
        range(len(text)), width, key=lambda end: metrics.horizontalAdvance(text[:end])
    )
    fitting = max(0, most - 1)
    blank = text.rfind(" ", 0, fitting + 1)
    end = blank if blank > 0 else fitting
    return text[:end], text[end:].lstrip()


def paint_bold(painter: QPainter, room: QRect, text: str, colour: str, how: int = MIDDLE) -> None:
    """Paint one line in a slightly heavier weight."""
    plain = QFont(painter.font())
    bold = QFont(painter.font())
    bold.setWeight(QFont.Weight.DemiBold)
    painter.setFont(bold)
    paint_text(painter, room, text, colour, how)
    painter.setFont(plain)


class PaintedList(WholeRows):
    """A list of one column with one selected row. `opened` is emitted when Enter is pressed on a row."""

    opened = Signal(int)
    _keeps_in_sight = True
    """True if the selected row is kept visible when the size changes; False after the user scrolled away from it."""

    def __init__(self, name: str, model: PaintedModel, delegate: PaintedRow) -> None:
        super().__init__(name, model, delegate.height)
        delegate.setParent(self)
        self.setItemDelegate(delegate)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        self.verticalScrollBar().actionTriggered.connect(lambda _: self._let_scroll())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        place = self.currentIndex().row()
        editing = self.state() == QAbstractItemView.State.EditingState
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and place >= 0 and not editing:
            self.opened.emit(place)
        else:
            super().keyPressEvent(event)

    def stand_at(self, place: int) -> None:
        """Select a row (-1: none) without emitting signals, so that selections elsewhere do not change."""
        index = self.model().index(place, 0) if place >= 0 else TOP
        with QSignalBlocker(self.selectionModel()):
            self.selectionModel().setCurrentIndex(
                index, QItemSelectionModel.SelectionFlag.ClearAndSelect
            )
        if place >= 0:
            self._keeps_in_sight = True
            self.scrollTo(index)
        self.viewport().update()

    def fit_rows(self) -> None:
        """Set the row height that the delegate now needs."""
        self._set_row_height()
        self._show_current()

    def _let_scroll(self) -> None:
        self._keeps_in_sight = False

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._let_scroll()
        super().wheelEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_current()

    def changeEvent(self, event: QEvent) -> None:
        """Keep the selected row visible when a new font changes the row height."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._show_current()

    def _show_current(self) -> None:
        if self._keeps_in_sight and self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())


class ColumnHead(NamedTuple):
    """The name of a column and the rectangle in which it is painted."""

    room: QRect
    name: str
    how: int = MIDDLE


ColumnPlacer: TypeAlias = Callable[[QRect, QFontMetrics], Iterable[ColumnHead]]
"""A function that returns the column heads for a row of a given rectangle and font."""


class PaintedHead(Guarded, QWidget):
    """The column names above the rows of a painted list."""

    def __init__(
        self,
        theme: Theme,
        rows: QWidget,
        columns: Callable[[QRect, QFontMetrics], Iterable[ColumnHead]],
    ) -> None:
        """Create the heads.

        Args:
            theme: Provides the colours.
            rows: The widget on which the rows are painted.
            columns: Returns the columns for a row of a given size.
        """
        super().__init__()
        self._theme = theme
        self._rows = rows
        self._columns = columns
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(200, self.fontMetrics().height() + PAINTED_HEAD)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._theme.colours
        with QPainter(self) as painter:
            room = QRect(self._rows.x(), 0, self._rows.width(), self.height())
            for head in self._columns(room, painter.fontMetrics()):
                paint_text(painter, head.room, text=head.name, colour=colours.quiet, how=head.how)
            painter.setPen(ink(colours.line))
            painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())
