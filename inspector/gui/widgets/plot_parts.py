"""Parts of a plot: a view box whose left button moves the playhead, an axis that writes `50k`, a grid."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPen, QPicture

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import short
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.graphs import pg

_PAST = 0.6


def end_place(count: int) -> float:
    """Where the buffer after the last record stands, of a thread with so many requests."""
    return count - 1 + _PAST


class PlayheadBox(Guarded, pg.ViewBox):  # type: ignore[misc]
    """Left click and drag point at a request; the wheel and the right button zoom and move along the requests."""

    pointed = Signal(float)
    offered = Signal(float, object)
    """A right click at that request, and where on the screen."""
    all_wanted = Signal()
    lifted = Signal(float, bool)
    """A line that was gripped is dragged to that height; True: and let go."""

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.grip: Callable[[QPointF], bool] = lambda place: False
        """Asked where a drag begins: is there something in its way that is to be dragged instead of the playhead?"""
        self._gripped = False
        self.setMouseEnabled(x=True, y=False)
        self.setDefaultPadding(0)

    def mouseClickEvent(self, event: Any) -> None:
        """A click stands; a double click wants all again."""
        if event.button() == Qt.MouseButton.RightButton:
            event.accept()
            self.offered.emit(self.mapToView(event.pos()).x(), event.screenPos().toPoint())
            return
        if event.button() != Qt.MouseButton.LeftButton:
            return
        event.accept()
        if event.double():
            self.all_wanted.emit()
        else:
            self.pointed.emit(self.mapToView(event.pos()).x())

    def mouseDragEvent(self, event: Any, axis: int | None = None) -> None:
        """Left drags the playhead, others the view."""
        if event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            if event.isStart():
                self._gripped = self.grip(self.mapToView(event.buttonDownPos()))
            place = self.mapToView(event.pos())
            if self._gripped:
                self.lifted.emit(place.y(), event.isFinish())
            else:
                self.pointed.emit(place.x())
        else:
            super().mouseDragEvent(event, axis)


class TokenAxis(Guarded, pg.AxisItem):  # type: ignore[misc]
    """Numbers in thousands beside the plot, and nothing else: no line, no ticks.

    pyqtgraph records an axis in a QPicture and replays it in every frame; drawing these few texts is ten times as fast.
    """

    def __init__(self) -> None:
        super().__init__("left", maxTickLength=0)
        self._texts: list[tuple[QRectF, int, str]] = []
        self.picture: QPicture | None = None
        self.setStyle(tickTextOffset=6, autoExpandTextSpace=False, autoReduceTextSpace=True)
        self.enableAutoSIPrefix(False)

    def paint(self, painter: QPainter, option: Any, widget: Any) -> None:
        """The texts; worked out anew when the range or the size has changed."""
        font = self.style["tickFont"] or self.font()
        if self.picture is None:  # pyqtgraph's sign that the range or the size has changed
            canvas = QPicture()
            measuring = QPainter(canvas)
            measuring.setFont(font)
            specs = self.generateDrawSpecs(measuring)
            measuring.end()
            self.picture = canvas
            self._texts = specs[2] if specs else []
        painter.setFont(font)
        painter.setPen(self.textPen())
        for rect, flags, text in self._texts:
            painter.drawText(rect, int(flags), text)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """`0`, `50k`, `100k`."""
        return [short(value) for value in values]

    def levels(self, low: float, high: float) -> list[float]:
        """Where the numbers stand: the lines of the grid."""
        ticks = self.tickValues(low, high, self.geometry().height())
        return [float(value) for value in ticks[0][1]] if ticks else []


class Grid(Guarded, pg.GraphicsObject):  # type: ignore[misc]
    """Hairlines behind the curves, where the axis has its numbers."""

    def __init__(self, box: pg.ViewBox, axis: TokenAxis, theme: Theme) -> None:
        super().__init__()
        self._box, self._axis, self._theme = box, axis, theme
        self.setZValue(-10)

    def boundingRect(self) -> QRectF:
        """All that can be seen."""
        return QRectF(self._box.viewRect())

    def paint(self, painter: QPainter, option: Any, widget: Any) -> None:
        """One line a number."""
        seen = self._box.viewRect()
        pen = QPen(ink(self._theme.colours.faint), 1)
        pen.setCosmetic(True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(pen)
        for level in self._axis.levels(seen.top(), seen.bottom()):
            painter.drawLine(QPointF(seen.left(), level), QPointF(seen.right(), level))
