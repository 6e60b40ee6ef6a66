"""Search in the buffer or the session for messages that hold a text. Each is listed with the first and the last request
that holds it. The panel opens below the buffer and the message, so that all three are visible.

A click on a row goes to the first request that holds the message, a click on *Last* to the last one, and a click on
*Removed by* to the first request that no longer holds it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from inspector.core.calls import CallIndex
from inspector.core.errors import Cancelled
from inspector.core.findings.search import Hit, find_text
from inspector.core.message import part_text
from inspector.core.session import Session, Thread
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.look.build import choice, column, delayed, field, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import CONTROL_GAP, LIST_HEAD
from inspector.gui.navigation import go_to
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.message_rows import NO_CALLS, MessageRow, message_row
from inspector.workbench.state import FoundText, State

SCOPES = ("this buffer", "this thread", "all threads")
LAST, REMOVED = 5, 6
"""Columns in which a click goes to the last request that holds the message, and to the first that no longer does."""


@dataclass(frozen=True)
class MessageHit:
    """A hit and the thread in which it was found."""

    thread: Thread
    hit: Hit
    calls: CallIndex = NO_CALLS
    """The calls of the thread, which name the file or command of a result."""

    @cached_property
    def row(self) -> MessageRow:
        """The message as a row of the table: its role, tool, subject and size.

        Every paint and every change of width asks for it several times.
        """
        return message_row(self.hit.message, self.calls)

    @property
    def came(self) -> int | None:
        """The first request whose buffer holds the message; None if no buffer does."""
        return self.hit.stay.first if self.hit.stay else None

    @property
    def left(self) -> int | None:
        """The first request that no longer holds the message; None if the message is still in context."""
        return self.hit.stay.left if self.hit.stay else None

    @property
    def last(self) -> int | None:
        """The last request whose buffer holds the message; None if the message is still in context."""
        return None if self.left is None else self.left - 1


class SearchPanel(ListPanel[MessageHit]):
    """A search field and a table of the messages that hold its text."""

    TITLE: ClassVar[str] = "Search"
    HEADED: ClassVar[bool] = True
    NAME = "Messages that hold the text"
    COLUMNS: ClassVar[Sequence[Column[MessageHit]]] = (
        Column("Role", lambda match: match.row.role, width=7, least=9),
        Column("About", lambda match: _about(match.row), width=38, least=16, lines=2),
        Column("Text", lambda match: _excerpt(match.hit), least=32, lines=2),
        Column("Size", lambda match: match.row.size, width=10, figures=True),
        Column(
            "First",
            lambda match: _request(match, match.came, "in no buffer"),
            width=4,
            figures=True,
        ),
        Column("Last", lambda match: _request(match, match.last, ""), width=4, figures=True),
        Column("Removed by", lambda match: _removed_by(match), width=15, least=15),
        Column("Thread", lambda match: match.thread.title or match.thread.id, width=16, least=8),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._state = State()
        self._job = LatestJob(desk.bridge)
        self._searched: tuple[object, ...] = ()
        self._soon = delayed(self, milliseconds=180, call=self._search)
        self.field = field("Search the messages", "Search")
        self.field.textChanged.connect(self._soon.start)
        self.field.returnPressed.connect(self._first)
        self.setFocusProxy(self.field)
        self.scope = choice("Where to search", SCOPES)
        self.scope.setCurrentIndex(1)
        self.scope.currentIndexChanged.connect(self._search)
        self.case = small_button("Aa", about="Match case", name="Match case", checkable=True)
        self.case.toggled.connect(self._search)
        close = small_button("✕", self.closed.emit, about="Close the search   Esc", name="Close")
        form = row(
            label("SEARCH", role="caption"),
            (self.field, 2),
            self.case,
            self.scope,
            (self.says, 1),
            close,
            margins=LIST_HEAD,
            gap=CONTROL_GAP,
        )
        column(form, (self.table, 1), of=self, gap=0)

    def show_state(self, state: State) -> None:
        """Search again if the session or thread has changed or, if only the buffer is searched, the request."""
        self._state = state
        if self._search_key() != self._searched:
            self._search()

    def take(self, text: str) -> None:
        """Search immediately for a text that the user typed elsewhere."""
        self.field.setText(text)
        self._search()

    def _search_key(self) -> tuple[object, ...]:
        """Return all that the result depends on; sessions and threads by identity, as comparing them takes long."""
        state = self._state
        scope = self.scope.currentIndex()
        place = state.request.view if scope == 0 and state.request else None
        size = len(state.thread.messages) if state.thread else 0
        return (
            id(state.session),
            id(state.thread),
            size,
            place,
            scope,
            self.case.isChecked(),
            self.field.text(),
        )

    def _search(self) -> None:
        self._soon.stop()
        self._searched = self._search_key()
        self._job.cancel()
        text = self.field.text()
        session = self._state.session
        thread = self._state.thread
        self.table.empty = (
            "Type a text to see which messages hold it, and which requests had them in context."
        )
        if text:
            self.table.empty = ""
        if not text or session is None or thread is None:
            self._show_found(())
            return
        threads = session.threads if self.scope.currentIndex() == 2 else (thread,)
        if self.scope.currentIndex() == 0:
            ids = frozenset(map(id, self._state.buffer().messages))
        else:
            ids = None
        case = self.case.isChecked()
        self.says.setText("searching …")
        self._job.run(
            lambda task: found_in(threads, text, case, only=ids, task=task),
            self._show_found,
            lane="answer",
        )

    def _show_found(self, matches: Sequence[MessageHit]) -> None:
        self.table.show_rows(matches)
        self.table.leave_out(len(self.COLUMNS) - 1, self.scope.currentIndex() != 2)
        self.says.setText(_says(self._state.session, self.field.text(), matches))
        self.desk.workbench.show_found(_places(self.field.text(), matches) if matches else None)

    def _first(self) -> None:
        if self._soon.isActive():
            self._search()
        elif self.table.rows:
            self.table.setFocus()
            self.table.selectRow(max(0, self.table.currentIndex().row()))
            self.choose(max(0, self.table.currentIndex().row()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move from the field to the rows on the Down key."""
        if event.key() == Qt.Key.Key_Down and self.table.rows:
            self._first()
        else:
            super().keyPressEvent(event)

    def choose(self, place: int, column: int = -1) -> None:
        match = self.table.rows[place]
        request = match.came
        if column == LAST and match.last is not None:
            request = match.last
        elif column == REMOVED and match.left is not None:
            request = match.left
        stays = match.came is None or self.scope.currentIndex() == 0
        go_to(self.desk.workbench, match.thread.id, request, match.hit.message.id, stay=stays)

    def open(self, place: int) -> None:
        self.desk.show_panel("Message")

    def step(self, rows: int) -> None:
        """Go to the next hit (-1: the previous one), wrapping at the ends. If there is no hit, show the panel."""
        if not self.table.rows:
            self.desk.show_panel(self.TITLE)
            return
        now = self.table.currentIndex().row()
        place = 0 if now < 0 and rows > 0 else (now + rows) % len(self.table.rows)
        self.table.selectRow(place)
        self.choose(place)


