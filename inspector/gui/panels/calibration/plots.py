"""The plots of the calibration panel, by pyqtgraph: estimated and reported, the learned scale, the prediction's errors.

A click on any of them points at a request. Bands and clamp lines are fixed; only the samples change.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.core.tokens.calibration import HIGHEST, LOWEST
from inspector.core.tokens.fit import Fit, Sample
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped, percent, short
from inspector.gui.look.theme import Theme
from inspector.gui.panels.calibration.rows import Worked
from inspector.gui.widgets.graphs import pg
from inspector.gui.widgets.plot_parts import PlayheadBox

MOST_POINTS = 4_000
"""Points of the scatter; of more, every n-th is drawn: a large scatter costs Qt 200 ms a picture."""
BANDS = (0.2, 0.3)
CLOSE = (0.01, 0.03)
"""Lines of the error: a prediction of the next call is rarely farther off."""
Spell: TypeAlias = Callable[[float], str]


class _Lines(NamedTuple):
    """Fixed lines and how they are drawn."""

    item: Any
    look: str


class CalibrationPlots(QWidget):
    """`moved` carries the request that was pointed at, `hovered` the words about the sample under the mouse."""

    moved = Signal(object)
    hovered = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._fit: Fit | None = None
        self._predicted: Mapping[int, int] = {}
        self._errors: Mapping[int, float] = {}
        """By request, of those that are drawn."""
        self._at: int | None = None
        self._lines: list[_Lines] = []
        self._axes: list[Any] = []
        self._graphics = pg.GraphicsLayoutWidget()
        self._graphics.ci.layout.setContentsMargins(4, 2, 10, 4)
        self._graphics.ci.layout.setHorizontalSpacing(6)
        self._words: list[pg.LabelItem] = []
        self.scatter = self._add("reported / estimated", (0, 0, 2), short, short)
        self.scale = self._add("learned factor", (0, 1, 1), "{:g}".format, short)
        self.errors = self._add("error of the next call", (1, 1, 1), _signed, short)
        self.scale.hideAxis("bottom")
        self.errors.setXLink(self.scale)
        self._add_lines()
        self._points = pg.ScatterPlotItem(size=5, pxMode=True)
        self.scatter.addItem(self._points)
        self._curve = self.scale.plot(stepMode=None)
        self._error_points = pg.ScatterPlotItem(size=4, pxMode=True)
        self.errors.addItem(self._error_points)
        for points in (self._points, self._error_points):
            points.sigClicked.connect(self._point_clicked)
        self._here = pg.ScatterPlotItem(size=11, pxMode=True)
        self.scatter.addItem(self._here)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._graphics)
        about = "Reported over estimated with bands of 20 % and 30 %; learned scale; error of the predicted next call"
        self.setAccessibleName(about)
        self.setToolTip(about)
        self._graphics.scene().sigMouseMoved.connect(self._hover)
        self.restyle()

    def _add(self, word: str, place: tuple[int, int, int], up: Spell, along: Spell) -> Any:
        """A plot at (row, column, rows that it spans), with a word in its corner."""
        box = PlayheadBox()
        row, column, rows = place
        left, bottom = _Axis("left", up), _Axis("bottom", along)
        axes = {"left": left, "bottom": bottom}
        plot = self._graphics.addPlot(row=row, col=column, rowspan=rows, viewBox=box, axisItems=axes)
        said = pg.LabelItem(word, size="8pt")
        said.setParentItem(box)
        said.anchor(itemPos=(0, 0), parentPos=(0, 0), offset=(3, 5 if column and not row else -3))
        self._words.append(said)
        plot.hideButtons()
        plot.setMenuEnabled(False)
        plot.setMinimumWidth(0)
        box.all_wanted.connect(self._range)
        self._graphics.ci.layout.setColumnStretchFactor(column, 1)
        left.setWidth(44)
        self._axes += (left, bottom)
        if column:
            box.pointed.connect(self._request_pointed)
        else:
            box.pointed.connect(lambda _: None)
        return plot

    def _add_lines(self) -> None:
        for share in (*BANDS, *(-band for band in BANDS)):
            self._line(self.scatter, "band", angle=float(np.degrees(np.arctan(1 + share))))
        for share in (*CLOSE, *(-band for band in CLOSE)):
            self._line(self.errors, "band", pos=share, angle=0)
        self._line(self.scatter, "exact", angle=45)
        self._fitted = pg.InfiniteLine(angle=45)
        self.scatter.addItem(self._fitted)
        self._lines.append(_Lines(self._fitted, "fitted"))
        self._line(self.errors, "exact", pos=0, angle=0)
        for clamp in (LOWEST, HIGHEST):
            self._line(self.scale, "clamp", pos=clamp, angle=0)
        self._line(self.scale, "exact", pos=1, angle=0)
        self._heads = [self._line(plot, "playhead", pos=0, angle=90) for plot in (self.scale, self.errors)]

    def _line(self, plot: Any, look: str, **how: float) -> Any:
        line = pg.InfiniteLine(**how)
        plot.addItem(line)
        self._lines.append(_Lines(line, look))
        return line

    # -- what is shown ------------------------------------------------------------------------------------------------

    def show_found(self, found: Worked | None) -> None:
        """Other samples."""
        self._fit = fit = found.fit if found else None
        self._predicted = found.predicted if found else {}
        samples = fit.samples if fit else ()
        drawn = samples[:: len(samples) // MOST_POINTS + 1]
        x, y = _floats([s.estimated for s in drawn]), _floats([s.reported for s in drawn])
        self._points.setData(x=x, y=y, data=[s.request for s in drawn])
        requests = _floats([s.request for s in samples])
        self._curve.setData(requests, _floats([s.scale for s in samples]))
        self._errors = errors = {s.request: error for s in drawn if (error := self._error(s)) is not None}
        self._error_points.setData(x=_floats(list(errors)), y=_floats(list(errors.values())), data=list(errors))
        line = fit.line if fit else None
        self._fitted.setVisible(line is not None)
        if line is not None:
            self._fitted.setPos(QPointF(0, line.overhead))
            self._fitted.setAngle(float(np.degrees(np.arctan(line.slope))))
        self._range()
        self._mark()

    def _error(self, sample: Sample) -> float | None:
        """Of what was shown before the sample was reported; None where there was nothing to go by."""
        predicted = self._predicted.get(sample.request)
        return None if predicted is None else predicted / sample.reported - 1

    def _range(self) -> None:
        """All of it."""
        samples = self._fit.samples if self._fit else ()
        worst = max(map(abs, self._errors.values()), default=0.0)
        last = max((s.request for s in samples), default=1)
        top = max((max(s.estimated, s.reported) for s in samples), default=1)
        self.scatter.setXRange(0, max((s.estimated for s in samples), default=1) * 1.06, padding=0)
        self.scatter.setYRange(0, top * 1.06, padding=0)
        self.scale.setYRange(LOWEST - 0.1, HIGHEST + 0.1, padding=0)
        reach = max(CLOSE[0] * 1.5, min(1.5, worst * 1.1))
        self.errors.setYRange(-reach, reach, padding=0)
        for plot in (self.scale, self.errors):
            plot.getViewBox().setLimits(xMin=-2, xMax=last + 2, minXRange=4)
        self.scale.setXRange(-0.5, last + 0.7, padding=0.01)

    def show_playhead(self, at: int | None) -> None:
        """Where we stand."""
        self._at = at
        self._mark()

    def _mark(self) -> None:
        for head in self._heads:
            head.setVisible(self._at is not None)
            head.setPos(self._at or 0)
        sample = next((s for s in self._fit.samples if s.request == self._at), None) if self._fit else None
        self._here.setData(x=[sample.estimated] if sample else [], y=[sample.reported] if sample else [])

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def _point_clicked(self, scatter: Any, points: Any, event: Any) -> None:
        if len(points):
            self.moved.emit(int(points[0].data()))

    def _request_pointed(self, x: float) -> None:
        nearest = self._nearest(x)
        if nearest is not None:
            self.moved.emit(nearest.request)

    def _nearest(self, x: float) -> Sample | None:
        samples = self._fit.samples if self._fit else ()
        return min(samples, key=lambda sample: abs(sample.request - x), default=None)

    def _hover(self, where: object) -> None:
        for plot in (self.scale, self.errors):
            if plot.sceneBoundingRect().contains(where):
                sample = self._nearest(plot.getViewBox().mapSceneToView(where).x())
                self.hovered.emit(self.told(sample) if sample else "")
                return
        points = self._points.pointsAt(self.scatter.getViewBox().mapSceneToView(where))
        request = int(points[0].data()) if len(points) else None
        samples = self._fit.samples if self._fit else ()
        self.hovered.emit(next((self.told(s) for s in samples if s.request == request), ""))

    def told(self, sample: Sample) -> str:
        """A sample in words."""
        words = [f"request {sample.request}", f"estimated {grouped(sample.estimated)}"]
        error = self._error(sample)
        if error is not None:
            words.append(f"predicted {grouped(self._predicted[sample.request])}")
        words.append(f"reported {grouped(sample.reported)}")
        if error is not None:
            words.append(f"error {percent(error, 2)}")
        return " · ".join(words)

    # -- looks ---------------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        """Pens and grounds from the theme."""
        c = self._theme.colours
        self._graphics.setBackground(QColor(c.window))
        pens = {
            "band": QPen(QColor(c.missing), 0, Qt.PenStyle.DotLine),
            "exact": QPen(QColor(c.missing), 0),
            "fitted": QPen(QColor(c.good), 0, Qt.PenStyle.DashLine),
            "clamp": QPen(QColor(c.high), 0, Qt.PenStyle.DashLine),
            "playhead": QPen(QColor(c.playhead), 0),
        }
        for line, look in self._lines:
            line.setPen(pens[look])
        self._curve.setPen(pg.mkPen(c.accent, width=1))
        point = QColor(c.accent)
        point.setAlpha(150)
        for points in (self._points, self._error_points):
            points.setPen(None)
            points.setBrush(point)
        self._here.setPen(pg.mkPen(c.playhead, width=1.5))
        self._here.setBrush(None)
        for said in self._words:
            said.setText(said.text, size="8pt", color=c.quiet)
        for axis in self._axes:
            axis.setPen(QPen(QColor(c.line)))
            axis.setTextPen(QColor(c.quiet))
            axis.setTickFont(ui_font(8))


class _Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis that spells its numbers in its own way."""

    def __init__(self, side: str, spell: Spell) -> None:
        super().__init__(side, maxTickLength=0)
        self._spell = spell
        self.enableAutoSIPrefix(False)
        self.setStyle(tickTextOffset=5, autoExpandTextSpace=False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [self._spell(value) for value in values]


def _signed(share: float) -> str:
    return f"{share * 100:+.3g} %" if share else "0"


def _floats(values: list[Any]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array(values, dtype=np.float64)
