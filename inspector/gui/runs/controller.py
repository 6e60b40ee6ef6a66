"""Connects a run of the built-in agent with the window. Only one run is active at a time.

Actions of the user are passed to the runner, its status is shown in the State at most once per frame, and the journal
is followed like any transcript. Nothing here waits for the run.

While the run is paused, the playhead is after the last record of its thread. Steps taken there change the buffer with
which the run continues.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from PySide6.QtCore import QTimer

from inspector.agent.status import Breakpoints, Permit, RunStatus, TurnReport
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.needs import Answer, Failure
from inspector.gui.bridge import Bridge
from inspector.gui.live.controller import LiveController
from inspector.gui.live.status import RUN_IS_ACTIVE
from inspector.gui.navigation import go_to
from inspector.gui.settings import Settings
from inspector.safety.folders import make_private_folder
from inspector.workbench.live import RunView
from inspector.workbench.state import State
from inspector.workbench.stepper import ExternalNeed
from inspector.workbench.steps import Steps
from inspector.workbench.workbench import Workbench

if TYPE_CHECKING:
    from inspector.agent.plan import Plan
    from inspector.agent.runner import Runner

FRAME = 16
"""Minimum milliseconds between two updates of the run's status."""
KEPT = 500
"""Maximum number of turns that are listed. The journal has all of them."""
PATIENCE = 5_000
"""Milliseconds within which a stopped run should have ended."""
CATCH_UP = 1.5
"""Seconds that the journal may take to show the buffer of the run. After that its end is shown anyway."""
_PLACE = "run/stop"
"""Key of the settings under which the breakpoints of the last run are stored."""
MakePlan: TypeAlias = "Callable[[], Plan]"
"""A function that makes the plan in a job. Raises InspectorError."""


class StartedRun(NamedTuple):
    """A run that was started, and what it was started with."""

    runner: "Runner"
    plan: "Plan"
    remote: bool
    """True if the run's provider can compact remotely."""

    def close(self) -> None:
        """Stop the run and wait for its thread."""
        self.runner.close()


