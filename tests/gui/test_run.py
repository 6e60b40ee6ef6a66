"""An agent run in the window: begun, watched, stopped, resumed, forked; its end, its errors, and the window's."""

from pathlib import Path
from typing import Never

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from inspector.agent.status import Permission
from inspector.agent.tools.common import Question
from inspector.core.message import ToolCall
from inspector.gui.desk import Desk
from inspector.gui.panels.run.bar import RunBar
from inspector.gui.panels.run.question_box import QuestionBox
from inspector.gui.runs.desk import JOURNAL
from inspector.gui.runs.dialog import ADDRESS, ResumeDialog, RunDialog
from inspector.transcripts.files import open_transcript
from tests.agent.running import call, script
from tests.gui.hands import click
from tests.gui.live_runs import Stage
from tests.gui.stepping import session
from tests.gui.test_edit import in_dialog


def test_from_the_welcome_page_to_the_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, [call("read_file", path="README.md")], "It lies in parser.py. 完成")
    window = stage.window

    def act(dialog: RunDialog) -> None:
        click(dialog.go)
        assert "Describe the task" in dialog.trouble.text()
        dialog.task.setPlainText("Where does the parser lie?")
        dialog.workspace.setText(str(stage.workspace / "nowhere"))
        click(dialog.go)
        assert "no folder" in dialog.trouble.text()
        dialog.workspace.setText(str(stage.workspace))
        assert "data" in dialog.record.text()
        click(dialog.go)

    in_dialog(stage.qtbot, RunDialog, act, lambda: click(window.welcome.run))
    assert stage.state("ended").end == "done"
    bench = window.workbench
    stage.until(
        lambda: bench.state.session is not None and len(bench.state.session.main.requests) == 2
    )
    assert bench.state.session is not None
    assert bench.state.session.format == JOURNAL
    stage.until(lambda: bench.state.at == 1)
    assert bench.state.following == "file"
    assert stage.bar.chip.text() == "✓ done"
    stage.until(lambda: [report.tools for report in stage.panel.turns.rows] == [(), ("read_file",)])
    assert "完成" in stage.panel.text.toPlainText()
    assert Path(bench.state.session.path).parent.name == "runs"


def test_a_box_that_asks_nothing_is_laid_out_without_a_warning(desk: Desk, qtbot: QtBot) -> None:
    box = QuestionBox(desk.theme, lambda asked, how: None)
    qtbot.addWidget(box)
    for width in (0, 1, 400):
        box.resize(width, 0)
        # A warning of Qt's fails the test.
        QApplication.sendEvent(box, QResizeEvent(box.size(), box.size()))


def test_a_question_shows_no_blank_that_is_none(desk: Desk, qtbot: QtBot) -> None:
    """Nor a mark that shows nothing, in what would run and in the name of the file."""
    box = QuestionBox(desk.theme, lambda asked, how: None)
    qtbot.addWidget(box)
    asked = Question(
        "Write the new file a\u2003b", "rm\u00a0-rf x\ufe0f\u2800\u202fy", "Always: this."
    )
    box.show_permission(Permission("1", ToolCall("c", "write_file", {}), asked))
    qtbot.waitUntil(lambda: box.what.toPlainText() == "rm⟨U+00A0⟩-rf x⟨U+FE0F⟩⟨U+2800⟩⟨U+202F⟩y")
    assert box.about.text().startswith("Write the new file a⟨U+2003⟩b (")


def test_what_was_asked_for_is_there_the_next_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first(dialog: RunDialog) -> None:
        dialog.task.setPlainText("Later")
        dialog.workspace.setText(str(stage.workspace))
        click(dialog.provider.chips.buttons[ADDRESS])
        click(dialog.go)
        assert "address" in dialog.trouble.text()
        dialog.provider.model.setText("m")
        for bad in (
            "http://me:pw@127.0.0.1:9/v1",
            "http://127.0.0.1:9/v1?key=k",
            "http://127.0.0.1:9/v1#k",
        ):
            dialog.provider.address.setText(bad)
            click(dialog.go)
            assert "not into the URL" in dialog.trouble.text()
            assert stage.window.settings.text("run/last") == ""
        dialog.provider.address.setText("http://127.0.0.1:9/v1")
        dialog.policy.which.setCurrentIndex(dialog.policy.which.findData("pi"))
        dialog.limit.setText("50,000")
        dialog.record.setText("/proc/nothing/run.jsonl")
        click(dialog.go)

    def second(dialog: RunDialog) -> None:
        assert dialog.task.toPlainText() == "Later"
        assert dialog.provider.provider == "http://127.0.0.1:9/v1"
        assert dialog.policy.policy == "pi"
        assert dialog.limit.text() == "50,000"
        assert "/proc" not in dialog.record.text()

    in_dialog(stage.qtbot, RunDialog, first, stage.window.runs.ask_new)
    stage.until(lambda: "cannot be created" in stage.window.notice.words.text())
    assert not stage.run.active
    in_dialog(stage.qtbot, RunDialog, second, stage.window.runs.ask_new)


def test_an_error_ends_it_and_is_told(stage: Stage) -> None:
    stage.begin(provider="http://127.0.0.1:9/v1", model="m")
    assert stage.state("ended").end == "error"
    assert stage.bar.chip.text() == "✗ failed"
    assert "no connection" in stage.bar.says.toolTip()


