"""Runs over HTTP, through the real SDKs, with real tools: to the end, whatever goes wrong on the way."""

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.agent.plan import RunLimits
from inspector.agent.tools.toolbox import prompt
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.policies.catalogue import TITLES
from inspector.core.session import Session
from inspector.core.validity import find_refusals as refused
from inspector.simulated.call import SimulatedAnswer
from inspector.simulated.server import SimulatedServer
from tests.agent.conftest import Planned
from tests.agent.running import Heard, call, finished, opened, running, script, texts
from tests.core.formats.feeding import check
from tests.providers.providing import WIRES

pytestmark = pytest.mark.usefixtures("simulated")


@pytest.mark.parametrize("wire", WIRES)
def test_a_run_comes_to_its_end(
    planned: Planned, simulated: SimulatedServer, workspace: Path, wire: str
) -> None:
    heard, session = finished(planned(wire=wire))
    last = heard.all[-1]
    assert (last.state, last.end, last.error) == ("ended", "done", "")
    assert (workspace / "SIMULATED.md").exists()
    check(session)
    main = session.main
    assert session.problems == ()
    assert _same(session, heard)
    assert [one.usage.prompt if one.usage else None for one in main.requests] == [
        one.reported for one in heard.reports
    ]
    assert all(one.reported for one in heard.reports)
    assert {"calling", "tool", "ended"} <= heard.states
    assert main.requests[-1].finish in ("end_turn", "stop", "completed")
    assert not refused(last.buffer)
    assert len(simulated.world.seen) == len(heard.reports)


_SMALL: dict[str, tuple[tuple[str, str], ...]] = {
    "pulse": (("window", "model"), ("keep_last_turns", "1"), ("summary_role", "user")),
    "pi": (("reserve_tokens", "4000"), ("keep_recent_tokens", "3000")),
    "learn-claude-code": (
        ("window", "model"),
        ("overhead", "0"),
        ("recent_messages", "2"),
        ("min_savings", "500"),
    ),
}
"""Where a harness has numbers that do not go with the model's window."""


@pytest.mark.parametrize("name", TITLES)
def test_every_policy_runs(
    planned: Planned,
    simulated: SimulatedServer,
    monkeypatch: pytest.MonkeyPatch,
    workspace: Path,
    name: str,
) -> None:
    """On a window that a few files fill each policy does what it does, and the journal tells it."""
    script(monkeypatch, *[[call("read_file", path="big.txt", limit=100 + n)] for n in range(9)])
    simulated.world.window = 200_000 if name == "none" else 16_000
    start = Buffer(tuple(_talk(3)), prompt(workspace))
    heard, session = finished(
        planned(policy=name, window=16_000, settings=_SMALL.get(name, ()), start=start)
    )
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert 8 <= len(heard.reports) <= 10
    check(session)
    assert session.problems == ()
    assert _same(session, heard)
    fired = {tier for one in heard.reports for tier in one.fired}
    told = {one.trigger for one in session.main.compactions}
    assert told <= fired
    assert bool(told) == (name != "none")


def _talk(turns: int) -> Iterator[Message]:
    for n in range(turns):
        yield Message(
            f"asked-{n}",
            "user",
            (Text(f"What about part {n}? " + "It is long and winding. " * 200),),
        )
        yield Message(
            f"said-{n}",
            "assistant",
            (Text(f"Part {n} is well. " + "I looked at all of it. " * 200),),
        )


def _same(session: Session, heard: Heard) -> bool:
    """The journal opens as what the run held: all but where it stands in the file."""
    there = [replace(one, line=0, time="") for one in session.main.end.messages()]
    return there == [replace(one, line=0, time="") for one in heard.all[-1].buffer.messages]


def test_the_journal_is_for_its_owner_and_never_over_another_file(planned: Planned) -> None:
    plan = planned()
    finished(plan)
    assert plan.record.stat().st_mode & 0o777 == 0o600
    before = plan.record.read_bytes()
    with pytest.raises(InspectorError, match="exists"), running(plan):
        pass
    assert plan.record.read_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"provider": "nobody"},
        {"provider": "anthropic"},
        {"policy": "no-such"},
        {"settings": (("no_such", "1"),)},
        {"task": "   "},
        {"record": Path("/proc/nowhere/run.jsonl")},
    ],
)
def test_what_cannot_begin_says_so(planned: Planned, changes: dict[str, object]) -> None:
    with pytest.raises(InspectorError), running(planned(**changes)):
        pass


