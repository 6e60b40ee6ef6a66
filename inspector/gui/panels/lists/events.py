"""Events sent by tiers, with a sentence about each: those of the current step or, on demand, of all steps and requests
up to here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inspector.core.jsontext import dumps
from inspector.core.outcome import Event
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.look.build import small_button
from inspector.gui.navigation import stand_at
from inspector.gui.panels.panel import ListPanel
from inspector.gui.widgets.table import Column
from inspector.workbench.state import State
from inspector.workbench.steps import Steps
from inspector.workbench.words.event_words import event_words

NONE = "No events yet. A tier sends events when it runs, in a recorded run or in your steps."


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event and its sender: a step that the user took (its index `at`), or a tier before a recorded request."""

    at: int | None
    step: str
    tier: str
    event: Event
    ahead: bool = False
    """Was the event sent by a step that was undone, or before a request after the playhead?"""
    request: int | None = None

    @property
    def sender(self) -> str:
        """Return `1 L0` or `request 78`, in brackets if the event is ahead."""
        text = self.step if self.at is None else f"{self.at + 1} {self.step}"
        return f"({text})" if self.ahead else text


class EventsPanel(ListPanel[EventRow]):
    """Events with their names and fields in the harness, the newest last. A click goes to the step or request."""

    TITLE: ClassVar[str] = "Events"
    NAME = "Events"
    COLUMNS: ClassVar[Sequence[Column[EventRow]]] = (
        Column("step", lambda row: row.sender, width=13),
        Column("tier", lambda row: row.tier, width=5),
        Column("event", lambda row: row.event.name, width=27, least=16),
        Column("meaning", lambda row: event_words(row.event), least=34, lines=3),
        Column("fields", lambda row: dumps(dict(row.event.fields)), width=40, least=10),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.say_at_length()
        self.setFocusProxy(self.table)
        about = "Show the events of all earlier steps and requests, not only those of this step"
        self.all = small_button("all", self._show, about=about, checkable=True)
        self.lay_out((self.says, 1), self.all, self.copy_button())

    def counted(self, state: State) -> int:
        if _own_step(state) is not None:
            return len(_events_of_own_step(state))
        return sum(not row.ahead for row in event_rows(state))

    def show_state(self, state: State) -> None:
        """Show the events of the step or, if no step is shown, of the whole path, and scroll to the newest."""
        if self.is_new("rows", state.steps, state.thread, state.at):
            self._show()

    def _show(self) -> None:
        state = self.desk.workbench.state
        is_step = _own_step(state) is not None
        self.all.setVisible(is_step)
        only_step = is_step and not self.all.isChecked()
        rows = _events_of_own_step(state) if only_step else event_rows(state)
        words = self._says(state, rows, only_step)
        if rows and rows == list(self.table.rows):
            self.says.setText(words)
            return
        self.show_rows(rows, words)
        if rows and not rows[-1].ahead:
            self.table.scrollToBottom()

    def _says(self, state: State, rows: Sequence[EventRow], only_step: bool) -> str:
        if not only_step:
            return plural(len(rows), "event") if rows else NONE
        name = state.shown_step.name if state.shown_step is not None else "this step"
        return f"{plural(len(rows), 'event')} of {name}" if rows else f"{name} sent no events."

    def choose(self, place: int, column: int = -1) -> None:
        row = self.table.rows[place]
        steps = self.desk.workbench.state.steps
        if row.at is None:
            stand_at(self.desk.workbench, row.request)
        elif steps is not None and row.at != steps.at:
            self.desk.workbench.stepping.go(row.at)


def _own_step(state: State) -> int | None:
    """Return the index of the user's step that is shown; None if the recorded buffer is shown."""
    return state.steps.at if state.steps is not None and state.shown_step is not None else None


def _events_of_own_step(state: State) -> list[EventRow]:
    step = _own_step(state)
    if state.steps is not None:
        return [row for row in step_events(state.steps) if row.at == step]
    return []


def event_rows(state: State) -> list[EventRow]:
    """Return all events: of the recorded requests up to the playhead, then of the steps, then of later requests."""
    recorded = recorded_events(state)
    before = [row for row in recorded if not row.ahead]
    steps = step_events(state.steps) if state.steps else ()
    return [*before, *steps, *recorded[len(before) :]]


def recorded_events(state: State) -> Sequence[EventRow]:
    """Return the events that the transcript records of the thread, in the order in which they were sent."""
    current = state.at
    events = state.thread.events if state.thread is not None else ()
    return [
        EventRow(
            at=None,
            step=f"request {recorded.before_request:,}",
            tier=recorded.tier,
            event=recorded.event,
            ahead=current is not None and recorded.before_request > current,
            request=recorded.before_request,
        )
        for recorded in events
    ]


def step_events(steps: Steps) -> Sequence[EventRow]:
    """Return the events of the path through the current step, with steps to redo, in the order they were sent."""
    path = set(steps.path())
    end = steps
    while (further := end.redo()) is not end:
        end = further
    rows = list[EventRow]()
    for at in end.path():
        taken = steps.taken[at]
        ahead = at not in path
        for outcome in taken.outcomes:
            tier = outcome.tier
            rows += [
                EventRow(at, step=taken.name, tier=tier, event=event, ahead=ahead)
                for event in outcome.events
            ]
    return rows
