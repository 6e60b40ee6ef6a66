"""The tank of the gauge: filled by category, with its lines and the client's notch, the reserve hatched."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QFont, QHelpEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.findings.triggers import ClientTrigger
from inspector.core.words import per_cent
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import NOT_RECORDED, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag, line_colours
from inspector.gui.panels.timeline.readings import describe_line, headroom, spoken_tank
from inspector.gui.widgets.label_space import elide_name, stack_labels
from inspector.workbench.pressure.gauge import GaugeReading
from inspector.workbench.pressure.scale import GaugeLine

LEFT, TANK, BESIDE = 8, 80, 10
"""Pixels: left of the tank, where the lines have their handles; of the tank; between the tank and its labels."""
FOLDED_TANK = 24
"""Pixels of the tank when the gauge is folded: its labels are then the shares alone."""
NOTCH = 6
"""Pixels of the client's notch."""
_HANDLE = (5, 10)
"""Pixels of a line's handle: width and height."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One colour in the tank, from `low` to `high` tokens."""

    name: str
    low: int
    high: int
    colour: str
    tokens: int
    """What it stands for: more than is drawn where the provider counts less than is recorded."""


@dataclass(frozen=True, slots=True)
class TankLabel:
    """Words beside the tank: the first in a heavier weight, the second quietly below it."""

    tokens: int
    """Where it belongs."""
    name: str
    about: str
    colour: str
    explanation: str
    """What a hover says."""
    rank: int = 0
    """Of several that have no room, those of the highest rank go first."""


