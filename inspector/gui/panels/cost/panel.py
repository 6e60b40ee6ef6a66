"""The cost of the chosen thread: what it comes to, dollars along its requests, a row a cache break and a compaction.

Worked out off the GUI thread, and by the same functions as `context-inspector cost`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent

from inspector.core.findings.breaks import NO_WASTE, Rebilling, avoidable
from inspector.core.findings.session_cost import SessionCost, ThreadCost, session_cost
from inspector.core.findings.spending import sum_bills
from inspector.core.replay.report import Compacted
from inspector.core.session import Session, Thread
from inspector.core.tokens.prices import sum_prices
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, holding, pages, splitter
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import dollars, grouped
from inspector.gui.look.theme import Theme
from inspector.gui.navigation import stand_at
from inspector.gui.panels.panel import PlotPanel
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.state import State

TALL = 420
"""Pixels from which on the plot lies above the table, and not beside it; what a row says in full has room only then."""
BESIDE = [330, 670]
"""Shares of plot and table beside each other."""
NOTHING = "Open a transcript to see what it cost."
NO_USAGE = "This thread reports no usage: what it cost is not known."
HINT = "A click on a row says more, a double click goes there."


@dataclass(frozen=True, slots=True)
class CostRow:
    """A break or a compaction, as people read it."""

    request: int
    what: str
    tokens: str
    cost: str
    saved: str
    evidence: str
    message: str = ""
    diff: tuple[str, ...] = ()


def cost_rows(found: ThreadCost) -> list[CostRow]:
    """Breaks and compactions in the order of the requests."""
    rows = [_break(one) for one in found.breaks] + [_compaction(one) for one in found.compactions]
    return sorted(rows, key=lambda one: one.request)


def _break(one: Rebilling) -> CostRow:
    saved = "" if one.cause in NO_WASTE else _dollars(one.avoidable_usd)
    return CostRow(
        one.request, one.cause, grouped(one.tokens), _dollars(one.usd), saved, one.evidence, one.message, one.diff
    )


def _compaction(one: Compacted) -> CostRow:
    money = one.economics
    each = "" if money.saved_per_request_usd is None else f"{dollars(money.saved_per_request_usd)} each"
    sizes = f"{_about(one.tokens_before)} → {_about(one.tokens_after)}"
    return CostRow(
        one.at.before_request, f"{one.at.tier}: {_paid(one)}", sizes, _dollars(money.cost_usd), each, _told(one)
    )


def _paid(one: Compacted) -> str:
    words: dict[bool | None, str] = {None: "no price", True: "paid", False: "did not pay"}
    return words[one.economics.paid]


def _told(one: Compacted) -> str:
    money = one.economics
    if money.cost_usd is None:
        return "A model has no price."
    what = "Cost: the summary and the cache written anew." if one.kind == "summary" else "Cost: the cache written anew."
    if money.paid_after_requests is None:
        return f"{what} It never paid: {plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}."
    when = f"after {plural(money.paid_after_requests, 'request')}" if money.paid_after_requests else "at once"
    return f"{what} Paid {when}; {plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}."


def _about(tokens: int) -> str:
    """`2.1M`, `156k`, `800`."""
    if tokens < 10_000:
        return grouped(tokens)
    return f"{tokens / 1_000_000:.1f}M" if tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"


def _dollars(amount: Decimal | None) -> str:
    return "no price" if amount is None else dollars(amount)


COLUMNS: Sequence[Column[CostRow]] = (
    Column("request", lambda one: grouped(one.request), 6, figures=True),
    Column("what", lambda one: one.what, 14),
    Column("tokens", lambda one: one.tokens, 10, figures=True),
    Column("cost", lambda one: one.cost, 7, figures=True),
    Column("saves", lambda one: one.saved, 9, figures=True),
    Column("evidence", lambda one: one.evidence),
)


class CostPanel(PlotPanel):
    """A line of sums, the plot, the table, and what a chosen row says in full."""

    TITLE: ClassVar[str] = "Cost"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._session: Session | None = None
        self._thread: Thread | None = None
        self._job = LatestJob(desk.bridge)
        self._found: SessionCost | None = None
        self.says = label(role="quiet", wrap=True)
        self.more = label(role="quiet", wrap=True)
        self.table: Rows[CostRow] = Rows("Cache breaks and compactions", COLUMNS)
        self.table.setSelectionMode(Rows.SelectionMode.SingleSelection)
        self.table.chosen.connect(self._explain)
        self.table.opened.connect(self._open)
        self._empty = label(role="quiet", wrap=True, centred=True)
        self._plot_box = column(gap=0)
        side = column((self.table, 1), self.more, gap=2, margins=(0, 0, 0, 2))
        self._plot_side = holding(self._plot_box)
        self._split = splitter(self._plot_side, holding(side))
        self._split.setSizes(BESIDE)
        self.more.hide()
        whole = column(self.says, (self._split, 1), margins=(13, 5, 8, 2), gap=3)
        self._stack = pages(self, self._empty, holding(whole))

    # -- what is shown ------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """The chosen thread; worked out where the session is another."""
        moved, self._state = state.at != self._state.at, state
        thread = state.thread
        if state.session is None or thread is None or not any(request.usage for request in thread.requests):
            self._forget()
            self._empty.setText(NOTHING if thread is None else NO_USAGE)
            self._stack.setCurrentIndex(0)
            return
        self.load_plot()
        if state.session is not self._session:
            self._work_out(state.session)
        if thread is not self._thread:
            self._thread = thread
            self._show()
        if moved:
            self._stand()
        if self.plot is not None:
            self.plot.overlay.show_playhead(state.at)

    def _stand(self) -> None:
        """The row of the request where the playhead stands is the chosen one, where there is one."""
        here = [n for n, one in enumerate(self.table.rows) if one.request == self._state.at]
        if here and self.table.currentIndex().row() not in here:
            self.table.selectRow(here[0])
            self._explain(here[0])
            QTimer.singleShot(0, self.table, lambda: self.table.scrollTo(self.table.currentIndex()))

    def _forget(self) -> None:
        self._job.cancel()
        self._session = self._thread = self._found = None
        self.table.show_rows(())
        if self.plot is not None:
            self.plot.show_found(None)

    def _work_out(self, session: Session) -> None:
        if self._session is None or self._session.path != session.path:
            self._found = None
        self._session = session

        def done(found: SessionCost) -> None:
            self._found = found
            self._show()

        self._job.run(lambda task: session_cost(session), done)

    @property
    def found(self) -> ThreadCost | None:
        """Of the chosen thread, as far as it is worked out."""
        threads = self._found.threads if self._found is not None else ()
        return next((one for one in threads if self._thread and one.thread.id == self._thread.id), None)

    def _show(self) -> None:
        found = self.found
        if found is None or self._found is None:
            self._empty.setText("Working out what it cost …")
            self._stack.setCurrentIndex(0)
            return
        self._stack.setCurrentIndex(1)
        self.say("")
        self.table.show_rows(cost_rows(found))
        self._stand()
        self._plot_side.setVisible(any(found.bills))  # bars of no price would be none
        self._explain(self.table.currentIndex().row())
        if self.plot is not None:
            self.plot.show_found(found)
            self.plot.overlay.show_playhead(self._state.at)

    def _explain(self, place: int, _column: int = -1) -> None:
        """The chosen row in full, with its difference."""
        rows = self.table.rows
        if not 0 <= place < len(rows):
            self.table.empty = "" if rows else "The cache never broke, and nothing was compacted."
            self.more.setText(HINT if rows else "")
            return
        self.more.setText("\n".join((rows[place].evidence, *rows[place].diff)))

    def _open(self, place: int) -> None:
        one = self.table.rows[place]
        stand_at(self.desk.workbench, one.request)
        if one.message:
            self.desk.workbench.select(one.message)

    # -- the plot -----------------------------------------------------------------------------------------------------

    def plot_class(self) -> Callable[[Theme], Any]:
        """A bar a request."""
        from inspector.gui.panels.cost.plot import CostPlot

        return CostPlot

    def place_plot(self) -> None:
        """Beside the table, or above it."""
        self._plot_box.insertWidget(0, self.plot, 1)
        self._turn()
        if (found := self.found) is not None:
            self.plot.show_found(found)
        self.plot.overlay.show_playhead(self._state.at)

    def say(self, words: str) -> None:
        """What is under the mouse, else the sums."""
        found = self.found
        if found is not None and self._found is not None:
            self.says.setText(words or ". ".join(cost_words(self._found, found)) + ".")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low dock the plot stands beside the table, on a page above it."""
        super().resizeEvent(event)
        self._turn()

    def _turn(self) -> None:
        tall = self.height() >= TALL
        way = Qt.Orientation.Vertical if tall else Qt.Orientation.Horizontal
        self.more.setVisible(tall)
        if way != self._split.orientation():
            self._split.setOrientation(way)
            self._split.setSizes([1_000, 1_000] if tall else BESIDE)


