"""What the person may do to a run: breakpoints, steps, other buffers, permissions, answers. Over HTTP, no sleeps."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.agent.runner import Runner
from inspector.agent.status import ANY, Breakpoints, Controls, RunStatus
from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text, ToolResult
from inspector.core.needs import Answer, ProviderFailure, Summarize
from inspector.core.policies.roku.settings import raw_tokens
from inspector.simulated.server import SimulatedServer
from tests.agent.conftest import Planned
from tests.agent.running import Heard, call, opened, running, script, texts


def reads(count: int) -> list[list[object]]:
    """So many turns with one reading call each."""
    return [[call("read_file", path="README.md")] for _ in range(count)]


def go_on(runner: Runner, heard: Heard) -> list[str]:
    """Go on from every pause until the end; why it paused each time."""
    found: list[str] = []
    while (standing := heard.until(lambda one: one.state in ("paused", "ended"))).state == "paused":
        found.append(standing.stop)
        runner.go()
    assert standing.end == "done", standing.error
    return found


def put(runner: Runner, heard: Heard, buffer: Buffer) -> Buffer:
    """Put another buffer in; what stands then."""
    runner.replace(buffer)
    return heard.paused().buffer


def test_a_breakpoint_at_each_request(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, *reads(3))  # type: ignore[arg-type]
    with running(planned(), Breakpoints(requests=True)) as (runner, heard):
        runner.start()
        first = heard.paused()
        assert texts(first.buffer) == ["Please look after the parser."]
        assert first.tokens > 0
        assert first.running is not None
        runner.go()
        assert go_on(runner, heard) == ["request"] * 3


def test_a_breakpoint_at_a_watermark_once_each_time_it_is_reached(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *[[call("read_file", path="big.txt", limit=60)] for _ in range(3)])
    plan = planned(policy="none", window=10_000)
    with running(plan, Breakpoints(watermark=0.25)) as (runner, heard):
        runner.start()
        paused = heard.paused()
        assert paused.stop == "watermark"
        assert paused.tokens >= 2_500
        assert paused.kind == "predicted"
        assert len(heard.reports) >= 1
        runner.go()
        assert go_on(runner, heard) == []


def test_a_breakpoint_at_a_tier_names_it_and_its_verdict(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(5))  # type: ignore[arg-type]
    with running(planned(), Breakpoints(tiers=frozenset({"L0"}))) as (runner, heard):
        runner.start()
        paused = heard.paused()
        assert paused.stop == "tier"
        assert paused.verdict is not None
        assert paused.verdict.tier == "L0"
        assert paused.verdict.due
        assert "L0" in paused.why
        assert not any("removed" in text or "cleared" in text for text in texts(paused.buffer))
        runner.go()
        assert go_on(runner, heard) == ["tier"]


def test_a_tier_that_is_no_longer_due_does_not_fire(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the breakpoint the person drops what would have made it fire."""
    script(monkeypatch, *reads(4))  # type: ignore[arg-type]
    with running(planned(), Breakpoints(tiers=frozenset({ANY}))) as (runner, heard):
        runner.start()
        paused = heard.paused()
        shown = put(runner, heard, Buffer(paused.buffer.messages[:1]))
        assert len(shown.messages) == 1
        assert shown.prompt == paused.buffer.prompt
        runner.go()
        go_on(runner, heard)
    assert not any("L0" in one.fired for one in heard.reports)
    assert "by hand" in {one.trigger for one in opened(planned().record).main.compactions}


