"""Paints one row of the buffer list in one go: number, role, tool, first line, badges, bar, tokens."""

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from inspector.gui.buffer_model import BufferModel, Index, Line
from inspector.gui.colours import Colours
from inspector.gui.numbers import grouped
from inspector.gui.theme import Theme
from inspector.gui.visible import visible

_MIDDLE = Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_PLAIN = Qt.TextFlag.TextSingleLine


class BufferDelegate(QStyledItemDelegate):
    """`largest`: tokens that fill the bar."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.largest = 1

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """All rows are of one height."""
        return QSize(0, row_height(option.fontMetrics))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The row."""
        line = index.data(BufferModel.LINE)
        if not isinstance(line, Line):
            return
        painter.save()
        c, rect, metrics = self._theme.colours, option.rect, option.fontMetrics
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(rect, QColor(c.selected))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, QColor(c.faint))
        painter.setPen(QColor(c.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if line.fresh:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), QColor(c.accent))
        left = self._paint_left(painter, rect, metrics, line, c)
        right = self._paint_right(painter, rect, metrics, line, c)
        right = self._paint_badges(painter, rect, right, line, c)
        self._text(
            painter, QRect(left, rect.top(), right - left - 8, rect.height()), visible(line.row.line).text, c.text
        )
        painter.restore()

    def _paint_left(self, painter: QPainter, rect: QRect, metrics: QFontMetrics, line: Line, c: Colours) -> int:
        """Number, role, tool. Returns where the first line begins."""
        digit = metrics.horizontalAdvance("0")
        x, high = rect.left() + 8, rect.height()
        painter.setPen(QColor(c.quiet))
        painter.drawText(QRect(x, rect.top(), 5 * digit, high), _RIGHT, str(line.number))
        x += 5 * digit + 9
        role = metrics.horizontalAdvance("assistant") + 12
        colour = {"user": c.accent, "tool": c.on_tool, "system": c.good}.get(line.row.role, c.text)
        self._text(painter, QRect(x, rect.top(), role, high), line.row.role, colour)
        x += role
        tool = 11 * digit if rect.width() > 560 else 7 * digit
        self._text(painter, QRect(x, rect.top(), tool - 8, high), visible(line.row.tool).text, c.quiet)
        return x + tool

    def _paint_right(self, painter: QPainter, rect: QRect, metrics: QFontMetrics, line: Line, c: Colours) -> int:
        """Bar and tokens. Returns where they begin."""
        number = metrics.horizontalAdvance("0,000,000")
        right = rect.right() - 12
        painter.setPen(QColor(c.text))
        painter.drawText(QRect(right - number, rect.top(), number, rect.height()), _RIGHT, grouped(line.tokens))
        width = 86 if rect.width() > 640 else 48
        bar = QRectF(right - number - width, rect.center().y() - 2, width, 5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(c.faint))
        painter.drawRoundedRect(bar, 2.5, 2.5)
        if line.tokens:
            share = min(1.0, line.tokens / max(1, self.largest))
            painter.setBrush(QColor(c.categories[line.row.category]))
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), max(5.0, width * share), 5), 2.5, 2.5)
        return int(bar.left()) - 8

    def _paint_badges(self, painter: QPainter, rect: QRect, right: int, line: Line, c: Colours) -> int:
        """Chips, right to left. Returns where they begin."""
        if not line.row.badges:
            return right
        font = QFont(painter.font())
        normal = QFont(font)
        font.setPointSizeF(font.pointSizeF() * 0.86)
        painter.setFont(font)
        metrics = QFontMetrics(font)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for badge in reversed(line.row.badges[: 3 if rect.width() > 560 else 1]):
            width = metrics.horizontalAdvance(badge) + 14
            high = metrics.height() + 2
            chip = QRectF(right - width + 0.5, rect.center().y() - high / 2 + 0.5, width, high)
            colour = {"error": c.high, "summary": c.good, "cleared": c.low}.get(badge, c.quiet)
            painter.setPen(QColor(colour if badge in ("error", "summary", "cleared") else c.line))
            painter.drawRoundedRect(chip, high / 2, high / 2)
            painter.setPen(QColor(colour))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, badge)
            right -= width + 6
        painter.setFont(normal)
        return right

    def _text(self, painter: QPainter, rect: QRect, text: str, colour: str) -> None:
        if rect.width() > 0:
            painter.setPen(QColor(colour))
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, rect.width(), _PLAIN)
            painter.drawText(rect, _MIDDLE | _PLAIN, shown)


def row_height(metrics: QFontMetrics) -> int:
    """Pixels of every row, for a font."""
    return metrics.height() + 8
