"""How well the estimators fit a thread: a table of all estimators, and charts of the selected one.

The quick estimators are fitted immediately, the tokenizers only on request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame

from inspector.core.tokens.estimators import ESTIMATOR_TITLES, ESTIMATORS, estimator
from inspector.core.tokens.fit import Fit
from inspector.core.tokens.segments import CallSegment
from inspector.core.words import per_cent, plural
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import button, column, holding, pages, row, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import (
    BOX_GAP,
    CARD_INSETS,
    CHIP_GAP,
    CONTROL_GAP,
    GAP,
    LINE_GAP,
    LIST_FOOT,
    PAGE_HEAD,
)
from inspector.gui.panels.calibration.fits import EstimatorFit, fit_estimator
from inspector.gui.panels.calibration.plot import CalibrationPlot
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.small import Elided
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.state import State

MEDIAN = "Median error: how far the predicted tokens of the next request are from the reported ones, in the median."
NINETY = "90% below: nine of ten predictions were closer than this."
AFTER = "After compaction: median error of the first prediction after each recorded compaction."
SLOPE = "Slope: reported tokens for each estimated token, in each segment between compactions."
INTERCEPT = "Intercept: tokens that the estimate lacks, such as a system prompt that the file does not record."
RESIDUAL = (
    "Residual: reported tokens minus the tokens that the segment's line gives for the estimate."
)
USE = "Press Enter on a row to use its estimator everywhere."


@dataclass(frozen=True, slots=True)
class EstimatorRow:
    """A row of the table of estimators."""

    name: str
    fit: Fit | None
    """None if the estimator is not fitted yet."""
    used: bool
    """Is it the estimator whose numbers the window shows?"""
    working: bool = False
    """Is the estimator being fitted now?"""
    segments: tuple[CallSegment, ...] = ()


COLUMNS: Sequence[Column[EstimatorRow]] = (
    Column(
        "Estimator",
        lambda row: f"{'● ' if row.used else ''}{ESTIMATOR_TITLES[row.name]}",
        width=17,
        about=USE,
    ),
    Column("Median error", lambda row: _median_error(row), width=11, figures=True, about=MEDIAN),
    Column("90% below", lambda row: _p90_text(row), width=9, figures=True, about=NINETY),
    Column(
        "After compaction", lambda row: _after_median_text(row), width=14, figures=True, about=AFTER
    ),
    Column("Slope", lambda row: _slopes(row.segments), width=13, figures=True, about=SLOPE),
    Column(
        "Intercept", lambda row: _intercepts(row.segments), width=15, figures=True, about=INTERCEPT
    ),
)
_TABLE, _ABOUT = 100, 42
"""Width of the table, and the least width of the text about its columns, in digits."""
TALL = 420
"""Height in pixels from which the charts are below the table instead of beside it."""
MOST_LISTED = 3
"""Most segments whose slopes are all listed; if there are more, only the smallest and the largest slope are."""
NOTHING = "Open a transcript to compare the estimators with what the provider reported."
NO_USAGE = "This thread reports no usage: there is nothing to compare the estimators with."
ABOUT = "\n".join((MEDIAN, NINETY, AFTER, SLOPE, INTERCEPT, RESIDUAL, USE))


class CalibrationPanel(Panel):
    """A table of the estimators and charts of the selected one. Enter uses it in the window."""

    TITLE: ClassVar[str] = "Calibration"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._plotted = ""
        self._found: dict[str, EstimatorFit] = {}
        self.plot = CalibrationPlot(desk.theme)
        self.plot.moved.connect(desk.workbench.move)
        self.plot.hovered.connect(self.say)
        self._tasks: dict[str, Task] = {}
        self._way: Qt.Orientation | None = None
        """Direction in which table and charts are divided; None until the panel has a size."""
        self.table: Rows[EstimatorRow] = Rows("Estimators", COLUMNS)
        self.table.setSelectionMode(Rows.SelectionMode.SingleSelection)
        self.table.chosen.connect(lambda row, _: self._plot(self.table.rows[row].name))
        self.table.opened.connect(
            lambda row: desk.workbench.set_estimator(self.table.rows[row].name)
        )
        self.table.setToolTip(tip(ABOUT))
        self.says = label(role="quiet", wrap=True)
        self.tokenizers = button(
            "Count with tokenizers",
            self._count,
            about="Fit the estimators whose rows show –. This takes a while.",
        )
        self.about = label(ABOUT, role="small", wrap=True)
        self._empty = label(role="quiet", wrap=True, centred=True)
        self._foot = row((self.says, 1), self.tokenizers, margins=LIST_FOOT)
        card = QFrame()
        card.setObjectName("ReadingCard")
        caption = label("READING THIS TABLE", role="caption")
        column(caption, self.about, ..., of=card, margins=CARD_INSETS, gap=LINE_GAP)
        self._beside = holding(column(card, ..., margins=(0, CHIP_GAP, GAP, 0)))
        table = row((self.table, 1), self._beside, gap=CONTROL_GAP)
        self.title = Elided("quiet")
        name = label("Estimators against reported tokens", role="heading")
        self._head = row(name, 12, (self.title, 1), margins=PAGE_HEAD)
        above = holding(
            column(self._head, (table, 1), self._foot, margins=(0, 0, 0, BOX_GAP), gap=LINE_GAP)
        )
        self._split = splitter(above, self.plot, shares=(0, 1))
        self._stack = pages(self, self._empty, self._split)

    def show_state(self, state: State) -> None:
        """Fit the estimators again if the thread has changed, and mark the request of the playhead."""
        former = self._state
        self._state = state
        thread = state.thread
        if thread is None or not any(
            request.usage and request.usage.prompt for request in thread.requests
        ):
            self._empty.setText(NOTHING if thread is None else NO_USAGE)
            self._stack.setCurrentIndex(0)
            return
        self._stack.setCurrentIndex(1)
        if self.is_new("fits", thread, len(thread.requests)):
            self._begin()
        elif former.estimator != state.estimator:
            self._plot(state.estimator)
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
        self._show_table()

    def _work_out(self, name: str) -> None:
        thread = self._state.thread
        assert thread is not None

        def done(result: EstimatorFit) -> None:
            self._found[name] = result
            self._show_table()
            if name == self._plotted:
                self._plot(name)

        self._tasks[name] = self.desk.bridge.run(
            lambda task: fit_estimator(thread, name, task), done
        )

    def _plot(self, name: str) -> None:
        self._plotted = name
        if name not in self._tasks and self._state.thread is not None:
            self._work_out(name)
        self._show_table()
        self._show_plot()

    def _show_table(self) -> None:
        rows = [self._row_of(name) for name in ESTIMATORS]
        self.table.show_rows(rows)
        self.table.selectRow(
            next(index for index, row in enumerate(rows) if row.name == self._plotted)
        )
        has_unfitted = len(self._tasks) < len(ESTIMATORS)
        self.tokenizers.setVisible(has_unfitted)
        self.say("")

    def _row_of(self, name: str) -> EstimatorRow:
        is_used = name == self._state.estimator
        is_working = name in self._tasks
        fitted = self._found.get(name)
        if fitted is None:
            return EstimatorRow(name, fit=None, used=is_used, working=is_working)
        return EstimatorRow(name, fitted.fit, is_used, is_working, fitted.segments)

    # -- the charts ----------------------------------------------------------------------------------------------------

    def _show_plot(self) -> None:
        """Show the charts; hide them if there are no samples, because empty axes would look like data."""
        plotted = self._found.get(self._plotted)
        self.plot.show_found(plotted, ESTIMATOR_TITLES[self._plotted])
        self.plot.setVisible(plotted is None or bool(plotted.fit.samples))
        self.title.show_text(title_words(plotted) if plotted is not None else "")

    def fit(self) -> None:
        """Put the charts below the table if the panel is high enough for both, else beside the table."""
        way = Qt.Orientation.Vertical if self.height() >= TALL else Qt.Orientation.Horizontal
        if way != self._way:
            self._way = way
            self._split.setOrientation(way)
            self._share_out()
        self._explain()

    def _share_out(self) -> None:
        """Give the table the room that it needs, and the charts the remaining room."""
        header = self.table.horizontalHeader()
        if self._split.orientation() == Qt.Orientation.Vertical:
            around = self._head.sizeHint().height() + self._foot.sizeHint().height() + GAP
            table_size = self._table_height + around
            whole = self.height()
        else:
            table_size = min(header.length() + 4, self.width() // 2)
            whole = self.width()
        self._split.setSizes([table_size, whole - table_size])

    @property
    def _table_height(self) -> int:
        """The height in pixels of the table with a row for each estimator."""
        rows = len(ESTIMATORS) * self.table.verticalHeader().defaultSectionSize()
        return rows + self.table.horizontalHeader().sizeHint().height()

    def _explain(self) -> None:
        """Show an explanation of the columns beside the table if both fit."""
        digit = self.fontMetrics().horizontalAdvance("0")
        left = self.width() - _TABLE * digit
        is_vertical = self._split.orientation() == Qt.Orientation.Vertical
        self.about.ensurePolished()  # before it is measured in the letters of its role
        fits = self._beside.heightForWidth(max(1, left)) <= self._table_height
        self._beside.setVisible(is_vertical and left >= _ABOUT * digit and fits)
        self._beside.setFixedWidth(max(1, left))

    def say(self, words: str) -> None:
        """Show a text about the point under the mouse; if it is empty, show one about the estimator."""
        plotted = self._found.get(self._plotted)
        if not words:
            if plotted is not None:
                words = fit_words(plotted)
            else:
                words = f"Fitting {ESTIMATOR_TITLES[self._plotted]} …"
        self.says.setText(words)


def fit_words(estimator_fit: EstimatorFit) -> str:
    """Return `132 requests with a reported size. Reported tokens for each estimated token: ...`."""
    fit = estimator_fit.fit
    refused = (
        f", {plural(len(fit.refused), 'request')} refused by the tokenizer" if fit.refused else ""
    )
    if not fit.samples:
        return f"No request has both a reported size and messages in this file: there is nothing to plot{refused}."
    words = f"{plural(len(fit.samples), 'request')} with a reported size{refused}."
    ratios = [
        f"{share.category} {share.ratio:.2f}"
        for share in estimator_fit.shares[:3]
        if share.ratio >= 0.005
    ]
    return (
        f"{words} Reported tokens for each estimated token: {', '.join(ratios)}."
        if ratios
        else words
    )


def title_words(estimator_fit: EstimatorFit) -> str:
    """Return sentences on the accuracy of predictions and the number of segments: `The next request is ...`."""
    prediction = estimator_fit.fit.prediction
    words = list[str]()
    if prediction.median is not None:
        requests = plural(prediction.requests, "request")
        words.append(
            f"The next request is predicted within {per_cent(prediction.median, places=2)} (median of {requests})."
        )
    if len(estimator_fit.segments) > 1:
        words.append(
            f"{len(estimator_fit.segments):,} segments: each compaction and each change of model begins a new line."
        )
    return " ".join(words)


def _slopes(segments: Sequence[CallSegment]) -> str:
    slopes = [segment.fit.slope for segment in segments if segment.fit is not None]
    return _list_values(slopes, lambda slope: f"{slope:.3f}".replace("-", "−"))


def _intercepts(segments: Sequence[CallSegment]) -> str:
    overheads = [segment.fit.overhead for segment in segments if segment.fit is not None]
    return _list_values(overheads, lambda overhead: grouped(round(overhead)))


def _list_values(values: Sequence[float], spell: Callable[[float], str]) -> str:
    """Return `1.227 / 1.478`, or for many segments `1.137 to 1.478`."""
    if len(values) > MOST_LISTED:
        return f"{spell(min(values))} to {spell(max(values))}"
    return " / ".join(map(spell, values))


def _median_error(row: EstimatorRow) -> str:
    if row.fit is None:
        return "…" if row.working else "–"
    return _share(row.fit.prediction.median, 2)


def _p90_text(row: EstimatorRow) -> str:
    return _share(row.fit.prediction.p90, 2) if row.fit is not None else ""


def _after_median_text(row: EstimatorRow) -> str:
    return _share(row.fit.prediction.after_median) if row.fit is not None else ""


def _share(value: float | None, places: int = 1) -> str:
    return "" if value is None else per_cent(value, places)
