"""Paints one row of the buffer list in one go: number, role, tool, first line, badges, bar, tokens."""

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPixmap
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from inspector.core.message import Message
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, fate_colour, ink
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import visible
from inspector.gui.panels.buffer.model import BufferModel, Index, Line
from inspector.workbench.diff import LETTERS

_MIDDLE = Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_PLAIN = Qt.TextFlag.TextSingleLine


NARROW = 440
"""Pixels below which a row does without tool and badges."""
PICTURES = 300
"""So many rows are kept painted, about 70 KB each: walking and scrolling then copy most of what they show."""


class BufferDelegate(Guarded, QStyledItemDelegate):
    """`largest`: tokens that fill the bar."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self.largest = 1
        self._lettered = False
        self._pictures: dict[tuple[object, ...], tuple[QPixmap, Message]] = {}
        """Rows as they were painted; the message keeps its `id()` from being used again."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """All rows are of one height."""
        return QSize(0, row_height(option.fontMetrics))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The row, from its picture; a new one is drawn only where something of it has changed."""
        line = index.data(BufferModel.LINE)
        if not isinstance(line, Line):
            return
        rect, state = option.rect, option.state
        marked = 2 if state & QStyle.StateFlag.State_Selected else 1 if state & QStyle.StateFlag.State_MouseOver else 0
        density = painter.device().devicePixelRatioF()
        looks = (line.number, line.tokens, line.fresh, line.fate, marked)
        key = (id(line.message), *looks, rect.width(), rect.height(), density)
        known = self._pictures.pop(key, None)
        if known is None:
            known = (self._picture(line, rect.size(), option, marked, density), line.message)
            if len(self._pictures) >= PICTURES:
                del self._pictures[next(iter(self._pictures))]
        self._pictures[key] = known  # the last in the dict is the last that was used
        painter.drawPixmap(rect.topLeft(), known[0])

    def letter(self, on: bool) -> None:
        """Leave room for the letters of fates, which stand behind steps of ours."""
        if on != self._lettered:
            self._lettered = on
            self.forget()

    def forget(self) -> None:
        """Other colours, fonts or bars: no picture holds any more."""
        self._pictures.clear()

    def _picture(self, line: Line, size: QSize, option: QStyleOptionViewItem, marked: int, density: float) -> QPixmap:
        c = self._theme.colours
        picture = QPixmap(size * density)
        picture.setDevicePixelRatio(density)
        picture.fill(ink((c.window, c.faint, c.selected)[marked]))
        with QPainter(picture) as painter:
            painter.setFont(option.font)
            self._paint_row(painter, QRect(QPoint(0, 0), size), line, c)
        return picture

    def _paint_row(self, painter: QPainter, rect: QRect, line: Line, c: Colours) -> None:
        metrics = painter.fontMetrics()
        painter.setPen(ink(c.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if line.fresh or line.fate != "kept":
            strip = c.accent if line.fate == "kept" else fate_colour(c, line.fate)
            painter.fillRect(QRect(0, 0, 3, rect.height()), ink(strip))
        left = self._paint_left(painter, rect, metrics, line, c)
        right = self._paint_right(painter, rect, metrics, line, c)
        right = self._paint_badges(painter, rect, right, line, c)
        room = QRect(left, 0, right - left - 8, rect.height())
        self._text(painter, room, visible(line.row.line).text, c.text)

    def _paint_left(self, painter: QPainter, rect: QRect, metrics: QFontMetrics, line: Line, c: Colours) -> int:
        """Number, role, tool. Returns where the first line begins."""
        digit = metrics.horizontalAdvance("0")
        x, high = rect.left() + 8, rect.height()
        painter.setPen(ink(c.quiet))
        painter.drawText(QRect(x, rect.top(), 5 * digit, high), _RIGHT, str(line.number))
        x += 5 * digit + 9
        if self._lettered:
            self._paint_letter(painter, QRect(x, rect.top(), 2 * digit, high), line, c)
            x += 2 * digit
        role = metrics.horizontalAdvance("assistant") + 12
        colour = {"user": c.accent, "tool": c.on_tool, "system": c.good}.get(line.row.role, c.text)
        self._text(painter, QRect(x, rect.top(), role, high), line.row.role, colour)
        x += role
        if rect.width() < NARROW:
            return x
        tool = 11 * digit if rect.width() > 560 else 7 * digit
        self._text(painter, QRect(x, rect.top(), tool - 8, high), visible(line.row.tool).text, c.quiet)
        return x + tool

    def _paint_letter(self, painter: QPainter, room: QRect, line: Line, c: Colours) -> None:
        if line.fate == "kept":
            return
        plain, bold = QFont(painter.font()), QFont(painter.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(ink(fate_colour(c, line.fate)))
        painter.drawText(room, _MIDDLE, LETTERS[line.fate])
        painter.setFont(plain)

    def _paint_right(self, painter: QPainter, rect: QRect, metrics: QFontMetrics, line: Line, c: Colours) -> int:
        """Bar and tokens. Returns where they begin."""
        number = metrics.horizontalAdvance("0,000,000")
        right = rect.right() - 12
        painter.setPen(ink(c.text))
        painter.drawText(QRect(right - number, rect.top(), number, rect.height()), _RIGHT, grouped(line.tokens))
        width = 86 if rect.width() > 640 else 48
        bar = QRectF(right - number - width, rect.center().y() - 2, width, 5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(c.faint))
        painter.drawRoundedRect(bar, 2.5, 2.5)
        if line.tokens:
            share = min(1.0, line.tokens / max(1, self.largest))
            painter.setBrush(ink(c.categories[line.row.category]))
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), max(5.0, width * share), 5), 2.5, 2.5)
        return int(bar.left()) - 8

    def _paint_badges(self, painter: QPainter, rect: QRect, right: int, line: Line, c: Colours) -> int:
        """Chips, right to left. Returns where they begin."""
        if not line.row.badges or rect.width() < NARROW:
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
            painter.setPen(ink(colour if badge in ("error", "summary", "cleared") else c.line))
            painter.drawRoundedRect(chip, high / 2, high / 2)
            painter.setPen(ink(colour))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, badge)
            right -= width + 6
        painter.setFont(normal)
        return right

    def _text(self, painter: QPainter, rect: QRect, text: str, colour: str) -> None:
        if rect.width() > 0:
            painter.setPen(ink(colour))
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, rect.width(), _PLAIN)
            painter.drawText(rect, _MIDDLE | _PLAIN, shown)


def row_height(metrics: QFontMetrics) -> int:
    """Pixels of every row, for a font."""
    return metrics.height() + 8
