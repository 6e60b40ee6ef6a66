"""What lies over the curves: window, watermarks, compactions, playhead. One transparent widget paints it all."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsView, QWidget

from inspector.core.policies.policy import Watermark
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.line_drag import line_colour
from inspector.gui.widgets.plot_parts import end_place
from inspector.workbench.timeline import Mark


class PlotMarks(Guarded, QWidget):
    """Lets the mouse through. Positions come from the view boxes whenever it paints."""

    def __init__(self, view: QGraphicsView, theme: Theme, upper: Any, lower: Any) -> None:
        super().__init__(view.viewport())
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setStyleSheet("background: transparent")
        view.viewport().installEventFilter(self)
        self._view, self._theme, self._upper, self._lower = view, theme, upper, lower
        self.window_tokens: int | None = None
        self._lines: tuple[Watermark, ...] = ()
        self._marks: tuple[Mark, ...] = ()
        self._heights: Sequence[int | None] = ()
        self._end: int | None = None
        self._at: int | None = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Cover the whole plot, whatever its size."""
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._view.viewport().rect())
        return False

    def show_marks(self, marks: tuple[Mark, ...], heights: Sequence[int | None], end: int | None) -> None:
        """Other compactions; `heights`: the pressure at each request and at the end, for the dot of the playhead."""
        self._marks, self._heights, self._end = marks, heights, end
        self.update()

    def show_lines(self, window: int | None, lines: tuple[Watermark, ...]) -> bool:
        """Another window. Returns whether it is another."""
        changed = window != self.window_tokens
        if changed or lines != self._lines:
            self.window_tokens, self._lines = window, lines
            self.update()
        return changed

    def show_playhead(self, at: int | None) -> None:
        """Where we stand."""
        self._at = at
        self.update()

    # -- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Lines first, then compactions and silent drops, then the playhead on top."""
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(self._theme.small))
        area = self._area(self._upper)
        both = area.united(self._area(self._lower))
        painter.setClipRect(both)
        self._paint_lines(painter, area)
        self._paint_key(painter, self._area(self._lower))
        self._paint_compactions(painter, area, both)
        self._paint_playhead(painter, area, both)

    def _area(self, box: Any) -> QRectF:
        return QRectF(box.mapRectToScene(box.boundingRect()))

    def _point(self, x: float, y: float) -> QPointF:
        point = self._upper.mapViewToScene(QPointF(x, y))
        return QPointF(point.x(), point.y())

    def _paint_lines(self, painter: QPainter, area: QRectF) -> None:
        c = self._theme.colours
        rows = (
            [(f"window {grouped(self.window_tokens)}", self.window_tokens, c.quiet, Qt.PenStyle.SolidLine)]
            if self.window_tokens
            else []
        )
        for n, line in enumerate(self._lines):
            rows.append((line.label, line.tokens, line_colour(c, n), Qt.PenStyle.DashLine))
        metrics, taken = QFontMetricsF(painter.font()), area.top() - 100.0
        for text, tokens, colour, style in sorted(rows, key=lambda row: -row[1]):
            y = self._point(0, tokens).y()
            if area.top() <= y <= area.bottom():
                painter.setPen(QPen(ink(colour), 1, style))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
                taken = max(y - 3, taken + metrics.height() - 2)  # below the name of the line above
                painter.drawText(QPointF(area.left() + 6, taken), text)

    def _paint_key(self, painter: QPainter, area: QRectF) -> None:
        """What the curves of the second plot are."""
        c, x = self._theme.colours, area.left() + 6
        for word, colour in (("cache read", c.good), ("read anew", c.low), ("output", c.categories["thinking"])):
            painter.setPen(ink(colour))
            painter.drawText(QPointF(x, area.top() + 10), word)
            x += QFontMetricsF(painter.font()).horizontalAdvance(word) + 12

    def _paint_compactions(self, painter: QPainter, area: QRectF, both: QRectF) -> None:
        c = self._theme.colours
        metrics = QFontMetricsF(painter.font())
        free = [area.left() - 100.0, area.left() - 100.0]  # where the text of each of two rows ends
        for mark in self._marks:
            x = self._point(mark.at - 0.5, 0).x()
            if not area.left() <= x <= area.right():
                continue
            colour = ink(c.high if mark.silent and mark.large else c.good)
            style = (
                Qt.PenStyle.DotLine
                if not mark.large
                else Qt.PenStyle.DashLine
                if mark.silent
                else Qt.PenStyle.SolidLine
            )
            painter.setPen(QPen(colour, 1, style))
            top = area.top() if mark.large else area.bottom() - 8
            painter.drawLine(QPointF(x, top), QPointF(x, both.bottom() if mark.large else area.bottom()))
            width = metrics.horizontalAdvance(mark.label) + 10
            left = x + 5 if x + width < area.right() else x - width + 5
            row = next((row for row in (0, 1) if mark.large and free[row] < left), None)
            if row is not None:
                free[row] = left + width
                painter.drawText(QPointF(left, area.top() + metrics.ascent() + row * metrics.height()), mark.label)

    def _paint_playhead(self, painter: QPainter, area: QRectF, both: QRectF) -> None:
        count = len(self._heights)
        if not count:
            return
        c, at = self._theme.colours, end_place(count) if self._at is None else self._at
        height = self._end if self._at is None else self._heights[self._at] if self._at < count else None
        point = self._point(at, height or 0)
        if not area.left() - 1 <= point.x() <= area.right() + 1:
            return
        painter.setPen(QPen(ink(c.playhead), 1.5))
        painter.drawLine(QPointF(point.x(), area.top()), QPointF(point.x(), both.bottom()))
        if height is not None:
            painter.setPen(QPen(ink(c.window), 1.5))
            painter.setBrush(ink(c.accent))
            painter.drawEllipse(point, 4.5, 4.5)
        word = "end" if self._at is None else str(self._at)
        font = QFont(painter.font())
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        width = QFontMetricsF(font).horizontalAdvance(word) + 10
        left = point.x() + 4 if point.x() + width + 6 < both.right() else point.x() - width - 4
        painter.setPen(ink(c.playhead))
        painter.drawText(QRectF(left, area.bottom() - 30, width, 16), Qt.AlignmentFlag.AlignCenter, word)
