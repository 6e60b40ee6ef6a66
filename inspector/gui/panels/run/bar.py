"""The strip over the panels while there is a run: how it stands, in colour and words, and what can be done to it."""

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from inspector.core.tokens.sizing import Sizer, sizer
from inspector.gui.bridge import Bridge
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped, plural
from inspector.gui.panels.run.words import chip, told
from inspector.gui.runs.desk import RunDesk
from inspector.gui.widgets.small import Elided
from inspector.workbench.state import State
from inspector.workbench.steps import Steps
from inspector.workbench.workbench import Workbench

GO, GO_WITH = "Run", "Go on with this buffer"


class RunBar(QFrame):
    """Hidden while there is no run. Keys are the window's commands."""

    def __init__(self, runs: RunDesk, workbench: Workbench, bridge: Bridge, show: Callable[[], None]) -> None:
        super().__init__()
        self.setObjectName("RunBar")
        running = self._running = runs.running
        self._bridge = bridge
        self._steps: Steps | None = None
        self._instead = ""
        self.chip = QPushButton()
        self.chip.setProperty("role", "run")
        self.chip.setToolTip(tip("Show the run and its journal"))
        self.chip.clicked.connect(show)
        self.says = Elided()
        self.go = _button(GO, "Run on, to the next place to stop at (F5)", running.go)
        self.as_it_was = _button(
            "Go on as it was", "Drop the steps, and send what would have been", running.go_as_it_was
        )
        self.pause = _button("Pause", "Stop before the next tier, model call or tool (F6)", running.pause)
        self.model = _button("Step call", "Run until one model call is answered (F10)", running.step_model)
        self.tool = _button("Step tool", "Run until one tool call has its result (F11)", running.step_tool)
        self.stop = _button("Stop", "End the run at once (Shift+F5)", running.stop)
        self.resume = _button("Resume…", "Go on with the run from its journal", runs.resume_last)
        self.away = _button("✕", "Take this bar away; the journal stays", running.forget)
        self.away.setAccessibleName("Take the bar of the run away")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 5, 12, 5)
        row.setSpacing(7)
        row.addWidget(self.chip)
        row.addWidget(self.says, 1)
        self._controls = (self.as_it_was, self.go, self.pause, self.model, self.tool, self.stop)
        for button in (*self._controls, self.resume, self.away):
            row.addWidget(button)
        running.changed.connect(self.show_run)
        workbench.subscribe(self.show_state)
        self.show_run()

    def show_state(self, state: State) -> None:
        """Where steps were taken on the paused buffer: what would be sent instead."""
        steps = self._running.paused.steps
        if steps is self._steps:
            return
        self._steps = steps
        if steps is None or state.pressures is None:
            self._measured(None, "")
        else:
            size = sizer(state.pressures, steps.request)
            self._bridge.run(lambda task: instead(steps, size), lambda words: self._measured(steps, words))

    def _measured(self, steps: Steps | None, words: str) -> None:
        if steps is self._steps:
            self._instead = words
            self.show_run()

    def show_run(self) -> None:
        """The run as it stands."""
        standing = self._running.standing
        self.setVisible(standing is not None)
        if standing is None:
            return
        kind, words = chip(standing)
        if self.chip.property("kind") != kind:
            for widget in (self, self.chip):
                widget.setProperty("kind", kind)
                widget.style().unpolish(widget)
                widget.style().polish(widget)
        self.chip.setText(words)
        self.chip.setAccessibleName(f"Run: {words}")
        paused, stepped = standing.state == "paused", bool(self._instead)
        self.says.show_text(self._instead if paused and stepped else told(standing))
        self.go.setText(GO_WITH if stepped else GO)
        role = "primary" if paused else ""
        if self.go.property("role") != role:
            self.go.setProperty("role", role)
            self.go.style().unpolish(self.go)
            self.go.style().polish(self.go)
        over = standing.state == "ended"
        for button in self._controls:
            button.setVisible(not over and (button is not self.as_it_was or (paused and stepped)))
        for button in (self.resume, self.away):
            button.setVisible(over)
        for button in (self.go, self.model, self.tool):
            button.setEnabled(paused)
        self.pause.setEnabled(self._running.active and not paused)
        self.stop.setEnabled(self._running.active)


def instead(steps: Steps, size: Sizer) -> str:
    """What the steps make of the next call: how many messages and tokens go, and how many would have gone."""
    if steps.step is None:
        return ""
    before, after = size.tokens(steps.origin), size.tokens(steps.buffer)
    return (
        f"{plural(len(steps.path()), 'step')}: {plural(len(steps.buffer.messages), 'message')}, about "
        f"{grouped(after)} tokens will be sent, instead of {plural(len(steps.origin.messages), 'message')}, "
        f"{grouped(before)} tokens"
    )


def _button(words: str, what: str, run: Callable[[], None]) -> QPushButton:
    button = QPushButton(words)
    button.setToolTip(tip(what))
    button.setAccessibleDescription(what)
    button.clicked.connect(lambda: run())
    return button
