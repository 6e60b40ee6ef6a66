"""The tank of the gauge: filled by category, with its watermarks, the reserve hatched; and its numbers in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QFont, QHelpEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.findings.triggers import trigger_words
from inspector.core.policies.verdict import Watermark
from inspector.core.words import per_cent
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.labels import NOT_IN_FILE, tip
from inspector.gui.look.number_formats import error_words, grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag, line_colour
from inspector.workbench.gauge import GaugeReading

TANK = 76
"""Width of the tank in pixels; what is right of it belongs to the labels."""
EDGE = 10
"""How far a line stands out on the left."""
FLAG = 6
"""Width of the flag at the level; the one of what the policy believes stands right of it, so that both can be seen."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One colour in the tank, from `low` to `high` tokens."""

    name: str
    low: int
    high: int
    colour: str


class Tank(Guarded, QWidget):
    """Shows a GaugeReading. Hover tells what is under the mouse."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__()
        self._theme, self._drag = theme, drag
        self.setMouseTracking(True)
        self._reading: GaugeReading | None = None
        self._layers: tuple[Layer, ...] = ()
        self._full = 1
        """Tokens at the rim: the window, or more where the buffer overflows it or no window is known."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(150)
        self.setAccessibleName("Pressure")

    def sizeHint(self) -> QSize:
        return QSize(200, 340)

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Paint this one from now on."""
        self._reading = reading
        self._layers = layers(reading, self._theme.colours) if reading else ()
        if reading is not None:
            numbers = (reading.pressure.tokens, reading.before, reading.believed, *(one.high for one in self._layers))
            high, window = max(number or 0 for number in numbers), reading.window.tokens
            self._full = max(window, high) if window else max(1, high * 4 // 3)
        self.setAccessibleDescription(spoken(reading))
        self.update()

    def restyle(self) -> None:
        self.show_reading(self._reading)

    def _body(self) -> QRectF:
        return QRectF(EDGE - 6, 1, TANK, self.height() - 2)

    def _y(self, tokens: float) -> float:
        body = self._body()
        return body.bottom() - body.height() * tokens / self._full

    def paintEvent(self, event: QPaintEvent) -> None:
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
        self._paint_reserve(painter, body, self._reading)
        painter.restore()
        self._paint_levels(painter, body, self._reading)
        pixels = body.height() / self._full
        notches = {round(pixels * one.tokens): one.tokens for one in self._reading.triggers}  # one a pixel of thousands
        for tokens in notches.values():  # on the left: the lines belong to the policy
            self._across(painter, tokens, 0, body.left() + EDGE, QPen(ink(colours.good), 2))
        self._paint_lines(painter, body, self._reading)

    def _paint_layers(self, painter: QPainter, body: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for layer in self._layers:
            rect = QRectF(body.left(), self._y(layer.high), body.width(), self._y(layer.low) - self._y(layer.high))
            painter.fillRect(rect, ink(layer.colour))
        for layer in self._layers[1:]:
            self._across(painter, layer.low, body.left(), body.right(), QPen(ink(self._theme.colours.window), 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def _paint_reserve(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        window, room = reading.window.tokens, reading.reserve
        if window and room:
            top = self._y(window)
            hatch = QBrush(ink(self._theme.colours.missing), Qt.BrushStyle.BDiagPattern)
            painter.fillRect(QRectF(body.left(), top, body.width(), self._y(window - room) - top), hatch)

    def _paint_levels(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        """After a step the recorded buffer's; the band and the level of what stands here; what the policy believes."""
        c, tokens, band = self._theme.colours, reading.pressure.tokens, reading.pressure.band
        here = ink(c.playhead)
        if reading.before is not None:
            pen = QPen(ink(c.accent), 1.2, Qt.PenStyle.DashLine)
            self._across(painter, reading.before, body.left(), body.right(), pen)
        if band is not None:  # where the true number most likely lies, left of the tank
            painter.setPen(QPen(here, 2))
            painter.drawLine(QPointF(body.left() - 3, self._y(band[0])), QPointF(body.left() - 3, self._y(band[1])))
        if tokens is not None:  # with a little flag, as the layers may end elsewhere
            y = self._across(painter, tokens, body.left(), body.right() + 4, QPen(here, 1.5))
            painter.fillPath(_flag(body.right() + 2, y, body.bottom()), here)
        if reading.believed is not None and reading.believed != tokens:  # dotted, an open flag: it is no second truth
            far = body.right() + 2 + FLAG + 1
            y = self._across(painter, reading.believed, body.left(), far, QPen(here, 1, Qt.PenStyle.DotLine))
            painter.setPen(QPen(here, 1))
            painter.drawPath(_flag(far, y, body.bottom()))

    def _across(self, painter: QPainter, tokens: float, left: float, right: float, pen: QPen) -> float:
        """A line as high as so many tokens. Returns where that is."""
        y = self._y(tokens)
        painter.setPen(pen)
        painter.drawLine(QPointF(left, y), QPointF(right, y))
        return y

    def _paint_lines(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        colours, metrics, x = self._theme.colours, painter.fontMetrics(), body.right() + 20
        plain, bold = QFont(painter.font()), QFont(painter.font())
        bold.setWeight(QFont.Weight.DemiBold)
        coloured = [(line, line_colour(colours, n)) for n, line in enumerate(reading.lines)]
        lowest_first = sorted(coloured, key=lambda one: one[0].tokens)
        ys = [self._y(line.tokens) for line, _ in lowest_first]
        above, below = metrics.ascent() + 1, metrics.height() + metrics.descent()
        places = label_places(ys, above, below, self.height())
        alone = not places  # so many lines, or so large letters, that only their names have room
        places = places or label_places(ys, above, metrics.descent(), self.height()) or ys
        for (line, colour), baseline in zip(lowest_first, places, strict=True):
            pen = QPen(ink(colour), 1.5)
            self._across(painter, line.tokens, body.left() - 4, body.right() + 16, pen)
            painter.setFont(bold)
            name = painter.fontMetrics().elidedText(line.label, Qt.TextElideMode.ElideRight, int(self.width() - x))
            painter.drawText(QPointF(x, baseline - 1), name)
            painter.setFont(plain)
            painter.setPen(ink(colours.quiet))
            if not alone:
                painter.drawText(QPointF(x, baseline + metrics.height() - 1), headroom(reading, line))
        floor = places[-1] - above if places else self.height()
        if reading.window.tokens and reading.reserve:
            painter.setPen(ink(colours.quiet))
            rim = self._y(reading.window.tokens) + metrics.ascent()
            if rim + metrics.descent() <= floor:
                painter.drawText(QPointF(body.right() + 13, rim), "answer reserve")

    def _line_at(self, y: float) -> Watermark | None:
        lines = self._reading.lines if self._reading else ()
        near = [line for line in lines if abs(self._y(line.tokens) - y) <= REACH]
        return min(near, key=lambda line: abs(self._y(line.tokens) - y), default=None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        line = self._line_at(event.position().y())
        if line is not None and event.button() == Qt.MouseButton.LeftButton:
            self._drag.take(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        y = event.position().y()
        if self._drag.held is not None and self._reading is not None:
            body = self._body()
            self._drag.move((body.bottom() - y) / body.height() * self._full)
        self.setCursor(
            Qt.CursorShape.SplitVCursor
            if self._drag.held is not None or self._line_at(y) is not None
            else Qt.CursorShape.ArrowCursor
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag.drop()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """It goes back to the policy's own value."""
        line = self._line_at(event.position().y())
        if line is not None:
            self._drag.give_back(line)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self._reading is not None:
            QToolTip.showText(event.globalPos(), tip(self._about(event.pos().y(), self._reading)), self)
            return True
        return super().event(event)

    def _about(self, y: float, reading: GaugeReading) -> str:
        window = reading.window.tokens
        line = self._line_at(y)
        if line is not None:
            return (
                f"{line.label}: above {grouped(line.tokens)} tokens. Drag it: what would have fired when? "
                "Escape brings it back, a double click to the policy's own value."
            )
        if any(abs(self._y(one.tokens) - y) <= REACH for one in reading.triggers):
            return f"The recorded agent {trigger_words(reading.triggers)}"
        believed = reading.believed
        if believed is not None and abs(self._y(believed) - y) <= REACH:
            return f"{belief_words(reading)}. It decides what fires."
        for layer in self._layers:
            if self._y(layer.high) <= y <= self._y(layer.low):
                share = f", {per_cent((layer.high - layer.low) / window, 1)} of the window" if window else ""
                return f"{layer.name}: {grouped(layer.high - layer.low)} tokens{share}"
        if window and y < self._y(window - reading.reserve):
            return f"{grouped(reading.reserve)} tokens that clients usually keep free for the answer"
        return f"{grouped(window - (reading.pressure.tokens or 0))} tokens free" if window else ""


def label_places(ys: Sequence[float], above: float, below: float, height: float) -> list[float]:
    """Baselines of labels for lines at these heights, the lowest line first: each at its line, or as near as it can be
    without lying on another or leaving what is so high. Empty where there is no room for all."""
    places, floor = list[float](), height
    for y in ys:
        places.append(min(y, floor - below))
        floor = places[-1] - above
    roof = 0.0
    for n in reversed(range(len(places))):
        places[n] = max(places[n], roof + above)
        roof = places[n] + below
    return places if roof <= height else []


def _flag(x: float, y: float, lowest: float) -> QPainterPath:
    """Points to the left, at (x, y); the whole of it in sight."""
    y = max(4.0, min(y, lowest - 4))
    flag = QPainterPath(QPointF(x, y))
    flag.lineTo(x + FLAG, y - 4)
    flag.lineTo(x + FLAG, y + 4)
    flag.closeSubpath()
    return flag


def layers(reading: GaugeReading, colours: Colours) -> tuple[Layer, ...]:
    """What fills the tank, from the bottom: what the file lacks, then the categories."""
    found: list[Layer] = []
    level = 0
    stack = [(NOT_IN_FILE, reading.unseen, colours.missing)]
    stack += [(name, tokens, colours.categories[name]) for name, tokens in reading.parts]
    for name, tokens, colour in stack:
        if tokens:
            found.append(Layer(name, level, level + tokens, colour))
            level += tokens
    return tuple(found)


def belief_words(reading: GaugeReading) -> str:
    """`Roku believes 53,264: 12.0% too low`; empty while nobody has worked it out."""
    if reading.believed is None:
        return ""
    return f"{reading.believer} believes {grouped(reading.believed)}{error_words(reading.belief_error)}"


def headroom(reading: GaugeReading, line: Watermark) -> str:
    """`2,310 over`, `12,000 to go`: as the policy counts, like the verdict of the tier."""
    measured = reading.measured
    if measured is None:
        return grouped(line.tokens)
    room = line.to_go(measured)
    return f"{grouped(-room)} over" if line.fires(measured) else f"{grouped(room)} to go"


def spoken_pressure(reading: GaugeReading | None) -> str:
    """`61.4 percent, 122,765 of 200,000, reported`."""
    if reading is None:
        return "nothing open"
    pressure, window = reading.pressure, reading.window.tokens
    share = f"{reading.ratio * 100:.1f} percent, " if reading.ratio is not None else ""
    tokens = "no tokens to count" if pressure.tokens is None else grouped(pressure.tokens)
    return f"{share}{tokens}{f' of {grouped(window)}' if window else ''}, {pressure.kind}"


def spoken(reading: GaugeReading | None) -> str:
    """The tank for those who cannot see it."""
    if reading is None:
        return "nothing open"
    parts = ", ".join(f"{name} {grouped(tokens)}" for name, tokens in reversed(reading.parts))
    lines = ", ".join(f"{line.label}: {headroom(reading, line)}" for line in reading.lines)
    unseen = f". {NOT_IN_FILE.capitalize()} {grouped(reading.unseen)}" if reading.unseen else ""
    believed = f". {belief_words(reading)}" if reading.believed is not None else ""
    agent = f". The recorded agent {trigger_words(reading.triggers)}" if reading.triggers else ""
    return f"{spoken_pressure(reading)}. {parts}{unseen}{believed}. {lines}{agent}"
