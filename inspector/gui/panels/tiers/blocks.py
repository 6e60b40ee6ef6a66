"""The options of a step besides the buffer, as blocks of controls.

They are: who answers the tiers' model calls, the session memory that a tier may use, the circuit breaker, and the
policy's settings.
"""

from collections.abc import Callable
from typing import ClassVar

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QComboBox, QPlainTextEdit, QWidget

from inspector.core.errors import InspectorError
from inspector.core.policies.verdict import BreakerState
from inspector.core.words import plural
from inspector.gui.calling import model_of
from inspector.gui.desk import Desk
from inspector.gui.dialogs.key_dialog import ask_key
from inspector.gui.dialogs.setting_row import SettingRows
from inspector.gui.look.build import (
    button,
    choice,
    column,
    holding,
    keep_hidden,
    line_field,
    mark,
    row,
)
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.tokens import CHIP_GAP, LIST_HEAD
from inspector.gui.panels.panel import Panel
from inspector.gui.widgets.chips import Chips
from inspector.safety.keys import address_trouble, key_place
from inspector.workbench.policy_input import policy_of, preset_of, settings_of, summary_of
from inspector.workbench.state import State
from inspector.workbench.stepping import HAND

OFFLINE, SIMULATED, PROVIDER, BY_HAND = "Offline", "Simulated", "Provider", "Manually"
ANSWERERS = (
    (OFFLINE, "A deterministic extractive summary, made here: no model, no key, no network."),
    (SIMULATED, "A provider that runs on this machine and speaks the real protocols."),
    (PROVIDER, "A real model, with your key and at your cost."),
    (BY_HAND, "Every call waits for you: edit it, send it, paste an answer, or make it fail."),
)
PROVIDERS = ("anthropic", "openai")
"""Providers that are known by name. Any other text in the field is an address."""
_NAMES = {OFFLINE: "offline", SIMULATED: "simulated", BY_HAND: HAND}
"""Names of the answerers, by the label of their chips."""


class AnswerBlock(QWidget):
    """The choice of the answerer: chips, which the panel places itself, and fields for provider, key and model."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._asked_for = self._key_words = ""
        self.chips = Chips("Model calls by", ANSWERERS)
        self.chips.chosen.connect(self._choose_word)
        about = (
            "anthropic, openai, or an address:\n"
            "http://host/v1 for OpenAI Chat\n"
            "anthropic+http://host for Anthropic Messages\n"
            "responses+http://host for OpenAI Responses"
        )
        self.provider = choice(
            "Provider, or the address of an OpenAI-compatible server", PROVIDERS, about=about
        )
        self.provider.setEditable(True)
        self.provider.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.provider.activated.connect(lambda _: self._name_provider())
        editor = self.provider.lineEdit()
        assert editor is not None
        editor.editingFinished.connect(self._name_provider)
        self.key = button("Key…", self._ask)
        about = "The model that answers. If empty: the session's model at the selected request"
        self.model = line_field("Model that answers", about=about)
        self.model.editingFinished.connect(self._name_model)
        self.remote = QCheckBox("Remote compaction available")
        self.remote.clicked.connect(lambda is_on: desk.workbench.stepping.choose(remote=is_on))
        self.note = label(role="small", wrap=True)
        self._which = holding(row((self.provider, 1), self.key))
        keep_hidden(self, self.chips)
        column(self.note, self._which, self.model, self.remote, of=self, gap=CHIP_GAP)

    def show_state(self, state: State) -> None:
        who = state.choices.answer_by
        kind = next((word for word, name in _NAMES.items() if name == who), PROVIDER)
        self.chips.select(kind)
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
        self.note.setText(dict(ANSWERERS)[kind])
        if kind != PROVIDER or who not in PROVIDERS:
            self._asked_for = ""
        elif who != self._asked_for:  # the keyring may be slow
            self._asked_for = who
            self._desk.bridge.run(
                lambda task: key_place(who), lambda place: self._show_key(who, place), lane="wait"
            )
        else:
            self.note.setText(self._key_words or dict(ANSWERERS)[kind])

    def _show_key(self, who: str, place: str) -> None:
        if who == self._asked_for:
            origins = {
                "environment": "key from the environment",
                "keyring": "key in this machine's keyring",
            }
            self._key_words = f"A real model, at your cost. {origins.get(place, 'No key yet: add one').capitalize()}."
            self.note.setText(self._key_words)

    def _ask(self) -> None:
        who = self.provider.currentText().strip()
        ask_key(self, who)
        self._asked_for = ""
        self._show_note(PROVIDER, who)

    def _choose_word(self, word: str) -> None:
        named = self.provider.currentText().strip()
        named = PROVIDERS[0] if not named or address_trouble(named) else named
        self._desk.workbench.stepping.choose(answer_by=_NAMES.get(word, named))

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


NONE, TYPED, RECORDED, GENERATED = "none", "typed", "recorded", "generated"
MEMORIES = (
    (NONE, "No summary is available."),
    (TYPED, "The summary that you write here."),
    (RECORDED, "The newest summary that this session recorded before the selected request."),
    (GENERATED, "A model writes the summary when a tier needs it."),
)


class MemoryBlock(QWidget):
    """The choice of the session memory: chips, and an editor for a typed summary."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._typing = False
        self.chips = Chips("Session memory", MEMORIES)
        self.chips.chosen.connect(self._choose_word)
        self.text = QPlainTextEdit()
        self.text.setObjectName("MemoryText")
        self.text.setAccessibleName("Session memory")
        self.text.setPlaceholderText("What the session has been about so far")
        self.text.setFixedHeight(4 * self.fontMetrics().height() + 14)
        self.text.textChanged.connect(self._take_typed_memory)
        self.note = label(role="small", wrap=True)
        column(self.chips, self.text, self.note, of=self, gap=CHIP_GAP)

    def show_state(self, state: State) -> None:
        generate = policy_of(state).memory_setting
        generated = generate in state.choices.settings
        if generated or state.choices.recorded or state.choices.summary:
            self._typing = (
                bool(state.choices.summary) and not generated and not state.choices.recorded
            )
        kind = TYPED if self._typing else NONE
        if state.choices.recorded:
            kind = RECORDED
        if generated:
            kind = GENERATED
        self.chips.select(kind)
        self.chips.buttons[GENERATED].setVisible(generate is not None)
        self.text.setVisible(kind == TYPED)
        if self.text.toPlainText() != state.choices.summary:
            with QSignalBlocker(self.text):
                self.text.setPlainText(state.choices.summary)
        say(self.note, _note(state) if kind == RECORDED else "")

    def _choose_word(self, word: str) -> None:
        stepping = self._desk.workbench.stepping
        state = self._desk.workbench.state
        self._typing = word == TYPED
        settings = state.choices.settings
        generate = policy_of(state).memory_setting
        if generate is not None:
            generate_name, _ = generate
            settings = tuple((name, text) for name, text in settings if name != generate_name)
            if word == GENERATED:
                settings = (*settings, generate)
        stepping.choose(
            settings=settings,
            recorded=word == RECORDED,
            summary=self.text.toPlainText() if self._typing else "",
        )
        self.show_state(self._desk.workbench.state)
        if self._typing:
            self.text.setFocus()

    def _take_typed_memory(self) -> None:
        self._typing = True
        self._desk.workbench.stepping.choose(summary=self.text.toPlainText())


