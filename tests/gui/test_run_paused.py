"""A run that waits for the person: paused at a breakpoint, asking for permission, needing an answer."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor, QTextOption

from inspector.agent.status import Breakpoints, Permission
from inspector.agent.tools.common import Question
from inspector.core.message import ToolCall
from inspector.gui.panels.run.bar import GO, GO_WITH
from inspector.gui.panels.run.panel import BreakRows
from inspector.gui.panels.tiers.need_panel import NeedPanel
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.runs.controller import kept_breakpoints
from inspector.simulated.call import SimulatedAnswer
from tests.agent.running import call, opened, script, texts
from tests.gui.hands import click, write
from tests.gui.live_runs import Stage
from tests.gui.made import payload

READ = {"path": "README.md"}


def test_what_was_edited_while_it_was_paused_is_what_the_model_reads(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = script(monkeypatch, [call("read_file", **READ)], "Done.")
    stage.panel.stops.boxes["requests"].click()
    stage.begin()
    stage.paused()
    assert stage.bar.chip.text() == "‖ paused"
    assert not stage.bar.as_it_was.isVisible()
    click(stage.bar.go)
    stage.until(lambda: len(heard) == 1)
    stage.paused()
    bench = stage.window.workbench
    bench.editing.rewrite(bench.state.buffer().messages[-1].id, 0, "It lies in 解析器.py")
    bench.editing.insert("Be brief.")
    stage.until(lambda: stage.bar.go.text() == GO_WITH)
    assert "2 steps: 4 messages" in stage.bar.says.toolTip()
    assert "instead of 3 messages" in stage.bar.says.toolTip()
    stage.key(Qt.Key.Key_F5)
    stage.until(lambda: len(heard) == 2)
    assert texts(heard[1].buffer)[-2:] == ["It lies in 解析器.py", "Be brief."]
    assert stage.state("ended").end == "done"
    stage.until(lambda: bench.state.thread is not None and len(bench.state.thread.requests) == 2)
    stage.until(lambda: bench.state.at == 1)  # the playhead follows the end again
    assert not bench.state.trees
    request = opened(stage.record).main.requests[1]
    assert texts(request.buffer())[-2:] == ["It lies in 解析器.py", "Be brief."]


def test_as_it_was_drops_the_steps(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = script(monkeypatch, "Done.")
    stage.begin(paused=True)
    stage.paused()
    bench = stage.window.workbench
    bench.editing.insert("Never sent.")
    stage.until(stage.bar.as_it_was.isVisible)
    click(stage.bar.as_it_was)
    stage.state("ended")
    assert texts(heard[0].buffer) == ["Please look after the parser."]


def test_a_step_under_another_policy_does_not_hand_over_its_state(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buffer that was made of it goes on; what the run's own policy knows stays."""
    heard = script(monkeypatch, "Done.")
    stage.begin(paused=True)
    stage.paused()
    bench = stage.window.workbench
    for name, kept in (("roku", True), ("pi", False)):
        bench.stepping.choose(policy=name)
        bench.editing.insert(f"Be brief, {name}.")
        stage.until(lambda: bench.state.run_steps)
        changed = stage.run._pause.changed()
        assert changed is not None
        assert (changed[1] is not None) == kept
    stage.run.go()
    assert stage.state("ended").end == "done"
    assert texts(heard[0].buffer)[-1] == "Be brief, pi."


def test_steps_on_another_transcript_are_no_part_of_the_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = script(monkeypatch, "Done.")
    stage.begin(paused=True)
    stage.paused()
    bench, other = stage.window.workbench, str(payload(stage.record.parent / "other.json"))
    stage.window.open_path(other)
    stage.until(lambda: bench.state.is_open(other) and bench.state.opening is None)
    bench.move(None)
    bench.editing.insert("Only here.")
    stage.until(lambda: bench.state.stepped)
    stage.run.go()
    assert stage.state("ended").end == "done"
    assert texts(heard[0].buffer) == ["Please look after the parser."]
    assert bench.state.stepped


