"""What is drawn of a thread in the timeline, and what lies over it: window, lines, the client's notch, compactions,
playhead; where each tier would have fired, and what our steps did. Labels of lines stand right of the plot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, hypot
from typing import Any, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsView

from inspector.core.findings.triggers import ClientTrigger
from inspector.core.words import plural
from inspector.gui.look.colours import ink
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.glossary import explain
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.theme import Theme
from inspector.gui.panels.timeline.line_drag import line_colours
from inspector.gui.panels.timeline.tank import paint_handle, trigger_words
from inspector.gui.widgets.label_space import LabelSpace, elide_name, stack_labels
from inspector.gui.widgets.plot import Overlay, area_of, end_place, label_size
from inspector.workbench.pressure.scale import Firing, GaugeLine
from inspector.workbench.pressure.timeline import Mark, Series, StepEffect

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
FARTHEST = 400
"""Pixels from its step within which a place is looked for that hides no curve."""
APART = 7
"""Pixels from one step's mark to the next one's."""


UPPER, LOWER = ("believed", "reported", "unreported"), ("cache_read", "fresh", "output")
NOTHING = Series((), (), (), (), None, (), (), (), (), ())
NOTCH = 6
"""Pixels of the client's notch."""
WIDEST_LABEL = 24
"""Figures that the label of a line takes at most: of longer names the end of the last word but one is left out."""
GUTTER_INSET = 12
"""Pixels between the plot and the labels of its lines."""
ROOMY, NARROW = 760, 420
"""Pixels of a timeline from which on the labels have their tokens; from which on they have all of their names."""


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
    top = max((*filter(None, heights), *series.believed, series.end or 0), default=1)
    most = max(filter(None, (*series.cache_read, *series.fresh, *series.output)), default=0)
    points = {name: _points(name, getattr(series, name)) for name in (*UPPER, *LOWER)}
    return Curves(series, heights, points, top, most)


def _points(name: str, values: Sequence[int | None]) -> Curve:
    places = np.arange(len(values), dtype=np.float64)
    if name == "unreported" and len(values):
        places[-1] = end_place(len(values) - 1)
    return places, np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LineLabel:
    """Words right of the plot: a name in a heavier weight, and quietly what goes with it."""

    tokens: int
    name: str
    about: str
    colour: str
    explanation: str
    """What a hover says."""
    rank: int
    """Of several that have no room, those of the highest rank go first."""


