"""A tier that waits, met by hand: the need in full, edited and sent, pasted, failed in every way, given up."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.answering import Answerer, offline
from inspector.core.needs import Answer, Failure, Need, Summarize
from inspector.gui.desk import Desk
from inspector.gui.look.theme import Theme
from inspector.gui.panels.tiers.need_panel import NeedPanel
from inspector.gui.panels.tiers.need_text import _ASKS, FAILURES
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.settings import Settings
from inspector.gui.widgets.editable_text import LARGEST, EditableText, is_editable
from inspector.gui.window import MainWindow
from inspector.workbench.state import State
from inspector.workbench.steps import Step
from tests.gui.hands import choose, click, press, write
from tests.gui.stepping import open_it

FOUR = "Goal:\nmend the reader\nAccomplished:\nnothing\nKey Decisions:\nnone\nRelevant Files:\nsrc/reader.py"
"""An answer as L3b wants it."""


class Slow:
    """Answers when it is let; can be stopped, as a provider can."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked: list[Need] = []
        self.cancelled = False

    def __call__(self, need: Need) -> Answer:
        self.asked.append(need)
        self.go.wait(20)
        return offline(need)

    def cancel(self) -> None:
        self.cancelled = True
        self.go.set()


@pytest.fixture
def slow() -> Iterator[Slow]:
    """Somebody who answers when let."""
    made = Slow()
    yield made
    made.go.set()


@pytest.fixture
def waiting(
    application: QApplication, qtbot: QtBot, tmp_path: Path, slow: Slow
) -> Iterator[MainWindow]:
    """The window, where L3b waits for the person; `slow` can be asked, as can `offline`."""

    def answerers(who: str, state: State) -> Answerer:
        return slow if who == "slow" else offline

    settings = Settings(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat))
    made = MainWindow(Theme(application, settings), settings, answerers)
    made.resize(1280, 800)
    made.show()
    qtbot.waitExposed(made)
    open_it(made.workbench)
    qtbot.waitUntil(lambda: made.workbench.state.session is not None and not made.bridge.busy)
    made.workbench.stepping.choose(answer_by="hand")
    ask(made, qtbot)
    yield made
    slow.go.set()
    made.close()
    made.deleteLater()


def ask(window: MainWindow, qtbot: QtBot) -> None:
    window.workbench.stepping.step("L3b")
    qtbot.waitUntil(lambda: window.workbench.state.asking is not None)


def panel_of(window: MainWindow) -> NeedPanel:
    panel = window.docks.panel("Model calls")
    assert isinstance(panel, NeedPanel)
    return panel


def need_of(window: MainWindow) -> Summarize:
    asking = window.workbench.state.asking
    assert asking is not None
    assert isinstance(asking.need, Summarize)
    return asking.need


def ended(window: MainWindow, qtbot: QtBot) -> Step:
    qtbot.waitUntil(lambda: window.workbench.state.asking is None)
    steps = window.workbench.state.steps
    assert steps is not None
    assert steps.step is not None
    return steps.step


def test_the_need_comes_to_the_front_in_full(waiting: MainWindow) -> None:
    panel, need = panel_of(waiting), need_of(waiting)
    assert panel.seen
    assert panel.windowTitle() == "Model calls ●"
    assert panel.says.text().startswith(
        "L3b asks for a model's summary · call 1 of this step · within 300 s"
    )
    assert panel.text.editor.toPlainText() == need.text
    assert panel.instructions.editor.toPlainText() == need.instructions
    assert "<b>it</b>" in panel.text.editor.toPlainText()
    assert not panel.use.isEnabled()


