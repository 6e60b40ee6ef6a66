"""The chosen policy between two starts of the program."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.gui.app import build
from inspector.gui.dialogs import ask
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from inspector.gui.workspace import WORKSPACES
from inspector.resources import resource
from inspector.workbench.steps import Steps
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


def test_remembered_policy_that_is_gone_gives_way_to_the_default_with_a_sentence(
    start: Start, store: Settings
) -> None:
    store.keep_text("policy", "/nowhere/mine.py")
    state = start().workbench.state
    assert state.choices.policy == DEFAULT_POLICY
    assert state.failure.startswith(
        "The policy that you chose last cannot be loaded, so Roku is used instead. /nowhere/mine.py"
    )


# -- a policy of the user's own ------------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The policy of the guide."""
    guide = (Path(__file__).resolve().parents[2] / "docs" / "add-a-policy.md").read_text("utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    path = tmp_path / "mine.py"
    path.write_text(source, "utf-8")
    return path


@pytest.fixture
def own(start: Start, mine: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> MainWindow:
    """A window with the sample, in which the user has opened the policy by its menu."""
    window = start()
    window.open_path(str(resource("sample.jsonl")))
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    monkeypatch.setattr(ask, "ask_policy_file", lambda parent, settings: str(mine))
    menu = window.top.policy.menu()
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if action.text() == "Open a policy file…").trigger()
    qtbot.waitUntil(lambda: window.workbench.state.choices.policy == str(mine))
    return window


def step_slide(window: MainWindow, qtbot: QtBot) -> Steps:
    bench = window.workbench
    bench.stepping.step("slide")
    qtbot.waitUntil(lambda: bench.state.steps is not None and bench.state.steps.own == 1)
    assert bench.state.steps is not None
    return bench.state.steps


def test_policy_file_that_is_opened_is_chosen_named_and_remembered(
    own: MainWindow, start: Start, mine: Path
) -> None:
    assert "Sliding window" in own.top.policy.text()
    menu = own.top.policy.menu()
    menu.aboutToShow.emit()
    (checked,) = [action.text() for action in menu.actions() if action.isChecked()]
    assert checked == "Sliding window (mine.py)"
    own.close()
    assert start().workbench.state.choices.policy == str(mine)


def test_policy_file_that_changes_is_loaded_again_and_its_steps_replayed(
    own: MainWindow, mine: Path, qtbot: QtBot
) -> None:
    before = len(step_slide(own, qtbot).buffer.messages)
    mine.write_text(mine.read_text("utf-8").replace("setting(4, ", "setting(1, "), "utf-8")
    qtbot.waitUntil(lambda: own.workbench.state.choices.policy_loads == 1)
    steps = own.workbench.state.steps
    assert steps is not None
    assert steps.own == 1
    assert len(steps.buffer.messages) == before, "the saved settings of the step hold"
    assert "1 step replayed" in own.workbench.state.note
    mine.write_text(mine.read_text("utf-8").replace("[messages[0], *new, ", "[*new, "), "utf-8")
    qtbot.waitUntil(lambda: own.workbench.state.choices.policy_loads == 2)
    steps = own.workbench.state.steps
    assert steps is not None
    assert len(steps.buffer.messages) == before - 1
    assert "1 of them changed" in own.workbench.state.note


def test_policy_file_that_is_broken_by_a_change_says_where(
    own: MainWindow, mine: Path, qtbot: QtBot
) -> None:
    step_slide(own, qtbot)
    good = mine.read_text("utf-8")
    mine.write_text(good + "\n1 / 0\n", "utf-8")
    qtbot.waitUntil(lambda: "ZeroDivisionError" in own.workbench.state.failure)
    assert "mine.py" in own.workbench.state.failure
    mine.write_text(good, "utf-8")
    qtbot.waitUntil(lambda: own.workbench.state.choices.policy_loads == 1)
    steps = own.workbench.state.steps
    assert steps is not None
    assert steps.own == 1


def test_policy_file_that_cannot_be_used_leaves_the_chosen_policy(
    own: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("POLICY = 3\n", "utf-8")
    chosen = own.workbench.state.choices.policy
    own.policies.open_file(str(broken))
    qtbot.waitUntil(lambda: "holds no policy" in own.workbench.state.failure)
    assert own.workbench.state.choices.policy == chosen


def test_every_workspace_shows_a_policy_of_the_users_own(own: MainWindow, qtbot: QtBot) -> None:
    for name in WORKSPACES:
        own.choose_workspace(name)
        qtbot.waitUntil(lambda: own.docks.ready and not own.bridge.busy)
        assert all(panel.shown is not None for panel in own.docks.panels.values() if panel.seen), (
            name
        )
