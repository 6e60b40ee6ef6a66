"""The stepper as a user meets it: rows with verdicts and previews, steps by button and by key, breaker, policy."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QCursor, QEnterEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import POLICIES
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.lists.events import EventsPanel
from inspector.gui.panels.tiers.blocks import BY_HAND, GENERATED, NONE, PROVIDER, RECORDED, TYPED
from inspector.gui.panels.tiers.need_text import FAILURES
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.window import MainWindow
from inspector.workbench.steps import Step
from inspector.workbench.words.step_words import step_words
from inspector.workbench.words.tier_words import effect_words, verdict_words
from tests.gui.hands import choose, click, press, write
from tests.gui.stepping import open_it

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


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


def waits(window: MainWindow) -> str:
    asking = window.workbench.state.asking
    return "" if asking is None else "for an answer" if asking.busy else "for the person"


def taken(window: MainWindow) -> tuple[Step, ...]:
    steps = window.workbench.state.steps
    return steps.taken if steps else ()


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


# -- steps ---------------------------------------------------------------------------------------------------------


def anew(window: MainWindow, qtbot: QtBot) -> None:
    """No step was taken, in the same window."""
    window.workbench.stepping.forget()
    foreseen(window, qtbot)
    assert not taken(window)


def test_each_tier_by_its_button(window: MainWindow, stepper: TierPanel, qtbot: QtBot) -> None:
    for tier in ("L0", "L1", "L2", "L3a", "L3b", "L4"):
        foretold = window.workbench.state.previews
        assert foretold is not None
        step = stepped(window, qtbot, lambda: click(stepper.rows[tier].button))  # noqa: B023
        assert step.tier == tier
        outcome = foretold.by_tier[tier].outcome
        assert outcome is not None
        assert [message.parts for message in step.buffer.messages] == [
            m.parts for m in outcome.buffer.messages
        ]
        foreseen(window, qtbot)
        assert stepper.status.whole == f"{step.name}: {step_words(step)}"
        anew(window, qtbot)
        assert stepper.status.whole.startswith("L0")


def test_each_tier_by_its_key(window: MainWindow, stepper: TierPanel, qtbot: QtBot) -> None:
    list_ = window.docks.panel("Buffer").focusProxy()
    assert list_ is not None
    for key, tier in {
        "0": "L0",
        "1": "L1",
        "2": "L2",
        "3": "L3b",
        "4": "L4",
        "D": "",
        "E": "turn",
    }.items():
        list_.setFocus()
        key_code = getattr(Qt.Key, f"Key_{key}")
        step_taken = stepped(window, qtbot, partial(press, list_, key_code))
        assert step_taken.tier == tier
        anew(window, qtbot)


def test_the_number_of_two_is_the_one_for_this_provider(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    click(stepper.answers.remote)
    assert window.workbench.state.choices.remote
    foreseen(window, qtbot)
    assert stepped(window, qtbot, lambda: press(window, Qt.Key.Key_3)).tier == "L3a"


def test_letters_typed_in_a_field_are_no_steps(window: MainWindow, stepper: TierPanel) -> None:
    panel = window.docks.panel("Buffer")
    assert isinstance(panel, BufferPanel)
    panel.text.setFocus()
    write(panel.text, "d03")
    assert panel.text.text() == "d03"
    assert not taken(window)


def test_what_is_due_undo_redo(window: MainWindow, stepper: TierPanel, qtbot: QtBot) -> None:
    step = stepped(window, qtbot, lambda: click(stepper.due))
    assert step.fired[0] == "L0"
    gauge, panel = window.docks.panel("Pressure"), window.docks.panel("Buffer")
    assert isinstance(gauge, Gauge)
    assert isinstance(panel, BufferPanel)
    window.docks.bring("Buffer")
    assert [line.text() for line in gauge.findChildren(QLabel) if line.text() == "counted"]
    assert panel._buffer == step.buffer.messages
    assert "after 1 step" in panel.count.text()
    assert {panel.model.row_at(n).fate for n in range(panel.model.rowCount())} != {"kept"}
    press(window, Qt.Key.Key_Z, CONTROL)
    assert not window.workbench.state.stepped
    assert panel._buffer == window.workbench.state.recorded().messages
    assert {panel.model.row_at(n).fate for n in range(panel.model.rowCount())} == {"kept"}
    press(window, Qt.Key.Key_Z, CONTROL | SHIFT)
    assert window.workbench.state.stepped


def test_a_branch_is_two_steps_from_one_buffer(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    stepped(window, qtbot, lambda: press(window, Qt.Key.Key_0))
    press(window, Qt.Key.Key_Z, CONTROL)
    stepped(window, qtbot, lambda: press(window, Qt.Key.Key_1))
    steps = window.workbench.state.steps
    assert steps is not None
    assert steps.children(-1) == (0, 1)


# -- breaker -------------------------------------------------------------------------------------------------------


def test_the_breaker_opens_at_the_third_failure_and_is_reset_by_hand(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    click(stepper.answers.chips.buttons[BY_HAND])
    stepping = window.workbench.stepping
    assert stepper.breaker.words.text() == "closed · 0 of 3 failures"
    assert not stepper.breaker.button.isVisible()
    fail = dict(FAILURES)["500 server error"]
    for n in (1, 2, 3):
        click(stepper.rows["L3b"].button)
        qtbot.waitUntil(lambda: window.workbench.state.asking is not None)
        asking = window.workbench.state.asking
        assert asking is not None
        stepping.answer(fail(asking.need))
        qtbot.waitUntil(lambda: window.workbench.state.asking is None)
        foreseen(window, qtbot)
        assert stepper.breaker.words.text().endswith(f"{n} of 3 failures")
    assert stepper.breaker.words.text().startswith("open")
    assert "The breaker is open, so a digest is made." in stepper.rows["L3b"].why.whole
    assert "ours" in stepper.breaker.button.text()
    assert "not Roku's" in stepper.breaker.button.accessibleDescription()
    click(stepper.breaker.button)
    foreseen(window, qtbot)
    assert stepper.breaker.words.text() == "closed · 0 of 3 failures"


# -- choices -------------------------------------------------------------------------------------------------------


def test_who_answers_is_chosen(window: MainWindow, stepper: TierPanel) -> None:
    answers = stepper.answers
    assert not answers.provider.isVisible()
    click(answers.chips.buttons[PROVIDER])
    assert window.workbench.state.choices.answer_by == "anthropic"
    assert answers.provider.isVisible()
    editor = answers.provider.lineEdit()
    assert editor is not None
    editor.selectAll()
    write(editor, "http://me@127.0.0.1:9/v1")
    press(editor, Qt.Key.Key_Return)
    assert "not into the URL" in answers.note.text()
    assert window.workbench.state.choices.answer_by == "anthropic"
    editor.selectAll()
    write(editor, "http://127.0.0.1:9/v1")
    press(editor, Qt.Key.Key_Return)
    assert window.workbench.state.choices.answer_by == "http://127.0.0.1:9/v1"
    assert not answers.key.isEnabled()
    write(answers.model, "my-model")
    press(answers.model, Qt.Key.Key_Return)
    assert window.workbench.state.choices.model == "my-model"


def test_nobody_who_answers_is_told_calmly(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    window.workbench.stepping.choose(answer_by="nobody")
    click(stepper.rows["L3b"].button)
    qtbot.waitUntil(lambda: bool(window.workbench.state.failure))
    assert window.notice.isVisible()
    assert waits(window) == "for the person"
    assert not stepper.due.isEnabled()
    press(window, Qt.Key.Key_Period, CONTROL)
    assert waits(window) == ""
    assert [stepper.due.isEnabled(), stepper.more.isEnabled()] == [True, True]


def test_session_memory_typed_makes_another_tier_due(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    memory = stepper.memory
    assert memory.chips.buttons[NONE].isChecked()
    assert not memory.text.isVisible()
    assert stepper.rows["L2"].button.text() == "Force"
    click(memory.chips.buttons[TYPED])
    write(memory.text, "We mend the reader.")
    foreseen(window, qtbot)
    assert window.workbench.state.choices.summary == "We mend the reader."
    assert stepper.rows["L2"].button.text() == "Run"
    step = stepped(window, qtbot, lambda: click(stepper.rows["L2"].button))
    assert any("We mend the reader." in message.text for message in step.buffer.messages)
    click(memory.chips.buttons[NONE])
    assert window.workbench.state.choices.summary == ""


def test_session_memory_recorded_and_generated(window: MainWindow, stepper: TierPanel) -> None:
    memory = stepper.memory
    click(memory.chips.buttons[RECORDED])
    assert [
        memory.chips.buttons[RECORDED].isChecked(),
        window.workbench.state.choices.recorded,
    ] == [True, True]
    assert memory.note.text() == "this session recorded none before here"
    click(memory.chips.buttons[GENERATED])
    assert not window.workbench.state.choices.recorded
    assert ("session_memory", "generate") in window.workbench.state.choices.settings
    click(memory.chips.buttons[NONE])
    assert "session_memory" not in dict(window.workbench.state.choices.settings)


def test_any_policy_can_be_stepped(window: MainWindow, stepper: TierPanel, qtbot: QtBot) -> None:
    stepped(window, qtbot, lambda: press(window, Qt.Key.Key_0))
    kept = window.workbench.state.steps
    for name in POLICIES:
        choose(qtbot, window.top.policy, POLICIES[name].title)
        foreseen(window, qtbot)
        assert list(stepper.rows) == [tier.name for tier in POLICIES[name].tiers]
        if POLICIES[name].tiers and name != "roku":
            assert window.workbench.state.steps is None
            stepped(window, qtbot, lambda: press(window, Qt.Key.Key_0))
        window.workbench.stepping.choose(policy="roku")
        assert window.workbench.state.steps is kept
        foreseen(window, qtbot)


def test_enter_on_a_row_of_the_buffer_shows_the_message(
    window: MainWindow, stepper: TierPanel
) -> None:
    panel = window.docks.panel("Buffer")
    assert isinstance(panel, BufferPanel)
    panel.view.setFocus()
    press(panel.view, Qt.Key.Key_Return)
    assert window.docks.panel("Message").seen
    assert not taken(window)


def test_a_message_of_a_step_is_read_in_full(
    window: MainWindow, stepper: TierPanel, qtbot: QtBot
) -> None:
    step = stepped(window, qtbot, lambda: press(window, Qt.Key.Key_0))
    cleared = next(message for message in step.buffer.messages if message.mark == "placeholder")
    window.workbench.select(cleared.id)
    window.docks.bring("Message")
    qtbot.waitUntil(lambda: cleared.text in window.docks.panel("Message").text.toPlainText())  # type: ignore[attr-defined]
    assert replace(window.workbench.state, selected="").stepped