def test_an_answer_is_pasted(waiting: MainWindow, qtbot: QtBot) -> None:
    panel = panel_of(waiting)
    QApplication.clipboard().setText(FOUR)
    panel.answer.setFocus()
    press(panel.answer, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    click(panel.use)
    step = ended(waiting, qtbot)
    assert any("mend the reader" in message.text for message in step.buffer.messages)
    assert [one.reply.by for one in step.asked if isinstance(one.reply, Answer)] == ["person"]
    assert panel.windowTitle() == "Model calls (1)"
    assert waiting.docks.panel("Diff").seen


def test_control_enter_uses_the_answer(waiting: MainWindow, qtbot: QtBot) -> None:
    panel = panel_of(waiting)
    panel.answer.setPlainText(FOUR)
    press(panel.answer, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert any(
        "mend the reader" in message.text for message in ended(waiting, qtbot).buffer.messages
    )


def test_the_need_is_edited_and_sent(waiting: MainWindow, qtbot: QtBot) -> None:
    panel, text = panel_of(waiting), need_of(waiting).text
    panel.text.editor.setFocus()
    press(panel.text.editor, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    write(panel.text.editor, "Be brief. ")
    assert panel.text.is_edited
    panel.who.setCurrentText("offline")
    click(panel.send)
    step = ended(waiting, qtbot)
    sent = step.asked[0].need
    assert isinstance(sent, Summarize)
    assert sent.text == f"Be brief. {text}"
    assert [one.reply.by for one in step.asked if isinstance(one.reply, Answer)] == ["offline"]


def test_what_was_not_edited_is_sent_to_the_letter(waiting: MainWindow, qtbot: QtBot) -> None:
    need = need_of(waiting)
    click(panel_of(waiting).send)
    assert ended(waiting, qtbot).asked[0].need == need


def test_each_failure(waiting: MainWindow, qtbot: QtBot) -> None:
    panel = panel_of(waiting)
    for words, _ in FAILURES:
        while waiting.workbench.state.asking is not None:  # an overflow is tried again with less
            next(
                action for action in panel.fail.menu().actions() if action.text() == words
            ).trigger()
        step = ended(waiting, qtbot)
        assert not step.succeeded, words
        kind = Answer if words == "Empty output" else Failure
        assert all(isinstance(one.reply, kind) for one in step.asked), words
        if words == "Context window exceeded":
            assert len(step.asked) > 1
        waiting.workbench.stepping.forget()
        ask(waiting, qtbot)


def test_giving_up_leaves_no_trace(waiting: MainWindow) -> None:
    panel = panel_of(waiting)
    click(panel.give_up)
    state = waiting.workbench.state
    assert state.asking is None
    assert not state.stepped
    assert not panel.send.isVisible()


def test_while_somebody_answers_it_can_be_stopped_and_met_otherwise(
    waiting: MainWindow, qtbot: QtBot, slow: Slow
) -> None:
    panel = panel_of(waiting)
    panel.who.setCurrentText("slow")
    click(panel.send)
    qtbot.waitUntil(lambda: bool(slow.asked))
    assert panel.bar.isVisible()
    assert panel.note.text() == "slow is answering…"
    assert not panel.send.isEnabled()
    click(panel.stop)
    assert slow.cancelled
    asking = waiting.workbench.state.asking
    assert asking is not None
    assert not asking.busy
    assert panel.send.isEnabled()
    qtbot.waitUntil(lambda: not waiting.bridge.busy)
    assert waiting.workbench.state.asking is asking  # what the stopped call brought is not heard
    panel.answer.setPlainText(FOUR)
    click(panel.use)
    assert any(
        "mend the reader" in message.text for message in ended(waiting, qtbot).buffer.messages
    )


def test_giving_up_ends_the_call(waiting: MainWindow, qtbot: QtBot, slow: Slow) -> None:
    panel = panel_of(waiting)
    panel.who.setCurrentText("slow")
    click(panel.send)
    qtbot.waitUntil(lambda: bool(slow.asked))
    click(panel.give_up)
    assert slow.cancelled
    qtbot.waitUntil(lambda: not waiting.bridge.busy)
    assert waiting.workbench.state.asking is None
    assert not waiting.workbench.state.stepped


def test_a_slow_answer_brings_the_panel_a_quick_one_does_not(
    waiting: MainWindow, qtbot: QtBot, slow: Slow
) -> None:
    stepping = waiting.workbench.stepping
    stepping.give_up()
    waiting.docks.bring("Calibration")
    stepping.choose(answer_by="offline")
    stepping.step("L3b")
    qtbot.waitUntil(lambda: waiting.workbench.state.stepped)
    assert waiting.docks.panel("Calibration").seen
    stepping.undo()
    stepping.choose(answer_by="slow")
    stepping.step("L3b")
    qtbot.waitUntil(lambda: panel_of(waiting).seen)
    slow.go.set()
    ended(waiting, qtbot)
    assert waiting.docks.panel("Diff").seen


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("plain\ntext", True),
        ("nul\x00inside", False),
        ("x" * 20_000, False),
        ("line\n" * (LARGEST // 4), False),
    ],
)
def test_what_an_editor_would_harm_is_shown_as_it_is(
    desk: Desk, qtbot: QtBot, text: str, fits: bool
) -> None:
    shown = EditableText(desk.theme, "text")
    qtbot.addWidget(shown)
    shown.show_text(text)
    assert is_editable(text) is fits
    assert (shown.currentWidget() is shown.editor) is fits
    assert shown.text() == text
    assert not shown.is_edited


def test_who_answers_is_told_by_name_and_the_cost_is_of_the_tier_that_waits(
    waiting: MainWindow, qtbot: QtBot, slow: Slow
) -> None:
    """Whatever stood in the panel before, and whatever would fire next."""
    panel, bench = panel_of(waiting), waiting.workbench
    tiers = waiting.docks.panel("Tiers")
    assert isinstance(tiers, TierPanel)
    bench.stepping.give_up()
    panel.who.setCurrentText("offline")
    bench.stepping.choose(answer_by="slow")
    bench.stepping.step("L3b")
    qtbot.waitUntil(lambda: bool(slow.asked))
    waiting.show_panel("Model calls")
    qtbot.waitUntil(lambda: panel.note.text() == "slow is answering…")
    waiting.show_panel("Tiers")
    qtbot.waitUntil(lambda: tiers.cost.isVisible() and tiers.cost.caption.whole == "COST OF L3b")
    slow.go.set()
    ended(waiting, qtbot)


def test_every_need_has_its_words() -> None:
    assert set(_ASKS) == set(get_args(Need))


def test_answer_box_names_the_required_headings_and_those_that_are_missing(
    waiting: MainWindow,
) -> None:
    panel = panel_of(waiting)
    hint = "Required headings: Goal:, Accomplished:, Key Decisions:, Relevant Files:"
    assert panel.answer.placeholderText().endswith(hint)
    assert panel.missing.whole == ""
    panel.answer.setPlainText("Goal: mend it. Key Decisions: none.")
    assert panel.missing.whole == "Missing headings: Accomplished:, Relevant Files:"
    assert panel.use.isEnabled(), "the answer may still be used, to see what the tier makes of it"
    panel.answer.setPlainText(FOUR)
    assert panel.missing.whole == ""


def test_calls_of_a_step_can_be_read_in_full(waiting: MainWindow, qtbot: QtBot) -> None:
    panel = panel_of(waiting)
    panel.answer.setPlainText("I would rather not.")
    click(panel.use)
    step = ended(waiting, qtbot)
    waiting.docks.bring("Model calls")
    qtbot.waitUntil(lambda: panel.log.isVisible())
    lacking = (
        "L3b: The answer lacks the four required headings, so a mechanical digest was used for"
    )
    assert panel.says.text().startswith(lacking)
    assert len(panel.log.table.rows) == len(step.asked) == 1
    need = step.asked[0].need
    assert isinstance(need, Summarize)
    text = panel.log.reading.text.toPlainText()
    for part in (
        "Answered manually · 19 characters",
        "I would rather not.",
        need.instructions[-60:],
        need.text[-60:],
    ):
        assert part in text
    waiting.workbench.stepping.undo()
    assert not panel.log.isVisible()
    assert panel.windowTitle() == "Model calls"


def test_calls_of_a_step_that_failed_show_the_failure(waiting: MainWindow, qtbot: QtBot) -> None:
    panel = panel_of(waiting)
    choose(qtbot, panel.fail, "403 forbidden")
    ended(waiting, qtbot)
    waiting.docks.bring("Model calls")
    qtbot.waitUntil(lambda: panel.log.isVisible())
    assert panel.log.table.rows[0].reply_words == "failed: 403: this key has no permission"
    assert "403: this key has no permission" in panel.log.reading.text.toPlainText()
