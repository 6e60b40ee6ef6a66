"""An agent watched in the window: a real SDK through the proxy to the simulated provider, with real clicks."""

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import anthropic
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from inspector.cli.follow import RequestPrinter
from inspector.core.jsontext import loads
from inspector.gui.panels.proxy.bar import ProxyBar
from inspector.gui.panels.proxy.hold_box import HoldBox
from inspector.gui.panels.proxy.hold_choices import STEPPED
from inspector.gui.panels.proxy.panel import EACH, OFF, WATERMARK
from inspector.gui.proxies.dialog import ADDRESS, ProxyDialog
from inspector.proxy.holds.hold import Rule
from inspector.transcripts.files import open_transcript
from inspector.workbench.pressure.gauge import reading
from tests.gui.crowding import crowded
from tests.gui.hands import click, press
from tests.gui.live_runs import Stage as RunStage
from tests.gui.proxy_stage import TOLD, Stage, stage
from tests.gui.test_edit import in_dialog

__all__ = ["stage"]


def test_from_the_welcome_page(stage: Stage) -> None:
    """Asked once: a provider, a recording, a port; remembered for the next time."""
    window = stage.window

    def act(dialog: ProxyDialog) -> None:
        click(dialog.chips.buttons[ADDRESS])
        assert dialog.address.isVisible()
        click(dialog.go)
        assert "address" in dialog.trouble.text()
        dialog.address.setText("https://gateway.example/v1?key=k")
        click(dialog.go)
        assert "not into the URL" in dialog.trouble.text()
        assert window.settings.text("proxy/upstream") == ""
        click(dialog.chips.buttons["simulated"])
        assert not dialog.address.isVisible()
        assert "data" in dialog.record.text()
        click(dialog.go)

    in_dialog(stage.qtbot, ProxyDialog, act, lambda: click(window.welcome.watch))
    stage.until(lambda: stage.bench.state.proxy_is_open)
    stage.until(lambda: window.docks.ready)
    assert stage.bench.state.following == "file"
    assert stage.bench.state.session is not None
    assert stage.bench.state.session.format == "proxy"
    window.show_panel("Proxy")
    stage.until(lambda: "127.0.0.1" in stage.panel.address.text())
    assert stage.ask().result()
    stage.until(lambda: stage.panel.table.rows and stage.panel.table.rows[0].what.status == 200)
    state = stage.bench.state
    stage.until(lambda: len(stage.bench.state.session.main.requests) == 1)  # type: ignore[union-attr]
    assert state.thread is not None
    click(stage.panel.copy)
    assert QGuiApplication.clipboard().text() == stage.panel.address.text()
    window.proxies.watch()  # runs already: shows it
    click(stage.panel.stop)
    stage.until(lambda: stage.bench.state.proxy is None)
    assert window.settings.text("proxy/upstream") == "simulated"


@pytest.mark.parametrize("width", [1280, 1920])
def test_beside_a_run_all_can_be_read(stage: Stage, tmp_path: Path, width: int) -> None:
    """Another session than the recording is open: there is a button more."""
    stage.window.resize(width, 800)
    stage.begin(Rule("watermark", 0.6, 170_000))
    run = RunStage(stage.window, stage.qtbot, tmp_path)
    with closing(run.run):
        run.begin(paused=True)
        run.paused()
        stage.window.show_panel("Proxy")
        stage.until(stage.panel.show_recording.isVisible)
        stage.until(lambda: not crowded(stage.window))


def test_what_cannot_begin_is_told(stage: Stage) -> None:
    proxy = stage.window.proxies.controller
    proxy.begin("ftp://nowhere", stage.record)
    stage.until(lambda: stage.bench.state.failure)
    assert stage.bench.state.proxy is None
    stage.bench.dismiss()
    proxy.begin("http://127.0.0.1:9", Path("/proc/nothing/x.jsonl"))
    stage.until(lambda: stage.bench.state.failure)
    stage.bench.dismiss()
    stage.window.proxies.connect()
    assert "No proxy" in stage.bench.state.failure
    stage.window.proxies.hold_next()


