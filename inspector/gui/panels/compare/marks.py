"""What lies over the curves of the comparison: the window, steps, regrets, letters, the playhead. Paints, nothing else.

One transparent widget over the plot; positions come from its view box whenever it paints.
"""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QLineF, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsView, QWidget

from inspector.core.replay.report import Report
from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.look import look
from inspector.gui.widgets.plot_parts import end_place

MARGIN = 20
"""Pixels beside the plot where the letters stand."""


class CompareMarks(Guarded, QWidget):
    """Lets the mouse through."""

    def __init__(self, view: QGraphicsView, theme: Theme, box: Any) -> None:
        super().__init__(view.viewport())
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setStyleSheet("background: transparent")
        view.viewport().installEventFilter(self)
        self._view, self._theme, self._box = view, theme, box
        self._reports: Sequence[Report] = ()
        self._picked: Report | None = None
        self._window: int | None = None
        self._at: int | None = None
        self._area, self._seen = QRectF(), QRectF()
        """What is covered, in pixels, and what of the plot is seen, in requests and tokens; while it paints."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Cover the whole plot, whatever its size."""
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._view.viewport().rect())
        return False

    def show_reports(self, reports: Sequence[Report], picked: Report | None) -> None:
        """Other curves, or another one in front."""
        self._reports, self._picked = reports, picked
        self._window = reports[0].window if reports else None
        self.update()

    def show_playhead(self, at: int | None) -> None:
        """Where we stand; None = behind the last request."""
        self._at = at
        self.update()

    # -- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """The playhead last."""
        with QPainter(self) as painter:
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        if not self._reports:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(ui_font(self._theme.small))
        area = self._area = QRectF(self._box.mapRectToScene(self._box.boundingRect()))
        self._seen = QRectF(self._box.viewRect())
        self._paint_letters(painter, area)
        painter.setClipRect(area)
        self._paint_window(painter, area)
        if self._picked is not None:
            self._paint_steps(painter, area, self._picked)
            self._paint_regrets(painter, self._picked)
        self._paint_playhead(painter, area)

    def _point(self, x: float, y: float) -> QPointF:
        """Request and tokens to pixels. By hand: there may be thousands, and Qt's own way takes six calls each."""
        area, seen = self._area, self._seen
        right = (x - seen.left()) / seen.width() * area.width()
        up = (y - seen.top()) / seen.height() * area.height()
        return QPointF(area.left() + right, area.bottom() - up)

    def _paint_window(self, painter: QPainter, area: QRectF) -> None:
        if self._window is None:
            return
        y = self._point(0, self._window).y()
        painter.setPen(QPen(ink(self._theme.colours.quiet), 1))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.drawText(QPointF(area.left() + 6, y - 3), f"window {grouped(self._window)}")

    def _paint_letters(self, painter: QPainter, area: QRectF) -> None:
        """Beside the plot, each where its curve leaves it; those that would touch stand one below the other."""
        metrics, last = QFontMetricsF(painter.font()), int(self._seen.right())
        bold = QFont(painter.font())
        bold.setWeight(QFont.Weight.Bold)
        places = []
        for one in self._reports:
            end = one.rows[max(0, min(last, len(one.rows) - 1))].tokens
            places.append((min(max(self._point(0, end).y(), area.top() + 5), area.bottom() - 4), one.policy))
        for y, name in spread(sorted(places), metrics.ascent(), area.bottom() - 4):
            picked = self._picked is not None and name == self._picked.policy
            painter.setFont(bold if picked else ui_font(self._theme.small))
            painter.setPen(ink(look(name).colour(self._theme.colours)))
            room = QRectF(area.right() + 4, y - 8, MARGIN - 4, 16)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, look(name).letter)

    def _paint_steps(self, painter: QPainter, area: QRectF, one: Report) -> None:
        """A triangle over the curve where history went, a stroke at the foot where contents were cleared."""
        colour = ink(look(one.policy).colour(self._theme.colours))
        feet, heads = dict[int, float](), dict[int, QPointF]()
        for step in one.compactions:
            at = step.at.before_request
            point = self._point(at - 0.5, one.rows[max(0, min(at, len(one.rows)) - 1)].tokens)
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

    def _paint_regrets(self, painter: QPainter, one: Report) -> None:
        """A cross on the curve at each request that needed a fact that was gone."""
        crosses = dict[int, QPointF]()
        for at in {regret.needed_by for regret in one.losses.regrets}:
            point = self._point(at, one.rows[min(at, len(one.rows) - 1)].tokens)
            crosses[round(point.x() / 3)] = point
        painter.setPen(QPen(ink(self._theme.colours.high), 1.5))
        painter.drawLines(
            [QLineF(p.x() - 3, p.y() + way, p.x() + 3, p.y() - way) for p in crosses.values() for way in (-3, 3)]
        )

    def _paint_playhead(self, painter: QPainter, area: QRectF) -> None:
        count = len(self._reports[0].rows)
        at = end_place(count) if self._at is None else self._at
        x = self._point(at, 0).x()
        painter.setPen(QPen(ink(self._theme.colours.playhead), 1.5))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        word = "end" if self._at is None else str(self._at)
        width = QFontMetricsF(painter.font()).horizontalAdvance(word) + 8
        left = x + 3 if x + width + 4 < area.right() else x - width - 3
        painter.drawText(QRectF(left, area.bottom() - 20, width, 14), Qt.AlignmentFlag.AlignCenter, word)


def spread(places: Sequence[tuple[float, str]], apart: float, lowest: float) -> list[tuple[float, str]]:
    """The same in their order from top to bottom, `apart` pixels from each other, none below `lowest`."""
    found: list[tuple[float, str]] = []
    for y, name in places:
        found.append((max(y, found[-1][0] + apart) if found else y, name))
    limit = lowest
    for n in range(len(found) - 1, -1, -1):
        y, name = found[n]
        found[n] = (min(y, limit), name)
        limit = found[n][0] - apart
    return found
