"""Which provider an agent is watched in front of: asked once, remembered for the next time."""

from pathlib import Path

from PySide6.QtCore import QDateTime, QStandardPaths
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from inspector.gui.look.labels import label
from inspector.gui.proxies.controller import Wanted
from inspector.gui.settings import Settings
from inspector.gui.widgets.chips import Chips
from inspector.proxy.live_proxy import SIMULATED, UPSTREAMS
from inspector.safety.addresses import address_trouble

ADDRESS = "an address"
PROVIDERS = (
    ("anthropic", f"Forwards to {UPSTREAMS['anthropic']}; the client brings its key."),
    ("openai", f"Forwards to {UPSTREAMS['openai']}; the client brings its key."),
    ("gemini", f"Forwards to {UPSTREAMS['gemini']}; the client brings its key."),
    (SIMULATED, "A provider on this machine that speaks the real protocols: no key, no cost."),
    (ADDRESS, "Any server: a gateway, a local model, a company's endpoint. Paths are passed on as they are."),
)


class ProxyDialog(QDialog):
    """`wanted` is set when it was accepted."""

    def __init__(self, parent: QWidget | None, settings: Settings) -> None:
        super().__init__(parent)
        self.setWindowTitle("Watch an agent")
        self.setMinimumWidth(600)
        self._settings = settings
        self.wanted: Wanted | None = None
        kept = settings.text("proxy/upstream", "anthropic")
        kept = "anthropic" if address_trouble(kept) else kept  # kept by an earlier version
        self._kind = kept if kept in dict(PROVIDERS) else ADDRESS
        self.chips = Chips("Provider", PROVIDERS)
        self.chips.chosen.connect(self._choose)
        self.address = QLineEdit(kept if self._kind == ADDRESS else "")
        self.address.setAccessibleName("Address of the provider")
        self.address.setPlaceholderText("https://gateway.example.com/anthropic")
        self.note = label(role="quiet")
        self.note.setWordWrap(True)
        self.record = QLineEdit(new_record())
        self.record.setAccessibleName("Recording")
        self.port = QLineEdit(settings.text("proxy/port"))
        self.port.setAccessibleName("Port")
        self.port.setPlaceholderText("any free one")
        self.port.setValidator(QIntValidator(0, 65_535, self))
        self.trouble = label(role="bad")
        self.trouble.setWordWrap(True)
        self.trouble.hide()
        self._lay_out()
        self.chips.take(self._kind)
        self._choose(self._kind)

    def _lay_out(self) -> None:
        choose = QPushButton("Choose…")
        choose.clicked.connect(self._choose_record)
        beside = QWidget()
        row = QHBoxLayout(beside)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.record, 1)
        row.addWidget(choose)
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(9)
        grid.setColumnStretch(1, 1)
        rows: tuple[tuple[str, QWidget], ...] = (
            ("Provider", self.chips),
            ("", self.note),
            ("", self.address),
            ("Recording", beside),
            ("Port", self.port),
        )
        for n, (words, widget) in enumerate(rows):
            grid.addWidget(label(words, role="quiet"), n, 0)
            grid.addWidget(widget, n, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.start = buttons.addButton("Listen", QDialogButtonBox.ButtonRole.AcceptRole)
        self.start.setProperty("role", "primary")
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        says = label(
            "A reverse proxy on this machine, between an agent and its provider. Nothing of what passes is changed "
            "unless you hold a request and change it. Keys pass through and are not recorded.",
            role="quiet",
        )
        says.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 14)
        column.setSpacing(12)
        column.addWidget(says)
        column.addLayout(grid)
        column.addWidget(self.trouble)
        column.addStretch()
        column.addWidget(buttons)

    def _choose(self, kind: str) -> None:
        self._kind = kind
        self.address.setVisible(kind == ADDRESS)
        self.note.setText(dict(PROVIDERS)[kind])

    def _choose_record(self) -> None:
        path, _ = QFileDialog.getSaveFileName(
            self, "Recording", self.record.text(), "Recordings (*.jsonl)", options=_NO_QUESTION
        )
        if path:
            self.record.setText(path)

    def _accept(self) -> None:
        upstream = self.address.text().strip() if self._kind == ADDRESS else self._kind
        record = self.record.text().strip()
        trouble = "Type the provider's address." if not upstream else address_trouble(upstream)
        if trouble or not record:
            self.trouble.setText(trouble or "Say where to record.")
            self.trouble.show()
            return
        self._settings.keep_text("proxy/upstream", upstream)
        self._settings.keep_text("proxy/port", self.port.text())
        self.wanted = Wanted(upstream, str(Path(record).expanduser().absolute()), int(self.port.text() or 0))
        self.accept()


_NO_QUESTION = QFileDialog.Option.DontConfirmOverwrite
"""A recording that is there is gone on with, not replaced."""


def new_record() -> str:
    """A recording that is not there yet, in the user's own data folder."""
    folder = Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation))
    stamp = QDateTime.currentDateTime().toString("yyyyMMdd-HHmmss")
    return str(folder / "context-inspector" / "recordings" / f"proxy-{stamp}.jsonl")
