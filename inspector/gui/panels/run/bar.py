"""The bar of a run: its status and controls like those of a debugger. The window's commands define their keys."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.words import plural
from inspector.gui.bridge import Bridge
from inspector.gui.live.bar import LiveBar
from inspector.gui.live.status import describe_run
from inspector.gui.look.build import button, mark
from inspector.gui.look.number_formats import grouped
from inspector.gui.runs.desk import RunDesk
from inspector.workbench.live import RunView
from inspector.workbench.state import State
from inspector.workbench.steps import Steps
from inspector.workbench.workbench import Workbench

GO, GO_WITH = "Run", "Run with this buffer"


class RunBar(LiveBar):
    """The bar of a run; hidden while there is no run."""

    def __init__(
        self, runs: RunDesk, workbench: Workbench, bridge: Bridge, show: Callable[[], None]
    ) -> None:
        run = runs.controller
        go_button = button(GO, run.go, about="Continue to the next breakpoint (F5)")
        dropped = "Discard the steps, and send the buffer without them"
        as_it_was = button("Run without the steps", run.go_as_it_was, about=dropped)
        pausing = "Stop before the next tier, model call or tool (F6)"
        pause = button("Pause", run.pause, about=pausing)
        until_answer = "Run until one model call is answered (F10)"
        model = button("Step call", run.step_model, about=until_answer)
        until_result = "Run until one tool call has its result (Shift+F10)"
        tool = button("Step tool", run.step_tool, about=until_result)
        stop = button("Stop", run.stop, about="End the run at once (Shift+F5)")
        resume = button("Resume…", runs.resume_last, about="Resume the run from its journal")
        away = button("✕", run.forget, about="Remove this bar; the journal stays")
        away.setAccessibleName("Remove the run bar")
        controls = (as_it_was, go_button, pause, model, tool, stop)
        super().__init__(show, "Show the run and its journal", *controls, resume, away)
        self.as_it_was, self.go, self.pause, self.model, self.tool, self.stop = controls
        self.resume = resume
        self.away = away
        self._bridge = bridge
        self._run: RunView | None = None
        self._steps: Steps | None = None
        self._instead = ""
        """What would be sent after the user's steps, in words."""
        workbench.subscribe(self.show_state)

    def show_state(self, state: State) -> None:
        """Show the run and, if steps were taken on the paused buffer, what would be sent after them."""
        steps = state.run_steps
        if steps is not self._steps:
            self._steps = steps
            if steps is None or state.pressures is None:
                self._instead = ""
                self._run = None
            else:
                size = sizer(state.pressures, steps.request)
                self._bridge.run(
                    lambda task: compare_sizes(steps, size), partial(self._show_preview, steps)
                )
        if state.run is not self._run or state.run is None:
            self._show(state.run)

    def _show_preview(self, steps: Steps, words: str) -> None:
        if steps is self._steps:
            self._instead = words
            self._show(self._run)

    def _show(self, run: RunView | None) -> None:
        self._run = run
        if run is None:
            self.show_status(None)
            return
        status = describe_run(run)
        is_paused = run.now.state == "paused"
        if is_paused and self._instead:
            status = replace(status, details=(self._instead,))
        self.show_status(status)
        self._show_buttons(run, is_paused)

    def _show_buttons(self, run: RunView, is_paused: bool) -> None:
        """Show the controls of an active run, or the buttons of a run that has ended."""
        has_steps = bool(self._instead)
        self.go.setText(GO_WITH if has_steps else GO)
        mark(self.go, "role", "primary" if is_paused else "")
        for control in (self.go, self.pause, self.model, self.tool, self.stop):
            control.setVisible(run.active)
        self.as_it_was.setVisible(run.active and is_paused and has_steps)
        for widget in (self.resume, self.away):
            widget.setVisible(not run.active)
        for widget in (self.go, self.model, self.tool):
            widget.setEnabled(is_paused)
        self.pause.setEnabled(run.active and not is_paused and not run.pausing)
        self.stop.setEnabled(run.active)


def compare_sizes(steps: Steps, size: Sizer) -> str:
    """Return the messages and tokens that the next model call will send after the steps, and without them."""
    if steps.step is None:
        return ""
    after = f"{plural(len(steps.buffer.messages), 'message')}, about {grouped(size.tokens(steps.buffer))} tokens"
    before = (
        f"{plural(len(steps.sent.messages), 'message')}, {grouped(size.tokens(steps.sent))} tokens"
    )
    return f"{plural(len(steps.own_path), 'step')}: {after} will be sent, instead of {before}"
