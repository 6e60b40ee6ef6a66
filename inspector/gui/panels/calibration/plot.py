"""Estimated and reported, the learned scale, the prediction's errors. A click on any of them points at a request."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsView

from inspector.core.tokens.calibration import HIGHEST, LOWEST
from inspector.core.tokens.fit import Sample
from inspector.core.words import per_cent
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped, short
from inspector.gui.look.theme import Theme
from inspector.gui.panels.calibration.fits import EstimatorFit
from inspector.gui.widgets.plot import Axis, Overlay, Plot, Spell, area_of, label_size, pg
from inspector.gui.widgets.small import cut_words

MOST_POINTS = 4_000
"""Points of the scatter; of more, every n-th is drawn: a large scatter costs Qt 200 ms a picture."""
BANDS = (0.2, 0.3)
CLOSE = (0.01, 0.03)
"""Lines of the error: a prediction of the next call is rarely farther off."""
ABOUT = "Reported over estimated with bands of 20% and 30%; learned scale; error of the predicted next call"


class CalibrationPlot(Plot):
    """A scatter of the samples; beside it, over the requests, the learned factor and the errors."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, ABOUT, (4, 2, 10, 4))
        self.setToolTip(ABOUT)
        self.found: EstimatorFit | None = None
        self._samples: Mapping[int, Sample] = {}
        self._errors: Mapping[int, float] = {}
        """Both by request; errors of those that are drawn."""
        self._at: int | None = None
        self._lines: list[tuple[pg.InfiniteLine, str]] = []
        self._captions: list[tuple[pg.ViewBox, str]] = []
        self._graphics.ci.layout.setHorizontalSpacing(6)
        self.scatter = self._add(
            "reported over estimated tokens · dotted ±20%, ±30% · dashed: the fitted line",
            short,
            col=0,
            rows=2,
            requests=False,
            bottom=_along(),
        )
        self.scale = self._add("learned factor · dashed: never beyond", "{:g}".format, col=1)
        self.errors = self._add("error of the next call · dotted ±1%, ±3%", _signed, row=1, col=1, bottom=_along())
        self.errors.setXLink(self.scale)
        self._add_lines()
        self._points = _scatter(self.scatter, 5)
        self._curve = self._add_curve(self.scale)
        self._error_points = _scatter(self.errors, 4)
        for points in (self._points, self._error_points):
            points.sigClicked.connect(self._point_clicked)
        self._here = _scatter(self.scatter, 11)
        for plot in (self.scatter, self.scale, self.errors):
            plot.getViewBox().sigResized.connect(lambda _: self._fit_heights())
        self.captions = CaptionOverlay(self._graphics, theme, self.scatter.getViewBox(), self._captions)
        self.restyle()

    def _add(self, word: str, up: Spell, **how: Any) -> pg.PlotItem:
        plot = self._add_plot(left=Axis("left", up), **how)
        self._captions.append((plot.getViewBox(), word))
        plot.setMinimumWidth(0)
        self._graphics.ci.layout.setColumnStretchFactor(how["col"], 1)
        return plot

    def _add_lines(self) -> None:
        for share in (*BANDS, *(-band for band in BANDS)):
            self._line(self.scatter, "band", angle=float(np.degrees(np.arctan(1 + share))))
        for share in (*CLOSE, *(-band for band in CLOSE)):
            self._line(self.errors, "band", pos=share, angle=0)
        self._line(self.scatter, "exact", angle=45)
        self._fitted = self._line(self.scatter, "fitted", angle=45)
        self._line(self.errors, "exact", pos=0, angle=0)
        for clamp in (LOWEST, HIGHEST):
            self._line(self.scale, "clamp", pos=clamp, angle=0)
        self._line(self.scale, "exact", pos=1, angle=0)
        self._heads = [self._line(plot, "playhead", pos=0, angle=90) for plot in (self.scale, self.errors)]

    def _line(self, plot: pg.PlotItem, look: str, **how: float) -> pg.InfiniteLine:
        line = pg.InfiniteLine(**how)
        plot.addItem(line)
        self._lines.append((line, look))
        return line

    def show_found(self, found: EstimatorFit | None) -> None:
        """Other samples."""
        self.found = found
        samples = found.fit.samples if found else ()
        self._samples = found.samples if found else {}
        drawn = samples[:: len(samples) // MOST_POINTS + 1]
        x, y = _floats([s.estimated for s in drawn]), _floats([s.reported for s in drawn])
        self._points.setData(x=x, y=y, data=[s.request for s in drawn])
        self._curve.setData(_floats(found.requests if found else ()), _floats(found.scales if found else ()))
        self._errors = errors = {s.request: error for s in drawn if (error := self._error(s)) is not None}
        self._error_points.setData(x=_floats(list(errors)), y=_floats(list(errors.values())), data=list(errors))
        line = found.fit.line if found else None
        self._fitted.setVisible(line is not None)
        if line is not None:
            self._fitted.setPos(QPointF(0, line.overhead))
            self._fitted.setAngle(float(np.degrees(np.arctan(line.slope))))
        self.show_count(found.requests[-1] + 1 if found and found.requests else 2)
        self.show_all()
        self._mark()

    def _error(self, sample: Sample) -> float | None:
        """Of what was shown before the sample was reported; None where there was nothing to go by."""
        predicted = self.found.predicted.get(sample.request) if self.found else None
        return None if predicted is None else predicted / sample.reported - 1

    def show_all(self) -> None:
        """All of it."""
        self.scatter.setXRange(0, self._largest[0] * 1.06, padding=0)
        self._fit_heights()
        super().show_all()

    @property
    def _largest(self) -> tuple[int, int]:
        return self.found.largest if self.found else (1, 1)

    def _fit_heights(self) -> None:
        """All that is drawn, and above it room for the captions."""
        worst = max(map(abs, self._errors.values()), default=0.0)
        reach = max(CLOSE[0] * 1.5, min(1.5, worst * 1.1))
        caption = QFontMetricsF(ui_font(self._theme.small)).height() + 3
        top = max(self._largest) * 1.02
        ranges = ((self.scatter, 0, top), (self.scale, LOWEST - 0.1, HIGHEST + 0.02), (self.errors, -reach, reach))
        for plot, low, high in ranges:
            share = min(0.5, caption / max(1.0, plot.getViewBox().height()))
            plot.setYRange(low, low + (high - low) / (1 - share), padding=0)

    def show_playhead(self, at: int | None) -> None:
        """Where we stand."""
        self._at = at
        self._mark()

    def _mark(self) -> None:
        for head in self._heads:
            head.setVisible(self._at is not None)
            head.setPos(self._at or 0)
        sample = self._samples.get(-1 if self._at is None else self._at)
        self._here.setData(x=[sample.estimated] if sample else [], y=[sample.reported] if sample else [])

    def _point_clicked(self, scatter: Any, points: Any, event: Any) -> None:
        if len(points):
            self.moved.emit(int(points[0].data()))

    def nearest(self, x: float) -> int | None:
        """The nearest that has a sample."""
        requests = self.found.requests if self.found else ()
        at = bisect_left(requests, x)
        return min(requests[max(0, at - 1) : at + 1], key=lambda request: abs(request - x), default=None)

    def under(self, where: QPointF) -> int | None:
        """The request under the mouse, or that of the point."""
        for plot in (self.scale, self.errors):
            if plot.sceneBoundingRect().contains(where):
                return self.nearest(plot.getViewBox().mapSceneToView(where).x())
        points = self._points.pointsAt(self.scatter.getViewBox().mapSceneToView(where))
        return int(points[0].data()) if len(points) else None

    def about(self, at: int) -> str:
        sample = self._samples[at]
        error, predicted = self._error(sample), self.found.predicted.get(at) if self.found else None
        words = [f"request {at}", f"estimated {grouped(sample.estimated)}"]
        words += [f"predicted {grouped(predicted)}"] if predicted is not None else []
        words.append(f"reported {grouped(sample.reported)}")
        words += [f"error {per_cent(error, 2)}"] if error is not None else []
        return " · ".join(words)

    def _set_pens(self) -> None:
        c = self._theme.colours
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


class CaptionOverlay(Overlay):
    """What each plot shows, in its corner: as much of it as there is room for."""

    def __init__(
        self, view: QGraphicsView, theme: Theme, box: pg.ViewBox, captions: Sequence[tuple[pg.ViewBox, str]]
    ) -> None:
        super().__init__(view, theme, box)
        self._captions = captions

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        for box, words in self._captions:
            room = area_of(box)
            shown = cut_words(words, painter.fontMetrics(), int(room.width()) - 12)
            if room.height() > 2 * painter.fontMetrics().height():
                place = QRectF(room.topLeft() + QPointF(4, 1), label_size(painter, shown))
                self._paint_on_ground(painter, place, shown, self._theme.colours.quiet)


def _along() -> Axis:
    return Axis("bottom", lambda value: short(value) if value == round(value) >= 0 else "")  # no half or negative ones


def _scatter(plot: pg.PlotItem, size: int) -> pg.ScatterPlotItem:
    points = pg.ScatterPlotItem(size=size, pxMode=True)
    plot.addItem(points)
    return points


def _signed(share: float) -> str:
    return f"{share * 100:+.3g}%".replace("-", "−") if share else "0"


def _floats(values: Sequence[float]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array(values, dtype=np.float64)
