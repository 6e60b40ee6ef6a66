"""Back and Forward: after every jump one key returns to where one came from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from inspector.gui.history import DRAG_S
from inspector.gui.navigation import go_to
from inspector.gui.window import MainWindow
from inspector.resources import resource
from tests.gui.hands import click, click_name, click_tab, press
from tests.gui.made import payload

ALT = Qt.KeyboardModifier.AltModifier


@dataclass
class Traveller:
    """A user who jumps about in the window, and waits after each action until it has settled."""

    window: MainWindow
    qtbot: QtBot

    def rest(self) -> None:
        self.qtbot.waitUntil(lambda: not self.window.bridge.busy)
        self.qtbot.wait(120)
        self.qtbot.waitUntil(lambda: not self.window.bridge.busy)

    def do(self, act: Callable[[], object]) -> None:
        act()
        self.rest()

    def open(self, path: Path) -> None:
        self.window.open_path(str(path))
        bench = self.window.workbench
        self.qtbot.waitUntil(lambda: bench.state.is_open(str(path)) and bench.state.opening is None)
        self.qtbot.waitUntil(lambda: self.window.docks.ready)
        self.rest()

    def back(self) -> None:
        self.do(lambda: press(self.window, Qt.Key.Key_Left, ALT))

    def forward(self) -> None:
        self.do(lambda: press(self.window, Qt.Key.Key_Right, ALT))

    @property
    def at(self) -> int | None:
        return self.window.workbench.state.at

    @property
    def workspace(self) -> str:
        return self.window.docks.current.name


@pytest.fixture
def traveller(window: MainWindow, qtbot: QtBot) -> Traveller:
    made = Traveller(window, qtbot)
    made.open(resource("sample.jsonl"))
    made.do(lambda: window.workbench.stepping.choose(policy="roku"))
    return made


def test_back_when_nothing_was_left_is_disabled(traveller: Traveller) -> None:
    top = traveller.window.top
    assert not top.back.isEnabled()
    assert not top.forward.isEnabled()
    traveller.back()
    assert (traveller.at, traveller.workspace) == (131, "Read")


def test_back_after_a_jump_to_another_request_returns(traveller: Traveller) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: bench.move(78))
    traveller.do(lambda: click(traveller.window.top.back))
    assert traveller.at == 131
    traveller.do(lambda: click(traveller.window.top.forward))
    assert traveller.at == 78
    assert not traveller.window.top.forward.isEnabled()


def test_back_after_walking_returns_to_where_the_walk_was_entered(traveller: Traveller) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: bench.move(40))
    for _ in range(3):
        traveller.do(bench.next)
    assert traveller.at == 43
    traveller.back()
    assert traveller.at == 131
    traveller.forward()
    assert traveller.at == 43


def test_back_after_a_drag_of_the_playhead_returns_to_its_start(
    traveller: Traveller, qtbot: QtBot
) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: bench.move(100))
    qtbot.wait(round(DRAG_S * 1000) + 100)
    for at in range(90, 20, -10):
        bench.move(at)
        qtbot.wait(80)
    traveller.rest()
    assert traveller.at == 30
    traveller.back()
    assert traveller.at == 100


def test_back_after_a_workspace_and_a_tab_returns_to_them(traveller: Traveller) -> None:
    docks = traveller.window.docks
    traveller.do(lambda: click_name(traveller.window.top.workspaces, "Compact"))
    traveller.do(lambda: click_tab(docks.dock("Events")))
    traveller.do(lambda: click_name(traveller.window.top.workspaces, "Cost"))
    traveller.back()
    assert traveller.workspace == "Compact"
    assert docks.panel("Events").seen
    traveller.back()
    assert traveller.workspace == "Compact"
    assert docks.panel("Lost").seen
    traveller.back()
    assert traveller.workspace == "Read"
    for _ in range(3):
        traveller.forward()
    assert traveller.workspace == "Cost"


def test_back_after_a_jump_to_another_agent_returns_with_the_selected_message(
    traveller: Traveller,
) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: bench.move(50))
    chosen = bench.state.buffer().messages[4].id
    traveller.do(lambda: bench.select(chosen))
    assert bench.state.session is not None
    agent = bench.state.session.threads[1]
    traveller.do(lambda: go_to(bench, agent.id, 0, ""))
    assert bench.state.thread_id == agent.id
    traveller.back()
    assert (bench.state.thread_id, traveller.at, bench.state.selected) == ("main", 50, chosen)


def test_back_after_a_step_shows_the_buffer_before_it_and_forward_the_step(
    traveller: Traveller, qtbot: QtBot
) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: traveller.window.choose_workspace("Compact"))
    traveller.do(lambda: bench.stepping.step("L0"))
    qtbot.waitUntil(lambda: bench.state.stepped)
    traveller.rest()
    traveller.back()
    assert not bench.state.stepped
    traveller.forward()
    assert bench.state.stepped


def test_back_after_another_file_opens_the_former_one_where_it_was(
    traveller: Traveller, tmp_path: Path, qtbot: QtBot
) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: bench.move(60))
    traveller.open(payload(tmp_path / "other.json"))
    press(traveller.window, Qt.Key.Key_Left, ALT)
    sample = str(resource("sample.jsonl"))
    qtbot.waitUntil(
        lambda: bench.state.is_open(sample) and bench.state.opening is None and bench.state.at == 60
    )


def test_back_after_a_maximised_panel_gives_the_others_their_room(traveller: Traveller) -> None:
    docks = traveller.window.docks
    traveller.do(lambda: docks.maximise("Buffer"))
    assert docks.maximised == "Buffer"
    traveller.back()
    assert docks.maximised == ""
    assert docks.panel("Timeline").seen
    traveller.forward()
    assert docks.maximised == "Buffer"


def test_back_after_selecting_messages_skips_them(traveller: Traveller) -> None:
    bench = traveller.window.workbench
    traveller.do(lambda: bench.move(78))
    for place in (3, 9, 20):
        bench.select(bench.state.buffer().messages[place].id)
        traveller.rest()
    traveller.back()
    assert traveller.at == 131
