"""Policies side by side over the whole thread: curves, a table with the differences from what happened, the regrets.

They are driven off the GUI thread when the user says so, and each result is shown as it comes. A result is kept as long
as the thread stays, by everything it depends on: another chip or another setting runs only what is missing.
"""

from typing import Any, ClassVar, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from inspector.core.replay.regret import Regret
from inspector.core.session import Thread
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.gui.navigation import jump
from inspector.gui.panels.compare.bar import CompareBar
from inspector.gui.panels.compare.rows import LOST, REGRETS, told
from inspector.gui.panels.compare.table import CompareTable
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.rows import Rows
from inspector.gui.widgets.small import ProgressBar
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
)
from inspector.workbench.state import State

KEPT = 64
"""Results that are kept."""
TALL, WIDE = 400, 1_100
"""Pixels from which the table has the whole width, and from which the regrets have room beside the curves."""
Told: TypeAlias = ComparisonProgress | tuple[PolicyRun, Result]


class ComparePanel(Panel):
    """Shows what is there for the chosen policies; the button runs the rest."""

    TITLE: ClassVar[str] = "Compare"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.plots: Any = None
        self._state = State()
        self._thread: Thread | None = None
        self._results: dict[PolicyRun, Result] = {}
        self._wanted: tuple[PolicyRun, ...] = ()
        self._found = Comparison()
        self._picked = ""
        self._task: Task | None = None
        self._underway: ComparisonProgress | None = None
        self._loading = False
        self.bar = CompareBar(desk.theme)
        self.table = CompareTable(desk.theme)
        self.regrets: Rows[Regret] = Rows("Regretted facts", REGRETS)
        self.says = label(role="quiet")
        self.progress = ProgressBar(desk.theme)
        self.regretted, self.copy = _flat("regrets", "The regretted facts instead of the curves"), _flat("copy")
        self.regretted.setCheckable(True)
        self.copy.setToolTip("The table, for a spreadsheet")
        self._lay_out()
        self._connect()
        self._show()

    def _lay_out(self) -> None:
        self._below = QSplitter(Qt.Orientation.Horizontal)
        self._below.addWidget(self.regrets)
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.addWidget(self.table)
        self._split.addWidget(self._below)
        for split in (self._below, self._split):
            split.setChildrenCollapsible(False)
        self._empty = label(role="quiet")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._split)
        foot = QWidget()
        row = QHBoxLayout(foot)
        row.setContentsMargins(13, 0, 8, 1)
        for widget in (self.says, self.progress, self.regretted, self.copy):
            row.addWidget(widget, 1 if widget is self.says else 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        column.addWidget(self._stack, 1)
        column.addWidget(foot)
        self.setFocusProxy(self.table)

    def _connect(self) -> None:
        self.bar.changed.connect(self._show)
        self.bar.run.connect(self.run)
        self.bar.cancel.connect(self._cancel)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.table.copied()))
        self.regretted.toggled.connect(self._arrange)
        self.table.picked.connect(self._pick)
        self.regrets.chosen.connect(self._go)

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
            self._load()
        wanted = self._runs()
        if wanted != self._wanted or former.thread is not state.thread:
            self._show()
        if self.plots is not None and former.at != state.at:
            self.plots.show_playhead(state.at)

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
        if thread is None or not missing or self._task is not None:
            return

        calls = self._state.session.side_calls if self._state.session is not None else ()

        def job(task: Task) -> None:
            told = task.report
            compare(thread, missing, lambda run, result: told((run, result)), told, task.cancelled, calls=calls)

        self._task = self.desk.bridge.run(job, lambda _: self._cancel(), reported=self._hear, waits=True)
        self._underway = ComparisonProgress(missing[0].policy, 0, len(thread.requests), 0, len(missing))
        self._show()

    def _hear(self, news: Told) -> None:
        if isinstance(news, ComparisonProgress):
            self._underway = news
            self._say()
            return
        while len(self._results) >= KEPT:
            del self._results[next(iter(self._results))]
        self._results[news[0]] = news[1]
        self._show()

    def _cancel(self) -> None:
        """Stop; what is there stays."""
        if self._task is not None:
            self._task.cancel()
            self._task = self._underway = None
            self._show()

    # -- what is shown -------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        self._wanted = self._runs()
        self._found = comparison(self._wanted, self._results)
        reports = self._found.reports
        if self._found.report(self._picked) is None:
            mine = self._state.choices.policy
            self._picked = mine if self._found.report(mine) else reports[0].policy if reports else ""
        self.bar.show_run(self._task is not None, len(self._found.missing))
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
        if self.plots is not None:
            self.plots.show_reports(self._found.reports, self._picked)
        self.regretted.setText(f"regrets ({len(regrets):,})")
        self._arrange()
        self._say()

    def _say(self, text: str = "") -> None:
        one, on = self._found.report(self._picked), self._underway
        self.progress.setVisible(on is not None)
        self.progress.show_share(on.share if on else None)
        if on is not None:
            said = f"{NAMES[on.policy]}: {on.done:,} of {plural(on.requests, 'request')} …"
        else:
            said = " ".join((told(one) if one else "", self._why_not())).strip()
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
            thread = self._state.thread
            at = one.at.before_request
            self.desk.workbench.move(at if thread is not None and at < len(thread.requests) else None)
        else:
            jump(self.desk.workbench, self._state.thread_id, one.needed_by, one.message)

    # -- the plots and the room ----------------------------------------------------------------------------------------

    def _load(self) -> None:
        if not self._loading:
            self._loading = True
            self.desk.bridge.run(lambda task: _load(), self._loaded)

    def _loaded(self, make: Any) -> None:
        self.plots = make(self.desk.theme)
        self.plots.moved.connect(self.desk.workbench.move)
        self.plots.hovered.connect(self._say)
        self._below.insertWidget(0, self.plots)
        self._arrange()
        self.plots.show_reports(self._found.reports, self._picked)
        self.plots.show_playhead(self._state.at)

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
            self._split.setProperty("sized", self.plots is not None)
        room = tall or wide
        self.regretted.setVisible(not room and bool(self._found.reports))
        self.regrets.setVisible(room or self.regretted.isChecked())
        if self.plots is not None:
            self.plots.setVisible(room or not self.regretted.isChecked())

    def restyle(self) -> None:
        """The plot keeps pens, the chips their samples."""
        self.bar.restyle()
        self.table.viewport().update()
        if self.plots is not None:
            self.plots.restyle()


def _flat(words: str, what: str = "") -> QToolButton:
    made = QToolButton()
    made.setText(words)
    made.setToolTip(what)
    made.setProperty("role", "flat")
    return made


def _load() -> Any:
    from inspector.gui.panels.compare.plots import ComparePlots  # pyqtgraph and numpy: only when looked at

    return ComparePlots
