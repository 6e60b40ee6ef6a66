"""Policies side by side over the whole thread: curves, a table with the differences from what happened, the regrets. Or
one policy under several settings, a sweep. Policies are driven, off the GUI thread, when the user says so; each result
is kept as long as the thread stays, by all that it depends on, so that another chip runs only what is missing."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import harness_of
from inspector.core.replay.regret import Regret
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, pages, row, small_button, splitter
from inspector.gui.look.labels import label
from inspector.gui.navigation import go_to, stand_at
from inspector.gui.panels.compare.bars import CompareBar, SweepBar
from inspector.gui.panels.compare.table import LOST, REGRETS, CompareTable, nothing_regretted, regret_words
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.widgets.small import Elided, ProgressBar
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
from inspector.workbench.state import State

KEPT = 128
BY_ITSELF = 2_000
"""Requests up to which what happened is worked out unasked: in about a second."""
TALL, WIDE = 400, 1_100
"""Pixels from which the table has the whole width, and from which the regrets have room beside the curves."""
NAMED = 90
"""Figures of width from which the policies are chosen by their names."""
CompareNews: TypeAlias = ComparisonProgress | tuple[PolicyRun, Result]


class ComparePanel(PlotPanel):
    """Shows what is there for the chosen policies; the button runs the rest."""

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
        """What is under way is only what happened, and nobody asked for it."""
        self.bar, self.sweep = CompareBar(desk.theme), SweepBar()
        self.sweeping = button("sweep", about="Vary the settings of one policy", role="chip", checkable=True)
        self.table = CompareTable(desk.theme)
        self.regrets: Rows[Regret] = Rows("Regretted facts", REGRETS)
        self.regrets.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # paths begin alike
        self.says = Elided("quiet")
        self.progress = ProgressBar(desk.theme)
        about = "The regretted facts instead of the curves"
        self.regretted = small_button("regrets", about=about, checkable=True)
        self.copy = small_button("copy", self.table.copy, about="The table, for a spreadsheet")
        self._empty = label(role="quiet", wrap=True, centred=True)
        self._below = splitter(self.regrets)
        self._split = splitter(self.table, self._below)
        page = QWidget()
        self._stack = pages(page, self._empty, self._split)
        foot = row((self.says, 1), self.progress, self.regretted, self.copy, margins=(13, 0, 8, 1))
        top = row(13, self.sweeping, (self.bar, 1), (self.sweep, 1))
        column(top, (page, 1), foot, of=self, gap=0)
        self.setFocusProxy(self.table)
        self.sweeping.toggled.connect(lambda _: self._turn())
        for bar in (self.bar, self.sweep):
            bar.changed.connect(self._show)
            bar.run.connect(self.run)
            bar.cancel.connect(self._cancel)
        self.regretted.toggled.connect(self.fit)
        self.table.picked.connect(self._pick)
        self.table.opened.connect(self._use)
        self.regrets.chosen.connect(self._go)
        self._turn()

    def receive(self, state: State) -> None:
        """What was worked out for another thread is of no use any more, seen or not."""
        if self.is_new("thread", state.thread):
            self._cancel()
            self._results.clear()
            own = harness_of(state.session) if state.session is not None else None
            if own is not None and self.is_new("harness", own):  # else what the user chose since stays
                self.bar.choose_own(own)
                self.sweep.choose_policy(own)
        super().receive(state)

    def show_state(self, state: State) -> None:
        """Other runs where the thread, the window or the settings are others; the playhead always."""
        former, self._state = self._state, state
        if state.thread is not None:
            self.load_plot()
        wanted = self._runs()
        if wanted != self._wanted or former.thread is not state.thread:
            self._show()
        if self.plot is not None and former.at != state.at:
            self.plot.overlay.show_playhead(state.at)
        self._see_what_happened()

    def take(self, text: str) -> None:
        """Compare now, even before the panel was seen."""
        self.show_state(self.desk.workbench.state)
        self.run()

    def _turn(self) -> None:
        self._cancel()
        for bar, on in ((self.bar, not self.sweeping.isChecked()), (self.sweep, self.sweeping.isChecked())):
            bar.setVisible(on)
        self._show()

    def _runs(self) -> tuple[PolicyRun, ...]:
        known = self.desk.workbench.end_window or self._state.window
        window = known.tokens if known else None
        self._refused = ""
        if not self.sweeping.isChecked():
            return runs(self._state, self.bar.chosen, window)
        try:
            self.sweep.offer(sweepable(self._state, self.sweep.policy, window))
            return sweep_runs(self._state, self.sweep.policy, self.sweep.grid, window)
        except InspectorError as failure:
            self._refused = str(failure)
            return ()

    # -- running -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Drive the policies that have no result yet."""
        missing = sorted(self._found.missing, key=lambda one: one.policy != BASE)  # the others differ from it
        if missing and (self._unasked or not self._job.busy):
            self._drive(missing)

    def _see_what_happened(self) -> None:
        thread, base = self._state.thread, [one for one in self._found.missing if one.policy == BASE]
        if base and not self._job.busy and thread is not None and len(thread.requests) <= BY_ITSELF:
            self._drive(base, unasked=True)

    def _drive(self, missing: Sequence[PolicyRun], unasked: bool = False) -> None:
        thread = self._state.thread
        if thread is None:
            return
        calls = self._state.session.side_calls if self._state.session is not None else ()

        def job(task: Task) -> None:
            compare(thread, missing, lambda *found: task.report(found), task.report, task.cancelled, calls=calls)

        def ended(_: None) -> None:
            self._stopped()
            self._see_what_happened()  # under another window, if that has changed

        self._job.run(job, ended, reported=self._hear, waits=True)
        self._underway = ComparisonProgress(missing[0].policy, 0, len(thread.requests), 0, len(missing))
        self._unasked = unasked
        self._show()

    def _hear(self, news: CompareNews) -> None:
        if isinstance(news, ComparisonProgress):
            self._underway = news
            self.say()
            return
        while len(self._results) >= KEPT:
            del self._results[next(iter(self._results))]
        self._results[news[0]] = news[1]
        self._show()

    def _cancel(self) -> None:
        """Stop; what is there stays."""
        if self._job.busy:
            self._job.cancel()
            self._stopped()

    def _stopped(self) -> None:
        self._underway, self._unasked = None, False
        self._show()

    def _show(self) -> None:
        self._wanted = self._runs()
        self._found = comparison(self._wanted, self._results)
        reports = self._found.reports
        if self._found.report(self._picked) is None:
            mine = self._state.choices.policy
            self._picked = mine if self._found.report(mine) else reports[0].policy if reports else ""
        self._stack.setCurrentIndex(1 if reports else 0)
        for bar in (self.bar, self.sweep):
            if bar.button.hasFocus() and not self._found.missing:
                self.table.setFocus()  # a button that rests hands the focus on, to whoever comes next
            left = sum(one.policy != BASE for one in self._found.missing)
            bar.show_run(self._job.busy and not self._unasked, len(self._found.missing), left)
        self.copy.setVisible(bool(reports))
        self.table.show_comparison(self._found, self._picked)
        self._show_picked()

    def _pick(self, name: str) -> None:
        if name != self._picked:
            self._picked = name
            self._show_picked()

    def _use(self, row: int) -> None:
        """Go on with the settings of that point of the sweep."""
        run = next((one for one in self._wanted if one.number and one.name == self.table.rows[row].name), None)
        if run is not None:
            self.desk.workbench.stepping.choose(policy=run.policy, settings=run.point)
            self.desk.show_panel("What if")

    def _show_picked(self) -> None:
        one = self._found.report(self._picked)
        regrets = one.losses.regrets if one else ()
        self.regrets.empty = nothing_regretted(one) if one else ""
        if regrets is not self.regrets.rows:
            self.regrets.show_rows(regrets)
            self.regrets.scrollToTop()
        if self.plot is not None:
            self.plot.show_reports(self._found.reports, self._picked)
        self.regretted.setText(f"regrets ({len(regrets):,})")
        self.fit()
        self.say()

    def say(self, text: str = "") -> None:
        one, on = self._found.report(self._picked), self._underway
        self.progress.setVisible(on is not None)
        self.progress.show_share(on.share if on else None)
        if on is not None:
            said = f"{NAMES[on.policy]}: {on.done:,} of {plural(on.requests, 'request')} …"
        else:
            said = " ".join((regret_words(one) if one else "", self._why_not())).strip()
        self.says.show_text(text or said if self._found.reports else "")
        self._empty.setText(said)

    def _why_not(self) -> str:
        thread, missing = self._state.thread, self._found.missing
        left = sum(run.policy != BASE for run in missing)
        if thread is None:
            return "Open a transcript to see how other policies would have fared on it."
        if not thread.requests:
            return "This thread has no request: there is nothing to replay."
        if self._refused:
            return self._refused
        if self._found.impossible:
            return " ".join(f"{NAMES.get(name, name)}: {why}" for name, why in self._found.impossible)
        swept = f"{plural(left, 'setting')} of {NAMES[self.sweep.policy]}"
        many = swept if self.sweeping.isChecked() else plural(left, "policy", "policies")
        if missing and self._found.reports:
            return f"{many} not run yet."
        if missing:
            return f"Run drives {many} over the {plural(len(thread.requests), 'request')} of this thread, offline."
        return ""

    def _go(self, row: int, column: int) -> None:
        """To the request that needed the fact, with the message that did; from the column that says so, to the loss."""
        one = self.regrets.rows[row]
        if column == LOST:
            stand_at(self.desk.workbench, one.at.before_request)
        else:
            go_to(self.desk.workbench, self._state.thread_id, one.needed_by, one.message)

    # -- the plots and the room ----------------------------------------------------------------------------------------

    def make_plot(self) -> Any:
        from inspector.gui.panels.compare.plot import ComparePlot

        return ComparePlot(self.desk.theme)

    def place_plot(self) -> None:
        self._below.insertWidget(0, self.plot)
        self.fit()
        self.plot.show_reports(self._found.reports, self._picked)
        self.plot.overlay.show_playhead(self._state.at)

    def fit(self) -> None:
        """Tall: the table above, curves and regrets below. Else beside each other, as many as have room."""
        tall, wide = self.height() >= TALL, self.width() >= WIDE
        self.bar.name_chips(brief=not tall or self.width() < NAMED * self.fontMetrics().horizontalAdvance("0"))
        if tall != (self._split.orientation() == Qt.Orientation.Vertical) or not self._split.property("sized"):
            self._split.setOrientation(Qt.Orientation.Vertical if tall else Qt.Orientation.Horizontal)
            self._split.setSizes([5_300, 4_700])
            self._below.setSizes([50, 50])
            self._split.setProperty("sized", self.plot is not None)
        room = tall or wide
        self.regretted.setVisible(not room and bool(self._found.reports))
        self.regrets.setVisible(room or self.regretted.isChecked())
        if self.plot is not None:
            self.plot.setVisible(room or not self.regretted.isChecked())
