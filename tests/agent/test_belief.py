"""A run and the window count alike: what the run says of its policy's count is what the gauge says of its journal."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspector.agent.plan import RunLimits
from inspector.agent.starting import demo_plan
from inspector.agent.status import Breakpoints
from inspector.core.policies.catalogue import POLICIES
from inspector.transcripts.files import open_transcript
from inspector.workbench.live import RunView
from inspector.workbench.pressure.gauge import GaugeReading, reading
from inspector.workbench.workbench import Workbench
from tests.agent.running import running


def read(bench: Workbench, at: int | None) -> GaugeReading:
    bench.move(at)
    now = reading(bench.state)
    assert now is not None
    return now


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_gauge_of_a_journal_shows_the_count_that_the_run_showed(
    policy: str, tmp_path: Path
) -> None:
    limits = RunLimits(max_turns=16)
    plan = replace(
        demo_plan(tmp_path / "demo", pace_s=0.0), policy=policy, limits=limits, needs_by="offline"
    )
    if policy != "roku":
        plan = replace(plan, settings=())
    with running(plan) as (runner, heard):
        runner.start()
        assert runner.wait(120)
        standing = runner.status
    bench = Workbench()
    bench.show_run(RunView(standing, Breakpoints(), plan))
    bench.open(open_transcript(plan.record))
    main = [report for report in heard.reports if report.thread == "main" and not report.error]
    assert bench.state.session is not None
    answered = [
        request.index for request in bench.state.session.main.requests if request.usage is not None
    ]
    assert main
    # A request that was refused has a place of its own.
    for report, at in zip(main, answered, strict=True):
        now = read(bench, at)
        assert (now.pressure.tokens, now.believed) == (report.tokens, report.calibrated), (
            report.turn
        )
    end = read(bench, None)
    assert (end.pressure.tokens, end.believed) == (standing.tokens, standing.believed)