def test_no_workspace_no_run(planned: Planned, tmp_path: Path) -> None:
    with pytest.raises(InspectorError), running(replace(planned(), workspace=tmp_path / "nowhere")):
        pass


# what goes wrong


@pytest.mark.parametrize(
    "fault", ["429:0*2", "529*2", "503", "cut", "end", "error-event", "empty", "500*3"]
)
@pytest.mark.parametrize("wire", WIRES)
def test_what_passes_is_asked_again(
    planned: Planned, simulated: SimulatedServer, fault: str, wire: str
) -> None:
    simulated.world.faults.push(fault)
    heard, session = finished(planned(wire=wire))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert any("; retry 1 of " in one.why for one in heard.all)
    check(session)
    assert len(session.main.requests) == len(heard.reports)


def test_retries_are_bounded(planned: Planned, simulated: SimulatedServer) -> None:
    simulated.world.faults.push("529*20")
    heard, session = finished(planned(limits=RunLimits(retries=2, backoff_s=0.01)))
    assert heard.all[-1].end == "error"
    assert "529" in heard.all[-1].error or "verload" in heard.all[-1].error
    assert len(simulated.world.seen) == 3
    assert any("error" in note for note in session.notes)


def test_a_provider_that_wants_to_be_left_alone_for_long_has_failed(
    planned: Planned, simulated: SimulatedServer
) -> None:
    simulated.world.faults.push("429:7000")
    heard, _ = finished(planned())
    assert heard.all[-1].end == "error"
    assert len(simulated.world.seen) == 1


def test_what_does_not_pass_is_not_asked_again(
    planned: Planned, simulated: SimulatedServer
) -> None:
    simulated.world.faults.push("401")
    heard, _ = finished(planned())
    assert heard.all[-1].end == "error"
    assert len(simulated.world.seen) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["overflow", "overflow-late"])
def test_an_overflow_is_the_policys_to_mend(
    planned: Planned,
    simulated: SimulatedServer,
    monkeypatch: pytest.MonkeyPatch,
    wire: str,
    fault: str,
) -> None:
    script(monkeypatch, *[[call("read_file", path="README.md")] for _ in range(4)])
    simulated.world.faults.push(f"ok*3,{fault}")
    heard, session = finished(planned(wire=wire))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert "L4" in {tier for one in heard.reports for tier in one.fired}
    assert [one.finish for one in session.main.requests].count("context_window_exceeded") == 1
    assert "L4" in {one.trigger for one in session.main.compactions}


