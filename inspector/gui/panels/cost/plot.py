"""Dollars of every request, stacked by kind of token, with marks for cache misses and compactions."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QResizeEvent

from inspector.core.findings.spending import ThreadCost
from inspector.core.tokens.prices import BILL_KINDS
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import dollars, dollars_up_to
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import CONTROL_GAP
from inspector.gui.panels.cost.figures import CAUSE_NAMES, CostFigures
from inspector.gui.widgets.chart import dashed_pen, paint_pointer, paint_vertical
from inspector.gui.widgets.overlay import Overlay
from inspector.gui.widgets.plot import Axis, Plot, pg, request_axis

COLOURS = dict(
    zip(BILL_KINDS, ("#cc79a7", "#56b4e9", "#e69f00", "#d55e00", "#009e73"), strict=True)
)
"""Colours of the kinds of tokens, after Okabe and Ito."""
NAMES = dict(
    zip(BILL_KINDS, ("input", "cache read", "write 5 min", "write 1 h", "output"), strict=True)
)
_LEGEND_KINDS = (*BILL_KINDS[1:], BILL_KINDS[0])
"""The kinds of tokens in the order of the legend, which leaves out the last ones if they do not fit."""
HEADROOM = 1.25
_TOTAL_SHARE = 0.3
"""Share of the height that the running total takes."""
_TOTAL_LINES = 4
"""Height of the running total, in lines of text, below which it is hidden."""
_SWATCH = 13
"""Width of a swatch of the legend with its gap, in pixels."""
_LEGEND_HEIGHT = 22
"""Pixels kept free for the legend above the highest triangle."""


class CostLegendEntry(NamedTuple):
    """One name of the legend."""

    colour: str
    name: str
    is_mark: bool
    """Does the name begin with a mark of its colour? Other names have a swatch before them."""


class PlacedEntry(NamedTuple):
    """An entry of the legend that fits into the plot."""

    room: QRectF
    entry: CostLegendEntry


class CostPlot(Plot):
    """A plot with a bar for the dollars of each request and, below it, the running total."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Dollars of every request", (6, 4, 8, 4))
        self._dollars = Axis("left", dollars_up_to(1))
        self._sums = Axis("left", dollars_up_to(1))
        self._graphics.ci.layout.setSpacing(2)
        self.plot = self._add_plot(left=self._dollars, bottom=request_axis())
        self.total = self._add_plot(row=1, left=self._sums, bottom=request_axis())
        self.total.setXLink(self.plot)
        self._running = self._add_curve(self.total)
        self._cost: ThreadCost | None = None
        self._curves = {
            kind: self.plot.plot(stepMode="center", fillLevel=0) for kind in reversed(BILL_KINDS)
        }
        """The curves from the highest sum down: each later curve covers the lower part of the earlier curves."""
        self.overlay = CostOverlay(self._graphics, theme, self._boxes[0])
        self.restyle()

    def show_figures(self, figures: CostFigures | None) -> None:
        """Show the cost of a thread; None shows an empty plot."""
        if figures is None:
            self._cost = None
            no_tops: Sequence[Sequence[float]] = [[] for _ in BILL_KINDS]
            self._show_bars([-0.5], no_tops)
            self._show_running([])
        else:
            self._cost = figures.cost
            self._show_bars(figures.edges, figures.tops)
            self._show_running(figures.running)
        self.overlay.show_figures(figures)

    def _show_bars(self, edges: Sequence[float], tops: Sequence[Sequence[float]]) -> None:
        for kind, top in zip(BILL_KINDS, tops, strict=True):
            self._curves[kind].setData(np.array(edges), np.array(top))
        self.show_count(len(self._cost.bills) if self._cost else 0)
        self.show_all()
        highest = max(tops[-1], default=0.0) or 0.01
        _fit_axis(self.plot, self._dollars, highest * HEADROOM)

    def _show_running(self, running: Sequence[float]) -> None:
        """Draw the cost of the thread up to each request, on an axis as wide as that of the bars."""
        self._running.setData(np.arange(len(running)), np.array(running))
        total = running[-1] if running else 0.01
        _fit_axis(self.total, self._sums, total * HEADROOM)
        width = max(self._dollars.fixedWidth, self._sums.fixedWidth)
        for axis in (self._dollars, self._sums):
            axis.setWidth(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give a share of the height to the running total, or hide it if that is too little."""
        super().resizeEvent(event)
        least = _TOTAL_LINES * self.fontMetrics().height()
        room = round(_TOTAL_SHARE * self.height())
        is_roomy = room >= least
        self.total.setMaximumHeight(max(room, least))
        self.total.setVisible(is_roomy)
        self.plot.showAxis("bottom", not is_roomy)

    def about(self, at: int) -> str:
        assert self._cost is not None
        bill = self._cost.bills[at]
        if bill is None:
            return f"request {at:,} · no price"
        words = [f"request {at:,}", dollars(bill.total), f"{dollars(self._sum_to(at))} so far"]
        for kind in BILL_KINDS:
            amount = getattr(bill, kind)
            if amount:
                words.append(f"{NAMES[kind]} {dollars(amount)}")
        misses = [miss for miss in self._cost.breaks if miss.request == at]
        words += [f"cache miss: {CAUSE_NAMES[miss.cause]}" for miss in misses]
        return " · ".join(words)

    def _sum_to(self, at: int) -> Decimal:
        """Return the dollars of all requests up to and including `at`."""
        assert self._cost is not None
        bills = self._cost.bills[: at + 1]
        return sum((bill.total for bill in bills if bill is not None), Decimal(0))

    def _set_pens(self) -> None:
        self._running.setPen(pg.mkPen(self._theme.colours.quiet, width=1.5))
        for kind, curve in self._curves.items():
            curve.setPen(pg.mkPen(COLOURS[kind], width=1))
            curve.setBrush(QColor(COLOURS[kind]))


def _fit_axis(plot: pg.PlotItem, axis: Axis, top: float) -> None:
    """Let the axis of a plot end at `top` dollars."""
    spell = dollars_up_to(top)
    axis.respell(spell, spell(top))
    plot.setYRange(0, top, padding=0)


class CostOverlay(Overlay):
    """Paints cache misses as triangles over their bars, compactions as lines, the legend and the playhead."""

    _figures: CostFigures | None = None

    def show_figures(self, figures: CostFigures | None) -> None:
        """Replace the figures shown."""
        self._figures = figures
        self.update()

    def _is_crossed(self, room: QRectF) -> bool:
        """Does a bar within the width of a rectangle reach above its lower edge?"""
        if self._figures is None or not self._pixels.width():
            return False
        requests_per_pixel = self._range.width() / self._pixels.width()
        distance = room.left() - self._pixels.left()
        left = self._range.left() + distance * requests_per_pixel
        right = left + room.width() * requests_per_pixel
        edges = self._figures.edges
        first = max(0, bisect_right(edges, left) - 1)
        end = bisect_right(edges, right)
        bars = self._figures.tops[-1][first:end]
        highest_bar = max(bars, default=0.0)
        return self._point(0, highest_bar).y() < room.bottom()

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        figures = self._figures
        if figures is None or not figures.cost.bills:
            return
        painter.setClipRect(area)
        self._paint_compactions(painter, area, figures.cost)
        self._paint_misses(painter, area, figures.cost)
        legend = list(self._place_legend(painter, area, figures))
        for room, _ in legend:
            self.labels.take(room)
        place = self._place(self._at, len(figures.cost.bills))
        self._paint_playhead(painter, self._point(place, 0).x(), area.bottom())
        self._paint_legend(painter, legend)

    def _paint_compactions(self, painter: QPainter, area: QRectF, cost: ThreadCost) -> None:
        """Paint a dashed line before the request of each compaction, at most one per pixel."""
        pen = dashed_pen(self._theme.colours.good)
        places = (self._point(step.at.before_request - 0.5, 0) for step in cost.compactions)
        for x in {round(place.x()) for place in places}:
            paint_vertical(painter, x, area.top(), area.bottom(), pen)

    def _paint_misses(self, painter: QPainter, area: QRectF, cost: ThreadCost) -> None:
        """Paint a triangle over the bar of each cache miss."""
        colours = self._theme.colours
        highest_tip = area.top() + _LEGEND_HEIGHT
        for miss in cost.breaks:
            bill = cost.bills[miss.request]
            usd = float(bill.total) if bill else 0
            point = self._point(miss.request, usd)
            tip = max(highest_tip, point.y() - 3)
            colour = colours.good if miss.cause == "compaction" else colours.high
            paint_pointer(painter, point.x(), tip, colour)

    def _place_legend(
        self, painter: QPainter, area: QRectF, figures: CostFigures
    ) -> Iterator[PlacedEntry]:
        """Yield the names of colours and marks that fit at the top."""
        metrics = QFontMetricsF(painter.font())
        x = area.left() + CONTROL_GAP
        for entry in self._legend_entries(figures):
            name_width = metrics.horizontalAdvance(entry.name)
            if x + name_width + 14 > area.right():
                return
            width = name_width if entry.is_mark else _SWATCH + name_width
            # no line may run through a name
            yield PlacedEntry(QRectF(x - 3, area.top() + 1, width + 6, 18), entry)
            gap = 16 if entry.is_mark else 14
            x += width + gap

    def _paint_legend(self, painter: QPainter, placed: Sequence[PlacedEntry]) -> None:
        """Paint the names of colours and marks."""
        colours = self._theme.colours
        for room, entry in placed:
            painter.fillRect(room, ink(colours.window))
            left = room.left() + 3
            if entry.is_mark:
                painter.setPen(ink(entry.colour))
            else:
                painter.fillRect(QRectF(left, room.top() + 4, 9, 9), ink(entry.colour))
                painter.setPen(ink(colours.quiet))
                left += _SWATCH
            painter.drawText(QPointF(left, room.top() + 13), entry.name)

    def _legend_entries(self, figures: CostFigures) -> Iterator[CostLegendEntry]:
        colours = self._theme.colours
        cost = figures.cost
        for kind in _LEGEND_KINDS:
            if kind in figures.kinds:
                yield CostLegendEntry(COLOURS[kind], NAMES[kind], is_mark=False)
        if any(miss.cause != "compaction" for miss in cost.breaks):
            yield CostLegendEntry(colours.high, "▾ cache miss", is_mark=True)
        if cost.compactions:
            yield CostLegendEntry(colours.good, "┆ compaction", is_mark=True)
