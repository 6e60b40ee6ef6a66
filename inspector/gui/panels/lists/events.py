"""Events by the harness's own names and fields, newest last: those that a run recorded, then those of our steps.

The path of the steps leads on to where redo would. What lies ahead of where we stand is told in brackets; a click leads
there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inspector.core.jsontext import dumps
from inspector.core.outcome import Event
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.list_panel import copy_button, lay_out_list
from inspector.gui.widgets.rows import Column, Rows
from inspector.workbench.state import State
from inspector.workbench.steps import Steps


@dataclass(frozen=True, slots=True)
class Sent:
    """An event, and who sent it: a step taken by hand (its place `at`), or a tier before a recorded request."""

    at: int | None
    step: str
    tier: str
    event: Event
    ahead: bool = False
    """Of a step that was undone, or before a request that is behind the one we stand at."""
    request: int | None = None


COLUMNS: Sequence[Column[Sent]] = (
    Column("step", lambda sent: "" if sent.at is None else _bracketed(f"{sent.at + 1}", sent), 5, figures=True),
    Column("of", lambda sent: _bracketed(sent.step, sent) if sent.at is None else sent.step, 12),
    Column("tier", lambda sent: sent.tier, 5),
    Column("event", lambda sent: sent.event.name, 27),
    Column("fields", lambda sent: dumps(dict(sent.event.fields))),
)


class EventsPanel(Panel):
    """A click goes to the step that sent it, or to the request that it was sent before."""

    TITLE: ClassVar[str] = "Events"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._steps: Steps | None = None
        self._at: tuple[object, int | None] | None = None
        self.says = label(role="quiet")
        self.table: Rows[Sent] = Rows("Events", COLUMNS)
        self.copy = copy_button(self.table)
        self.table.chosen.connect(self._go)
        self.setFocusProxy(self.table)
        lay_out_list(self, self.says, self.copy, self.table)

    def receive(self, state: State) -> None:
        """The count stands in the title, seen or not."""
        steps = state.steps
        count = sum(len(steps.taken[at].events) for at in steps.path()) if steps else 0
        count += sum(not sent.ahead for sent in recorded_in(state))
        self.setWindowTitle(f"{self.TITLE} ({count:,})" if count else self.TITLE)
        super().receive(state)

    def show_state(self, state: State) -> None:
        """The events of our path, the newest in sight."""
        standing = (state.thread, state.at)
        if state.steps is self._steps and standing == self._at:
            return
        self._steps, self._at = state.steps, standing
        recorded = recorded_in(state)
        behind = [sent for sent in recorded if not sent.ahead]
        found = [*behind, *(sent_on(state.steps) if state.steps else ()), *recorded[len(behind) :]]
        if found != list(self.table.rows):
            self.table.show_rows(found)
            if len(behind) == len(recorded):
                self.table.scrollToBottom()
        self.table.setVisible(bool(found))
        self.copy.setVisible(bool(found))
        none = "No events yet: tiers send them, in a run of our own or in the steps that lead to where we stand."
        self.says.setText(plural(len(found), "event") if found else none)

    def _go(self, place: int, column: int) -> None:
        sent = self.table.rows[place]
        if sent.at is None:
            thread = self.desk.workbench.state.thread
            known = thread is not None and sent.request is not None and sent.request < len(thread.requests)
            self.desk.workbench.move(sent.request if known else None)
        elif self._steps is not None and sent.at != self._steps.at:
            self.desk.workbench.stepping.go(sent.at)


def _bracketed(text: str, sent: Sent) -> str:
    return f"({text})" if sent.ahead else text


def recorded_in(state: State) -> Sequence[Sent]:
    """The events that the transcript records of this thread, in the order in which they were sent."""
    events = state.thread.events if state.thread is not None else ()
    here = state.at
    return [
        Sent(
            None,
            f"request {one.before_request}",
            one.tier,
            one.event,
            here is not None and one.before_request > here,
            one.before_request,
        )
        for one in events
    ]


def sent_on(steps: Steps) -> Sequence[Sent]:
    """The events on the path through where we stand, in the order in which they were sent."""
    here, end = set(steps.path()), steps
    while (further := end.redo()) is not end:
        end = further
    return [
        Sent(at, steps.taken[at].name, outcome.tier, event, at not in here)
        for at in end.path()
        for outcome in steps.taken[at].outcomes
        for event in outcome.events
    ]