def test_a_tier_by_hand_while_paused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = script(
        monkeypatch, *[[call("read_file", path="big.txt", limit=50)] for _ in range(5)], "Done."
    )
    stage.begin(paused=True)
    for n in range(1, 5):
        stage.paused()
        stage.key(Qt.Key.Key_F10)
        stage.until(lambda: stage.now and stage.now.calls)
        assert len(heard) == n
        stage.paused()
        stage.key(Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
        stage.until(lambda: stage.now and not stage.now.calls)
    stage.paused()
    bench = stage.window.workbench
    stage.key(Qt.Key.Key_1)
    stage.until(lambda: bench.state.stepped)
    stage.until(lambda: stage.bar.go.text() == GO_WITH)
    wanted = [message.id for message in bench.state.buffer().messages]
    standing = stage.now
    assert standing is not None
    assert wanted != [message.id for message in standing.buffer.messages]
    click(stage.bar.go)
    stage.until(lambda: len(heard) >= 5)
    stage.state("ended")
    assert stage.bar.go.text() == GO
    requests = opened(stage.record).main.requests
    assert [message.id for message in requests[4].view] == wanted


def test_a_breakpoint_on_a_tool_by_name(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    script(
        monkeypatch,
        [call("read_file", **READ)],
        SimulatedAnswer("I list them.", (call("list_files"),), "calls"),
        "Done.",
    )
    stops = stage.panel.stops
    stops.boxes["tools"].click()
    stops.tools.setCurrentText("list_files")
    stage.begin()
    assert "list_files" in stage.paused().why
    stage.until(lambda: "list_files" in stage.panel.calls.text())
    assert stage.panel.text.toPlainText() == "I list them."
    stops.boxes["tools"].click()
    click(stage.bar.go)
    assert stage.state("ended").end == "done"


def test_a_sub_agent_is_looked_at_where_it_pauses(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"prompt": "Look into big.txt", "description": "look"}
    script(monkeypatch, [call("task", **given)], [call("list_files")], "Nothing there.", "Done.")
    stops = stage.panel.stops
    stops.tools.setCurrentText("list_files")
    stops.boxes["tools"].click()
    stage.begin()
    standing = stage.state("paused")
    assert standing.thread != "main"
    bench = stage.window.workbench
    stage.until(lambda: bench.state.thread_id == standing.thread and bench.state.at is None)
    assert "Look into big.txt" in bench.state.buffer().messages[0].text
    click(stage.bar.go)
    assert stage.state("ended").end == "done"


@pytest.mark.parametrize("how", ["once", "no"])
def test_a_permission_is_asked_for_word_for_word(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    wanted = call("write_file", path="笔记.md", content="记下来了\n")
    script(
        monkeypatch,
        [call("list_files")],
        SimulatedAnswer("I keep notes.", (wanted,), "calls"),
        "Done.",
    )
    stage.begin(permissions="ask")
    asking = stage.state("asking")
    assert [one.name for one in asking.buffer.messages[-1].calls] == ["write_file"]
    panel = stage.panel
    stage.until(lambda: panel.text.toPlainText() == "I keep notes.")
    stage.until(panel.question.isVisible)
    assert panel.windowTitle() == "Run ●"
    shown = panel.question.what.toPlainText()
    assert shown == "@@ -0,0 +1,1 @@\n+记下来了"
    assert "笔记.md" in panel.question.about.text()
    assert "until this run ends" in panel.question.covers.text()
    click(panel.question.buttons[how])  # type: ignore[index]
    stage.state("ended")
    assert (stage.workspace / "笔记.md").exists() == (how == "once")
    stage.until(lambda: not panel.question.isVisible())
    assert panel.windowTitle() == "Run"


def test_nothing_of_a_question_is_hidden(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blanks stay and are marked, what is behind them is there; the second click of two answers nothing."""
    hidden = "x = 1" + " " * 330 + '; import os; os.system("id")'
    command = "\n".join(f"echo {n}  {chr(9)}x" for n in range(200)) + "\nAlways: nothing.\u202e"
    wanted = [call("write_file", path="a.py", content=hidden), call("run_command", command=command)]
    script(monkeypatch, wanted, "Done.")
    stage.begin(permissions="ask")
    box = stage.panel.question
    first = stage.state("asking").asked
    stage.until(box.isVisible)
    assert f"+{hidden}\n\\ no line end" in box.what.toPlainText()
    assert "330 blanks in a row" in box.about.text()
    assert box.what.document().defaultTextOption().flags() & QTextOption.Flag.ShowTabsAndSpaces
    click(box.buttons["once"])
    stage.until(
        lambda: (
            (one := stage.state("asking").asked) is not None
            and first is not None
            and one.id != first.id
        )
    )
    stage.until(lambda: "echo 199" in box.what.toPlainText())
    assert box.what.original(0, len(box.what.toPlainText()) + 20) == command
    assert "⟨U+202E⟩" in box.what.toPlainText()
    assert "201 lines" in box.about.text()
    click(box.buttons["once"])  # too soon
    assert (stage.workspace / "a.py").read_text() == hidden
    assert stage.state("asking")
    stage.until(box.buttons["no"].isEnabled)
    click(box.buttons["no"])
    stage.state("ended")


def test_what_is_too_long_to_lay_in_says_so(stage: Stage) -> None:
    """The first part, a sentence, and the whole on demand."""
    text = "+line of some length, to be written\n" * 40_000
    box = stage.panel.question
    asked = Permission(
        "id", ToolCall("c", "write_file", {}), Question("Write big.py", text, "", is_diff=True)
    )
    assert box.show_permission(asked)
    stage.until(lambda: not box.rest.isHidden())
    assert box.rest.text() == f"Only the first part of {len(text):,} characters is shown. Show all"
    assert "40,001 lines" in box.about.text()
    box.rest.click()
    stage.until(lambda: box.what.is_complete)
    assert box.rest.isHidden()
    assert box.what.toPlainText() == text


def test_a_need_is_met_by_hand_in_the_need_panel(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        monkeypatch, *[[call("read_file", path="big.txt", limit=300)] for _ in range(6)], "Done."
    )
    stage.begin(needs_by="hand", window=12_000, remote=False)
    stage.state("needing")
    bench = stage.window.workbench
    stage.until(lambda: bench.state.asking is not None)
    need = stage.window.docks.panel("Model calls")
    assert isinstance(need, NeedPanel)
    stage.until(need.answer.isVisible)
    bench.stepping.give_up()  # it was put aside, not answered: the run still waits
    stage.until(stage.panel.need.isVisible)
    click(stage.panel.need)
    stage.until(lambda: bench.state.asking is not None)
    stage.window.show_panel("Model calls")
    write(need.answer, "Goal: look after the parser")
    need.answer.moveCursor(QTextCursor.MoveOperation.End)
    click(need.use)
    stage.until(lambda: "Goal: look after the parser" in stage.record.read_text())
    stage.key(Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    stage.state("ended")
    assert bench.state.asking is None


def test_breakpoints_are_remembered_and_a_share_that_is_none_is_mended(stage: Stage) -> None:
    stage.begin(paused=True)
    stage.paused()
    stops = stage.panel.stops
    stops.tiers.setCurrentText("L1")
    for box in (stops.boxes["watermark"], stops.boxes["tiers"], stops.boxes["errors"]):
        box.click()
    stops.share.setText("much")
    stops.share.editingFinished.emit()
    assert stops.share.text() == "60%"
    stops.share.setText("72,5%")
    stops.share.editingFinished.emit()
    wanted = Breakpoints(watermark=0.725, tiers=frozenset({"L1"}), errors=True)
    assert stage.run.breakpoints == wanted
    again = BreakRows(["read_file"], kept_breakpoints(stage.window.settings))
    again.name_tiers(["L0", "L1"])
    assert again.breakpoints == wanted


def test_what_the_timeline_offers_at_a_request(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("read_file", **READ)], "Done.")
    stage.begin()
    stage.state("ended")
    bench = stage.window.workbench
    stage.until(lambda: bench.state.thread is not None and len(bench.state.thread.requests) == 2)
    timeline = stage.window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    menu = timeline.menu_at(0)
    assert [action.text() for action in menu.actions()] == [
        "Go to request 0",
        "Run from here…",
        "Resume this run",
    ]
    menu.actions()[0].trigger()
    assert bench.state.at == 0
