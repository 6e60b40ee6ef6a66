"""Policies side by side over the whole thread: curves, a table of differences from the recorded run, and the lost facts
that were needed again. Or one policy under several settings, a sweep.

Policies run off the GUI thread. They start automatically if all chosen policies together are forecast to take at most
three seconds (`inspector.workbench.pace`). If not, the user starts them with the button, and a sentence says how long
they take. Results are kept while the thread stays the same, so choosing one more policy runs only that policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QStackedLayout, QWidget

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import harness_of
from inspector.core.replay.regret import Regret
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, holding, pages, row, small_button, splitter
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import CHIP_GAP, GAP, INSET, LIST_FOOT, PAGE_HEAD
from inspector.gui.navigation import go_to, stand_at
from inspector.gui.panels.compare.bars import CompareBar, SweepBar
from inspector.gui.panels.compare.sessions_page import SessionsPage
from inspector.gui.panels.compare.table import (
    LOST,
    REGRETS,
    CompareTable,
    PolicyRow,
    infeasible_words,
    no_regret_words,
    regret_words,
)
from inspector.gui.panels.compare.trade_off import TradeOffChart
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.widgets.segments import Segments
from inspector.gui.widgets.shared_height import SharedHeight
from inspector.gui.widgets.small import Captioned, Elided, ProgressBar
from inspector.gui.widgets.table import Rows
from inspector.workbench.compare import (
    BASE,
    NAMES,
    Comparison,
    ComparisonProgress,
    PolicyRun,
    Result,
    compare,
    comparison,
    runs,
    sweep_runs,
    sweepable,
)
from inspector.workbench.pace import Pace, duration_words
from inspector.workbench.state import State

KEPT = 128
MOST_TABLE = 0.6
"""Share of the height that the table of policies gets at most."""
TALL, WIDE = 400, 1_100
"""Height in pixels from which the table has the whole width, and width in pixels from which the facts needed again
fit beside the curves."""
BOTH = 1_300
"""Width in pixels from which the curves and the scatter are shown side by side."""
CURVES, TRADE_OFF = "Curves", "Cost and needs"
NAMED = 90
"""Width in digits from which the chips show the names of the policies, not only their letters."""


@dataclass(frozen=True, slots=True)
class RunUnderway:
    """How far a run is, and the processor time in seconds that it has taken so far."""

    progress: ComparisonProgress
    seconds: float


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended, and its report."""

    run: PolicyRun
    result: Result


