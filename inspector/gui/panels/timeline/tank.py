"""The tank of the gauge: filled by category, with its watermark lines, the reserve hatched."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QFont, QHelpEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.policies.verdict import Watermark
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped, percent
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag, line_colour
from inspector.gui.panels.timeline.tank_words import Layer, belief_words, headroom, layers, spoken
from inspector.workbench.gauge import GaugeReading

TANK = 92
"""Width of the tank in pixels; what is right of it belongs to the labels."""
EDGE = 10
"""How far a line stands out on the left."""
FLAG = 6
"""Width of the flag at the level; the one of what the policy believes stands right of it, so that both can be seen."""


class Tank(Guarded, QWidget):
    """Shows a GaugeReading. Hover tells what is under the mouse."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__()
        self._theme, self._drag = theme, drag
        self.setMouseTracking(True)
        self._reading: GaugeReading | None = None
        self._layers: tuple[Layer, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(150)

    def sizeHint(self) -> QSize:
        """Tall rather than wide."""
        return QSize(200, 340)

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Paint this one from now on."""
        self._reading = reading
        self._layers = layers(reading, self._theme.colours) if reading else ()
        self.setAccessibleDescription(spoken(reading))
        self.update()

    def restyle(self) -> None:
        """The colours have changed."""
        self.show_reading(self._reading)

    def _full(self) -> int:
        """Tokens at the rim: the window, or more where the buffer overflows it or no window is known."""
        assert self._reading is not None
        high = max(
            [
                self._reading.pressure.tokens or 0,
                self._reading.before or 0,
                self._reading.believed or 0,
                *(layer.high for layer in self._layers),
            ]
        )
        window = self._reading.window.tokens
        return max(window, high) if window else max(1, high * 4 // 3)

    def _body(self) -> QRectF:
        return QRectF(EDGE - 6, 1, TANK, self.height() - 2)

    def _y(self, tokens: float) -> float:
        body = self._body()
        return body.bottom() - body.height() * tokens / self._full()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The tank, its layers, its lines."""
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours, body = self._theme.colours, self._body()
        shape = QPainterPath()
        shape.addRoundedRect(body, 5, 5)
        painter.fillPath(shape, ink(colours.faint))
        if self._reading is None:
            return
        painter.save()
        painter.setClipPath(shape)
        self._paint_layers(painter, body)
        self._paint_reserve(painter, body)
        painter.restore()
        self._paint_before(painter, body)
        self._paint_band(painter, body)
        self._paint_level(painter, body)
        self._paint_belief(painter, body)
        self._paint_lines(painter, body)

    def _paint_before(self, painter: QPainter, body: QRectF) -> None:
        """Behind a step: how high the recorded buffer stood, by the same measure."""
        assert self._reading is not None
        if self._reading.before is not None:
            y = self._y(self._reading.before)
            painter.setPen(QPen(ink(self._theme.colours.accent), 1.2, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(body.left(), y), QPointF(body.right(), y))

    def _paint_layers(self, painter: QPainter, body: QRectF) -> None:
        assert self._reading is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for layer in self._layers:
            rect = QRectF(body.left(), self._y(layer.high), body.width(), self._y(layer.low) - self._y(layer.high))
            painter.fillRect(rect, ink(layer.colour))
        painter.setPen(QPen(ink(self._theme.colours.window), 1))
        for layer in self._layers[1:]:
            painter.drawLine(QPointF(body.left(), self._y(layer.low)), QPointF(body.right(), self._y(layer.low)))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def _paint_reserve(self, painter: QPainter, body: QRectF) -> None:
        assert self._reading is not None
        window, room = self._reading.window.tokens, self._reading.reserve
        if window and room:
            top = self._y(window)
            hatch = QBrush(ink(self._theme.colours.missing), Qt.BrushStyle.BDiagPattern)
            painter.fillRect(QRectF(body.left(), top, body.width(), self._y(window - room) - top), hatch)

    def _paint_level(self, painter: QPainter, body: QRectF) -> None:
        """Where the pressure stands: a line with a little flag, as the layers may end elsewhere."""
        assert self._reading is not None
        tokens = self._reading.pressure.tokens
        if tokens is None:
            return
        y = self._y(tokens)
        painter.setPen(QPen(ink(self._theme.colours.playhead), 1.5))
        painter.drawLine(QPointF(body.left(), y), QPointF(body.right() + 4, y))
        painter.fillPath(_flag(body.right() + 2, y), ink(self._theme.colours.playhead))

    def _paint_band(self, painter: QPainter, body: QRectF) -> None:
        """Where the true number most likely lies, left of the tank."""
        assert self._reading is not None
        band = self._reading.pressure.band
        if band is not None:
            painter.setPen(QPen(ink(self._theme.colours.playhead), 2))
            painter.drawLine(QPointF(body.left() - 3, self._y(band[0])), QPointF(body.left() - 3, self._y(band[1])))

    def _paint_belief(self, painter: QPainter, body: QRectF) -> None:
        """What the policy believes: a dotted line with an open flag, so that it is no second truth."""
        assert self._reading is not None
        tokens = self._reading.believed
        if tokens is None or tokens == self._reading.pressure.tokens:
            return
        y, far = self._y(tokens), body.right() + 2 + FLAG + 1
        painter.setPen(QPen(ink(self._theme.colours.playhead), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(body.left(), y), QPointF(far, y))
        painter.setPen(QPen(ink(self._theme.colours.playhead), 1))
        painter.drawPath(_flag(far, y))

    def _paint_lines(self, painter: QPainter, body: QRectF) -> None:
        assert self._reading is not None
        colours, reading = self._theme.colours, self._reading
        metrics = painter.fontMetrics()
        floor = float(self.height())  # labels of lower lines come first; higher ones keep clear of them
        coloured = [(line, line_colour(colours, n)) for n, line in enumerate(reading.lines)]
        for line, colour in sorted(coloured, key=lambda one: one[0].tokens):
            y = self._y(line.tokens)
            painter.setPen(QPen(ink(colour), 1.5))
            painter.drawLine(QPointF(body.left() - 4, y), QPointF(body.right() + 16, y))
            baseline = min(y, floor - metrics.height() - 4)
            floor = baseline - metrics.ascent()
            self._paint_label(painter, body.right() + 20, baseline, line.label, colour)
            painter.setPen(ink(colours.quiet))
            painter.drawText(QPointF(body.right() + 20, baseline + metrics.height() - 1), headroom(reading, line))
        if reading.window.tokens and reading.reserve:
            painter.setPen(ink(colours.quiet))
            painter.drawText(
                QPointF(body.right() + 13, self._y(reading.window.tokens) + metrics.ascent()), "answer reserve"
            )

    def _paint_label(self, painter: QPainter, x: float, baseline: float, text: str, colour: str) -> None:
        font = QFont(painter.font())
        bold = QFont(font)
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(ink(colour))
        room = int(self.width() - x)
        painter.drawText(
            QPointF(x, baseline - 1), painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        )
        painter.setFont(font)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _line_at(self, y: float) -> Watermark | None:
        lines = self._reading.lines if self._reading else ()
        near = [line for line in lines if abs(self._y(line.tokens) - y) <= REACH]
        return min(near, key=lambda line: abs(self._y(line.tokens) - y), default=None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A line is taken."""
        line = self._line_at(event.position().y())
        if line is not None and event.button() == Qt.MouseButton.LeftButton:
            self._drag.take(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """It follows; without one in the hand the mouse tells where there is one."""
        y = event.position().y()
        if self._drag.held is not None and self._reading is not None:
            body = self._body()
            self._drag.move((body.bottom() - y) / body.height() * self._full())
        self.setCursor(
            Qt.CursorShape.SplitVCursor
            if self._drag.held is not None or self._line_at(y) is not None
            else Qt.CursorShape.ArrowCursor
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """It stays."""
        self._drag.drop()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """It goes back to the policy's own value."""
        line = self._line_at(event.position().y())
        if line is not None:
            self._drag.give_back(line)

    def event(self, event: QEvent) -> bool:
        """Tooltips by place."""
        if isinstance(event, QHelpEvent) and self._reading is not None:
            QToolTip.showText(event.globalPos(), tip(self._told(event.pos().y())), self)
            return True
        return super().event(event)

    def _told(self, y: float) -> str:
        assert self._reading is not None
        window = self._reading.window.tokens
        line = self._line_at(y)
        if line is not None:
            return (
                f"{line.label}: above {grouped(line.tokens)} tokens. Drag it: what would have fired when? "
                "Escape brings it back, a double click to the policy's own value."
            )
        believed = self._reading.believed
        if believed is not None and abs(self._y(believed) - y) <= REACH:
            return f"{belief_words(self._reading)}. It decides what fires."
        for layer in self._layers:
            if self._y(layer.high) <= y <= self._y(layer.low):
                share = f", {percent((layer.high - layer.low) / window)} of the window" if window else ""
                return f"{layer.name}: {grouped(layer.high - layer.low)} tokens{share}"
        if window and y < self._y(window - self._reading.reserve):
            return f"{grouped(self._reading.reserve)} tokens that clients usually keep free for the answer"
        return f"{grouped(window - (self._reading.pressure.tokens or 0))} tokens free" if window else ""


def _flag(x: float, y: float) -> QPainterPath:
    """Points to the left, at (x, y)."""
    flag = QPainterPath(QPointF(x, y))
    flag.lineTo(x + FLAG, y - 4)
    flag.lineTo(x + FLAG, y + 4)
    flag.closeSubpath()
    return flag
