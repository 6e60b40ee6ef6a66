"""The timeline: what filled the buffer at every request, or the curves of its size, with legend and marks."""

from functools import partial
from itertools import chain
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QBoxLayout, QMenu

from inspector.core.findings.breaks import Rebilling, cache_breaks
from inspector.core.findings.triggers import client_trigger
from inspector.core.heavy import load_module
from inspector.core.session import Session, Thread
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, row
from inspector.gui.look.fonts import ui_font
from inspector.gui.look.labels import label, tip
from inspector.gui.look.tokens import BAND, INSET
from inspector.gui.look.visible import line
from inspector.gui.navigation import go_to, stand_at
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.panels.timeline.frame import (
    ROWS,
    SPACE_ABOVE,
    measure_overview,
    measure_row,
    measure_ruler,
)
from inspector.gui.panels.timeline.line_drag import LineDrag
from inspector.gui.panels.timeline.line_labels import TimelineLines
from inspector.gui.panels.timeline.plot_legend import LegendEntry, PlotLegend, list_curves
from inspector.gui.panels.timeline.range_panel import RangePanel
from inspector.gui.panels.timeline.readings import spoken_pressure
from inspector.gui.widgets.segments import Segments
from inspector.gui.widgets.small import Elided
from inspector.workbench.pressure.filling import AreaKind, Areas, areas
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.pressure.range_summary import RangeSummary, summarise_range
from inspector.workbench.pressure.scale import GaugeLine, assumed_window, firings, gauge_lines
from inspector.workbench.pressure.timeline import (
    Mark,
    PinMarks,
    UserMarks,
    chosen_marks,
    count_new,
    miss_marks,
    pin_marks,
    series,
    step_effects,
    user_marks,
)
from inspector.workbench.state import State

MANY = 5_000
"""Number of requests of a thread above which its curves take longer than a frame, so that a job computes them."""
FEW = 50
"""Number of new requests up to which curves and areas are extended at once, so that the window is painted once."""
CURVE_VIEW = "Curves"
AREA_KINDS: dict[str, AreaKind | None] = {
    "By category": "category",
    "By tool": "tool",
    CURVE_VIEW: None,
}
LOW_WINDOW, LEAST_PLOT = 850, 76
"""Window height in pixels below which the timeline has no overview, and the plot's height in such a window."""
PLOT_AT_900, PLOT_GROWTH = 132, 0.24
"""Height of the plot in a window of 900 pixels, and its growth per pixel of window height."""
MOST_SHARE = 0.405
"""Maximum share of the window's height for the timeline. With large letters it leaves out rows and overview."""
LOW_SHARE = 0.088
"""Share of the window's height for the plot in a workspace whose panels need the room."""
WORDS_WIDTH = 330
"""Pixels that the text of the visible range needs beside the legend."""
GESTURES = (
    "Wheel: zoom. Drag: move the view. Shift and drag: select requests. Double click: show the whole session.\n"
    "Keys while the timeline has the focus: W and S zoom, A and D move, Escape clears the selection."
)


