"""Paints one step in two lines: its name and what it freed; then tokens, tiers, how it ended, who answered."""

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.panels.buffer.model import Index
from inspector.gui.panels.steps.model import StepsModel, facts
from inspector.workbench.steps import Branches, StepRow

INDENT = 16
DEEPEST = 8
"""Depths that are told apart by their indent."""
COMPARE = "compare"
_MIDDLE = Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class StepsDelegate(Guarded, QStyledItemDelegate):
    """All rows are of one height."""

    def __init__(self, theme: Theme, model: StepsModel, parent: QObject) -> None:
        super().__init__(parent)
        self._theme, self._model = theme, model

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Two lines."""
        return QSize(0, step_height(option.fontMetrics))

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        """The name is edited where it stands."""
        row: StepRow = index.data(StepsModel.ROW)
        first, _ = _lines(option.rect, row)
        editor.setGeometry(first.adjusted(-10, 1, 0, 3))

    def compare_room(self, rect: QRect, metrics: QFontMetrics) -> QRect:
        """Where a click means: compare with this one."""
        width = metrics.horizontalAdvance(COMPARE) + 14
        return QRect(rect.right() - width - 4, rect.center().y(), width, rect.height() // 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The row."""
        row = index.data(StepsModel.ROW)
        if not isinstance(row, StepRow):
            return
        c, rect = self._theme.colours, option.rect
        here = row.at == self._model.here
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setFont(option.font)
        painter.fillRect(rect, ink(c.selected if here else c.faint if hovered or chosen else c.window))
        painter.setPen(ink(c.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        first, second = _lines(rect, row)
        self._paint_branches(painter, rect, first.center().y() + 0.5, self._model.branches[index.row()], row, c)
        self._paint_mark(painter, QPointF(_column(rect, row.depth), first.center().y() + 0.5), row, here, c)
        self._paint_first(painter, first, row, here, c)
        offered = not here and (hovered or chosen)
        self._paint_second(painter, second, rect, row, offered, c)
        painter.restore()

    def _paint_branches(
        self, painter: QPainter, rect: QRect, middle: float, lines: Branches, row: StepRow, c: Colours
    ) -> None:
        """From which step this one starts."""
        painter.setPen(ink(c.missing))
        own = _column(rect, row.depth)
        for depth in lines.through:
            x = _column(rect, depth)
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        if lines.above is not None:
            x = _column(rect, lines.above)
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, middle))
            painter.drawLine(QPointF(x, middle), QPointF(own, middle))
        if lines.below:
            painter.drawLine(QPointF(own, middle), QPointF(own, rect.bottom()))

    def _paint_mark(self, painter: QPainter, at: QPointF, row: StepRow, here: bool, c: Colours) -> None:
        """A dot: full where we stand; in the colour of trouble where it failed."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour = ink(c.accent if here else c.quiet if row.succeeded else c.high)
        painter.setPen(colour)
        painter.setBrush(colour if here else ink(c.window))
        painter.drawEllipse(at, 4, 4)

    def _paint_first(self, painter: QPainter, room: QRect, row: StepRow, here: bool, c: Colours) -> None:
        freed = "" if row.before is None else signed(row.tokens - row.before)
        width = painter.fontMetrics().horizontalAdvance(freed)
        painter.setPen(ink(c.good if freed.startswith("−") else c.quiet))
        painter.drawText(room, _RIGHT, freed)
        font = painter.font()
        bold = QFont(font)
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold if here else font)
        painter.setPen(ink(c.text))
        number = "" if row.before is None else f"{row.at + 1}  "
        self._text(painter, room.adjusted(0, 0, -width - 10, 0), number + line(row.name))
        painter.setFont(font)

    def _paint_second(
        self, painter: QPainter, room: QRect, rect: QRect, row: StepRow, offered: bool, c: Colours
    ) -> None:
        if row.at == self._model.against or offered:
            button = self.compare_room(rect, painter.fontMetrics())
            painter.setPen(ink(c.accent))
            painter.drawText(button, Qt.AlignmentFlag.AlignCenter, "compared" if not offered else COMPARE)
            room = room.adjusted(0, 0, button.left() - room.right() - 6, 0)
        if row.before is None:
            told = f"{grouped(row.tokens)} tokens"
        else:
            told = f"{grouped(row.before)} → {grouped(row.tokens)} · {line(facts(row))}"
        painter.setPen(ink(c.quiet if row.succeeded else c.high))
        self._text(painter, room, told)

    def _text(self, painter: QPainter, room: QRect, text: str) -> None:
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(QRectF(room), int(_MIDDLE | Qt.TextFlag.TextSingleLine), shown)


def _column(rect: QRect, depth: int) -> float:
    """Where the dots of a depth stand."""
    return rect.left() + 17.5 + INDENT * min(depth, DEEPEST)


def _lines(rect: QRect, row: StepRow) -> tuple[QRect, QRect]:
    """Room of both lines."""
    inner = rect.adjusted(30 + INDENT * min(row.depth, DEEPEST), 4, -12, -4)
    half = inner.height() // 2
    first, second = QRect(inner), QRect(inner)
    first.setHeight(half)
    second.setTop(inner.top() + half)
    return first, second


def step_height(metrics: QFontMetrics) -> int:
    """Pixels of every row, for a font."""
    return 2 * (metrics.height() + 2) + 10