def test_held_looked_at_dropped_from_and_forwarded_as_stepped(stage: Stage) -> None:
    """The window comes to the held request by itself; what was edited there is what the provider reads from then on."""
    stage.begin(Rule("each"))
    call = stage.ask()
    box = stage.box()
    assert stage.panel.windowTitle() == "Proxy ●"
    stage.until(lambda: not box.visibleRegion().isEmpty())
    assert "5 messages" in box.size_.text()
    assert "Forwarded unchanged in" in box.left.text()
    bar = cast(ProxyBar, stage.window.proxy_bar)
    assert bar.chip.text() == "‖ 1 request held"
    assert "forwarded unchanged in " in bar.says.whole
    assert titles(box) == ["Unchanged"]
    assert not box.forward.isEnabled()
    first = stage.bench.state.buffer().messages
    stage.edit(lambda: stage.bench.editing.drop([message.id for message in first[:3]]))
    stage.edit(lambda: stage.bench.editing.rewrite(first[4].id, 0, "three, and briefly"))
    stage.until(lambda: "With your 2 steps" in titles(box))
    assert box.choice.key == STEPPED
    assert box.forward.text() == "Forward with your 2 steps"
    stage.until(lambda: box.choice.tokens is not None)
    assert "1 answer dropped, 2 user messages dropped" in box.choice.changes
    assert box.choice.tokens is not None
    assert box.hold.tokens is not None
    assert box.choice.freed == f"{box.hold.tokens - box.choice.tokens:,}"
    assert "would refuse" in box.made.text()  # it begins with the assistant
    stage.edit(lambda: stage.bench.editing.drop([first[3].id]))
    stage.until(lambda: "would refuse" not in box.made.text())
    assert "By Roku: nothing is due" in box.made.text()
    click(box.forward)
    assert call.result()
    stage.until(lambda: not stage.panel.boxes)
    assert stage.arrived() == ["three, and briefly"]
    stage.until(
        lambda: "was shortened and forwarded. Predicted about " in stage.panel.outcome.text()
    )
    assert ", reported " in stage.panel.outcome.text()
    assert bar.chip.text() == "● listening"
    click(stage.panel.rule.kind.buttons[OFF])
    more = [*TOLD, {"role": "assistant", "content": "so"}, {"role": "user", "content": "four"}]
    assert stage.ask(more).result()
    assert stage.arrived() == ["three, and briefly", "so", "four"]
    stage.until(lambda: stage.panel.table.rows[0].what.done == "cut again")


def _followed(record: Path, capsys: pytest.CaptureFixture[str]) -> list[int]:
    """What `follow` prints of each request."""
    capsys.readouterr()
    printer = RequestPrinter(json=True, everything=True, window=None)
    printer.take(open_transcript(record))
    printer.print_waiting()
    return [loads(line.encode())["tokens"] for line in capsys.readouterr().out.splitlines()]


def _a_label_begins_with(text: str, panel: QWidget) -> bool:
    return any(label.text().startswith(text) for label in panel.findChildren(QLabel))


