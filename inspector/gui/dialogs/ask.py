"""Dialogs that ask for one value: a file, the size of the context window, or a confirmation."""

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from inspector.core.tokens.windows import Window
from inspector.gui.settings import Settings

LARGEST = 2_000_000
"""Size in tokens of the largest context window that can be entered."""


_TRANSCRIPTS = "Transcripts (*.jsonl *.json *.gz *.zst *.ndjson *.har *.csv *.yaml *.history *.ctx);;All files (*)"


def ask_file(parent: QWidget, settings: Settings) -> str:
    """Ask for a transcript, beginning in the last one's folder. Return its path; empty if the user cancelled."""
    path, _ = QFileDialog.getOpenFileName(
        parent, "Open a transcript", _last_folder(settings), _TRANSCRIPTS
    )
    return path


def ask_files(parent: QWidget, settings: Settings) -> list[str]:
    """Ask for transcripts, beginning in the last one's folder. Return their paths; empty if the user cancelled."""
    paths, _ = QFileDialog.getOpenFileNames(
        parent, "Choose transcripts", _last_folder(settings), _TRANSCRIPTS
    )
    return paths


def _last_folder(settings: Settings) -> str:
    return next((str(Path(path).parent) for path in settings.recents()), str(Path.home()))


def ask_policy_file(parent: QWidget, settings: Settings) -> str:
    """Ask for a policy file, which is executed when it is opened. Return its path; empty if the user cancelled."""
    folder = settings.text("policies", str(Path.home()))
    path, _ = QFileDialog.getOpenFileName(parent, "Open a policy file", folder, "Policies (*.py)")
    if path:
        settings.keep_text("policies", str(Path(path).parent))
    return path


def ask_window(parent: QWidget, window: Window | None) -> int | None:
    """Ask for the size of the context window. Return it in tokens; None if the user cancelled."""
    now = window.tokens if window and window.tokens else 200_000
    tokens, chosen = QInputDialog.getInt(
        parent, "Window", "Tokens of the model's window", now, 1_000, LARGEST, 1_000
    )
    return tokens if chosen else None


def ask_new_file(parent: QWidget, settings: Settings, title: str, name: str, kinds: str) -> str:
    """Ask for a path to write to; Qt asks before an existing file is replaced.

    Return the path; empty if the user cancelled.
    """
    folder = settings.text("saved", str(Path.home()))
    path, _ = QFileDialog.getSaveFileName(parent, title, str(Path(folder) / name), kinds)
    if path:
        settings.keep_text("saved", str(Path(path).parent))
    return path


def ask_steps_file(parent: QWidget, settings: Settings) -> str:
    """Ask for a file with saved steps. Return its path; empty if the user cancelled."""
    folder = settings.text("saved", str(Path.home()))
    path, _ = QFileDialog.getOpenFileName(
        parent, "Replay saved steps", folder, "Steps (*.json);;All files (*)"
    )
    return path


def is_sure(parent: QWidget, title: str, question: str, yes: str, no: str) -> bool:
    """Ask a question and return True if the user agreed. `yes` and `no` are the texts of the buttons."""
    box = QMessageBox(QMessageBox.Icon.Question, title, question, parent=parent)
    accept_button = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    box.addButton(no, QMessageBox.ButtonRole.RejectRole)
    box.exec()
    return box.clickedButton() is accept_button
