"""The chosen policy between two starts of the program."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.gui.app import build
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from tests.gui.made import session

Start = Callable[[], MainWindow]


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return Settings(QSettings(str(tmp_path / "policies.ini"), QSettings.Format.IniFormat))


@pytest.fixture
def start(application: QApplication, qtbot: QtBot, store: Settings) -> Iterator[Start]:
    """Start the program with the same settings, as often as it is called."""
    windows: list[MainWindow] = []

    def started() -> MainWindow:
        window = build(application, store)
        windows.append(window)
        qtbot.addWidget(window)
        qtbot.waitUntil(lambda: not window.bridge.busy)
        return window

    yield started
    for window in windows:
        window.close()


def test_policy_at_the_first_start_is_the_default_one(start: Start) -> None:
    assert start().workbench.state.choices.policy == DEFAULT_POLICY


def test_policy_chosen_in_one_start_is_chosen_in_the_next(start: Start) -> None:
    first = start()
    first.workbench.open(session())
    first.workbench.stepping.choose(policy="pi")
    first.close()
    second = start()
    assert second.workbench.state.choices.policy == "pi"
    second.workbench.stepping.choose(policy=DEFAULT_POLICY)
    second.close()
    assert start().workbench.state.choices.policy == DEFAULT_POLICY


def test_policy_that_a_session_brings_is_not_remembered(start: Start) -> None:
    first = start()
    first.workbench.stepping.adopt("pulse")
    first.close()
    assert start().workbench.state.choices.policy == DEFAULT_POLICY


def test_remembered_policy_that_is_gone_gives_way_to_the_default_with_a_sentence(start: Start, store: Settings) -> None:
    store.keep_text("policy", "/nowhere/mine.py")
    state = start().workbench.state
    assert state.choices.policy == DEFAULT_POLICY
    assert state.failure.startswith(
        "The policy that was chosen last cannot be used, so Roku is chosen. /nowhere/mine.py"
    )
