"""The cost of the chosen thread, as printed by `context-inspector cost`: the sums, the dollars of each request, and a
table of its cache misses and compactions."""

from collections.abc import Sequence
from typing import Any, ClassVar

from PySide6.QtCore import Qt, QTimer

from inspector.core.findings.advice import Advice, session_advice
from inspector.core.findings.prompt_change import find_prompt_change
from inspector.core.findings.spending import SessionCost, session_cost
from inspector.core.session import Session, Thread
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, holding, pages, splitter
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import CHIP_GAP, LINE_GAP, PAGE_INSETS
from inspector.gui.navigation import go_to, stand_at
from inspector.gui.pacing import PacedJob
from inspector.gui.panels.cost.advice_list import AdviceList
from inspector.gui.panels.cost.figures import CostFigures, CostRow, cost_figures
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.widgets.shared_height import SharedHeight
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.state import State

TALL = 420
"""Height in pixels from which the plot is above the table instead of beside it, and the text about a row is shown."""
_MORE_SHARE, _LEAST_LINES = 0.12, 1
"""Share of the panel's height that the text about a row may take, and its least number of lines."""
_ADVICE_LINES = 34
"""Height of the panel in lines of text below which advice is hidden. The command `info` prints the advice, too."""
MOST_TABLE = 0.5
"""Share of the height that the table gets at most."""
BESIDE = [330, 670]
"""Relative widths of the plot and the table when they are side by side."""
NOTHING = "Open a transcript to see what it cost."
NO_USAGE = "Cost unknown: this thread records no token usage."
HINT = "Select a row to see its evidence; double-click it to go to its request."


COLUMNS: Sequence[Column[CostRow]] = (
    Column("Cause", lambda row: row.what, width=26, least=14),
    Column(
        "Request",
        lambda row: "" if row.request is None else grouped(row.request),
        width=7,
        figures=True,
    ),
    Column("Re-sent", lambda row: row.tokens, width=10, figures=True),
    Column("Cost", lambda row: row.cost, width=7, figures=True),
    Column("Avoidable", lambda row: row.saved, width=9, figures=True),
    Column("Evidence", lambda row: row.evidence, least=18, lines=3),
)