class Timeline(PlotPanel):
    """The timeline of the State's thread. A click and the arrow keys move the playhead."""

    TITLE: ClassVar[str] = "Timeline"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._curves_of: Thread | None = None
        self._hidden: set[str] = set()
        self._widest_legend = 0
        """Width of the widest legend so far in pixels, so that nothing moves when another way of drawing is chosen."""
        self._spoken_pressure = ""
        self._misses: tuple[Rebilling, ...] = ()
        self._job_marks: dict[str, tuple[Mark, ...]] = {}
        self._user_marks: UserMarks | None = None
        """The result of the last job that looked for user messages; the next such job continues from it."""
        self._pin_marks: PinMarks | None = None
        """The result of the last job that looked for removed pins, reused while messages are only added."""
        self._drawing, self._filling = LatestJob(desk.bridge), PacedJob(desk.bridge, self)
        self._miss_job, self._user_job, self._pin_job = (
            PacedJob(desk.bridge, self) for _ in range(3)
        )
        self._summing = LatestJob(desk.bridge)
        self.words = Elided("quiet")
        self.words.setToolTip(tip(GESTURES))
        self.legend = PlotLegend(desk.theme)
        self.legend.toggled.connect(self._toggle)
        self.way = Segments("How the timeline is drawn", tuple(AREA_KINDS))
        self.way.chosen.connect(lambda word: self._draw_areas())
        self.fit_button = button("Fit", self._show_all, about="Show the whole session")
        self.range_panel = RangePanel(desk.theme)
        self.range_panel.cleared.connect(lambda: self._select(None))
        self.range_panel.zoomed.connect(self._zoom_to_selection)
        self.range_panel.messages_wanted.connect(self._show_messages)
        self.range_panel.hide()
        self._summary: RangeSummary | None = None
        self._head = row(
            label("TIMELINE", role="caption"), 12, (self.words, 1), 12, self.way, 8, self.fit_button,
            margins=BAND,
        )  # fmt: skip
        self._legend_row = row(margins=(INSET, 0, INSET, 0))
        self._body = row(gap=0)
        self._column = column(self._head, self._legend_row, (self._body, 1), of=self, gap=0)
        self._body.addStretch(1)
        self._body.addWidget(self.range_panel)
        self._head.insertWidget(4, self.legend)

    # -- the plot ------------------------------------------------------------------------------------------------------

    def load_plot(self) -> None:
        """Import numpy in a job, once, and then place the plot."""
        if not self._loading:
            self._loading = True
            self.desk.bridge.run(lambda task: load_module("numpy"), lambda _: self._make_plot())

    def _make_plot(self) -> None:
        self.plot = self.make_plot()
        self.plot.moved.connect(self.desk.workbench.move)
        self.plot.hovered.connect(self.say)
        self.place_plot()

    def make_plot(self) -> Any:
        from inspector.gui.panels.timeline.plot import TimelinePlot

        return TimelinePlot(self.desk.theme, LineDrag(self.desk.workbench, self))

    def place_plot(self) -> None:
        self.plot.offered.connect(lambda at, where: self.menu_at(at).popup(where))
        self.plot.chose.connect(self._select)
        self.plot.range_changed.connect(lambda: self.say(""))
        self.plot.parts_changed.connect(self._show_effects)
        self.plot.rows_changed.connect(self.height_changed)
        self._body.takeAt(0)
        self._body.insertWidget(0, self.plot, 1)
        self._draw()

    def menu_at(self, at: int) -> QMenu:
        """Return the context menu of a request."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(f"Go to request {at:,}", partial(self.desk.workbench.move, at))
        runs = self.desk.runs
        if runs is not None:
            menu.addAction("Run from here…", partial(runs.fork_at, at))
            if runs.resumable:
                menu.addAction("Resume this run", runs.resume)
        return menu

    def step(self, rows: int) -> None:
        """Go to the next mark (`rows` > 0) or the previous one, and show its text."""
        if self.plot is None:
            return
        place, marks = self._state.place, self.plot.mark_rows.marks
        ahead = sorted(
            {mark.at for mark in marks if (mark.at - place) * rows > 0}, reverse=rows < 0
        )
        if ahead:
            stand_at(self.desk.workbench, ahead[0])
            named = [line(mark.label, 110) for mark in marks if mark.at == ahead[0]]
            self.say(f"Request {ahead[0]:,}: {'; '.join(named)}")

    def say(self, words: str) -> None:
        """Show the text about what is under the mouse; without a text, the visible requests."""
        self.words.show_text(words or (self.plot.range_words if self.plot is not None else ""))

    def _show_all(self) -> None:
        if self.plot is not None:
            self.plot.show_all()

    # -- sizes ---------------------------------------------------------------------------------------------------------

    def preferred_height(self, window_height: int, is_low: bool) -> int:
        """Return the preferred height for a window: a share of its height for the plot, plus its surroundings."""
        metrics = QFontMetricsF(ui_font(self.desk.theme.small))
        around = self._head.sizeHint().height() + SPACE_ABOVE + measure_ruler(metrics)
        if self._legend_row.indexOf(self.legend) >= 0:
            around += self.legend.height()
        low = around + round(LOW_SHARE * window_height)
        more_rows = 0 if self.plot is None else max(0, len(self.plot.mark_rows.titles) - ROWS)
        full = around + ROWS * measure_row(metrics) + LEAST_PLOT
        if window_height >= LOW_WINDOW:
            plot = round(PLOT_AT_900 + (window_height - 900) * PLOT_GROWTH)
            full += plot - LEAST_PLOT + measure_overview(metrics)
        if is_low or full > MOST_SHARE * window_height:
            return low
        return full + more_rows * measure_row(metrics)

    def fit(self) -> None:
        """Place the legend beside the heading if there is room for both, otherwise below it."""
        beside = self.way.sizeHint().width() + self.fit_button.sizeHint().width() + WORDS_WIDTH + 80
        self._widest_legend = max(self._widest_legend, self.legend.full_width)
        has_room = self._widest_legend + beside <= self.width()
        was_beside = self._head.indexOf(self.legend) >= 0
        layout: QBoxLayout = self._head if has_room else self._legend_row
        if layout.indexOf(self.legend) < 0:
            for place in (self._head, self._legend_row):
                place.removeWidget(self.legend)
            layout.insertWidget(4 if has_room else 0, self.legend)
        height = self.legend.height()
        if has_room:
            self.legend.setFixedSize(self.legend.full_width, self.legend.row_height)
        else:
            self.legend.setMinimumWidth(0)
            self.legend.setMaximumWidth(16_777_215)
            self.legend.setFixedHeight(self.legend.height_in(self.width() - 32))
        if (has_room, self.legend.height()) != (was_beside, height):
            self.height_changed.emit()

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Draw what has changed, and the playhead in any case."""
        self._state = state
        self.load_plot()
        self._draw()

    def _draw(self) -> None:
        state = self._state
        if self.plot is None:
            return
        if self.is_new("curves", state.thread, state.pressures, state.believed):
            is_late = self._drawing.busy
            self._drawing.cancel()
            waits = self._draw_curves(state, state.thread)
            if waits and not is_late:
                return  # drawn together with the curves, so that the plot is painted once
        self._draw_beside_curves()

    def _draw_beside_curves(self) -> None:
        state = self._state
        lines = gauge_lines(state)
        self._show_lines(state, lines)
        self._draw_areas()
        if self.is_new("firings", lines, state.believed):
            self.plot.show_firings(firings(state))
        self._show_effects()
        self._draw_marks()

    def _show_lines(self, state: State, lines: tuple[GaugeLine, ...]) -> None:
        session, thread, pressures = state.session, state.thread, state.pressures
        if not self.is_new("lines", session, thread, pressures, state.window, lines):
            return
        if session is None or thread is None or pressures is None:
            self.plot.show_lines(TimelineLines())
            return
        window = state.window.tokens if state.window is not None else None
        trigger = client_trigger(session, thread, pressures, window)
        self.plot.show_lines(
            TimelineLines(
                window or assumed_window(), is_assumed=not window, watermarks=lines, trigger=trigger
            )
        )

    def _draw_curves(self, state: State, thread: Thread | None) -> bool:
        """Draw the curves; a job computes those of a long session.

        Returns:
            True if the curves of the same session when it was shorter are shown meanwhile. False if the plot is empty
            meanwhile, or if the curves were drawn at once.
        """
        from inspector.gui.panels.timeline.curves import Curves, make_curves
        from inspector.gui.panels.timeline.plot import is_grown

        has_shorter, former = is_grown(self._curves_of, thread), self.plot.curves.series
        has_few_new = has_shorter and count_new(state, former.pressures) <= FEW
        if thread is None or len(thread.requests) <= MANY or has_few_new:
            self.plot.show_curves(make_curves(series(state, former)), thread)
            self._curves_of = thread
            self.say("")
            return False
        if not has_shorter:
            self.plot.show_curves(Curves(), None)

        def show(curves: Curves) -> None:
            self.plot.show_curves(curves, thread)
            self.say("")
            self._draw_beside_curves()  # also adds the marks of its compactions

        self._drawing.run(lambda task: make_curves(series(state, former)), show)
        self._curves_of = thread
        return has_shorter

    def _draw_areas(self) -> None:
        """Compute what filled the buffer in a job, if that is shown.

        Areas of the same session when it was shorter stay until the new ones are ready.
        """
        state, kind = self._state, AREA_KINDS[self.way.word]
        if self.plot is None:
            return
        if self.is_new(
            "area kind",
            state.session.path if state.session is not None else "",
            state.thread_id,
            kind,
        ):
            self._filling.cancel()
            self._show_areas(areas=None)
        if not self.is_new("areas", state.thread, state.pressures, kind):
            return
        if kind is None or state.pressures is None or state.session is None or state.thread is None:
            return
        about, former = (state.thread.id, kind, state.estimator), self.plot.areas
        is_waiting = self._filling.busy or self._filling.is_late
        shown = former if former is not None and former.kind == kind and not is_waiting else None
        if shown is not None and count_new(state, shown.pressures) <= FEW:
            self._show_areas(areas(state, kind, former=former))
            return
        self._filling.run(
            state.session,
            about,
            lambda task: areas(state, kind, task.cancelled, former),
            self._show_areas,
        )

    def _show_areas(self, areas: Areas | None) -> None:
        self.plot.show_areas(areas)
        self._show_legend()

    def _show_legend(self) -> None:
        from inspector.gui.panels.timeline.plot import area_colours, area_title

        colours, areas = self.desk.theme.colours, self.plot.areas
        entries = list[LegendEntry]()
        shows_curves = AREA_KINDS[self.way.word] is None
        if areas is not None:
            pairs = zip(areas.names, area_colours(colours, areas), strict=True)
            entries += [LegendEntry(name, area_title(name), colour) for name, colour in pairs]
            entries.reverse()  # in the order in which they are stacked
        elif shows_curves:  # areas that are still being computed have no entries
            entries += list_curves(colours)
        # A low plot has no row of steps, so the legend names them.
        if self.plot.canvas.effects and self.plot.is_low:
            entries.append(
                LegendEntry(
                    "steps", title="steps", colour=colours.accent, stroke=Qt.PenStyle.DashLine
                )
            )
        self.legend.show_entries(entries)
        self.legend.hide_names(self._hidden)
        self.fit()

    def _toggle(self, name: str) -> None:
        """Hide an entry of the legend, or show it again."""
        self._hidden ^= {name}
        self.legend.hide_names(self._hidden)
        self.plot.hide_names(self._hidden)
        self._show_effects()

    def _show_effects(self) -> None:
        """Show the effects of the user's steps, unless their row or legend entry is hidden."""
        if self.plot is None:
            return
        state = self._state
        if self.is_new(
            "effects", state.trees, state.thread_id, state.choices.policy, state.pressures
        ):
            self._effects = step_effects(state)
        is_hidden = (
            "steps" in self._hidden if self.plot.is_low else "Step" in self.plot.mark_rows.hidden
        )
        self.plot.canvas.show_effects(self._effects, not is_hidden)
        self._show_legend()

    # -- marks ---------------------------------------------------------------------------------------------------------

    def _draw_marks(self) -> None:
        """Show the marks. Jobs look for cache misses, user messages and pins, at the pace of `PacedJob`."""
        state = self._state
        if self.is_new(
            "marked", state.session.path if state.session is not None else "", state.thread_id
        ):
            self._misses, self._job_marks = (), {}
            self._user_marks = self._pin_marks = None
            for job in (self._miss_job, self._user_job, self._pin_job):
                job.cancel()
            self._select(None)
        if state.opening is None and state.session is not None and state.thread is not None:
            self._find_misses(state.session, state.thread)
            self._find_user_messages(state.session, state.thread)
            self._find_gone_pins(state.session, state.thread, state.pins)
        found_by_jobs = chain.from_iterable(self._job_marks.values())
        self.plot.show_marks((*found_by_jobs, *chosen_marks(state)), state.at)
        self.plot.describe(self._describe_timeline(state))

    def _keep_marks(self, name: str, marks: tuple[Mark, ...]) -> None:
        if self._job_marks.get(name) != marks:
            self._job_marks[name] = marks
            self._draw_marks()

    def _find_misses(self, session: Session, thread: Thread) -> None:
        def show(misses: tuple[Rebilling, ...]) -> None:
            self._misses = misses
            self._keep_marks("misses", miss_marks(misses))

        if self.is_new("misses", thread):
            self._miss_job.run(
                session, (thread.id,), lambda task: cache_breaks(thread, session), show
            )

    def _find_user_messages(self, session: Session, thread: Thread) -> None:
        def show(result: UserMarks) -> None:
            self._user_marks = result
            self._keep_marks("users", result.marks)

        former = self._user_marks
        if self.is_new("user messages", thread):
            self._user_job.run(
                session, (thread.id,), lambda task: user_marks(thread, former), show, lane="pass"
            )

    def _find_gone_pins(self, session: Session, thread: Thread, pins: tuple[str, ...]) -> None:
        def show(result: PinMarks) -> None:
            self._pin_marks = result
            self._keep_marks("pins", result.marks)

        def find(task: Task) -> PinMarks:
            return pin_marks(thread, pins, self._pin_marks)

        if self.is_new("pins", thread, pins):
            self._pin_job.run(session, (thread.id, pins), find, show, lane="pass")

    def _describe_timeline(self, state: State) -> str:
        place = "the end" if state.at is None else f"request {state.at:,}"
        if self.is_new("spoken pressure", state):
            self._spoken_pressure = spoken_pressure(reading(state))
        marks = self.plot.mark_rows.accessibleDescription()
        return f"{place} of {plural(self.plot.count, 'request')}: {self._spoken_pressure}. Marks: {marks}"

    # -- the selected range --------------------------------------------------------------------------------------------

    def _select(self, requests: range | None) -> None:
        """Show the sums of these requests; None: clear the selection."""
        if self.plot is None:
            return
        self._summing.cancel()
        self._summary = None
        self.plot.select(requests)
        self.range_panel.setVisible(requests is not None)
        session, thread, pressures = self._state.session, self._state.thread, self._state.pressures
        if requests is None or session is None or thread is None or pressures is None:
            return
        self.range_panel.show_range(requests, self.plot.canvas.ruler.times)
        misses, first, last = self._misses, requests.start, requests.stop - 1
        self._summing.run(
            lambda task: summarise_range(
                session, thread, pressures, misses, first, last, task.cancelled
            ),
            self._show_summary,
        )

    def _show_summary(self, summary: RangeSummary) -> None:
        self._summary = summary
        self.range_panel.show_summary(summary)

    def _zoom_to_selection(self) -> None:
        chosen = self.plot.frame.chosen
        if chosen is not None:
            self.plot.frame.range.show(chosen.start - 0.5, chosen.stop - 0.5)

    def _show_messages(self) -> None:
        """Go to the last request of the selection and select the first message that it added."""
        summary, thread = self._summary, self._state.thread
        if summary is not None and thread is not None:
            self.desk.show_panel("Buffer")
            go_to(self.desk.workbench, thread.id, summary.last, summary.first_message)

    def restyle(self) -> None:
        super().restyle()
        if self.plot is not None:
            self._show_legend()
