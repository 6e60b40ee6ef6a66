"""Events by the harness's own names and fields, newest last: those that a run recorded, then those of our steps.

The path of the steps leads on to where redo would. What lies ahead of where we stand is shown in brackets; a click
leads there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inspector.core.jsontext import dumps
from inspector.core.outcome import Event
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.navigation import stand_at
from inspector.gui.panels.list_panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.state import State
from inspector.workbench.steps import Steps


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event, and who sent it: a step taken by hand (its place `at`), or a tier before a recorded request."""

    at: int | None
    step: str
    tier: str
    event: Event
    ahead: bool = False
    """Of a step that was undone, or before a request later than the one we stand at."""
    request: int | None = None

    def bracketed(self, text: str) -> str:
        """In brackets where it lies ahead."""
        return f"({text})" if self.ahead else text


class EventsPanel(ListPanel[EventRow]):
    """A click goes to the step that sent it, or to the request that it was sent before."""

    TITLE: ClassVar[str] = "Events"
    NAME = "Events"
    COLUMNS: ClassVar[Sequence[Column[EventRow]]] = (
        Column("step", lambda row: "" if row.at is None else row.bracketed(f"{row.at + 1}"), 5, figures=True),
        Column("of", lambda row: row.bracketed(row.step) if row.at is None else row.step, 12),
        Column("tier", lambda row: row.tier, 5),
        Column("event", lambda row: row.event.name, 27),
        Column("fields", lambda row: dumps(dict(row.event.fields))),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.say_at_length()
        self._steps: Steps | None = None
        self._at: tuple[object, int | None] | None = None
        self.setFocusProxy(self.table)
        self.lay_out((self.says, 1), self.copy_button())

    def counted(self, state: State) -> int:
        steps = state.steps
        taken = sum(len(steps.taken[at].events) for at in steps.path()) if steps else 0
        return taken + sum(not row.ahead for row in recorded_events(state))

    def show_state(self, state: State) -> None:
        """The events of our path, the newest in sight."""
        place = (state.thread, state.at)
        if state.steps is self._steps and place == self._at:
            return
        self._steps, self._at = state.steps, place
        recorded = recorded_events(state)
        before = [row for row in recorded if not row.ahead]
        found = [*before, *(step_events(state.steps) if state.steps else ()), *recorded[len(before) :]]
        if found != list(self.table.rows) or not found:
            none = "No events yet: tiers send them, in a run of our own or in the steps that lead to where we stand."
            self.show_rows(found, plural(len(found), "event") if found else none)
            if len(before) == len(recorded):
                self.table.scrollToBottom()

    def choose(self, place: int, column: int = -1) -> None:
        row = self.table.rows[place]
        if row.at is None:
            stand_at(self.desk.workbench, row.request)
        elif self._steps is not None and row.at != self._steps.at:
            self.desk.workbench.stepping.go(row.at)


def recorded_events(state: State) -> Sequence[EventRow]:
    """The events that the transcript records of this thread, in the order in which they were sent."""
    here = state.at
    return [
        EventRow(None, f"request {at}", one.tier, one.event, here is not None and at > here, at)
        for one in (state.thread.events if state.thread is not None else ())
        for at in (one.before_request,)
    ]


def step_events(steps: Steps) -> Sequence[EventRow]:
    """The events on the path through where we stand, in the order in which they were sent."""
    here, end = set(steps.path()), steps
    while (further := end.redo()) is not end:
        end = further
    return [
        EventRow(at, steps.taken[at].name, outcome.tier, event, at not in here)
        for at in end.path()
        for outcome in steps.taken[at].outcomes
        for event in outcome.events
    ]