class RunController(LiveController[StartedRun, RunView]):
    """Passes the actions of the user to the run and shows its status as `State.run`."""

    def __init__(
        self,
        workbench: Workbench,
        bridge: Bridge,
        settings: Settings,
        follow: Callable[[str], None],
    ) -> None:
        super().__init__(
            workbench, bridge, follow, FRAME, lambda state: state.run, workbench.show_run
        )
        self._settings = settings
        self._latest = RunStatus()
        self._given_up = False
        self._then: Callable[[], object] | None = None
        self._new: deque[TurnReport] = deque()
        self._path = ""
        """Path of the session that was opened last."""
        self._need: ExternalNeed | None = None
        self._pause = Pause(workbench)
        self.breakpoints = kept_breakpoints(settings)
        workbench.subscribe(self._follow_state)

    @property
    def _runner(self) -> "Runner | None":
        return self._service.runner if self._service is not None else None

    @property
    def active(self) -> bool:
        """True if a run is active or about to start."""
        return (
            self.status is not None and self.status.active and not (self._closed or self._given_up)
        )

    def _change(self, **changes: Any) -> None:
        if self.status is not None:
            self._workbench.show_run(replace(self.status, **changes))

    def _follow_state(self, state: State) -> None:
        """Go to the paused buffer, remove a finished run or show a waiting need, if the State now allows it."""
        self._pause.settle(state.run_is_open)
        self._remove_finished_run(state)
        if (
            self._need is None
            and state.run is not None
            and state.run.now.state == "needing"
            and state.run_is_open
        ):
            # In the next turn, because other subscribers have not received the State yet.
            QTimer.singleShot(0, self, self._pass_need_on)

    def _remove_finished_run(self, state: State) -> None:
        """Remove a finished run when another session is opened."""
        path = state.session.path if state.session is not None else ""
        before = self._path
        self._path = path or self._path
        if state.run is not None and state.run.record == before != self._path and not self.active:
            QTimer.singleShot(0, self, self.forget)  # after all subscribers

    def _store_status(self, now: RunStatus) -> None:
        """Store the newest status of the run and request an update. Called on the run's threads."""
        report = now.report
        if report is not None and report is not self._latest.report:
            self._new.append(report)
        self._latest = now
        self._frames.ask()

    def _show_status(self) -> None:
        status = self.status
        now = self._latest
        if self._closed or self._runner is None or status is None or status.plan is None:
            return
        reports = status.reports
        if self._new:
            new = [self._new.popleft() for _ in range(len(self._new))]
            reports = (*reports, *new)[-KEPT:]
        self._pause.tell(now, status.now, status.plan.policy)
        self._change(
            now=now,
            reports=reports,
            pausing=status.pausing and now.state not in ("paused", "ended"),
        )
        self._pass_need_on()
        if now.state == "ended":
            self._finish_ending()

    # -- a need that waits for the person ------------------------------------------------------------------------------

    def _pass_need_on(self) -> None:
        """Show a new need in the need panel once. Remove it if it was answered elsewhere."""
        now = self.status.now if self.status is not None else None
        need = now.need if now is not None and now.state == "needing" else None
        if self._need is not None and (need is None or self._need.need is not need):
            if self._need.need is not None:
                self._workbench.stepping.give_up()
            self._need = None
        if need is not None and self._need is None and self._workbench.state.run_is_open:
            self.show_need()

    def show_need(self) -> None:
        """Show the open need in the need panel, even if it was shown before."""
        status = self.status
        if (
            self._runner is not None
            and status is not None
            and status.plan is not None
            and status.now.need is not None
        ):
            who = status.now.verdict.tier if status.now.verdict is not None else "The run"
            self._need = ExternalNeed(who, status.plan.policy, status.now.need, reply=self._answer)
            self._workbench.stepping.take_external(self._need)

    def _answer(self, reply: Answer | Failure) -> None:
        try:
            if self._runner is not None:
                self._runner.answer(reply)
        except InspectorError as failure:  # the run was stopped meanwhile
            self._workbench.failed(str(failure))

    # -- intents -------------------------------------------------------------------------------------------------------

    def begin(self, make: MakePlan, paused: bool = False) -> None:
        """Start a run. An error becomes the State's failure.

        Args:
            make: Makes the plan; called in a job.
            paused: Stop before the first model call.
        """
        if self.active:
            self._workbench.failed(RUN_IS_ACTIVE)
            return
        former = self._release()
        self._latest = RunStatus(why="the run is being prepared")
        self._new.clear()
        self._workbench.show_run(RunView(self._latest, self.breakpoints))

        def start() -> StartedRun:
            if former is not None:
                former.close()
            plan = make()
            make_private_folder(plan.record.parent)
            from inspector.agent.run import compacts_remotely
            from inspector.agent.runner import Runner

            remote = compacts_remotely(plan)
            runner = Runner(plan, self._store_status, self.breakpoints)
            runner.start(paused)
            return StartedRun(runner, plan, remote)

        self._start(start)

    def _begin_work(self, service: StartedRun) -> None:
        self._change(plan=service.plan, remote=service.remote)
        if self._workbench.state.run_is_open:
            self._workbench.stepping.adopt(
                service.plan.policy, service.plan.all_settings, service.remote
            )

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Set the breakpoints of this run and of later ones."""
        self.breakpoints = breakpoints
        keep_breakpoints(self._settings, breakpoints)
        if self._runner is not None:
            self._runner.break_at(breakpoints)
        self._change(breakpoints=breakpoints)

    def go(self) -> None:
        """Continue the run with the buffer after the user's steps, if there are any."""
        self._resume(lambda runner: runner.go())

    def go_as_it_was(self) -> None:
        """Discard the user's steps and continue the run with the unchanged buffer."""
        self._pause.forget()
        self._resume(lambda runner: runner.go())

    def step_model(self) -> None:
        """Continue until one model call has been answered."""
        self._resume(lambda runner: runner.step_model())

    def step_tool(self) -> None:
        """Continue until one tool call has its result."""
        self._resume(lambda runner: runner.step_tool())

    def _resume(self, how: "Callable[[Runner], None]") -> None:
        runner = self._runner
        status = self.status
        if runner is None or status is None or status.now.state != "paused":
            return
        self._workbench.stepping.give_up()
        changed = self._pause.changed()
        try:
            if changed is not None:
                runner.replace(*changed)
        except InspectorError as failure:  # the run has ended meanwhile
            self._workbench.failed(str(failure))
            return
        self._pause.leave()
        how(runner)

    def pause(self) -> None:
        """Pause before the next tier, model call or tool."""
        if self._runner is not None and self.status is not None and self.active:
            self._runner.pause()
            self._change(pausing=self.status.now.state != "paused")

    def stop(self) -> None:
        """Stop the run without waiting for its end."""
        if self._runner is not None and self.active:
            self._runner.stop()

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission request with this id. A newer request that the user has not read stays open."""
        if self._runner is not None:
            self._runner.permit(id, how)

    def forget(self) -> None:
        """Remove a finished run from the State."""
        if not self.active:
            self._workbench.show_run(None)

    def end(self, then: Callable[[], object]) -> None:
        """Stop the run and call `then` when it has ended, at the latest after PATIENCE milliseconds."""
        self._then = then
        self.stop()
        QTimer.singleShot(PATIENCE, self._finish_ending)
        if not self.active:
            self._finish_ending()

    def _finish_ending(self) -> None:
        then = self._then
        self._then = None
        if then is not None:
            self._given_up = True
            QTimer.singleShot(0, then)


class Pause:
    """Shows a paused run in the window, after the last record of its thread.

    Steps start from the run's own buffer and running state, so that the changed buffer can be handed back message by
    message.
    """

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._now: RunStatus | None = None
        self._policy = ""
        self._placed = False
        self._since = 0.0

    def tell(self, now: RunStatus, before: RunStatus, policy: str) -> None:
        """Store a new status of the run. It begins a new pause if the run was not paused before."""
        if now.state != "paused":
            self._now = None
        elif before.state != "paused" or self._now is None:
            self._now = now
            self._policy = policy
            self._placed = False
            self._since = monotonic()
            QTimer.singleShot(
                int(CATCH_UP * 1000) + 50, lambda: self.settle(self._workbench.state.run_is_open)
            )

    def settle(self, is_shown: bool) -> None:
        """Go to the paused buffer as soon as the journal shows it. `is_shown`: the journal is the open session."""
        if self._now is None or self._placed or not is_shown:
            return
        if self._has_caught_up(self._now) or monotonic() - self._since > CATCH_UP:
            self._placed = True
            # In the next turn, because other subscribers may not have received the State yet.
            QTimer.singleShot(0, self._go_to_pause)

    def _has_caught_up(self, now: RunStatus) -> bool:
        session = self._workbench.state.session
        threads = session.threads if session is not None else ()
        thread = next((candidate for candidate in threads if candidate.id == now.thread), None)
        messages = now.buffer.messages
        if thread is None or len(thread.end) != len(messages):
            return False
        return not messages or next(thread.end.backwards()).id == messages[-1].id

    def _go_to_pause(self) -> None:
        if self._now is None:
            return
        steps = Steps(
            self._now.thread,
            request=None,
            policy=self._policy,
            origin=self._now.buffer,
            running=self._now.running,
        )
        state = self._workbench.state
        self._workbench.show(
            replace(state, trees=MappingProxyType({**state.trees, steps.start: steps}))
        )
        go_to(self._workbench, self._now.thread, None, "")

    def changed(self) -> tuple[Buffer, Any] | None:
        """Return the changed buffer and the policy's running state (None: unchanged); None if there are no steps.

        Unchanged messages are replaced by the run's own message objects.
        """
        now = self._now
        steps = self._workbench.state.run_steps
        if now is None or steps is None:
            return None
        own = {message.id: message for message in now.buffer.messages}
        messages = tuple(
            _prefer_own(message, own.get(message.id)) for message in steps.buffer.messages
        )
        return Buffer(
            messages, now.buffer.prompt
        ), steps.state if steps.policy == self._policy else None

    def forget(self) -> None:
        """Discard the steps that were taken on the paused buffer."""
        now = self._now
        state = self._workbench.state
        if now is not None and state.run_is_open:
            trees = {
                key: tree for key, tree in state.trees.items() if key[:2] != (now.thread, None)
            }
            self._workbench.show(replace(state, trees=MappingProxyType(trees)))

    def leave(self) -> None:
        """Make the playhead follow the newest request of the resumed run again, if it was at the end."""
        now = self._now
        state = self._workbench.state
        self.forget()
        self._now = None
        if (
            now is not None
            and state.run_is_open
            and state.at is None
            and state.thread_id == now.thread
        ):
            self._workbench.last()


def _prefer_own(message: Message, own: Message | None) -> Message:
    """Return the run's own message if the one read from the journal differs only in line and time."""
    if own is None or message is own:
        return message
    return own if replace(message, line=own.line, time=own.time) == own else message


def keep_breakpoints(settings: Settings, now: Breakpoints) -> None:
    """Store the breakpoints for the next run."""
    words = [name for name in ("requests", "overflow", "errors") if getattr(now, name)]
    words += [f"watermark={now.watermark}"] if now.watermark is not None else []
    words += [f"tier={name}" for name in sorted(now.tiers)] + [
        f"tool={name}" for name in sorted(now.tools)
    ]
    settings.keep_text(_PLACE, " ".join(words))


def kept_breakpoints(settings: Settings) -> Breakpoints:
    """Return the breakpoints of the last run, except those that cannot be read."""
    words = settings.text(_PLACE, "").split()
    stored = dict(word.split("=", 1) for word in words if "=" in word)
    try:
        watermark = float(stored["watermark"]) if "watermark" in stored else None
    except ValueError:
        watermark = None
    tiers = frozenset({stored["tier"]}) if "tier" in stored else frozenset[str]()
    tools = frozenset({stored["tool"]}) if "tool" in stored else frozenset[str]()
    return Breakpoints(
        "requests" in words,
        watermark,
        tiers,
        overflow="overflow" in words,
        tools=tools,
        errors="errors" in words,
    )
