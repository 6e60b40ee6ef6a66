"""How a run begins in the window: a new one, the demo, one forked from where we stand, one resumed from its journal.

Dialogs are asked here; what is slow (the SDKs, the start from a long buffer) is made in a job. The packages of a run
are loaded when the first one is wanted.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QMessageBox, QWidget

from inspector.agent.controls import Breakpoints
from inspector.core.errors import InspectorError
from inspector.gui.bridge import Bridge
from inspector.gui.look.number_formats import plural
from inspector.gui.runs.controller import About, Begin, Run, Running, Tell
from inspector.gui.runs.wanted import Wanted
from inspector.gui.settings import Settings
from inspector.workbench.policy_input import start_of
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench

JOURNAL = "journal"
"""Name of the format that a run writes."""


class RunDesk:
    """Held by the window as `runs`; panels reach it through the desk."""

    def __init__(
        self, workbench: Workbench, bridge: Bridge, settings: Settings, window: QWidget, follow: Callable[[str], None]
    ) -> None:
        self._workbench, self._bridge, self._settings, self._window = workbench, bridge, settings, window
        self.running = Running(workbench, bridge, follow)

    def ask_new(self) -> None:
        """Ask what is to be run, and run it."""
        from inspector.gui.runs.dialog import RunDialog
        from inspector.gui.runs.wanted import remembered

        if self._free():
            dialog = RunDialog(self._window, self._settings, self._bridge, remembered(self._settings))
            dialog.exec()
            if dialog.wanted is not None:
                self.running.begin(_new(dialog.wanted, None))

    def demo(self) -> None:
        """The demo: no key, a small window, a real workspace of its own; every tier fires within a minute."""
        if self._free():
            self.running.begin(_demo)

    def fork(self) -> None:
        """Ask how to go on from the buffer we look at, recorded or stepped, and run it."""
        from inspector.gui.runs.dialog import RunDialog
        from inspector.gui.runs.wanted import remembered

        state = self._workbench.state
        if state.thread is None or not self._free():
            return
        first = replace(
            remembered(self._settings),
            task="",
            policy=state.choices.policy,
            settings=state.choices.settings,
            window=state.window.tokens if state.window else None,
            paused=True,
        )
        own = bool(state.buffer().prompt.system)
        dialog = RunDialog(self._window, self._settings, self._bridge, first, _forked(state), own)
        dialog.exec()
        if dialog.wanted is not None:
            self.running.begin(_new(dialog.wanted, state))

    def fork_at(self, at: int) -> None:
        """The same from another request."""
        self._workbench.move(at)
        self.fork()

    @property
    def resumable(self) -> bool:
        """Is the open transcript the journal of a run that could go on?"""
        session = self._workbench.state.session
        return session is not None and session.format == JOURNAL and not (self.running.active and self.running.shown)

    def resume(self) -> None:
        """Go on with the run whose journal is open."""
        session = self._workbench.state.session
        if session is None or session.format != JOURNAL:
            self._workbench.failed("Open the journal of a run first: only that can be resumed.")
        elif self._free():
            over = next(session.main.end.backwards(), None)
            self._ask_resume(Path(session.path), over is not None and over.role == "assistant" and not over.calls)

    def resume_last(self) -> None:
        """Go on with the run that was the last one here."""
        about, standing = self.running.about, self.running.standing
        if about is not None and self._free():
            self._ask_resume(Path(about.record), standing is not None and standing.end == "done")

    def _ask_resume(self, record: Path, over: bool) -> None:
        from inspector.gui.runs.resume_dialog import ResumeDialog

        dialog = ResumeDialog(self._window, over)
        if dialog.exec():
            self.running.begin(_resumed(record, dialog.task, dialog.stop_first))

    def show(self) -> None:
        """Bring the journal of the run back, where something else is open."""
        if not self.running.shown:
            self.running.show_journal()

    def may_close(self, close: Callable[[], object]) -> bool:
        """May the window go? Asks where a run is under way; that is then stopped, and `close` called behind it."""
        if not self.running.active:
            return True
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("A run is under way")
        box.setText("A run is under way. Its journal holds all that happened so far, and it can be resumed from it.")
        stop = box.addButton("Stop it and close", QMessageBox.ButtonRole.AcceptRole)
        box.addButton("Keep it running", QMessageBox.ButtonRole.RejectRole)
        box.exec()
        if box.clickedButton() is stop:
            self.running.end(close)
        return False

    def _free(self) -> bool:
        if self.running.active:
            self._workbench.failed("A run is under way: stop it before you start another.")
        return not self.running.active


def _forked(state: State) -> str:
    place = "the buffer after the last record" if state.at is None else f"the buffer of request {state.at}"
    steps = state.steps
    taken = f", after {plural(len(steps.path()), 'step')} of yours" if steps and steps.step is not None else ""
    return f"Goes on from {place}{taken}, with our own agent's tools in the place of the recorded ones."


# -- made in a job -----------------------------------------------------------------------------------------------------


def _new(wanted: Wanted, source: State | None) -> Begin:
    def begin(tell: Tell, breakpoints: Breakpoints) -> tuple[Run, About]:
        from inspector.agent.plan import Plan

        plan = Plan(
            task=wanted.task,
            workspace=Path(wanted.workspace),
            record=Path(wanted.record),
            provider=wanted.provider,
            model=wanted.model,
            policy=wanted.policy,
            settings=wanted.settings,
            window=wanted.window,
            permissions=wanted.permissions,
            needs_by=wanted.needs_by,
        )
        notes: tuple[str, ...] = ()
        if source is not None:
            plan, notes = _from(plan, source, wanted.ours)
        return _started(plan, tell, breakpoints, wanted.paused, notes)

    return begin


def _from(plan: Any, state: State, ours: bool) -> tuple[Any, tuple[str, ...]]:
    """The plan from the buffer we look at, and what had to be changed of it for that."""
    from inspector.agent.fork import fork

    session, thread, steps = state.session, state.thread, state.steps
    assert session is not None
    assert thread is not None
    stepped = steps.buffer if steps is not None and steps.step is not None else None
    made = fork(session, thread, state.at, plan.workspace, stepped, "ours" if ours else "recorded")
    told = dict(made.forked_from)
    if steps is not None and stepped is not None:
        told["steps"] = [steps.taken[at].name for at in steps.path()]
    same = (state.choices.policy, state.choices.settings) == (plan.policy, plan.settings)
    running = start_of(state).state if same else None
    return replace(plan, start=made.start, running=running, forked_from=told), made.changes


def _demo(tell: Tell, breakpoints: Breakpoints) -> tuple[Run, About]:
    from inspector.agent.demo import demo_folder, demo_plan

    return _started(demo_plan(demo_folder()), tell, breakpoints, False)


def _resumed(record: Path, task: str, stop_first: bool) -> Begin:
    def begin(tell: Tell, breakpoints: Breakpoints) -> tuple[Run, About]:
        from inspector.agent.resume import resume

        return _started(resume(record, task), tell, breakpoints, stop_first)

    return begin


def _started(
    plan: Any, tell: Tell, breakpoints: Breakpoints, paused: bool, notes: tuple[str, ...] = ()
) -> tuple[Run, About]:
    from inspector.agent.run import compacts_remotely
    from inspector.agent.runner import Runner

    try:
        plan.record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as why:
        raise InspectorError(f"The journal cannot be kept in {plan.record.parent}: {why.strerror or why}.") from None
    runner = Runner(plan, tell, breakpoints)
    runner.start(paused)
    who = (plan.provider, plan.model, plan.policy, plan.settings)
    return runner, About(plan.task, str(plan.record), str(plan.workspace), *who, notes, compacts_remotely(plan))
