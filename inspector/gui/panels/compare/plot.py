"""Tokens of every request under each policy, one curve per policy. Curves differ in strokes and letters; the chosen
curve is drawn last, and the others are faded."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from inspector.core.replay.report import ReplayReport
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.table import style_of
from inspector.gui.widgets.chart import paint_horizontal, paint_pointer, solid_pen
from inspector.gui.widgets.overlay import Overlay, label_size
from inspector.gui.widgets.plot import Plot, pg, request_axis, set_height
from inspector.workbench.compare import PLAIN

FADED = 120
"""Opacity of the curves that are not chosen, from 0 to 255."""
HEADROOM = 1.12
MARGIN = 34
"""Pixels beside the plot, for the letters."""


class LetterPlace(NamedTuple):
    """Where the letter of a policy is painted beside the plot."""

    y: float
    """Its middle in pixels from the top."""
    policy: str


class ComparePlot(Plot):
    """A plot with one curve for each policy."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Tokens of every request under each policy", (6, 4, MARGIN, 4))
        self._reports: Sequence[ReplayReport] = ()
        self._picked = ""
        self.plot = self._add_plot(bottom=request_axis())
        self.curves: dict[str, pg.PlotDataItem] = {}
        self.overlay = CompareOverlay(self._graphics, theme, self._boxes[0])
        self.restyle()

    def show_reports(self, reports: Sequence[ReplayReport], picked: str) -> None:
        """Show the curves of these reports, that of the picked policy in front."""
        drawn = [id(report) for report in self._reports]
        if [id(report) for report in reports] != drawn:
            self._draw(reports)
        self._picked = picked
        self._set_pens()
        self._scale()
        picked_report = next((report for report in reports if report.policy == picked), None)
        self.overlay.show_reports(reports, picked_report)

    def _draw(self, reports: Sequence[ReplayReport]) -> None:
        count = len(reports[0].rows) if reports else 0
        if count != self.count or not self._reports:
            self.show_count(count)
            self.show_all()
        self._reports = reports
        shown_policies = {report.policy for report in reports}
        for name in set(self.curves) - shown_policies:
            removed = self.curves.pop(name)
            self.plot.removeItem(removed)
        requests = np.arange(count, dtype=float)
        for report in reports:
            if report.policy not in self.curves:
                self.curves[report.policy] = self._add_curve(self.plot)
            curve = self.curves[report.policy]
            sizes = [row.tokens for row in report.rows]
            curve.setData(requests, np.array(sizes, dtype=np.float64), antialias=False)

    def _scale(self) -> None:
        """Fit the axis to the window and the curves.

        The curve without compaction is ignored unless it is picked, so it may run off the top of the plot.
        """
        fitted = self._reports
        if self._picked != PLAIN:
            compacting = [report for report in self._reports if report.policy != PLAIN]
            fitted = compacting or self._reports
        highest = max((report.peak for report in fitted), default=1)
        window = self._reports[0].window if self._reports else None
        set_height(self.plot, top=max(highest, 1), window=window, headroom=HEADROOM)

    def about(self, at: int) -> str:
        words = [f"request {at:,}"]
        for report in self._reports:
            row = report.rows[at]
            letter = style_of(report.policy).letter
            text = f"{letter} {grouped(row.tokens)}"
            if row.fired and report.policy == self._picked:
                text += f" ({', '.join(row.fired)})"
            words.append(text)
        return " · ".join(words)

    def _set_pens(self) -> None:
        is_point = self.count == 1  # a single request has no line
        for name, curve in self.curves.items():
            pen = self._pen_of(name)
            curve.setPen(pen)
            if is_point:
                curve.setSymbolSize(6)
                curve.setSymbolPen(None)
                curve.setSymbolBrush(pen.color())
            curve.setSymbol("o" if is_point else None)
            curve.setZValue(10 if name == self._picked else 0)

    def _pen_of(self, name: str) -> QPen:
        """Return the pen of a curve, faded if another curve is picked."""
        pen = style_of(name).pen(self._theme.colours)
        if not self._picked or name == self._picked:
            return pen
        faded = QColor(pen.color())
        faded.setAlpha(FADED)
        pen.setColor(faded)
        return pen


