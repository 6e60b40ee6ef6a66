"""Who answers the tiers' model calls: offline, simulated, a provider by name or address, or the person by hand."""

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from inspector.gui.calling import model_of
from inspector.gui.desk import Desk
from inspector.gui.look.labels import label, tip
from inspector.gui.widgets.chips import Chips
from inspector.safety.addresses import address_trouble
from inspector.safety.keys import key_place
from inspector.workbench.state.state import State
from inspector.workbench.steps.stepping import HAND

OFFLINE, SIMULATED, PROVIDER, BY_HAND = "offline", "simulated", "provider", "by hand"
CHOICES = (
    (OFFLINE, "A deterministic extractive summary, made here: no model, no key, no network."),
    (SIMULATED, "A provider that runs on this machine and speaks the real protocols."),
    (PROVIDER, "A real model: your key, your money."),
    (BY_HAND, "Every call waits for you: edit, send, paste an answer, or make it fail."),
)
PROVIDERS = ("anthropic", "openai")
"""Known by name; any other is an address."""


class AnswerBlock(QWidget):
    """Chips, and for a provider which one and whether its key is there."""

    def __init__(self, desk: Desk, ask_key: Callable[[str], None]) -> None:
        super().__init__()
        self._desk, self._ask_key = desk, ask_key
        self._asked_for = self._key_words = ""
        self.chips = Chips("Answer model calls with", CHOICES)
        self.chips.chosen.connect(self._chosen)
        self.provider = QComboBox()
        self.provider.setEditable(True)
        self.provider.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.provider.addItems(PROVIDERS)
        self.provider.setAccessibleName("Provider, or the address of an OpenAI-compatible server")
        self.provider.setToolTip(
            tip(
                "anthropic, openai, or an address: http://host/v1 speaks OpenAI Chat,\n"
                "anthropic+http://… Anthropic Messages, responses+http://… OpenAI Responses"
            )
        )
        self.provider.activated.connect(lambda _: self._name_provider())
        editor = self.provider.lineEdit()
        assert editor is not None
        editor.editingFinished.connect(self._name_provider)
        self.key = QPushButton("Key…")
        self.key.clicked.connect(self._ask)
        self.model = QLineEdit()
        self.model.setAccessibleName("Model that answers")
        self.model.setToolTip(tip("The model that answers; empty: the session's own where you stand"))
        self.model.editingFinished.connect(self._name_model)
        self.remote = QCheckBox("this provider can compact remotely")
        self.remote.clicked.connect(lambda on: desk.workbench.stepping.choose(remote=on))
        self.note = label(role="small")
        self.note.setWordWrap(True)
        self._lay_out()

    def _lay_out(self) -> None:
        self._which = QWidget()
        row = QHBoxLayout(self._which)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.provider, 1)
        row.addWidget(self.key)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self.chips, self._which, self.model, self.note, self.remote):
            column.addWidget(widget)

    def show_state(self, state: State) -> None:
        """The choice."""
        who = state.choices.answer_by
        kind = {HAND: BY_HAND, OFFLINE: OFFLINE, SIMULATED: SIMULATED}.get(who, PROVIDER)
        self.chips.take(kind)
        self._which.setVisible(kind == PROVIDER)
        if kind == PROVIDER and self.provider.currentText() != who:
            with QSignalBlocker(self.provider):
                self.provider.setCurrentText(who)
        self.key.setEnabled(kind == PROVIDER and who in PROVIDERS)
        self.model.setVisible(kind in (PROVIDER, SIMULATED))
        if not self.model.hasFocus():
            self.model.setText(state.choices.model)
        self.model.setPlaceholderText(f"model: {model_of(state) or 'name one'}")
        self._show_note(kind, who)
        self.remote.setChecked(state.choices.remote)

    def _show_note(self, kind: str, who: str) -> None:
        self.note.setText(dict(CHOICES)[kind])
        if kind != PROVIDER or who not in PROVIDERS:
            self._asked_for = ""
        elif who != self._asked_for:  # the keyring may take its time
            self._asked_for = who
            self._desk.bridge.run(lambda task: key_place(who), lambda place: self._show_key(who, place), waits=True)
        else:
            self.note.setText(self._key_words or dict(CHOICES)[kind])

    def _show_key(self, who: str, place: str) -> None:
        if who == self._asked_for:
            found = {"environment": "key from the environment", "keyring": "key in this machine's keyring"}
            self._key_words = f"A real model: your money. {found.get(place, 'No key yet: add one').capitalize()}."
            self.note.setText(self._key_words)

    def _ask(self) -> None:
        who = self.provider.currentText().strip()
        self._ask_key(who)
        self._asked_for = ""
        self._show_note(PROVIDER, who)

    def _chosen(self, word: str) -> None:
        named = self.provider.currentText().strip()
        named = PROVIDERS[0] if not named or address_trouble(named) else named
        self._desk.workbench.stepping.choose(answer_by={BY_HAND: HAND, PROVIDER: named}.get(word, word))

    def _name_model(self) -> None:
        model = self.model.text().strip()
        if model != self._desk.workbench.state.choices.model:
            self._desk.workbench.stepping.choose(model=model)

    def _name_provider(self) -> None:
        who = self.provider.currentText().strip()
        if trouble := address_trouble(who):
            self.note.setText(trouble)
        elif who and who != self._desk.workbench.state.choices.answer_by:
            self._desk.workbench.stepping.choose(answer_by=who)