class TimelineOverlay(Overlay):
    """Over both plots; only the playhead and compactions reach into the lower one."""

    def __init__(self, view: QGraphicsView, theme: Theme, upper: Any, lower: Any) -> None:
        super().__init__(view, theme, upper)
        self._lower = lower
        self.rim: int | None = None
        """Tokens of the window, or of the one that is assumed."""
        self.is_assumed = False
        self.lines: tuple[GaugeLine, ...] = ()
        self.trigger: ClientTrigger | None = None
        """Where the recorded client compacts on its own: a notch, whatever policy draws its lines."""
        self.firings: tuple[Firing, ...] = ()
        self.effects: tuple[StepEffect, ...] = ()
        self._in_words = False
        self._label_rooms: list[tuple[QRectF, LineLabel]] = []
        """Where the labels of the lines were painted last."""
        self._drawn = Curves()
        self._crossed: dict[tuple[object, ...], bool] = {}
        """By place and range, as long as the curves stay: words stand where they stood while the playhead walks."""

    def show_curves(self, drawn: Curves) -> None:
        """Other curves, which words should not hide, and other compactions."""
        self._drawn = drawn
        self._crossed.clear()
        self.update()

    def show_lines(
        self, rim: int | None, is_assumed: bool, lines: tuple[GaugeLine, ...], trigger: ClientTrigger | None
    ) -> bool:
        """Show another window, other lines, another notch. Returns whether any of it is another."""
        if (self.rim, self.is_assumed, self.lines, self.trigger) == (rim, is_assumed, lines, trigger):
            return False
        self.rim, self.is_assumed, self.lines, self.trigger = rim, is_assumed, lines, trigger
        self.update()
        return True

    def show_firings(self, firings: tuple[Firing, ...], in_words: bool) -> None:
        """Where each line's tiers would have fired; in words, too, where the lines are not the policy's own."""
        self.firings, self._in_words = firings, in_words
        self.update()

    def show_effects(self, effects: tuple[StepEffect, ...]) -> None:
        """What our steps did."""
        self.effects = effects
        self.update()

    def fired_at(self, at: int) -> str:
        """`L1, L2 would have fired`: what the strips say about a request; empty where they say nothing."""
        above = [firing.line for firing in self.firings if any(first <= at <= last for first, last in firing.runs)]
        names = [_tiers(line) for line in above]
        return f"{', '.join(names)} would have fired" if names else ""

    def _paint(self, painter: QPainter, area: QRectF) -> None:
        """Strokes first, then words; where two would lie on each other the first that is painted stands."""
        lower = area_of(self._lower) if self._lower.isVisible() else QRectF()
        both = area.united(lower)
        painter.setClipRect(both)
        self._paint_lines(painter, area)
        compactions = self._paint_compactions(painter, area, both)
        if not lower.isNull():
            self._paint_key(painter, lower)
        for _, _, before, after in self._placed_effects(area):
            self.labels.take(QRectF(before, after).normalized().adjusted(-4.5, -4.5, 4.5, 4.5))
        self._paint_here(painter, area, both)
        painter.setClipRect(area)
        self._paint_firings(painter, area)
        self._paint_effects(painter, area)
        if self._in_words:
            self._paint_words(painter, area)
        self._paint_compaction_names(painter, area, compactions)
        painter.setClipping(False)
        self._paint_handles(painter, area)
        self._paint_gutter(painter, area)

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

    def _paint_lines(self, painter: QPainter, area: QRectF) -> None:
        """Each with an edge in the colour of the ground, so that it is seen over every category."""
        colours = self._theme.colours
        if self.rim:
            style = Qt.PenStyle.DotLine if self.is_assumed else Qt.PenStyle.SolidLine
            self._paint_across(painter, area, self.rim, QPen(ink(colours.quiet), 1, style))
        for line, colour in zip(self.lines, line_colours(colours, self.lines), strict=True):
            self._paint_across(painter, area, line.tokens, QPen(ink(colours.window), 3.5))
            style = Qt.PenStyle.SolidLine if line.is_scale else Qt.PenStyle.DashLine
            self._paint_across(painter, area, line.tokens, QPen(ink(colour), 1.5, style))

    def _paint_across(self, painter: QPainter, area: QRectF, tokens: int, pen: QPen) -> None:
        y = self._point(0, tokens).y()
        if area.top() <= y <= area.bottom():
            painter.setPen(pen)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))

    def _paint_handles(self, painter: QPainter, area: QRectF) -> None:
        """What a line is dragged by, at its left end; and the client's notch right of the plot."""
        colours = self._theme.colours
        for line, colour in zip(self.lines, line_colours(colours, self.lines), strict=True):
            y = self._point(0, line.tokens).y()
            if area.top() <= y <= area.bottom():
                paint_handle(painter, QPointF(area.left() + 2, y), colour)
        sizes = self.trigger.notches if self.trigger is not None else ()
        for y in {round(self._point(0, tokens).y()) for tokens in sizes}:
            if area.top() <= y <= area.bottom():
                notch = QPainterPath(QPointF(area.right() + 2, y))
                notch.lineTo(area.right() + 2 + NOTCH, y - NOTCH / 2 - 1)
                notch.lineTo(area.right() + 2 + NOTCH, y + NOTCH / 2 + 1)
                notch.closeSubpath()
                painter.fillPath(notch, ink(colours.good))

    def _line_labels(self, roomy: bool = True) -> list[LineLabel]:
        """Return the labels right of the plot, the highest first."""
        colours, labels = self._theme.colours, list[LineLabel]()
        if self.rim:
            name = f"{grouped(self.rim)} assumed" if self.is_assumed else f"Window {grouped(self.rim)}"
            labels.append(LineLabel(self.rim, "", name, colours.quiet, explain("window"), 3))
        for line, colour in zip(self.lines, line_colours(colours, self.lines), strict=True):
            tokens = grouped(line.tokens) if roomy else ""
            rank, words = 0 if line.is_scale else 2, explain("watermark", line.about)
            labels.append(LineLabel(line.tokens, line.label, tokens, colour, words, rank))
        if self.trigger is not None:
            trigger = self.trigger
            labels.append(LineLabel(trigger.tokens[-1], trigger.label, "", colours.good, trigger_words(trigger), 1))
        return sorted(labels, key=lambda label: -label.tokens)

    def gutter_width(self, whole: int) -> int:
        """Return the pixels that the labels of the lines take right of the plot. `whole`: pixels of the timeline."""
        if whole < NARROW or not self.lines:
            return GUTTER_INSET
        plain, bold = self._label_fonts()
        labels = self._line_labels(roomy=whole >= ROOMY)
        widths = [bold.horizontalAdvance(label.name) + plain.horizontalAdvance(label.about) + 5 for label in labels]
        return round(min(max(widths), WIDEST_LABEL * plain.horizontalAdvance("0")) + 2 * GUTTER_INSET)

    def _label_fonts(self) -> tuple[QFontMetricsF, QFontMetricsF]:
        bold = QFont(ui_font(self._theme.small))
        bold.setWeight(QFont.Weight.DemiBold)
        return QFontMetricsF(ui_font(self._theme.small)), QFontMetricsF(bold)

    def _paint_gutter(self, painter: QPainter, area: QRectF) -> None:
        if self.width() < NARROW:
            return
        high, left = QFontMetricsF(painter.font()).height(), area.right() + GUTTER_INSET
        labels = self._line_labels(roomy=self.width() >= ROOMY)
        self._label_rooms = []
        room = self.width() - left - 2
        for label, top in self._placed_labels(labels, high, area):
            self._label_rooms.append((QRectF(left, top, self.width() - left, high), label))
            self._paint_line_label(painter, label, QPointF(left, top), room)

    def _paint_line_label(self, painter: QPainter, label: LineLabel, corner: QPointF, room: float) -> None:
        """The name, cut where it is too long, and behind it what goes with it."""
        (plain, bold), font = self._label_fonts(), QFont(painter.font())
        place = corner + QPointF(0, plain.ascent())
        if label.name:
            beside = plain.horizontalAdvance(label.about) + 5 if label.about else 0
            name = elide_name(label.name, bold, room - beside)
            heavy = QFont(font)
            heavy.setWeight(QFont.Weight.DemiBold)
            painter.setFont(heavy)
            painter.setPen(ink(label.colour))
            painter.drawText(place, name)
            place += QPointF(bold.horizontalAdvance(name) + 5, 0)
        painter.setFont(font)
        painter.setPen(ink(self._theme.colours.quiet))
        painter.drawText(place, label.about)

    def about_label(self, place: QPointF) -> str:
        """Return what a hover says of the label there; empty where there is none."""
        return next((label.explanation for room, label in self._label_rooms if room.contains(place)), "")

    def _placed_labels(self, labels: list[LineLabel], high: float, area: QRectF) -> list[tuple[LineLabel, float]]:
        """Return where each begins, beside its line; where there is no room for all, those of the highest rank go."""
        inside = [label for label in labels if area.top() - 1 <= self._point(0, label.tokens).y() <= area.bottom() + 1]
        while inside:
            tops = [self._point(0, label.tokens).y() - high / 2 for label in inside]
            places = stack_labels(tops, [high] * len(inside), min(area.bottom() + high / 2, self.height()))
            if places:
                return list(zip(inside, places, strict=True))
            inside.remove(max(inside, key=lambda label: label.rank))
        return []

    def _paint_key(self, painter: QPainter, area: QRectF) -> None:
        c = self._theme.colours
        words = (("cache read", c.good), ("not cached", c.low), ("output", c.categories["thinking"]))
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
            colour = ink(self._firing_colours()[n])
            y = area.bottom() - (n + 1) * (STRIP + GAP)
            for first, last in firing.runs:
                left, right = self._point(first - 0.5, 0).x(), self._point(last + 0.5, 0).x()
                painter.fillRect(QRectF(left, y, max(2.0, right - left), STRIP), colour)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)

    def _firing_colours(self) -> list[str]:
        return line_colours(self._theme.colours, [firing.line for firing in self.firings])

    def _paint_words(self, painter: QPainter, area: QRectF) -> None:
        """Above the strips, one above the other where there is room, else side by side."""
        high = QFontMetricsF(painter.font()).height()
        bottom = area.bottom() - len(self.firings) * (STRIP + GAP) - 2
        corners = [QPointF(area.left() + 4, bottom - (n + 1) * high) for n in range(4)]
        for n, firing in enumerate(self.firings):
            colour = self._firing_colours()[n]
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
                corners = _corners_near(after, label_size(painter, words), APART * (place + 1) + 8, area)
                self._paint_label(painter, words, corners, c.accent, over=False)


