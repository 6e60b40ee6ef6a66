"""The menu of what runs, in the bar that is always there."""

from pytestqt.qtbot import QtBot

from inspector.gui.bars import LIVE
from inspector.gui.window import MainWindow


def test_the_demo_is_one_menu_away(window: MainWindow, qtbot: QtBot) -> None:
    menu = window.top.live.menu()
    assert menu is not None
    menu.aboutToShow.emit()
    offered = {action.text().partition("\t")[0]: action for action in menu.actions()}
    assert set(offered) == set(LIVE)
    offered["Run a live demo"].trigger()
    run, bench = window.runs.controller, window.workbench

    def reported() -> bool:
        return (
            bench.state.run_is_open
            and bench.state.run is not None
            and bool(bench.state.run.reports)
        )

    qtbot.waitUntil(reported)
    run.stop()
    qtbot.waitUntil(lambda: not run.active)
