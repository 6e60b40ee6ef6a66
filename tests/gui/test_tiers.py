"""The stepper as a user meets it: rows with verdicts and previews, steps by button and by key, breaker, policy."""

import re

from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QCursor, QEnterEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.lists.events import EventsPanel
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.window import MainWindow
from inspector.workbench.words.step_words import step_words
from inspector.workbench.words.tier_words import effect_words, verdict_words
from tests.gui.hands import click, press
from tests.gui.steppers import anew, foreseen, stepped, stepper, taken

__all__ = ["stepper"]


# -- what is shown -------------------------------------------------------------------------------------------------


def test_a_row_a_tier_in_order_with_verdict_and_preview(
    window: MainWindow, stepper: TierPanel
) -> None:
    previews = window.workbench.state.previews
    assert previews is not None
    assert list(stepper.rows) == ["L0", "L1", "L2", "L3a", "L3b", "L4"]
    for verdict in previews.verdicts:
        row = stepper.rows[verdict.tier]
        assert row.why.whole == verdict_words(previews, verdict, 200_000)[0]
        assert row.button.text() == ("Run" if verdict.due else "Force")
        assert bool(row.name.property("due")) is verdict.due
        assert row.effect.whole == effect_words(previews.by_tier[verdict.tier])[0]
    assert stepper.rows["L0"].badge.text() == "Runs first"
    assert stepper.rows["L4"].badge.text() == "Not due"
    assert "1 model call, about $" in stepper.rows["L3b"].effect.whole
    assert "No model call." in stepper.rows["L1"].effect.whole


def test_showing_changes_nothing(window: MainWindow, stepper: TierPanel) -> None:
    assert window.workbench.state.steps is None
    assert not window.workbench.state.stepped
    assert window.workbench.state.buffer() == window.workbench.state.recorded()


