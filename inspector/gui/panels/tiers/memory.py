"""The session memory that a tier may find: none, typed here, as the session recorded it, or made when it is needed."""

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from inspector.gui.desk import Desk
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.gui.widgets.chips import Chips
from inspector.workbench.policy_input import summary_of
from inspector.workbench.state.outlook import Outlook
from inspector.workbench.state.state import State

NONE, TYPED, RECORDED, GENERATED = "none", "typed", "recorded", "generated"
CHOICES = (
    (NONE, "No summary is at hand, as upstream."),
    (TYPED, "The summary that you write here."),
    (RECORDED, "The newest summary that this session itself had recorded before the request we stand at."),
    (GENERATED, "A model makes one when a tier needs it."),
)
GENERATE = ("session_memory", "generate")
"""The setting, where a policy has it."""


class MemoryBlock(QWidget):
    """Chips, and an editor for what is typed."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._typing = False
        self.chips = Chips("Session memory", CHOICES)
        self.chips.chosen.connect(self._chosen)
        self.text = QPlainTextEdit()
        self.text.setObjectName("MemoryText")
        self.text.setAccessibleName("Session memory")
        self.text.setPlaceholderText("What the session has been about so far")
        self.text.setFixedHeight(4 * self.fontMetrics().height() + 14)
        self.text.textChanged.connect(self._typed)
        self.note = label(role="small")
        self.note.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self.chips, self.text, self.note):
            column.addWidget(widget)

    def show_state(self, state: State, outlook: Outlook | None) -> None:
        """The choice, and what it comes to here."""
        generated = GENERATE in state.choices.settings
        if generated or state.choices.recorded or state.choices.summary:
            self._typing = bool(state.choices.summary) and not generated and not state.choices.recorded
        kind = GENERATED if generated else RECORDED if state.choices.recorded else TYPED if self._typing else NONE
        self.chips.take(kind)
        if outlook is not None:
            self.chips.buttons[GENERATED].setVisible(_can_generate(outlook.settings))
        self.text.setVisible(kind == TYPED)
        if self.text.toPlainText() != state.choices.summary:
            with QSignalBlocker(self.text):
                self.text.setPlainText(state.choices.summary)
        self.note.setText(_note(state) if kind == RECORDED else "")
        self.note.setVisible(kind == RECORDED)

    def _chosen(self, word: str) -> None:
        stepping, state = self._desk.workbench.stepping, self._desk.workbench.state
        self._typing = word == TYPED
        settings = tuple(pair for pair in state.choices.settings if pair[0] != GENERATE[0])
        if word == GENERATED:
            settings = (*settings, GENERATE)
        stepping.choose(
            settings=settings, recorded=word == RECORDED, summary=self.text.toPlainText() if self._typing else ""
        )
        self.show_state(self._desk.workbench.state, None)
        if self._typing:
            self.text.setFocus()

    def _typed(self) -> None:
        self._typing = True
        self._desk.workbench.stepping.choose(summary=self.text.toPlainText())


def _can_generate(settings: Any) -> bool:
    name, value = GENERATE
    hints = get_type_hints(type(settings))
    return any(one.name == name for one in fields(settings)) and value in get_args(hints[name])


def _note(state: State) -> str:
    text = summary_of(state)
    return f"{plural(len(text), 'character')} recorded" if text else "this session recorded none before here"