class ComparePanel(PlotPanel):
    """Shows the results of the chosen policies. Runs those without a result automatically or on a button press."""

    TITLE: ClassVar[str] = "Compare"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._results: dict[PolicyRun, Result] = {}
        self._wanted: tuple[PolicyRun, ...] = ()
        self._found = Comparison()
        self._picked = self._refused = ""
        self._job = LatestJob(desk.bridge)
        self._underway: ComparisonProgress | None = None
        self._unasked = False
        """Were the current runs started automatically?"""
        self._driven: Sequence[PolicyRun] = ()
        self._pace = Pace()
        self._stopped_by_user: tuple[PolicyRun, ...] = ()
        """The runs that the user cancelled. They start again only when the user presses the button."""
        self.bar = CompareBar(desk.theme)
        self.sweep = SweepBar()
        self.sweeping = button(
            "sweep", about="Vary the settings of one policy", role="chip", checkable=True
        )
        self.over = button(
            "over sessions",
            about="Compare the chosen policies over several sessions, with intervals",
            role="chip",
            checkable=True,
        )
        self.sessions = SessionsPage(
            desk, lambda: [name for name in self.bar.chosen if name != BASE]
        )
        self.table = CompareTable(desk.theme)
        self.regrets: Rows[Regret] = Rows("Facts needed again", REGRETS)
        self.regrets.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # paths begin alike
        self.says = Elided("quiet")
        self.progress = ProgressBar(desk.theme)
        about = "List the facts that were needed again instead of the curves"
        self.regretted = small_button("needed again", about=about, checkable=True)
        self.copy = small_button("copy", self.table.copy, about="Copy the table to a spreadsheet")
        self._empty = label(role="quiet", wrap=True, centred=True)
        self.trade_off, self.view = self._make_trade_off()
        self._stack = self._lay_out()
        self.setFocusProxy(self.table)
        self._connect_controls()
        self._turn()

    def _lay_out(self) -> QStackedLayout:
        self._curves = Captioned("TOKENS OF EVERY REQUEST")
        self._scatter = Captioned("COST AND FACTS NEEDED AGAIN", self.trade_off)
        self._needed = Captioned("", self.regrets)
        self._below = splitter(self._curves, self._scatter, self._needed)
        self._split = splitter(self.table, self._below)
        self._sharing = SharedHeight(self._split, self.table, MOST_TABLE)
        page = QWidget()
        stack = pages(page, self._empty, self._split, self.sessions)
        controls = (self.progress, self.view, self.regretted, self.copy)
        self._foot = holding(row((self.says, 1), *controls, margins=LIST_FOOT))
        self._title = label(role="heading")
        self.front = Elided("quiet")
        self._head = holding(row(self._title, (self.front, 1), margins=PAGE_HEAD, gap=GAP))
        top = row(INSET, self.sweeping, CHIP_GAP, self.over, (self.bar, 1), (self.sweep, 1))
        column(self._head, top, (page, 1), self._foot, of=self, gap=0)
        return stack

    def _connect_controls(self) -> None:
        self.sweeping.toggled.connect(lambda is_on: self._turn(self.over if is_on else None))
        self.over.toggled.connect(lambda is_on: self._turn(self.sweeping if is_on else None))
        for bar in (self.bar, self.sweep):
            bar.changed.connect(self._choose)
            bar.run.connect(self.run)
            bar.cancel.connect(self._stop_for_user)
        self.regretted.toggled.connect(self.fit)
        self.table.picked.connect(self._pick)
        self.table.opened.connect(self._use_settings)
        self.regrets.chosen.connect(self._go_to_regret)

    def _make_trade_off(self) -> tuple[TradeOffChart, Segments]:
        """Return the scatter, and the switch between it and the curves."""
        chart = TradeOffChart(self.desk.theme)
        view = Segments("Which chart is shown", (CURVES, TRADE_OFF))
        chart.picked.connect(self._pick_row)
        chart.hovered.connect(self.say)
        view.chosen.connect(lambda _: self.fit())
        return chart, view

    def receive(self, state: State) -> None:
        """Discard the results of the previous thread if the thread has changed, even while the panel is hidden."""
        if self.is_new("thread", state.thread):
            self._cancel()
            self._results.clear()
            self._pace = Pace()
            own = harness_of(state.session) if state.session is not None else None
            # For the same harness, keep what the user chose.
            if own is not None and self.is_new("harness", own):
                self.bar.choose_own(own)
                self.sweep.choose_policy(own)
        super().receive(state)

    def show_state(self, state: State) -> None:
        """Show the runs again if the thread, the window or the settings have changed, and move the playhead."""
        former = self._state
        self._state = state
        if state.thread is not None:
            self.load_plot()
        runs = self._runs()
        if runs != self._wanted or former.thread is not state.thread:
            self._show()
        if self.plot is not None and former.at != state.at:
            self.plot.overlay.show_playhead(state.at)
        self._fill()

    def take(self, text: str) -> None:
        """Start the comparison now, even if the panel has never been visible."""
        self.show_state(self.desk.workbench.state)
        self.run()

    def _turn(self, other: QAbstractButton | None = None) -> None:
        """Show the page and the bar that the two buttons choose. `other` is unchecked: a sweep covers one session."""
        if other is not None and other.isChecked():
            other.setChecked(False)  # its signal calls this method again
            return
        self._cancel()
        session = self._state.session
        if self.over.isChecked() and session is not None and Path(session.path).is_file():
            self.sessions.add_path(str(Path(session.path).absolute()))
        self.bar.button.setVisible(not self.over.isChecked())
        self._foot.setVisible(not self.over.isChecked())
        self.front.setVisible(not self.over.isChecked())
        place = "over several sessions" if self.over.isChecked() else "on this session"
        self._title.setText(f"Policies {place}")
        self.bar.setVisible(not self.sweeping.isChecked())
        self.sweep.setVisible(self.sweeping.isChecked())
        self._show()

    def _runs(self) -> tuple[PolicyRun, ...]:
        end_window = self.desk.workbench.end_window or self._state.window
        window = end_window.tokens if end_window else None
        self._refused = ""
        if not self.sweeping.isChecked():
            return runs(self._state, self.bar.chosen, window)
        try:
            self.sweep.offer(sweepable(self._state, self.sweep.policy, window))
            return sweep_runs(
                self._state, name=self.sweep.policy, grid=self.sweep.grid, window=window
            )
        except InspectorError as failure:
            self._refused = str(failure)
            return ()

    @property
    def is_complete(self) -> bool:
        """Does every chosen policy have a result?"""
        return bool(self._wanted) and not self._found.missing

    # -- running -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the policies that have no result yet."""
        missing = self._missing_runs()
        if missing and (self._unasked or not self._job.busy):
            self._start_replays(missing)

    def _missing_runs(self) -> list[PolicyRun]:
        """Return the runs without a result, the recorded run first, because the others are compared with it."""
        return sorted(self._found.missing, key=lambda run: run.policy != BASE)

    def _choose(self) -> None:
        self._show()
        self._fill()

    def _fill(self) -> None:
        """Start the missing runs automatically if they are fast enough; if not, at least the recorded run."""
        if self._unasked and not set(self._driven) <= set(self._wanted):
            self._cancel()  # the window or a setting has changed since
        missing = self._missing_runs()
        is_idle = not self._job.busy and self.seen and not self.over.isChecked()
        if not missing or not is_idle or self._wanted == self._stopped_by_user:
            return
        base = [run for run in missing if run.policy == BASE]
        if not self.sweeping.isChecked() and self._pace.fits(_names(missing)):
            self._start_replays(missing, unasked=True)
        elif base and self._pace.fits(_names(base)):
            self._start_replays(base, unasked=True)

    def _start_replays(self, missing: Sequence[PolicyRun], unasked: bool = False) -> None:
        thread = self._state.thread
        if thread is None:
            return
        calls = self._state.session.side_calls if self._state.session is not None else ()

        def job(task: Task) -> None:
            began = thread_time()  # not the clock: other jobs share the processor

            def arrived(run: PolicyRun, result: Result) -> None:
                nonlocal began
                task.report(FinishedRun(run, result))
                began = thread_time()

            def underway(progress: ComparisonProgress) -> None:
                task.report(RunUnderway(progress, thread_time() - began))

            compare(thread, missing, arrived, underway, task.cancelled, calls=calls)

        def ended(_: None) -> None:
            self._show_cancelled_replay()
            self._fill()

        self._stopped_by_user = ()
        self._job.run(job, ended, reported=self._take_news, lane="wait")
        self._underway = ComparisonProgress(
            missing[0].policy, done=0, requests=len(thread.requests), before=0, runs=len(missing)
        )
        self._unasked = unasked
        self._driven = missing
        self._show()

    def _take_news(self, news: RunUnderway | FinishedRun) -> None:
        if isinstance(news, RunUnderway):
            self._underway = news.progress
            self._pace.note(news.progress, news.seconds)
            left = [run for run in self._driven if run not in self._results]
            if self._unasked and not self._pace.fits(_names(left), has_begun=True):
                self._cancel()
                self._fill()
            else:
                self.say()
            return
        while len(self._results) >= KEPT:
            del self._results[next(iter(self._results))]
        self._results[news.run] = news.result
        self._show()

    def _stop_for_user(self) -> None:
        self._stopped_by_user = self._wanted
        self._cancel()

    def _cancel(self) -> None:
        """Cancel the running job. The results that it has delivered are kept."""
        if self._job.busy:
            self._job.cancel()
            self._show_cancelled_replay()

    def _show_cancelled_replay(self) -> None:
        self._underway = None
        self._unasked = False
        self._show()

    def _show(self) -> None:
        self._wanted = self._runs()
        self._found = comparison(self._wanted, self._results)
        reports = self._found.reports
        if self._found.report(self._picked) is None:
            mine = self._state.choices.policy
            self._picked = reports[0].policy if reports else ""
            if self._found.report(mine):
                self._picked = mine
        self._stack.setCurrentIndex(2 if self.over.isChecked() else bool(reports))
        for bar in (self.bar, self.sweep):
            if bar.button.hasFocus() and not self._found.missing:
                self.table.setFocus()  # the button is about to be disabled, which would move the focus anywhere
            left = sum(missing_run.policy != BASE for missing_run in self._found.missing)
            runs_all = self._job.busy and not (self._unasked and _names(self._driven) == [BASE])
            bar.show_run(runs_all, len(self._found.missing), left)
        self.copy.setVisible(bool(reports))
        self.table.show_comparison(self._found, self._picked)
        self._show_picked()

    def _pick(self, name: str) -> None:
        if name != self._picked:
            self._picked = name
            self._show_picked()

    def _pick_row(self, name: str) -> None:
        """Select the row of a policy that was clicked in the scatter."""
        self.table.show_comparison(self._found, name)
        self._pick(name)

    def _use_settings(self, row: int) -> None:
        """Choose the settings of a point of the sweep for the next steps."""
        name = self.table.rows[row].name
        for run in self._wanted:
            if run.number and run.name == name:
                self.desk.workbench.stepping.choose(policy=run.policy, settings=run.point)
                self.desk.show_panel("What if")
                return

    def _show_picked(self) -> None:
        report = self._found.report(self._picked)
        regrets = report.losses.regrets if report else ()
        self.regrets.empty = no_regret_words(report) if report else ""
        if regrets is not self.regrets.rows:
            self.regrets.show_rows(regrets)
            self.regrets.scrollToTop()
        if self.plot is not None:
            self.plot.show_reports(self._found.reports, self._picked)
        self.trade_off.show_reports(self._found.reports, self._picked)
        self.regretted.setText(f"needed again ({len(regrets):,})")
        self._needed.caption.show_text(f"NEEDED AGAIN: {report.title.upper()}" if report else "")
        self.front.show_text(self._front_words())
        self.fit()
        self.say()

    def say(self, text: str = "") -> None:
        report = self._found.report(self._picked)
        on = self._underway
        self.progress.setVisible(on is not None)
        self.progress.show_share(on.share if on else None)
        if on is not None:
            summary = f"{NAMES[on.policy]}: {on.done:,} of {plural(on.requests, 'request')} …"
        else:
            infeasible = infeasible_words(PolicyRow(report, self._found)) if report else ""
            sentences = (
                infeasible,
                self._why_not(),
                regret_words(report) if report else "",
            )
            summary = " ".join(filter(None, sentences))
        self.says.show_text(text or summary if self._found.reports else "")
        self._empty.setText(summary)

    def _front_words(self) -> str:
        """Return a sentence that names the policies which no other policy beats on both cost and needs."""
        front = self.trade_off.front
        if not front or self._found.missing or len(self.trade_off.standings) < 2:
            return ""
        names = [NAMES.get(standing.policy, standing.policy) for standing in front]
        if len(front) == 1:
            return f"Best: {names[0]} is the cheapest feasible policy and needs the fewest facts again."
        return f"No policy beats these on both cost and facts needed again: {', '.join(names)}."

    def _why_not(self) -> str:
        thread = self._state.thread
        missing = self._found.missing
        left = sum(run.policy != BASE for run in missing)
        if thread is None:
            return "Open a transcript to see how other policies would have fared on it."
        if not thread.requests:
            return "This thread has no request: there is nothing to replay."
        if self._refused:
            return self._refused
        if self._found.impossible:
            return " ".join(
                f"{NAMES.get(name, name)}: {why}" for name, why in self._found.impossible
            )
        swept = f"{plural(left, 'setting')} of {NAMES[self.sweep.policy]}"
        many = swept if self.sweeping.isChecked() else plural(left, "policy", "policies")
        if not missing:
            return ""
        seconds = self._pace.forecast(_names(missing))
        time = f" This takes {duration_words(seconds)}." if seconds is not None else ""
        if self._found.reports:
            return f"Not replayed yet: {many}. Press Run.{time}"
        return f"Press Run to replay {many} over {plural(len(thread.requests), 'request')}, offline.{time}"

    def _go_to_regret(self, row: int, column: int) -> None:
        """Go to the request and message that needed a fact or, in column `LOST`, to the compaction that lost it."""
        regret = self.regrets.rows[row]
        if column == LOST:
            stand_at(self.desk.workbench, regret.at.before_request)
        else:
            go_to(self.desk.workbench, self._state.thread_id, regret.needed_by, regret.message)

    # -- the plots and the room ----------------------------------------------------------------------------------------

    def make_plot(self) -> Any:
        from inspector.gui.panels.compare.plot import ComparePlot

        return ComparePlot(self.desk.theme)

    def place_plot(self) -> None:
        self._curves.hold(self.plot)
        self.fit()
        self.plot.show_reports(self._found.reports, self._picked)
        self.plot.overlay.show_playhead(self._state.at)

    def fit(self) -> None:
        """Put the table above the plots in a tall panel, else beside them, and show as many of the plots as fit."""
        is_tall = self.height() >= TALL
        digit = self.fontMetrics().horizontalAdvance("0")
        self.bar.name_chips(brief=not is_tall or self.width() < NAMED * digit)
        self._head.setVisible(is_tall)
        self._fit_split(Qt.Orientation.Vertical if is_tall else Qt.Orientation.Horizontal)
        self._fit_plots(is_tall or self.width() >= WIDE)

    def _fit_split(self, way: Qt.Orientation) -> None:
        """Divide table and plots in a direction. Set their sizes when the direction changes or the plot is loaded."""
        if way != self._split.orientation() or not self._split.property("sized"):
            self._split.setOrientation(way)
            self._split.setSizes([5_300, 4_700])
            self._below.setSizes([50, 50, 50])
            self._split.setProperty("sized", self.plot is not None)
        self._sharing.fit_soon()

    def _fit_plots(self, has_room: bool) -> None:
        """Show both plots and the facts needed again if they fit, else only what the user switched to."""
        has_reports = bool(self._found.reports)
        self.regretted.setVisible(not has_room and has_reports)
        self._needed.setVisible(has_room or self.regretted.isChecked())
        shows_plots = has_room or not self.regretted.isChecked()
        shows_both = has_room and self.width() >= BOTH
        self.view.setVisible(shows_plots and not shows_both and has_reports)
        self._scatter.setVisible(shows_both or (shows_plots and self.view.word == TRADE_OFF))
        self._curves.setVisible(shows_both or (shows_plots and self.view.word == CURVES))


def _names(policy_runs: Sequence[PolicyRun]) -> list[str]:
    return [run.policy for run in policy_runs]
