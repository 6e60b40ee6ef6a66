"""What lies over the curves of the timeline: window, watermarks, compactions and where the recorded agent made them by
itself, playhead; and of the stepper's making:
where each tier would have fired, and what our steps did."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsView

from inspector.core.findings.recorded_step import ObservedTrigger, trigger_words
from inspector.core.policies.verdict import Watermark
from inspector.core.words import plural
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import line_colour
from inspector.gui.widgets.label_space import LabelSpace
from inspector.gui.widgets.plot import Overlay, area_of, label_size
from inspector.workbench.gauge import Firing
from inspector.workbench.timeline import Mark, StepEffect

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Curve: TypeAlias = tuple[Numbers, Numbers]
"""Requests, and a value for each; NaN where there is none."""
STRIP, GAP = 4, 2
"""Pixels: height of the strip that marks where a tier would have fired, and of what lies between two."""
MOST_NAMES = 100
"""Compactions whose names are tried: of more, every n-th."""
LOWER_ROOM = 40
"""Pixels from the top of the second plot in which a place is looked for where its key hides no curve."""
APART = 7
"""Pixels from one step's mark to the next one's."""


class TimelineOverlay(Overlay):
    """Over both plots; only the playhead and compactions reach into the lower one."""

    def __init__(self, view: QGraphicsView, theme: Theme, upper: Any, lower: Any) -> None:
        super().__init__(view, theme, upper)
        self._lower = lower
        self.window_tokens: int | None = None
        self.lines: tuple[Watermark, ...] = ()
        self.firings: tuple[Firing, ...] = ()
        self.effects: tuple[StepEffect, ...] = ()
        self._in_words = False
        self._marks: tuple[Mark, ...] = ()
        self.triggers: tuple[ObservedTrigger, ...] = ()
        self._in_short: dict[str, str] = {}
        self._heights: Sequence[int | None] = ()
        self._curves: tuple[Sequence[Curve], Sequence[Curve]] = ((), ())
        self._end: int | None = None
        self._count = 0

    def show_marks(self, marks: tuple[Mark, ...], heights: Sequence[int | None], end: int | None) -> None:
        """Other compactions; `heights`: the pressure at each request and at the end, for the dot of the playhead."""
        self._marks, self._heights, self._end = marks, heights, end
        self.update()

    def show_curves(self, upper: Sequence[Curve], lower: Sequence[Curve]) -> None:
        """What words should not hide."""
        self._curves = upper, lower
        self.update()

    def show_lines(self, window: int | None, lines: tuple[Watermark, ...]) -> bool:
        """Another window, other watermarks. Returns whether it is another window."""
        changed = window != self.window_tokens
        if changed or lines != self.lines:
            self.window_tokens, self.lines = window, lines
            self.update()
        return changed

    def show_triggers(self, triggers: tuple[ObservedTrigger, ...]) -> None:
        """Where the recorded agent compacted by itself: a band, whatever policy draws its lines."""
        self.triggers, words = triggers, trigger_words(triggers)
        self._in_short = {words: f"compacted: {share}"} if (share := words.partition(": ")[2]) else {}
        self.update()

    def show_firings(self, firings: tuple[Firing, ...], in_words: bool) -> None:
        """Where each line's tiers would have fired; in words, too, where the lines are not the policy's own."""
        self.firings, self._in_words = firings, in_words
        self.update()

    def show_effects(self, effects: tuple[StepEffect, ...], count: int) -> None:
        """Our steps. `count`: requests of the thread; after the last one stands the buffer after the last record."""
        self.effects, self._count = effects, count
        self.update()

    def fired_at(self, at: int) -> str:
        """`L1 / L2 would have fired`: what the strips say about a request; empty where they say nothing."""
        above = [firing.line for firing in self.firings if any(first <= at <= last for first, last in firing.runs)]
        names = [" / ".join(line.tiers) for line in above]
        return f"{', '.join(names)} would have fired" if names else ""

    # -- painting ------------------------------------------------------------------------------------------------------

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        """Strokes first, then words; where two would lie on each other the first that is painted stands."""
        lower = area_of(self._lower) if self._lower.isVisible() else QRectF()
        both = area.united(lower)
        painter.setClipRect(both)
        rows = self._paint_lines(painter, area)
        compactions = self._paint_compactions(painter, area, both)
        if not lower.isNull():
            self._paint_key(painter, lower)
        for _, _, before, after in self._placed_effects(area):
            self.labels.take(QRectF(before, after).normalized().adjusted(-4.5, -4.5, 4.5, 4.5))
        self._paint_here(painter, area, both)
        painter.setClipRect(area)
        self._paint_firings(painter, area)
        self._paint_effects(painter, area)
        for y, words, colour in rows:
            corners, short = self._beside(painter, area.left() + 4, y), self._in_short.get(words, "")
            self._paint_label(painter, words, corners, colour, slides=True, short=short)
        if self._in_words:
            self._paint_words(painter, area)
        self._paint_compaction_names(painter, area, compactions)

    def _is_crossed(self, room: QRectF) -> bool:
        """Within the plot that it is in."""
        below = self._lower.isVisible() and room.center().y() > self._area.bottom()
        box, curves = (self._lower if below else self._box), self._curves[below]
        area, seen = area_of(box), box.viewRect()
        across, up = seen.width() / max(1.0, area.width()), seen.height() / max(1.0, area.height())
        left, right = (seen.left() + (x - area.left()) * across for x in (room.left() - 1, room.right() + 1))
        low, high = (seen.top() + (area.bottom() - y) * up for y in (room.bottom() + 1, room.top() - 1))
        return any(_passes(curve, (left, right), low, high) for curve in curves)

    def _beside(self, painter: QPainter, left: float, y: float) -> tuple[QPointF, QPointF]:
        """Right above a line, right below it."""
        return QPointF(left, y - QFontMetricsF(painter.font()).height()), QPointF(left, y + 1)

    def _paint_lines(self, painter: QPainter, area: QRectF) -> list[tuple[float, str, str]]:
        """Returns where each is, its words and its colour, the highest first."""
        c = self._theme.colours
        rows = (
            [(f"window {grouped(self.window_tokens)}", self.window_tokens, c.quiet, Qt.PenStyle.SolidLine)]
            if self.window_tokens
            else []
        )
        for n, line in enumerate(self.lines):
            rows.append((line.label, line.tokens, line_colour(c, n), Qt.PenStyle.DashLine))
        if self.triggers:
            sizes = [one.tokens for one in self.triggers]
            self._paint_band(painter, area, min(sizes), max(sizes))
            rows.append((trigger_words(self.triggers), min(sizes), c.good, Qt.PenStyle.DotLine))
        named = []
        for words, tokens, colour, style in sorted(rows, key=lambda row: -row[1]):
            y = self._point(0, tokens).y()
            if area.top() <= y <= area.bottom():
                painter.setPen(QPen(ink(colour), 1, style))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
                named.append((y, words, colour))
        return named

    def _paint_band(self, painter: QPainter, area: QRectF, low: int, high: int) -> None:
        colour = QColor(ink(self._theme.colours.good))
        colour.setAlphaF(0.16)
        top, bottom = self._point(0, high).y(), self._point(0, low).y()
        painter.fillRect(QRectF(area.left(), top, area.width(), bottom - top), colour)

    def _paint_key(self, painter: QPainter, area: QRectF) -> None:
        """What the curves of the second plot are."""
        c = self._theme.colours
        words = (("cache read", c.good), ("read anew", c.low), ("output", c.categories["thinking"]))
        sizes = [label_size(painter, word) for word, _ in words]
        whole = QSizeF(sum(size.width() + 8 for size in sizes), sizes[0].height())
        corners = [QPointF(area.left() + 4, area.top() + down) for down in range(0, LOWER_ROOM, 4)]
        room = LabelSpace(area, self._is_crossed).place(whole, corners, slides=True) or QRectF(corners[0], whole)
        for (word, colour), size in zip(words, sizes, strict=True):
            self._paint_on_ground(painter, QRectF(room.topLeft(), size), word, colour)
            room.setLeft(room.left() + size.width() + 8)

    def _paint_compactions(self, painter: QPainter, area: QRectF, both: QRectF) -> list[tuple[float, Mark]]:
        """One of a kind a pixel: there may be thousands. Returns where each that is large is."""
        c, large, drawn = self._theme.colours, [], set[tuple[int, bool, bool]]()
        origin, next_to = self._point(-0.5, 0).x(), self._point(0.5, 0).x()
        for mark in self._marks:
            x = origin + mark.at * (next_to - origin)
            key = round(x), mark.silent, mark.large
            if key in drawn or not area.left() <= x <= area.right():
                continue
            drawn.add(key)
            style = Qt.PenStyle.DashLine if mark.silent else Qt.PenStyle.SolidLine
            style = style if mark.large else Qt.PenStyle.DotLine
            painter.setPen(QPen(ink(c.high if mark.silent and mark.large else c.good), 1, style))
            top = area.top() if mark.large else area.bottom() - 8
            painter.drawLine(QPointF(x, top), QPointF(x, both.bottom() if mark.large else area.bottom()))
            if mark.large:
                large.append((x, mark))
        return large

    def _paint_compaction_names(self, painter: QPainter, area: QRectF, large: list[tuple[float, Mark]]) -> None:
        """Right or left of the line, in one of three rows (a low plot: in the first). Where there is no room the row of
        marks tells."""
        c, high = self._theme.colours, QFontMetricsF(painter.font()).height()
        rows = 3 if area.height() > 8 * high else 1
        for x, mark in large[:: len(large) // MOST_NAMES + 1]:
            size = label_size(painter, mark.label)
            sides = (x + 3, x - size.width() - 3)
            corners = [QPointF(left, area.top() + row * high) for row in range(rows) for left in sides]
            self._paint_label(painter, mark.label, corners, c.high if mark.silent else c.good)

    def _paint_here(self, painter: QPainter, area: QRectF, both: QRectF) -> None:
        count = len(self._heights)
        if not count:
            return
        c, at = self._theme.colours, self._at
        height = self._end if at is None else self._heights[at] if at < count else None
        point = self._point(self._place(at, count), height or 0)
        if height is not None:
            self.labels.take(QRectF(point - QPointF(6, 6), QSizeF(12, 12)))
        if not area.left() - 1 <= point.x() <= area.right() + 1:
            return
        plain, bold = painter.font(), QFont(painter.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        self._paint_playhead(painter, point.x(), both.bottom(), len(self.firings) * (STRIP + GAP) + 2)
        painter.setFont(plain)
        if height is not None:
            painter.setPen(QPen(ink(c.window), 1.5))
            painter.setBrush(ink(c.accent))
            painter.drawEllipse(point, 4.5, 4.5)

    def _paint_firings(self, painter: QPainter, area: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for n, firing in enumerate(self.firings):
            colour = ink(line_colour(self._theme.colours, n))
            y = area.bottom() - (n + 1) * (STRIP + GAP)
            for first, last in firing.runs:
                left, right = self._point(first - 0.5, 0).x(), self._point(last + 0.5, 0).x()
                painter.fillRect(QRectF(left, y, max(2.0, right - left), STRIP), colour)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def _paint_words(self, painter: QPainter, area: QRectF) -> None:
        """Above the strips, one above the other where there is room, else side by side."""
        high = QFontMetricsF(painter.font()).height()
        bottom = area.bottom() - len(self.firings) * (STRIP + GAP) - 2
        corners = [QPointF(area.left() + 4, bottom - (n + 1) * high) for n in range(4)]
        for n, firing in enumerate(self.firings):
            colour = line_colour(self._theme.colours, n)
            self._paint_label(painter, fired_words(firing), corners, colour, slides=True)

    def _placed_effects(self, area: QRectF) -> Iterator[tuple[int, StepEffect, QPointF, QPointF]]:
        """How many stand at the same request before it, and where each begins and ends."""
        place = 0
        for n, effect in enumerate(self.effects):
            place = place + 1 if n and self.effects[n - 1].at == effect.at else 0
            x = self._place(effect.at, self._count)
            before, after = self._point(x, effect.before), self._point(x, effect.after)
            shift = QPointF(APART * (place + 1), 0)
            if before.x() + shift.x() + 6 > area.right():
                shift = -shift
            yield place, effect, before + shift, after + shift

    def _paint_effects(self, painter: QPainter, area: QRectF) -> None:
        c = self._theme.colours
        for n, (place, effect, before, after) in enumerate(self._placed_effects(area)):
            painter.setPen(QPen(ink(c.accent), 1.2, Qt.PenStyle.DashLine))
            painter.drawLine(before, after)
            painter.setPen(QPen(ink(c.accent), 1.4))
            painter.setBrush(ink(c.window))
            painter.drawEllipse(after, 3.5, 3.5)
            last = n + 1 == len(self.effects) or self.effects[n + 1].at != effect.at
            if last and effect.at == self._at:
                change = effect.after - effect.before
                words = (
                    f"{effect.name} {signed(change)} → {grouped(effect.after)}"
                    if change
                    else f"{effect.name}: no change"
                )
                size, clear = label_size(painter, words), APART * (place + 1) + 8
                lefts = (after.x() + 8, after.x() - size.width() - clear)
                tops = [after.y() + (n - 0.5) * size.height() for n in (0, -1, 1, -2, 2)]
                self._paint_label(painter, words, (QPointF(x, y) for x in lefts for y in tops), c.accent)


def _passes(curve: Curve, ends: tuple[float, float], low: float, high: float) -> bool:
    """Is it anywhere between `ends` as high as that?"""
    places, values = curve
    if not len(places):
        return False
    first, last = np.searchsorted(places, ends)
    met = np.concatenate((values[first:last], np.interp(ends, places, values, np.nan, np.nan)))
    met = met[~np.isnan(met)]
    return bool(len(met)) and bool(met.min() <= high) and bool(met.max() >= low)


def fired_words(firing: Firing) -> str:
    """`L1 / L2 would have fired at 43 requests, from 172 on`: above its line, had nothing fired before."""
    tiers = " / ".join(firing.line.tiers)
    if not firing.count:
        return f"{tiers} would have fired at no request"
    return f"{tiers} would have fired at {plural(firing.count, 'request')}, first at {grouped(firing.runs[0][0])}"
