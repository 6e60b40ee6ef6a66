"""The tier panel of a session with much to compact, and its steps."""

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.window import MainWindow
from inspector.workbench.steps import Step
from tests.gui.stepping import open_it


def foreseen(window: MainWindow, qtbot: QtBot) -> None:
    """Wait until every tier has its preview."""

    def ready() -> bool:
        previews = window.workbench.state.previews
        return previews is not None and previews.is_complete and not window.bridge.busy

    qtbot.waitUntil(ready)


def stepped(window: MainWindow, qtbot: QtBot, act: Callable[[], object]) -> Step:
    """Do it, and wait for the step it makes."""
    before = window.workbench.state.steps
    count = len(before.taken) if before else 0
    act()
    qtbot.waitUntil(lambda: len(taken(window)) == count + 1)
    return taken(window)[-1]


def taken(window: MainWindow) -> tuple[Step, ...]:
    steps = window.workbench.state.steps
    return steps.taken if steps else ()


# -- steps ---------------------------------------------------------------------------------------------------------


def anew(window: MainWindow, qtbot: QtBot) -> None:
    """No step was taken, in the same window."""
    window.workbench.stepping.forget()
    foreseen(window, qtbot)
    assert not taken(window)


@pytest.fixture
def stepper(window: MainWindow, qtbot: QtBot) -> TierPanel:
    """The tier panel, in front, on a session with much to compact and every preview there."""
    open_it(window.workbench)
    qtbot.waitUntil(lambda: window.workbench.state.session is not None and not window.bridge.busy)
    window.docks.bring("Tiers")
    panel = window.docks.panel("Tiers")
    assert isinstance(panel, TierPanel)
    assert panel.seen
    foreseen(window, qtbot)
    return panel
