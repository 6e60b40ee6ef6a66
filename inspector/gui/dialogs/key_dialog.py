"""The dialog for a provider's key: typing is hidden, the key goes to the system's keyring and is never shown again."""

from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.core.errors import InspectorError
from inspector.gui.dialogs.form import FormDialog
from inspector.gui.look.build import button, column, row
from inspector.gui.look.labels import label
from inspector.safety.keys import ENVIRONMENT, NoKeyring, forget_key, key_place, save_key


class KeyDialog(FormDialog):
    """Shows where the key of `provider` comes from; stores another key, or deletes the stored one."""

    def __init__(self, parent: QWidget | None, provider: str) -> None:
        super().__init__(parent, f"Key for {provider}", "Save")
        self._provider = provider
        self.setMinimumWidth(420)
        self.says = label(wrap=True)
        self.line = QLineEdit()
        self.line.setEchoMode(QLineEdit.EchoMode.Password)
        self.line.setAccessibleName(f"Key for {provider}")
        self.line.setPlaceholderText("Paste the key; it will not be shown")
        self.forget = button("Forget the stored key", self._forget)
        self.go.setEnabled(False)
        self.line.textChanged.connect(lambda text: self.go.setEnabled(bool(text.strip())))
        column(
            self.says,
            self.line,
            self.trouble,
            row(self.forget, ..., self.buttons),
            of=self,
            margins=None,
        )
        self._show_place()

    def _show_place(self) -> None:
        place = key_place(self._provider)
        variable = ENVIRONMENT.get(self._provider, "")
        self.forget.setVisible(place == "keyring")
        match place:
            case "environment":
                message = (
                    f"The key comes from {variable}. A key stored here is used only if that variable is not "
                    "set."
                )
            case "keyring":
                message = "A key is stored in this machine's keyring. Enter a new key to replace the stored key."
            case _:
                message = (
                    "No key is stored. A key that you enter is kept in this machine's keyring, never in a file"
                    + (
                        f". You can also set {variable} before the program starts."
                        if variable
                        else "."
                    )
                )
        self.says.setText(message)

    def _accept(self) -> None:
        text = self.line.text()
        self.line.clear()
        try:
            save_key(self._provider, text)
        except InspectorError as failure:
            self.refuse(str(failure))
        else:
            self.accept()

    def _forget(self) -> None:
        try:
            forget_key(self._provider)
        except NoKeyring as failure:
            self.refuse(str(failure))
        self._show_place()


def ask_key(parent: QWidget, provider: str) -> None:
    """Open the dialog for a provider."""
    KeyDialog(parent, provider).exec()
