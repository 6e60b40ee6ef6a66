"""The picture of the timeline's plot, with the ruler below it.

It shows the parts of the buffer at every request, or the curves of its size, and over them the window, the watermarks,
the steps taken and the playhead. Everything except the playhead is painted into a cached picture, so that the playhead
moves quickly.
"""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink, mixed
from inspector.gui.look.number_formats import grouped
from inspector.gui.panels.timeline.curves import CURVES, Curves
from inspector.gui.panels.timeline.frame import SMALLEST_GUTTER, SPACE_ABOVE, TimelineFrame
from inspector.gui.panels.timeline.line_drag import line_colours
from inspector.gui.panels.timeline.line_labels import (
    LabelGutter,
    LineLabel,
    TimelineLines,
    is_roomy,
    label_lines,
)
from inspector.gui.panels.timeline.ruler import Ruler
from inspector.gui.panels.timeline.tank import paint_handle, paint_notch
from inspector.gui.widgets.chart import (
    NUMBERS_APART,
    LinearScale,
    dashed_pen,
    paint_axis_numbers,
    paint_curve,
    paint_grid,
    paint_horizontal,
    paint_triangle,
    paint_vertical,
    round_values,
    solid_pen,
)
from inspector.gui.widgets.stacked_areas import Frame, StackedAreas
from inspector.workbench.pressure.timeline import StepEffect

ABOVE_WINDOW, ABOVE_TOP = 1.04, 1.08
"""Factors by which the axis extends above the window, and above the highest value."""
LEAST_PLOT = 60
"""Minimum height of the plot itself in pixels."""
ARROW = 5
"""Size in pixels of the arrow on top of the playhead."""
APART = 7
"""Pixels between the marks of two steps at the same request."""
DIMMED = 0.45
"""Share of its colour that a request outside the selection keeps."""
EDGE = 3.5
"""Width in pixels of the light edge of a line, which makes the line visible over every category."""


