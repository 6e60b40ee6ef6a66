"""Policies side by side over the whole thread: curves, a table with the differences from what happened, the regrets.

They are driven off the GUI thread when the user says so, and each result is shown as it comes. A result is kept as long
as the thread stays, by everything it depends on: another chip or another setting runs only what is missing.
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from inspector.core.replay.regret import Regret
from inspector.core.session import Thread
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, holding, mark, row, small_button, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import plural
from inspector.gui.look.theme import Theme
from inspector.gui.navigation import go_to, stand_at
from inspector.gui.panels.compare.style import SAMPLE, sample_icon, style_of
from inspector.gui.panels.compare.table import LOST, REGRETS, CompareTable, regret_words
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.widgets.chips import flow
from inspector.gui.widgets.small import ProgressBar
from inspector.gui.widgets.table import Rows
from inspector.workbench.compare import (
    BASE,
    DEFAULT,
    NAMES,
    Comparison,
    ComparisonProgress,
    PolicyRun,
    Result,
    compare,
    comparison,
    runs,
)
from inspector.workbench.state import State

KEPT = 64
"""Results that are kept."""
TALL, WIDE = 400, 1_100
"""Pixels from which the table has the whole width, and from which the regrets have room beside the curves."""
CompareNews: TypeAlias = ComparisonProgress | tuple[PolicyRun, Result]


class CompareBar(QWidget):
    """`changed`: other policies were chosen; `run` and `cancel`: the button was pressed."""

    changed = Signal()
    run = Signal()
    cancel = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._running = False
        self.chips: dict[str, QPushButton] = {}
        chips = holding(flow(*(self._chip(name, title) for name, title in NAMES.items())))
        self.button = button("Run", lambda: (self.cancel if self._running else self.run).emit())
        row((chips, 1), self.button, of=self, margins=(13, 5, 8, 4))
        self.name_chips(brief=False)
        self.restyle()

    def _chip(self, name: str, title: str) -> QPushButton:
        chip = self.chips[name] = button("", role="chip")
        chip.setStyleSheet("padding: 3px 7px")
        chip.setCheckable(True)
        chip.setChecked(name in DEFAULT)
        chip.setIconSize(SAMPLE)
        chip.setAccessibleName(f"Compare {title}")
        chip.setEnabled(name != BASE)
        what = "the base line, always there" if name == BASE else "drive it over this thread, or not"
        chip.setToolTip(tip(f"{title}: {what}"))
        chip.toggled.connect(lambda _: self.changed.emit())
        return chip

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the policies."""
        return tuple(name for name, chip in self.chips.items() if chip.isChecked())

    def name_chips(self, brief: bool) -> None:
        """By their letters alone where there is little room, else by their titles too."""
        for name, chip in self.chips.items():
            letter, title = style_of(name).letter, NAMES[name].partition(" (")[0]
            chip.setText(letter if brief else f"{letter} {title}")

    def show_run(self, running: bool, missing: int) -> None:
        """What the button does: cancel, or run what has no result yet."""
        self._running = running
        self.button.setText("Cancel" if running else "Run")
        self.button.setEnabled(running or missing > 0)
        mark(self.button, "role", "" if running or not missing else "primary")

    def restyle(self) -> None:
        """The samples have colours."""
        for name, chip in self.chips.items():
            chip.setIcon(sample_icon(name, self._theme.colours, self.devicePixelRatioF()))


