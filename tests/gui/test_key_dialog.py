"""A key is typed blind, kept in the keyring, never shown."""

from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from inspector.gui.dialogs.key_dialog import KeyDialog
from tests.gui.hands import click, press, write

KEY = "sk-test-0123456789"


class Kept(KeyringBackend):
    """A keyring in memory."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # keyring has no types here
        self.held: dict[tuple[str, str], str] = {}
        self.refuses = False

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.refuses:
            raise KeyringError(f"cannot keep {password}")
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    """The keyring of the test, and no key in the environment."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before, made = keyring.get_keyring(), Kept()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def dialog(qtbot: QtBot) -> KeyDialog:
    made = KeyDialog(None, "openai")
    qtbot.addWidget(made)
    made.show()
    return made


def shown(made: KeyDialog) -> str:
    fields = [line.displayText() for line in made.findChildren(QLineEdit)]
    return "\n".join(
        [*(text.text() for text in made.findChildren(QLabel)), *fields, made.windowTitle()]
    )


def test_a_key_is_kept_and_not_shown(application: QApplication, qtbot: QtBot, kept: Kept) -> None:
    made = dialog(qtbot)
    assert "No key is stored" in made.says.text()
    assert not made.go.isEnabled()
    write(made.line, KEY)
    assert KEY not in shown(made)
    click(made.go)
    assert made.result() == QDialog.DialogCode.Accepted
    assert list(kept.held.values()) == [KEY]
    assert made.line.text() == ""
    again = dialog(qtbot)
    assert "A key is stored" in again.says.text()
    assert KEY not in shown(again)
    click(again.forget)
    assert kept.held == {}
    assert not again.forget.isVisible()


def test_a_refusal_is_told_without_the_key(
    application: QApplication, qtbot: QtBot, kept: Kept
) -> None:
    kept.refuses = True
    made = dialog(qtbot)
    write(made.line, KEY)
    press(made.line, Qt.Key.Key_Return)
    assert made.isVisible()
    assert made.trouble.isVisible()
    assert KEY not in shown(made)
    assert made.line.text() == ""


def test_what_is_no_key_is_told(application: QApplication, qtbot: QtBot, kept: Kept) -> None:
    made = dialog(qtbot)
    write(made.line, "two words")
    click(made.go)
    assert made.trouble.isVisible()
    assert kept.held == {}


def test_the_environment_goes_first(
    application: QApplication, qtbot: QtBot, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = dialog(qtbot)
    assert "OPENAI_API_KEY" in made.says.text()
    assert KEY not in shown(made)
