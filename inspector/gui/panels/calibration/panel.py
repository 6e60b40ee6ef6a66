"""How good the estimators are on this thread: each against what the provider reported, one of them plotted.

The quick ones are worked out at once, the tokenizers only when asked for; all off the GUI thread. The plots, and
pyqtgraph with them, are loaded when the panel is first seen.
"""

from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from inspector.core.session import Thread
from inspector.core.tokens.estimators import ESTIMATORS, estimator
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import plural
from inspector.gui.panels.calibration.rows import ABOUT, COLUMNS, Row, Worked, has_usage, worked_out
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.rows import Rows
from inspector.workbench.state import State


class CalibrationPanel(Panel):
    """A table of the estimators and three plots of the chosen one. Enter: use it in the window."""

    TITLE: ClassVar[str] = "Calibration"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.plots: Any = None
        self._state = State()
        self._thread: Thread | None = None
        self._requests = -1
        self._plotted = ""
        self._found: dict[str, Worked] = {}
        self._tasks: dict[str, Task] = {}
        self._loading = False
        self.table: Rows[Row] = Rows("Estimators", COLUMNS)
        self.table.setSelectionMode(Rows.SelectionMode.SingleSelection)
        self.table.chosen.connect(lambda row, _: self._plot(self.table.rows[row].name))
        self.table.opened.connect(lambda row: desk.workbench.set_estimator(self.table.rows[row].name))
        self.table.setToolTip(tip(ABOUT))
        self.says = label(role="quiet")
        self.says.setWordWrap(True)
        self.says.setToolTip("new …: what the provider reported for each estimated token of that class")
        self.tokenizers = QPushButton("Count with tokenizers")
        self.tokenizers.setProperty("role", "flat")
        self.tokenizers.clicked.connect(self._count)
        self._lay_out()

    def _lay_out(self) -> None:
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(2)
        column.addWidget(self.table, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(13, 0, 8, 0)
        foot.addWidget(self.says, 1)
        foot.addWidget(self.tokenizers)
        column.addLayout(foot)
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(side)
        self._empty = label(role="quiet")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._split)

    # -- what is shown ------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """Fits of the thread where it is another; the playhead always."""
        former, self._state = self._state, state
        thread = state.thread
        if not has_usage(thread):
            self._empty.setText(_why_empty(thread))
            self._stack.setCurrentIndex(0)
            return
        assert thread is not None
        self._stack.setCurrentIndex(1)
        self._load()
        if thread is not self._thread or len(thread.requests) != self._requests:
            self._thread, self._requests = thread, len(thread.requests)
            self._begin()
        elif former.estimator != state.estimator:
            self._plot(state.estimator)
        if self.plots is not None:
            self.plots.show_playhead(state.at)

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
        thread = self._thread
        assert thread is not None

        def done(found: Worked) -> None:
            self._found[name] = found
            self._show()
            if name == self._plotted:
                self._plot(name)

        self._tasks[name] = self.desk.bridge.run(lambda task: worked_out(thread, name, task), done)

    def _plot(self, name: str) -> None:
        self._plotted = name
        if name not in self._tasks and self._thread is not None:
            self._work_out(name)
        self._show()
        if self.plots is not None:
            self.plots.show_found(self._found.get(name))

    def _show(self) -> None:
        rows = [
            Row(name, found.fit if found else None, name == self._state.estimator, name in self._tasks)
            for name, found in ((name, self._found.get(name)) for name in ESTIMATORS)
        ]
        self.table.show_rows(rows)
        self.table.selectRow(next(n for n, row in enumerate(rows) if row.name == self._plotted))
        self.tokenizers.setVisible(len(self._tasks) < len(rows))
        self._say("")

    # -- the plots ----------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        if not self._loading:
            self._loading = True
            self.desk.bridge.run(lambda task: _load(), self._loaded)

    def _loaded(self, make: Any) -> None:
        self.plots = make(self.desk.theme)
        self.plots.moved.connect(self.desk.workbench.move)
        self.plots.hovered.connect(lambda text: self._say(text))
        self._split.addWidget(self.plots)
        self._split.setStretchFactor(1, 1)
        side = min(self.table.horizontalHeader().length() + 4, self.width() // 2)
        self._split.setSizes([side, self.width() - side])
        self.plots.show_found(self._found.get(self._plotted))
        self.plots.show_playhead(self._state.at)

    def _say(self, text: str) -> None:
        found = self._found.get(self._plotted)
        said = _says(found) if found else f"{self._plotted} is being worked out …"
        self.says.setText(text or said)

    def restyle(self) -> None:
        """The plots keep pens."""
        if self.plots is not None:
            self.plots.restyle()


def _load() -> Any:
    from inspector.gui.panels.calibration.plots import CalibrationPlots  # pyqtgraph and numpy: only when looked at

    return CalibrationPlots


def _why_empty(thread: Thread | None) -> str:
    if thread is None:
        return "Open a transcript to compare the estimators with what the provider reported."
    return "This thread reports no usage: there is nothing to compare the estimators with."


def _says(found: Worked) -> str:
    fit = found.fit
    refused = f", {plural(len(fit.refused), 'request')} refused by the tokenizer" if fit.refused else ""
    ratios = "".join(f" · new {share.category} ×{share.ratio:.2f}" for share in found.shares[:3])
    return f"{plural(len(fit.samples), 'sample')}{refused}{ratios}"
