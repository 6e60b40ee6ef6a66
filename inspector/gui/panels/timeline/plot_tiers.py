"""What lies over the curves of the stepper's making: where each tier would have fired, and the ghosts of our steps."""

from typing import Any

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsView, QWidget

from inspector.gui.guard import Guarded
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.number_formats import grouped, plural, signed
from inspector.gui.look.theme import Theme
from inspector.gui.widgets.line_drag import line_colour
from inspector.gui.widgets.plot_parts import end_place
from inspector.workbench.gauge import Firing
from inspector.workbench.timeline import StepEffect

STRIP, GAP = 4, 2
"""Pixels: height of the strip that marks where a tier would have fired, and of what lies between two."""
APART = 7
"""Pixels from one step's ghost to the next one's."""


class PlotTiers(Guarded, QWidget):
    """Lets the mouse through. Positions come from the view box whenever it paints."""

    def __init__(self, view: QGraphicsView, theme: Theme, upper: Any) -> None:
        super().__init__(view.viewport())
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setStyleSheet("background: transparent")
        view.viewport().installEventFilter(self)
        self._view, self._theme, self._upper = view, theme, upper
        self.firings: tuple[Firing, ...] = ()
        self.ghosts: tuple[StepEffect, ...] = ()
        self._told = False
        self._count = 0
        self._at: int | None = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Cover the whole plot, whatever its size."""
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._view.viewport().rect())
        return False

    def show_firings(self, firings: tuple[Firing, ...], told: bool) -> None:
        """Where each line's tiers would have fired; `told`: in words, too, as the lines are not the policy's own."""
        if (firings, told) != (self.firings, self._told):
            self.firings, self._told = firings, told
            self.update()

    def show_ghosts(self, ghosts: tuple[StepEffect, ...], count: int) -> None:
        """Our steps. `count`: requests of the thread; behind the last one stands the buffer after the last record."""
        if (ghosts, count) != (self.ghosts, self._count):
            self.ghosts, self._count = ghosts, count
            self.update()

    def show_playhead(self, at: int | None) -> None:
        """Where we stand: the last step taken there is named."""
        if at != self._at:
            self._at = at
            self.update()

    def told_at(self, at: int) -> str:
        """`L1 / L2 would have fired`: what the strips say about a request; empty where they say nothing."""
        above = [firing.line for firing in self.firings if any(first <= at <= last for first, last in firing.runs)]
        names = [" / ".join(line.tiers) for line in above]
        return f"{', '.join(names)} would have fired" if names else ""

    # -- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Strips along the floor, ghosts where the steps were taken."""
        if not self.firings and not self.ghosts:
            return
        painter = QPainter(self)
        painter.setFont(ui_font(self._theme.small))
        area = QRectF(self._upper.mapRectToScene(self._upper.boundingRect()))
        painter.setClipRect(area)
        self._paint_firings(painter, area)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ghosts(painter, area)

    def _point(self, x: float, y: float) -> QPointF:
        point = self._upper.mapViewToScene(QPointF(x, y))
        return QPointF(point.x(), point.y())

    def _paint_firings(self, painter: QPainter, area: QRectF) -> None:
        top = area.bottom() - len(self.firings) * (STRIP + GAP)
        for n, firing in enumerate(self.firings):
            colour = ink(line_colour(self._theme.colours, n))
            y = area.bottom() - (n + 1) * (STRIP + GAP)
            for first, last in firing.runs:
                left, right = self._point(first - 0.5, 0).x(), self._point(last + 0.5, 0).x()
                painter.fillRect(QRectF(left, y, max(2.0, right - left), STRIP), colour)
        if self._told:
            self._paint_words(painter, area, top)

    def _paint_words(self, painter: QPainter, area: QRectF, bottom: float) -> None:
        metrics = QFontMetricsF(painter.font())
        ground = QColor(ink(self._theme.colours.window))
        ground.setAlphaF(0.82)
        left = area.left() + 16  # clear of the names of the lines
        left += max((metrics.horizontalAdvance(firing.line.label) for firing in self.firings), default=0.0)
        for n, firing in enumerate(self.firings):
            words = fired_words(firing)
            base = bottom - 3 - n * metrics.height()
            box = QRectF(left - 2, base - metrics.ascent(), metrics.horizontalAdvance(words) + 4, metrics.height())
            painter.fillRect(box, ground)
            painter.setPen(ink(line_colour(self._theme.colours, n)))
            painter.drawText(QPointF(left, base), words)

    def _paint_ghosts(self, painter: QPainter, area: QRectF) -> None:
        c, place = self._theme.colours, 0
        metrics = QFontMetricsF(painter.font())
        for n, ghost in enumerate(self.ghosts):
            place = place + 1 if n and self.ghosts[n - 1].at == ghost.at else 0
            x = end_place(self._count) if ghost.at is None else float(ghost.at)
            before, after = self._point(x, ghost.before), self._point(x, ghost.after)
            shift = QPointF(APART * (place + 1), 0)
            if before.x() + shift.x() + 6 > area.right():
                shift = -shift
            before, after = before + shift, after + shift
            painter.setPen(QPen(ink(c.accent), 1.2, Qt.PenStyle.DashLine))
            painter.drawLine(before, after)
            painter.setPen(QPen(ink(c.accent), 1.4))
            painter.setBrush(ink(c.window))
            painter.drawEllipse(after, 3.5, 3.5)
            last = n + 1 == len(self.ghosts) or self.ghosts[n + 1].at != ghost.at
            if last and ghost.at == self._at:
                self._paint_name(painter, metrics, area, after, ghost, APART * (place + 1))

    def _paint_name(
        self, painter: QPainter, metrics: QFontMetricsF, area: QRectF, at: QPointF, ghost: StepEffect, clear: float
    ) -> None:
        words = f"{ghost.name} {signed(ghost.after - ghost.before)} → {grouped(ghost.after)}"
        width = metrics.horizontalAdvance(words)
        left = at.x() + 8 if at.x() + width + 10 < area.right() else at.x() - width - 8 - clear
        middle = min(at.y(), area.bottom() - 38 - metrics.height() / 2)  # clear of the number of the playhead
        ground = QColor(ink(self._theme.colours.window))
        ground.setAlphaF(0.82)
        painter.fillRect(QRectF(left - 2, middle - metrics.height() / 2, width + 4, metrics.height()), ground)
        painter.setPen(ink(self._theme.colours.accent))
        painter.drawText(QPointF(left, middle + metrics.ascent() / 2 - 1), words)


def fired_words(firing: Firing) -> str:
    """`L1 / L2 would have fired at 43 requests, from 172 on`: above its line, had nothing fired before."""
    tiers = " / ".join(firing.line.tiers)
    if not firing.count:
        return f"{tiers} would have fired at no request"
    return f"{tiers} would have fired at {plural(firing.count, 'request')}, first at {grouped(firing.runs[0][0])}"