def test_due_tier_on_entering_is_selected_with_its_preview_cost_and_diff(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    assert [name for name, row in stepper.rows.items() if row.property("picked")] == ["L0"]
    shown = stepper.cost.texts()
    assert stepper.cost.caption.whole == "COST OF L0"
    assert shown["Model call"] == "none"
    assert shown["Cache miss starts at"].startswith("message ")
    assert shown["Pays for itself after"].endswith(("request", "requests"))
    diff = window.docks.panel("Diff")
    assert isinstance(diff, DiffPanel)
    qtbot.waitUntil(lambda: diff.model.comparison is not None)
    assert diff.model.comparison is not None
    assert diff.model.comparison.sides.preview


def test_click_on_another_row_shows_its_preview_until_it_is_clicked_again(
    window: MainWindow, stepper: TierPanel
) -> None:
    click(stepper.rows["L3b"].why)
    assert window.workbench.state.preview is not None
    assert window.workbench.state.preview.tier == "L3b"
    assert [name for name, row in stepper.rows.items() if row.property("picked")] == ["L3b"]
    assert stepper.cost.caption.whole == "COST OF L3b"
    assert re.fullmatch(
        r"about \$[\d.]+( \(at most \$[\d.]+\))?", stepper.cost.texts()["Model call"]
    )
    assert re.search(
        r"1 model call: [\d,]+ tokens in.*; about 2,048 out \(at most 2,048\)",
        stepper.cost.toolTip(),
    )
    assert "Expected output of a call: 2,600 tokens, typical of" in stepper.cost.toolTip()
    click(stepper.rows["L3b"].why)
    assert window.workbench.state.preview.tier == "L0", "the suggested one again"


def test_mouse_over_a_row_or_a_button_changes_no_preview(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    enter(stepper.rows["L1"])
    enter(stepper.rows["L1"].button)
    qtbot.wait(250)
    assert window.workbench.state.pointed is None


def test_key_that_leads_to_a_button_selects_its_tier(
    window: MainWindow, stepper: TierPanel
) -> None:
    stepper.rows["L1"].button.setFocus(Qt.FocusReason.TabFocusReason)
    assert window.workbench.state.pointed == "L1"
    stepper.rows["L3a"].button.setFocus(Qt.FocusReason.OtherFocusReason)
    assert window.workbench.state.pointed == "L1"


def enter(widget: QWidget) -> None:
    here = QPointF(5, 5)
    QApplication.sendEvent(
        widget, QEnterEvent(here, here, QPointF(widget.mapToGlobal(here.toPoint())))
    )


def places(stepper: TierPanel) -> dict[str, tuple[int, int, int, int]]:
    """Where every button of the panel is, and the cost block."""
    widgets: dict[str, QWidget] = {name: row.button for name, row in stepper.rows.items()}
    widgets |= {"due": stepper.due, "more": stepper.more, "cost": stepper.cost}
    widgets |= dict(stepper.answers.chips.buttons)
    window = stepper.window()
    rooms = {name: QRect(one.mapTo(window, QPoint()), one.size()) for name, one in widgets.items()}
    return {name: (room.x(), room.y(), room.width(), room.height()) for name, room in rooms.items()}


SLACK = 2
"""Pixels by which Qt may round the width of a dock when a tab gets another title."""


def moved(stepper: TierPanel, before: dict[str, tuple[int, int, int, int]]) -> int:
    """The most pixels by which anything has moved or grown."""
    pairs = [(now, before[name]) for name, now in places(stepper).items()]
    return max(abs(new - old) for now, then in pairs for new, old in zip(now, then, strict=True))


def test_buttons_stay_where_they_are_whatever_is_shown(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    before = places(stepper)
    click(stepper.rows["L3b"].why)
    assert moved(stepper, before) <= SLACK
    stepped(window, qtbot, lambda: click(stepper.rows["L0"].button))
    assert moved(stepper, before) <= SLACK, "right after the step, without previews"
    foreseen(window, qtbot)
    assert moved(stepper, before) <= SLACK
    stepped(window, qtbot, lambda: click(stepper.rows["L3b"].button))
    foreseen(window, qtbot)
    window.workbench.stepping.choose(settings=(("context_window_tokens", "900000"),))
    foreseen(window, qtbot)
    assert stepper.due.text() == "Nothing is due"
    assert moved(stepper, before) <= SLACK
    window.workbench.stepping.undo()
    window.workbench.previous()
    foreseen(window, qtbot)
    assert moved(stepper, before) <= SLACK
    heights = {row.height() for row in stepper.rows.values()}
    assert len(heights) == 1


def test_run_button_when_nothing_is_due_says_so_and_is_disabled(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    assert stepper.due.isEnabled()
    assert stepper.status.whole.startswith("L0")
    settings = (("context_window_tokens", "900000"), ("microcompact_retain_recent", "50"))
    window.workbench.stepping.choose(settings=settings)
    foreseen(window, qtbot)
    assert stepper.due.text() == "Nothing is due"
    assert not stepper.due.isEnabled()
    assert stepper.status.whole.startswith("No tier is due: L1 and L2 in ")
    assert "No tier is due" in stepper.due.toolTip()
    press(window, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: bool(window.workbench.state.failure))
    assert not taken(window)
    assert "no step was taken" in window.notice.words.text()


def test_panels_after_a_step_show_the_step_and_not_the_next_preview(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    diff, events = window.docks.panel("Diff"), window.docks.panel("Events")
    assert isinstance(diff, DiffPanel)
    assert isinstance(events, EventsPanel)
    button = stepper.rows["L3b"].button
    QCursor.setPos(button.mapToGlobal(button.rect().center()))
    enter(stepper.rows["L3b"])
    step = stepped(window, qtbot, lambda: click(button))
    foreseen(window, qtbot)
    qtbot.wait(300)
    assert window.workbench.state.preview is None
    assert not any(row.property("picked") for row in stepper.rows.values())
    assert diff.model.comparison is not None
    sides = diff.model.comparison.sides
    assert (sides.preview, sides.name) == (False, "L3b")
    assert sides.after is step.buffer
    assert stepper.cost.caption.whole == "COST OF L3b"
    assert stepper.cost.kind.text().startswith("freed about ")
    assert stepper.status.whole == f"L3b: {step_words(step)}"
    assert events.counted(window.workbench.state) == len(step.events)
    assert window.docks.panel("Model calls").counted(window.workbench.state) == 1


def test_cost_of_a_step_is_what_its_preview_foresaw(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    for tier in ("L0", "L3b"):
        window.workbench.previews.point(tier)
        foretold = stepper.cost.texts()
        preview = window.workbench.state.preview
        assert preview is not None
        stepped(window, qtbot, lambda: click(stepper.rows[tier].button))  # noqa: B023
        foreseen(window, qtbot)
        freed = f"freed about {preview.freed:,} tokens"
        qtbot.waitUntil(lambda: stepper.cost.kind.text() == freed)  # noqa: B023
        assert stepper.cost.texts() == foretold
        anew(window, qtbot)


def test_walking_on_the_verdicts_follow(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    before = stepper.rows["L1"].why.whole
    press(window.docks.panel("Buffer").focusProxy() or window, Qt.Key.Key_Left)
    assert stepper.rows["L1"].property("stale")
    foreseen(window, qtbot)
    assert stepper.rows["L1"].why.whole != before
    assert not stepper.rows["L1"].property("stale")
