"""What is drawn of a thread in the timeline, and what lies over it: window, watermarks, compactions, where the recorded
agent made them by itself, playhead; where each tier would have fired, and what our steps did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsView

from inspector.core.findings.triggers import trigger_words
from inspector.core.policies.verdict import Watermark
from inspector.core.words import plural
from inspector.gui.look.colours import ink
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import line_colour
from inspector.gui.widgets.label_space import LabelSpace
from inspector.gui.widgets.plot import Overlay, area_of, end_place, label_size
from inspector.workbench.gauge import Firing
from inspector.workbench.timeline import Mark, Series, StepEffect

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Curve: TypeAlias = tuple[Numbers, Numbers]
"""Requests, and a value for each; NaN where there is none."""
STRIP, GAP = 4, 2
"""Pixels: height of the strip that marks where a tier would have fired, and of what lies between two."""
MOST_NAMES = 100
"""Compactions whose names are tried: of more, every n-th."""
MOST_PLACES = 5_000
LOWER_ROOM = 40
"""Pixels from the top of the second plot in which a place is looked for where its key hides no curve."""
APART = 7
"""Pixels from one step's mark to the next one's."""


UPPER, LOWER = ("believed", "reported", "unreported"), ("cache_read", "fresh", "output")
NOTHING = Series((), (), (), (), None, (), (), (), (), ())


@dataclass(frozen=True, slots=True)
class Curves:
    """A series, and what is drawn of it."""

    series: Series = NOTHING
    heights: Sequence[int | None] = ()
    points: Mapping[str, Curve] = field(default_factory=dict)
    """(requests, values) of a curve, by its name."""
    top: int = 1
    """The highest value of the upper plot ..."""
    most: int = 0
    """... and of the lower one."""


def curves(series: Series | None) -> Curves:
    """What is drawn of a series. Any thread."""
    if series is None:
        return Curves()
    heights = series.heights
    triggers = (one.tokens for one in series.triggers)
    top = max((*filter(None, heights), *series.believed, *triggers, series.end or 0), default=1)
    most = max(filter(None, (*series.cache_read, *series.fresh, *series.output)), default=0)
    points = {name: _points(name, getattr(series, name)) for name in (*UPPER, *LOWER)}
    return Curves(series, heights, points, top, most)


def _points(name: str, values: Sequence[int | None]) -> Curve:
    places = np.arange(len(values), dtype=np.float64)
    if name == "unreported" and len(values):
        places[-1] = end_place(len(values) - 1)
    return places, np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)


class TimelineOverlay(Overlay):
    """Over both plots; only the playhead and compactions reach into the lower one."""

    def __init__(self, view: QGraphicsView, theme: Theme, upper: Any, lower: Any) -> None:
        super().__init__(view, theme, upper)
        self._lower = lower
        self.window_tokens: int | None = None
        self.lines: tuple[Watermark, ...] = ()
        self.firings: tuple[Firing, ...] = ()
        self.effects: tuple[StepEffect, ...] = ()
        self.triggers = NOTHING.triggers
        """Where the recorded agent compacted by itself: a band, whatever policy draws its lines."""
        self._in_words = False
        self._drawn = Curves()
        self._crossed: dict[tuple[object, ...], bool] = {}
        """By place and range, as long as the curves stay: words stand where they stood while the playhead walks."""

    def show_curves(self, drawn: Curves) -> None:
        """Other curves, which words should not hide, and other compactions."""
        self._drawn, self.triggers = drawn, drawn.series.triggers
        self._crossed.clear()
        self.update()

    def show_lines(self, window: int | None, lines: tuple[Watermark, ...]) -> bool:
        """Another window, other watermarks. Returns whether it is another window."""
        changed = window != self.window_tokens
        if changed or lines != self.lines:
            self.window_tokens, self.lines = window, lines
            self.update()
        return changed

    def show_firings(self, firings: tuple[Firing, ...], in_words: bool) -> None:
        """Where each line's tiers would have fired; in words, too, where the lines are not the policy's own."""
        self.firings, self._in_words = firings, in_words
        self.update()

    def show_effects(self, effects: tuple[StepEffect, ...]) -> None:
        """What our steps did."""
        self.effects = effects
        self.update()

    def fired_at(self, at: int) -> str:
        """`L1 / L2 would have fired`: what the strips say about a request; empty where they say nothing."""
        above = [firing.line for firing in self.firings if any(first <= at <= last for first, last in firing.runs)]
        names = [" / ".join(line.tiers) for line in above]
        return f"{', '.join(names)} would have fired" if names else ""

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
        for y, words, short, colour in rows:  # right above its line, or right below it
            tops = (y - QFontMetricsF(painter.font()).height(), y + 1)
            corners = [QPointF(area.left() + 4, top) for top in tops]
            self._paint_label(painter, words, corners, colour, slides=True, short=short)
        if self._in_words:
            self._paint_words(painter, area)
        self._paint_compaction_names(painter, area, compactions)

    def _is_crossed(self, room: QRectF) -> bool:
        """Within the plot that it is in."""
        below = self._lower.isVisible() and room.center().y() > self._area.bottom()
        box = self._lower if below else self._box
        area, seen = area_of(box), box.viewRect()
        place = (room.getRect(), area.getRect(), seen.getRect())
        if (known := self._crossed.get(place)) is not None:
            return known
        if len(self._crossed) > MOST_PLACES:
            self._crossed.clear()
        across, up = seen.width() / max(1.0, area.width()), seen.height() / max(1.0, area.height())
        left, right = (seen.left() + (x - area.left()) * across for x in (room.left() - 1, room.right() + 1))
        low, high = (seen.top() + (area.bottom() - y) * up for y in (room.bottom() + 1, room.top() - 1))
        drawn = (self._drawn.points[name] for name in (LOWER if below else UPPER) if name in self._drawn.points)
        self._crossed[place] = crossed = any(_passes(curve, (left, right), low, high) for curve in drawn)
        return crossed

    def _paint_lines(self, painter: QPainter, area: QRectF) -> list[tuple[float, str, str, str]]:
        """Returns where each is, its words, in short too, and its colour, the highest first."""
        c, window, style = self._theme.colours, self.window_tokens, Qt.PenStyle
        rows = [(f"window {grouped(window)}", "", window, c.quiet, style.SolidLine)] if window else []
        rows += [(one.label, "", one.tokens, line_colour(c, n), style.DashLine) for n, one in enumerate(self.lines)]
        if self.triggers:
            sizes = [one.tokens for one in self.triggers]
            top, bottom = self._point(0, max(sizes)).y(), self._point(0, min(sizes)).y()
            band = QColor(ink(c.good))
            band.setAlphaF(0.16)
            painter.fillRect(QRectF(area.left(), top, area.width(), bottom - top), band)
            words = trigger_words(self.triggers), trigger_words(self.triggers, brief=True)
            rows.append((*words, min(sizes), c.good, style.DotLine))
        named = []
        for long, short, tokens, colour, stroke in sorted(rows, key=lambda row: -row[2]):
            y = self._point(0, tokens).y()
            if area.top() <= y <= area.bottom():
                painter.setPen(QPen(ink(colour), 1, stroke))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
                named.append((y, long, short, colour))
        return named

    def _paint_key(self, painter: QPainter, area: QRectF) -> None:
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
        for mark in self._drawn.series.marks:
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
        heights, c, at = self._drawn.heights, self._theme.colours, self._at
        count = len(heights)
        if not count:
            return
        height = self._drawn.series.end if at is None else heights[at] if at < count else None
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
            x = self._place(effect.at, len(self._drawn.heights))
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
                did = f" {signed(change)} → {grouped(effect.after)}" if change else ": no change"
                words = effect.name + did
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