def test_box_gauge_and_follow_say_the_same_size(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the first request, of one that grew, and after a step: one number wherever it is shown."""
    stage.begin(Rule("each"))
    told = list(TOLD)
    for turn in range(3):
        call = stage.ask(told)
        box = stage.box()
        size = box.hold.tokens
        assert size is not None
        assert f"about {size:,} tokens" in box.size_.text()
        stage.until(lambda: (now := reading(stage.bench.state)) and now.pressure.tokens == size)  # noqa: B023
        gauge = stage.window.docks.panel("Pressure")
        stage.until(partial(_a_label_begins_with, f"{size:,}", gauge))
        assert _followed(stage.record, capsys)[turn] == size
        stage.bench.move(None)  # the same buffer ends the thread
        end = reading(stage.bench.state)
        assert end is not None
        assert end.pressure.tokens == size
        stage.bench.move(turn)
        if turn == 2:
            stage.edit(
                lambda: stage.bench.editing.drop(
                    [m.id for m in stage.bench.state.buffer().messages[:2]]
                )
            )
            stepped = reading(stage.bench.state)
            assert stepped is not None
            stage.until(lambda: box.choice.tokens == stepped.pressure.tokens)  # noqa: B023
        click(box.as_it_was)
        answer = call.result()
        stage.until(lambda: not stage.panel.boxes)
        given = "here is more of it, in 中文 as well; " * 60 * (turn + 1)
        told = [*told, {"role": "assistant", "content": answer}, {"role": "user", "content": given}]


def test_what_the_policy_would_do_is_shown_before_it_is_done(stage: Stage) -> None:
    """What goes, and the tokens before and after; a click sends just that."""
    stage.begin(Rule("each", window=10_000))
    told: list[Any] = [{"role": "user", "content": "Read what there is."}]
    for n in range(12):
        asked = {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {}}
        given = {
            "type": "tool_result",
            "tool_use_id": f"t{n}",
            "content": f"src/reports/part_{n}.py has line {n} of code\n" * 80,
        }
        told += [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [given]}]
    call = stage.ask(told)
    box = stage.box()
    stage.until(lambda: len(titles(box)) > 1)
    assert box.choice.key == "L0"
    assert "results cleared" in box.choice.changes
    assert box.choice.lost
    after = box.choice.tokens
    assert after is not None
    click(box.forward)
    assert call.result()
    stage.until(lambda: not stage.panel.boxes)
    body = stage.provider.world.seen[-1].body
    assert len(body) < 0.7 * len(str(told))
    stage.until(
        lambda: stage.bench.state.session and stage.bench.state.session.main.requests[-1].usage
    )
    session = stage.bench.state.session
    assert session is not None
    usage = session.main.requests[-1].usage
    assert usage is not None
    assert after == pytest.approx(usage.prompt, rel=0.03)
    stage.until(lambda: stage.panel.answered is not None and stage.panel.answered.choice.reported)
    answered = stage.panel.answered
    assert answered is box
    assert answered.choice.reported == usage.prompt
    assert answered.choice.result.startswith(f"{usage.prompt:,} (")
    assert [choice.key for choice in answered.table.rows if choice.result] == ["L0"]
    click(answered.close_)
    assert stage.panel.answered is None


def test_as_it_was_and_drop(stage: Stage) -> None:
    stage.begin()
    stage.window.show_panel("Proxy")
    click(stage.panel.rule.next)
    assert stage.status.is_next
    call = stage.ask()
    box = stage.box()
    assert not stage.panel.rule.next.isChecked()
    stage.edit(lambda: stage.bench.editing.drop([stage.bench.state.buffer().messages[0].id]))
    click(box.as_it_was)
    assert call.result()
    assert len(stage.arrived()) == 5
    stage.until(lambda: not stage.panel.boxes)
    click(stage.panel.rule.kind.buttons[EACH])
    dropped = stage.ask([*TOLD, {"role": "user", "content": "more"}])
    box = stage.box()
    click(box.drop)
    with pytest.raises(anthropic.BadRequestError, match="Dropped"):
        dropped.result()
    stage.until(lambda: stage.panel.table.rows[0].what.done == "dropped")


def test_a_watermark_is_chosen(stage: Stage) -> None:
    stage.begin()
    stage.window.show_panel("Proxy")
    row = stage.panel.rule
    click(row.kind.buttons[WATERMARK])
    stage.until(lambda: stage.status.rule.kind == "watermark")
    row.ratio.setFocus()
    row.ratio.setText("x")
    press(row.ratio, Qt.Key.Key_Return)
    assert row.ratio.text() == "60%"
    row.ratio.setText("50%")
    press(row.ratio, Qt.Key.Key_Return)
    row.window_.setFocus()
    row.window_.setText("1,000")
    press(row.window_, Qt.Key.Key_Return)
    assert stage.status.rule == Rule("watermark", 0.5, 1_000)
    call = stage.ask([{"role": "user", "content": "words and more " * 400}])
    box = stage.box()
    assert "of 1,000" in box.size_.text()
    click(box.as_it_was)
    call.result()


def test_look_comes_back_to_it(stage: Stage, tmp_path: Path) -> None:
    """Another transcript is open: the recording is brought back, and the playhead with it."""
    stage.begin(Rule("each"))
    assert stage.window.docks.current.name == "Live"
    call = stage.ask()
    box = stage.box()
    other = tmp_path / "other.json"
    other.write_text(
        '{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "elsewhere"}]}'
    )
    stage.window.open_path(str(other))
    stage.until(
        lambda: (
            stage.bench.state.session is not None and stage.bench.state.session.path == str(other)
        )
    )
    stage.until(lambda: stage.panel.show_recording.isVisible())
    click(box.look)
    stage.until(lambda: stage.bench.state.proxy_is_open)
    assert stage.window.docks.current.name == "Read"
    stage.window.show_panel("Proxy")
    box = stage.box()
    click(box.as_it_was)
    call.result()


LONG: list[Any] = [
    {"role": role, "content": f"{role} {n}: " + "words that take room " * 60}
    for n in range(8)
    for role in ("user", "assistant")
][:-1]


def titles(box: HoldBox) -> list[str]:
    return [choice.title for choice in box.table.rows]


def spoken(box: HoldBox) -> str:
    return " ".join(label.text() for label in box.findChildren(QLabel))


def test_window_chosen_at_the_top_counts_for_holding(stage: Stage) -> None:
    stage.begin(Rule("watermark", 0.6))
    stage.ask(LONG).result()  # far below 60% of the window that the model has
    stage.until(
        lambda: stage.bench.state.session is not None and stage.bench.state.window is not None
    )
    stage.bench.set_window(3_000)
    stage.until(lambda: stage.status.rule.window == 3_000)
    waiting = stage.ask(
        [*LONG, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}]
    )
    box = stage.box()
    assert box.hold.window == 3_000
    now = reading(stage.bench.state)
    assert now is not None
    assert now.ratio is not None
    assert (now.window.tokens, now.pressure.tokens) == (box.hold.window, box.hold.tokens)
    stage.bench.set_window(6_000)  # while it waits
    stage.until(lambda: [hold.window for hold in stage.status.holds] == [6_000])
    click(box.as_it_was)
    waiting.result()


def test_window_of_the_holding_rule_is_the_window_at_the_top(stage: Stage) -> None:
    stage.begin(Rule("watermark", 0.6))
    stage.ask(LONG).result()
    stage.until(lambda: stage.bench.state.window is not None)
    stage.window.proxies.controller.set_rule(Rule("watermark", 0.6, 5_000))
    stage.until(
        lambda: stage.bench.state.window is not None and stage.bench.state.window.tokens == 5_000
    )
    assert stage.status.rule.window == 5_000


def test_hold_box_and_tiers_at_the_same_place_free_the_same(stage: Stage) -> None:
    """The client's instructions stay in both, though a policy by itself would cut them."""
    house = "<system-reminder>\nThe rules of the house. " + "rule " * 400 + "</system-reminder>"
    rules = {"role": "user", "content": house}
    stage.begin(Rule("each", window=4_000))
    waiting = stage.ask([rules, *LONG])
    box = stage.box()
    stage.until(lambda: stage.status.prospects[box.hold.id].proposal is not None)
    proposal = stage.status.prospects[box.hold.id].proposal
    assert proposal is not None
    assert proposal.after is not None
    stage.until(lambda: (window := stage.bench.state.window) is not None and window.tokens == 4_000)
    stage.bench.stepping.step()  # what is due, as the proposal does it
    stage.until(lambda: stage.bench.state.stepped)
    steps, now = stage.bench.state.steps, reading(stage.bench.state)
    assert steps is not None
    assert now is not None
    assert [message.parts for message in steps.buffer.messages] == [
        one.parts for one in proposal.after.messages
    ]
    assert steps.buffer.messages[0].text.startswith("<system-reminder>")
    assert now.before == proposal.tokens_before
    # The gate counts by a tokenizer.
    assert now.pressure.tokens == pytest.approx(proposal.tokens_after, rel=0.15)
    click(box.as_it_was)
    waiting.result()
