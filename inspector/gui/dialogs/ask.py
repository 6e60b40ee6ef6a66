"""What the user is asked in a dialog: which file, how large the window is."""

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from inspector.core.tokens.windows import Window
from inspector.gui.settings import Settings

LARGEST = 2_000_000
"""Tokens of the largest window that can be entered."""


_TRANSCRIPTS = "Transcripts (*.jsonl *.json *.gz *.zst *.ndjson *.har *.csv *.yaml *.history *.ctx);;All files (*)"


def ask_file(parent: QWidget, settings: Settings) -> str:
    """Path of a transcript; empty if the user changed their mind. Starts where the last one was."""
    path, _ = QFileDialog.getOpenFileName(
        parent, "Open a transcript", _last_folder(settings), _TRANSCRIPTS
    )
    return path


def ask_files(parent: QWidget, settings: Settings) -> list[str]:
    """Paths of transcripts; empty if the user changed their mind. Starts where the last one was."""
    paths, _ = QFileDialog.getOpenFileNames(
        parent, "Choose transcripts", _last_folder(settings), _TRANSCRIPTS
    )
    return paths


def _last_folder(settings: Settings) -> str:
    return next((str(Path(path).parent) for path in settings.recents()), str(Path.home()))


def ask_policy_file(parent: QWidget, settings: Settings) -> str:
    """Path of a policy of the user's own, which is run when it is opened; empty if they changed their mind."""
    folder = settings.text("policies", str(Path.home()))
    path, _ = QFileDialog.getOpenFileName(parent, "Open a policy file", folder, "Policies (*.py)")
    if path:
        settings.keep_text("policies", str(Path(path).parent))
    return path


def ask_window(parent: QWidget, window: Window | None) -> int | None:
    """Tokens of the window; None if the user changed their mind."""
    now = window.tokens if window and window.tokens else 200_000
    tokens, chosen = QInputDialog.getInt(
        parent, "Window", "Tokens of the model's window", now, 1_000, LARGEST, 1_000
    )
    return tokens if chosen else None


def ask_new_file(parent: QWidget, settings: Settings, title: str, name: str, kinds: str) -> str:
    """Path to write to, an existing one confirmed by the user; empty if they changed their mind."""
    folder = settings.text("saved", str(Path.home()))
    path, _ = QFileDialog.getSaveFileName(parent, title, str(Path(folder) / name), kinds)
    if path:
        settings.keep_text("saved", str(Path(path).parent))
    return path


def ask_steps_file(parent: QWidget, settings: Settings) -> str:
    """Path of saved steps; empty if the user changed their mind."""
    folder = settings.text("saved", str(Path.home()))
    path, _ = QFileDialog.getOpenFileName(
        parent, "Replay saved steps", folder, "Steps (*.json);;All files (*)"
    )
    return path


def is_sure(parent: QWidget, title: str, question: str, yes: str, no: str) -> bool:
    """Ask the user a question; `yes`, `no`: the texts of the buttons."""
    box = QMessageBox(QMessageBox.Icon.Question, title, question, parent=parent)
    accept_button = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    box.addButton(no, QMessageBox.ButtonRole.RejectRole)
    box.exec()
    return box.clickedButton() is accept_button
