"""The live demo: every tier fires by its own condition, and the fault is really repaired."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.agent.plan import RunLimits
from inspector.agent.runner import Runner
from inspector.agent.starting import copy_sample, demo_folder, demo_plan, fork, resume
from inspector.agent.status import RunStatus, TurnReport
from inspector.core.errors import InspectorError
from inspector.core.tokens.windows import find_window
from inspector.simulated.demo import SIDE_STEPS
from inspector.transcripts.files import open_transcript

TIERS = {"L0", "L1", "L2", "L3a", "L3b", "L4"}
WAIT_S = 240.0


def _tests_pass(workspace: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "unittest"],
        cwd=workspace,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode == 0


def _played(runner: Runner) -> RunStatus:
    runner.start()
    try:
        assert runner.wait(WAIT_S), "the demo does not end"
        return runner.status
    finally:
        runner.close()


def test_every_tier_fires_and_the_fault_is_repaired(tmp_path: Path) -> None:
    """In one run, without anybody's help; the journal opens as a transcript that holds all of it."""
    plan = demo_plan(tmp_path / "demo", "always", pace_s=0.0)
    assert not _tests_pass(plan.workspace), "the sample's test fails for a reason"
    reports: dict[int, TurnReport] = {}

    def tell(standing: RunStatus) -> None:
        if standing.report is not None:
            reports[standing.report.number] = standing.report

    standing = _played(Runner(plan, tell))
    assert (standing.end, standing.error) == ("done", "")
    assert {tier for report in reports.values() for tier in report.fired} == TIERS
    assert _tests_pass(plan.workspace)
    assert "The tests pass" in reports[max(reports)].text
    session = open_transcript(str(plan.record))
    main, side = session.threads
    assert not session.problems
    assert len(side.requests) == len(SIDE_STEPS) + 1
    assert "Only the pattern in readings.py does" in side.end.messages()[-1].text
    assert {one.trigger for one in main.compactions} >= TIERS
    assert len(main.requests) + len(side.requests) == len(reports) + 1, (
        "one was refused, and made again"
    )
    assert find_window(session, main).warnings == (), (
        "what a tier reckoned is no evidence of what was sent"
    )


def test_no_condition_is_met_by_a_hair(tmp_path: Path) -> None:
    """Another machine's tests print a few tokens more: the refused prompt, and the one after it, have room."""
    plan = demo_plan(tmp_path / "demo", "always", pace_s=0.0)
    assert plan.world is not None
    sizes, count = list[int](), plan.world.prompt_tokens
    plan.world.prompt_tokens = lambda call: sizes.append(count(call)) or sizes[-1]  # type: ignore[method-assign,func-returns-value]
    assert _played(Runner(plan, lambda standing: None)).end == "done"
    window = plan.world.window
    over = [size for size in sizes if size > window]
    assert len(over) == 1
    assert over[0] > 1.04 * window
    assert all(size < 0.96 * window for size in sizes if size <= window)


def test_the_demo_asks_where_it_is_told_to(tmp_path: Path) -> None:
    """For what writes and runs, and nothing else; who says no hears honestly that nothing was repaired."""
    plan = demo_plan(tmp_path / "demo", "ask", pace_s=0.0)
    asked: dict[str, str] = {}

    def tell(standing: RunStatus) -> None:
        if standing.asked is not None and standing.asked.id not in asked:
            asked[standing.asked.id] = standing.asked.call.name
            runner.permit(standing.asked.id, "no")

    runner = Runner(plan, tell)
    standing = _played(runner)
    assert standing.end == "done"
    assert sorted(asked.values()) == ["edit_file", "run_command", "run_command", "write_file"]
    assert standing.report is not None
    assert "cannot say that they pass" in standing.report.text
    assert not _tests_pass(plan.workspace)


def test_the_sample_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the user's own data, never over anything."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = demo_folder()
    assert folder.is_relative_to(tmp_path)
    assert not folder.exists()
    copy_sample(folder)
    assert (folder / "tidewatch" / "readings.py").stat().st_mode & 0o200
    assert not list(folder.rglob("__pycache__"))
    with pytest.raises(InspectorError, match="cannot be copied"):
        copy_sample(folder)


@pytest.mark.parametrize("turns", [2, 10, 12, 19])
def test_a_demo_that_was_ended_goes_on_as_the_same_demo(tmp_path: Path, turns: int) -> None:
    """Before its provider has compacted, after that, and after it has no way to compact any more."""
    plan = replace(
        demo_plan(tmp_path / "demo", "always", pace_s=0.0), limits=RunLimits(max_turns=turns)
    )
    assert _played(Runner(plan, lambda _: None)).end == "max turns"
    again = resume(plan.record, permissions="always")
    standing = _played(Runner(again, lambda _: None))
    assert (standing.end, standing.error) == ("done", "")
    session = open_transcript(str(plan.record))
    assert {one.trigger for one in session.main.compactions} >= TIERS
    assert _tests_pass(plan.workspace)


def test_a_fork_of_the_demo_comes_to_its_end(tmp_path: Path) -> None:
    plan = replace(
        demo_plan(tmp_path / "demo", "always", pace_s=0.0), limits=RunLimits(max_turns=8)
    )
    _played(Runner(plan, lambda _: None))
    session = open_transcript(str(plan.record))
    made = fork(session, session.main, 7, plan.workspace)
    more = {"record": tmp_path / "fork.jsonl", "start": made.start, "forked_from": made.forked_from}
    forked = replace(plan, task="", world=None, limits=RunLimits(), **more)  # type: ignore[arg-type]
    standing = _played(Runner(forked, lambda _: None))
    assert (standing.end, standing.error) == ("done", "")
