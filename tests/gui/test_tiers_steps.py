"""The stepper under a user's hands: steps by button and by key, the breaker, the choices."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from inspector.core.policies.catalogue import POLICIES
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.tiers.blocks import BY_HAND, GENERATED, NONE, PROVIDER, RECORDED, TYPED
from inspector.gui.panels.tiers.need_text import FAILURES
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.window import MainWindow
from inspector.workbench.words.step_words import step_words
from tests.gui.hands import choose, click, press, write
from tests.gui.steppers import anew, foreseen, stepped, stepper, taken

__all__ = ["stepper"]

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def waits(window: MainWindow) -> str:
    asking = window.workbench.state.asking
    return "" if asking is None else "for an answer" if asking.busy else "for the person"


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
    assert "Context Inspector adds this reset" in stepper.breaker.button.toolTip()
    assert (
        "Roku itself never closes an open breaker" in stepper.breaker.button.accessibleDescription()
    )
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
    assert memory.note.text() == "this session recorded none up to here"
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
