"""A table of the parts of the buffer that changed between two requests, the largest change first."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from inspector.core.findings.breakdown_views import PartChange, compare_breakdowns
from inspector.core.untyped import digits_of
from inspector.core.words import part_title, plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, line_field, row
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped, signed
from inspector.gui.look.tokens import CONTROL_GAP, LIST_HEAD
from inspector.gui.widgets.small import Elided
from inspector.gui.widgets.table import Column, Rows
from inspector.workbench.pressure.filling import calls_of, find_tree
from inspector.workbench.state import State

COLUMNS: Sequence[Column[PartChange]] = (
    Column(
        "part",
        lambda row: " › ".join((part_title(row.part[0]), *row.part[1:])) if row.part else "all",
    ),
    Column(
        "before",
        lambda row: grouped(row.before),
        width=9,
        figures=True,
        about="Tokens at the earlier request",
    ),
    Column(
        "after",
        lambda row: grouped(row.after),
        width=9,
        figures=True,
        about="Tokens at the request that is shown",
    ),
    Column("change", lambda row: signed(row.change), width=9, figures=True),
)
_FIELD = 9
"""Width of the field for a request, in digits."""


class ChangesTable(QWidget):
    """A table of the parts that changed since an earlier request. `chosen` carries the path of the selected part."""

    chosen = Signal(tuple)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._state = State()
        self._job = LatestJob(desk.bridge)
        self._compared: tuple[object, ...] = ()
        self.since = line_field(
            "Earlier request", hint="request", about="The earlier request to compare with"
        )
        self.since.setMaximumWidth(_FIELD * self.fontMetrics().horizontalAdvance("0") + 20)
        self.since.editingFinished.connect(self._compare)
        self.says = Elided("quiet")
        self.table: Rows[PartChange] = Rows("Parts that changed", COLUMNS)
        self.table.chosen.connect(lambda place, _: self.chosen.emit(self.table.rows[place].part))
        head = row(
            label("Since request", role="quiet"),
            self.since,
            (self.says, 1),
            margins=LIST_HEAD,
            gap=CONTROL_GAP,
        )
        column(head, (self.table, 1), of=self, gap=0)

    def show_state(self, state: State) -> None:
        """Compare with the earlier request again if the buffer has changed and the table is visible."""
        self._state = state
        if self.isVisible():
            self._compare()

    @property
    def earlier(self) -> int:
        """Index of the earlier request: the typed one, else the first after the last compaction before the playhead,
        else 0."""
        typed = digits_of(self.since.text().strip().replace(",", ""))
        if typed is not None:
            return typed
        thread = self._state.thread
        place = self._state.place
        if thread is not None:
            cuts = [compaction.before_request for compaction in thread.compactions]
        else:
            cuts = []
        return max((cut for cut in cuts if cut < place), default=0)

    def _compare(self) -> None:
        state = self._state
        thread = self._state.thread
        earlier = self.earlier
        if thread is None or state.pressures is None or not thread.requests:
            self._compared = ()
            self._show((), "")
            return
        if earlier >= len(thread.requests):
            self._show(
                (),
                f"Choose an earlier request: the last one is {grouped(len(thread.requests) - 1)}.",
            )
            return
        compared = (id(thread), id(state.pressures), state.place, id(state.stepped_buffer), earlier)
        if compared == self._compared:
            return
        self._compared = compared
        self.since.setPlaceholderText(grouped(earlier))
        former = replace(state.move(earlier), trees={})

        def work() -> tuple[PartChange, ...]:
            calls = calls_of(state)
            return compare_breakdowns(find_tree(former, calls), find_tree(state, calls))

        place = state.place

        def done(changes: tuple[PartChange, ...]) -> None:
            self._show(changes, _describe_changes(changes, earlier, place))

        self._job.run(lambda task: work(), done)

    def _show(self, changes: Sequence[PartChange], words: str) -> None:
        self.table.empty = "" if changes else "No part changed."
        self.table.show_rows(changes)
        self.says.show_text(words)


def _describe_changes(changes: Sequence[PartChange], earlier: int, place: int) -> str:
    """Return `Requests 40 to 78: +45,100 tokens; 52,300 tokens added, 7,200 removed`."""
    gained = sum(change.change for change in changes if change.change > 0)
    lost = -sum(change.change for change in changes if change.change < 0)
    sums = f"{plural(gained, 'token')} added, {grouped(lost)} removed"
    return (
        f"Requests {grouped(earlier)} to {grouped(place)}: {signed(gained - lost)} tokens; {sums}"
    )
