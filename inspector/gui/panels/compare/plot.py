"""Tokens of every request under each policy, one curve over the other. Each is a pixel wide and differs from the others
in its strokes and its letter; the chosen one is drawn last, the others fade."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from inspector.core.replay.report import ReplayReport
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.table import style_of
from inspector.gui.widgets.plot import Overlay, Plot, label_size, pg, set_height
from inspector.workbench.compare import PLAIN

FADED = 120
"""Opacity of what is not chosen, of 255."""
HEADROOM = 1.12
MARGIN = 34
"""Pixels beside the plot where the letters stand."""


class ComparePlot(Plot):
    """A curve a policy, by its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Tokens of every request under each policy", (6, 4, MARGIN, 4))
        self._reports: Sequence[ReplayReport] = ()
        self._picked = ""
        self.plot = self._add_plot()
        self.curves: dict[str, pg.PlotDataItem] = {}
        self.overlay = CompareOverlay(self._graphics, theme, self._boxes[0])
        self.restyle()

    def show_reports(self, reports: Sequence[ReplayReport], picked: str) -> None:
        """These curves, that one in front."""
        others = [report.policy for report in reports] != [report.policy for report in self._reports]
        if others or any(a is not b for a, b in zip(reports, self._reports, strict=True)):
            self._draw(reports)
        self._picked = picked
        self._set_pens()
        self._scale()
        self.overlay.show_reports(reports, next((report for report in reports if report.policy == picked), None))

    def _draw(self, reports: Sequence[ReplayReport]) -> None:
        count = len(reports[0].rows) if reports else 0
        if count != self.count or not self._reports:
            self.show_count(count)
            self.show_all()
        self._reports = reports
        names = {report.policy for report in reports}
        for name in [name for name in self.curves if name not in names]:
            self.plot.removeItem(self.curves.pop(name))
        for report in reports:
            if report.policy not in self.curves:
                self.curves[report.policy] = self._add_curve(self.plot)
            tokens = np.array([row.tokens for row in report.rows], dtype=np.float64)
            self.curves[report.policy].setData(np.arange(count, dtype=float), tokens, antialias=False)

    def _scale(self) -> None:
        """To the window and the curves. No compaction may leave at the top, unless it is the chosen one."""
        heights = [report.peak for report in self._reports if report.policy != PLAIN or self._picked == PLAIN]
        if not heights:
            heights = [report.peak for report in self._reports]
        window = self._reports[0].window if self._reports else None
        set_height(self.plot, max([*heights, 1]), window, HEADROOM)

    def about(self, at: int) -> str:
        words = [f"request {at}"]
        for report in self._reports:
            row = report.rows[at]
            fired = f" ({', '.join(row.fired)})" if row.fired and report.policy == self._picked else ""
            words.append(f"{style_of(report.policy).letter} {grouped(row.tokens)}{fired}")
        return " · ".join(words)

    def _set_pens(self) -> None:
        for name, curve in self.curves.items():
            pen = style_of(name).pen(self._theme.colours)
            if self._picked and name != self._picked:
                faded = QColor(pen.color())
                faded.setAlpha(FADED)
                pen.setColor(faded)
            curve.setPen(pen)
            if self.count == 1:  # there is no line to draw
                curve.setSymbolSize(6)
                curve.setSymbolPen(None)
                curve.setSymbolBrush(pen.color())
            curve.setSymbol("o" if self.count == 1 else None)
            curve.setZValue(10 if name == self._picked else 0)


