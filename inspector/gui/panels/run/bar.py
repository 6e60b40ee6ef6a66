"""The strip over the panels while there is a run: how it stands, in colour and words, and what can be done to it."""

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtWidgets import QFrame

from inspector.agent.status import End, RunState, RunStatus
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.words import per_cent, plural
from inspector.gui.bridge import Bridge
from inspector.gui.look.build import button, mark, row
from inspector.gui.look.number_formats import error_words, grouped
from inspector.gui.look.visible import line
from inspector.gui.runs.desk import RunDesk
from inspector.gui.widgets.small import Elided
from inspector.workbench.live import RunView
from inspector.workbench.state import State
from inspector.workbench.steps import Steps
from inspector.workbench.words.live_words import next_tier_words, summarise_run
from inspector.workbench.workbench import Workbench

GO, GO_WITH = "Run", "Run with this buffer"
PAUSING = "stops before the next tier, model call or tool"
Kind: TypeAlias = Literal["runs", "waits", "good", "bad"]
_STATES: dict[RunState, tuple[Kind, str]] = {
    "starting": ("runs", "▶ starting"),
    "calling": ("runs", "▶ the model answers"),
    "tool": ("runs", "▶ a tool runs"),
    "tier": ("runs", "▶ a tier runs"),
    "paused": ("waits", "‖ paused"),
    "asking": ("waits", "? asks you"),
    "needing": ("waits", "? asks you"),
}
_ENDS: dict[End, tuple[Kind, str]] = {
    "": ("good", "■ ended"),
    "done": ("good", "✓ done"),
    "error": ("bad", "✗ failed"),
    "stopped": ("waits", "■ stopped"),
    "max turns": ("waits", "■ turns used up"),
}


def chip(standing: RunStatus) -> tuple[Kind, str]:
    """What kind of state it is, and in two or three words which."""
    return _ENDS[standing.end] if standing.state == "ended" else _STATES[standing.state]


def told(standing: RunStatus) -> str:
    """Return a line about the run: its turn, how full the window is, and why it waits."""
    words = []
    if standing.state == "ended" and standing.thread == "main":
        words.append(plural(standing.turn, "turn"))  # it names the one that would come next
    elif standing.state != "starting":
        words.append(
            f"turn {standing.turn}"
            if standing.thread == "main"
            else f"sub-agent, turn {standing.turn}"
        )
    if standing.tokens and standing.window:
        kind = f" {standing.kind}" if standing.kind != "unknown" else ""
        words.append(
            f"{grouped(standing.tokens)} tokens{kind}, {per_cent(standing.tokens / standing.window, 1)}"
        )
        error = error_words(standing.believed / standing.tokens - 1)
        words += [f"the policy's own count {grouped(standing.believed)}{error}"] * bool(error)
    words += [line(text, 400) for text in dict.fromkeys((standing.why, standing.error)) if text]
    return " · ".join(words)


def describe_run(run: RunView) -> str:
    """One line: what runs and what it waits for; then which tier is next, or at the end what the run came to."""
    if run.now.state == "ended" and (summary := summarise_run(run.reports)):
        return " · ".join(text for text in (summary, line(run.now.error, 400)) if text)
    return " · ".join(text for text in (told(run.now), next_tier_words(run)) if text)


class RunBar(QFrame):
    """Hidden while there is no run. Keys are the window's commands."""

    def __init__(
        self, runs: RunDesk, workbench: Workbench, bridge: Bridge, show: Callable[[], None]
    ) -> None:
        super().__init__()
        self.setObjectName("RunBar")
        run = runs.controller
        self._bridge = bridge
        self._run: RunView | None = None
        self._steps: Steps | None = None
        self._instead = ""
        self.chip = button("", show, about="Show the run and its journal", role="run")
        self.says = Elided()
        self.go = button(GO, run.go, about="Continue to the next breakpoint (F5)")
        as_it_was = "Drop the steps, and send what would have been"
        self.as_it_was = button("Run without the steps", run.go_as_it_was, about=as_it_was)
        self.pause = button(
            "Pause", run.pause, about="Stop before the next tier, model call or tool (F6)"
        )
        self.model = button(
            "Step call", run.step_model, about="Run until one model call is answered (F10)"
        )
        self.tool = button(
            "Step tool", run.step_tool, about="Run until one tool call has its result (Shift+F10)"
        )
        self.stop = button("Stop", run.stop, about="End the run at once (Shift+F5)")
        self.resume = button("Resume…", runs.resume_last, about="Resume the run from its journal")
        self.away = button("✕", run.forget, about="Take this bar away; the journal stays")
        self.away.setAccessibleName("Take the bar of the run away")
        self._controls = (self.as_it_was, self.go, self.pause, self.model, self.tool, self.stop)
        buttons = (*self._controls, self.resume, self.away)
        row(self.chip, (self.says, 1), *buttons, of=self, margins=(12, 5, 12, 5), gap=7)
        workbench.subscribe(self.show_state)

    def show_state(self, state: State) -> None:
        """The run as it stands; where steps were taken on the paused buffer, what would be sent instead."""
        steps = state.run_steps
        if steps is not self._steps:
            self._steps = steps
            if steps is None or state.pressures is None:
                self._instead, self._run = "", None
            else:
                size = sizer(state.pressures, steps.request)
                self._bridge.run(
                    lambda task: compare_sizes(steps, size), partial(self._measured, steps)
                )
        if state.run is not self._run or state.run is None:
            self._show(state.run)

    def _measured(self, steps: Steps, words: str) -> None:
        if steps is self._steps:
            self._instead = words
            self._show(self._run)

    def _show(self, run: RunView | None) -> None:
        self._run = run
        self.setVisible(run is not None)
        if run is None:
            return
        is_pausing = run.pausing and run.now.state not in ("asking", "needing")
        kind, words = ("waits", "‖ pausing") if is_pausing else chip(run.now)
        mark(self, "kind", kind)
        mark(self.chip, "kind", kind)
        self.chip.setText(words)
        self.chip.setAccessibleName(f"Run: {words}")
        sentence = describe_run(run)
        if is_pausing:
            sentence = f"{PAUSING} · {sentence}"
        is_paused = run.now.state == "paused"
        self.says.show_text(self._instead if is_paused and self._instead else sentence)
        self._show_buttons(run, is_paused)

    def _show_buttons(self, run: RunView, is_paused: bool) -> None:
        """Show the controls of a running run, or the buttons of one that has ended."""
        has_steps = bool(self._instead)
        self.go.setText(GO_WITH if has_steps else GO)
        mark(self.go, "role", "primary" if is_paused else "")
        for control in self._controls:
            control.setVisible(run.active)
        self.as_it_was.setVisible(run.active and is_paused and has_steps)
        for widget in (self.resume, self.away):
            widget.setVisible(not run.active)
        for widget in (self.go, self.model, self.tool):
            widget.setEnabled(is_paused)
        self.pause.setEnabled(run.active and not is_paused and not run.pausing)
        self.stop.setEnabled(run.active)


def compare_sizes(steps: Steps, size: Sizer) -> str:
    """Return the messages and tokens that the next call will send after the steps, and without them."""
    if steps.step is None:
        return ""
    after = f"{plural(len(steps.buffer.messages), 'message')}, about {grouped(size.tokens(steps.buffer))} tokens"
    before = f"{plural(len(steps.origin.messages), 'message')}, {grouped(size.tokens(steps.origin))} tokens"
    return f"{plural(len(steps.path()), 'step')}: {after} will be sent, instead of {before}"
