"""Two parts of the form a run is described in: who answers, and by which policy with which settings."""

from typing import Any, get_type_hints

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import TITLES, policy
from inspector.core.policies.settings import listed
from inspector.gui.bridge import Bridge
from inspector.gui.dialogs.key_dialog import ask_key
from inspector.gui.dialogs.setting_row import SettingRow
from inspector.gui.look.labels import label, tip
from inspector.gui.look.number_formats import plural
from inspector.gui.widgets.chips import Chips
from inspector.safety.addresses import address_trouble
from inspector.safety.keys import key_place

SIMULATED, ADDRESS = "simulated", "an address"
PROVIDERS = (
    (SIMULATED, "A provider that runs on this machine and speaks the real protocols: no key, no cost."),
    ("anthropic", "Anthropic's models: your key, your money."),
    ("openai", "OpenAI's models: your key, your money."),
    (ADDRESS, "Any server that speaks OpenAI Chat, OpenAI Responses or Anthropic Messages."),
)
SPELT = "http://host/v1 speaks OpenAI Chat, anthropic+http://… Anthropic Messages, responses+http://… OpenAI Responses"


class ProviderForm(QWidget):
    """`provider` and `model`, as a plan wants them."""

    def __init__(self, bridge: Bridge, provider: str, model: str) -> None:
        super().__init__()
        self._bridge = bridge
        self.chips = Chips("Who answers", PROVIDERS)
        self.address = QLineEdit()
        self.address.setAccessibleName("Address of the server")
        self.address.setPlaceholderText("http://127.0.0.1:8000/v1")
        self.address.setToolTip(tip(SPELT))
        self.key = QPushButton("Key…")
        self.key.clicked.connect(self._ask)
        self.note = label(role="small")
        self.note.setWordWrap(True)
        self.model = QLineEdit(model)
        self.model.setAccessibleName("Model")
        row = QHBoxLayout()
        row.addWidget(self.chips, 1)
        row.addWidget(self.key)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        for widget in (self.address, self.note):
            column.addWidget(widget)
        self._kind = provider if provider in dict(PROVIDERS) else ADDRESS
        if self._kind == ADDRESS:
            self.address.setText(provider)
        self.chips.take(self._kind)
        self.chips.chosen.connect(self._choose)
        self._choose(self._kind)

    @property
    def provider(self) -> str:
        """simulated, anthropic, openai, or the address."""
        return self.address.text().strip() if self._kind == ADDRESS else self._kind

    def trouble(self) -> str:
        """What is missing, as a sentence; empty for nothing."""
        if self._kind == ADDRESS and not self.provider:
            return "Type the address of the server, or choose another provider."
        if self._kind == ADDRESS and (trouble := address_trouble(self.provider)):
            return trouble
        if self._kind == ADDRESS and not self.model.text().strip():
            return "Name the model: a server of one's own has no usual one."
        return ""

    def _choose(self, kind: str) -> None:
        self._kind = kind
        self.address.setVisible(kind == ADDRESS)
        self.key.setVisible(kind not in (SIMULATED, ADDRESS))
        self.model.setPlaceholderText("the simulated one" if kind == SIMULATED else "name one")
        self.note.setText(dict(PROVIDERS)[kind])
        if kind not in (SIMULATED, ADDRESS):  # the keyring may take its time
            self._bridge.run(lambda task: key_place(kind), lambda place: self._show_key(kind, place), waits=True)

    def _show_key(self, kind: str, place: str) -> None:
        if kind == self._kind:
            found = {"environment": "The key comes from the environment.", "keyring": "The key is in the keyring."}
            self.note.setText(f"{dict(PROVIDERS)[kind]} {found.get(place, 'There is no key yet: add one.')}")

    def _ask(self) -> None:
        ask_key(self.window(), self._kind)
        self._choose(self._kind)


class PolicyForm(QWidget):
    """A policy and its settings, a row each; what cannot be is told beside it, and not taken."""

    changed = Signal()

    def __init__(self, name: str, pairs: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self.setObjectName("PolicyForm")
        self._pairs = pairs
        self.rows: dict[str, SettingRow] = {}
        self.which = QComboBox()
        self.which.setAccessibleName("Which policy")
        for key, title in TITLES.items():
            self.which.addItem(title, key)
        self.which.setCurrentIndex(max(0, self.which.findData(name)))
        self.which.currentIndexChanged.connect(lambda _: self._take_policy())
        inside = QWidget()
        self._list = QVBoxLayout(inside)
        self._list.setContentsMargins(0, 0, 0, 4)
        self._list.setSpacing(0)
        self._list.addStretch()
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(inside)
        self._scroll.setMinimumHeight(170)
        self._scroll.hide()
        self.more = QToolButton()
        self.more.setCheckable(True)
        self.more.toggled.connect(self._scroll.setVisible)
        row = QHBoxLayout()
        row.addWidget(self.which, 1)
        row.addWidget(self.more)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(row)
        column.addWidget(self._scroll, 1)
        self._build()

    @property
    def policy(self) -> str:
        """Its name."""
        return str(self.which.currentData())

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What differs from the policy's own, as `--set` takes it."""
        return self._pairs

    def _take_policy(self) -> None:
        self._pairs = ()
        self._build()
        self.changed.emit()

    def _build(self) -> None:
        by = policy(self.policy)
        try:
            own, _ = by.settings(), by.settings(self._pairs)
        except InspectorError:  # remembered from another version of the policy
            self._pairs, own = (), by.settings()
        for row in self.rows.values():
            row.hide()
            row.deleteLater()
        hints = get_type_hints(type(own))
        ordered = listed(own)
        self.rows = {one.name: SettingRow(one, hints[one.name], getattr(own, one.name)) for one in ordered}
        for n, row in enumerate(self.rows.values()):
            row.taken.connect(self._take)
            row.reset.connect(lambda name: self._put([pair for pair in self._pairs if pair[0] != name]))
            self._list.insertWidget(n, row)
        self._show()

    def _take(self, name: str, text: str) -> None:
        wanted = [*(pair for pair in self._pairs if pair[0] != name), (name, text)]
        try:
            policy(self.policy).settings(wanted)
        except InspectorError as failure:
            self.rows[name].show_trouble(str(failure))
        else:
            self._put(wanted)

    def _put(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = tuple(pairs)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        now: Any = policy(self.policy).settings(self._pairs)
        changed = {name for name, _ in self._pairs}
        for name, row in self.rows.items():
            row.show_value(getattr(now, name), name in changed, getattr(now, "window_from", "set"))
        self.more.setText(f"Settings: {plural(len(changed), 'change') if changed else 'its own'} ▾")
