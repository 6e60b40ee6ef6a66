"""Where the buffer became smaller: compactions that the transcript records, and silent drops with their evidence.

A click goes there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inspector.core.drops import Drop, Drops
from inspector.core.message import Text
from inspector.core.session import Compaction, Thread, compaction_sizes
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.look.number_formats import grouped
from inspector.gui.navigation import stand_at
from inspector.gui.panels.list_panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class CompactionRow:
    """A recorded compaction, or a change that nobody announced, with its sizes."""

    request: int
    kind: str
    trigger: str
    before: int | None
    after: int | None
    stayed: str
    evidence: str
    line: int
    time: str
    shows: str = ""
    """Id of the message to look at, if any."""


def compaction_rows(thread: Thread, drops: Drops | None) -> list[CompactionRow]:
    """The rows: what is recorded and what is not, in the order of the requests."""
    found = drops.found if drops is not None and drops.thread == thread.id else ()
    by_record = {drop.compaction: drop for drop in found if drop.compaction is not None}
    rows = [_recorded(thread, one, by_record.get(n)) for n, one in enumerate(thread.compactions)]
    rows += [_silent(drop) for drop in found if drop.compaction is None]
    return sorted(rows, key=lambda one: one.request)


def _recorded(thread: Thread, one: Compaction, drop: Drop | None) -> CompactionRow:
    before, after = compaction_sizes(thread, one)
    return CompactionRow(
        one.before_request,
        one.kind,
        one.trigger or "unknown",
        before,
        after,
        _stayed(one),
        f"inferred{_counts(drop)}. {one.evidence}" if one.evidence else f"recorded{_counts(drop)}",
        one.line,
        one.time,
        one.summary.id if one.summary else "",
    )


def _silent(drop: Drop) -> CompactionRow:
    return CompactionRow(
        drop.request,
        drop.kind,
        "silent" if drop.loss else "no loss",
        drop.tokens_before,
        drop.tokens_after,
        plural(drop.kept, "message") if drop.kept else "",
        f"{drop.marker}{_counts(drop)}. {drop.why}",
        drop.line,
        drop.time,
    )


def _counts(drop: Drop | None) -> str:
    """How many messages are gone, how many read otherwise."""
    if drop is None:
        return ""
    words = [f"{plural(len(drop.lost), 'message')} gone"] * bool(drop.lost)
    words += [f"{plural(len(drop.changed), 'message')} changed"] * bool(drop.changed)
    return f": {', '.join(words)}" if words else ""


class CompactionsPanel(ListPanel[CompactionRow]):
    """One row a compaction, in the order of the file. Enter or a double click opens the summary."""

    TITLE: ClassVar[str] = "Compactions"
    NAME = "Recorded compactions"
    COLUMNS: ClassVar[Sequence[Column[CompactionRow]]] = (
        Column("request", lambda one: grouped(one.request), 6, figures=True),
        Column("trigger", lambda one: one.trigger, 7, least=8),
        Column("kind", lambda one: one.kind, 9, least=9),
        Column("before", lambda one: _tokens(one.before), 7, figures=True),
        Column("after", lambda one: _tokens(one.after), 6, figures=True),
        Column("freed", lambda one: _freed(one), 7, figures=True),
        Column("what stayed", lambda one: one.stayed, 24, least=14, lines=3),
        Column("evidence", lambda one: one.evidence, least=13, lines=3),
        Column("line", lambda one: grouped(one.line) if one.line else "", 5, figures=True),
        Column("time", lambda one: one.time[:16].replace("T", " "), 16, least=16),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._thread: Thread | None = None
        self._drops: Drops | None = None
        self.say_at_length()
        self.lay_out((self.says, 1), margins=(13, 6, 13, 4))
        self.table.hide()

    def show_state(self, state: State) -> None:
        """The compactions of the chosen thread."""
        thread = state.thread
        if thread is self._thread and state.drops is self._drops:
            return
        self._thread, self._drops = thread, state.drops
        rows = compaction_rows(thread, state.drops) if thread else []
        self.show_rows(rows, _says(thread, rows))

    def counted(self, state: State) -> int:
        silent = [drop for drop in state.drops.found if drop.loss and drop.compaction is None] if state.drops else []
        return len(silent) + (len(state.thread.compactions) if state.thread else 0)

    def choose(self, place: int, column: int = -1) -> None:
        one = self.table.rows[place]
        stand_at(self.desk.workbench, one.request)
        if one.shows:
            self.desk.workbench.select(one.shows)

    def open(self, place: int) -> None:
        self.choose(place)
        if self.table.rows[place].shows:
            self.desk.show_panel("Message")


def _tokens(tokens: int | None) -> str:
    return "unknown" if tokens is None else grouped(tokens)


def _freed(one: CompactionRow) -> str:
    return "" if one.before is None or one.after is None else grouped(one.before - one.after)


def _stayed(compaction: Compaction) -> str:
    found = []
    if compaction.summary is not None:
        size = sum(len(part.text) for part in compaction.summary.parts if isinstance(part, Text))
        found.append(f"summary of {plural(size, 'character')}")
    if compaction.kept:
        found.append(f"{plural(compaction.kept, 'message')} word for word")
    if compaction.cleared:
        found.append(f"{plural(len(compaction.cleared), 'message')} cleared")
    return ", ".join(found)


def _says(thread: Thread | None, rows: Sequence[CompactionRow]) -> str:
    if thread is None:
        return "Open a transcript to see the compactions it records."
    if not rows:
        return "This thread records no compaction, and its buffer only grew."
    inferred = sum(bool(one.evidence) for one in thread.compactions)
    recorded = len(thread.compactions) - inferred
    silent = len(rows) - recorded - inferred
    many = plural(recorded, "recorded compaction") if recorded else "No recorded compaction"
    more = f", {inferred:,} that must have happened" if inferred else ""
    more += f", {plural(silent, 'change')} that no record announces" if silent else ""
    return f"{many}{more}. A click goes to the first request after it, Enter opens the summary."
