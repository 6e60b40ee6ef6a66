"""What every tier would do: verdicts, previews, what it costs, where it would have fired. Nothing changes."""

from dataclasses import replace
from decimal import Decimal

import pytest

from inspector.core.buffer import EMPTY_VIEW, Buffer
from inspector.core.needs import Summarize
from inspector.core.outcome import Outcome
from inspector.core.policies.place import moment_at
from inspector.core.replay.summary_calls import NO_CALLS, PricedCalls, SummaryCall
from inspector.core.session import Request, Thread
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage
from inspector.workbench.pressure.gauge import reading
from inspector.workbench.pressure.scale import firings, gauge_lines, value_for, watermarks
from inspector.workbench.pressure.timeline import step_effects
from inspector.workbench.previews import Preview, Previews, payback
from inspector.workbench.steps import Step
from inspector.workbench.workbench import Workbench
from tests.gui.made import session


@pytest.fixture
def bench() -> Workbench:
    made = Workbench()
    made.open(session())
    made.move(10)
    return made


def test_nothing_is_foreseen_before_somebody_looks(bench: Workbench) -> None:
    assert bench.state.previews is None
    assert bench.state.preview is None


def test_every_tier_has_a_verdict_and_a_preview(bench: Workbench) -> None:
    before = bench.state.buffer()
    bench.previews.look()
    previews = bench.state.previews
    assert previews is not None
    names = [tier.name for tier in previews.policy.tiers]
    assert [verdict.tier for verdict in previews.verdicts] == names
    assert list(previews.by_tier) == names
    assert previews.missing == ()
    assert bench.state.steps is None
    assert bench.state.buffer() == before


def test_the_preview_is_of_the_tier_that_would_fire_until_another_is_pointed_at(
    bench: Workbench,
) -> None:
    bench.previews.look()
    assert bench.state.previews is not None
    assert bench.state.previews.next == "L0"
    assert bench.state.preview is not None
    assert bench.state.preview.tier == "L0"
    bench.previews.point("L1")
    assert bench.state.preview is not None
    assert bench.state.preview.tier == "L1"
    bench.previews.point("")
    assert bench.state.preview is None


def test_preview_when_nothing_is_due_is_of_the_tier_that_frees_most() -> None:
    bench = Workbench()
    bench.open(session())
    bench.move(10)
    bench.stepping.set("microcompact_retain_recent", "50")
    bench.stepping.set("context_window_tokens", "1000000")
    bench.previews.look()
    previews = bench.state.previews
    assert previews is not None
    assert previews.next == ""
    most = max(previews.by_tier.values(), key=lambda preview: preview.freed)
    assert most.freed > 0
    assert previews.suggested == most.tier
    assert bench.state.preview is most


def test_preview_while_some_are_missing_is_of_a_due_tier_or_of_none(bench: Workbench) -> None:
    bench.previews.look()
    previews = bench.state.previews
    assert previews is not None
    begun = replace(previews, by_tier={})
    assert begun.suggested == previews.next == "L0"
    assert replace(begun, verdicts=()).suggested == "", (
        "it would jump from tier to tier as they are worked out"
    )


def previewed(bench: Workbench) -> str:
    """The tier whose preview is shown; empty for none."""
    bench.previews.look()
    preview = bench.state.preview
    return preview.tier if preview is not None else ""


def test_preview_after_a_step_gives_way_to_the_step_and_comes_back_after_undo(
    bench: Workbench,
) -> None:
    bench.previews.point("L1")
    bench.stepping.step("L1")
    assert previewed(bench) == ""
    bench.previews.point("L0")
    assert previewed(bench) == "L0"
    bench.stepping.undo()
    assert previewed(bench) == "L0"
    bench.previews.point("L1")
    bench.stepping.redo()
    assert previewed(bench) == "", (
        "the step that one goes to is shown, not a preview that was selected before"
    )


def test_previews_hold_for_their_place_alone_and_are_known_again(bench: Workbench) -> None:
    bench.previews.look()
    known = bench.state.previews
    bench.previous()
    assert bench.state.previews is None
    bench.next()
    assert bench.state.previews is known


