"""The count of the chosen policy where we stand: known without a look at the tiers, and the same after one."""

import pytest

from inspector.core.policies.catalogue import POLICIES
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.pressure.gauge import GaugeReading, reading
from inspector.workbench.workbench import Workbench


@pytest.fixture
def bench() -> Workbench:
    made = Workbench()
    made.open(open_transcript(resource("sample.jsonl")))
    return made


def read(bench: Workbench) -> GaugeReading:
    now = reading(bench.state)
    assert now is not None
    return now


@pytest.mark.parametrize("at", [60, None])
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_gauge_after_a_look_at_the_tiers_shows_the_same_count(
    bench: Workbench, policy: str, at: int | None
) -> None:
    bench.stepping.choose(policy=policy)
    bench.move(at)
    before = read(bench)
    assert before.believed is not None
    bench.previews.look()
    assert bench.state.previews is not None
    assert read(bench).believed == bench.state.previews.tokens == before.believed


@pytest.mark.parametrize(
    ("policy", "tier"), [("roku", "L0"), ("claude-code", "auto"), ("pi", "compact")]
)
def test_gauge_after_a_step_shows_the_count_before_anybody_looks_at_the_tiers(
    bench: Workbench, policy: str, tier: str
) -> None:
    bench.stepping.choose(policy=policy)
    bench.move(70)
    bench.stepping.step(tier)
    assert bench.state.stepped
    before = read(bench)
    assert before.believed is not None
    bench.previews.look()
    after = read(bench)
    assert (after.believed, after.lines) == (before.believed, before.lines)
