"""The calls of the session that is open, of whatever format, as a network table: newest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from inspector.core.session import Request, Session
from inspector.core.usage import Usage
from inspector.core.words import plural
from inspector.gui.bridge import LatestJob
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, row
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped, percent
from inspector.gui.navigation import go_to
from inspector.gui.widgets.small import Elided
from inspector.gui.widgets.table import Column, Rows


@dataclass(frozen=True, slots=True)
class ThreadRequest:
    """A request, and whose it is."""

    thread: str
    request: Request


def calls_of(session: Session) -> list[ThreadRequest]:
    """Of all threads, the newest first; what has no time comes last. O(n log n)."""
    found = [ThreadRequest(thread.id, request) for thread in session.threads for request in thread.requests]
    return sorted(found, key=lambda one: (one.request.time, one.request.index), reverse=True)


def _cached(usage: Usage) -> str:
    return percent(usage.cache_read / usage.prompt, 0) if usage.prompt and usage.cache_read else ""


def _time(one: ThreadRequest) -> str:
    """`2026-03-02 09:50:20`."""
    return one.request.time[:19].replace("T", " ")


def _reported(one: ThreadRequest, name: str) -> str:
    usage = one.request.usage
    return grouped(getattr(usage, name)) if usage is not None else "–"


COLUMNS: Sequence[Column[ThreadRequest]] = (
    Column("request", lambda one: grouped(one.request.index), 6, figures=True),
    Column("thread", lambda one: one.thread, 12),
    Column("time", _time, 19),
    Column("model", lambda one: one.request.model),
    Column("messages", lambda one: grouped(len(one.request.view)), 8, figures=True),
    Column("prompt", lambda one: _reported(one, "prompt"), 8, figures=True),
    Column("cached", lambda one: _cached(one.request.usage) if one.request.usage else "", 6, figures=True),
    Column("output", lambda one: _reported(one, "output"), 7, figures=True),
    Column("ended", lambda one: one.request.finish, 12),
)


_TIME = 2
"""The column that is left out where nothing says when."""


class CallTable(QWidget):
    """A click stands at the request, a double click shows its buffer."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._session: Session | None = None
        self._job = LatestJob(desk.bridge)
        self.says = Elided("quiet")
        self.table: Rows[ThreadRequest] = Rows("Calls of the session that is open", COLUMNS)
        self.table.setSelectionMode(Rows.SelectionMode.SingleSelection)
        self.table.chosen.connect(lambda place, _: self._stand_at(place))
        self.table.opened.connect(self._open)
        head = row(label("CALLS", role="caption"), (self.says, 1), gap=9)
        column(head, (self.table, 1), of=self, gap=4)

    def show_session(self, session: Session | None) -> None:
        """Its calls; of a session that grows the rows come as they are written."""
        if session is self._session:
            return
        if session is None or self._session is None or session.path != self._session.path:
            self._job.cancel()  # or its rows would stand there as this one's
            self.table.show_rows(())
            self.says.show_text("")
        self._session = session
        if session is not None and not self._job.busy:
            self._work_out(session)

    def _work_out(self, session: Session) -> None:
        def done(found: list[ThreadRequest]) -> None:
            self.table.show_rows(found)
            self.table.leave_out(_TIME, not any(one.request.time for one in found))
            what = plural(len(found), "call")
            self.says.show_text(f"{what} of the session that is open: a click stands there, a double click reads it")
            if self._session is not session and self._session is not None:
                self._work_out(self._session)

        self._job.run(lambda task: calls_of(session), done)

    def _stand_at(self, place: int) -> None:
        one = self.table.rows[place]
        go_to(self._desk.workbench, one.thread, one.request.index, "")

    def _open(self, place: int) -> None:
        self._stand_at(place)
        self._desk.show_panel("Buffer")