def test_tools_that_are_called_wrongly_answer_with_an_error(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [
        call("read_file", path=7),
        call("read_file"),
        call("no_such_tool", x=1),
        ToolCall("call_text", "read_file", "not an object"),
        call("read_file", path="../../etc/passwd"),
        call("task", prompt=5),
    ]
    script(monkeypatch, wrong)
    heard, session = finished(planned())
    assert heard.all[-1].end == "done", heard.all[-1].error
    results = [
        part
        for message in session.main.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    assert len(results) == len(wrong)
    assert all(one.is_error and one.content for one in results)


def test_calls_of_one_id_do_not_mix_up_messages(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some servers call every call the same."""
    script(monkeypatch, *[[call("read_file", id="call_0", path="README.md")] for _ in range(3)])
    heard, session = finished(planned(wire="chat"))
    assert heard.all[-1].end == "done", heard.all[-1].error
    ids = [message.id for message in heard.all[-1].buffer.messages]
    assert len(ids) == len(set(ids))
    check(session)


def test_outputs_are_cut(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, [call("read_file", path="big.txt")])
    heard, _ = finished(planned(limits=RunLimits(max_output=1_000)))
    result = texts(heard.all[-1].buffer)[2]
    assert len(result) < 1_100
    assert "characters are left out here" in result
    assert result.startswith("line 0")
    assert "line 399" in result


def test_turns_are_bounded(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, *[[call("read_file", path="README.md")] for _ in range(10)])
    heard, session = finished(planned(limits=RunLimits(max_turns=3)))
    assert heard.all[-1].end == "max turns"
    assert len(session.main.requests) == 3


# sub-agents


def test_a_sub_agent_has_a_buffer_of_its_own_and_only_its_words_come_back(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = call("task", id="call_sub", prompt="Read the notes.", description="read notes")
    calls = script(
        monkeypatch,
        [task],
        [call("read_file", path="README.md"), call("task", id="call_sub_sub", prompt="More.")],
        "The parser lies in parser.py.",
        "Thank you.",
    )
    heard, session = finished(planned(wire="chat"))
    assert heard.all[-1].end == "done", heard.all[-1].error
    check(session)
    main, sub = session.threads
    assert (sub.id, sub.parent, sub.parent_call, sub.title) == (
        "call_sub",
        "main",
        "call_sub",
        "read notes",
    )
    assert len(sub.requests) == 2
    assert texts(sub.messages)[0] == "Read the notes."
    assert texts(main.messages) == [
        "Please look after the parser.",
        "Let me see.",
        "The parser lies in parser.py.",
        "Thank you.",
    ]
    offered = [{tool.name for tool in one.buffer.prompt.tools or ()} for one in calls]
    assert ["task" in one for one in offered] == [True, False, False, True]
    nested = next(
        message.result
        for message in sub.messages
        if message.result and "sub_sub" in message.result.call_id
    )
    assert nested.is_error
    assert {one.thread for one in heard.reports} == {"main", "call_sub"}


def test_a_sub_agent_that_fails_is_an_error_result(
    planned: Planned, simulated: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("task", prompt="Read the notes.")], "It did not work.")
    simulated.world.faults.push("ok,401")
    heard, session = finished(planned())
    assert heard.all[-1].end == "done"
    result = session.main.messages[2].result
    assert result is not None
    assert result.is_error


# stopping


def test_stop_while_the_model_answers(planned: Planned, simulated: SimulatedServer) -> None:
    simulated.world.faults.push("drip:6")
    plan = planned()
    with running(plan) as (runner, heard):
        runner.start()
        heard.state("calling")
        heard.until(lambda one: bool(one.text))
        runner.stop()
        ended = heard.state("ended")
    assert ended.end == "stopped"
    assert opened(plan.record).notes == ("The run was stopped.",)


def test_stop_while_a_command_runs(
    planned: Planned, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "started"
    os.mkfifo(mark)
    command = f"sleep 600 & echo $! $$ > {mark}; wait"
    script(monkeypatch, [call("run_command", command=command, timeout_s=600)])
    plan = planned()
    with running(plan) as (runner, heard):
        runner.start()
        heard.state("tool")
        pids = [int(one) for one in mark.read_text().split()]
        runner.stop()
        assert heard.state("ended").end == "stopped"
    assert len(pids) == 2
    assert not any(_alive(pid) for pid in pids)
    result = opened(plan.record).main.end.messages()[-1].result
    assert result is not None
    assert result.is_error


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_stop_while_it_waits_to_ask_again(planned: Planned, simulated: SimulatedServer) -> None:
    simulated.world.faults.push("429:100")
    with running(planned()) as (runner, heard):
        runner.start()
        heard.until(lambda one: "; retry " in one.why)
        begun = time.monotonic()
        runner.stop()
        assert heard.state("ended").end == "stopped"
        assert time.monotonic() - begun < 50


def test_close_ends_what_was_never_started(planned: Planned) -> None:
    with running(planned()) as (runner, _):
        pass
    runner.close()


def test_the_model_speaks_bit_by_bit(
    planned: Planned, simulated: SimulatedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text comes while the call is under way, at a pace for the eye, and never shrinks within a call."""
    script(monkeypatch, SimulatedAnswer("word " * 400))
    monkeypatch.setattr(simulated.world, "pause_s", 0.005)
    heard, _ = finished(planned())
    told = [one.text for one in heard.all if one.text]
    assert 2 <= len(told) < 200
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(told))