class CompareOverlay(Overlay):
    """Paints the window, letters, compactions, facts needed again and, on top, the playhead."""

    _reports: Sequence[ReplayReport] = ()
    _picked: ReplayReport | None = None

    def show_reports(self, reports: Sequence[ReplayReport], picked: ReplayReport | None) -> None:
        """Replace the reports and the picked report."""
        self._reports = reports
        self._picked = picked
        self.update()

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        if not self._reports:
            return
        self._paint_letters(painter, area)
        painter.setClipRect(area)
        self._paint_window(painter, area, self._reports[0].window)
        self._paint_clipped(painter, area)
        if self._picked is not None:
            self._paint_compactions(painter, area, self._picked)
            self._paint_regrets(painter, self._picked)
        request_count = len(self._reports[0].rows)
        place = self._place(self._at, request_count)
        playhead_x = self._point(place, 0).x()
        self._paint_playhead(painter, playhead_x, area.bottom())

    def _paint_window(self, painter: QPainter, area: QRectF, window: int | None) -> None:
        """Paint the window as a line, with its name above the line, or below it if there is no room."""
        if window is None:
            return
        colour = self._theme.colours.quiet
        y = self._point(0, window).y()
        paint_horizontal(painter, y, area.left(), area.right(), solid_pen(colour))
        words = f"window {grouped(window)}"
        size = label_size(painter, words)
        top = y - size.height() - 1
        if top < area.top():
            top = y + 1
        room = QRectF(QPointF(area.left() + 4, top), size)
        self._paint_on_ground(painter, room, words, colour)

    def _paint_clipped(self, painter: QPainter, area: QRectF) -> None:
        """Write the peak of each curve that leaves the plot at its top."""
        top = self._range.bottom()
        for report in self._reports:
            if report.peak > top:
                self._paint_peak(painter, area, report, top)

    def _paint_peak(
        self, painter: QPainter, area: QRectF, report: ReplayReport, top: float
    ) -> None:
        """Write the peak of a curve where it first is above `top` tokens."""
        hidden_requests = (index for index, row in enumerate(report.rows) if row.tokens > top)
        first_hidden = next(hidden_requests)
        x = self._point(first_hidden, 0).x()
        words = f"↑ {report.title}, up to {grouped(report.peak)}"
        width = label_size(painter, words).width()
        baseline = area.top() + 1
        right_of_it = QPointF(x + 4, baseline)
        left_of_it = QPointF(x - width - 4, baseline)
        colour = style_of(report.policy).colour(self._theme.colours)
        self._paint_label(painter, words, [right_of_it, left_of_it], colour, slides=True)

    def _paint_letters(self, painter: QPainter, area: QRectF) -> None:
        """Paint the letter of each policy beside the plot, at the end of its curve."""
        plain = ui_font(self._theme.small)
        bold = QFont(painter.font())
        bold.setWeight(QFont.Weight.Bold)
        height = QFontMetricsF(painter.font()).height() - 3  # the letters have no descenders
        picked_policy = self._picked.policy if self._picked is not None else ""
        for place in self._letter_places(area, height):
            style = style_of(place.policy)
            painter.setFont(bold if place.policy == picked_policy else plain)
            painter.setPen(ink(style.colour(self._theme.colours)))
            top = place.y - height / 2
            room = QRectF(area.right() + 4, top, MARGIN - 4, height)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, style.letter)

    def _letter_places(self, area: QRectF, height: float) -> list[LetterPlace]:
        """Return the places of the letters that fit, from the top."""
        last_visible = int(self._range.right())
        highest = area.top() + 5
        lowest = area.bottom() - height / 2
        places = list[LetterPlace]()
        for report in self._reports:
            last_request = len(report.rows) - 1
            last = max(0, min(last_visible, last_request))
            end_of_curve = self._point(0, report.rows[last].tokens).y()
            y = min(max(end_of_curve, highest), lowest)
            places.append(LetterPlace(y, report.policy))
        most = int(area.height() / height)  # a large sweep has more
        return spread_places(sorted(places[:most]), height, lowest)

    def _paint_compactions(self, painter: QPainter, area: QRectF, report: ReplayReport) -> None:
        """Paint a triangle over the curve for each compaction, and a stroke at the foot for each clearing of contents.

        If several are at the same pixel, only one is painted.
        """
        colour = style_of(report.policy).colour(self._theme.colours)
        strokes = dict[int, float]()
        triangles = dict[int, QPointF]()
        for step in report.compactions:
            request = step.at.before_request
            previous_request = max(0, min(request, len(report.rows)) - 1)
            tokens = report.rows[previous_request].tokens
            point = self._point(request - 0.5, tokens)
            pixel = round(point.x())
            if step.kind == "micro":
                strokes[pixel] = point.x()
            else:
                triangles[pixel] = point
        painter.setPen(solid_pen(colour))
        foot = area.bottom()
        for x in strokes.values():
            painter.drawLine(QLineF(x, foot - 5, x, foot))
        for point in triangles.values():
            tip = max(area.top() + 8, point.y() - 3)
            paint_pointer(painter, point.x(), tip, colour)

    def _paint_regrets(self, painter: QPainter, report: ReplayReport) -> None:
        """Paint a cross on the curve at each request that needed a lost fact, at most one for every 3 pixels."""
        crosses = dict[int, QPointF]()
        last = len(report.rows) - 1
        requests = {regret.needed_by for regret in report.losses.regrets}
        for request in requests:
            tokens = report.rows[min(request, last)].tokens
            point = self._point(request, tokens)
            crosses[round(point.x() / 3)] = point
        painter.setPen(solid_pen(self._theme.colours.high, width=1.5))
        down, up = QPointF(3, 3), QPointF(3, -3)
        for point in crosses.values():
            painter.drawLine(point - down, point + down)
            painter.drawLine(point - up, point + up)


def spread_places(places: Sequence[LetterPlace], apart: float, lowest: float) -> list[LetterPlace]:
    """Return the places, sorted from the top, moved so that they are `apart` pixels from each other.

    Args:
        lowest: largest y coordinate to which a place may be moved.
    """
    moved_down = list[LetterPlace]()
    for place in places:
        y = place.y
        if moved_down:
            y = max(y, moved_down[-1].y + apart)
        moved_down.append(LetterPlace(y, place.policy))
    # The last places may now be too low: move them up again, and with them those directly above.
    spread = list[LetterPlace]()
    limit = lowest
    for place in reversed(moved_down):
        y = min(place.y, limit)
        spread.append(LetterPlace(y, place.policy))
        limit = y - apart
    spread.reverse()
    return spread
