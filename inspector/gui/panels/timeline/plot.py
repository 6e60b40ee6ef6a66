"""The plot of the timeline, by pyqtgraph: pressure above, what was read from and past the cache below.

Curves are thinned to what can be seen, and one pixel wide where there are many requests: that keeps it quick.
"""

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from inspector.core.policies.policy import Watermark
from inspector.core.session import Thread
from inspector.core.tokens.windows import Window
from inspector.gui.guard import Guarded
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import cache_words, grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.plot_marks import PlotMarks
from inspector.gui.panels.timeline.plot_tiers import PlotTiers
from inspector.gui.widgets.graphs import pg
from inspector.gui.widgets.line_drag import REACH, LineDrag
from inspector.gui.widgets.plot_curves import LOWER, UPPER, Curves
from inspector.gui.widgets.plot_parts import Grid, PlayheadBox, TokenAxis
from inspector.workbench.timeline import Series

LOWER_HEIGHT = 66
"""Pixels of the second plot."""
FEW = 3000
"""Up to so many requests curves may be smooth and thicker than a pixel; more would take longer than a frame."""
HEADROOM = 1.3
"""The upper plot is so much higher than its highest value: room for the words about compactions."""


class Plot(Guarded, QWidget):
    """`moved` carries the request the user pointed at, `hovered` the words about what is under the mouse."""

    moved = Signal(object)
    hovered = Signal(str)
    offered = Signal(int, object)
    """A right click at that request, and where on the screen."""

    def __init__(self, theme: Theme, drag: LineDrag) -> None:
        super().__init__()
        self._drawn = Curves()
        self._theme, self._drag = theme, drag
        self._lines: tuple[Watermark, ...] = ()
        self._series: Series | None = None
        self._thread: Thread | None = None
        self._few = True
        self._graphics = pg.GraphicsLayoutWidget()
        self._graphics.ci.layout.setContentsMargins(6, 2, 12, 2)
        self._graphics.ci.layout.setSpacing(4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Pressure over all requests")
        self._axes: list[TokenAxis] = []
        self.above = self._add_plot(0)
        self.below = self._add_plot(1)
        self.below.setMaximumHeight(LOWER_HEIGHT)
        self.below.setXLink(self.above)
        self._curves = {name: self.above.plot() for name in UPPER}
        self._curves |= {name: self.below.plot() for name in LOWER}
        for curve in self._curves.values():
            curve.setDownsampling(auto=True, method="peak")
            curve.setClipToView(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._graphics)
        self.marks = PlotMarks(self._graphics, theme, self.above.getViewBox(), self.below.getViewBox())
        self.tiers = PlotTiers(self._graphics, theme, self.above.getViewBox())
        for over in (self.marks, self.tiers):
            self.above.getViewBox().sigRangeChanged.connect(over.update)
        self.above.getViewBox().grip = self._grip
        self.above.getViewBox().lifted.connect(self._lift)
        self._graphics.scene().sigMouseMoved.connect(self._hover)
        self.restyle()

    def _add_plot(self, row: int) -> pg.PlotItem:
        box = PlayheadBox()
        box.pointed.connect(self._point)
        box.offered.connect(self._offer)
        box.all_wanted.connect(lambda: self._keep_range(None))
        axis = TokenAxis()
        plot = self._graphics.addPlot(row=row, col=0, viewBox=box, axisItems={"left": axis})
        plot.hideButtons()
        plot.setMenuEnabled(False)
        plot.hideAxis("bottom")
        axis.setWidth(46)
        self._axes.append(axis)
        box.addItem(Grid(box, axis, self._theme), ignoreBounds=True)
        return plot

    # -- what is shown ------------------------------------------------------------------------------------------------

    def show_curves(self, curves: Curves, thread: Thread | None) -> None:
        """Other curves."""
        before = self._shown_range() if grown(self._thread, thread) else None
        self._drawn, self._series, self._thread = curves, curves.series, thread
        self._few = thread is None or len(thread.requests) <= FEW
        self._set_pens()
        for name, curve in self._curves.items():
            curve.setData(*curves.points.get(name, ([], [])), connect="finite", antialias=self._few)
        series = curves.series
        self.marks.show_marks(series.marks if series else (), curves.heights, series.end if series else None)
        count = len(thread.requests) if thread else 0
        for plot in (self.above, self.below):
            plot.getViewBox().setLimits(xMin=-2, xMax=count + 2, minXRange=4)  # first: a range is cut to the limits
        self._keep_range(before)
        self._scale()

    def _shown_range(self) -> tuple[float, float, int] | None:
        """What is seen (first, last, number of requests then); None where that is all of it."""
        count = len(self._thread.requests) if self._thread else 0
        first, last = self.above.getViewBox().viewRange()[0]
        whole = first <= 0 and last >= count - 1
        return None if whole else (float(first), float(last), count)

    def _keep_range(self, before: tuple[float, float, int] | None) -> None:
        """All of it, unless the user looks closer: then the same, moved along where they looked at the end."""
        count = len(self._thread.requests) if self._thread else 0
        if before is None:
            self.above.setXRange(-0.5, max(1, count) - 0.3, padding=0.01)
            return
        first, last, then = before
        moved = count - then if last >= then - 1 else 0
        self.above.setXRange(first + moved, last + moved, padding=0)

    def show_window(self, window: Window | None, lines: tuple[Watermark, ...]) -> None:
        """The window and its watermarks."""
        self._lines = lines
        if self.marks.show_lines(window.tokens if window else None, lines):
            self._scale()

    def _scale(self) -> None:
        """Up to the window where the curve comes near it; a curve far below is not flattened to the floor."""
        top = self._drawn.top
        window = self.marks.window_tokens
        if window and top > 0.3 * window:
            top = max(top, window)
        self.above.setYRange(0, top * HEADROOM, padding=0)
        if self._series is not None:
            self.below.setYRange(0, max(1, self._drawn.most) * 1.1, padding=0)

    def show_playhead(self, at: int | None) -> None:
        """Where we stand; None = behind the last request."""
        self.marks.show_playhead(at)
        self.tiers.show_playhead(at)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _nearest(self, x: float) -> int | None:
        count = len(self._thread.requests) if self._thread else 0
        return max(0, min(round(x), count - 1)) if count else None

    def _point(self, x: float) -> None:
        nearest = self._nearest(x)
        if nearest is not None:
            self.moved.emit(nearest)

    def _offer(self, x: float, where: QPoint) -> None:
        nearest = self._nearest(x)
        if nearest is not None:
            self.offered.emit(nearest, where)

    def _line_at(self, place: QPointF) -> Watermark | None:
        """The watermark within reach of a place of the upper plot."""
        reach = REACH * self.above.getViewBox().viewPixelSize()[1]
        near = [line for line in self._lines if abs(line.tokens - place.y()) <= reach]
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

    def _hover(self, where: object) -> None:
        box = self.above.getViewBox()
        over = self.above.sceneBoundingRect().contains(where) and self._line_at(box.mapSceneToView(where))
        shape = Qt.CursorShape.SplitVCursor if over else Qt.CursorShape.ArrowCursor
        self._graphics.viewport().setCursor(shape)
        at = self._nearest(box.mapSceneToView(where).x())
        self.hovered.emit(self.told(at) if at is not None else "")

    def told(self, at: int) -> str:
        """What the mouse over a request is told: the three numbers first."""
        if self._series is None or self._thread is None:
            return ""
        request = self._thread.requests[at]
        words = (*_three(self._series, at), cache_words(request.usage), request.time[11:16], self.tiers.told_at(at))
        return " · ".join(word for word in (f"request {at}", *words) if word)

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is under the mouse any more."""
        super().leaveEvent(event)
        self.hovered.emit("")

    # -- looks ---------------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        """Pens and grounds from the theme."""
        c = self._theme.colours
        self._graphics.setBackground(QColor(c.window))
        self._set_pens()
        for axis in self._axes:
            axis.setPen(QPen(QColor(c.window)))
            axis.setTextPen(QColor(c.quiet))
            axis.setTickFont(ui_font(self._theme.small))
        self.marks.update()
        self.tiers.update()

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
