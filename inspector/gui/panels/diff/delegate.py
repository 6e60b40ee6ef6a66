"""Paints one row of the diff: before on the left, after on the right, fate and token difference between them."""

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPixmap
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from inspector.core.diff import DiffRow
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, fate_colour, grounds, ink
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import visible
from inspector.gui.panels.buffer.delegate import row_height
from inspector.gui.panels.buffer.model import Index
from inspector.gui.panels.diff.model import DiffLine, DiffModel, Side
from inspector.workbench.diff import LETTERS

_MIDDLE = Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_CENTRE = Qt.AlignmentFlag.AlignCenter
_PLAIN = Qt.TextFlag.TextSingleLine
ROOMY = 400
"""Pixels of a side from which role and tool have a column each."""
PICTURES = 300
"""So many rows are kept painted: walking and scrolling then copy most of what they show."""


class DiffDelegate(Guarded, QStyledItemDelegate):
    """All rows are of one height."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pictures: dict[tuple[object, ...], tuple[QPixmap, DiffLine]] = {}
        """Rows as they were painted; the line keeps its `id()` from being used again."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """As in the buffer list."""
        return QSize(0, row_height(option.fontMetrics))

    def forget(self) -> None:
        """Other colours or fonts: no picture holds any more."""
        self._pictures.clear()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The row, from its picture; a new one is drawn only where something of it has changed."""
        line = index.data(DiffModel.LINE)
        if not isinstance(line, DiffLine):
            return
        rect, state = option.rect, option.state
        marked = 2 if state & QStyle.StateFlag.State_Selected else 1 if state & QStyle.StateFlag.State_MouseOver else 0
        density = painter.device().devicePixelRatioF()
        key = (id(line), marked, rect.width(), rect.height(), density)
        known = self._pictures.pop(key, None)
        if known is None:
            known = (self._picture(line, rect.size(), option, marked, density), line)
            if len(self._pictures) >= PICTURES:
                del self._pictures[next(iter(self._pictures))]
        self._pictures[key] = known  # the last in the dict is the last that was used
        painter.drawPixmap(rect.topLeft(), known[0])

    def _picture(
        self, line: DiffLine, size: QSize, option: QStyleOptionViewItem, marked: int, density: float
    ) -> QPixmap:
        c, rect = self._theme.colours, QRect(QPoint(0, 0), size)
        picture = QPixmap(size * density)
        picture.setDevicePixelRatio(density)
        picture.fill(ink((c.window, c.faint, c.selected)[marked]))
        painter = QPainter(picture)
        painter.setFont(option.font)
        if line.of is None:
            self._paint_left_out(painter, rect, line, c)
        else:
            self._paint_message(painter, rect, line, line.of, c, marked)
        painter.setPen(ink(c.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if marked == 2:
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(c.accent))
        painter.end()
        return picture

    def _paint_left_out(self, painter: QPainter, rect: QRect, line: DiffLine, c: Colours) -> None:
        painter.setPen(ink(c.quiet))
        painter.drawText(rect, _CENTRE | _PLAIN, f"⋯   {line.out}   ⋯")

    def _paint_message(
        self, painter: QPainter, rect: QRect, line: DiffLine, of: DiffRow, c: Colours, marked: int
    ) -> None:
        middle = painter.fontMetrics().horizontalAdvance("S  −000,000") + 18
        half = (rect.width() - middle) // 2
        left, right = QRect(0, 0, half, rect.height()), QRect(half + middle, 0, half, rect.height())
        changed = of.fate.name != "kept"
        if changed and not marked:
            was, now = grounds(c.window, c.high, c.good)
            for side, room, ground in ((line.before, left, was), (line.after, right, now)):
                painter.fillRect(room, ground if side else ink(c.faint))
        colour = ink(c.text if changed else c.quiet)
        for one, room in ((line.before, left), (line.after, right)):
            if one is not None:
                self._paint_side(painter, room, one, colour, c)
        self._paint_fate(painter, QRect(half, 0, middle, rect.height()), of, c)

    def _paint_side(self, painter: QPainter, room: QRect, side: Side, colour: QColor, c: Colours) -> None:
        """Number, role, tool, first line, tokens."""
        metrics = painter.fontMetrics()
        digit, high, x = metrics.horizontalAdvance("0"), room.height(), room.left() + 8
        painter.setPen(ink(c.quiet))
        painter.drawText(QRect(x, 0, 4 * digit, high), _RIGHT, str(side.number))
        x += 4 * digit + 9
        right = room.right() - 8
        painter.setPen(colour)
        tokens = grouped(side.tokens)
        width = max(metrics.horizontalAdvance(tokens), 4 * digit)
        painter.drawText(QRect(right - width, 0, width, high), _RIGHT, tokens)
        role, tool = side.row.role, visible(side.row.tool).text
        who = metrics.horizontalAdvance("assistant") + 10
        inks = {"user": c.accent, "tool": c.on_tool, "system": c.good}
        first = role if room.width() >= ROOMY or role != "tool" else tool or role
        self._text(painter, QRect(x, 0, who - 6, high), first, ink(inks.get(role, c.text)))
        x += who
        if room.width() >= ROOMY:
            self._text(painter, QRect(x, 0, 8 * digit, high), tool, ink(c.quiet))
            x += 9 * digit
        self._text(painter, QRect(x, 0, right - width - 8 - x, high), visible(side.row.line).text, colour)

    def _paint_fate(self, painter: QPainter, room: QRect, of: DiffRow, c: Colours) -> None:
        """The letter, and by how much the message grew or shrank."""
        font = painter.font()
        bold = QFont(font)
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(ink(fate_colour(c, of.fate.name)))
        painter.drawText(room.adjusted(9, 0, 0, 0), _MIDDLE | _PLAIN, LETTERS[of.fate.name])
        painter.setFont(font)
        if of.delta:
            painter.setPen(ink(c.quiet))
            painter.drawText(room.adjusted(0, 0, -9, 0), _RIGHT | _PLAIN, signed(of.delta))

    def _text(self, painter: QPainter, room: QRect, text: str, colour: QColor) -> None:
        if room.width() > 0:
            painter.setPen(colour)
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width(), _PLAIN)
            painter.drawText(room, _MIDDLE | _PLAIN, shown)
