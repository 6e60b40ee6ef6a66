"""Our own run and the window: intents go to the runner, how it stands comes back a frame at a time, and the journal is
followed like any transcript. Nothing here waits for the run.

While it is paused the playhead stands behind the last record of its thread, and steps taken there are what it goes on
with. One run at a time.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from inspector.agent.controls import Breakpoints
from inspector.agent.status import RunStatus, TurnReport
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.needs import Answer, Failure
from inspector.gui.bridge import Bridge
from inspector.gui.runs.place import Paused
from inspector.workbench.stepper import ExternalNeed
from inspector.workbench.workbench import Workbench

FRAME = 16
"""Milliseconds between two pictures of the run."""
KEPT = 500
"""So many turns are kept as lines; the journal has them all."""
PATIENCE = 5_000
"""Milliseconds in which a run that is stopped should have ended."""
Permit: TypeAlias = Literal["once", "always", "no"]


class Run(Protocol):
    """What is used of a runner (`live.agent.runner`)."""

    def go(self) -> None: ...
    def pause(self) -> None: ...
    def step_model(self) -> None: ...
    def step_tool(self) -> None: ...
    def stop(self) -> None: ...
    def break_at(self, breakpoints: Breakpoints) -> None: ...
    def permit(self, id: str, how: Permit) -> None: ...  # noqa: A002
    def replace(self, buffer: Buffer, running: Any = None) -> None: ...
    def answer(self, reply: Answer | Failure) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class About:
    """What a run is, for those who show it."""

    task: str
    record: str
    workspace: str
    provider: str
    model: str
    policy: str
    settings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    """What had to be changed of the buffer that it was forked from."""
    remote: bool = False
    """Its provider can compact by itself."""


Tell: TypeAlias = Callable[[RunStatus], None]
Begin: TypeAlias = Callable[[Tell, Breakpoints], tuple[Run, About]]
"""Makes a runner and starts it, off the GUI thread. Raises InspectorError."""


class Running(QObject):
    """`changed`: `standing`, `reports` or `about` are others."""

    changed = Signal()
    _arrived = Signal()

    def __init__(self, workbench: Workbench, bridge: Bridge, follow: Callable[[str], None]) -> None:
        super().__init__()
        self._workbench, self._bridge, self._follow = workbench, bridge, follow
        self._run: Run | None = None
        self._latest = RunStatus()
        self._on_its_way = self._closed = self._busy = self._given_up = False
        self._then: Callable[[], object] | None = None
        self._new: deque[TurnReport] = deque()
        self._lent: ExternalNeed | None = None
        self.about: About | None = None
        self.standing: RunStatus | None = None
        self.breakpoints = Breakpoints()
        self.reports: deque[TurnReport] = deque(maxlen=KEPT)
        self.paused = Paused(workbench)
        self._frame = QTimer(self, singleShot=True, interval=FRAME)
        self._frame.timeout.connect(self._show)
        self._arrived.connect(self._frame.start)
        workbench.subscribe(lambda state: self._seen())

    # -- how it stands -------------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Is a run under way, or about to be?"""
        if self._closed or self._given_up or self.standing is None:
            return False
        return self._busy or (self._run is not None and self.standing.state != "ended")

    @property
    def shown(self) -> bool:
        """Is the open transcript the run's journal?"""
        session = self._workbench.state.session
        return session is not None and self.about is not None and session.path == self.about.record

    def _seen(self) -> None:
        """The State is another: the journal may have caught up with a pause, or be open again while a need waits."""
        self.paused.settle(self.shown)
        if self._lent is None and self.standing is not None and self.standing.state == "needing" and self.shown:
            QTimer.singleShot(0, self, lambda: self._lend(self.standing))  # the others are still being told

    def _tell(self, standing: RunStatus) -> None:
        """On the run's threads: keep the newest, and ask for a picture unless one is on its way."""
        report = standing.report
        if report is not None and report is not self._latest.report:
            self._new.append(report)
        self._latest = standing
        if not self._on_its_way and not self._closed:
            self._on_its_way = True
            self._arrived.emit()

    def _show(self) -> None:
        self._on_its_way = False  # before it is looked at: what comes now asks again
        if self._closed or self._run is None:
            return
        before, self.standing = self.standing, self._latest
        while self._new:
            self.reports.append(self._new.popleft())
        if self.about is not None:
            self.paused.tell(self.standing, self.about, before)
            self.paused.settle(self.shown)
        self._lend(self.standing)
        self.changed.emit()
        if self.standing.state == "ended":
            self._ended()

    def _lend(self, standing: RunStatus | None) -> None:
        """A need that waits for the person comes to the need panel, once; one that was met elsewhere leaves it."""
        need = standing.need if standing is not None and standing.state == "needing" else None
        if self._lent is not None and (need is None or self._lent.need is not need):
            if self._lent.need is not None:
                self._workbench.stepping.give_up()
            self._lent = None
        if need is not None and self._lent is None and self.shown:
            self.show_need()

    def show_need(self) -> None:
        """Bring the open need to the need panel (again)."""
        run, standing, about = self._run, self.standing, self.about
        if run is not None and about is not None and standing is not None and standing.need is not None:
            who = standing.verdict.tier if standing.verdict is not None else "The run"
            self._lent = ExternalNeed(who, about.policy, standing.need, self._answer)
            self._workbench.stepping.take_external(self._lent)

    def _answer(self, reply: Answer | Failure) -> None:
        try:
            if self._run is not None:
                self._run.answer(reply)
        except InspectorError as failure:  # it was stopped meanwhile
            self._workbench.failed(str(failure))

    # -- intents -------------------------------------------------------------------------------------------------------

    def begin(self, make: Begin) -> None:
        """Start a run. What keeps it from starting is told as the State's failure."""
        if self.active:
            self._workbench.failed("A run is under way: stop it before you start another.")
            return
        former, self._run = self._run, None
        self._busy = True
        self.standing, self.about = RunStatus(why="the run is being prepared"), None
        self.reports.clear()
        self._new.clear()
        self._latest = self.standing
        self.changed.emit()

        def job() -> tuple[Run, About]:
            if former is not None:
                former.close()
            return make(self._tell, self.breakpoints)

        self._bridge.run(
            lambda task: job(), self._begun, self._failed, fell=lambda failure: self._not_begun(), waits=True
        )

    def _begun(self, made: tuple[Run, About]) -> None:
        self._busy = False
        self._run, self.about = made
        about = self.about
        self._workbench.stepping.choose(policy=about.policy, settings=about.settings, remote=about.remote)
        self.show_journal()
        self._show()

    def _failed(self, error: InspectorError) -> None:
        self._not_begun()
        self._workbench.failed(str(error))

    def _not_begun(self) -> None:
        """Nothing runs, so that another can be started; unless it runs and only could not be shown."""
        self._busy = False
        if self._run is None:
            self.standing = None
        self.changed.emit()

    def show_journal(self) -> None:
        """Open the journal of the run, and follow it."""
        if self.about is not None:
            self._follow(self.about.record)

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Stop there from now on, in this run and the next."""
        self.breakpoints = breakpoints
        if self._run is not None:
            self._run.break_at(breakpoints)
        self.changed.emit()

    def go(self) -> None:
        """Run on, with the buffer that the person made of it, where they took steps."""
        self._resume(lambda run: run.go())

    def go_as_it_was(self) -> None:
        """Run on with the buffer as it was; the steps are dropped."""
        self.paused.forget()
        self._resume(lambda run: run.go())

    def step_model(self) -> None:
        """Run on until one model call has been answered."""
        self._resume(lambda run: run.step_model())

    def step_tool(self) -> None:
        """Run on until one tool call has its result."""
        self._resume(lambda run: run.step_tool())

    def _resume(self, how: Callable[[Run], None]) -> None:
        run, standing = self._run, self.standing
        if run is None or standing is None or standing.state != "paused":
            return
        self._workbench.stepping.give_up()
        changed = self.paused.changed()
        try:
            if changed is not None:
                run.replace(*changed)
        except InspectorError as failure:  # it has ended meanwhile
            self._workbench.failed(str(failure))
            return
        self.paused.leave()
        how(run)

    def pause(self) -> None:
        """Stop at the next place where one can."""
        if self._run is not None and self.active:
            self._run.pause()

    def stop(self) -> None:
        """End the run now."""
        if self._run is not None and self.active:
            self._run.stop()

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission of that id: the one that was read, not the one that may have come meanwhile."""
        if self._run is not None:
            self._run.permit(id, how)

    def forget(self) -> None:
        """A run that is over is no longer shown."""
        if not self.active:
            self.standing = None
            self.changed.emit()

    def end(self, then: Callable[[], object]) -> None:
        """Stop it, and call `then` when it has ended, or has not within a few seconds."""
        self._then = then
        self.stop()
        QTimer.singleShot(PATIENCE, self._ended)
        if not self.active:
            self._ended()

    def _ended(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            self._busy, self._given_up = False, True
            QTimer.singleShot(0, then)

    def close(self) -> None:
        """The window goes: nothing arrives any more, and the run ends."""
        self._closed = True
        self._frame.stop()
        if self._run is not None:
            self._run.close()
