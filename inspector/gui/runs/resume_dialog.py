"""Going on with a run from its journal: what is to be done next, and whether to stop first."""

from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QPlainTextEdit, QVBoxLayout, QWidget

from inspector.gui.look.labels import label


class ResumeDialog(QDialog):
    """`over`: the run had come to its end, and needs something to do. One that was interrupted may go on as it was."""

    def __init__(self, parent: QWidget | None, over: bool) -> None:
        super().__init__(parent)
        self.setWindowTitle("Resume this run")
        self.resize(560, 300)
        says = label(
            "The run had come to its end. What is to be done next?"
            if over
            else "The run goes on where it was. Write something only where it should do something else instead.",
            role="quiet",
        )
        says.setWordWrap(True)
        self._text = QPlainTextEdit()
        self._text.setObjectName("RunTask")
        self._text.setAccessibleName("What is to be done next")
        self._text.setTabChangesFocus(True)
        self.first = QCheckBox("stop before the first model call")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.go = buttons.addButton("Resume", QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setProperty("role", "primary")
        self.go.setEnabled(not over)
        self._text.textChanged.connect(lambda: self.go.setEnabled(bool(self.task) or not over))
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 14)
        column.setSpacing(10)
        column.addWidget(says)
        column.addWidget(self._text, 1)
        for widget in (self.first, buttons):
            column.addWidget(widget)

    @property
    def task(self) -> str:
        """What to do next; empty for nothing else."""
        return self._text.toPlainText().strip()

    @property
    def stop_first(self) -> bool:
        """Begin paused?"""
        return self.first.isChecked()
