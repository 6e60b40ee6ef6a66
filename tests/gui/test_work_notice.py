"""What takes longer than a moment is named, and can be cancelled and begun again."""

from threading import Event

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from inspector.gui.bridge import Task
from inspector.gui.window import MainWindow
from tests.gui.hands import click


def test_long_work_when_it_is_cancelled_ends_and_is_offered_again(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_sample()
    qtbot.waitUntil(lambda: window.workbench.state.opening is None and window.docks.ready)
    window.show_panel("Cost")
    panel = window.docks.panel("Cost")
    qtbot.waitUntil(lambda: panel.shown is not None and not window.bridge.busy)
    qtbot.waitUntil(window.work.isHidden)
    ended = Event()

    def wait(task: Task) -> None:
        while not task.cancelled():
            task.rest(0.01)
        ended.set()

    panel.desk.bridge.run(wait, lambda _: None)
    qtbot.waitUntil(window.work.isVisible)
    assert window.work.words.text().startswith("Working on Cost")
    click(window.work.stop)
    assert ended.wait(10)
    assert window.work.isHidden()
    assert panel.cover is not None
    assert panel.cover.words.text() == "Cost: the work was cancelled."
    again = panel.cover.again
    assert isinstance(again, QPushButton)
    again.setFocus(Qt.FocusReason.TabFocusReason)
    click(again)
    qtbot.waitUntil(lambda: panel.cover is None and not window.bridge.busy)
    assert panel.figures is not None  # type: ignore[attr-defined]
