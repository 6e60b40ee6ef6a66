"""The steps that were taken where we stand, as a tree: go to one, rename it, compare two, save, replay, export."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from inspector.gui.desk import Desk
from inspector.gui.look.build import column, menu_button, small_button
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.steps.files import StepsFiles
from inspector.gui.panels.steps.rows import StepsModel, StepsView
from inspector.gui.widgets.chips import flow
from inspector.transcripts.saving import NATIVE, SHAPES, can_be_native
from inspector.workbench.policy_input import step_rows_of
from inspector.workbench.state import State
from inspector.workbench.steps import ORIGIN, Step, StepRow, Steps

_SHAPES = {
    "anthropic": "As an Anthropic request body…",
    "openai-chat": "As an OpenAI chat request body…",
    "openai-responses": "As an OpenAI responses request body…",
    NATIVE: "As a transcript the agent can resume…",
}


class StepsPanel(Panel):
    """One row a step, the recorded buffer above them."""

    TITLE: ClassVar[str] = "Steps"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._taken: tuple[Step, ...] | None = None
        self._steps: Steps | None = None
        stepping = desk.workbench.stepping
        self.model = StepsModel(stepping.rename)
        self.view = StepsView(desk.theme, self.model)
        self.view.gone.connect(stepping.go)
        self.view.compared.connect(self.compare)
        self.undo = _button("Undo", "Up one step (Ctrl+Z)", stepping.undo)
        self.redo = _button("Redo", "Down again, to the newest branch (Ctrl+Shift+Z)", stepping.redo)
        self.compared = _button("Compare", "Compare where we stand with the chosen step, in the diff", self._compare)
        self.files = StepsFiles(desk, self, self._say)
        about = "Save, replay and export steps"
        self.actions_of: dict[str, QAction] = {}
        self.more = menu_button("Files ▾", self._fill_menu, about=about, name=about, role="")
        self.says = label(role="quiet", wrap=True)
        self.says.setContentsMargins(13, 4, 13, 6)
        self.setFocusProxy(self.view)
        self.view.selectionModel().currentChanged.connect(lambda _: self._enable())
        head = flow(self.undo, self.redo, self.compared, self.more, margins=(10, 6, 8, 4))
        column(head, self.says, (self.view, 1), of=self, gap=0)

    def _fill_menu(self, menu: QMenu) -> None:
        entries = {
            "Save steps…": self.files.save_steps,
            "Replay saved steps…": self.files.replay,
            "Export as pytest…": self.files.export_pytest,
        }
        self.actions_of = {words: menu.addAction(words, run) for words, run in entries.items()}
        export = menu.addMenu("Export the buffer")
        for shape in SHAPES:
            self.actions_of[shape] = export.addAction(_SHAPES[shape], partial(self.files.export_buffer, shape))
        menu.addSeparator()
        self.actions_of["forget"] = menu.addAction("Drop all steps here", self.desk.workbench.stepping.forget)

    # -- State -------------------------------------------------------------------------------------------------------

    def counted(self, state: State) -> int:
        return state.steps.own if state.steps else 0

    def show_state(self, state: State) -> None:
        """Rows are worked out off this thread where a step is new; where we stand is shown at once."""
        steps = state.steps
        self.actions_of[NATIVE].setEnabled(state.session is not None and can_be_native(state.session.format))
        if steps is self._steps and steps is not None:
            return
        self._steps = steps
        if steps is None:
            self._taken = None
            self.model.show((), ORIGIN, None)
            self._say("No step has been taken here." if state.session else "Open a transcript first.")
        elif steps.taken is self._taken:
            self._stand(self.model.rows)
        else:
            self._say("")
            self.desk.bridge.run(lambda task: step_rows_of(state), lambda rows: self._arrived(steps, rows))
        self._enable()

    def _arrived(self, steps: Steps, rows: Sequence[StepRow]) -> None:
        now = self._steps
        if now is not None and steps.taken is now.taken:
            self._taken = steps.taken
            self._stand(rows)

    def _stand(self, rows: Sequence[StepRow]) -> None:
        """Show the rows, the one where we stand chosen."""
        steps = self._steps
        if steps is None:
            return
        moved = self.model.here != steps.at or len(rows) != len(self.model.rows)
        with QSignalBlocker(self.view.selectionModel()):
            self.model.show(rows, steps.at, steps.against)
        if moved and rows:
            self.view.stand_at(self.model.place_of(steps.at))
        self._enable()
        self.view.viewport().update()

    def _say(self, text: str) -> None:
        self.says.setText(text)
        self.says.setVisible(bool(text))

    def _enable(self) -> None:
        steps = self._steps
        self.undo.setEnabled(steps is not None and steps.step is not None)
        self.redo.setEnabled(steps is not None and bool(steps.children(steps.at)))
        chosen = self.view.chosen
        self.compared.setEnabled(steps is not None and chosen is not None and chosen != steps.at)
        for words in ("Save steps…", "forget"):
            self.actions_of[words].setEnabled(steps is not None and bool(steps.own))
        self.actions_of["Export as pytest…"].setEnabled(steps is not None and bool(steps.own_path))

    # -- intents -----------------------------------------------------------------------------------------------------

    def _compare(self) -> None:
        chosen = self.view.chosen
        if chosen is not None:
            self.compare(chosen)

    def compare(self, at: int) -> None:
        """Show where we stand beside that step."""
        self.desk.workbench.stepping.compare(at)
        self.desk.show_panel("Diff")


def _button(words: str, about: str, run: Callable[[], None]) -> QToolButton:
    made = small_button(words, run, about=about, name=words, role="")
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return made
