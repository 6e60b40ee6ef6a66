"""The panels of recorded compactions and silent drops, and of lines that could not be read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inspector.core.drops import Drop, Drops, drop_sizes
from inspector.core.message import Text
from inspector.core.session import Compaction, Problem, Session, Thread, compaction_count
from inspector.core.tokens.change_sizes import (
    BufferSize,
    ChangeSizes,
    compaction_sizes,
    promise_words,
)
from inspector.core.tokens.pressure import Pressures
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import LIST_HEAD
from inspector.gui.navigation import go_to, stand_at
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.diff import FATES
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class CompactionRow:
    """A recorded compaction, or a silent drop, with its sizes."""

    request: int
    kind: str
    trigger: str
    sizes: ChangeSizes
    stayed: str
    evidence: str
    line: int
    time: str
    shows: str = ""
    """Id of the message that a click selects; empty if there is none."""


def compaction_rows(
    thread: Thread, pressures: Pressures, drops: Drops | None
) -> list[CompactionRow]:
    """Return the recorded compactions and the silent drops of a thread, in the order of the requests."""
    thread_drops = drops.found if drops is not None and drops.thread == thread.id else ()
    by_record = {drop.compaction: drop for drop in thread_drops if drop.compaction is not None}
    rows = list[CompactionRow]()
    for index, compaction in enumerate(thread.compactions):
        rows.append(_recorded_row(thread, pressures, compaction, by_record.get(index)))
    for drop in thread_drops:
        if drop.compaction is None:
            rows.append(_silent_row(drop, drop_sizes(thread, pressures, drop)))
    return sorted(rows, key=lambda row: row.request)


def _recorded_row(
    thread: Thread, pressures: Pressures, compaction: Compaction, drop: Drop | None
) -> CompactionRow:
    sizes = compaction_sizes(thread, pressures, compaction)
    evidence = f"recorded{_counts(drop)}"
    if compaction.evidence:
        evidence = f"inferred{_counts(drop)}. {compaction.evidence}"
    promised = promise_words(thread, compaction, sizes)
    if promised:
        evidence = f"{evidence}. {promised}"
    summary_id = compaction.summary.id if compaction.summary else ""
    trigger = compaction.trigger or "unknown"
    return CompactionRow(
        compaction.before_request,
        compaction.kind,
        trigger,
        sizes,
        _kept_parts_text(compaction),
        evidence,
        compaction.line,
        compaction.time,
        shows=summary_id,
    )


def _silent_row(drop: Drop, sizes: ChangeSizes) -> CompactionRow:
    trigger = "silent" if drop.loss else "no loss"
    stayed = plural(drop.kept, "message") if drop.kept else ""
    evidence = f"{drop.marker}{_counts(drop)}. {drop.why}"
    return CompactionRow(
        drop.request, drop.kind, trigger, sizes, stayed, evidence, drop.line, drop.time
    )


def _counts(drop: Drop | None) -> str:
    if drop is None:
        return ""
    counts = Counter(drop.fates.values())
    words = [f"{plural(counts[fate], 'message')} {fate}" for fate in FATES if counts[fate]]
    return f": {', '.join(words)}" if words else ""


class CompactionsPanel(ListPanel[CompactionRow]):
    """The compactions that the transcript records, and silent drops with their evidence. A click goes to the next
    request, Enter or a double click opens the summary."""

    TITLE: ClassVar[str] = "Compactions"
    NAME = "Recorded compactions"
    COLUMNS: ClassVar[Sequence[Column[CompactionRow]]] = (
        Column("request", lambda row: grouped(row.request), width=6, figures=True),
        Column("trigger", lambda row: row.trigger, width=7, least=8),
        Column("kind", lambda row: row.kind, width=9, least=9),
        Column("before", lambda row: _tokens(row.sizes.before), width=8, figures=True),
        Column("after", lambda row: _tokens(row.sizes.after), width=8, figures=True),
        Column("freed", lambda row: _freed_text(row.sizes), width=8, figures=True),
        Column("what stayed", lambda row: row.stayed, width=24, least=14, lines=3),
        Column("evidence", lambda row: row.evidence, least=13, lines=3),
        Column("line", lambda row: grouped(row.line) if row.line else "", width=5, figures=True),
        Column("time", lambda row: row.time[:16].replace("T", " "), width=16, least=16),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.say_at_length()
        self.lay_out((self.says, 1), margins=LIST_HEAD)
        self.table.hide()

    def show_state(self, state: State) -> None:
        if self.is_new("rows", thread := state.thread, state.drops):
            pressures = state.pressures
            rows = compaction_rows(thread, pressures, state.drops) if thread and pressures else []
            self.show_rows(rows, _compaction_words(thread, rows))

    def counted(self, state: State) -> str:
        """Return `3` or `3 + 1 silent`: the number of recorded compactions and of silent drops that lost something."""
        recorded = compaction_count(state.thread) if state.thread is not None else 0
        silent = 0
        if state.drops:
            silent = sum(drop.loss and drop.compaction is None for drop in state.drops.found)
        counts = [f"{recorded:,}"] * bool(recorded) + [f"{silent:,} silent"] * bool(silent)
        return " + ".join(counts)

    def choose(self, place: int, column: int = -1) -> None:
        row = self.table.rows[place]
        stand_at(self.desk.workbench, row.request)
        if row.shows:
            self.desk.workbench.select(row.shows)

    def open(self, place: int) -> None:
        self.choose(place)
        if self.table.rows[place].shows:
            self.desk.show_panel("Message")


def _tokens(size: BufferSize) -> str:
    if size.tokens is None:
        return "unknown"
    return grouped(size.tokens) if size.is_exact else f"≈{grouped(size.tokens)}"


def _freed_text(sizes: ChangeSizes) -> str:
    if sizes.freed is None:
        return ""
    if sizes.before.is_exact and sizes.after.is_exact:
        return grouped(sizes.freed)
    return f"≈{grouped(sizes.freed)}"


def _kept_parts_text(compaction: Compaction) -> str:
    remains = []
    if compaction.summary is not None:
        size = sum(len(part.text) for part in compaction.summary.parts if isinstance(part, Text))
        remains.append(f"summary of {plural(size, 'character')}")
    if compaction.kept:
        remains.append(f"{plural(compaction.kept, 'message')} word for word")
    if compaction.cleared:
        remains.append(f"{plural(len(compaction.cleared), 'message')} cleared")
    return ", ".join(remains)


def _compaction_words(thread: Thread | None, rows: Sequence[CompactionRow]) -> str:
    if thread is None:
        return "Open a transcript to see the compactions it records."
    if not rows:
        return "This thread records no compaction, and its buffer only grew."
    inferred = sum(bool(compaction.evidence) for compaction in thread.compactions)
    recorded = max(0, compaction_count(thread) - inferred)
    silent = len(rows) - len(thread.compactions)
    many = plural(recorded, "recorded compaction") if recorded else "No recorded compaction"
    more = f", {inferred:,} inferred" if inferred else ""
    more += f", {plural(silent, 'unrecorded change')}" if silent else ""
    return f"{many}{more}. Click a row to go to the first request after it; press Enter to open the summary."


class ProblemsPanel(ListPanel[Problem]):
    """Everything that could not be read; none of it stops the reading. A click selects the message of the line."""

    TITLE: ClassVar[str] = "Problems"
    NAME = "Problems"
    COLUMNS: ClassVar[Sequence[Column[Problem]]] = (
        Column(
            "line",
            lambda problem: f"{problem.line:,}" if problem.line else "",
            width=7,
            figures=True,
        ),
        Column("what", lambda problem: problem.what, width=42, lines=2),
        Column("excerpt", lambda problem: problem.excerpt),
        Column("file", lambda problem: problem.file, width=20),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.say_at_length()
        self.lay_out((self.says, 1), self.copy_button())

    def show_state(self, state: State) -> None:
        session = state.session
        problems = session.problems if session else ()
        if self.is_new("rows", session, len(problems)):
            self.show_rows(problems, _problem_words(session, len(problems)))

    def counted(self, state: State) -> int:
        return len(state.session.problems) if state.session else 0

    def choose(self, place: int, column: int = -1) -> None:
        problem = self.table.rows[place]
        session = self.desk.workbench.state.session
        if session is None or problem.file or not problem.line:
            return
        for thread in session.threads:
            for message in thread.messages:
                if message.line == problem.line:
                    go_to(self.desk.workbench, thread.id, None, message.id, stay=True)
                    return


def _problem_words(session: Session | None, count: int) -> str:
    if session is None:
        return "Open a transcript to see which lines of it could not be read."
    notes = " ".join(session.notes)
    if not count:
        return f"Everything in this file was read. {notes}".rstrip()
    return f"{plural(count, 'problem')}; the rest was read. {notes}".rstrip()
