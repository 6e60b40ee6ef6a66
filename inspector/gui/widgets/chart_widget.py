"""A plot painted with QPainter: its picture is cached until something changes, and a click selects a request."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.chart import LinearScale, round_values

NUMBERS_ACROSS = 24
"""Minimum number of pixels between two numbers below a plot."""


class Chart(Guarded, QWidget):
    """Base class of charts. A subclass says which area holds the data, paints it, and maps positions to requests."""

    moved = Signal(object)
    """Emitted with the index of the request that was clicked."""
    hovered = Signal(str)
    """Emitted with the text about the request under the mouse; empty if there is none."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self._picture: QPixmap | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(name)

    # -- for subclasses ------------------------------------------------------------------------------------------------

    def paint_data(self, painter: QPainter) -> None:
        """Paint everything except what moves with the playhead."""
        raise NotImplementedError

    def paint_playhead(self, painter: QPainter) -> None:
        """Paint what moves with the playhead."""

    def request_at(self, place: QPointF) -> int | None:
        """Return the index of the request at a position in pixels; None if there is none."""
        return None

    def about(self, at: int) -> str:
        """Return the text that describes the request under the mouse."""
        return ""

    # -- measures ------------------------------------------------------------------------------------------------------

    @property
    def font_small(self) -> QFont:
        """The font of all text in a chart."""
        return ui_font(self._theme.small)

    @property
    def metrics(self) -> QFontMetricsF:
        """Font metrics of `font_small`."""
        return QFontMetricsF(self.font_small)

    # -- painting ------------------------------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Discard the cached picture and repaint."""
        self._picture = None
        self.update()

    restyle = redraw

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._picture is None:
            self._picture = self._draw()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self.font_small)
            painter.drawPixmap(0, 0, self._picture)
            self.paint_playhead(painter)

    def _draw(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(ink(self._theme.colours.window))
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self.font_small)
            self.paint_data(painter)
        return picture

    def paint_bottom_numbers(
        self,
        painter: QPainter,
        area: QRectF,
        across: LinearScale,
        spell: Callable[[float], str],
        least: float = 0.0,
    ) -> None:
        """Write round numbers below the plot, moved inwards if they would leave the widget."""
        metrics = self.metrics
        widest = self.metrics.horizontalAdvance(spell(max(across.high, -across.low)))
        painter.setPen(ink(self._theme.colours.quiet))
        for value in round_values(across, widest + NUMBERS_ACROSS, least):
            words = spell(value)
            wide = metrics.horizontalAdvance(words)
            left = max(0.0, min(across.pixel(value) - wide / 2, self.width() - wide))
            painter.drawText(QPointF(left, area.bottom() + 6 + metrics.ascent()), words)

    def paint_titles(self, painter: QPainter, area: QRectF, below: str, beside: str) -> None:
        """Write the titles of the axes: below the numbers, and turned at the left edge."""
        metrics = self.metrics
        painter.setPen(ink(self._theme.colours.text))
        foot = area.bottom() + 8 + metrics.height()
        room = QRectF(area.left(), foot, area.width(), metrics.height() + 2)
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, below)
        if not beside:
            return
        painter.save()
        painter.translate(0, area.center().y())
        painter.rotate(-90)
        turned = QRectF(-self.height() / 2, 2, self.height(), metrics.height() + 2)
        painter.drawText(turned, Qt.AlignmentFlag.AlignCenter, beside)
        painter.restore()

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        request = self.request_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and request is not None:
            self.moved.emit(request)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        request = self.request_at(event.position())
        self.setCursor(
            Qt.CursorShape.ArrowCursor if request is None else Qt.CursorShape.PointingHandCursor
        )
        self.hovered.emit("" if request is None else self.about(request))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit("")


LEAST_MANY = 10
"""Number of values from which outliers may lie beyond the end of an axis."""


def robust_reach(values: Sequence[float], share: float = 0.98, slack: float = 1.6) -> float:
    """Return the value that an axis should reach: the largest size, unless a few of many values are far larger."""
    sizes = sorted(abs(value) for value in values)
    if len(sizes) < LEAST_MANY:
        return max(1.0, *sizes, 0.0)
    usual = sizes[int(share * (len(sizes) - 1))]
    return max(1.0, min(sizes[-1], usual * slack if usual else sizes[-1]))
