"""A journal is what a run can be resumed from: stopped, ended, torn anywhere, or killed while it was written."""

import random
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.agent.plan import Plan, RunLimits
from inspector.agent.starting import read_journal, resume
from inspector.agent.status import ANY, Breakpoints
from inspector.core.errors import InspectorError
from inspector.core.message import Message
from inspector.core.session import Session, Thread
from inspector.core.validity import find_refusals as refused
from inspector.simulated.server import SimulatedServer
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.agent.conftest import Planned
from tests.agent.running import QUICK, call, finished, opened, running, script, texts, url
from tests.core.formats.feeding import check, check_thread
from tests.warm import WarmStarter


def reads(count: int) -> list[list[object]]:
    """So many turns with one reading call each."""
    return [[call("read_file", path="big.txt", limit=60 + n)] for n in range(count)]


def plain(messages: Sequence[Message]) -> list[Message]:
    """Without where they stand in a file."""
    return [replace(one, line=0, time="") for one in messages]


def test_what_is_gone_on_with_is_exactly_what_was_there(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(5))  # type: ignore[arg-type]
    plan = planned(window=9_000, limits=RunLimits(max_turns=4), settings=(("mid_ratio", "0.5"),))
    heard, _ = finished(plan)
    assert heard.all[-1].end == "max turns"
    again = resume(plan.record)
    assert again.start is not None
    assert plain(again.start.messages) == plain(heard.all[-1].buffer.messages)
    assert again.start.prompt == heard.all[-1].buffer.prompt
    assert again.running == heard.all[-1].running
    assert again.running.calibration.samples
    assert again.running.history
    assert again.resumed is not None
    assert again.resumed.turn == 4
    named = (
        again.policy,
        again.settings,
        again.window,
        again.model,
        again.provider,
        again.workspace,
    )
    assert named == (
        plan.policy,
        plan.settings,
        plan.window,
        plan.model,
        plan.provider,
        plan.workspace,
    )


def test_a_run_goes_on_in_the_same_journal(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(4), "All is read.")  # type: ignore[arg-type]
    plan = planned(limits=RunLimits(max_turns=2))
    finished(plan)
    before = plan.record.read_bytes()
    heard, session = finished(resume(plan.record, permissions="always", limits=QUICK))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert plan.record.read_bytes().startswith(before)
    check(session)
    assert session.problems == ()
    assert [one.turn for one in heard.reports] == [2, 3, 4]
    assert len(session.main.requests) == 5
    assert any("resumed" in note for note in session.notes)


def test_a_run_that_was_done_wants_a_new_task(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "Done.", "That, too.")
    plan = planned()
    finished(plan)
    with pytest.raises(InspectorError, match="task"), running(resume(plan.record)):
        pass
    heard, session = finished(resume(plan.record, "And now the notes."))
    assert heard.all[-1].end == "done"
    assert texts(session.main.end.messages()) == [
        "Please look after the parser.",
        "Done.",
        "And now the notes.",
        "That, too.",
    ]


def _stopped_before_a_tool(plan: Plan) -> None:
    with running(plan, Breakpoints(tools=frozenset({ANY}))) as (runner, heard):
        runner.start()
        heard.paused()
        runner.stop()
        heard.state("ended")


def test_a_call_that_had_not_begun_is_run(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        monkeypatch, [call("write_file", path="new.txt", content="x"), call("list_files")], "Done."
    )
    plan = planned()
    _stopped_before_a_tool(plan)
    assert not (workspace / "new.txt").exists()
    heard, session = finished(resume(plan.record, permissions="always"))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert (workspace / "new.txt").exists()
    assert [one.role for one in session.main.end.messages()] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]


def test_with_another_task_open_calls_are_answered_first(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("list_files")], "Done.")
    plan = planned()
    _stopped_before_a_tool(plan)
    heard, session = finished(resume(plan.record, "Something else."))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert [one.role for one in session.main.end.messages()] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    assert not refused(heard.all[-1].buffer)