def cost_words(whole: SessionCost, found: ThreadCost) -> Iterator[str]:
    """The sums, sentence by sentence, without full stops."""
    bill = sum_bills(found.bills)
    if bill is None or whole.bill is None:
        yield "A model has no price: what it cost is not known"
    else:
        part, everything = (
            f"{'' if cost.output_is_final else 'at least '}{dollars(total)}"
            for cost, total in ((found, bill.total), (whole, whole.bill.total))
        )
        others = len(whole.threads) > 1
        yield f"This thread {part} of {everything} for the whole session" if others else part[0].upper() + part[1:]
    if found.breaks:
        again, saved = (
            _dollars(money) for money in (sum_prices(one.usd for one in found.breaks), avoidable(found.breaks))
        )
        tokens = _about(sum(one.tokens for one in found.breaks))
        money = f" for {again}, {saved} avoidable" if bill is not None else ""
        made = sum(one.cause == "compaction" for one in found.breaks)
        by = f", {made:,} of them by compactions" if 0 < made < len(found.breaks) else ""
        yield f"{plural(len(found.breaks), 'cache break')}{by}: {tokens} tokens billed again{money}"
    if found.compactions:
        paid = sum(one.economics.paid is True for one in found.compactions)
        yield f"{paid} of {plural(len(found.compactions), 'compaction')} paid"
    for run in found.thrash:
        yield f"Thrash: {run.compactions} compactions in a row, {run.first} to {run.last}, did not pay"
    for one in whole.what_ifs:
        if one.saved_usd > 0:
            yield f"{one.name} would have saved {dollars(one.saved_usd)} in the session"
