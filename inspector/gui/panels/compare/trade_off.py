"""What each policy costs against what it makes the agent need again: a scatter with the front that no policy beats."""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QMouseEvent, QPainter, QPen, QPolygonF

from inspector.core.replay.ranking import Standing, rank_policies
from inspector.core.replay.report import ReplayReport
from inspector.core.words import plural
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import dollars, dollars_up_to
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.table import style_of
from inspector.gui.widgets.chart import (
    AXIS_GAP,
    NUMBERS_APART,
    LinearScale,
    paint_axis_numbers,
    paint_grid,
    round_values,
)
from inspector.gui.widgets.chart_widget import Chart
from inspector.gui.widgets.label_space import LabelSpace

HEADROOM = 1.12
BESIDE = 0.15
"""Of the range of costs, left and right of the points."""
FROM_ZERO = 0.4
"""Of the highest cost: if all cost more than that, the axis does not begin at zero."""
RADIUS = 5.0
"""Pixels of a point."""
NEAR = 10
"""Pixels from a point within which it is under the mouse."""
MOST_NAMED = 16
"""Points that have their letters; of a larger sweep those of the front and the chosen one."""


class TradeOffChart(Chart):
    """Infeasible policies are grey, those of the front are filled; a click picks a policy."""

    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Cost against facts needed again")
        self._reports: Sequence[ReplayReport] = ()
        self.standings: tuple[Standing, ...] = ()
        """Of the policies that have a price."""
        self._titles: dict[str, str] = {}
        self._chosen = ""

    def show_reports(self, reports: Sequence[ReplayReport], chosen: str) -> None:
        """Show these policies; the chosen one has a ring."""
        if reports is not self._reports:
            self._reports = reports
            self.standings = tuple(standing for standing in rank_policies(reports) if standing.cost_usd is not None)
            self._titles = {report.policy: report.title for report in reports}
        self._chosen = chosen
        self.setAccessibleDescription("; ".join(self.describe(standing) for standing in self.standings))
        self.redraw()

    @property
    def front(self) -> list[Standing]:
        """The policies that no other beats on both counts, the cheapest first."""
        front = [standing for standing in self.standings if standing.in_front]
        return sorted(front, key=lambda standing: standing.cost_usd or 0)

    def describe(self, standing: Standing) -> str:
        """Return `Pi: $10.60, 0.08 facts needed again for each 1,000 tokens freed`, and whether it is feasible."""
        cost = dollars(standing.cost_usd) if standing.cost_usd is not None else "no price"
        needed = "nothing freed"
        if standing.needed_per_1000 is not None:
            needed = f"{standing.needed_per_1000:.2f} facts needed again for each 1,000 tokens freed"
        words = f"{self._titles.get(standing.policy, standing.policy)}: {cost}, {needed}"
        if not standing.is_feasible:
            return f"{words}; infeasible: {plural(standing.too_large, 'request')} too large"
        return f"{words}; no policy is both cheaper and needs less" if standing.in_front else words

    # -- measures ------------------------------------------------------------------------------------------------------

    @property
    def area(self) -> QRectF:
        """Where the points lie."""
        metrics = self.metrics
        left = 2 * metrics.height() + metrics.horizontalAdvance("0.00") + AXIS_GAP
        foot = 2 * metrics.height() + 12
        head = metrics.height() + 10
        return QRectF(left, head, max(1.0, self.width() - left - 20), max(1.0, self.height() - head - foot))

    def _scales(self) -> tuple[LinearScale, LinearScale]:
        area = self.area
        costs = [float(standing.cost_usd or 0) for standing in self.standings]
        needs = [standing.needed_per_1000 or 0.0 for standing in self.standings]
        right, top = max(costs, default=0.0) or 1.0, max(needs, default=0.0) or 1.0
        left = min(costs, default=0.0)
        beside = (right - left) * BESIDE or right * BESIDE
        low = left - beside if left > FROM_ZERO * right else 0.0
        return (
            LinearScale(low, right + beside, area.left(), area.right()),
            LinearScale(0, top * HEADROOM, area.bottom(), area.top()),
        )

    def place_of(self, standing: Standing) -> QPointF:
        """Return where a policy is painted."""
        across, up = self._scales()
        return QPointF(across.pixel(float(standing.cost_usd or 0)), up.pixel(standing.needed_per_1000 or 0.0))

    # -- painting ------------------------------------------------------------------------------------------------------

    def paint_data(self, painter: QPainter) -> None:
        (across, up), area, colours = self._scales(), self.area, self._theme.colours
        values = round_values(up, 1.4 * NUMBERS_APART * self.metrics.height())
        paint_grid(painter, area, up, values, colours.faint)
        paint_axis_numbers(painter, area, up, values, colours.quiet, lambda value: f"{value:.2f}")
        self.paint_bottom_numbers(painter, area, across, dollars_up_to(across.high))
        self.paint_titles(painter, area, "Cost (US dollars)", "Needed again for each 1,000 tokens freed")
        self._paint_key(painter)
        self._paint_front(painter, area)
        line = self._front_line(area)
        labels = LabelSpace(area.adjusted(0, -12, 14, 4), lambda room: _crosses(line, room))
        for standing in self.standings:
            place = self.place_of(standing)
            labels.take(QRectF(place.x() - RADIUS, place.y() - RADIUS, 2 * RADIUS, 2 * RADIUS))
        for standing in self.standings:
            self._paint_point(painter, standing)
        for standing in self.standings:
            if len(self.standings) <= MOST_NAMED or standing.in_front or standing.policy == self._chosen:
                self._paint_letter(painter, standing, labels)

    def _paint_front(self, painter: QPainter, area: QRectF) -> None:
        """Paint the border of what is possible."""
        painter.setPen(QPen(ink(self._theme.colours.good), 1.4, Qt.PenStyle.DashLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(self._front_line(area)))

    def _front_line(self, area: QRectF) -> list[QPointF]:
        """Return the corners of a line that leads in steps from one policy of the front to the next."""
        places = [self.place_of(standing) for standing in self.front]
        if not places:
            return []
        line = [QPointF(places[0].x(), area.top())]
        for before, after in zip([places[0], *places], places, strict=False):
            line += [QPointF(after.x(), before.y()), after]
        return [*line, QPointF(area.right(), places[-1].y())]

    def _colour(self, standing: Standing) -> str:
        colours = self._theme.colours
        return style_of(standing.policy).colour(colours) if standing.is_feasible else colours.missing

    def _paint_point(self, painter: QPainter, standing: Standing) -> None:
        place, colours = self.place_of(standing), self._theme.colours
        painter.setPen(QPen(ink(self._colour(standing)), 1.6))
        painter.setBrush(ink(self._colour(standing)) if standing.in_front else ink(colours.window))
        painter.drawEllipse(place, RADIUS - 1, RADIUS - 1)
        if standing.policy == self._chosen:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(ink(colours.playhead), 1.4))
            painter.drawEllipse(place, RADIUS + 2.5, RADIUS + 2.5)

    def _paint_letter(self, painter: QPainter, standing: Standing, labels: LabelSpace) -> None:
        """Write the letter of a policy beside its point; not at all if there is no free place."""
        bold = QFont(self.font_small)
        bold.setWeight(QFont.Weight.DemiBold)
        metrics, letter, place = QFontMetricsF(bold), style_of(standing.policy).letter, self.place_of(standing)
        size = QSizeF(metrics.horizontalAdvance(letter), metrics.height())
        away, half = RADIUS + 5, size.height() / 2
        corners = [
            QPointF(place.x() + away, place.y() - half),
            QPointF(place.x() - away - size.width(), place.y() - half),
            QPointF(place.x() - size.width() / 2, place.y() - away - size.height() + 3),
            QPointF(place.x() + away, place.y() - half - 12),
            QPointF(place.x() + away, place.y() - half + 12),
        ]
        room = labels.place(size, corners)
        if room is not None:
            painter.setFont(bold)
            painter.setPen(ink(self._colour(standing)))
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, letter)

    def _paint_key(self, painter: QPainter) -> None:
        """Say above the plot what the line, the filling and grey mean."""
        metrics, colours = self.metrics, self._theme.colours
        left, foot = self.area.left(), 4 + metrics.ascent()
        middle = 4 + metrics.height() / 2
        painter.setPen(QPen(ink(colours.good), 1.4, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(left, middle), QPointF(left + 20, middle))
        painter.setPen(ink(colours.quiet))
        words = "front: no policy is both cheaper and needs less"
        painter.drawText(QPointF(left + 26, foot), words)
        if any(not standing.is_feasible for standing in self.standings):
            left += 26 + metrics.horizontalAdvance(words) + 16
            if left + 14 + metrics.horizontalAdvance("infeasible") < self.width():
                painter.setPen(QPen(ink(colours.missing), 1.6))
                painter.setBrush(ink(colours.window))
                painter.drawEllipse(QPointF(left + 4, middle), RADIUS - 1, RADIUS - 1)
                painter.setPen(ink(colours.quiet))
                painter.drawText(QPointF(left + 14, foot), "infeasible")

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def standing_at(self, place: QPointF) -> Standing | None:
        """Return the policy whose point is at a place."""
        near = [((self.place_of(standing) - place).manhattanLength(), n) for n, standing in enumerate(self.standings)]
        away, number = min(near, default=(NEAR + 1.0, 0))
        return self.standings[number] if away <= NEAR else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Pick the policy under the mouse."""
        standing = self.standing_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and standing is not None:
            self.picked.emit(standing.policy)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        standing = self.standing_at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if standing is None else Qt.CursorShape.PointingHandCursor)
        self.hovered.emit(self.describe(standing) if standing is not None else "")

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit("")


def _crosses(line: Sequence[QPointF], room: QRectF) -> bool:
    """Does a line of level and upright strokes pass through a room?"""
    strokes = (QRectF(start, end).normalized().adjusted(-1, -1, 1, 1) for start, end in pairwise(line))
    return any(stroke.intersects(room) for stroke in strokes)