def test_another_setting_has_other_previews(bench: Workbench) -> None:
    bench.previews.look()
    first = bench.state.previews
    bench.stepping.set("microcompact_retain_recent", "1")
    assert bench.state.previews is None
    bench.previews.look()
    second = bench.state.previews
    assert touched(second) > touched(first)
    bench.stepping.set("microcompact_retain_recent", None)
    assert bench.state.previews is first


def touched(previews: Previews | None) -> int:
    assert previews is not None
    return previews.by_tier["L0"].touched


def test_after_a_step_its_own_diff_counts(bench: Workbench) -> None:
    bench.previews.look()
    bench.stepping.step("L0")
    bench.previews.look()
    assert bench.state.previews is not None
    assert bench.state.preview is None


def test_a_preview_tells_what_the_step_then_does(bench: Workbench) -> None:
    bench.previews.look()
    assert bench.state.previews is not None
    for tier, foreseen in bench.state.previews.by_tier.items():
        bench.stepping.step(tier)
        step = taken(bench)
        assert foreseen.outcome is not None
        assert step.buffer.messages == foreseen.outcome.buffer.messages
        bench.stepping.undo()


def taken(bench: Workbench) -> Step:
    steps = bench.state.steps
    assert steps is not None
    assert steps.step is not None
    return steps.step


# -- what it costs -------------------------------------------------------------------------------------------------


def made(
    freed: int, rewritten: int, calls: PricedCalls = NO_CALLS, model: str = "claude-opus-4-5"
) -> Preview:
    outcome: Outcome[object] = Outcome("L0", Buffer(()), None)
    return Preview("L0", freed, 4, calls, 3, rewritten, None, outcome, model=model)


def test_a_step_pays_after_so_many_requests() -> None:
    # claude-opus-4-5: 0.50 a million read from the cache, 6.25 written to it
    back = payback(made(30_000, 60_000))
    assert back.once == Decimal("0.345")  # 60,000 x (6.25 - 0.50) / 1e6
    assert back.saved == Decimal("0.015")
    assert (back.verdict, back.requests) == ("pays", 23)


def test_what_is_written_for_an_hour_pays_later() -> None:
    # claude-opus-4-5: 10 a million written for an hour
    back = payback(replace(made(30_000, 60_000), cache_ttl_s=HOUR_S))
    assert back.once == Decimal("0.57")  # 60,000 x (10 - 0.50) / 1e6
    assert back.requests == 38


def test_the_session_says_for_how_long_it_writes() -> None:
    def call(n: int, usage: Usage | None) -> Request:
        return Request(n, EMPTY_VIEW, usage=usage)

    hourly, short, read = (
        Usage(cache_write=9, cache_write_1h=9),
        Usage(cache_write=9),
        Usage(cache_read=9),
    )
    thread = Thread(
        "main", requests=[call(n, one) for n, one in enumerate((short, hourly, read, None, short))]
    )
    assert [moment_at(thread, n).cache_ttl_s for n in range(6)] == [
        FIVE_MINUTES_S,
        FIVE_MINUTES_S,
        HOUR_S,
        HOUR_S,
        HOUR_S,
        FIVE_MINUTES_S,
    ]


def test_a_call_is_part_of_the_cost() -> None:
    calls = PricedCalls(SummaryCall(Usage(9, 9, 0, 9), 99), Decimal("0.15"), Decimal("0.9"))
    assert payback(made(30_000, 60_000, calls)).requests == 33, (
        "by what is expected, not by the upper bound"
    )


def test_what_frees_nothing_never_pays() -> None:
    assert payback(made(0, 60_000)).verdict == "never"


@pytest.mark.parametrize("model", ["", "no-such-model-3"])
def test_no_price_is_no_guess(model: str) -> None:
    back = payback(made(30_000, 60_000, model=model))
    assert (back.verdict, back.once, back.requests) == ("unknown", None, None)


# -- watermarks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "value"), [(100_000, "0.500"), (127_400, "0.637"), (1, "0.001"), (199_999, "0.999")]
)
def test_a_line_is_moved_by_its_setting(bench: Workbench, tokens: int, value: str) -> None:
    low = gauge_lines(bench.state)[0]
    assert low.watermark.setting == "mid_water_trigger_ratio"
    assert value_for(bench.state, low, tokens) == value
    bench.stepping.set("mid_water_trigger_ratio", value)
    line = next(
        line for line in watermarks(bench.state) if line.setting == "mid_water_trigger_ratio"
    )
    assert abs(line.tokens - tokens) <= 200