class CostPanel(PlotPanel):
    """Shows the sums, the advice, the plot, the table, and the full text of the selected row."""

    TITLE: ClassVar[str] = "Cost"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._job = PacedJob(desk.bridge, self)
        self._whole: tuple[Session, SessionCost] | None = None
        """The last session and its cost."""
        self.figures: CostFigures | None = None
        """The figures of the chosen thread; None until they are computed."""
        self.title = label(role="heading", wrap=True)
        self.says = label(role="quiet", wrap=True)
        self.more = label(role="quiet", wrap=True)
        self.advice = AdviceList(self._follow)
        self.table: Rows[CostRow] = Rows("Cache misses and compactions", COLUMNS)
        self.table.setSelectionMode(Rows.SelectionMode.SingleSelection)
        self.table.chosen.connect(self._explain)
        self.table.opened.connect(self._open)
        self._empty = label(role="quiet", wrap=True, centred=True)
        self._plot_box = column(gap=0)
        side = column((self.table, 1), self.more, gap=LINE_GAP)
        self._plot_side = holding(self._plot_box)
        self._split = splitter(self._plot_side, holding(side))
        self._split.setSizes(BESIDE)
        self._sharing = SharedHeight(self._split, self.table, MOST_TABLE)
        self.more.hide()
        head = column(self.title, self.says, self.advice, gap=LINE_GAP)
        whole = column(head, (self._split, 1), margins=PAGE_INSETS, gap=CHIP_GAP)
        self._stack = pages(self, self._empty, holding(whole))

    def show_state(self, state: State) -> None:
        """Show the cost of the chosen thread, and select the row of the current request."""
        has_moved = state.at != self._state.at
        self._state = state
        session = state.session
        thread = state.thread
        is_new = self.is_new("figures", session, thread)
        if (
            session is None
            or thread is None
            or not any(request.usage for request in thread.requests)
        ):
            self._show_nothing(NOTHING if thread is None else NO_USAGE)
            return
        self.load_plot()
        if is_new:
            self._work_out(session, thread)
        if has_moved:
            self._select_request()
        if self.plot is not None:
            self.plot.overlay.show_playhead(state.at)

    def _show_nothing(self, reason: str) -> None:
        self._job.cancel()
        self._whole = self.figures = None
        self._empty.setText(reason)
        self._stack.setCurrentIndex(0)
        self.table.show_rows(())
        self._draw()

    def _select_request(self) -> None:
        """Select the first row of the request at the playhead, or nothing if it has no row."""
        places = [
            index for index, row in enumerate(self.table.rows) if row.request == self._state.at
        ]
        if places and self.table.currentIndex().row() not in places:
            self.table.selectRow(places[0])
            self._explain(places[0])
            QTimer.singleShot(0, self.table, lambda: self.table.scrollTo(self.table.currentIndex()))
        elif not places:
            self.table.clearSelection()
            self._explain(-1)

    def _work_out(self, session: Session, thread: Thread) -> None:
        """Compute the figures of a thread. If it has only grown, its former figures are shown until they are ready."""
        cached = self._whole[1] if self._whole is not None and self._whole[0] is session else None
        if self.is_new("thread", session.path, thread.id):
            self.figures = None
        window = self.desk.workbench.find_window(self._state, None).tokens

        def job(task: Task) -> tuple[SessionCost, CostFigures | None]:
            whole = cached or session_cost(session)
            for cost in whole.threads:
                if cost.thread.id == thread.id:
                    advice = session_advice(session, thread, cost=whole, window=window)
                    return whole, cost_figures(whole, cost, advice)
            return whole, None

        def done(result: tuple[SessionCost, CostFigures | None]) -> None:
            whole, self.figures = result
            self._whole = session, whole
            self._show()

        self._job.run(session, (thread.id,), job, done)
        self._show()

    def _show(self) -> None:
        figures = self.figures
        if figures is None:
            self._empty.setText("Computing the cost …")
            self._stack.setCurrentIndex(0)
            return
        self._stack.setCurrentIndex(1)
        self.title.setText(figures.title)
        self.say("")
        self.table.show_rows(figures.rows)
        self.advice.show_advice(figures.advice)
        self.fit()
        self._select_request()
        self._plot_side.setVisible(any(figures.cost.bills))
        self._explain(self.table.currentIndex().row())
        self._draw()

    def _explain(self, place: int, _column: int = -1) -> None:
        """Show the evidence of a row or, if there is no such row, how the prompt of the selected request changed."""
        rows = self.table.rows
        if not 0 <= place < len(rows):
            self.table.empty = "" if rows else "No cache miss and no compaction."
            hint = (HINT,) if rows else ()
            self._show_lines((*self._describe_change(), *hint))
            return
        row = rows[place]
        change = self._describe_change() if row.request == self._state.at and not row.diff else ()
        self._show_lines((row.evidence, *row.diff, *change))

    def _show_lines(self, lines: Sequence[str]) -> None:
        """Show the lines that fit into a share of the height; the tooltip has all of them."""
        most = max(
            _LEAST_LINES, int(_MORE_SHARE * self.height() / self.fontMetrics().lineSpacing())
        )
        self.more.setText("\n".join(lines[:most]))
        self.more.setToolTip(tip("\n".join(lines)) if len(lines) > most else "")

    def _describe_change(self) -> tuple[str, ...]:
        """Say where the prompt of the selected request first differs from the previous one, with the changed lines."""
        thread = self._state.thread
        request = self._state.at
        if thread is None or request is None or not 0 < request < len(thread.requests):
            return ()
        change = find_prompt_change(thread.requests[request - 1], thread.requests[request])
        return (f"Request {request:,}: {change.sentence}", *change.diff)

    def _follow(self, piece: Advice) -> None:
        """Go to the request that shows the problem of a piece of advice."""
        if piece.request is not None:
            go_to(self.desk.workbench, piece.thread or self._state.thread_id, piece.request, "")

    def _open(self, place: int) -> None:
        row = self.table.rows[place]
        if row.request is None:
            return
        stand_at(self.desk.workbench, row.request)
        if row.message:
            self.desk.workbench.select(row.message)

    def make_plot(self) -> Any:
        from inspector.gui.panels.cost.plot import CostPlot

        return CostPlot(self.desk.theme)

    def place_plot(self) -> None:
        self._plot_box.insertWidget(0, self.plot, 1)
        self.fit()
        self._draw()

    def _draw(self) -> None:
        if self.plot is not None:
            self.plot.show_figures(self.figures)
            self.plot.overlay.show_playhead(self._state.at)

    def say(self, words: str) -> None:
        """Show a text about the item under the mouse; if the text is empty, show the sums again."""
        if self.figures is not None:
            self.says.setMinimumHeight(self.says.height() if words else 0)  # nothing below moves
            self.says.setText(words or self.figures.says)

    def fit(self) -> None:
        """Put the plot above the table in a tall panel, else beside it."""
        is_tall = self.height() >= TALL
        way = Qt.Orientation.Vertical if is_tall else Qt.Orientation.Horizontal
        self.more.setVisible(is_tall)
        has_room = self.height() >= _ADVICE_LINES * self.fontMetrics().lineSpacing()
        self.advice.setVisible(is_tall and has_room and bool(self.advice.pieces))
        if way != self._split.orientation():
            self._split.setOrientation(way)
            self._split.setSizes([1_000, 1_000] if is_tall else BESIDE)
        self._sharing.fit_soon()