def _places(text: str, matches: Sequence[MessageHit]) -> FoundText:
    """Return how many matches entered the buffer at each request, by thread, for the marks of the timeline."""
    places = dict[str, Counter[int]]()
    for match in matches:
        if match.came is not None:
            places.setdefault(match.thread.id, Counter())[match.came] += 1
    return FoundText(text, places)


def _says(session: Session | None, text: str, matches: Sequence[MessageHit]) -> str:
    if session is None:
        return "Open a transcript to search it."
    if not text:
        return ""
    if not matches:
        return "No message holds this text."
    return plural(len(matches), "message")


def found_in(
    threads: Sequence[Thread], text: str, case: bool, only: frozenset[int] | None, task: Task
) -> tuple[MessageHit, ...]:
    """Return the hits of all threads. Raises Cancelled between threads.

    Args:
        only: `id()` of each message to search; None: search all messages.
    """
    matches: list[MessageHit] = []
    for thread in threads:
        if task.cancelled():
            raise Cancelled("The search was stopped.")
        hits = find_text(thread, text, case)
        calls = CallIndex(thread.messages) if hits else NO_CALLS
        matches += (
            MessageHit(thread, hit, calls)
            for hit in hits
            if only is None or id(hit.message) in only
        )
    return tuple(matches)


def _about(row: MessageRow) -> str:
    """Return the tool and the file, command or query of a message."""
    return f"{row.tool} {row.subject}".strip()


def _excerpt(hit: Hit) -> str:
    text = part_text(hit.message.parts[hit.part])
    start = max(0, hit.start - 12)  # so that the text found is visible in a narrow list, too
    return ("…" if start else "") + text[start : hit.start + 200]


def _request(match: MessageHit, at: int | None, nowhere: str) -> str:
    if at is None:
        return nowhere
    return "at the end" if at >= len(match.thread.requests) else grouped(at)


def _removed_by(match: MessageHit) -> str:
    """Return what removed the message from the buffer, as far as the transcript records it."""
    if match.left is None:
        return ""
    column = next(
        (
            compaction
            for compaction in match.thread.compactions
            if compaction.before_request == match.left
        ),
        None,
    )
    if column is None:
        return "rewind or edit"
    kind = "compaction" if column.kind == "summary" else f"{column.kind}-compaction"
    return f"{column.trigger} {kind}".strip() if column.trigger != column.kind else kind
