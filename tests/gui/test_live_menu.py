"""The menu of what runs, in the bar that is always there."""

from pytestqt.qtbot import QtBot

from inspector.gui.bars import LIVE
from inspector.gui.window import MainWindow
from tests.gui.live_runs import PATIENCE


def test_the_demo_is_one_menu_away(window: MainWindow, qtbot: QtBot) -> None:
    menu = window.top.live.menu()
    assert menu is not None
    menu.aboutToShow.emit()
    offered = {action.text().partition("\t")[0]: action for action in menu.actions()}
    assert set(offered) == set(LIVE)
    offered["Run a live demo"].trigger()
    running = window.runs.running
    qtbot.waitUntil(lambda: running.shown and bool(running.reports), timeout=PATIENCE)
    running.stop()
    qtbot.waitUntil(lambda: not running.active, timeout=PATIENCE)