class ComparePanel(PlotPanel):
    """Shows what is there for the chosen policies; the button runs the rest."""

    TITLE: ClassVar[str] = "Compare"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._thread: Thread | None = None
        self._results: dict[PolicyRun, Result] = {}
        self._wanted: tuple[PolicyRun, ...] = ()
        self._found = Comparison()
        self._picked = ""
        self._job = LatestJob(desk.bridge)
        self._underway: ComparisonProgress | None = None
        self.bar = CompareBar(desk.theme)
        self.table = CompareTable(desk.theme)
        self.regrets: Rows[Regret] = Rows("Regretted facts", REGRETS)
        self.says = label(role="quiet")
        self.progress = ProgressBar(desk.theme)
        self.regretted = small_button("regrets", about="The regretted facts instead of the curves")
        self.regretted.setCheckable(True)
        self.copy = small_button("copy", self.table.copy)
        self.copy.setToolTip("The table, for a spreadsheet")
        self._empty = label(role="quiet", wrap=True, centred=True)
        self._below = splitter(self.regrets)
        self._split = splitter(self.table, self._below)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._split)
        foot = row((self.says, 1), self.progress, self.regretted, self.copy, margins=(13, 0, 8, 1))
        column(self.bar, (self._stack, 1), foot, of=self, gap=0)
        self.setFocusProxy(self.table)
        self.bar.changed.connect(self._show)
        self.bar.run.connect(self.run)
        self.bar.cancel.connect(self._cancel)
        self.regretted.toggled.connect(self._arrange)
        self.table.picked.connect(self._pick)
        self.regrets.chosen.connect(self._go)
        self._show()

    # -- State ---------------------------------------------------------------------------------------------------------

    def receive(self, state: State) -> None:
        """What was worked out for another thread is of no use any more, seen or not."""
        if state.thread is not self._thread:
            self._thread = state.thread
            self._cancel()
            self._results.clear()
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

    def take(self, text: str) -> None:
        """Compare now, even before the panel was seen."""
        self.show_state(self.desk.workbench.state)
        self.run()

    def _runs(self) -> tuple[PolicyRun, ...]:
        window = self.desk.workbench.end_window or self._state.window
        return runs(self._state, self.bar.chosen, window.tokens if window else None)

    # -- running -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Drive the policies that have no result yet."""
        thread = self._thread
        missing = sorted(self._found.missing, key=lambda one: one.policy != BASE)  # the others differ from it
        if thread is None or not missing or self._job.busy:
            return

        calls = self._state.session.side_calls if self._state.session is not None else ()

        def job(task: Task) -> None:
            def done(run: PolicyRun, result: Result) -> None:
                task.report((run, result))

            compare(thread, missing, done, task.report, task.cancelled, calls=calls)

        self._job.run(job, lambda _: self._stopped(), reported=self._hear, waits=True)
        self._underway = ComparisonProgress(missing[0].policy, 0, len(thread.requests), 0, len(missing))
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
        self._underway = None
        self._show()

    # -- what is shown -------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        self._wanted = self._runs()
        self._found = comparison(self._wanted, self._results)
        reports = self._found.reports
        if self._found.report(self._picked) is None:
            mine = self._state.choices.policy
            self._picked = mine if self._found.report(mine) else reports[0].policy if reports else ""
        self.bar.show_run(self._job.busy, len(self._found.missing))
        self.copy.setVisible(bool(reports))
        self._stack.setCurrentIndex(1 if reports else 0)
        self.table.show_comparison(self._found, self._picked)
        self._show_picked()

    def _pick(self, name: str) -> None:
        if name != self._picked:
            self._picked = name
            self._show_picked()

    def _show_picked(self) -> None:
        one = self._found.report(self._picked)
        regrets = one.losses.regrets if one else ()
        if regrets is not self.regrets.rows:
            self.regrets.show_rows(regrets)
            self.regrets.scrollToTop()
        if self.plot is not None:
            self.plot.show_reports(self._found.reports, self._picked)
        self.regretted.setText(f"regrets ({len(regrets):,})")
        self._arrange()
        self.say()

    def say(self, text: str = "") -> None:
        one, on = self._found.report(self._picked), self._underway
        self.progress.setVisible(on is not None)
        self.progress.show_share(on.share if on else None)
        if on is not None:
            said = f"{NAMES[on.policy]}: {on.done:,} of {plural(on.requests, 'request')} …"
        else:
            said = " ".join((regret_words(one) if one else "", self._why_not())).strip()
        self.says.setText(text or said if self._found.reports else "")
        self._empty.setText(said)

    def _why_not(self) -> str:
        """What is not there, and why."""
        thread, missing = self._state.thread, self._found.missing
        left = sum(run.policy != BASE for run in missing)
        if thread is None:
            return "Open a transcript to see how other policies would have fared on it."
        if not thread.requests:
            return "This thread has no request: there is nothing to replay."
        if self._found.impossible:
            return " ".join(f"{NAMES[name]}: {why}" for name, why in self._found.impossible)
        if missing and self._found.reports:
            return f"{plural(left, 'policy', 'policies')} not run yet."
        if missing:
            many = plural(left, "policy", "policies")
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

    def plot_class(self) -> Callable[[Theme], Any]:
        """A curve a policy."""
        from inspector.gui.panels.compare.plot import ComparePlot

        return ComparePlot

    def place_plot(self) -> None:
        """Beside the regrets."""
        self._below.insertWidget(0, self.plot)
        self._arrange()
        self.plot.show_reports(self._found.reports, self._picked)
        self.plot.overlay.show_playhead(self._state.at)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The lists stand where there is room."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Tall: the table above, curves and regrets below. Else beside each other, as many as have room."""
        tall, wide = self.height() >= TALL, self.width() >= WIDE
        self.bar.name_chips(brief=not tall)
        if tall != (self._split.orientation() == Qt.Orientation.Vertical) or not self._split.property("sized"):
            self._split.setOrientation(Qt.Orientation.Vertical if tall else Qt.Orientation.Horizontal)
            self._split.setSizes([45, 55])
            self._below.setSizes([60, 40])
            self._split.setProperty("sized", self.plot is not None)
        room = tall or wide
        self.regretted.setVisible(not room and bool(self._found.reports))
        self.regrets.setVisible(room or self.regretted.isChecked())
        if self.plot is not None:
            self.plot.setVisible(room or not self.regretted.isChecked())

    def restyle(self) -> None:
        """The plot keeps pens, the chips their samples."""
        super().restyle()
        self.bar.restyle()
        self.table.viewport().update()
