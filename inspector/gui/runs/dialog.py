"""Dialogs about a run: its plan, which is stored for the next time (but never a key), and how to resume a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QPlainTextEdit, QWidget

from inspector.agent.plan import Plan
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.policies.settings import SettingPairs
from inspector.core.untyped import digits_of, object_in
from inspector.core.words import plural
from inspector.extensions.policies import find_policy, offered_policies
from inspector.gui.bridge import Bridge
from inspector.gui.dialogs.ask import LARGEST
from inspector.gui.dialogs.form import FormDialog, fields, new_record, path_field
from inspector.gui.dialogs.key_dialog import ask_key
from inspector.gui.dialogs.setting_row import SettingRows
from inspector.gui.look.build import button, choice, column, line_field, row, small_button
from inspector.gui.look.labels import label, tip
from inspector.gui.settings import Settings
from inspector.gui.widgets.chips import Chips
from inspector.safety.keys import address_trouble, key_place

PERMISSIONS = (
    ("ask", "ask me before each write and command"),
    ("always", "everything is allowed (use a workspace you can lose)"),
    ("never", "nothing is written, no command is run"),
)
NEEDS = (
    ("provider", "the run's provider"),
    ("offline", "the offline summariser"),
    ("hand", "me, by hand"),
)
SIMULATED, ADDRESS = "simulated", "an address"
PROVIDERS = (
    (
        SIMULATED,
        "A simulated provider on this machine with the real protocols: no key, no cost.",
    ),
    ("anthropic", "Anthropic's models, with your key and at your cost."),
    ("openai", "OpenAI's models, with your key and at your cost."),
    (ADDRESS, "Any server that speaks OpenAI Chat, OpenAI Responses or Anthropic Messages."),
)
SPELT = (
    "http://host/v1 for OpenAI Chat, anthropic+http://… for Anthropic Messages, "
    "responses+http://… for OpenAI Responses"
)
_KEPT = ("task", "workspace", "provider", "model", "policy", "permissions", "needs_by")


class RunDialog(FormDialog):
    """Asks for the plan of a run. `plan` is set once the dialog was accepted.

    `says` describes the buffer from which the run starts; empty for a new run. A run from a buffer begins paused unless
    the user unticks that.
    """

    def __init__(
        self,
        parent: QWidget | None,
        settings: Settings,
        bridge: Bridge,
        first: Plan,
        says: str = "",
        own: bool = False,
    ) -> None:
        super().__init__(parent, "Run an agent", "Run")
        self.resize(680, 560)
        self._settings = settings
        self._needs_task = not says
        self.plan: Plan | None = None
        asks = (
            "What should the agent do?" if not says else "What should the agent do next? (optional)"
        )
        self.task = _task_field("Task", first.task, asks)
        self.task.setMinimumHeight(self.fontMetrics().height() * 4)
        workspace = "" if first.workspace == Path() else str(first.workspace)
        self.workspace, choose = path_field(workspace, "Workspace folder", self._choose_folder)
        self.provider = ProviderForm(bridge, first.provider, first.model)
        self.policy = PolicyForm(first.policy, first.settings)
        window = f"{first.window:,}" if first.window else ""
        self.limit = line_field("Window in tokens", window, "the model's own window")
        self.permissions = _choice("Permissions", PERMISSIONS, first.permissions)
        self.needs = _choice("Model calls of tiers", NEEDS, first.needs_by)
        self.record, keep = path_field(str(first.record), "Journal", self._choose_record)
        self.paused = QCheckBox("stop before the first model call")
        self.paused.setChecked(bool(says))
        self.ours = QCheckBox("the built-in agent's system prompt instead of the recorded one")
        self.ours.setVisible(own)
        self._lay_out(says, choose, keep)
        self.finished.connect(self.provider.leave)

    def _lay_out(self, says: str, choose: QWidget, keep: QWidget) -> None:
        rows = (
            (label("Task"), self.task),
            (label("Workspace"), choose),
            (label("Provider"), self.provider),
            (label("Model"), self.provider.model),
            (label("Policy"), self.policy),
            (label("Window"), self.limit),
            (label("Permissions"), self.permissions),
            (label("Model calls of tiers"), self.needs),
            (label("Journal"), keep),
            (label(), self.ours),
            (label(), self.paused),
        )
        grid = fields(*rows, top=True)
        grid.setRowStretch(0, 1)
        self.lay_out(says, (grid, 1), self.trouble)

    def _choose_folder(self, now: str) -> str:
        return QFileDialog.getExistingDirectory(self, "Workspace", now or str(Path.home()))

    def _choose_record(self, now: str) -> str:
        return QFileDialog.getSaveFileName(self, "Journal", now, "Journals (*.jsonl)")[0]

    def _accept(self) -> None:
        digits = self.limit.text().replace(",", "").replace(" ", "").strip()
        window = (digits_of(digits) or 0) if digits else None
        workspace = self.workspace.text().strip()
        record = self.record.text().strip()
        task = self.task.toPlainText().strip()
        model = self.provider.model.text().strip()
        policy = self.policy.policy
        settings = self.policy.settings
        permissions = self.permissions.currentData()
        needs_by = self.needs.currentData()
        plan = Plan(
            task=task,
            workspace=Path(workspace),
            record=Path(record),
            provider=self.provider.provider,
            model=model,
            policy=policy,
            settings=settings,
            window=window,
            permissions=permissions,
            needs_by=needs_by,
        )
        if self._needs_task and not plan.task:
            self.refuse("Describe the task.")
        elif not workspace:
            self.refuse("Choose the folder that the agent may work in.")
        elif not plan.workspace.is_dir():
            self.refuse(f"There is no folder {workspace}.")
        elif window is not None and not 0 < window <= LARGEST:
            self.refuse(f"The window must be a number of tokens up to {LARGEST:,}.")
        elif not record:
            self.refuse("Choose a file for the journal.")
        elif trouble := self.provider.trouble():
            self.refuse(trouble)
        else:
            self.plan = plan
            remember(self._settings, plan)
            self.accept()


class ResumeDialog(FormDialog):
    """Asks what a resumed run should do next.

    `over`: the run had ended, so it needs a task. An interrupted run can continue without one.
    """

    def __init__(self, parent: QWidget | None, over: bool) -> None:
        super().__init__(parent, "Resume this run", "Resume")
        self.resize(560, 300)
        self._text = _task_field("What the agent should do next")
        self.paused = QCheckBox("stop before the first model call")
        self.go.setEnabled(not over)
        self._text.textChanged.connect(lambda: self.go.setEnabled(bool(self.task) or not over))
        says = "The run continues where it was interrupted. Write a task only if the agent should do something else."
        if over:
            says = "The run had ended. What should the agent do next?"
        self.lay_out(says, (self._text, 1), self.paused)

    @property
    def task(self) -> str:
        """The next task; empty to continue with the previous one."""
        return self._text.toPlainText().strip()


class ProviderForm(QWidget):
    """Fields for `provider` and `model` in the spelling of a plan."""

    def __init__(self, bridge: Bridge, provider: str, model: str) -> None:
        super().__init__()
        self._bridge = bridge
        self.chips = Chips("Who answers", PROVIDERS)
        self.address = line_field("Address of the server", hint="http://127.0.0.1:8000/v1")
        self.address.setToolTip(tip(SPELT))
        self.key = button("Key…", self._ask)
        self.note = label(role="small", wrap=True)
        self.model = line_field("Model", model)
        column(row((self.chips, 1), self.key), self.address, self.note, of=self, gap=4)
        self._kind = provider if provider in dict(PROVIDERS) else ADDRESS
        if self._kind == ADDRESS:
            self.address.setText(provider)
        self.chips.select(self._kind)
        self.chips.chosen.connect(self._choose)
        self._choose(self._kind)

    @property
    def provider(self) -> str:
        """`simulated`, `anthropic`, `openai`, or the address of a server."""
        return self.address.text().strip() if self._kind == ADDRESS else self._kind

    def trouble(self) -> str:
        """Return what is missing as a sentence; empty if nothing is."""
        if self._kind != ADDRESS:
            return ""
        if not self.provider:
            return "Type the address of the server, or choose another provider."
        named = "Type the name of the model: your own server has no default model."
        if self.model.text().strip():
            named = ""
        return address_trouble(self.provider) or named

    def _choose(self, kind: str) -> None:
        self._kind = kind
        self.address.setVisible(kind == ADDRESS)
        self.key.setVisible(kind not in (SIMULATED, ADDRESS))
        self.model.setPlaceholderText("the simulated one" if kind == SIMULATED else "name one")
        self.note.setText(dict(PROVIDERS)[kind])
        if kind not in (SIMULATED, ADDRESS):  # the keyring may be slow
            self._bridge.run(
                lambda task: key_place(kind), lambda place: self._show_key(kind, place), lane="wait"
            )

    def _show_key(self, kind: str, place: str) -> None:
        if kind == self._kind:
            origins = {
                "environment": "The key comes from the environment.",
                "keyring": "The key is in the keyring.",
            }
            self.note.setText(
                f"{dict(PROVIDERS)[kind]} {origins.get(place, 'There is no key yet: add one.')}"
            )

    def leave(self, result: int) -> None:
        """Ignore results of jobs that arrive after the dialog was closed."""
        self._kind = ""

    def _ask(self) -> None:
        ask_key(self.window(), self._kind)
        self._choose(self._kind)


class PolicyForm(QWidget):
    """Fields for a policy, and its changed settings in the spelling of `--set`."""

    def __init__(self, name: str, pairs: SettingPairs) -> None:
        super().__init__()
        self.setObjectName("PolicyForm")
        self.settings = pairs
        self.which = _choice("Which policy", tuple(offered_policies(name).items()), name)
        self.which.setToolTip("")
        self.which.currentIndexChanged.connect(lambda _: self._take_policy(()))
        self._rows = SettingRows(self._put)
        self._rows.setMinimumHeight(170)
        self._rows.hide()
        self.more = small_button("", role="", checkable=True)
        self.more.toggled.connect(self._rows.setVisible)
        column(row((self.which, 1), self.more), (self._rows, 1), of=self)
        self._take_policy(pairs)

    @property
    def policy(self) -> str:
        """Name of the chosen policy."""
        return str(self.which.currentData())

    def _take_policy(self, pairs: SettingPairs) -> None:
        self.settings = pairs
        try:
            find_policy(self.policy).settings(pairs)
        except InspectorError:  # stored by another version of the policy
            self.settings = ()
        self._show()

    def _put(self, name: str, text: str | None) -> None:
        changed = tuple((other, value) for other, value in self.settings if other != name)
        changed += () if text is None else ((name, text),)
        find_policy(self.policy).settings(changed)
        self.settings = changed
        self._show()

    def _show(self) -> None:
        policy = find_policy(self.policy)
        changed = {name for name, _ in self.settings}
        self._rows.show_values(
            policy.name, now=policy.settings(self.settings), own=policy.settings(), changed=changed
        )
        self.more.setText(f"Settings: {plural(len(changed), 'change') if changed else 'its own'} ▾")


def _task_field(name: str, text: str = "", asks: str = "") -> QPlainTextEdit:
    task_field = QPlainTextEdit(text)
    task_field.setObjectName("RunTask")
    task_field.setAccessibleName(name)
    task_field.setTabChangesFocus(True)
    task_field.setPlaceholderText(asks)
    return task_field


def _choice(name: str, choices: tuple[tuple[str, str], ...], now: str) -> QComboBox:
    box = choice(name, ((words, key) for key, words in choices), about=name)
    box.setCurrentIndex(max(0, box.findData(now)))
    return box


# -- for the next time -------------------------------------------------------------------------------------------------


def remember(settings: Settings, plan: Plan) -> None:
    """Store the plan for the next run, without a key."""
    values = {name: str(getattr(plan, name)) for name in _KEPT}
    settings.keep_text(
        "run/last",
        dumps({**values, "settings": [*map(list, plan.settings)], "window": plan.window}),
    )


def remembered(settings: Settings) -> Plan:
    """Return the plan of the last run, with a new journal."""
    plan = Plan("", Path(), Path(new_record("runs", "run")))
    stored = object_in(settings.text("run/last"))
    values: dict[str, Any] = {
        name: stored[name] for name in _KEPT if isinstance(stored.get(name), str)
    }
    if "workspace" in values:
        values["workspace"] = Path(values["workspace"])
    if address_trouble(values.get("provider", "")):  # stored by an earlier version
        del values["provider"]
    stored_pairs = (pair for pair in stored.get("settings") or () if len(pair) == 2)
    pairs = tuple((str(name), str(value)) for name, value in stored_pairs)
    window = stored.get("window")
    if not isinstance(window, int):
        window = None
    return replace(plan, **values, settings=pairs, window=window)