def test_a_breakpoint_at_a_tool_by_its_name(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = call("list_files"), call("read_file", path="README.md")
    script(monkeypatch, [first, second])
    with running(planned(wire="chat"), Breakpoints(tools=frozenset({"read_file"}))) as (
        runner,
        heard,
    ):
        runner.start()
        paused = heard.paused()
        assert paused.stop == "tool"
        assert [one.name for one in paused.calls] == ["read_file"]
        assert paused.buffer.messages[-1].result is not None  # the first call's stands already
        runner.go()
        assert go_on(runner, heard) == []


def test_breakpoints_hold_in_a_sub_agent(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, [call("task", id="call_t", prompt="Read.")], *reads(1), "Read.", "Done.")  # type: ignore[arg-type]
    plan = planned(wire="chat")
    with running(plan, Breakpoints(tools=frozenset({"read_file"}))) as (runner, heard):
        runner.start()
        paused = heard.paused()
        assert paused.thread == "call_t"
        assert texts(paused.buffer)[0] == "Read."
        changed = replace(paused.buffer.messages[0], parts=(Text("Read it well."),))
        put(runner, heard, Buffer((changed, *paused.buffer.messages[1:])))
        runner.go()
        assert go_on(runner, heard) == []
    sub = opened(plan.record).thread("call_t")
    assert texts(sub.end.messages())[0] == "Read it well."


def test_a_breakpoint_at_an_overflow_before_the_policy_reacts(
    planned: Planned, simulated: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(3))  # type: ignore[arg-type]
    simulated.world.faults.push("ok*2,overflow")
    with running(planned(), Breakpoints(overflow=True)) as (runner, heard):
        runner.start()
        paused = heard.paused()
        assert paused.stop == "overflow"
        assert "too long" in paused.error
        runner.go()
        assert go_on(runner, heard) == []
    assert "L4" in {tier for one in heard.reports for tier in one.fired}


def test_an_overflow_that_the_person_mends_is_no_business_of_the_policy(
    planned: Planned, simulated: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = script(monkeypatch, *reads(3))  # type: ignore[arg-type]
    simulated.world.faults.push("ok*2,overflow")
    with running(planned(), Breakpoints(overflow=True)) as (runner, heard):
        runner.start()
        paused = heard.paused()
        put(runner, heard, Buffer(paused.buffer.messages[:1]))
        runner.go()
        assert go_on(runner, heard) == []
    assert not any(one.fired for one in heard.reports)
    assert [len(one.buffer.messages) for one in calls] == [1, 3, 1, 3]


def test_a_breakpoint_at_an_error_goes_on_by_asking_again(
    planned: Planned, simulated: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "Done.")
    simulated.world.faults.push("401*2")
    with running(planned(), Breakpoints(errors=True)) as (runner, heard):
        runner.start()
        for _ in range(2):
            paused = heard.paused()
            assert paused.stop == "error"
            assert paused.error
            runner.go()
        assert go_on(runner, heard) == []
    assert heard.all[-1].error == ""


def test_step_by_step(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model call, then its tool calls one by one, then the next model call."""
    script(monkeypatch, [call("list_files"), call("read_file", path="README.md")], "Done.")
    with running(planned(wire="chat")) as (runner, heard):
        runner.start(paused=True)
        assert [one.role for one in heard.paused().buffer.messages] == ["user"]
        runner.step_model()
        paused = heard.paused()
        assert (paused.stop, [one.name for one in paused.calls]) == (
            "step",
            ["list_files", "read_file"],
        )
        assert [one.role for one in paused.buffer.messages] == ["user", "assistant"]
        runner.step_tool()
        paused = heard.paused()
        assert [one.name for one in paused.calls] == ["read_file"]
        assert [one.role for one in paused.buffer.messages] == ["user", "assistant", "tool"]
        runner.step_tool()
        paused = heard.paused()
        assert not paused.calls
        assert [one.role for one in paused.buffer.messages] == ["user", "assistant", "tool", "tool"]
        runner.step_model()
        assert heard.state("ended").end == "done"


def test_pause_and_go(
    planned: Planned, simulated: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(3))  # type: ignore[arg-type]
    with running(planned()) as (runner, heard):
        runner.start()
        heard.state("calling")
        runner.pause()
        paused = heard.paused()
        assert paused.stop == "by hand"
        seen = len(simulated.world.seen)
        with pytest.raises(InspectorError, match="not waiting for an answer"):
            runner.answer(Answer(text="for nobody"))
        assert len(simulated.world.seen) == seen
        runner.go()
        assert go_on(runner, heard) == []
        with pytest.raises(InspectorError, match="paused"):
            runner.replace(paused.buffer)


def test_stop_while_paused(planned: Planned) -> None:
    with running(planned(), Breakpoints(requests=True)) as (runner, heard):
        runner.start()
        heard.paused()
        runner.stop()
        assert heard.state("ended").end == "stopped"


def test_what_was_edited_is_what_is_sent_and_what_is_learned_from(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A calibration sample is of the buffer that really went out, not of the one before the edit."""
    script(monkeypatch, [call("read_file", path="big.txt")], "Done.")
    plan = planned()
    with running(plan, Breakpoints(requests=True)) as (runner, heard):
        runner.start()
        heard.paused()
        runner.go()
        paused = heard.paused()
        result = paused.buffer.messages[-1].result
        assert result is not None
        short = replace(
            paused.buffer.messages[-1], parts=(ToolResult(result.call_id, "line 0", False),)
        )
        edited = Buffer((*paused.buffer.messages[:-1], short), paused.buffer.prompt)
        put(runner, heard, edited)
        runner.go()
        ended = heard.state("ended")
    assert ended.end == "done"
    last = heard.reports[-1]
    assert ended.running.calibration.samples[-1] == (raw_tokens(edited), last.reported)
    assert last.estimated == raw_tokens(edited)
    session = opened(plan.record)
    assert texts(session.main.requests[-1].buffer())[-1] == "line 0"
    assert [one.kind for one in session.main.compactions] == ["edit"]


def test_a_result_that_was_dropped_leaves_no_call_alone(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider would refuse it; so it is mended, and the journal says so."""
    script(monkeypatch, *reads(2))  # type: ignore[arg-type]
    plan = planned()
    with running(plan, Breakpoints(requests=True)) as (runner, heard):
        runner.start()
        heard.paused()
        runner.go()
        paused = heard.paused()
        put(runner, heard, Buffer(paused.buffer.messages[:-1]))
        runner.go()
        assert go_on(runner, heard) == ["request"]
    assert [one.trigger for one in opened(plan.record).main.compactions] == ["by hand", "repair"]


def test_a_call_that_was_dropped_is_not_run(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("write_file", path="new.txt", content="x")], "Done.")
    with running(planned(), Breakpoints(tools=frozenset({ANY}))) as (runner, heard):
        runner.start()
        paused = heard.paused()
        put(runner, heard, Buffer(paused.buffer.messages[:1]))
        runner.go()
        go_on(runner, heard)
    assert not (workspace / "new.txt").exists()


def test_results_stay_once_when_the_buffer_is_put_in_between_two_tools(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("list_files"), call("read_file", path="README.md")], "Done.")
    plan = planned(wire="chat")
    with running(plan, Breakpoints(tools=frozenset({"read_file"}))) as (runner, heard):
        runner.start()
        paused = heard.paused()
        note = Message("note-1", "user", (Text("Mind the parser."),))
        put(runner, heard, Buffer((note, *paused.buffer.messages)))
        runner.go()
        assert go_on(runner, heard) == []
    end = opened(plan.record).main.end.messages()
    assert [one.role for one in end] == ["user", "user", "assistant", "tool", "tool", "assistant"]


# permissions


def test_permission_once_always_and_no(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["one.txt", "two.txt", "three.txt", "four.txt"]
    script(monkeypatch, *[[call("write_file", path=name, content=f"{name}\n")] for name in names])
    plan = planned(permissions="ask")
    with running(plan) as (runner, heard):
        runner.start()
        for how in ("no", "once", "always"):
            asking = heard.state("asking")
            assert asking.asked is not None
            assert asking.asked.call.name == "write_file"
            assert ".txt" in asking.asked.what.says
            assert asking.asked.what.exact.startswith("@@ -0,0 +1,1 @@\n+")
            runner.permit("somebody-else", "always")
            runner.permit(asking.asked.id, how)
        assert heard.state("ended").end == "done"
        assert len([one for one in heard.all if one.state == "asking"]) == 3
    assert [name for name in names if (workspace / name).exists()] == names[1:]
    results = [one.result for one in opened(plan.record).main.messages if one.result]
    assert [one.is_error for one in results] == [True, False, False, False]


@pytest.mark.parametrize(("permissions", "written"), [("always", True), ("never", False)])
def test_permission_by_the_plan(
    planned: Planned,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    permissions: str,
    written: bool,
) -> None:
    script(
        monkeypatch,
        [call("write_file", path="new.txt", content="x"), call("read_file", path="README.md")],
    )
    with running(planned(permissions=permissions)) as (runner, heard):
        runner.start()
        assert heard.state("ended").end == "done"
    assert "asking" not in heard.states
    assert (workspace / "new.txt").exists() == written


def test_stop_while_it_asks(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("write_file", path="new.txt", content="x")])
    with running(planned(permissions="ask")) as (runner, heard):
        runner.start()
        heard.state("asking")
        runner.stop()
        assert heard.state("ended").end == "stopped"
    assert not (workspace / "new.txt").exists()


# a tier's needs


def _filling(planned: Planned, monkeypatch: pytest.MonkeyPatch, **changes: object) -> object:
    script(monkeypatch, *[[call("read_file", path="big.txt", limit=200)] for _ in range(3)])
    return planned(policy="codex", window=9_000, **changes)


def _with_needs_met(runner: Runner, heard: Heard) -> RunStatus:
    """The end, every further need answered."""
    while (
        now := heard.until(lambda status: status.state in ("needing", "ended"))
    ).state == "needing":
        assert now.need is not None
        runner.answer(offline(now.need))
    return now


def test_needs_by_hand(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _filling(planned, monkeypatch, needs_by="hand")
    with running(plan) as (runner, heard):  # type: ignore[arg-type]
        runner.start()
        needing = heard.state("needing")
        assert isinstance(needing.need, Summarize)
        runner.answer(Answer(text="It is all about steps."))
        assert _with_needs_met(runner, heard).end == "done"
    session = opened(plan.record)  # type: ignore[attr-defined]
    (first, *_) = [one for one in session.main.compactions if one.kind == "summary"]
    assert first.summary is not None
    assert "It is all about steps." in first.summary.text


def test_a_need_that_is_failed_by_hand_is_the_tiers_to_bear(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _filling(planned, monkeypatch, needs_by="hand")
    with running(plan) as (runner, heard):  # type: ignore[arg-type]
        runner.start()
        heard.state("needing")
        runner.answer(ProviderFailure("no", 403, "http"))
        assert _with_needs_met(runner, heard).end == "done"


def test_stop_while_a_need_is_open(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _filling(planned, monkeypatch, needs_by="hand")
    with running(plan) as (runner, heard):  # type: ignore[arg-type]
        runner.start()
        heard.state("needing")
        runner.stop()
        assert heard.state("ended").end == "stopped"


def test_everything_may_be_said_from_any_thread_at_any_time(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Buttons are pressed as they please; in the end it is stopped, and it ends."""
    script(monkeypatch, *reads(30))  # type: ignore[arg-type]
    with running(planned()) as (runner, heard):
        runner.start()
        enough = threading.Event()

        def press() -> None:
            while not enough.is_set():
                for button in (runner.pause, runner.step_model, runner.step_tool, runner.go):
                    button()

        thread = threading.Thread(target=press)
        thread.start()
        heard.until(lambda one: one.report is not None and one.report.number == 10)
        enough.set()
        thread.join()
        runner.stop()
        assert heard.state("ended").end == "stopped"


def test_between_go_and_the_run_that_wakes_nothing_is_put_in() -> None:
    """Who says "go" has handed the buffer over, although the run's thread still waits."""
    controls = Controls(Breakpoints())
    controls.begin_pause()
    controls.replace(Buffer(()))
    for release in (controls.go, controls.step_model, controls.step_tool):
        release()
        with pytest.raises(InspectorError, match="only while the run is paused"):
            controls.replace(Buffer(()))
        controls.pause()


def test_the_status_tells_the_window(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "Done.")
    with running(planned(window=30_000)) as (runner, heard):
        runner.start()
        assert heard.state("calling").window == 30_000
        assert heard.state("ended").window == 30_000
