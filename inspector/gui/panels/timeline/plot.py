"""The plot of the timeline, by pyqtgraph: pressure above, what was read from and past the cache below.

Curves are thinned to what can be seen, and one pixel wide where there are many requests: that keeps it quick.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QResizeEvent

from inspector.core.policies.verdict import Watermark
from inspector.core.session import Thread
from inspector.core.tokens.windows import Window
from inspector.gui.look.number_formats import cache_words, grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.areas import StackedAreas
from inspector.gui.panels.timeline.line_drag import REACH, LineDrag
from inspector.gui.panels.timeline.mark_row import MarkRow
from inspector.gui.panels.timeline.overlay import Curve, TimelineOverlay
from inspector.gui.widgets.plot import Plot, area_of, end_place, pg, set_height
from inspector.workbench.timeline import Mark, Series

LOWER_HEIGHT = 66
"""Most pixels of the second plot ..."""
LOWER_LEAST, UPPER_LEAST = 40, 95
"""... and least pixels of both: where there is less room the second plot gives way."""
FEW = 3000
"""Up to so many requests curves may be smooth and thicker than a pixel; more would take longer than a frame."""
HEADROOM = 1.2
"""The upper plot is so much higher than its highest value: room for the words about compactions."""
UPPER, LOWER = ("believed", "reported", "unreported"), ("cache_read", "fresh", "output")


@dataclass(frozen=True, slots=True)
class Curves:
    """A series, and what is drawn of it."""

    series: Series | None = None
    heights: Sequence[int | None] = ()
    points: Mapping[str, Curve] = field(default_factory=dict)
    """(requests, values) of a curve, by its name."""
    top: int = 1
    """The highest value of the upper plot ..."""
    most: int = 0
    """... and of the lower one."""


def curves(series: Series | None) -> Curves:
    """What is drawn of a series. Any thread."""
    if series is None:
        return Curves()
    heights = series.heights
    triggers = (one.tokens for one in series.triggers)
    top = max((*filter(None, heights), *series.believed, *triggers, series.end or 0), default=1)
    most = max(filter(None, (*series.cache_read, *series.fresh, *series.output)), default=0)
    points = {name: _points(name, getattr(series, name)) for name in (*UPPER, *LOWER)}
    return Curves(series, heights, points, top, most)


def _points(name: str, values: Sequence[int | None]) -> Curve:
    places = np.arange(len(values), dtype=np.float64)
    if name == "unreported" and len(values):
        places[-1] = end_place(len(values) - 1)
    return places, np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)


class TimelinePlot(Plot):
    """A drag of a watermark moves its setting; any other one the playhead."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__(theme, "Pressure over all requests", (6, 2, 12, 2))
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

    # -- what is shown ------------------------------------------------------------------------------------------------

    def show_curves(self, curves: Curves, thread: Thread | None) -> None:
        """Other curves. What the user looks at closely stays in sight, and the end of it, where that is looked at."""
        closer, then = self._looks_closer() if grown(self._thread, thread) else None, self.count
        self._drawn, self._thread = curves, thread
        self._few = thread is None or len(thread.requests) <= FEW
        self._set_pens()
        for name, curve in self._curves.items():
            curve.setData(*curves.points.get(name, ([], [])), connect="finite", antialias=self._few)
        series = curves.series
        self.overlay.show_marks(series.marks if series else (), curves.heights, series.end if series else None)
        self.overlay.show_curves(*([curves.points[one] for one in of if one in curves.points] for of in (UPPER, LOWER)))
        self.overlay.show_triggers(series.triggers if series else ())
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
        room = self.height() - self.mark_row.sizeHint().height() - UPPER_LEAST
        self.below.setMaximumHeight(max(LOWER_LEAST, min(LOWER_HEIGHT, room)))
        self.below.setVisible(room >= LOWER_LEAST)

    def show_marks(self, marks: Sequence[Mark], at: int | None) -> None:
        """What is marked beside compactions and drops; where the playhead stands."""
        self.mark_row.show_playhead(at)
        self.overlay.show_playhead(at)
        drawn = self._drawn.series.marks if self._drawn.series is not None else ()
        self.mark_row.show_marks((*drawn, *marks))

    def _mark_scale(self) -> Callable[[Mark], float]:
        """Where a mark stands as the plot is now; asking pyqtgraph for each took longer than the painting."""
        origin, one = (float(self._box.mapViewToScene(QPointF(place, 0)).x()) for place in (0, 1))
        end = end_place(self.count)

        def x_of(mark: Mark) -> float:
            between = mark.kind in ("compaction", "drop", "pin gone")
            return origin + (one - origin) * (mark.at - 0.5 if between else min(mark.at, end))

        return x_of

    def _span(self) -> tuple[float, float]:
        area = area_of(self._box)
        return area.left(), area.right()

    def _looks_closer(self) -> tuple[float, float] | None:
        """What is seen of the requests; None where that is all of them."""
        first, last = self._box.viewRange()[0]
        return None if first <= 0 and last >= self.count - 1 else (first, last)

    def show_window(self, window: Window | None, lines: tuple[Watermark, ...]) -> None:
        """The window and its watermarks."""
        if self.overlay.show_lines(window.tokens if window else None, lines):
            self._scale()

    def _scale(self) -> None:
        set_height(self.above, self._drawn.top, self.overlay.window_tokens, HEADROOM)
        for plot, known in ((self.above, self._drawn.top > 1), (self.below, self._drawn.most > 0)):
            plot.getAxis("left").setStyle(showValues=known)  # an axis of nothing has no numbers
        if self._drawn.series is not None:
            self.below.setYRange(0, max(1, self._drawn.most) * 1.1, padding=0)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _line_at(self, place: QPointF) -> Watermark | None:
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
        super()._hover(where)

    def about(self, at: int) -> str:
        """The three numbers first."""
        series, thread = self._drawn.series, self._thread
        if series is None or thread is None:
            return ""
        request = thread.requests[at]
        words = (*_three(series, at), self.areas.about(at), cache_words(request.usage), request.time[11:16])
        words = (*words, self.overlay.fired_at(at))
        return " · ".join(word for word in (f"request {at}", *words) if word)

    # -- looks ---------------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        """Pens and grounds from the theme."""
        super().restyle()
        for part in (self.areas, self.overlay, self.mark_row):
            part.update()

    def _set_pens(self) -> None:
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
    """`84,210 reported`, `84,190 predicted`, `83,100 believed` by the policy: as far as they are known."""
    kind, height, predicted = series.kinds[at], series.heights[at], series.predicted[at]
    words = [f"{grouped(height)} {kind}" if height is not None else kind]
    if kind == "reported" and predicted is not None:
        words.append(f"{grouped(predicted)} predicted")
    if at < len(series.believed):
        words.append(f"{grouped(series.believed[at])} believed")
    return tuple(words)