@pytest.mark.parametrize("answer", ["", "no", "once"])
def test_a_call_that_had_begun_is_run_again_only_after_asking(
    planned: Planned, workspace: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Nobody knows how far it came. Where nobody is asked the model is told so."""
    script(monkeypatch, [call("run_command", command="echo run >> times.txt")], "Done.", "Done.")
    plan = planned()
    finished(plan)
    _torn_behind(plan.record, b'"type":"tool"')
    plan = resume(plan.record, permissions="ask" if answer else "always")
    assert plan.resumed is not None
    assert len(plan.resumed.begun) == 1
    with running(plan) as (runner, heard):
        runner.start()
        if answer:
            asking = heard.state("asking")
            assert asking.asked is not None
            assert "not known" in asking.asked.what.says
            assert asking.asked.what.exact == "echo run >> times.txt"
            runner.permit(asking.asked.id, answer)  # type: ignore[arg-type]
        assert heard.state("ended").end == "done"
    times = (workspace / "times.txt").read_text().count("run")
    assert times == (2 if answer == "once" else 1)
    result = opened(plan.record).main.end.messages()[2].result
    assert result is not None
    assert result.is_error == (answer != "once")


def _torn_behind(journal: Path, record: bytes) -> None:
    """As if the program had been killed right after it wrote this record."""
    data = journal.read_bytes()
    journal.write_bytes(data[: data.index(b"\n", data.index(record)) + 1])


def test_a_reading_call_that_had_begun_is_simply_run_again(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, [call("read_file", path="README.md")], "Done.", "Done.")
    plan = planned()
    finished(plan)
    _torn_behind(plan.record, b'"type":"tool"')
    heard, session = finished(resume(plan.record, permissions="ask"))
    assert heard.all[-1].end == "done"
    result = session.main.end.messages()[2].result
    assert result is not None
    assert "The parser lies" in result.content


def test_a_sub_agent_that_was_interrupted_is_not_started_again_unasked(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        monkeypatch,
        [call("task", id="call_sub", prompt="Read.")],
        *reads(1),  # type: ignore[arg-type]
        "Read.",
        "Done.",
        "Done.",
    )
    plan = planned(wire="chat")
    finished(plan)
    _torn_behind(plan.record, b'"thread":"call_sub","answer"')
    heard, session = finished(resume(plan.record, permissions="always"))
    assert heard.all[-1].end == "done"
    assert [one.id for one in session.threads] == ["main", "call_sub"]
    result = session.main.end.messages()[2].result
    assert result is not None
    assert result.is_error


def test_another_policy_and_another_model_may_go_on(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(6), "Done.")  # type: ignore[arg-type]
    plan = planned(limits=RunLimits(max_turns=2))
    finished(plan)
    limits = RunLimits(max_turns=2)
    finished(
        resume(plan.record, policy="codex", model="claude-other", window=50_000, limits=limits)
    )
    again = resume(plan.record)
    assert (again.policy, again.model, again.window) == ("codex", "claude-other", 50_000)
    assert again.running is not None
    assert again.running.reported > 0
    heard, session = finished(resume(plan.record, policy="roku", limits=QUICK))
    assert heard.all[-1].end == "done"
    assert [one.window for one in session.main.requests] == [200_000] * 2 + [50_000] * 5
    assert session.main.requests[-1].model == "claude-other"
    assert len(heard.all[-1].running.calibration.samples) == 3


def test_a_journal_that_was_gone_on_with_meanwhile_is_not_spoilt(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(6), "Done.")  # type: ignore[arg-type]
    plan = planned(limits=RunLimits(max_turns=2))
    finished(plan)
    early = resume(plan.record)
    finished(resume(plan.record, limits=RunLimits(max_turns=1)))
    with pytest.raises(InspectorError, match="has changed"), running(early):
        pass


def test_always_ends_with_the_run(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever goes on with it is asked anew."""
    writes = [[call("write_file", path=f"{n}.txt", content="x")] for n in range(3)]
    script(monkeypatch, *writes)
    plan = planned(permissions="ask", limits=RunLimits(max_turns=1))
    with running(plan) as (runner, heard):
        runner.start()
        asking = heard.state("asking")
        assert asking.asked is not None
        runner.permit(asking.asked.id, "always")
        heard.state("ended")
    with running(resume(plan.record, permissions="ask", limits=QUICK)) as (runner, heard):
        runner.start()
        again = heard.state("asking").asked
        assert again is not None
        runner.permit(again.id, "always")
        assert heard.state("ended").end == "done"
    assert len({one.asked.id for one in heard.all if one.asked is not None}) == 1


def test_two_runs_never_write_one_journal(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(3))  # type: ignore[arg-type]
    plan = planned()
    with running(plan, Breakpoints(requests=True)) as (runner, heard):
        runner.start()
        heard.paused()
        with pytest.raises(InspectorError, match="has not ended"), running(resume(plan.record)):
            pass


def test_only_a_journal_can_be_gone_on_with(tmp_path: Path) -> None:
    other = tmp_path / "body.json"
    other.write_text('{"model":"m","messages":[{"role":"user","content":"x"}]}')
    with pytest.raises(InspectorError, match="not the journal"):
        resume(other)
    middle = tmp_path / "middle.jsonl"
    middle.write_text(
        '{"type":"message","thread":"main","time":"","message":{"id":"a","role":"user","parts":[]}}\n'
    )
    with pytest.raises(InspectorError, match="beginning"):
        resume(middle)


# torn anywhere


@pytest.fixture
def journal(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A run with compactions and a sub-agent, and a few more words to say whenever it is resumed."""
    moves = [
        *reads(4),
        [call("task", id="call_sub", prompt="Read.")],
        *reads(1),
        "Read.",
        *reads(3),
    ]
    script(monkeypatch, *moves, then="Done.")  # type: ignore[arg-type]
    plan = planned(wire="chat", window=9_000, needs_by="offline")
    heard, session = finished(plan)
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert len(session.main.compactions) > 1
    assert len(session.threads) == 2
    return plan


def test_torn_at_any_byte_it_opens(journal: Plan, tmp_path: Path) -> None:
    data = journal.record.read_bytes()
    torn = tmp_path / "torn.jsonl"
    ends = [n + 1 for n, byte in enumerate(data) if byte == 10]
    dice = random.Random(5)
    for cut in [
        *ends,
        *(end - 1 for end in ends),
        *(dice.randrange(ends[0], len(data)) for _ in range(40)),
    ]:
        torn.write_bytes(data[:cut])
        session = open_transcript(torn)
        assert session.format == "journal"
        assert len(session.problems) <= 1  # the torn line, told
        check_threads(session.threads)


def check_threads(threads: Sequence[Thread]) -> None:
    """An empty one, too: it was torn after its first record."""
    for thread in threads:
        check_thread(thread)


@pytest.mark.parametrize("seed", range(8))
def test_torn_at_any_byte_it_is_gone_on_with(journal: Plan, tmp_path: Path, seed: int) -> None:
    data = journal.record.read_bytes()
    first = data.index(b'"type":"request"')
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(data[: random.Random(seed).randrange(first, len(data) - 200)])
    kept = torn.read_bytes()
    heard, session = finished(resume(torn, "Go on, please.", permissions="always", limits=QUICK))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert torn.read_bytes().startswith(kept)
    assert len(session.problems) <= 1
    check(session)
    assert plain(session.main.end.messages()) == plain(heard.all[-1].buffer.messages)
    assert not refused(heard.all[-1].buffer)


def test_a_torn_line_is_waited_for_in_silence(journal: Plan, tmp_path: Path) -> None:
    """Followed while it is written, byte by byte where it matters, it never shows a problem, and ends up the same."""
    data = journal.record.read_bytes()
    growing = tmp_path / "growing.jsonl"
    lines = data.splitlines(keepends=True)
    growing.write_bytes(b"".join(lines[:3]))
    told: list[Session] = []
    follower = Follower(growing, told.append)
    follower.look()
    with growing.open("ab") as file:
        for line in lines[3:]:
            for piece in (line[: len(line) // 2], line[len(line) // 2 :]):
                file.write(piece)
                file.flush()
                follower.look()
                assert not told[-1].problems
    assert plain(told[-1].main.end.messages()) == plain(opened(journal.record).main.end.messages())
    assert len(told[-1].main.requests) == len(opened(journal.record).main.requests)


# killed


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment_it_loses_at_most_the_record_being_written(
    planned: Planned,
    simulated: SimulatedServer,
    monkeypatch: pytest.MonkeyPatch,
    warm: WarmStarter,
    seed: int,
) -> None:
    """The program itself, killed with -9 while it works; what is there opens, and is resumed to the end."""
    script(monkeypatch, *reads(60), then="Done.")  # type: ignore[arg-type]
    plan = planned(wire="chat")
    words = [
        "run",
        "--provider",
        url(simulated, "chat"),
        "--model",
        "gpt-simulated",
        "--task",
        plan.task,
        "--yes",
    ]
    words += [
        "--workspace",
        str(plan.workspace),
        "--record",
        str(plan.record),
        "--window",
        "20000",
        "--json",
    ]
    after = random.Random(seed).randrange(2, 25)
    process, end = warm.start(plan.record.parent, *words), time.monotonic() + 120
    while (
        process.output.read_bytes().count(b"\n") <= after
        and not process.is_over()
        and time.monotonic() < end
    ):
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    session = opened(plan.record)
    assert len(session.problems) <= 1
    assert len([one for one in session.main.requests if one.usage]) > after
    check(session)
    shutil.copy(plan.record, plan.record.with_name("as-it-was.jsonl"))
    left = read_journal(plan.record).threads["main"]
    script(monkeypatch, *reads(2), then="Done.")  # type: ignore[arg-type]
    heard, session = finished(resume(plan.record, permissions="always", limits=QUICK))
    assert heard.all[-1].end == "done", heard.all[-1].error
    assert not refused(heard.all[-1].buffer)
    check(session)
    assert heard.reports[0].turn >= left.turn
    known = {one.id for one in session.main.messages}
    assert {
        one.id for one in opened(plan.record.with_name("as-it-was.jsonl")).main.messages
    } <= known


def test_a_setting_is_changed_and_the_others_stay(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(1))  # type: ignore[arg-type]
    plan = planned(
        limits=RunLimits(max_turns=1), settings=(("mid_ratio", "0.5"), ("mode", "faithful"))
    )
    finished(plan)
    again = resume(plan.record, settings=(("mode", "safe"),))
    assert again.settings == (("mid_ratio", "0.5"), ("mode", "safe"))


def test_another_policy_goes_on_without_the_settings_of_the_first(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, *reads(1), "Done.")  # type: ignore[arg-type]
    plan = planned(limits=RunLimits(max_turns=1), settings=(("mid_ratio", "0.5"),))
    finished(plan)
    assert resume(plan.record, policy="pi").settings == ()
    assert resume(plan.record, policy="roku").settings == plan.settings
    heard, _ = finished(resume(plan.record, policy="pi", limits=QUICK))
    assert heard.all[-1].end == "done"


def test_what_no_provider_takes_is_said_and_mended_when_it_goes_on(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """learn-claude-code keeps the newest five messages, in faithful mode without the call of the first result."""
    script(monkeypatch, *[[call("read_file", path="big.txt")] for _ in range(4)], "Done.")
    eager = (
        ("window", "model"),
        ("min_savings", "10"),
        ("overhead", "10"),
        ("max_output_reserve", "1000"),
    )
    plan = planned(policy="learn-claude-code", window=8_000, settings=eager)
    heard, _ = finished(plan)
    assert heard.all[-1].end == "error"
    assert "mode=safe" in heard.all[-1].error
    heard, session = finished(resume(plan.record, settings=(("mode", "safe"),)))
    assert heard.all[-1].end == "done"
    check(session)
