"""The plot of the timeline: pressure above, what was read from and past the cache below; areas of what filled the
buffer. Curves are thinned to what can be seen, and one pixel wide where there are many requests: that keeps it
quick."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF, QResizeEvent

from inspector.core.findings.triggers import ClientTrigger
from inspector.core.session import Thread
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import Colours
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import cache_words, grouped
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag
from inspector.gui.panels.timeline.mark_row import MarkRow
from inspector.gui.panels.timeline.overlay import LOWER, UPPER, Curves, TimelineOverlay
from inspector.gui.widgets.plot import Plot, area_of, end_place, pg, set_height
from inspector.workbench.pressure.filling import NO_TOOL, OTHER_TOOLS, UNSEEN, Areas
from inspector.workbench.pressure.scale import GaugeLine
from inspector.workbench.pressure.timeline import Mark, Series

LOWER_HEIGHT = 66
"""Most pixels of the second plot ..."""
LOWER_LEAST, UPPER_LEAST = 40, 140
"""... and least pixels of both: where there is less room the second plot gives way."""
LOWER_LINES = 2.6
"""Lines of text that the second plot is high, at least: two numbers of its axis."""
LOWER_SHARE = 0.18
"""Share of the height that the second plot takes at most, so that the pressure has a share of the screen."""
FEW = 3000
"""Up to so many requests curves may be smooth and thicker than a pixel; more would take longer than a frame."""
HEADROOM = 1.15
"""The upper plot is so much higher than its highest value: room for the words about compactions."""


MARGINS = (8, 2, 12, 2)
"""Pixels around the plots: left, top, right, bottom."""


class TimelinePlot(Plot):
    """A drag of a watermark moves its setting; any other one the playhead."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__(theme, "Pressure over all requests", MARGINS)
        self._drag = drag
        self._drawn = Curves()
        self._thread: Thread | None = None
        self._few = True
        self._graphics.ci.layout.setSpacing(4)
        self.above, self.below = self._add_plot(row=0), self._add_plot(row=1)
        self.below.setMaximumHeight(LOWER_HEIGHT)
        self.below.setXLink(self.above)
        self.areas = StackedAreas(self._boxes[0], theme)
        self._boxes[0].addItem(self.areas, ignoreBounds=True)
        self._curves = {name: self._add_curve(self.above) for name in UPPER}
        self._curves |= {name: self._add_curve(self.below) for name in LOWER}
        self._box, lower = self._boxes
        self.overlay = TimelineOverlay(self._graphics, theme, self._box, lower)
        self.mark_row = MarkRow(theme, self._mark_scale, self._span)
        self._box.sigRangeChanged.connect(self.mark_row.update)
        self._box.sigResized.connect(self.mark_row.update)
        self.mark_row.picked.connect(self.moved)
        self.mark_row.hovered.connect(self.hovered)
        self._column.addWidget(self.mark_row)
        self._box.grip = self._grip
        self._box.lifted.connect(self._lift)
        self.restyle()

    def show_curves(self, curves: Curves, thread: Thread | None) -> None:
        """Other curves. What the user looks at closely stays in sight, and the end of it, where that is looked at."""
        closer, then = self._looks_closer() if grown(self._thread, thread) else None, self.count
        self._drawn, self._thread = curves, thread
        self._few = thread is None or len(thread.requests) <= FEW
        self._set_pens()
        for name, curve in self._curves.items():
            curve.setData(*curves.points.get(name, ([], [])), connect="finite", antialias=self._few)
        self.overlay.show_curves(curves)
        self.show_count(len(thread.requests) if thread else 0)
        if closer is None:
            self.show_all()
        else:
            moved = self.count - then if closer[1] >= then - 1 else 0
            self.above.setXRange(closer[0] + moved, closer[1] + moved, padding=0)
        self._scale()
        self.mark_row.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The lower plot shrinks, then gives way, where the pressure could not be read any more."""
        super().resizeEvent(event)
        whole = self.height() - self.mark_row.sizeHint().height()
        least = max(LOWER_LEAST, round(LOWER_LINES * self.fontMetrics().height()))
        room = min(whole - UPPER_LEAST, max(least, round(LOWER_SHARE * whole)))
        self.below.setMaximumHeight(max(least, min(LOWER_HEIGHT, room)))
        self.below.setVisible(room >= least)
        self._fit_gutter()

    def _fit_gutter(self) -> None:
        """Leave the room right of the plots that the labels of the lines take."""
        left, top, _, bottom = MARGINS
        self._graphics.ci.layout.setContentsMargins(left, top, self.overlay.gutter_width(self.width()), bottom)

    def show_marks(self, marks: Sequence[Mark], at: int | None) -> None:
        """What is marked beside compactions and drops; where the playhead stands."""
        self.mark_row.show_playhead(at)
        self.overlay.show_playhead(at)
        self.mark_row.show_marks((*self._drawn.series.marks, *marks))

    def _mark_scale(self) -> Callable[[Mark], float]:
        """Where a mark stands as the plot is now; asking pyqtgraph for each took longer than the painting."""
        origin, one = (float(self._box.mapViewToScene(QPointF(place, 0)).x()) for place in (0, 1))
        end = end_place(self.count)

        def x_of(mark: Mark) -> float:
            between = mark.kind in ("compaction", "drop", "pin removed")
            return origin + (one - origin) * (mark.at - 0.5 if between else min(mark.at, end))

        return x_of

    def _span(self) -> tuple[float, float]:
        area = area_of(self._box)
        return area.left(), area.right()

    def _looks_closer(self) -> tuple[float, float] | None:
        """What is seen of the requests; None where that is all of them."""
        first, last = self._box.viewRange()[0]
        return None if first <= 0 and last >= self.count - 1 else (first, last)

    def show_lines(
        self, rim: int | None, is_assumed: bool, lines: tuple[GaugeLine, ...], trigger: ClientTrigger | None
    ) -> None:
        """Show the window (or the one that is assumed), the lines, and where the client compacts by itself."""
        if self.overlay.show_lines(rim, is_assumed, lines, trigger):
            self._fit_gutter()
            self._scale()

    def _scale(self) -> None:
        set_height(self.above, self._drawn.top, self.overlay.rim, HEADROOM)
        for plot, known in ((self.above, self._drawn.top > 1), (self.below, self._drawn.most > 0)):
            plot.getAxis("left").setStyle(showValues=known)  # an axis of nothing has no numbers
        if self._drawn.points:
            self.below.setYRange(0, max(1, self._drawn.most) * 1.1, padding=0)

    def _line_at(self, place: QPointF) -> GaugeLine | None:
        """The watermark within reach of a place of the upper plot."""
        reach = REACH * self._box.viewPixelSize()[1]
        near = [line for line in self.overlay.lines if abs(line.tokens - place.y()) <= reach]
        return min(near, key=lambda line: abs(line.tokens - place.y()), default=None)

    def _grip(self, place: QPointF) -> bool:
        line = self._line_at(place)
        if line is not None:
            self._drag.take(line)
        return line is not None

    def _lift(self, tokens: float, let_go: bool) -> None:
        self._drag.move(tokens)
        if let_go:
            self._drag.drop()

    def _hover(self, where: QPointF) -> None:
        over = self.above.sceneBoundingRect().contains(where) and self._line_at(self._box.mapSceneToView(where))
        self._graphics.viewport().setCursor(Qt.CursorShape.SplitVCursor if over else Qt.CursorShape.ArrowCursor)
        self._graphics.viewport().setToolTip(tip(self.overlay.about_label(where)))
        super()._hover(where)

    def about(self, at: int) -> str:
        """The three numbers first."""
        series, thread = self._drawn.series, self._thread
        if thread is None:
            return ""
        request = thread.requests[at]
        words = (*_three(series, at), self.areas.about(at), cache_words(request.usage), request.time[11:16])
        words = (*words, self.overlay.fired_at(at))
        return " · ".join(word for word in (f"request {at}", *words) if word)

    def _set_pens(self) -> None:
        self.areas.update()
        c, main = self._theme.colours, 1.6 if self._few else 1
        pens = {
            "reported": pg.mkPen(c.accent, width=main),
            "unreported": pg.mkPen(c.accent, width=main, dash=[4, 3]),
            "believed": pg.mkPen(c.missing, width=1),
            "cache_read": pg.mkPen(c.good, width=1),
            "fresh": pg.mkPen(c.low, width=1),
            "output": pg.mkPen(c.categories["thinking"], width=1),
        }
        for name, curve in self._curves.items():
            curve.setPen(pens[name])


def grown(before: Thread | None, now: Thread | None) -> bool:
    """Is it the same thread, as it was or longer?"""
    if before is None or now is None or before.id != now.id or len(now.requests) < len(before.requests):
        return False
    first = (thread.requests[0] if thread.requests else None for thread in (before, now))
    one, other = ((request.time, request.line, len(request.view)) if request else None for request in first)
    return one == other


def _three(series: Series, at: int) -> tuple[str, ...]:
    """`84,210 reported`, `84,190 predicted`, `83,100 own count` of the policy: as far as they are known."""
    kind, height, predicted = series.kinds[at], series.heights[at], series.predicted[at]
    words = [f"{grouped(height)} {kind}" if height is not None else kind]
    if kind == "reported" and predicted is not None:
        words.append(f"{grouped(predicted)} predicted")
    if at < len(series.believed):
        words.append(f"{grouped(series.believed[at])} own count")
    return tuple(words)


_POINTS = 700
"""At most so many requests are painted; in a longer range only every so-many-th."""
_SOLID = 175
"""Of 255: lines and words over the areas stay readable."""
_TOOLS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#cc79a7", "#8f7ee6", "#994f00")
"""Of the heaviest tool, the second, ... (Okabe and Ito)."""
_TOLD = 3
"""Areas that are told of a request under the mouse."""


class StackedAreas(Guarded, pg.GraphicsObject):  # type: ignore[misc]
    """Behind the curves, before the grid."""

    def __init__(self, box: pg.ViewBox, theme: Theme) -> None:
        super().__init__()
        self._box, self._theme = box, theme
        self.areas: Areas | None = None
        self._levels = np.zeros((1, 0))
        """Where each area begins, lowest first, and the top."""
        self._range: tuple[int, int] | None = None
        self._polygons: list[QPolygonF] = []
        self.setZValue(-5)

    def show_areas(self, areas: Areas | None) -> None:
        """These from now on; None for none."""
        self.areas, self._range = areas, None
        rows = np.array(areas.tokens if areas is not None else (), dtype=np.float64)
        self._levels = np.vstack([np.zeros((1, rows.shape[1])), rows.cumsum(axis=0)]) if rows.size else np.zeros((1, 0))
        self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(self._box.viewRect())

    def paint(self, painter: QPainter, option: Any, widget: Any) -> None:
        if self.areas is None:
            return
        self._shape()
        painter.setPen(Qt.PenStyle.NoPen)
        for colour, polygon in zip(area_colours(self._theme.colours, self.areas), self._polygons, strict=False):
            ground = QColor(colour)
            ground.setAlpha(_SOLID)
            painter.setBrush(ground)
            painter.drawPolygon(polygon)

    def _shape(self) -> None:
        count = self._levels.shape[1]
        left, right = self._box.viewRange()[0]
        first, last = max(0, min(floor(left), count - 1)), max(0, min(ceil(right), count - 1))
        if (first, last) == self._range:
            return
        self._range = first, last
        step = max(1, (last - first) // _POINTS)
        places = [*range(first, last, step), last] if count else []
        edges = [[QPointF(x, y) for x, y in zip(places, level[places], strict=True)] for level in self._levels]
        self._polygons = [QPolygonF([*low, *reversed(high)]) for low, high in pairwise(edges) if low]

    def about(self, at: int) -> str:
        """The largest areas of a request: `tool results 71,133, tool calls 23,858, ...`; empty where none are shown."""
        if self.areas is None or at >= self._levels.shape[1]:
            return ""
        sizes = [(row[at], name) for name, row in zip(self.areas.names, self.areas.tokens, strict=True) if row[at]]
        return ", ".join(f"{line(name, 40)} {grouped(tokens)}" for tokens, name in sorted(sizes, reverse=True)[:_TOLD])


def area_colours(colours: Colours, areas: Areas) -> Sequence[str]:
    """Of each area, lowest first: of the gauge for categories, the heaviest tool's first for tools."""
    known = {str(name): colour for name, colour in colours.categories.items()} if areas.kind == "category" else {}
    tools = [name for name in reversed(areas.names) if name not in (UNSEEN, NO_TOOL, OTHER_TOOLS)]
    known |= {} if areas.kind == "category" else dict(zip(tools, _TOOLS, strict=False))
    known |= {UNSEEN: colours.missing, NO_TOOL: colours.categories["system"], OTHER_TOOLS: colours.categories["tools"]}
    return [known[name] for name in areas.names]