class PlotPicture(Guarded, QWidget):
    """Paints curves or areas. `PlotCanvas` adds mouse and keyboard handling."""

    def __init__(self, frame: TimelineFrame) -> None:
        super().__init__()
        self._frame = frame
        self.ruler = Ruler(frame)
        self.gutter = LabelGutter(frame)
        self.curves = Curves()
        self.areas: StackedAreas | None = None
        self._colours: Sequence[str] = ()
        self.hidden: frozenset[str] = frozenset()
        """Names of the hidden curves."""
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
        """Discard the cached picture and repaint."""
        self._picture = None
        self.update()

    def show_curves(self, curves: Curves) -> None:
        """Replace the curves."""
        self.curves = curves
        self.redraw()

    def show_areas(self, areas: StackedAreas | None, colours: Sequence[str]) -> None:
        """Show stacked areas in place of the curves.

        Args:
            areas: The areas; None shows the curves again.
            colours: Colour of each area, lowest first.
        """
        self.areas = areas
        self._colours = colours
        self.redraw()

    def show_lines(self, lines: TimelineLines) -> None:
        """Show the window, the watermarks and the trigger of the client."""
        if lines != self.lines:
            self.lines = lines
            self.redraw()

    def show_effects(self, effects: tuple[StepEffect, ...], is_shown: bool) -> None:
        """Set the sizes before and after each step taken.

        Args:
            effects: The effects of the steps.
            is_shown: Paint them; False hides them.
        """
        if (effects, is_shown) != (self.effects, self.shows_effects):
            self.effects = effects
            self.shows_effects = is_shown
            self.redraw()

    @property
    def top(self) -> float:
        """Tokens at the upper edge of the plot."""
        return max(self.curves.top * ABOVE_TOP, (self.lines.window or 0) * ABOVE_WINDOW, 1.0)

    @property
    def area(self) -> QRectF:
        """The rectangle in which data is painted, in pixels."""
        across = self._frame.across(self.width())
        height = max(1.0, self.height() - SPACE_ABOVE - self.ruler.height)
        return QRectF(across.start, SPACE_ABOVE, across.end - across.start, height)

    @property
    def across(self) -> LinearScale:
        """The horizontal scale, in requests."""
        return self._frame.across(self.width())

    @property
    def up(self) -> LinearScale:
        """The vertical scale, in tokens."""
        return LinearScale(low=0, high=self.top, start=self.area.bottom(), end=self.area.top())

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
                painter.setPen(solid_pen(self._frame.theme.colours.accent))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(self.area.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _draw(self) -> QPixmap:
        """Return a picture of everything except the playhead."""
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(ink(self._frame.theme.colours.window))
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._frame.font)
            self._paint(painter, self.area, self.up)
        return picture

    def _paint(self, painter: QPainter, area: QRectF, up: LinearScale) -> None:
        colours = self._frame.theme.colours
        values = self._axis_values(up)
        paint_grid(painter, area, scale=up, values=values, colour=colours.faint)
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
            paint_axis_numbers(
                painter,
                area,
                scale=up,
                values=values,
                colour=colours.quiet,
                spell=lambda value: grouped(round(value)),
            )
            above_flag = QRectF(0, 0, self.width(), area.bottom())
            self.gutter.paint(painter, area, up, self.labels, above_flag)
        self._paint_handles(painter, area, up)

    def _axis_values(self, up: LinearScale) -> list[float]:
        """Return the values at which the axis has numbers; empty without data."""
        if self.curves.top <= 1:
            return []
        return round_values(up, NUMBERS_APART * self._frame.metrics.height(), least=1)

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
        across = self.across
        up = self.up
        pens = self._pens()
        for name in CURVES:
            if name in self.curves.lines and name not in self.hidden:
                paint_curve(painter, self.curves.lines[name].pieces(across, up), pens[name])

    def _paint_areas(
        self, painter: QPainter, area: QRectF, areas: StackedAreas, colours: Sequence[str]
    ) -> None:
        ratio = self.devicePixelRatioF()
        visible = self._frame.range
        width = round(area.width() * ratio)
        height = round(area.height() * ratio)
        if min(width, height) < 1 or not areas.count or not colours:
            return
        background = self._frame.theme.colours.window
        dimmed = [mixed(background, colour, DIMMED).name() for colour in colours]
        frame = Frame(visible.first, visible.last, self.top, width, height, ratio)
        image = areas.image(frame, colours, dimmed, self._frame.chosen)
        painter.drawImage(area.topLeft(), image)

    def _pens(self) -> Mapping[str, QPen]:
        colours = self._frame.theme.colours
        dashes = solid_pen(colours.accent, width=1.6)
        dashes.setDashPattern([4, 3])
        return {
            "reported": solid_pen(colours.accent, width=1.6),
            "unreported": dashes,
            "believed": solid_pen(colours.missing),
        }

    def _chosen_edges(self) -> tuple[float, float] | None:
        """Return the left and right edge of the selection in pixels; None if nothing is selected or visible of it."""
        chosen = self._frame.chosen
        across = self.across
        if chosen is None:
            return None
        left = across.pixel(chosen.start - 0.5)
        right = across.pixel(chosen.stop - 0.5)
        if right < across.start or left > across.end:
            return None
        return max(left, across.start), min(right, across.end)

    def _paint_selection_ground(self, painter: QPainter, area: QRectF) -> None:
        edges = self._chosen_edges()
        if edges is not None:
            left, right = edges
            colours = self._frame.theme.colours
            ground = mixed(colours.window, colours.accent, share=0.16)
            painter.fillRect(QRectF(left, area.top(), right - left, area.height()), ground)

    def _paint_selection_edges(self, painter: QPainter, area: QRectF) -> None:
        pen = solid_pen(self._frame.theme.colours.accent, width=1.5)
        for x in self._chosen_edges() or ():
            paint_vertical(painter, x, area.top(), area.bottom(), pen)

    def _paint_lines(self, painter: QPainter, area: QRectF, up: LinearScale) -> None:
        """Paint the window and the watermarks. The watermarks have a light edge."""
        colours = self._frame.theme.colours
        lines = self.lines
        if lines.window:
            pen = solid_pen(colours.quiet)
            if lines.is_assumed:
                pen.setStyle(Qt.PenStyle.DotLine)
            _paint_across(painter, area, y=up.pixel(lines.window), pen=pen)
        for line, colour in zip(
            lines.watermarks, line_colours(colours, lines.watermarks), strict=True
        ):
            y = up.pixel(line.tokens)
            _paint_across(painter, area, y, solid_pen(colours.window, EDGE))
            pen = solid_pen(colour, width=1.5) if line.is_scale else dashed_pen(colour, width=1.5)
            _paint_across(painter, area, y, pen)

    def _paint_handles(self, painter: QPainter, area: QRectF, up: LinearScale) -> None:
        """Paint the lines' handles at the left of the plot, and the notches of the client's trigger at its right."""
        colours = self._frame.theme.colours
        lines = self.lines
        for line, colour in zip(
            lines.watermarks, line_colours(colours, lines.watermarks), strict=True
        ):
            y = up.pixel(line.tokens)
            if area.top() <= y <= area.bottom():
                paint_handle(painter, QPointF(area.left() + 1, y), colour)
        sizes = lines.trigger.notches if lines.trigger is not None else ()
        for y in {round(up.pixel(tokens)) for tokens in sizes}:
            if area.top() <= y <= area.bottom():
                paint_notch(painter, x=area.right() + 2, y=y, colour=colours.good)

    def _paint_effects(self, painter: QPainter) -> None:
        """Paint for each step taken a dashed line from the size before it to the size after it."""
        if not self.shows_effects:
            return
        colours = self._frame.theme.colours
        up = self.up
        place = 0
        for index, effect in enumerate(self.effects):
            place = place + 1 if index and self.effects[index - 1].at == effect.at else 0
            x = self._effect_pixel(effect, place)
            before, after = up.pixel(effect.before), up.pixel(effect.after)
            paint_vertical(
                painter, x, top=before, bottom=after, pen=solid_pen(colours.window, EDGE)
            )
            paint_vertical(
                painter, x, top=before, bottom=after, pen=dashed_pen(colours.accent, width=1.4)
            )
            painter.setPen(solid_pen(colours.accent, width=1.4))
            painter.setBrush(ink(colours.window))
            painter.drawEllipse(QPointF(x, after), 3.5, 3.5)

    def _effect_pixel(self, effect: StepEffect, place: int) -> float:
        """Return the x pixel of the `place`-th step at a request: right of the request, or left if there is no room."""
        x = self.across.pixel(self._frame.place(effect.at))
        shift = APART * (place + 1)
        has_room = x + shift + APART < self.across.end
        return x + shift if has_room else x - shift

    def _paint_ruler(self, painter: QPainter) -> None:
        """Paint the ruler and, if it is visible, the playhead with its flag.

        The ruler omits numbers that the flag would cover.
        """
        foot = self.area.bottom()
        across = self.across
        x = across.pixel(self._frame.place(self._frame.at))
        is_visible = bool(self.curves.heights) and across.start - 1 <= x <= across.end + 1
        flag = self.ruler.flag_room(foot, x, self.width()) if is_visible else QRectF()
        self.ruler.paint(painter, foot, across, flag)
        if is_visible:
            self._paint_playhead(painter, x)

    def _paint_playhead(self, painter: QPainter, x: float) -> None:
        area = self.area
        colours = self._frame.theme.colours
        paint_vertical(painter, x, area.top(), area.bottom(), solid_pen(colours.window, EDGE))
        paint_vertical(
            painter, x, area.top(), bottom=self.height(), pen=solid_pen(colours.playhead, width=1.5)
        )
        arrow_top = area.top() - ARROW
        arrow = ((x - ARROW, arrow_top), (x + ARROW, arrow_top), (x, area.top() + 1))
        paint_triangle(painter, arrow, colours.playhead)
        tokens = self._tokens_at_playhead()
        if self.areas is None and tokens is not None:
            painter.setPen(solid_pen(colours.window, width=1.5))
            painter.setBrush(ink(colours.accent))
            painter.drawEllipse(QPointF(x, self.up.pixel(tokens)), 4.5, 4.5)
        self.ruler.paint_flag(painter, top=area.bottom(), x=x, width=self.width())

    def _tokens_at_playhead(self) -> int | None:
        """Return the tokens of the buffer at the playhead; None if they are unknown."""
        request = self._frame.at
        heights = self.curves.heights
        if request is None:
            return self.curves.series.end
        return heights[request] if request < len(heights) else None


def _paint_across(painter: QPainter, area: QRectF, y: float, pen: QPen) -> None:
    """Paint a line across the area, in the middle of a pixel row so that it is not blurred."""
    if area.top() <= y <= area.bottom():
        paint_horizontal(painter, y=round(y) + 0.5, left=area.left(), right=area.right(), pen=pen)
