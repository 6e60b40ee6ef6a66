"""The tank of the gauge: a vertical bar that shows how full the context window is.

It is filled by category, and shows the watermarks, the notches of the client's trigger and the hatched answer reserve.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.core.findings.triggers import ClientTrigger
from inspector.core.words import NOT_RECORDED, per_cent
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag, line_colours
from inspector.gui.panels.timeline.readings import describe_line, headroom, spoken_tank
from inspector.gui.widgets.chart import (
    bold_font,
    dashed_pen,
    paint_horizontal,
    paint_rounded,
    paint_triangle,
    solid_pen,
)
from inspector.gui.widgets.label_space import elide_name, stack_labels
from inspector.workbench.pressure.gauge import GaugeReading
from inspector.workbench.pressure.scale import GaugeLine

LEFT, TANK, BESIDE = 8, 80, 10
"""Pixels left of the tank (for the handles of the lines), width of the tank, and pixels between tank and labels."""
FOLDED_TANK = 24
"""Width of the tank in pixels if the gauge is folded and its labels are only percentages."""
NOTCH = 6
"""Width of a notch of the client's trigger in pixels."""
_HANDLE = (5, 10)
"""Width and height of a line's handle in pixels."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A coloured layer of the tank, from `low` to `high` tokens."""

    name: str
    low: int
    high: int
    colour: str
    tokens: int
    """Tokens of the part. If the provider counts less than is recorded, they exceed the painted height."""


@dataclass(frozen=True, slots=True)
class TankLabel:
    """A label beside the tank: its name in a heavier weight, and below it `about` in the second-rank colour."""

    tokens: int
    """The level in tokens that the label belongs to."""
    name: str
    about: str
    colour: str
    explanation: str
    """The tooltip."""
    rank: int = 0
    """If there is not enough room for all labels, those of the highest rank are left out first."""