def test_stopped_at_once_and_resumed_from_its_journal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *[[call("read_file", path="README.md")] for _ in range(3)], "Read it.")
    stage.begin(paused=True)
    stage.paused()
    stage.key(Qt.Key.Key_F10)
    stage.until(lambda: stage.now and stage.now.calls)
    stage.key(Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    assert stage.state("ended").end == "stopped"
    before = len(open_transcript(stage.record).main.requests)

    def act(dialog: ResumeDialog) -> None:
        click(dialog.go)

    in_dialog(stage.qtbot, ResumeDialog, act, lambda: click(stage.bar.resume))
    stage.until(lambda: stage.now is not None and stage.now.end == "done")
    session_now = open_transcript(stage.record)
    assert len(session_now.main.requests) > before
    assert not session_now.problems


def test_a_journal_that_is_open_can_be_resumed_with_another_task(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = script(monkeypatch, "First done.", "Second done.")
    stage.begin()
    stage.state("ended")
    click(stage.bar.away)
    assert not stage.bar.isVisible()
    bench = stage.window.workbench
    stage.until(lambda: bench.state.thread is not None and len(bench.state.thread.end) == 2)

    def act(dialog: ResumeDialog) -> None:
        assert not dialog.go.isEnabled()
        dialog._text.setPlainText("And now the tests.")
        click(dialog.go)

    in_dialog(stage.qtbot, ResumeDialog, act, stage.window.runs.resume)
    stage.until(lambda: len(heard) == 2)
    stage.state("ended")
    assert heard[1].buffer.messages[-1].text == "And now the tests."


def test_forked_from_a_request_with_its_steps(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = script(monkeypatch, "Gone on.")
    window, bench = stage.window, stage.window.workbench
    stage.until(lambda: window.docks.ready)
    bench.open(session())
    stage.until(lambda: bench.state.at == 1)
    bench.move(0)
    stage.until(lambda: bench.state.at == 0)
    bench.editing.rewrite(bench.state.buffer().messages[0].id, 0, "Mend it at once. 马上")
    stage.until(lambda: bench.state.stepped)

    def act(dialog: RunDialog) -> None:
        dialog.workspace.setText(str(stage.workspace))
        dialog.task.setPlainText("Go on.")
        dialog.limit.setText("200,000")
        dialog.paused.setChecked(False)
        click(dialog.go)

    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    in_dialog(stage.qtbot, RunDialog, act, lambda: stage.key(Qt.Key.Key_R, modifiers))
    assert stage.state("ended").end == "done"
    (sent,) = heard
    said = [message.text for message in sent.buffer.messages]
    assert "Mend it at once. 马上" in said[0]
    assert said[-1] == "Go on."
    stage.until(lambda: bench.state.run_is_open)
    assert bench.state.run is not None
    assert '"forked_from"' in Path(bench.state.run.record).read_text()


def test_the_demo_needs_nothing_but_a_click(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector.agent import starting

    plan = starting.demo_plan
    monkeypatch.setattr(
        starting, "demo_plan", lambda folder, **more: plan(folder, pace_s=0.0, **more)
    )
    click(stage.window.welcome.demo)
    assert stage.state("ended").end == "done"
    bench = stage.window.workbench
    stage.until(lambda: bench.state.run_is_open)
    assert bench.state.run is not None
    fired = {tier for report in bench.state.run.reports for tier in report.fired}
    assert fired == {"L0", "L1", "L2", "L3a", "L3b", "L4"}
    last = bench.state.run.reports[-1].reported
    assert isinstance(stage.window.run_bar, RunBar)
    assert stage.window.run_bar.says.whole.endswith(f"the last prompt had {last:,} tokens"), (
        "it ends on the gauge's number"
    )


def test_one_run_at_a_time(stage: Stage) -> None:
    stage.begin(paused=True)
    stage.paused()
    stage.window.runs.demo()
    assert "stop that run before" in stage.window.notice.words.text()


def answer(stage: Stage, words: str) -> list[str]:
    """Click that button of the next question."""
    met: list[str] = []

    def meet() -> None:
        box = QApplication.activeModalWidget()
        if isinstance(box, QMessageBox):
            timer.stop()
            met.append(box.text())
            click(next(one for one in box.findChildren(QPushButton) if one.text() == words))

    timer = QTimer(stage.window)
    timer.setInterval(10)
    timer.timeout.connect(meet)
    timer.start()
    return met


def test_the_window_asks_before_it_closes_on_a_run(stage: Stage) -> None:
    stage.begin(paused=True)
    stage.paused()
    met = answer(stage, "Keep running")
    stage.window.close()
    assert met
    assert stage.window.isVisible()
    assert stage.run.active
    answer(stage, "Stop and close")
    stage.window.close()
    stage.until(lambda: not stage.window.isVisible())
    last = stage.record.read_text().splitlines()[-1]
    assert '"end"' in last
    assert "stopped" in last


def test_a_start_that_falls_leaves_room_for_the_next(stage: Stage) -> None:
    run = stage.run

    def make(*given: object) -> Never:
        raise LookupError("nobody thought of this")

    with stage.qtbot.captureExceptions() as caught:
        run.begin(make)
        assert run.active
        stage.until(lambda: caught)
    assert [kind for kind, *_ in caught] == [LookupError]
    stage.until(lambda: not run.active)
    assert stage.now is None
