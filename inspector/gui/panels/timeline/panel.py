"""The timeline: pressure over all requests, with the key to its curves."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from inspector.core.findings.triggers import client_trigger
from inspector.core.session import Session, Thread
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.guard import Guarded
from inspector.gui.look.build import choice, column, row
from inspector.gui.look.colours import ink
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import label, tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line
from inspector.gui.navigation import stand_at
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.panels.timeline.line_drag import LineDrag
from inspector.gui.panels.timeline.mark_row import RANKS, SIZE, paint_mark
from inspector.gui.panels.timeline.readings import spoken_pressure
from inspector.gui.widgets.small import Elided
from inspector.workbench.pressure.filling import AreaKind, Areas, areas
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.pressure.scale import GaugeLine, assumed_window, firings, gauge_lines
from inspector.workbench.pressure.timeline import (
    Mark,
    MarkKind,
    break_marks,
    chosen_marks,
    pin_marks,
    series,
    step_effects,
)
from inspector.workbench.state import State

MANY = 5_000
"""Requests of a thread whose curves take longer than a frame."""
_WAYS = ("curves", "by category", "by tool")
_KINDS: tuple[AreaKind | None, ...] = (None, "category", "tool")
_NAMED = 4
"""Areas that the key names: the highest."""
_STROKE = 18
"""Pixels of a stroke in the key."""


class Timeline(PlotPanel):
    """Shows the State's thread; a click, a drag and the arrow keys move the playhead."""

    TITLE: ClassVar[str] = "Timeline"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._curves_of: Thread | None = None
        self._drawing = LatestJob(desk.bridge)
        self._caption = label("PRESSURE", role="caption")
        self._here = Elided("quiet")
        self._here.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._key = CurveKey(desk.theme)
        self.way = choice("How the timeline is drawn", _WAYS)
        self.way.currentIndexChanged.connect(self._draw_areas)
        self._filling = LatestJob(desk.bridge)
        self._breaks: tuple[Mark, ...] = ()
        self._break_job = LatestJob(desk.bridge)
        self._gone_pins: tuple[Mark, ...] = ()
        self._pin_job = LatestJob(desk.bridge)
        head = row(self._caption, 12, (self._here, 1), self._key, 10, self.way, margins=(13, 6, 13, 0))
        head.addStrut(self._key.sizeHint().height())  # nothing jumps where the key gives way to words
        self._column = column(head, ..., of=self, gap=0)

    def show_state(self, state: State) -> None:
        """Curves where they are others; the playhead always."""
        self._state = state
        count = len(state.thread.requests) if state.thread else 0
        self._caption.setText(f"PRESSURE OVER {plural(count, 'request').upper()}")
        self.load_plot()
        self._draw()

    def make_plot(self) -> Any:
        from inspector.gui.panels.timeline.plot import TimelinePlot

        return TimelinePlot(self.desk.theme, LineDrag(self.desk.workbench, self))

    def place_plot(self) -> None:
        self.plot.offered.connect(lambda at, where: self.menu_at(at).popup(where))
        self._column.takeAt(1)
        self._column.addWidget(self.plot, 1)
        self._draw()

    def menu_at(self, at: int) -> QMenu:
        """What can be done at a request."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(f"Go to request {at}", partial(self.desk.workbench.move, at))
        runs = self.desk.runs
        if runs is not None:
            menu.addAction("Run from here…", partial(runs.fork_at, at))
            if runs.resumable:
                menu.addAction("Resume this run", runs.resume)
        return menu

    def step(self, rows: int) -> None:
        """To the next mark, or the one before, and what it is."""
        if self.plot is None:
            return
        place, marks = self._state.place, self.plot.mark_row.marks
        ahead = sorted({mark.at for mark in marks if (mark.at - place) * rows > 0}, reverse=rows < 0)
        if ahead:
            stand_at(self.desk.workbench, ahead[0])
            self.say(" · ".join(line(mark.label, 110) for mark in marks if mark.at == ahead[0]))

    def say(self, words: str) -> None:
        """About the request under the mouse; the key comes back when there is none."""
        self._here.show_text(words)
        self._key.setVisible(not words)

    def _draw(self) -> None:
        state = self._state
        if self.plot is None:
            return
        if self.is_new("curves", state.thread, state.pressures, state.believed):
            self._drawing.cancel()
            self._draw_curves(state, state.thread)
        lines = gauge_lines(state)
        self._show_lines(state, lines)
        self._draw_areas()
        if self.is_new("firings", lines, state.believed):
            self.plot.overlay.show_firings(firings(state), any(line.is_moved for line in lines))
        if self.is_new("effects", state.trees, state.thread_id, state.choices.policy):
            self.plot.overlay.show_effects(step_effects(state))
        self._draw_marks()

    def _show_lines(self, state: State, lines: tuple[GaugeLine, ...]) -> None:
        session, thread, pressures = state.session, state.thread, state.pressures
        if session is None or thread is None or pressures is None:
            self.plot.show_lines(None, False, (), None)
            return
        window = state.window.tokens if state.window is not None else None
        trigger = client_trigger(session, thread, pressures, window)
        self.plot.show_lines(window or assumed_window(), not window, lines, trigger)

    def _draw_curves(self, state: State, thread: Thread | None) -> None:
        """Of a long session worked out elsewhere; no curve of another stands there meanwhile."""
        from inspector.gui.panels.timeline.overlay import Curves, curves  # loaded with the plot
        from inspector.gui.panels.timeline.plot import grown

        if thread is None or len(thread.requests) <= MANY:
            self.plot.show_curves(curves(series(state)), thread)
            return
        if not grown(self._curves_of, thread):
            self.plot.show_curves(Curves(), None)

        def show(found: Curves) -> None:
            self.plot.show_curves(found, thread)
            self._draw_marks()  # its compactions are marks, too

        self._drawing.run(lambda task: curves(series(state)), show)
        self._curves_of = thread

    def _draw_areas(self) -> None:
        """What filled the buffer, where it is wanted: worked out elsewhere when the thread or the choice is another."""
        state, kind = self._state, _KINDS[self.way.currentIndex()]
        if self.plot is None or not self.is_new("areas", state.thread, state.pressures, kind):
            return
        self._filling.cancel()
        if kind is None or state.pressures is None or self.plot.areas.areas is None:
            self._show_areas(None)
        if kind is not None and state.pressures is not None:
            self._filling.run(lambda task: areas(state, kind, task.cancelled), self._show_areas)

    def _show_areas(self, found: Areas | None) -> None:
        from inspector.gui.panels.timeline.plot import area_colours  # loaded with the plot

        self.plot.areas.show_areas(found)
        if found is None:
            self._key.show_areas(())
            return
        colours = area_colours(self.desk.theme.colours, found)
        named = zip(found.names, colours, map(max, found.tokens), strict=True)
        self._key.show_areas(sorted(named, key=lambda one: -one[2]))

    def _draw_marks(self) -> None:
        """Breaks and pins are looked for in jobs, one after the other while a session grows."""
        state = self._state
        if self.is_new("marked", state.session.path if state.session is not None else "", state.thread_id):
            self._breaks = self._gone_pins = ()
            self._break_job.cancel()
            self._pin_job.cancel()
        if state.opening is None:
            self._find_breaks(state.session, state.thread)
            self._find_gone_pins(state.thread, state.pins)
        self.plot.show_marks((*self._breaks, *self._gone_pins, *chosen_marks(state)), state.at)
        self.plot.describe(self._spoken(state))
        self._key.show_marks({mark.kind for mark in self.plot.mark_row.marks})

    def _find_breaks(self, session: Session | None, thread: Thread | None) -> None:
        def show(marks: tuple[Mark, ...]) -> None:
            self._breaks = marks
            self._draw_marks()

        if not self._break_job.busy and self.is_new("breaks", thread) and session is not None and thread is not None:
            self._break_job.run(lambda task: break_marks(session, thread), show)

    def _find_gone_pins(self, thread: Thread | None, pins: tuple[str, ...]) -> None:
        def show(marks: tuple[Mark, ...]) -> None:
            self._gone_pins = marks
            self._draw_marks()

        if not self._pin_job.busy and self.is_new("pins", thread, pins) and thread is not None:
            self._pin_job.run(lambda task: pin_marks(thread, pins), show, lane="pass")

    def _spoken(self, state: State) -> str:
        place = "the end" if state.at is None else f"request {state.at}"
        marks = self.plot.mark_row.accessibleDescription()
        return f"{place} of {plural(self.plot.count, 'request')}: {spoken_pressure(reading(state))}. Marks: {marks}"

    def restyle(self) -> None:
        super().restyle()
        if self.plot is not None:
            self._show_areas(self.plot.areas.areas)


class CurveKey(Guarded, QWidget):
    """Which curve is which: three strokes with their names, which differ in stroke, not in colour alone. Before them
    the marks, where there is room."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        terms = ("reported", "predicted", "own count", "compaction", "cache miss")
        self.setToolTip(tip("\n".join(explain(term) for term in terms)))
        self._areas: tuple[tuple[str, str, Qt.PenStyle], ...] = ()
        self._kinds: tuple[MarkKind, ...] = ()
        self.show_areas(())

    def show_areas(self, areas: Sequence[tuple[str, str, int]]) -> None:
        """(name, colour, height), the highest first: they are named instead of the curves."""
        shown = [(line(name, 18), colour) for name, colour, _ in areas[:_NAMED]]
        self._areas = tuple((name, colour, Qt.PenStyle.SolidLine) for name, colour in shown)
        curves = "reported: solid; predicted: dashed; the policy's own count: thin grey"
        self.setAccessibleName(", ".join(name for name, _ in shown) or curves)
        self.updateGeometry()
        self.update()

    def show_marks(self, kinds: Collection[MarkKind]) -> None:
        """The kinds that there are."""
        listed = tuple(kind for kind in RANKS if kind in kinds)
        if listed != self._kinds:
            self._kinds = listed
            self.updateGeometry()
            self.update()

    def _words(self) -> tuple[tuple[str, str, Qt.PenStyle], ...]:
        c = self._theme.colours
        return self._areas or (
            ("reported", c.accent, Qt.PenStyle.SolidLine),
            ("predicted", c.accent, Qt.PenStyle.DashLine),
            ("own count", c.missing, Qt.PenStyle.SolidLine),
        )

    def _width(self, words: Iterable[str], sign: int) -> int:
        return sum(self.fontMetrics().horizontalAdvance(word) + sign + 18 for word in words)

    def sizeHint(self) -> QSize:
        return QSize(self.minimumSizeHint().width() + self._width(self._kinds, SIZE), self.fontMetrics().height() + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._width((word for word, _, _ in self._words()), _STROKE), self.fontMetrics().height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        metrics, x = self.fontMetrics(), self.width() - self.minimumSizeHint().width()
        left, y = x - self._width(self._kinds, SIZE), self.height() / 2
        foot = y + (metrics.ascent() - metrics.descent()) / 2
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for kind in self._kinds if left >= 0 else ():
                paint_mark(painter, QPointF(left, y - SIZE / 2), kind, self._theme.colours)
                painter.setPen(ink(self._theme.colours.quiet))
                painter.drawText(QPointF(left + SIZE + 5, foot), kind)
                left += self._width([kind], SIZE)
            for word, colour, style in self._words():
                painter.setPen(QPen(ink(colour), 8 if self._areas else 1.6, style, Qt.PenCapStyle.FlatCap))
                painter.drawLine(QPointF(x, y), QPointF(x + _STROKE, y))
                painter.setPen(ink(self._theme.colours.quiet))
                painter.drawText(QPointF(x + _STROKE + 5, foot), word)
                x += self._width([word], _STROKE)
