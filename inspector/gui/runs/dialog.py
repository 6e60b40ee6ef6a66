"""What a run is to be: asked once, remembered for the next time (but never a key)."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from inspector.gui.bridge import Bridge
from inspector.gui.look.labels import label, tip
from inspector.gui.runs.form import PolicyForm, ProviderForm
from inspector.gui.runs.wanted import Wanted, remember
from inspector.gui.settings import Settings

LARGEST = 2_000_000
"""Tokens: no window is larger (spec 1.1)."""
PERMISSIONS = (
    ("ask", "writing and commands ask me first"),
    ("always", "everything is allowed (a workspace you can lose)"),
    ("never", "nothing is written, no command is run"),
)
NEEDS = (("provider", "the run's provider"), ("offline", "the offline summariser"), ("hand", "me, by hand"))


class RunDialog(QDialog):
    """`wanted` is set when it was accepted. `says`: what the run starts from, where not from nothing."""

    def __init__(
        self,
        parent: QWidget | None,
        settings: Settings,
        bridge: Bridge,
        first: Wanted,
        says: str = "",
        own: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Run an agent")
        self.resize(680, 560)
        self._settings, self._needs_task = settings, not says
        self.wanted: Wanted | None = None
        self.task = QPlainTextEdit(first.task)
        self.task.setObjectName("RunTask")
        self.task.setAccessibleName("Task")
        self.task.setTabChangesFocus(True)
        self.task.setPlaceholderText("What is to be done?" if not says else "What is to be done next? May stay empty.")
        self.workspace, choose = _path_row(first.workspace, "Workspace folder", self._choose_folder)
        self.provider = ProviderForm(bridge, first.provider, first.model)
        self.policy = PolicyForm(first.policy, first.settings)
        self.limit = QLineEdit(f"{first.window:,}" if first.window else "")
        self.limit.setAccessibleName("Window in tokens")
        self.limit.setPlaceholderText("as known for the model")
        self.permissions = _choice("Permissions", PERMISSIONS, first.permissions)
        self.needs = _choice("Who answers the tiers", NEEDS, first.needs_by)
        self.record, keep = _path_row(first.record, "Journal", self._choose_record)
        self.paused = QCheckBox("stop before the first model call")
        self.paused.setChecked(first.paused)
        self.ours = QCheckBox("our agent's own system prompt instead of the recorded one")
        self.ours.setVisible(own)
        self.trouble = label(role="bad")
        self.trouble.setWordWrap(True)
        self.trouble.hide()
        self._lay_out(says, choose, keep)

    def _lay_out(self, says: str, choose: QWidget, keep: QWidget) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(9)
        grid.setColumnStretch(1, 1)
        rows: tuple[tuple[str, QWidget], ...] = (
            ("Task", self.task),
            ("Workspace", choose),
            ("Provider", self.provider),
            ("Model", self.provider.model),
            ("Policy", self.policy),
            ("Window", self.limit),
            ("Permissions", self.permissions),
            ("Tiers are answered by", self.needs),
            ("Journal", keep),
            ("", self.ours),
            ("", self.paused),
        )
        for n, (words, widget) in enumerate(rows):
            grid.addWidget(_beside(words, widget), n, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(widget, n, 1)
        grid.setRowStretch(0, 1)
        self.task.setMinimumHeight(self.fontMetrics().height() * 4)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.run = buttons.addButton("Run", QDialogButtonBox.ButtonRole.AcceptRole)
        self.run.setProperty("role", "primary")
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 14)
        column.setSpacing(10)
        if says:
            start = label(says, role="quiet")
            start.setWordWrap(True)
            column.addWidget(start)
        column.addLayout(grid, 1)
        column.addWidget(self.trouble)
        column.addWidget(buttons)

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Workspace", self.workspace.text() or str(Path.home()))
        if folder:
            self.workspace.setText(folder)

    def _choose_record(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Journal", self.record.text(), "Journals (*.jsonl)")
        if path:
            self.record.setText(path)

    def _accept(self) -> None:
        wanted = self._read()
        why = self._why_not(wanted)
        if why:
            self.trouble.setText(why)
            self.trouble.show()
            return
        self.wanted = wanted
        remember(self._settings, wanted)
        self.accept()

    def _read(self) -> Wanted:
        digits = self.limit.text().replace(",", "").replace(" ", "").strip()
        return Wanted(
            task=self.task.toPlainText().strip(),
            workspace=self.workspace.text().strip(),
            provider=self.provider.provider,
            model=self.provider.model.text().strip(),
            policy=self.policy.policy,
            settings=self.policy.settings,
            window=int(digits) if digits.isascii() and digits.isdigit() else None if not digits else -1,
            permissions=self.permissions.currentData(),
            needs_by=self.needs.currentData(),
            record=self.record.text().strip(),
            paused=self.paused.isChecked(),
            ours=self.ours.isChecked(),
        )

    def _why_not(self, wanted: Wanted) -> str:
        if self._needs_task and not wanted.task:
            return "Write down what is to be done."
        if not wanted.workspace:
            return "Choose the folder that the agent may work in."
        if not Path(wanted.workspace).is_dir():
            return f"There is no folder {wanted.workspace}."
        if wanted.window is not None and not 0 < wanted.window <= LARGEST:
            return f"The window must be a number of tokens up to {LARGEST:,}."
        if not wanted.record:
            return "Say where the journal goes."
        return self.provider.trouble()


def _beside(words: str, widget: QWidget) -> QLabel:
    made = label(words)
    made.setContentsMargins(0, 5, 0, 0)
    made.setBuddy(widget)
    return made


def _path_row(text: str, name: str, choose: object) -> tuple[QLineEdit, QWidget]:
    line, button, whole = QLineEdit(text), QPushButton("Choose…"), QWidget()
    line.setAccessibleName(name)
    button.setAccessibleName(f"Choose: {name}")
    button.setAutoDefault(False)
    button.clicked.connect(choose)
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(line, 1)
    row.addWidget(button)
    whole.setFocusProxy(line)
    return line, whole


def _choice(name: str, choices: tuple[tuple[str, str], ...], now: str) -> QComboBox:
    made = QComboBox()
    made.setAccessibleName(name)
    made.setToolTip(tip(name))
    for key, words in choices:
        made.addItem(words, key)
    made.setCurrentIndex(max(0, made.findData(now)))
    return made
