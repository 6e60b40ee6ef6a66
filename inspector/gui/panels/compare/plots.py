"""The curves of the comparison, by pyqtgraph: tokens of every request under each policy, one over the other.

Every curve is a pixel wide and differs from the others in its strokes and its letter; the chosen one is drawn last, the
others fade behind it.
"""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from inspector.core.replay.report import Report
from inspector.gui.guard import Guarded
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.look import look
from inspector.gui.panels.compare.marks import MARGIN, CompareMarks
from inspector.gui.widgets.graphs import pg
from inspector.gui.widgets.plot_parts import Grid, PlayheadBox, TokenAxis
from inspector.workbench.compare import PLAIN

FADED = 120
"""Opacity of what is not chosen, of 255."""
HEADROOM = 1.12


class ComparePlots(Guarded, QWidget):
    """`moved` carries the request the user pointed at, `hovered` the words about what is under the mouse."""

    moved = Signal(object)
    hovered = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._reports: Sequence[Report] = ()
        self._picked = ""
        self._graphics = pg.GraphicsLayoutWidget()
        self._graphics.ci.layout.setContentsMargins(6, 4, MARGIN, 4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Tokens of every request under each policy")
        self._axis = TokenAxis()
        self._axis.setWidth(46)
        self.box = PlayheadBox()
        self.plot = self._graphics.addPlot(row=0, col=0, viewBox=self.box, axisItems={"left": self._axis})
        self.plot.hideButtons()
        self.plot.setMenuEnabled(False)
        self.plot.hideAxis("bottom")
        self.box.addItem(Grid(self.box, self._axis, theme), ignoreBounds=True)
        self.curves: dict[str, pg.PlotDataItem] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._graphics)
        self.marks = CompareMarks(self._graphics, theme, self.box)
        self.box.sigRangeChanged.connect(self.marks.update)
        self.box.pointed.connect(self._point)
        self.box.all_wanted.connect(self._show_all)
        self._graphics.scene().sigMouseMoved.connect(self._hover)
        self.restyle()

    # -- what is shown ------------------------------------------------------------------------------------------------

    def show_reports(self, reports: Sequence[Report], picked: str) -> None:
        """These curves, that one in front."""
        others = [one.policy for one in reports] != [one.policy for one in self._reports]
        if others or any(a is not b for a, b in zip(reports, self._reports, strict=True)):
            self._draw(reports)
        self._picked = picked
        self._set_pens()
        self._scale()
        self.marks.show_reports(reports, next((one for one in reports if one.policy == picked), None))

    def _draw(self, reports: Sequence[Report]) -> None:
        count = len(reports[0].rows) if reports else 0
        if count != (len(self._reports[0].rows) if self._reports else -1):
            self.box.setLimits(xMin=-2, xMax=count + 2, minXRange=4)
            self._reports = reports
            self._show_all()
        self._reports = reports
        names = {one.policy for one in reports}
        for name in [name for name in self.curves if name not in names]:
            self.plot.removeItem(self.curves.pop(name))
        for one in reports:
            if one.policy not in self.curves:
                curve = self.curves[one.policy] = self.plot.plot()
                curve.setDownsampling(auto=True, method="peak")
                curve.setClipToView(True)
            tokens = np.array([row.tokens for row in one.rows], dtype=np.float64)
            self.curves[one.policy].setData(np.arange(count, dtype=float), tokens, antialias=False)

    def _show_all(self) -> None:
        """Every request in sight."""
        count = len(self._reports[0].rows) if self._reports else 0
        self.plot.setXRange(-0.5, max(1, count) - 0.3, padding=0.01)

    def _scale(self) -> None:
        """To the window and the curves. No compaction may leave at the top, unless it is the chosen one."""
        heights = [one.peak for one in self._reports if one.policy != PLAIN or self._picked == PLAIN]
        if not heights:
            heights = [one.peak for one in self._reports]
        window = self._reports[0].window if self._reports else None
        top = max([*heights, 1])
        if window and top > 0.3 * window:
            top = max(top, window)
        self.plot.setYRange(0, top * HEADROOM, padding=0)

    def show_playhead(self, at: int | None) -> None:
        """Where we stand."""
        self.marks.show_playhead(at)

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _nearest(self, x: float) -> int | None:
        count = len(self._reports[0].rows) if self._reports else 0
        return max(0, min(round(x), count - 1)) if count else None

    def _point(self, x: float) -> None:
        nearest = self._nearest(x)
        if nearest is not None:
            self.moved.emit(nearest)

    def _hover(self, where: object) -> None:
        at = self._nearest(self.box.mapSceneToView(where).x())
        self.hovered.emit(self._told(at) if at is not None else "")

    def _told(self, at: int) -> str:
        words = [f"request {at}"]
        for one in self._reports:
            row = one.rows[at]
            fired = f" ({', '.join(row.fired)})" if row.fired and one.policy == self._picked else ""
            words.append(f"{look(one.policy).letter} {grouped(row.tokens)}{fired}")
        return " · ".join(words)

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is under the mouse any more."""
        super().leaveEvent(event)
        self.hovered.emit("")

    # -- looks ---------------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        """Pens and grounds from the theme."""
        c = self._theme.colours
        self._graphics.setBackground(QColor(c.window))
        self._axis.setPen(QPen(QColor(c.window)))
        self._axis.setTextPen(QColor(c.quiet))
        self._axis.setTickFont(ui_font(self._theme.small))
        self._set_pens()
        self.marks.update()

    def _set_pens(self) -> None:
        for name, curve in self.curves.items():
            pen = look(name).pen(self._theme.colours)
            if self._picked and name != self._picked:
                faded = QColor(pen.color())
                faded.setAlpha(FADED)
                pen.setColor(faded)
            curve.setPen(pen)
            curve.setZValue(10 if name == self._picked else 0)
