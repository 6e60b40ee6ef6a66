"""What people come for, from the first click to the last: a full session understood; compacted three ways and exported.

(The third, a real client's request held and sent on, is played in `test_proxy`.)
"""

from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from inspector.gui.panels.cost.panel import CostPanel
from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.glance.panel import GlancePanel
from inspector.gui.panels.lists.lost import AGAIN, LostPanel
from inspector.gui.panels.steps.panel import StepsPanel
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.window import MainWindow
from inspector.transcripts.files import open_transcript
from inspector.transcripts.saving import NATIVE
from tests.gui.hands import click, press
from tests.gui.test_steps_panel import answer_dialogs

CONTROL = Qt.KeyboardModifier.ControlModifier
P = TypeVar("P", bound=QWidget)


@pytest.fixture
def opened(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """The sample, by the button of the welcome page."""
    click(window.welcome.sample)
    bench = window.workbench
    qtbot.waitUntil(lambda: bench.state.session is not None and bench.state.opening is None and window.docks.ready)
    return window


def panel(window: MainWindow, title: str, kind: type[P]) -> P:
    found = window.docks.panel(title)
    assert isinstance(found, kind)
    return found


def test_a_full_session_is_understood(opened: MainWindow, qtbot: QtBot) -> None:
    """What was lost is said before the first click; two clicks lead to a request that needed it again, and its text."""
    cards = panel(opened, "At a glance", GlancePanel).cards
    qtbot.waitUntil(lambda: all(card.answer is not None for card in cards.values()))
    click(cards["lost"])
    lost = panel(opened, "Lost", LostPanel)
    qtbot.waitUntil(lambda: lost.seen and any(one.lost.needed for one in lost.table.rows))
    assert opened.workbench.state.at == 79
    row = next(n for n, one in enumerate(lost.table.rows) if one.lost.needed)
    use = lost.table.rows[row].lost.needed[0]
    index = lost.table.model().index(row, AGAIN)
    lost.table.scrollTo(index)
    click(lost.table.viewport(), lost.table.visualRect(index).center())
    qtbot.waitUntil(lambda: opened.workbench.state.at == use.request)
    press(opened, Qt.Key.Key_1, CONTROL)
    click(cards["cost"])
    cost = panel(opened, "Cost", CostPanel)
    qtbot.waitUntil(lambda: cost.seen and bool(cost.table.rows))
    assert cost.says.text().startswith("This thread $8.63 of $8.67")


def test_one_buffer_is_compacted_three_ways_and_exported(
    opened: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded compaction by C, two policies on the buffer before it, and one of the three as a session."""
    bench = opened.workbench
    bench.first()
    press(opened, Qt.Key.Key_2, CONTROL)
    opened.setFocus()
    press(opened, Qt.Key.Key_C)
    diff, tiers = panel(opened, "Diff", DiffPanel), panel(opened, "Tiers", TierPanel)
    qtbot.waitUntil(lambda: diff.model.comparison is not None and diff.bar.accept.text() == "Go before")
    click(diff.bar.accept)
    for name, tier in (("Claude Code", "auto"), ("Roku", "L1")):
        next(one for one in tiers.caption.menu().actions() if one.text() == name).trigger()
        qtbot.waitUntil(lambda tier=tier: tier in tiers.rows and not opened.bridge.busy)  # type: ignore[misc]
        count = len(bench.state.steps.taken) if bench.state.steps else 0
        button = tiers.rows[tier].button
        qtbot.waitUntil(button.isEnabled)
        click(button, QPoint(6, 6))
        qtbot.waitUntil(lambda count=count: bench.state.steps is not None and len(bench.state.steps.taken) > count)  # type: ignore[misc]
    steps, path = panel(opened, "Steps", StepsPanel), tmp_path / "compacted.jsonl"
    answer_dialogs(monkeypatch, path)
    steps.actions_of[NATIVE].trigger()
    qtbot.waitUntil(path.exists)
    qtbot.waitUntil(lambda: not opened.bridge.busy)
    kept = open_transcript(str(path)).main.end.messages()
    assert [one.text for one in kept] == [one.text for one in bench.state.buffer().messages]
