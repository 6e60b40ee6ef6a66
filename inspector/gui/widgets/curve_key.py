"""The key above the timeline: which curve is which. Every curve differs in stroke, not in colour alone."""

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.theme import Theme

_STROKE = 18


class CurveKey(Guarded, QWidget):
    """Three strokes with their names."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("reported: solid; predicted: dashed; what the policy believes: thin grey")

    def _words(self) -> tuple[tuple[str, str, Qt.PenStyle], ...]:
        c = self._theme.colours
        return (
            ("reported", c.accent, Qt.PenStyle.SolidLine),
            ("predicted", c.accent, Qt.PenStyle.DashLine),
            ("believed", c.missing, Qt.PenStyle.SolidLine),
        )

    def sizeHint(self) -> QSize:
        """All words in a line."""
        metrics = self.fontMetrics()
        width = sum(metrics.horizontalAdvance(word) + _STROKE + 18 for word, _, _ in self._words())
        return QSize(width, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Stroke, word, stroke, word."""
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        metrics, x = self.fontMetrics(), 0
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for word, colour, style in self._words():
            painter.setPen(QPen(ink(colour), 1.6, style))
            y = self.height() / 2
            painter.drawLine(QPointF(x, y), QPointF(x + _STROKE, y))
            painter.setPen(ink(self._theme.colours.quiet))
            painter.drawText(QPointF(x + _STROKE + 5, (self.height() + metrics.ascent() - metrics.descent()) / 2), word)
            x += _STROKE + 18 + metrics.horizontalAdvance(word)