class CompareOverlay(Overlay):
    """Window, steps, regrets, letters, the playhead last."""

    _reports: Sequence[ReplayReport] = ()
    _picked: ReplayReport | None = None

    def show_reports(self, reports: Sequence[ReplayReport], picked: ReplayReport | None) -> None:
        """Other curves, or another one in front."""
        self._reports, self._picked = reports, picked
        self.update()

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        if not self._reports:
            return
        self._paint_letters(painter, area)
        painter.setClipRect(area)
        self._paint_window(painter, area, self._reports[0].window)
        self._paint_clipped(painter, area)
        if self._picked is not None:
            self._paint_steps(painter, area, self._picked)
            self._paint_regrets(painter, self._picked)
        x = self._point(self._place(self._at, len(self._reports[0].rows)), 0).x()
        self._paint_playhead(painter, x, area.bottom())

    def _paint_window(self, painter: QPainter, area: QRectF, window: int | None) -> None:
        if window is None:
            return
        y = self._point(0, window).y()
        painter.setPen(QPen(ink(self._theme.colours.quiet), 1))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        size = label_size(painter, words := f"window {grouped(window)}")
        above = y - size.height() - 1
        room = QRectF(QPointF(area.left() + 4, above if above >= area.top() else y + 1), size)
        self._paint_on_ground(painter, room, words, self._theme.colours.quiet)

    def _paint_clipped(self, painter: QPainter, area: QRectF) -> None:
        """Say of each curve that leaves the plot at its top how far it goes."""
        top = self._range.bottom()
        for report in self._reports:
            if report.peak <= top:
                continue
            first = next(at for at, row in enumerate(report.rows) if row.tokens > top)
            words = f"↑ {report.title}, up to {grouped(report.peak)}"
            size, x = label_size(painter, words), self._point(first, 0).x()
            corners = [QPointF(left, area.top() + 1) for left in (x + 4, x - size.width() - 4)]
            self._paint_label(painter, words, corners, style_of(report.policy).colour(self._theme.colours), slides=True)

    def _paint_letters(self, painter: QPainter, area: QRectF) -> None:
        """Beside the plot, each where its curve leaves it; those that would touch stand one below the other."""
        metrics, last = QFontMetricsF(painter.font()), int(self._range.right())
        bold = QFont(painter.font())
        bold.setWeight(QFont.Weight.Bold)
        places, high = [], metrics.height() - 3  # they have no descenders
        lowest = area.bottom() - high / 2
        for report in self._reports:
            end = report.rows[max(0, min(last, len(report.rows) - 1))].tokens
            places.append((min(max(self._point(0, end).y(), area.top() + 5), lowest), report.policy))
        places = places[: int(area.height() / high)]  # of a large sweep
        for y, name in spread(sorted(places), high, lowest):
            picked = self._picked is not None and name == self._picked.policy
            painter.setFont(bold if picked else ui_font(self._theme.small))
            painter.setPen(ink(style_of(name).colour(self._theme.colours)))
            room = QRectF(area.right() + 4, y - high / 2, MARGIN - 4, high)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, style_of(name).letter)

    def _paint_steps(self, painter: QPainter, area: QRectF, report: ReplayReport) -> None:
        """A triangle over the curve where history went, a stroke at the foot where contents were cleared."""
        colour = ink(style_of(report.policy).colour(self._theme.colours))
        feet, heads = dict[int, float](), dict[int, QPointF]()
        for step in report.compactions:
            at = step.at.before_request
            point = self._point(at - 0.5, report.rows[max(0, min(at, len(report.rows)) - 1)].tokens)
            if step.kind == "micro":
                feet[round(point.x())] = point.x()
            else:
                heads[round(point.x())] = point
        painter.setPen(QPen(colour, 1))
        painter.drawLines([QLineF(x, area.bottom() - 5, x, area.bottom()) for x in feet.values()])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        for point in heads.values():
            top = max(area.top() + 8, point.y() - 3)
            painter.drawPolygon([QPointF(point.x() + dx, top + dy) for dx, dy in ((0, 0), (-4, -7), (4, -7))])

    def _paint_regrets(self, painter: QPainter, report: ReplayReport) -> None:
        """A cross on the curve at each request that needed a fact that was gone."""
        crosses = dict[int, QPointF]()
        for at in {regret.needed_by for regret in report.losses.regrets}:
            point = self._point(at, report.rows[min(at, len(report.rows) - 1)].tokens)
            crosses[round(point.x() / 3)] = point
        painter.setPen(QPen(ink(self._theme.colours.high), 1.5))
        painter.drawLines(
            [QLineF(p.x() - 3, p.y() + way, p.x() + 3, p.y() - way) for p in crosses.values() for way in (-3, 3)]
        )


def spread(places: Sequence[tuple[float, str]], apart: float, lowest: float) -> list[tuple[float, str]]:
    """The same in their order from top to bottom, `apart` pixels from each other, none below `lowest`."""
    labels: list[tuple[float, str]] = []
    for y, name in places:
        labels.append((max(y, labels[-1][0] + apart) if labels else y, name))
    limit = lowest
    for n in range(len(labels) - 1, -1, -1):
        y, name = labels[n]
        labels[n] = (min(y, limit), name)
        limit = labels[n][0] - apart
    return labels
