"""The picture of the timeline's plot: what fills the buffer at every request, or the curves of its size; over it window
and watermarks, our steps and the playhead; below it the ruler.

Everything but the playhead is painted into a picture, which is kept until something else changes: that keeps a move of
the playhead quick.
"""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink, mixed
from inspector.gui.look.number_formats import grouped
from inspector.gui.panels.timeline.curves import CURVES, Curves
from inspector.gui.panels.timeline.frame import SMALLEST_GUTTER, SPACE_ABOVE, TimelineFrame
from inspector.gui.panels.timeline.line_drag import line_colours
from inspector.gui.panels.timeline.line_labels import LabelGutter, LineLabel, TimelineLines, is_roomy, label_lines
from inspector.gui.panels.timeline.ruler import Ruler
from inspector.gui.panels.timeline.tank import paint_handle
from inspector.gui.widgets.chart import (
    NUMBERS_APART,
    LinearScale,
    paint_axis_numbers,
    paint_curve,
    paint_grid,
    round_values,
)
from inspector.gui.widgets.stacked_areas import Frame, StackedAreas
from inspector.workbench.pressure.timeline import StepEffect

ABOVE_WINDOW, ABOVE_TOP = 1.04, 1.08
"""The axis ends so far above the window, and above the highest value."""
LEAST_PLOT = 60
"""Least pixels of the plot itself."""
ARROW = 5
"""Pixels of the arrow on top of the playhead."""
NOTCH = 6
"""Pixels of the client's notch."""
APART = 7
"""Pixels from the mark of one step to that of the next one at the same request."""
DIMMED = 0.45
"""How much of its colour a request outside the selection keeps."""