class Tank(Guarded, QWidget):
    """Shows a GaugeReading. Hover explains what is under the mouse; lines can be dragged."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__()
        self._theme, self._drag = theme, drag
        self.setMouseTracking(True)
        self._reading: GaugeReading | None = None
        self._layers: tuple[Layer, ...] = ()
        self._folded = False
        self._rooms: list[tuple[QRectF, TankLabel]] = []
        """Where the labels were painted last."""
        self._full = 1
        """Tokens at the rim: the window, or more where the buffer overflows it."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(150)
        self.setAccessibleName("Pressure")

    def sizeHint(self) -> QSize:
        return QSize(200, 340)

    def minimumSizeHint(self) -> QSize:
        return QSize(FOLDED_TANK, 150)

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Paint this one from now on."""
        self._reading = reading
        self._layers = layers(reading, self._theme.colours) if reading else ()
        if reading is not None:
            levels = (reading.pressure.tokens, reading.before, *(layer.high for layer in self._layers))
            self._full = max(reading.rim, *(level or 0 for level in levels))
        self.setAccessibleDescription(spoken_tank(reading))
        self.update()

    def fold(self, folded: bool) -> None:
        """Show a narrow tank with short labels, or all of it again."""
        self._folded = folded
        self.update()

    def restyle(self) -> None:
        self.show_reading(self._reading)

    def y_of(self, tokens: float) -> float:
        """Return the height at which so many tokens stand."""
        body = self._body()
        return body.bottom() - body.height() * tokens / self._full

    def _body(self) -> QRectF:
        return QRectF(LEFT, 1, FOLDED_TANK if self._folded else TANK, self.height() - 2)

    # -- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        body, reading = self._body(), self._reading
        shape = QPainterPath()
        shape.addRoundedRect(body, 3, 3)
        painter.fillPath(shape, ink(self._theme.colours.faint))
        if reading is None:
            return
        painter.save()
        painter.setClipPath(shape)
        self._paint_layers(painter, body)
        self._paint_reserve(painter, body, reading)
        painter.restore()
        self._paint_levels(painter, body, reading)
        self._paint_notches(painter, body, reading)
        for line, colour in self._coloured(reading.lines):
            self._paint_line(painter, body, line, colour)
        self._paint_labels(painter, reading)

    def _paint_layers(self, painter: QPainter, body: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for layer in self._layers:
            top, bottom = self.y_of(layer.high), self.y_of(layer.low)
            painter.fillRect(QRectF(body.left(), top, body.width(), bottom - top), ink(layer.colour))
        painter.setPen(QPen(ink(self._theme.colours.window), 1))
        for layer in self._layers[1:]:
            y = self.y_of(layer.low)
            painter.drawLine(QPointF(body.left(), y), QPointF(body.right(), y))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def _paint_reserve(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        window, room = reading.window.tokens, reading.reserve
        if window and room:
            top = self.y_of(window)
            hatch = QBrush(ink(self._theme.colours.missing), Qt.BrushStyle.BDiagPattern)
            painter.fillRect(QRectF(body.left(), top, body.width(), self.y_of(window - room) - top), hatch)

    def _paint_levels(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        """After a step the level of the recorded buffer; else what the tier that is looked at would leave."""
        colours = self._theme.colours
        if reading.before is not None:
            y = self.y_of(reading.before)
            painter.setPen(QPen(ink(colours.accent), 1.2, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(body.left(), y), QPointF(body.right(), y))
        elif reading.preview is not None:
            top = self.y_of(reading.preview.tokens)
            left = QRectF(body.left(), top, body.width(), body.bottom() - top).adjusted(1, 0, -1, -1)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(ink(colours.playhead), 1.4, Qt.PenStyle.DashLine))
            painter.drawRect(left)

    def _paint_notches(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        """Triangles right of the tank, one a pixel."""
        sizes = reading.trigger.notches if reading.trigger is not None else ()
        for y in {round(self.y_of(tokens)) for tokens in sizes}:
            notch = QPainterPath(QPointF(body.right() + 1, y))
            notch.lineTo(body.right() + 1 + NOTCH, y - NOTCH / 2 - 1)
            notch.lineTo(body.right() + 1 + NOTCH, y + NOTCH / 2 + 1)
            notch.closeSubpath()
            painter.fillPath(notch, ink(self._theme.colours.good))

    def _paint_line(self, painter: QPainter, body: QRectF, line: GaugeLine, colour: str) -> None:
        """With an edge in the colour of the ground, so that it is seen on every category; at its left the handle."""
        y = self.y_of(line.tokens)
        ends = QPointF(body.left() - 3, y), QPointF(body.right() + 5, y)
        painter.setPen(QPen(ink(self._theme.colours.window), 4))
        painter.drawLine(*ends)
        style = Qt.PenStyle.SolidLine if line.is_scale else Qt.PenStyle.DashLine
        painter.setPen(QPen(ink(colour), 2, style))
        painter.drawLine(*ends)
        paint_handle(painter, QPointF(body.left() - 3, y), colour)

    def _coloured(self, lines: Sequence[GaugeLine]) -> Iterator[tuple[GaugeLine, str]]:
        yield from zip(lines, line_colours(self._theme.colours, lines), strict=True)

    # -- labels --------------------------------------------------------------------------------------------------------

    def _labels(self, reading: GaugeReading) -> list[TankLabel]:
        """Return the labels, the highest first."""
        colours, window = self._theme.colours, reading.window.tokens
        labels = [self._line_label(reading, line, colour) for line, colour in self._coloured(reading.lines)]
        if self._folded:
            labels = [label for label, line in zip(labels, reading.lines, strict=True) if line.is_scale]
            return sorted(labels, key=lambda label: -label.tokens)
        if window and reading.reserve:
            labels.append(TankLabel(window, "", "answer reserve", colours.quiet, _reserve_words(reading), 4))
        if (trigger := reading.trigger) is not None:
            words = trigger_words(trigger)
            labels.append(TankLabel(trigger.tokens[-1], trigger.label, trigger.basis, colours.good, words, 1))
        if (preview := reading.preview) is not None and reading.before is None:
            name, about = f"after {preview.tier}", f"about {grouped(preview.tokens)}"
            labels.append(TankLabel(preview.tokens, name, about, colours.text, explain("preview"), 3))
        return sorted(labels, key=lambda label: -label.tokens)

    def _line_label(self, reading: GaugeReading, line: GaugeLine, colour: str) -> TankLabel:
        rank, words = 0 if line.is_scale else 2, describe_line(reading, line)
        if self._folded:
            return TankLabel(line.tokens, line.label.split(" ")[0], "", colour, words, rank)
        return TankLabel(line.tokens, line.label, headroom(reading, line), colour, words, rank)

    def _paint_labels(self, painter: QPainter, reading: GaugeReading) -> None:
        metrics, left = painter.fontMetrics(), self._body().right() + (3 if self._folded else BESIDE)
        high = metrics.height()
        room = int(self.width() - left)
        bold = QFont(painter.font())
        bold.setWeight(QFont.Weight.DemiBold)
        plain = QFont(painter.font())
        self._rooms = []
        for label, top in self._placed(self._labels(reading), high):
            self._rooms.append((QRectF(left, top, room, _rows(label) * high), label))
            rows = [(label.name, bold, label.colour), (label.about, plain, self._theme.colours.quiet)]
            for words, font, colour in rows:
                if not words:
                    continue
                painter.setFont(font)
                painter.setPen(ink(colour))
                words = elide_name(words, painter.fontMetrics(), room)
                painter.drawText(QPointF(left, top + metrics.ascent()), words)
                top += high

    def _placed(self, labels: list[TankLabel], high: int) -> list[tuple[TankLabel, float]]:
        """Return where each label begins. Where there is no room for all, those of the highest rank have none."""
        while labels:
            heights = [high * _rows(label) + 2.0 for label in labels]
            above = high / 2 if self._folded else -2
            tops = [self.y_of(label.tokens) - above for label in labels]
            places = stack_labels(tops, heights, self.height())
            if places:
                return list(zip(labels, places, strict=True))
            labels.remove(max(labels, key=lambda label: label.rank))
        return []

    # -- the mouse -----------------------------------------------------------------------------------------------------

    def _line_at(self, y: float) -> GaugeLine | None:
        lines = self._reading.lines if self._reading else ()
        near = [line for line in lines if abs(self.y_of(line.tokens) - y) <= REACH]
        return min(near, key=lambda line: abs(self.y_of(line.tokens) - y), default=None)

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
            QToolTip.showText(
                event.globalPos(), tip(self.about_label(QPointF(event.pos())) or self.about(event.pos().y())), self
            )
            return True
        return super().event(event)

    def about_label(self, place: QPointF) -> str:
        """Return what is said of the label there; empty where there is none."""
        return next((label.explanation for room, label in self._rooms if room.contains(place)), "")

    def about(self, y: float) -> str:
        """Return what is said of that height: of the line or notch that is nearest, else of what fills the tank."""
        reading = self._reading
        if reading is None:
            return ""
        line, trigger, window = self._line_at(y), reading.trigger, reading.window.tokens
        to_line = abs(self.y_of(line.tokens) - y) if line is not None else REACH
        if trigger is not None and any(abs(self.y_of(tokens) - y) < to_line for tokens in trigger.notches):
            return trigger_words(trigger)
        if line is not None:
            return describe_line(reading, line)
        for layer in self._layers:
            if self.y_of(layer.high) <= y <= self.y_of(layer.low):
                return _layer_words(layer, reading)
        if window and y < self.y_of(window - reading.reserve):
            return _reserve_words(reading)
        return f"{grouped(window - (reading.pressure.tokens or 0))} tokens are free." if window else ""


def paint_handle(painter: QPainter, right: QPointF, colour: str) -> None:
    """Paint what a line is dragged by, left of that point."""
    wide, high = _HANDLE
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink(colour))
    painter.drawRoundedRect(QRectF(right.x() - wide, right.y() - high / 2, wide, high), 1.5, 1.5)


def _rows(label: TankLabel) -> int:
    return bool(label.name) + bool(label.about)


def trigger_words(trigger: ClientTrigger) -> str:
    """Return what a hover says of the client's notch."""
    return explain("client trigger", f"{trigger.words}.")


def _reserve_words(reading: GaugeReading) -> str:
    return explain("answer reserve", f"{grouped(reading.reserve)} tokens.")


def _layer_words(layer: Layer, reading: GaugeReading) -> str:
    window, tokens = reading.window.tokens, layer.tokens
    share = f", {per_cent(tokens / window, 1)} of the window" if window else ""
    likely = f"Most likely: {reading.not_recorded}." if layer.name == NOT_RECORDED else ""
    return explain(layer.name, f"{grouped(tokens)} tokens{share}.", likely)


def layers(reading: GaugeReading, colours: Colours) -> tuple[Layer, ...]:
    """Return what fills the tank, from the bottom: what the file lacks, then the categories."""
    parts = [(NOT_RECORDED, reading.unseen, colours.missing)]
    parts += [(name, tokens, colours.categories[name]) for name, tokens in reading.parts]
    stack: list[Layer] = []
    level = 0
    for name, tokens, colour in parts:
        top = min(level + tokens, reading.pressure.tokens or 0)
        if top > level:
            stack.append(Layer(name, level, top, colour, tokens))
            level = top
    return tuple(stack)
