"""Starts runs for the window: a new run, the demo, a run forked from the current buffer, or one resumed from its
journal.

This module shows the dialogs; slow work (loading SDKs, starting from a long buffer) is done in a job. The packages of a
run are imported when the first run is requested.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from inspector.core.words import plural
from inspector.gui.bridge import Bridge
from inspector.gui.commands import Command
from inspector.gui.dialogs.ask import is_sure
from inspector.gui.live.status import RUN_IS_ACTIVE
from inspector.gui.runs.controller import MakePlan, RunController
from inspector.gui.settings import Settings
from inspector.workbench.policy_input import start_of
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench

if TYPE_CHECKING:
    from inspector.agent.plan import Plan

JOURNAL = "journal"
"""Name of the format of the journals that runs write."""


class RunDesk:
    """The actions that start runs. The window holds the object as `runs`; panels reach it through the desk."""

    def __init__(
        self,
        workbench: Workbench,
        bridge: Bridge,
        settings: Settings,
        window: QWidget,
        follow: Callable[[str], None],
    ) -> None:
        self._workbench = workbench
        self._bridge = bridge
        self._settings = settings
        self._window = window
        self.controller = RunController(workbench, bridge, settings, follow)

    def ask_new(self) -> None:
        """Ask for a plan and start the run."""
        from inspector.gui.runs.dialog import RunDialog, remembered

        if self._free():
            dialog = RunDialog(
                self._window, self._settings, self._bridge, first=remembered(self._settings)
            )
            dialog.exec()
            if (plan := dialog.plan) is not None:
                self.controller.begin(lambda: plan, dialog.paused.isChecked())

    def demo(self) -> None:
        """Run the demo: no key, a small context window, a workspace made for it. Every tier fires within a minute."""
        if self._free():
            self.controller.begin(_demo(self._workbench.state.choices.usual_policy))

    def fork(self) -> None:
        """Ask for the next task from the current buffer, recorded or stepped, and run it."""
        from inspector.gui.runs.dialog import RunDialog, remembered

        state = self._workbench.state
        if state.thread is None or not self._free():
            return
        first = replace(
            remembered(self._settings),
            task="",
            policy=state.choices.policy,
            settings=state.choices.settings,
            window=state.window.tokens if state.window else None,
        )
        own = bool(state.buffer().prompt.system)
        dialog = RunDialog(
            self._window, self._settings, self._bridge, first, says=_fork_words(state), own=own
        )
        dialog.exec()
        if dialog.plan is not None:
            self.controller.begin(
                _fork(dialog.plan, state, dialog.ours.isChecked()), dialog.paused.isChecked()
            )

    def fork_at(self, at: int) -> None:
        """Ask for the next task from another request, and run it."""
        self._workbench.move(at)
        self.fork()

    @property
    def resumable(self) -> bool:
        """True if the open transcript is the journal of a run that can be resumed."""
        state = self._workbench.state
        under_way = self.controller.active and state.run_is_open
        return state.session is not None and state.session.format == JOURNAL and not under_way

    def resume(self) -> None:
        """Resume the run whose journal is open."""
        session = self._workbench.state.session
        if session is None or session.format != JOURNAL:
            self._workbench.failed("Open the journal of a run first: only a run can be resumed.")
        elif self._free():
            over = next(session.main.end.backwards(), None)
            self._ask_resume(
                Path(session.path), over is not None and over.role == "assistant" and not over.calls
            )

    def resume_last(self) -> None:
        """Resume the last run that this window started."""
        run = self._workbench.state.run
        if run is not None and run.plan is not None and self._free():
            self._ask_resume(run.plan.record, run.now.end == "done")

    def _ask_resume(self, record: Path, over: bool) -> None:
        from inspector.gui.runs.dialog import ResumeDialog

        dialog = ResumeDialog(self._window, over)
        if dialog.exec():
            self.controller.begin(_resume(record, dialog.task), dialog.paused.isChecked())

    def show(self) -> None:
        """Open the journal of the run unless it is already open."""
        self.controller.show_recording()

    def may_close(self, close: Callable[[], object]) -> bool:
        """Return True if the window may close now.

        If a run is active, the user is asked; `close` is then called once the run has stopped.
        """
        if not self.controller.active:
            return True
        question = (
            "Stop the run and close the window? The journal holds everything so far, and you can resume the "
            "run from it."
        )
        if is_sure(
            self._window,
            title="A run is under way",
            question=question,
            yes="Stop and close",
            no="Keep running",
        ):
            self.controller.end(close)
        return False

    def _free(self) -> bool:
        if self.controller.active:
            self._workbench.failed(RUN_IS_ACTIVE)
        return not self.controller.active

    def commands(self) -> tuple[Command, ...]:
        """Return the commands that start a run, and those that control it like a debugger."""
        run = self.controller
        return (
            Command("Run an agent…", self.ask_new, ("Ctrl+R",), "Run"),
            Command("Run a live demo", self.demo, (), "Run"),
            Command("Run from here…", self.fork, ("Ctrl+Shift+R",), "Run"),
            Command("Resume this run", self.resume, (), "Run"),
            Command("Continue the run", run.go, ("F5",), "Run"),
            Command("Continue the run without the steps", run.go_as_it_was, (), "Run"),
            Command("Pause the run", run.pause, ("F6",), "Run"),
            Command("Run one model call", run.step_model, ("F10",), "Run"),
            Command("Run one tool call", run.step_tool, ("Shift+F10",), "Run"),
            Command("Stop the run", run.stop, ("Shift+F5",), "Run"),
            Command("Show the run's journal", self.show, (), "Run"),
        )


def _fork_words(state: State) -> str:
    place = "the buffer after the last record"
    if state.at is not None:
        place = f"the buffer of request {state.at:,}"
    steps = state.steps
    after_steps = (
        f", after your {plural(len(steps.own_path), 'step')}" if steps and steps.stepped else ""
    )
    return (
        f"The run continues from {place}{after_steps}, with the tools of the built-in agent instead of the "
        "recorded tools."
    )


def _fork(plan: "Plan", state: State, ours: bool) -> MakePlan:
    """Return a function that makes the plan from the current buffer.

    Args:
        plan: The plan that the user entered.
        state: The State whose buffer the run starts from.
        ours: Use the built-in agent's system prompt, not the recorded one.
    """

    def make() -> "Plan":
        from inspector.agent.starting import fork

        session = state.session
        thread = state.thread
        steps = state.steps
        assert session is not None
        assert thread is not None
        stepped = steps.buffer if steps is not None and steps.stepped else None
        forked = fork(
            session, thread, state.at, plan.workspace, stepped, "ours" if ours else "recorded"
        )
        origin = dict(forked.forked_from)
        if steps is not None and stepped is not None:
            origin["steps"] = [steps.taken[step].name for step in steps.own_path]
        same = (state.choices.policy, state.choices.settings) == (plan.policy, plan.settings)
        return replace(
            plan,
            start=forked.start,
            running=start_of(state).state if same else None,
            forked_from=origin,
        )

    return make


def _resume(record: Path, task: str) -> MakePlan:
    def make() -> "Plan":
        from inspector.agent.starting import resume

        return resume(record, task)

    return make


def _demo(policy: str) -> MakePlan:
    """Return a function that makes the plan of the demo, under the chosen policy."""

    def make() -> "Plan":
        from inspector.agent.starting import demo_folder, demo_plan

        return demo_plan(demo_folder(), policy=policy)

    return make