class PlotPicture(Guarded, QWidget):
    """Paints curves or areas; `PlotCanvas` adds mouse and keys."""

    def __init__(self, frame: TimelineFrame) -> None:
        super().__init__()
        self._frame = frame
        self.ruler, self.gutter = Ruler(frame), LabelGutter(frame)
        self.curves = Curves()
        self.areas: StackedAreas | None = None
        self._colours: Sequence[str] = ()
        self.hidden: frozenset[str] = frozenset()
        """Names of the curves that are hidden."""
        self.lines = TimelineLines()
        self.effects: tuple[StepEffect, ...] = ()
        self.shows_effects = True
        self._picture: QPixmap | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setObjectName("PlotView")
        self.setAccessibleName("Pressure over all requests")
        frame.range.changed.connect(self.redraw)
        frame.gutters_changed.connect(self.redraw)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Paint everything again."""
        self._picture = None
        self.update()

    def show_curves(self, curves: Curves) -> None:
        """Show other curves."""
        self.curves = curves
        self.redraw()

    def show_areas(self, areas: StackedAreas | None, colours: Sequence[str]) -> None:
        """Show areas in these colours, lowest first, instead of the curves; None: the curves."""
        self.areas, self._colours = areas, colours
        self.redraw()

    def show_lines(self, lines: TimelineLines) -> None:
        """Show another window, other watermarks, another notch."""
        if lines != self.lines:
            self.lines = lines
            self.redraw()

    def show_effects(self, effects: tuple[StepEffect, ...], is_shown: bool) -> None:
        """Show what our steps did."""
        if (effects, is_shown) != (self.effects, self.shows_effects):
            self.effects, self.shows_effects = effects, is_shown
            self.redraw()

    @property
    def top(self) -> float:
        """Tokens at the upper edge of the plot."""
        return max(self.curves.top * ABOVE_TOP, (self.lines.window or 0) * ABOVE_WINDOW, 1.0)

    @property
    def area(self) -> QRectF:
        """Where the data lies."""
        across = self._frame.across(self.width())
        height = max(1.0, self.height() - SPACE_ABOVE - self.ruler.height)
        return QRectF(across.start, SPACE_ABOVE, across.end - across.start, height)

    @property
    def across(self) -> LinearScale:
        """The scale of the requests."""
        return self._frame.across(self.width())

    @property
    def up(self) -> LinearScale:
        """The scale of the tokens."""
        return LinearScale(0, self.top, self.area.bottom(), self.area.top())

    def sizeHint(self) -> QSize:
        return QSize(400, 148 + SPACE_ABOVE + self.ruler.height)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, LEAST_PLOT + SPACE_ABOVE + self.ruler.height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None

    # -- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._picture is None:
            self._picture = self._draw()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawPixmap(0, 0, self._picture)
            painter.setFont(self._frame.font)
            self._paint_ruler(painter)
            if self.hasFocus():
                painter.setPen(QPen(ink(self._frame.theme.colours.accent), 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(self.area.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _draw(self) -> QPixmap:
        """Return everything but the playhead."""
        ratio, colours = self.devicePixelRatioF(), self._frame.theme.colours
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(ink(colours.window))
        area, up = self.area, self.up
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._frame.font)
            has_numbers = self.curves.top > 1
            values = round_values(up, NUMBERS_APART * self._frame.metrics.height(), least=1) if has_numbers else []
            paint_grid(painter, area, up, values, colours.faint)
            self._paint_selection_ground(painter, area)
            painter.setClipRect(area)
            self._paint_data(painter, area)
            painter.setClipping(False)
            self._paint_selection_edges(painter, area)
            self._paint_lines(painter, area, up)
            painter.setClipRect(area)
            self._paint_effects(painter)
            painter.setClipping(False)
            if self._frame.left > SMALLEST_GUTTER:
                paint_axis_numbers(painter, area, up, values, colours.quiet, lambda value: grouped(round(value)))
                whole = QRectF(0, 0, self.width(), area.bottom())  # below it lies the flag of the playhead
                self.gutter.paint(painter, area, up, self.labels, whole)
            self._paint_handles(painter, area, up)
        return picture

    @property
    def labels(self) -> list[LineLabel]:
        """The labels right of the plot, the highest first."""
        current = [effect for effect in self.effects if effect.at == self._frame.at]
        effect = current[-1] if current and self.shows_effects else None
        return label_lines(self.lines, effect, self._frame.theme.colours, is_roomy(self.width()))

    def _paint_data(self, painter: QPainter, area: QRectF) -> None:
        if self.areas is not None:
            self._paint_areas(painter, area, self.areas, self._colours)
            return
        across, up, pens = self.across, self.up, self._pens()
        for name in CURVES:
            if name in self.curves.lines and name not in self.hidden:
                paint_curve(painter, self.curves.lines[name].pieces(across, up), pens[name])

    def _paint_areas(self, painter: QPainter, area: QRectF, areas: StackedAreas, colours: Sequence[str]) -> None:
        ratio, visible, ground = self.devicePixelRatioF(), self._frame.range, self._frame.theme.colours.window
        size = round(area.width() * ratio), round(area.height() * ratio)
        if min(size) < 1 or not areas.count or not colours:
            return
        rest = [mixed(ground, colour, DIMMED).name() for colour in colours]
        part = Frame(visible.first, visible.last, self.top, *size, ratio)
        painter.drawImage(area.topLeft(), areas.image(part, colours, rest, self._frame.chosen))

    def _pens(self) -> Mapping[str, QPen]:
        colours = self._frame.theme.colours
        dashes = QPen(ink(colours.accent), 1.6)
        dashes.setDashPattern([4, 3])
        return {
            "reported": QPen(ink(colours.accent), 1.6),
            "unreported": dashes,
            "believed": QPen(ink(colours.missing), 1),
        }

    def _chosen_edges(self) -> tuple[float, float] | None:
        """Return the pixels between which the selected requests lie; None without a selection."""
        chosen, across = self._frame.chosen, self.across
        if chosen is None:
            return None
        left, right = across.pixel(chosen.start - 0.5), across.pixel(chosen.stop - 0.5)
        if right < across.start or left > across.end:
            return None
        return max(left, across.start), min(right, across.end)

    def _paint_selection_ground(self, painter: QPainter, area: QRectF) -> None:
        if (edges := self._chosen_edges()) is not None:
            ground = mixed(self._frame.theme.colours.window, self._frame.theme.colours.accent, 0.16)
            painter.fillRect(QRectF(edges[0], area.top(), edges[1] - edges[0], area.height()), ground)

    def _paint_selection_edges(self, painter: QPainter, area: QRectF) -> None:
        if (edges := self._chosen_edges()) is not None:
            painter.setPen(QPen(ink(self._frame.theme.colours.accent), 1.5))
            for x in edges:
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_lines(self, painter: QPainter, area: QRectF, up: LinearScale) -> None:
        """Paint each line with an edge in the colour of the ground, so that it is seen over every category."""
        colours, lines = self._frame.theme.colours, self.lines
        if lines.window:
            style = Qt.PenStyle.DotLine if lines.is_assumed else Qt.PenStyle.SolidLine
            _paint_across(painter, area, up.pixel(lines.window), QPen(ink(colours.quiet), 1, style))
        for line, colour in zip(lines.watermarks, line_colours(colours, lines.watermarks), strict=True):
            y = up.pixel(line.tokens)
            _paint_across(painter, area, y, QPen(ink(colours.window), 3.5))
            style = Qt.PenStyle.SolidLine if line.is_scale else Qt.PenStyle.DashLine
            _paint_across(painter, area, y, QPen(ink(colour), 1.5, style))

    def _paint_handles(self, painter: QPainter, area: QRectF, up: LinearScale) -> None:
        """Paint what a line is dragged by, left of the plot; and the client's notch right of it."""
        colours, lines = self._frame.theme.colours, self.lines
        for line, colour in zip(lines.watermarks, line_colours(colours, lines.watermarks), strict=True):
            y = up.pixel(line.tokens)
            if area.top() <= y <= area.bottom():
                paint_handle(painter, QPointF(area.left() + 1, y), colour)
        sizes = lines.trigger.notches if lines.trigger is not None else ()
        for y in {round(up.pixel(tokens)) for tokens in sizes}:
            if area.top() <= y <= area.bottom():
                notch = QPainterPath(QPointF(area.right() + 2, y))
                notch.lineTo(area.right() + 2 + NOTCH, y - NOTCH / 2 - 1)
                notch.lineTo(area.right() + 2 + NOTCH, y + NOTCH / 2 + 1)
                notch.closeSubpath()
                painter.fillPath(notch, ink(colours.good))

    def _paint_effects(self, painter: QPainter) -> None:
        """Paint a dashed line from the size before each step of ours to that after it."""
        colours, across, up, place = self._frame.theme.colours, self.across, self.up, 0
        for n, effect in enumerate(self.effects if self.shows_effects else ()):
            place = place + 1 if n and self.effects[n - 1].at == effect.at else 0
            x = across.pixel(self._frame.place(effect.at))
            shift = APART * (place + 1)
            x = x + shift if x + shift + APART < across.end else x - shift
            before, after = QPointF(x, up.pixel(effect.before)), QPointF(x, up.pixel(effect.after))
            painter.setPen(QPen(ink(colours.window), 3.5))
            painter.drawLine(before, after)
            painter.setPen(QPen(ink(colours.accent), 1.4, Qt.PenStyle.DashLine))
            painter.drawLine(before, after)
            painter.setPen(QPen(ink(colours.accent), 1.4))
            painter.setBrush(ink(colours.window))
            painter.drawEllipse(after, 3.5, 3.5)

    def _paint_ruler(self, painter: QPainter) -> None:
        """Paint the ruler and, if it is in sight, the playhead with its flag; no number lies under the flag."""
        foot, across = self.area.bottom(), self.across
        x = across.pixel(self._frame.place(self._frame.at))
        is_visible = bool(self.curves.heights) and across.start - 1 <= x <= across.end + 1
        flag = self.ruler.flag_room(foot, x, self.width()) if is_visible else QRectF()
        self.ruler.paint(painter, foot, across, flag)
        if is_visible:
            self._paint_playhead(painter, x)

    def _paint_playhead(self, painter: QPainter, x: float) -> None:
        area, colours = self.area, self._frame.theme.colours
        painter.setPen(QPen(ink(colours.window), 3.5))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        painter.setPen(QPen(ink(colours.playhead), 1.5))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, self.height()))
        arrow = QPainterPath(QPointF(x - ARROW, area.top() - ARROW))
        arrow.lineTo(x + ARROW, area.top() - ARROW)
        arrow.lineTo(x, area.top() + 1)
        arrow.closeSubpath()
        painter.fillPath(arrow, ink(colours.playhead))
        if self.areas is None and (height := self._height_here()) is not None:
            painter.setPen(QPen(ink(colours.window), 1.5))
            painter.setBrush(ink(colours.accent))
            painter.drawEllipse(QPointF(x, self.up.pixel(height)), 4.5, 4.5)
        self.ruler.paint_flag(painter, area.bottom(), x, self.width())

    def _height_here(self) -> int | None:
        """Return the tokens at the playhead."""
        at, heights = self._frame.at, self.curves.heights
        if at is None:
            return self.curves.series.end
        return heights[at] if at < len(heights) else None


def _paint_across(painter: QPainter, area: QRectF, y: float, pen: QPen) -> None:
    if area.top() <= y <= area.bottom():
        y = round(y) + 0.5  # in the middle of a row of pixels, so that it is not blurred
        painter.setPen(pen)
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
