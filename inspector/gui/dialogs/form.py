"""The common base of forms: a description, rows of labels and fields, an error text, two buttons; and a path field."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QDateTime, QStandardPaths, Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QLineEdit, QWidget

from inspector.core.words import sentence_case
from inspector.gui.look.build import Item, button, column, holding, line_field, row
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import DIALOG_INSETS


class FormDialog(QDialog):
    """A dialog whose button `go` calls `_accept`, which a subclass may override to check the input."""

    def __init__(self, parent: QWidget | None, title: str, go: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.trouble = label(role="bad", wrap=True)
        self.trouble.hide()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.go = self.buttons.addButton(go, QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setProperty("role", "primary")
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)

    def lay_out(self, says: str, *parts: Item, gap: int = 10) -> None:
        """Lay out the description `says`, the parts and the buttons below each other."""
        about: tuple[QWidget, ...] = (label(says, role="quiet", wrap=True),) if says else ()
        column(*about, *parts, self.buttons, of=self, margins=DIALOG_INSETS, gap=gap)

    def refuse(self, why: str) -> None:
        """Show why the input cannot be accepted, as a sentence."""
        self.trouble.setText(sentence_case(why))
        self.trouble.show()

    def _accept(self) -> None:
        self.accept()


def fields(*rows: tuple[QLabel, QWidget], top: bool = False) -> QGridLayout:
    """Return a form with labels on the left and fields on the right; `top`: labels are at the top of tall fields."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(14)
    grid.setVerticalSpacing(9)
    grid.setColumnStretch(1, 1)
    for index, (words, field) in enumerate(rows):
        if top:
            words.setContentsMargins(0, 5, 0, 0)
            words.setBuddy(field)
            grid.addWidget(words, index, 0, Qt.AlignmentFlag.AlignTop)
        else:
            grid.addWidget(words, index, 0)
        grid.addWidget(field, index, 1)
    return grid


def path_field(text: str, name: str, choose: Callable[[str], str]) -> tuple[QLineEdit, QWidget]:
    """Return a field for a path, and its row with a button, which calls `choose` with the path in the field."""
    line = line_field(name, text)

    def chosen() -> None:
        if path := choose(line.text()):
            line.setText(path)

    pick = button("Choose…", chosen)
    pick.setAccessibleName(f"Choose: {name}")
    pick.setAutoDefault(False)
    whole = holding(row((line, 1), pick))
    whole.setFocusProxy(line)
    return line, whole


def new_record(kind: str, stem: str) -> str:
    """Return a path of a file that does not exist yet, in the user's data folder."""
    folder = Path(
        QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation)
    )
    stamp = QDateTime.currentDateTime().toString("yyyyMMdd-HHmmss")
    return str(folder / "context-inspector" / kind / f"{stem}-{stamp}.jsonl")