def _note(state: State) -> str:
    text = summary_of(state)
    if text:
        return f"{plural(len(text), 'character')} recorded"
    return "this session recorded none up to here"


class BreakerBlock(QWidget):
    """The state of the circuit breaker, with a button that resets it; hidden if the policy has none."""

    def __init__(self, reset: Callable[[], None]) -> None:
        super().__init__()
        self.dot = label("●", role="dot")
        self.words = label(wrap=True)
        self.button = button("Reset", reset)
        row(self.dot, (self.words, 1), self.button, of=self, gap=CHIP_GAP)

    def show_breaker(self, breaker: BreakerState | None, policy_title: str) -> None:
        """Show the state of the breaker, such as `closed · 0 of 3 failures`; None hides the block."""
        self.setVisible(breaker is not None)
        if breaker is None:
            return
        word = "open: no more model calls" if breaker.open else "closed"
        self.words.setText(f"{word} · {breaker.failures} of {breaker.limit} failures")
        mark(self.dot, "open", breaker.open)
        self.button.setVisible(breaker.open or breaker.failures > 0)
        explanation = f"Context Inspector adds this reset: {policy_title} itself never closes an open breaker."
        self.button.setToolTip(tip(explanation))
        self.button.setAccessibleDescription(explanation)


class SettingsForm(Panel):
    """A panel with a row for each setting of the policy."""

    TITLE: ClassVar[str] = "What if"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.says = label(role="small", wrap=True)
        self.all_back = button("Reset all", lambda: desk.workbench.stepping.choose(settings=()))
        self.settings = SettingRows(self._put)
        head = row((self.says, 1), self.all_back, margins=LIST_HEAD)
        column(head, (self.settings, 1), of=self, gap=0)

    def show_state(self, state: State) -> None:
        window = state.window.tokens if state.window else None
        if not self.is_new("values", (state.choices,), window, state.user_window):
            return
        try:
            now = settings_of(state)
        except InspectorError as failure:
            self.says.setText(str(failure))
            return
        policy = policy_of(state)
        changed = {name for name, _ in state.choices.settings}
        self.settings.show_values(
            policy.name, now, own=policy.settings(preset_of(state, policy), window), changed=changed
        )
        self.all_back.setVisible(bool(changed))
        count = plural(len(changed), "setting")
        self.says.setText(f"{count} changed" if changed else f"{policy.title}'s own settings")

    def _put(self, name: str, text: str | None) -> None:
        stepping = self.desk.workbench.stepping
        stepping.choose(settings=stepping.checked(name, text).settings)
