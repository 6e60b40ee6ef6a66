"""Dollars of every request, stacked by kind of token, by pyqtgraph; breaks and compactions marked over them."""

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QResizeEvent

from inspector.core.findings.spending import ThreadCost
from inspector.core.tokens.prices import BILL_KINDS
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import dollars, dollars_up_to
from inspector.gui.look.theme import Theme
from inspector.gui.panels.cost.figures import CAUSE_NAMES, CostFigures
from inspector.gui.widgets.plot import Axis, Overlay, Plot, pg

COLOURS = dict(zip(BILL_KINDS, ("#cc79a7", "#56b4e9", "#e69f00", "#d55e00", "#009e73"), strict=True))
"""By kind of token, after Okabe and Ito."""
NAMES = dict(zip(BILL_KINDS, ("input", "cache read", "write 5 min", "write 1 h", "output"), strict=True))
_TOLD = (*BILL_KINDS[1:], BILL_KINDS[0])
"""What the legend names, as far as there is room."""
HEADROOM = 1.25
_TOTAL_SHARE, _TOTAL_LINES = 0.3, 4
"""Share of the height that the running total takes, and lines of text below which it is hidden."""


def _spell_request(place: float) -> str:
    return f"{round(place):,}"


class CostPlot(Plot):
    """A bar a request."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Dollars of every request", (6, 4, 8, 4))
        self._dollars, self._sums = Axis("left", dollars_up_to(1)), Axis("left", dollars_up_to(1))
        self._graphics.ci.layout.setSpacing(2)
        self.plot = self._add_plot(left=self._dollars, bottom=Axis("bottom", _spell_request))
        self.total = self._add_plot(row=1, left=self._sums, bottom=Axis("bottom", _spell_request))
        self.total.setXLink(self.plot)
        self._running = self._add_curve(self.total)
        self._found: ThreadCost | None = None
        self._curves = {kind: self.plot.plot(stepMode="center", fillLevel=0) for kind in reversed(BILL_KINDS)}
        """The highest sum first: each covers what lies below it in the stack."""
        self.overlay = CostOverlay(self._graphics, theme, self._boxes[0])
        self.restyle()

    def show_figures(self, figures: CostFigures | None) -> None:
        """Of another thread, or of more requests."""
        self._found = figures.found if figures else None
        for n, kind in enumerate(BILL_KINDS):
            edges, top = (figures.edges, figures.tops[n]) if figures else ([-0.5], [])
            self._curves[kind].setData(np.array(edges), np.array(top))
        self.show_count(len(figures.found.bills) if figures else 0)
        self.show_all()
        highest = max(figures.tops[-1], default=0.0) if figures else 0.0
        reach = (highest or 0.01) * HEADROOM
        spell = dollars_up_to(reach)
        self._dollars.respell(spell, spell(reach))
        self.plot.setYRange(0, reach, padding=0)
        self._show_running(figures.running if figures else [])
        self.overlay.show_figures(figures)

    def _show_running(self, running: Sequence[float]) -> None:
        """Draw what the thread had cost up to each request, on an axis as wide as that of the bars."""
        self._running.setData(np.arange(len(running)), np.array(running))
        reach = (running[-1] if running else 0.01) * HEADROOM
        spell = dollars_up_to(reach)
        self._sums.respell(spell, spell(reach))
        self.total.setYRange(0, reach, padding=0)
        width = max(self._dollars.fixedWidth, self._sums.fixedWidth)
        for axis in (self._dollars, self._sums):
            axis.setWidth(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The running total takes a third of the height at most; without room for it the bars have all of it."""
        super().resizeEvent(event)
        lines = self.fontMetrics().height()
        room = round(_TOTAL_SHARE * self.height())
        self.total.setMaximumHeight(max(room, _TOTAL_LINES * lines))
        is_roomy = room >= _TOTAL_LINES * lines
        self.total.setVisible(is_roomy)
        self.plot.showAxis("bottom", not is_roomy)

    def about(self, at: int) -> str:
        assert self._found is not None
        bill = self._found.bills[at]
        if bill is None:
            return f"request {at} · no price"
        words = [f"request {at}", dollars(bill.total), f"{dollars(self._sum_to(at))} up to here"]
        words += [f"{NAMES[kind]} {dollars(getattr(bill, kind))}" for kind in BILL_KINDS if getattr(bill, kind)]
        words += [f"cache miss: {CAUSE_NAMES[miss.cause]}" for miss in self._found.breaks if miss.request == at]
        return " · ".join(words)

    def _sum_to(self, at: int) -> Decimal:
        assert self._found is not None
        return sum((bill.total for bill in self._found.bills[: at + 1] if bill is not None), Decimal(0))

    def _set_pens(self) -> None:
        self._running.setPen(pg.mkPen(self._theme.colours.quiet, width=1.5))
        for kind, curve in self._curves.items():
            curve.setPen(pg.mkPen(COLOURS[kind], width=1))
            curve.setBrush(QColor(COLOURS[kind]))