class Tank(Guarded, QWidget):
    """Shows a GaugeReading. Tooltips explain its parts, and watermarks can be dragged."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__()
        self._theme = theme
        self._drag = drag
        self.setMouseTracking(True)
        self.reading: GaugeReading | None = None
        self._layers: tuple[Layer, ...] = ()
        self._folded = False
        self._rooms: list[tuple[QRectF, TankLabel]] = []
        """Rectangles and labels as last painted."""
        self._full = 1
        """Tokens at the upper edge: the window, or more if the buffer exceeds it."""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(150)
        self.setAccessibleName("Pressure")

    def sizeHint(self) -> QSize:
        return QSize(200, 340)

    def minimumSizeHint(self) -> QSize:
        return QSize(FOLDED_TANK, 150)

    def show_reading(self, reading: GaugeReading | None) -> None:
        """Show a reading; None: show an empty tank."""
        self.reading = reading
        self._layers = layers(reading, self._theme.colours) if reading else ()
        if reading is not None:
            levels = (
                reading.pressure.tokens,
                reading.before,
                *(layer.high for layer in self._layers),
            )
            self._full = max(reading.rim, *(level or 0 for level in levels))
        self.setAccessibleDescription(spoken_tank(reading))
        self.update()

    def fold(self, folded: bool) -> None:
        """Show a narrow tank with short labels (`folded`), or the whole tank."""
        self._folded = folded
        self.update()

    def restyle(self) -> None:
        self.show_reading(self.reading)

    def y_of(self, tokens: float) -> float:
        """Return the y coordinate of a number of tokens in pixels."""
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
        body = self._body()
        reading = self.reading
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
        """Fill the tank, with a hairline between two layers."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for layer in self._layers:
            room = self._span(body, layer.low, layer.high)
            painter.fillRect(room, ink(layer.colour))
        hairline = solid_pen(self._theme.colours.window)
        for layer in self._layers[1:]:
            paint_horizontal(painter, self.y_of(layer.low), body.left(), body.right(), pen=hairline)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def _span(self, body: QRectF, low: float, high: float) -> QRectF:
        """Return the rectangle of the tank between two numbers of tokens."""
        top, bottom = self.y_of(high), self.y_of(low)
        return QRectF(body.left(), top, body.width(), bottom - top)

    def _paint_reserve(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        window = reading.window.tokens
        reserve = reading.reserve
        if window and reserve:
            hatch = QBrush(ink(self._theme.colours.missing), Qt.BrushStyle.BDiagPattern)
            painter.fillRect(self._span(body, window - reserve, window), hatch)

    def _paint_levels(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        """Paint the level before the step taken or, without a step, the level that the previewed tier would leave."""
        colours = self._theme.colours
        if reading.before is not None:
            y = self.y_of(reading.before)
            paint_horizontal(
                painter, y, body.left(), body.right(), dashed_pen(colours.accent, width=1.2)
            )
        elif reading.preview is not None:
            top = self.y_of(reading.preview.tokens)
            remaining = QRectF(body)
            remaining.setTop(top)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(dashed_pen(colours.playhead, width=1.4))
            painter.drawRect(remaining.adjusted(1, 0, -1, -1))

    def _paint_notches(self, painter: QPainter, body: QRectF, reading: GaugeReading) -> None:
        """Paint the notches of the client's trigger, at most one per pixel."""
        sizes = reading.trigger.notches if reading.trigger is not None else ()
        for y in {round(self.y_of(tokens)) for tokens in sizes}:
            paint_notch(painter, x=body.right() + 1, y=y, colour=self._theme.colours.good)

    def _paint_line(self, painter: QPainter, body: QRectF, line: GaugeLine, colour: str) -> None:
        """Paint a line with its handle, and with a light edge that keeps it visible over every category."""
        y, left, right = self.y_of(line.tokens), body.left() - 3, body.right() + 5
        paint_horizontal(painter, y, left, right, solid_pen(self._theme.colours.window, width=4))
        pen = solid_pen(colour, width=2) if line.is_scale else dashed_pen(colour, width=2)
        paint_horizontal(painter, y, left, right, pen)
        paint_handle(painter, QPointF(left, y), colour)

    def _coloured(self, lines: Sequence[GaugeLine]) -> Iterator[tuple[GaugeLine, str]]:
        yield from zip(lines, line_colours(self._theme.colours, lines), strict=True)

    # -- labels --------------------------------------------------------------------------------------------------------

    def _labels(self, reading: GaugeReading) -> list[TankLabel]:
        """Return the labels, the highest first."""
        labels = list[TankLabel]()
        for line, colour in self._coloured(reading.lines):
            if line.is_scale or not self._folded:
                labels.append(self._line_label(reading, line, colour))
        if not self._folded:
            labels += self._other_labels(reading)
        return sorted(labels, key=lambda label: -label.tokens)

    def _other_labels(self, reading: GaugeReading) -> Iterator[TankLabel]:
        """Yield the labels of answer reserve, trigger and preview."""
        colours = self._theme.colours
        window = reading.window.tokens
        if window and reading.reserve:
            yield TankLabel(
                window,
                name="",
                about="answer reserve",
                colour=colours.quiet,
                explanation=_reserve_words(reading),
                rank=4,
            )
        trigger = reading.trigger
        if trigger is not None:
            words = trigger_words(trigger)
            yield TankLabel(
                trigger.tokens[-1],
                name=trigger.label,
                about=trigger.basis,
                colour=colours.good,
                explanation=words,
                rank=1,
            )
        preview = reading.preview
        if preview is not None and reading.before is None:
            name = f"after {preview.tier}"
            about = f"about {grouped(preview.tokens)}"
            yield TankLabel(
                preview.tokens,
                name,
                about,
                colour=colours.text,
                explanation=explain("preview"),
                rank=3,
            )

    def _line_label(self, reading: GaugeReading, line: GaugeLine, colour: str) -> TankLabel:
        """Return the label of a line; in a folded gauge only its percentage."""
        rank = 0 if line.is_scale else 2
        name = line.label
        about = headroom(reading, line)
        if self._folded:
            name = name.split(" ")[0]
            about = ""
        return TankLabel(
            line.tokens, name, about, colour, explanation=describe_line(reading, line), rank=rank
        )

    def _paint_labels(self, painter: QPainter, reading: GaugeReading) -> None:
        """Paint the labels of a reading, and store their rectangles for the tooltips."""
        left = self._body().right() + (3 if self._folded else BESIDE)
        width = int(self.width() - left)
        high = painter.fontMetrics().height()
        bold = bold_font(painter.font())
        plain = QFont(painter.font())
        self._rooms = []
        for label, top in self._place_labels(self._labels(reading), high):
            self._rooms.append((QRectF(left, top, width, _row_count(label) * high), label))
            if label.name:
                _paint_row(painter, QPointF(left, top), label.name, bold, label.colour, width)
                top += high
            if label.about:
                _paint_row(
                    painter,
                    QPointF(left, top),
                    label.about,
                    plain,
                    self._theme.colours.quiet,
                    width,
                )

    def _place_labels(self, labels: list[TankLabel], high: int) -> list[tuple[TankLabel, float]]:
        """Return the labels that fit, each with its top in pixels. Those of the highest rank are left out first."""
        while labels:
            heights = [high * _row_count(label) + 2.0 for label in labels]
            above = high / 2 if self._folded else -2
            tops = [self.y_of(label.tokens) - above for label in labels]
            places = stack_labels(tops, heights, self.height())
            if places:
                return list(zip(labels, places, strict=True))
            labels.remove(max(labels, key=lambda label: label.rank))
        return []

    # -- the mouse -----------------------------------------------------------------------------------------------------

    def _line_at(self, y: float) -> GaugeLine | None:
        lines = self.reading.lines if self.reading else ()
        near = [line for line in lines if self._distance(line.tokens, y) <= REACH]
        return min(near, key=lambda line: self._distance(line.tokens, y), default=None)

    def _distance(self, tokens: int, y: float) -> float:
        return abs(self.y_of(tokens) - y)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        line = self._line_at(event.position().y())
        if line is not None and event.button() == Qt.MouseButton.LeftButton:
            self._drag.take(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        y = event.position().y()
        if self._drag.held is not None and self.reading is not None:
            body = self._body()
            self._drag.move((body.bottom() - y) / body.height() * self._full)
        is_line = self._drag.held is not None or self._line_at(y) is not None
        self.setCursor(Qt.CursorShape.SplitVCursor if is_line else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag.drop()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Restore the policy's own value of a line."""
        line = self._line_at(event.position().y())
        if line is not None:
            self._drag.give_back(line)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self.reading is not None:
            text = self.about_label(QPointF(event.pos())) or self.about(event.pos().y())
            QToolTip.showText(event.globalPos(), tip(text), self)
            return True
        return super().event(event)

    def about_label(self, place: QPointF) -> str:
        """Return the tooltip of the label at a place; empty if there is none."""
        return next((label.explanation for room, label in self._rooms if room.contains(place)), "")

    def about(self, y: float) -> str:
        """Return the tooltip at a pixel row of the tank: of the nearest line or notch, or of the layer there."""
        reading = self.reading
        if reading is None:
            return ""
        line = self._line_at(y)
        trigger = reading.trigger
        to_line = self._distance(line.tokens, y) if line is not None else REACH
        notches = trigger.notches if trigger is not None else ()
        if trigger is not None and any(self._distance(tokens, y) < to_line for tokens in notches):
            return trigger_words(trigger)
        if line is not None:
            return describe_line(reading, line)
        return self._about_level(y, reading)

    def _about_level(self, y: float, reading: GaugeReading) -> str:
        """Return the tooltip of a layer, of the answer reserve or of the free part."""
        for layer in self._layers:
            if self.y_of(layer.high) <= y <= self.y_of(layer.low):
                return _layer_words(layer, reading)
        window = reading.window.tokens
        if not window:
            return ""
        if y < self.y_of(window - reading.reserve):
            return _reserve_words(reading)
        return f"{grouped(window - (reading.pressure.tokens or 0))} tokens are free."


def paint_handle(painter: QPainter, right: QPointF, colour: str) -> None:
    """Paint the handle of a line; `right` is the middle of its right edge."""
    wide, high = _HANDLE
    room = QRectF(right.x() - wide, right.y() - high / 2, wide, high)
    paint_rounded(painter, room, colour, radius=1.5)


def paint_notch(painter: QPainter, x: float, y: float, colour: str) -> None:
    """Paint a notch of the client's trigger: a triangle whose tip is at (x, y)."""
    half = NOTCH / 2 + 1
    right = x + NOTCH
    paint_triangle(painter, ((x, y), (right, y - half), (right, y + half)), colour)


def _paint_row(
    painter: QPainter, place: QPointF, words: str, font: QFont, colour: str, width: int
) -> None:
    """Paint a row of a label, cut to a width; `place` is its top left corner."""
    ascent = painter.fontMetrics().ascent()
    painter.setFont(font)
    painter.setPen(ink(colour))
    painter.drawText(place + QPointF(0, ascent), elide_name(words, painter.fontMetrics(), width))


def _row_count(label: TankLabel) -> int:
    return bool(label.name) + bool(label.about)


def trigger_words(trigger: ClientTrigger) -> str:
    """Return the tooltip of the client's trigger."""
    return explain("client trigger", f"{trigger.words}.")


def _reserve_words(reading: GaugeReading) -> str:
    return explain("answer reserve", f"{grouped(reading.reserve)} tokens.")


def _layer_words(layer: Layer, reading: GaugeReading) -> str:
    window = reading.window.tokens
    tokens = layer.tokens
    share = f", {per_cent(tokens / window, places=1)} of the window" if window else ""
    likely = f"Most likely: {reading.not_recorded}." if layer.name == NOT_RECORDED else ""
    return explain(layer.name, f"{grouped(tokens)} tokens{share}.", likely)


def layers(reading: GaugeReading, colours: Colours) -> tuple[Layer, ...]:
    """Return the layers of the tank from the bottom: tokens not recorded in the file, then the categories."""
    parts = [(NOT_RECORDED, reading.unseen, colours.missing)]
    parts += [(name, tokens, colours.categories[name]) for name, tokens in reading.parts]
    stack: list[Layer] = []
    level = 0
    for name, tokens, colour in parts:
        top = min(level + tokens, reading.pressure.tokens or 0)
        if top > level:
            stack.append(Layer(name, low=level, high=top, colour=colour, tokens=tokens))
            level = top
    return tuple(stack)
