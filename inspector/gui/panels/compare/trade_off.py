"""A scatter chart of the cost of each policy against the lost facts that were needed again, with the Pareto front."""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPolygonF

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
    bold_font,
    dashed_pen,
    paint_axis_numbers,
    paint_grid,
    paint_horizontal,
    paint_ring,
    round_values,
    solid_pen,
)
from inspector.gui.widgets.chart_widget import Chart
from inspector.gui.widgets.label_space import LabelSpace

HEADROOM = 1.12
BESIDE = 0.15
"""Margin at the left and right of the points, as a share of the range of costs."""
FROM_ZERO = 0.4
"""Share of the highest cost. If all policies cost more than this, the axis of costs does not begin at zero."""
NO_STANDINGS = "No cost is known: the model has no price, or the file records no usage."
CENTRED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
RADIUS = 5.0
"""Radius of a point in pixels."""
NEAR = 10
"""Largest distance in pixels at which the mouse is over a point."""
MOST_NAMED = 16
"""Most points that all have letters. In a larger sweep, only the points of the front and the chosen point have one."""


class TradeOffChart(Chart):
    """A point for each policy: grey if infeasible, filled if on the front. A click picks a policy."""

    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Cost against facts needed again")
        self._reports: Sequence[ReplayReport] = ()
        self.standings: tuple[Standing, ...] = ()
        """Figures of each policy whose cost is known."""
        self._titles: dict[str, str] = {}
        self._chosen = ""

    def show_reports(self, reports: Sequence[ReplayReport], chosen: str) -> None:
        """Show the policies of these reports, with a ring around the chosen policy."""
        if reports is not self._reports:
            self._reports = reports
            self.standings = tuple(
                standing
                for standing in rank_policies(reports)
                if standing.cost_usd is not None and standing.are_needs_known
            )
            self._titles = {report.policy: report.title for report in reports}
        self._chosen = chosen
        self.setAccessibleDescription(
            "; ".join(self.describe(standing) for standing in self.standings)
        )
        self.redraw()

    @property
    def front(self) -> list[Standing]:
        """The policies that no other policy beats on both cost and needs, the cheapest first."""
        front = [standing for standing in self.standings if standing.in_front]
        return sorted(front, key=lambda standing: standing.cost_usd or 0)

    def describe(self, standing: Standing) -> str:
        """Return `Pi: $10.60, 0.08 facts needed again for each 1,000 tokens freed`, and whether it is feasible."""
        cost = dollars(standing.cost_usd) if standing.cost_usd is not None else "no price"
        needed = "nothing freed"
        if standing.needed_per_1000 is not None:
            needed = (
                f"{standing.needed_per_1000:.2f} facts needed again for each 1,000 tokens freed"
            )
        words = f"{self._titles.get(standing.policy, standing.policy)}: {cost}, {needed}"
        if not standing.is_feasible:
            return f"{words}; infeasible: {plural(standing.too_large, 'request')} too large"
        return f"{words}; no policy beats it on both cost and needs" if standing.in_front else words

    # -- measures ------------------------------------------------------------------------------------------------------

    @property
    def area(self) -> QRectF:
        """The rectangle of the points in pixels."""
        metrics = self.metrics
        left = 2 * metrics.height() + metrics.horizontalAdvance("0.00") + AXIS_GAP
        foot = 2 * metrics.height() + 12
        head = metrics.height() + 10
        width = max(1.0, self.width() - left - 20)
        height = max(1.0, self.height() - head - foot)
        return QRectF(left, head, width, height)

    def _scales(self) -> tuple[LinearScale, LinearScale]:
        """Return the scales: horizontal in dollars, vertical in facts needed again for each 1,000 tokens freed."""
        area = self.area
        costs = [float(standing.cost_usd or 0) for standing in self.standings]
        needs = [standing.needed_per_1000 or 0.0 for standing in self.standings]
        lowest = min(costs, default=0.0)
        highest = max(costs, default=0.0) or 1.0
        margin = (highest - lowest) * BESIDE or highest * BESIDE
        left = lowest - margin if lowest > FROM_ZERO * highest else 0.0
        top = max(needs, default=0.0) or 1.0
        across = LinearScale(left, high=highest + margin, start=area.left(), end=area.right())
        up = LinearScale(low=0, high=top * HEADROOM, start=area.bottom(), end=area.top())
        return across, up

    def place_of(self, standing: Standing) -> QPointF:
        """Return the position of a policy's point in pixels."""
        across, up = self._scales()
        x = across.pixel(float(standing.cost_usd or 0))
        return QPointF(x, up.pixel(standing.needed_per_1000 or 0.0))

    # -- painting ------------------------------------------------------------------------------------------------------

    def paint_data(self, painter: QPainter) -> None:
        (across, up) = self._scales()
        area = self.area
        colours = self._theme.colours
        if not self.standings:
            painter.setPen(ink(colours.quiet))
            painter.drawText(area, CENTRED, NO_STANDINGS)
            return
        values = round_values(up, 1.4 * NUMBERS_APART * self.metrics.height())
        paint_grid(painter, area, scale=up, values=values, colour=colours.faint)
        paint_axis_numbers(
            painter,
            area,
            scale=up,
            values=values,
            colour=colours.quiet,
            spell=lambda value: f"{value:.2f}",
        )
        self.paint_bottom_numbers(painter, area, across, spell=dollars_up_to(across.high))
        self.paint_titles(
            painter,
            area,
            below="Cost (US dollars)",
            beside="Needed again for each 1,000 tokens freed",
        )
        self._paint_key(painter)
        front_line = self._front_line(area)
        painter.setPen(dashed_pen(colours.good, width=1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(front_line))
        for standing in self.standings:
            self._paint_point(painter, standing)
        self._paint_letters(painter, area, front_line)

    def _paint_letters(
        self, painter: QPainter, area: QRectF, front_line: Sequence[QPointF]
    ) -> None:
        """Write the letters of the policies so that they cover no point and, if possible, not the line of the front."""
        labels = LabelSpace(area.adjusted(0, -12, 14, 4), lambda room: _crosses(front_line, room))
        for standing in self.standings:
            point = QRectF(0, 0, 2 * RADIUS, 2 * RADIUS)
            point.moveCenter(self.place_of(standing))
            labels.take(point)
        names_all = len(self.standings) <= MOST_NAMED
        for standing in self.standings:
            if names_all or standing.in_front or standing.policy == self._chosen:
                self._paint_letter(painter, standing, labels)

    def _front_line(self, area: QRectF) -> list[QPointF]:
        """Return the corners of a stepped line that connects the policies of the front."""
        places = [self.place_of(standing) for standing in self.front]
        if not places:
            return []
        line = [QPointF(places[0].x(), area.top())]
        for before, after in zip([places[0], *places], places, strict=False):
            line += [QPointF(after.x(), before.y()), after]
        return [*line, QPointF(area.right(), places[-1].y())]

    def _colour(self, standing: Standing) -> str:
        colours = self._theme.colours
        return (
            style_of(standing.policy).colour(colours) if standing.is_feasible else colours.missing
        )

    def _paint_point(self, painter: QPainter, standing: Standing) -> None:
        place = self.place_of(standing)
        colours = self._theme.colours
        colour = self._colour(standing)
        painter.setPen(solid_pen(colour, width=1.6))
        painter.setBrush(ink(colour if standing.in_front else colours.window))
        painter.drawEllipse(place, RADIUS - 1, RADIUS - 1)
        if standing.policy == self._chosen:
            paint_ring(
                painter,
                middle=place,
                radius=RADIUS + 2.5,
                pen=solid_pen(colours.playhead, width=1.4),
            )

    def _paint_letter(self, painter: QPainter, standing: Standing, labels: LabelSpace) -> None:
        """Write the letter of a policy beside its point, unless there is no free place."""
        bold = bold_font(self.font_small)
        metrics = QFontMetricsF(bold)
        letter = style_of(standing.policy).letter
        width = metrics.horizontalAdvance(letter)
        height = metrics.height()
        away = RADIUS + 5
        middle = -height / 2
        offsets = {
            "right": QPointF(away, middle),
            "left": QPointF(-away - width, middle),
            "above": QPointF(-width / 2, -away - height + 3),
            "right, higher": QPointF(away, middle - 12),
            "right, lower": QPointF(away, middle + 12),
        }
        place = self.place_of(standing)
        corners = [place + offset for offset in offsets.values()]
        room = labels.place(QSizeF(width, height), corners)
        if room is not None:
            painter.setFont(bold)
            painter.setPen(ink(self._colour(standing)))
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, letter)

    def _paint_key(self, painter: QPainter) -> None:
        """Explain the line above the plot, and grey points if there are any and there is room."""
        metrics = self.metrics
        colours = self._theme.colours
        left = self.area.left()
        baseline = 4 + metrics.ascent()
        middle = 4 + metrics.height() / 2
        paint_horizontal(
            painter, y=middle, left=left, right=left + 20, pen=dashed_pen(colours.good, width=1.4)
        )
        painter.setPen(ink(colours.quiet))
        words = "front: no policy beats these on both"
        painter.drawText(QPointF(left + 26, baseline), words)
        left += 26 + metrics.horizontalAdvance(words) + 16
        has_room = left + 14 + metrics.horizontalAdvance("infeasible") < self.width()
        if has_room and any(not standing.is_feasible for standing in self.standings):
            painter.setPen(solid_pen(colours.missing, width=1.6))
            painter.setBrush(ink(colours.window))
            painter.drawEllipse(QPointF(left + 4, middle), RADIUS - 1, RADIUS - 1)
            painter.setPen(ink(colours.quiet))
            painter.drawText(QPointF(left + 14, baseline), "infeasible")

    # -- mouse ---------------------------------------------------------------------------------------------------------

    def standing_at(self, place: QPointF) -> Standing | None:
        """Return the policy whose point is nearest to a position; None if none is within NEAR pixels."""
        distances = [
            (self.place_of(standing) - place).manhattanLength() for standing in self.standings
        ]
        nearest = min(distances, default=NEAR + 1.0)
        return self.standings[distances.index(nearest)] if nearest <= NEAR else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Pick the policy under the mouse."""
        standing = self.standing_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and standing is not None:
            self.picked.emit(standing.policy)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        standing = self.standing_at(event.position())
        self.setCursor(
            Qt.CursorShape.ArrowCursor if standing is None else Qt.CursorShape.PointingHandCursor
        )
        self.hovered.emit(self.describe(standing) if standing is not None else "")

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit("")


def _crosses(line: Sequence[QPointF], room: QRectF) -> bool:
    """Does a line of horizontal and vertical strokes cross a rectangle?"""
    strokes = (
        QRectF(start, end).normalized().adjusted(-1, -1, 1, 1) for start, end in pairwise(line)
    )
    return any(stroke.intersects(room) for stroke in strokes)