def test_what_moves_no_line_has_no_value(bench: Workbench) -> None:
    low = gauge_lines(bench.state)[0]
    for setting in ("compact_llm_timeout", "no_such_setting"):
        line = replace(low, watermark=replace(low.watermark, setting=setting))
        assert value_for(bench.state, line, 100_000) is None


def test_where_each_line_would_have_fired(bench: Workbench) -> None:
    assert bench.state.believed is not None
    calibrated = bench.state.believed.tokens
    bench.stepping.set("mid_water_trigger_ratio", f"{sorted(calibrated)[6] / 200_000:.3f}")
    low, high = firings(bench.state)
    above = [n for n, tokens in enumerate(calibrated) if tokens > low.line.tokens]
    assert above
    assert low.count == len(above)
    assert [n for first, last in low.runs for n in range(first, last + 1)] == above
    assert high.count == sum(tokens > high.line.tokens for tokens in calibrated)


# -- following the steps -------------------------------------------------------------------------------------------


def test_after_a_step_the_pressure_is_predicted(bench: Workbench) -> None:
    assert reading(bench.state).pressure.kind == "reported"  # type: ignore[union-attr]
    bench.previews.look()
    assert bench.state.previews is not None
    assert bench.state.request is not None
    assert bench.state.request.usage is not None
    before = bench.state.request.usage.prompt
    bench.stepping.step("L0")
    now = reading(bench.state)
    assert now is not None
    assert now.pressure.kind == "predicted"
    assert now.before == before
    assert now.unseen + sum(tokens for _, tokens in now.parts) == now.pressure.tokens
    assert now.pressure.tokens is not None
    assert now.pressure.tokens < before


def test_an_effect_for_every_step_of_the_path(bench: Workbench) -> None:
    bench.stepping.step("L0")
    bench.stepping.step("L1")
    first, second = step_effects(bench.state)
    assert (first.at, first.name, second.name) == (10, "L0", "L1")
    assert first.before > first.after == second.before
    bench.stepping.undo()
    assert step_effects(bench.state) == (first,)
    bench.move(3)
    assert step_effects(bench.state) == (first,)
    bench.stepping.forget()
    bench.move(10)
    bench.stepping.forget()
    assert step_effects(bench.state) == ()


# -- a whole turn --------------------------------------------------------------------------------------------------


def test_a_turn_brings_what_the_recorded_call_brought(bench: Workbench) -> None:
    bench.move(5)
    bench.stepping.step_turn()
    step = taken(bench)
    assert [outcome.tier for outcome in step.outcomes] == ["L0", "call"]
    assert [message.id for message in step.buffer.messages[-2:]] == ["main-a5", "main-r5"]
    assert bench.state.steps is not None
    inserted = [fate.id for fate in bench.state.steps.fates() if fate.name == "inserted"]
    assert inserted == ["main-a5", "main-r5"]


def test_the_turn_after_the_last_record_has_no_call(bench: Workbench) -> None:
    bench.move(None)
    recorded = bench.state.recorded()
    bench.stepping.step_turn()
    assert len(taken(bench).buffer.messages) == len(recorded.messages)


# -- a tier on its way ---------------------------------------------------------------------------------------------


def test_a_step_lands_where_it_started(bench: Workbench) -> None:
    bench.stepping.choose(answer_by="hand")
    bench.stepping.step("L3b")
    asking = bench.state.asking
    assert asking is not None
    assert isinstance(asking.need, Summarize)
    bench.move(3)
    bench.stepping.send(asking.need, "offline")
    while bench.state.asking is not None:
        bench.stepping.send(bench.state.asking.need, "offline")
    assert bench.state.steps is None
    bench.move(10)
    assert taken(bench).fired


def test_another_session_ends_what_is_on_its_way(bench: Workbench) -> None:
    bench.stepping.choose(answer_by="hand")
    bench.stepping.step("L3b")
    bench.open(session(path="other.jsonl"))
    assert bench.state.asking is None
    bench.stepping.answer(RuntimeError())  # type: ignore[arg-type]  # nobody is there to hear it
    assert not bench.state.trees
