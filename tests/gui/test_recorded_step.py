"""Key C: the next recorded compaction, micro-compaction or drop, shown at once in diff, buffer, lost and steps."""

from dataclasses import replace

from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from inspector.core.session import Session
from inspector.gui.panels.buffer.panel import BufferPanel, changed_since
from inspector.gui.panels.diff.bar import diff_headline
from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.steps.panel import StepsPanel
from inspector.gui.window import MainWindow
from inspector.workbench.steps import ORIGIN, RECORDED
from tests.core.sessions import compacted
from tests.gui.hands import click, press
from tests.gui.test_drops import session as dropped


def opened(
    window: MainWindow, qtbot: QtBot, session: Session
) -> tuple[BufferPanel, DiffPanel, StepsPanel]:
    """At the first request, with the diff in front."""
    window.workbench.open(session)
    qtbot.waitUntil(lambda: window.docks.ready and window.workbench.state.session is not None)
    window.workbench.first()
    window.show_panel("Steps")
    window.show_panel("Diff")
    buffer, diff, steps = (
        window.docks.panel("Buffer"),
        window.docks.panel("Diff"),
        window.docks.panel("Steps"),
    )
    assert isinstance(buffer, BufferPanel)
    assert isinstance(diff, DiffPanel)
    assert isinstance(steps, StepsPanel)
    click(buffer.view.viewport())
    return buffer, diff, steps


def headline_at(diff: DiffPanel, qtbot: QtBot, name: str) -> str:
    """What the diff says, as soon as it shows that step."""

    def shows() -> bool:
        found = diff.model.comparison
        return found is not None and found.sides.name == name

    qtbot.waitUntil(shows)
    found = diff.model.comparison
    assert found is not None
    return diff_headline(found)


def click_step(steps: StepsPanel, at: int) -> None:
    rect = steps.view.visualRect(steps.model.index(steps.model.place_of(at), 0))
    click(steps.view.viewport(), QPoint(rect.left() + 90, rect.top() + rect.height() // 4))


def test_c_shows_what_a_recorded_compaction_did(window: MainWindow, qtbot: QtBot) -> None:
    made = compacted(before=4, after=3, kept=2, swallowed=2)
    buffer, diff, steps = opened(window, qtbot, Session("test", (made,), path="made.jsonl"))
    press(buffer.view, Qt.Key.Key_C)
    assert window.workbench.state.at == 4
    text = headline_at(diff, qtbot, "as recorded: auto compaction")
    # What came after the last report is predicted.
    assert "about 1,412 → 500 tokens, 7 summarised" in text
    assert "→ 500 tokens" in text
    assert "2 inserted" in text
    assert diff.bar.undo.text() == "Go before"
    qtbot.waitUntil(lambda: "a request: " in diff.bar.headline.toolTip())  # whether it paid
    assert set(changed_since(window.workbench.state).values()) == {"summarised", "inserted"}
    qtbot.waitUntil(lambda: steps.model.rowCount() == 2)
    assert [row.name for row in steps.model.rows] == [
        "request 4 before the change",
        "as recorded: auto compaction",
    ]
    assert steps.windowTitle() == "Steps"
    qtbot.waitUntil(lambda: window.docks.panel("Lost").windowTitle() != "Lost")


def test_a_size_that_is_recorded_is_no_guess(window: MainWindow, qtbot: QtBot) -> None:
    made = compacted(before=4, after=3, kept=2, swallowed=2)
    (one,) = made.compactions
    made = replace(made, compactions=(replace(one, tokens_before=1_400),))
    buffer, diff, _ = opened(window, qtbot, Session("test", (made,), path="made.jsonl"))
    press(buffer.view, Qt.Key.Key_C)
    assert ": 1,400 → 500 tokens" in headline_at(diff, qtbot, "as recorded: auto compaction")


def test_a_tier_of_ones_own_beside_it_by_clicks(window: MainWindow, qtbot: QtBot) -> None:
    made = compacted(before=4, after=3, kept=2, swallowed=2)
    buffer, diff, steps = opened(window, qtbot, Session("test", (made,), path="made.jsonl"))
    press(buffer.view, Qt.Key.Key_C)
    headline_at(diff, qtbot, "as recorded: auto compaction")
    qtbot.waitUntil(lambda: steps.model.rowCount() == 2)
    click(diff.bar.undo)
    found = window.workbench.state.steps
    assert found is not None
    assert found.at == ORIGIN
    window.workbench.stepping.step("L3b")
    headline_at(diff, qtbot, "L3b")
    qtbot.waitUntil(lambda: steps.model.rowCount() == 3)
    assert steps.windowTitle() == "Steps (1)"
    click_step(steps, RECORDED)
    headline_at(diff, qtbot, "as recorded: auto compaction")
    window.workbench.stepping.compare(1)
    assert "→ 500 tokens" in headline_at(diff, qtbot, "as recorded: auto compaction")
    assert window.workbench.state.stepped is False


def test_c_and_shift_c_walk_over_drops_that_nobody_announced(
    window: MainWindow, qtbot: QtBot
) -> None:
    buffer, diff, _ = opened(window, qtbot, dropped())
    press(buffer.view, Qt.Key.Key_C)
    assert "1 cleared" in headline_at(diff, qtbot, "as recorded: micro-compaction")
    press(buffer.view, Qt.Key.Key_C)
    assert "2 dropped" in headline_at(diff, qtbot, "as recorded: rewind")
    qtbot.waitUntil(diff.why.isVisible)
    assert diff.why.text().startswith("The file records no compaction here.")
    press(buffer.view, Qt.Key.Key_C, Qt.KeyboardModifier.ShiftModifier)
    assert window.workbench.state.at == 1
    assert "1 cleared" in headline_at(diff, qtbot, "as recorded: micro-compaction")


def test_the_button_of_the_empty_diff_leads_to_what_is_recorded(
    window: MainWindow, qtbot: QtBot
) -> None:
    _, diff, _ = opened(window, qtbot, dropped(recorded=True))
    click(diff.recorded)
    assert window.workbench.state.at == 1, "not the rewind after it, which no record announces"
    assert "1 cleared" in headline_at(diff, qtbot, "as recorded: micro-compaction")
    assert not diff.why.isVisible()