def _corners_near(point: QPointF, size: QSizeF, clear: float, area: QRectF) -> list[QPointF]:
    """Where a label may begin that belongs to a point, the nearest place first: beside it, else farther away.

    Args:
        clear: Pixels at the left of the point that the steps before it take.
    """
    high = size.height()
    rows = range(ceil(area.height() / high))
    downs = sorted({sign * row * high for row in rows for sign in (1, -1)}, key=abs)
    beside = [point.x() + 8, point.x() - size.width() - clear]
    farther = [beside[-1] - shift for shift in range(30, FARTHEST, 30)]
    farther += [beside[0] + shift for shift in range(30, FARTHEST, 30)]
    places = [QPointF(left, point.y() - high / 2 + down) for left in (*beside, *farther) for down in downs]
    return sorted(places, key=lambda place: _distance(place, size, point))


def _distance(corner: QPointF, size: QSizeF, point: QPointF) -> float:
    """Pixels between a label and its point."""
    across = max(corner.x() - point.x(), 0.0, point.x() - corner.x() - size.width())
    down = max(corner.y() - point.y(), 0.0, point.y() - corner.y() - size.height())
    return hypot(across, down)


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
    """`L1, L2 would have fired at 43 requests, first at 172`: above its line, had nothing fired before."""
    tiers = _tiers(firing.line)
    if not firing.count:
        return f"{tiers} would have fired at no request"
    return f"{tiers} would have fired at {plural(firing.count, 'request')}, first at {grouped(firing.runs[0][0])}"


def _tiers(line: GaugeLine) -> str:
    """`L1, L2`; of another policy with its title: `Codex compact`."""
    names = ", ".join(line.watermark.tiers)
    return names if line.is_scale else f"{line.title} {names}"