class CostOverlay(Overlay):
    """Breaks as triangles over their bars, compactions as lines, what the colours mean, the playhead."""

    _figures: CostFigures | None = None

    def show_figures(self, figures: CostFigures | None) -> None:
        """Others."""
        self._figures = figures
        self.update()

    def _is_crossed(self, room: QRectF) -> bool:
        if self._figures is None or not self._pixels.width():
            return False
        per_pixel = self._range.width() / self._pixels.width()
        left, right = (self._range.left() + (x - self._pixels.left()) * per_pixel for x in (room.left(), room.right()))
        edges = self._figures.edges
        bars = self._figures.tops[-1][max(0, bisect_right(edges, left) - 1) : bisect_right(edges, right)]
        return self._point(0, max(bars, default=0.0)).y() < room.bottom()

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        figures = self._figures
        if figures is None or not figures.found.bills:
            return
        cost = figures.found
        painter.setClipRect(area)
        colours = self._theme.colours
        painter.setPen(QPen(ink(colours.good), 1, Qt.PenStyle.DashLine))
        for at in {round(self._point(step.at.before_request - 0.5, 0).x()) for step in cost.compactions}:
            painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        for miss in cost.breaks:
            bill = cost.bills[miss.request]
            point = self._point(miss.request, float(bill.total) if bill else 0)
            painter.setBrush(ink(colours.good if miss.cause == "compaction" else colours.high))
            top = max(area.top() + 22, point.y() - 3)
            painter.drawPolygon([QPointF(point.x() + dx, top + dy) for dx, dy in ((0, 0), (-4, -7), (4, -7))])
        x = self._point(self._place(self._at, len(cost.bills)), 0).x()
        self._paint_playhead(painter, x, area.bottom())
        self._paint_legend(painter, area, cost, figures.kinds)

    def _paint_legend(self, painter: QPainter, area: QRectF, cost: ThreadCost, kinds: frozenset[str]) -> None:
        entries = [(COLOURS[kind], NAMES[kind]) for kind in _TOLD if kind in kinds]
        entries += [(self._theme.colours.high, "▾ cache miss")] * any(
            miss.cause != "compaction" for miss in cost.breaks
        )
        entries += [(self._theme.colours.good, "┆ compaction")] * bool(cost.compactions)
        metrics, x = QFontMetricsF(painter.font()), area.left() + 8
        for colour, name in entries:
            width = metrics.horizontalAdvance(name)
            if x + width + 14 > area.right():
                return
            marked = name[0] in "▾┆"
            room = QRectF(x - 3, area.top() + 1, width + (6 if marked else 19), 18)
            painter.fillRect(room, ink(self._theme.colours.window))  # a line behind a word makes it hard to read
            painter.setPen(ink(colour if marked else self._theme.colours.quiet))
            if not marked:
                painter.fillRect(QRectF(x, area.top() + 5, 9, 9), ink(colour))
            painter.drawText(QPointF(x + (0 if marked else 13), area.top() + 14), name)
            x += width + (16 if marked else 27)
