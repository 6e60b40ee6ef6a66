"""How good the estimators are on this thread: each against what the provider reported, one of them plotted. The quick
ones are worked out at once, the tokenizers only when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import Qt

from inspector.core.tokens.estimators import ESTIMATORS, estimator
from inspector.core.tokens.fit import Fit
from inspector.core.words import per_cent, plural
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, holding, pages, row, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.panels.calibration.fits import EstimatorFit, fit_estimator
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class EstimatorRow:
    """An estimator of the table; `fit` None = not worked out yet."""

    name: str
    fit: Fit | None
    used: bool
    """Is it the one whose numbers the window shows?"""
    working: bool = False


COLUMNS: Sequence[Column[EstimatorRow]] = (
    Column("estimator", lambda row: f"{'● ' if row.used else ''}{row.name}", 17),
    Column("next call", lambda row: _next_call(row), 7, figures=True),
    Column("p90", lambda row: _share(row.fit.prediction.p90 if row.fit else None, 2), 7, figures=True),
    Column("compacted", lambda row: _share(row.fit.prediction.after_median if row.fit else None), 9, figures=True),
    Column("R²", lambda row: f"{row.fit.r2:.4f}" if row.fit and row.fit.r2 is not None else "", 6, figures=True),
    Column("overhead", lambda row: grouped(round(row.fit.line.overhead)) if row.fit and row.fit.line else "", 8, True),
    Column("slope", lambda row: f"{row.fit.line.slope:.3f}" if row.fit and row.fit.line else "", 5, figures=True),
    Column("factor", lambda row: _share(row.fit.median_abs_error if row.fit else None), 7, figures=True),
)
_TABLE, _ABOUT = 88, 42
"""Figures of room that the table takes, and at least the words about its columns."""
TALL = 420
"""Pixels from which on the plots lie below the table, not beside it."""
NOTHING = "Open a transcript to compare the estimators with what the provider reported."
NO_USAGE = "This thread reports no usage: there is nothing to compare the estimators with."
ABOUT = (
    "next call, p90: error of the number that is shown before the provider reports it, median and 90th percentile.\n"
    "compacted: its median right after a recorded compaction.\nR², overhead, slope: of the straight line "
    "reported = overhead + slope x estimated.\nfactor: median error of a factor alone, without the part that the file "
    "does not hold.\nEnter or a double click: the window uses this estimator."
)


class CalibrationPanel(PlotPanel):
    """A table of the estimators and three plots of the chosen one. Enter: use it in the window."""

    TITLE: ClassVar[str] = "Calibration"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._plotted = ""
        self._found: dict[str, EstimatorFit] = {}
        self._tasks: dict[str, Task] = {}
        self.table: Rows[EstimatorRow] = Rows("Estimators", COLUMNS)
        self.table.setSelectionMode(Rows.SelectionMode.SingleSelection)
        self.table.chosen.connect(lambda row, _: self._plot(self.table.rows[row].name))
        self.table.opened.connect(lambda row: desk.workbench.set_estimator(self.table.rows[row].name))
        self.table.setToolTip(tip(ABOUT))
        self.says = label(role="quiet", wrap=True)
        self.says.setToolTip("new …: what the provider reported for each estimated token of that class")
        self.tokenizers = button("Count with tokenizers", self._count, about="The rows of –: it takes a while")
        self.about = label(ABOUT, role="small", wrap=True)
        self._empty = label(role="quiet", wrap=True, centred=True)
        foot = row((self.says, 1), self.tokenizers, margins=(13, 0, 8, 0))
        self._beside = holding(column(self.about, ..., margins=(0, 6, 12, 0)))
        table = row((self.table, 1), self._beside, gap=9)
        self._split = splitter(holding(column((table, 1), foot, margins=(0, 0, 0, 4), gap=2)))
        self._stack = pages(self, self._empty, self._split)

    def show_state(self, state: State) -> None:
        """Fits of the thread where it is another; the playhead always."""
        former, self._state = self._state, state
        thread = state.thread
        if thread is None or not any(request.usage and request.usage.prompt for request in thread.requests):
            self._empty.setText(NOTHING if thread is None else NO_USAGE)
            self._stack.setCurrentIndex(0)
            return
        self._stack.setCurrentIndex(1)
        self.load_plot()
        if self.is_new("fits", thread, len(thread.requests)):
            self._begin()
        elif former.estimator != state.estimator:
            self._plot(state.estimator)
        if self.plot is not None:
            self.plot.show_playhead(state.at)

    def _begin(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._found, self._tasks = {}, {}
        for name in ESTIMATORS:
            if estimator(name).kind == "estimated" or name == self._state.estimator:
                self._work_out(name)
        self._plot(self._state.estimator)

    def _count(self) -> None:
        for name in ESTIMATORS:
            if name not in self._tasks:
                self._work_out(name)
        self._show()

    def _work_out(self, name: str) -> None:
        thread = self._state.thread
        assert thread is not None

        def done(found: EstimatorFit) -> None:
            self._found[name] = found
            self._show()
            if name == self._plotted:
                self._plot(name)

        self._tasks[name] = self.desk.bridge.run(lambda task: fit_estimator(thread, name, task), done)

    def _plot(self, name: str) -> None:
        self._plotted = name
        if name not in self._tasks and self._state.thread is not None:
            self._work_out(name)
        self._show()
        if self.plot is not None:
            self._show_plot()

    def _show(self) -> None:
        rows = [
            EstimatorRow(name, found.fit if found else None, name == self._state.estimator, name in self._tasks)
            for name, found in ((name, self._found.get(name)) for name in ESTIMATORS)
        ]
        self.table.show_rows(rows)
        self.table.selectRow(next(n for n, row in enumerate(rows) if row.name == self._plotted))
        self.tokenizers.setVisible(len(self._tasks) < len(rows))
        self.say("")

    # -- the plots ----------------------------------------------------------------------------------------------------

    def make_plot(self) -> Any:
        from inspector.gui.panels.calibration.plot import CalibrationPlot

        return CalibrationPlot(self.desk.theme)

    def place_plot(self) -> None:
        """Beside or below the table, which keeps the room that it needs."""
        self._split.addWidget(self.plot)
        self._split.setStretchFactor(1, 1)
        self._share_out()
        self._show_plot()
        self.plot.show_playhead(self._state.at)

    def _show_plot(self) -> None:
        """Not without samples: axes of nothing would look like numbers."""
        found = self._found.get(self._plotted)
        self.plot.show_found(found)
        self.plot.setVisible(found is None or bool(found.fit.samples))

    def fit(self) -> None:
        """Where there is height, the plots have the whole width."""
        way = Qt.Orientation.Vertical if self.height() >= TALL else Qt.Orientation.Horizontal
        if way != self._split.orientation():
            self._split.setOrientation(way)
            self._share_out()
        self._explain()

    def _share_out(self) -> None:
        if self._split.orientation() == Qt.Orientation.Vertical:
            rows = (len(ESTIMATORS) + 1) * self.table.verticalHeader().defaultSectionSize()
            side, whole = rows + self.table.horizontalHeader().sizeHint().height() + 34, self.height()
        else:
            side, whole = min(self.table.horizontalHeader().length() + 4, self.width() // 2), self.width()
        self._split.setSizes([side, whole - side])

    def _explain(self) -> None:
        """What the columns are, beside them where there is room for both."""
        figure = self.fontMetrics().horizontalAdvance("0")
        left = self.width() - _TABLE * figure
        self._beside.setVisible(self._split.orientation() == Qt.Orientation.Vertical and left >= _ABOUT * figure)
        self._beside.setFixedWidth(max(1, left))

    def say(self, words: str) -> None:
        """Without words about the mouse: about the estimator."""
        found = self._found.get(self._plotted)
        self.says.setText(words or (_says(found) if found else f"{self._plotted} is being worked out …"))


def _says(found: EstimatorFit) -> str:
    fit = found.fit
    refused = f", {plural(len(fit.refused), 'request')} refused by the tokenizer" if fit.refused else ""
    ratios = "".join(f" · new {share.category} ×{share.ratio:.2f}" for share in found.shares[:3])
    if not fit.samples:
        return f"No request has both a reported size and messages in this file: there is nothing to plot{refused}."
    return f"{plural(len(fit.samples), 'sample')}{refused}{ratios}"


def _next_call(row: EstimatorRow) -> str:
    if row.fit is None:
        return "…" if row.working else "–"
    return _share(row.fit.prediction.median, 2)


def _share(value: float | None, places: int = 1) -> str:
    return "" if value is None else per_cent(value, places)
