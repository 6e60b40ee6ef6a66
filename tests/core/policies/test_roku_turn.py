"""Roku's turn: L4, the breaker, the history, cache breaks, truncated answers and the tool budget."""

from dataclasses import replace

import pytest

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Failure,
    Need,
    ProviderFailure,
    RemoteCompact,
    RunTools,
    Summarize,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.messages import (
    join_summaries,
    make_boundary,
    split_records,
    write_mechanical_summary,
)
from inspector.core.policies.roku.settings import (
    Breaker,
    Detector,
    RokuSettings,
    RokuState,
    StepRecord,
    raw_tokens,
)
from inspector.core.policies.turn import TurnContext, TurnResult
from inspector.core.policies.verdict import PolicyInput
from inspector.core.usage import Usage
from tests.core.policies.build import Script, assistant, build, plain, result, texts

W1000 = RokuSettings(context_window_tokens=1000)
OK4 = "Goal: g\nAccomplished: a\nKey Decisions: k\nRelevant Files: r"
FAIL = ProviderFailure("down", 500)
CWE = ContextWindowExceeded("prompt is too long")
DONE = Answer(messages=(assistant("done"),), usage=Usage(input=10, output=2), finish="end_turn")


class World:
    """Answers the model from one list, summaries from another, tools by echo; counts each kind."""

    def __init__(
        self, model: list[Answer | Failure], *summaries: str | Answer | Failure, tools: str = "out"
    ) -> None:
        self.model, self.summaries, self.tools = list(model), Script(*summaries), tools
        self.asked: list[AskModel] = []

    def __call__(self, need: Need) -> Answer:
        match need:
            case AskModel():
                self.asked.append(need)
                reply = self.model.pop(0)
                if isinstance(reply, Failure):
                    raise reply
                return reply
            case RunTools(calls):
                return Answer(messages=tuple(result(call.id, self.tools) for call in calls))
            case _:
                return self.summaries(need)


def play(
    start: Buffer,
    world: World,
    settings: RokuSettings = W1000,
    running: RokuState | None = None,
    moment: PolicyInput | None = None,
) -> TurnResult[RokuState]:
    context = PolicyContext(start, settings, running or RokuState(), moment or PolicyInput(1))
    return drive(POLICY.turn(TurnContext(context)), world)


def names(done: TurnResult[RokuState]) -> list[str]:
    return [event.name for event in done.events]


# --- L4


def test_l4_when_the_model_refuses_once_compacts_and_asks_again() -> None:
    world = World([CWE, DONE], OK4)
    done = play(plain(10, "hi"), world, RokuSettings())
    assert names(done)[:3] == [
        "ReactiveCompactTriggered",
        "AutoCompactSummarizerCalled",
        "CompactComplete",
    ]
    assert "MidCompactLayer1Ran" not in names(done)
    assert len(world.asked) == 2
    assert not done.error


def test_l4_when_the_model_refuses_twice_fails() -> None:
    world = World([CWE, CWE], OK4, OK4)
    done = play(plain(10, "hi"), world)
    assert (len(world.asked), names(done).count("ReactiveCompactTriggered")) == (2, 1)
    assert done.error


def test_l4_when_another_error_follows_fails() -> None:
    world = World([CWE, FAIL], OK4)
    done = play(plain(10, "hi"), world)
    assert done.error == "down"
    assert names(done).count("CompactComplete") == 1


def test_l4_when_nothing_can_be_removed_asks_again() -> None:
    world = World([CWE, DONE])
    done = play(plain(2, "hi"), world)
    assert len(world.asked) == 2
    assert done.running.breaker == Breaker()
    assert not done.error


def test_l4_when_it_retries_skips_the_mid_tier_and_runs_l0() -> None:
    start = build(8, "x" * 2000)
    settings = POLICY.settings([("microcompact_retain_recent", "3")], 1200)
    done = play(start, World([CWE, DONE], OK4, OK4, OK4), settings)
    tiers = [outcome.tier for outcome in done.outcomes]
    assert tiers[: tiers.index("L4")] == ["L0", "L1"]
    assert tiers[tiers.index("L4") + 1] == "L0"
    assert "L1" not in tiers[tiers.index("L4") :]


def test_l4_when_the_breaker_is_open_makes_a_digest() -> None:
    world = World([CWE, DONE])
    done = play(plain(10), world, RokuSettings(), RokuState(breaker=Breaker(3, True)))
    assert done.buffer.messages[1].text.startswith("[5 messages compacted]\n")
    assert not world.summaries.needs
    assert names(done)[:2] == ["ReactiveCompactTriggered", "CompactComplete"]


def test_turn_when_the_model_fails_otherwise_compacts_nothing() -> None:
    world = World([FAIL])
    done = play(plain(10, "hi"), world)
    assert (done.error, len(world.asked), names(done)) == ("down", 1, [])


# --- the breaker


def compactions(
    *replies: object, running: RokuState | None = None, remote: bool = False
) -> tuple[RokuState, list[str]]:
    running, seen = running or RokuState(), list[str]()
    for reply in replies:
        start = plain(2, "hi") if reply is None else plain(10)
        outcome = drive(
            POLICY.tier("L3", PolicyContext(start, W1000, running, PolicyInput(1, remote=remote))),
            Script(reply),  # type: ignore[arg-type]
        )
        running = outcome.running
        seen += [event.name for event in outcome.events]
    return running, seen


def test_breaker_when_a_compaction_succeeds_resets() -> None:
    running, seen = compactions(FAIL, FAIL, OK4, FAIL, FAIL)
    assert running.breaker == Breaker(2, False)
    assert "AutoCompactCircuitBreakerTripped" not in seen


def test_breaker_when_three_compactions_fail_opens_and_stays() -> None:
    running, seen = compactions(FAIL, FAIL, FAIL)
    assert running.breaker.open
    assert seen[-4:] == [
        "CompactTriggered",
        "AutoCompactSummarizerCalled",
        "AutoCompactCircuitBreakerTripped",
        "CompactComplete",
    ]
    script = Script(OK4)
    outcome = drive(
        POLICY.tier("L3", PolicyContext(plain(10), W1000, running, PolicyInput(1))), script
    )
    assert [event.name for event in outcome.events] == ["CompactTriggered", "CompactComplete"]
    assert outcome.events[-1].fields["llm_succeeded"] is False
    assert outcome.buffer.messages[1].text.startswith("[5 messages compacted]\n")
    assert not script.needs


def test_breaker_when_nothing_can_be_removed_does_not_count() -> None:
    running, _ = compactions(FAIL, None, FAIL)
    assert running.breaker == Breaker(2, False)
    assert compactions(FAIL, running=running)[0].breaker.open


def test_breaker_when_failures_differ_counts_them_together() -> None:
    running, _ = compactions(FAIL, remote=True)
    reacted = drive(
        POLICY.tier("L4", PolicyContext(plain(10), W1000, running, PolicyInput(1, overflow="x"))),
        Script(FAIL),
    )
    running, _ = compactions("no headers at all", running=reacted.running)
    assert running.breaker.open


def test_breaker_when_turns_go_well_recovers_only_if_set() -> None:
    opened = RokuState(breaker=Breaker(3, True))
    running = opened
    for _ in range(50):
        running = play(plain(2, "hi"), World([DONE]), running=running).running
    assert running.breaker.open
    settings = POLICY.settings([("breaker_recovery_after", "3")])
    for expected in (True, True, False):
        opened = play(plain(2, "hi"), World([DONE]), settings, opened).running
        assert opened.breaker.open is expected


def test_breaker_when_a_session_begins_is_closed() -> None:
    assert POLICY.fresh(RokuSettings()).breaker == Breaker(0, False)


def test_breaker_when_the_history_summary_fails_does_not_count() -> None:
    running = RokuState(history=tuple(StepRecord(i) for i in range(12)))
    outcome = drive(
        POLICY.tier("L3", PolicyContext(plain(10), W1000, running, PolicyInput(1))),
        Script(OK4, FAIL),
    )
    assert outcome.running.breaker == Breaker()
    assert outcome.running.working_summary.startswith("[Compact summary — 4 steps discarded]")


# --- history


def test_history_when_summarised_mechanically_has_a_line_a_step() -> None:
    removed = [
        StepRecord(1, "Read", "look at file", "tool", True, "done"),
        StepRecord(2, None, "r"),
    ]
    assert write_mechanical_summary(removed) == (
        "[Compact summary — 2 steps discarded]\n"
        "Step 1: Read — look at file — ok: done\n"
        "Step 2: unknown — r — no observation"
    )


@pytest.mark.parametrize(
    ("new", "old", "limit", "unit", "expected"),
    [
        pytest.param("new", "abc", 4000, "chars", "new\n\nabc", id="joined"),
        pytest.param("new", "abc", 7, "chars", "new\n\nab", id="joined and cut"),
        pytest.param("n" * 30, "OLD", 20, "chars", "n" * 20, id="longer than the limit"),
        pytest.param("中" * 10, "", 10, "chars", "中" * 10, id="Chinese by characters"),
        pytest.param("中" * 10, "", 10, "bytes", "中" * 3, id="Chinese by bytes"),
    ],
)
def test_working_summary(new: str, old: str, limit: int, unit: str, expected: str) -> None:
    settings = POLICY.settings([("working_summary_max_chars", str(limit)), ("unit", unit)])
    assert join_summaries(new, old, settings) == expected


@pytest.mark.parametrize("reply", ["  ", FAIL], ids=["blank", "raises"])
def test_history_when_the_model_fails_is_summarised_mechanically(reply: object) -> None:
    running = RokuState(history=tuple(StepRecord(i) for i in range(9)))
    outcome = drive(
        POLICY.tier("L3", PolicyContext(plain(10), W1000, running, PolicyInput(1))),
        Script(OK4, reply),  # type: ignore[arg-type]
    )
    assert outcome.running.working_summary.startswith("[Compact summary — 1 steps discarded]")


def test_history_by_the_model_and_after_remote_only_when_set() -> None:
    running = RokuState(history=tuple(StepRecord(i) for i in range(9)))
    outcome = drive(
        POLICY.tier("L3", PolicyContext(plain(10), W1000, running, PolicyInput(1))),
        Script(OK4, "by model"),
    )
    assert outcome.running.working_summary == "by model"
    assert outcome.running.history[0].kind == "boundary"
    remote = Answer(messages=(assistant("sum"),))
    settings = POLICY.settings([("history_after_remote", "llm")], 1000)
    script = Script(remote, "by model")
    outcome = drive(
        POLICY.tier("L3", PolicyContext(plain(10), settings, running, PolicyInput(1, remote=True))),
        script,
    )
    assert [type(need) for need in script.needs] == [RemoteCompact, Summarize]


def test_history_when_it_begins_with_a_boundary_counts_it_only_in_faithful_mode() -> None:
    records = (make_boundary(0, [StepRecord(0)], "t"), *(StepRecord(i) for i in range(8)))
    removed, kept = split_records(records, RokuSettings())
    assert (len(removed), len(kept)) == (1, 8)
    assert split_records(records, RokuSettings(mode="safe")) == ((), records)


# --- cache breaks


def detector(baseline: int) -> Detector:
    prompt = Prompt("s", (Tool("t", {"a": 1}),))
    return replace(
        Detector().record_prompt_state(prompt, "m").record_prompt_state(prompt, "m"),
        baseline=baseline,
    )


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        pytest.param(50_000, 47_500, None, id="exactly 5%"),
        pytest.param(3_000, 1_500, None, id="below 2,000 tokens"),
        pytest.param(50_000, 47_499, 2_501, id="just over 5%"),
        pytest.param(50_000, 60_000, None, id="no drop"),
    ],
)
def test_cache_break(before: int, now: int, lost: int | None) -> None:
    after, found = detector(before).check_response(now)
    assert after.baseline == now
    assert (found.tokens_lost if found else None) == lost


def test_cache_detector_when_a_compaction_is_announced_skips_one_answer() -> None:
    state = detector(50_000).notify_compaction()
    seen = []
    for cache_read in (0, 40_000, 10_000):
        state, found = state.check_response(cache_read)
        seen.append(found.tokens_lost if found else None)
    assert seen == [None, None, 30_000]


def test_cache_break_when_tools_and_model_change_names_both() -> None:
    changed = detector(50_000).record_prompt_state(Prompt("s", (Tool("t", {"a": 2}),)), "n")
    _, found = changed.check_response(10_000)
    assert found is not None
    assert found.changed == ("tool_schema", "model(m -> n)")
    _, found = detector(50_000).check_response(10_000)
    assert found is not None
    assert found.changed == ("unknown",)


def test_cache_break_event_in_a_turn() -> None:
    first = Answer(messages=(assistant("a"),), usage=Usage(cache_read=50_000))
    second = Answer(messages=(assistant("b"),), usage=Usage(cache_read=1_000))
    one = play(plain(2, "hi"), World([first]))
    two = play(plain(2, "hi"), World([second], "/tmp/x.txt"), running=one.running)
    event = next(event for event in two.events if event.name == "CacheBreakDetected")
    assert (event.fields["tokens_lost"], event.fields["component_changed"]) == (49_000, "unknown")


# --- output slot, budget

CUT = Answer(messages=(assistant("cut"),), usage=Usage(input=10), finish="max_tokens")
SLOT = PolicyInput(1, max_tokens=2048, output_ceiling=8192)


def test_answer_when_truncated_is_asked_for_once_more() -> None:
    world = World([CUT, DONE])
    done = play(plain(2, "hi"), world, moment=SLOT)
    assert [ask.max_tokens for ask in world.asked] == [2048, 8192]
    assert world.asked[1].stream is False
    assert texts(done.buffer.messages)[-1] == "done"
    event = next(event for event in done.events if event.name == "OutputSlotEscalated")
    assert (event.fields["initial_max_tokens"], event.fields["escalated_max_tokens"]) == (
        2048,
        8192,
    )
    assert names(done).count("EstimatorCalibrated") == 2


@pytest.mark.parametrize(
    ("moment", "replies", "told", "calls"),
    [
        pytest.param(
            replace(SLOT, output_cap=False),
            [CUT],
            "OutputSlotEscalationUnsupported",
            1,
            id="the provider sets no limit",
        ),
        pytest.param(
            replace(SLOT, output_ceiling=2048), [CUT], None, 1, id="already at the ceiling"
        ),
        pytest.param(SLOT, [CUT, FAIL], "OutputSlotEscalated", 2, id="the repeat fails"),
    ],
)
def test_output_slot_keeps_the_first(
    moment: PolicyInput, replies: list[Answer], told: str | None, calls: int
) -> None:
    world = World(list(replies))
    done = play(plain(2, "hi"), world, moment=moment)
    assert texts(done.buffer.messages)[-1] == "cut"
    assert len(world.asked) == calls
    assert [name for name in names(done) if name.startswith("OutputSlot")] == (
        [told] if told else []
    )


def test_answer_when_the_repeat_is_truncated_is_kept() -> None:
    again = Answer(messages=(assistant("cut again"),), finish="length")
    world = World([CUT, again])
    done = play(plain(2, "hi"), world, moment=SLOT)
    assert (len(world.asked), texts(done.buffer.messages)[-1]) == (2, "cut again")


@pytest.mark.parametrize(("size", "exceeded"), [(800_000, False), (800_001, True)])
def test_tool_budget_when_exceeded_is_only_reported(size: int, exceeded: bool) -> None:
    call = Answer(messages=(assistant("", ("c", "Read", {})),), usage=Usage(input=1))
    done = play(
        plain(2, "hi"),
        World([call], tools="x" * size),
        RokuSettings(context_window_tokens=2_000_000),
    )
    event = next(event for event in done.events if event.name == "ToolBudgetCheck")
    assert event.fields["exceeded"] is exceeded
    assert done.buffer.messages[-1].result is not None


def test_tool_budget_when_no_tool_ran_is_not_checked() -> None:
    assert "ToolBudgetCheck" not in names(play(plain(2, "hi"), World([DONE])))


# --- order and placement


def test_calibration_event_when_no_usage_is_reported_is_sent() -> None:
    done = play(plain(2, "hi"), World([Answer(messages=(assistant("x"),))]))
    event = next(event for event in done.events if event.name == "EstimatorCalibrated")
    assert (event.fields["prompt_tokens"], event.fields["scale"]) == (0, 1.0)


@pytest.mark.parametrize(("placement", "first"), [("end_of_turn", "L1"), ("preflight", "L1")])
def test_placement(placement: str, first: str) -> None:
    settings = POLICY.settings([("placement", placement)], 1000)
    world = World([DONE], OK4, OK4)
    done = play(plain(14), world, settings)
    tiers = [outcome.tier for outcome in done.outcomes]
    assert tiers[:2] == ["L0", first]
    if placement == "preflight":
        assert "L3b" in tiers
        assert done.events[-1].name == "EstimatorCalibrated"


def test_l0_gate() -> None:
    settings = POLICY.settings([("l0_gate", "cache_ttl")])
    for idle, ran in ((None, False), (300.0, False), (301.0, True)):
        done = play(
            build(4, "x" * 400), World([DONE]), settings, moment=PolicyInput(1, idle_s=idle)
        )
        assert ("MicrocompactRan" in names(done)) is ran


def test_state_round_trip() -> None:
    running, _ = compactions(FAIL, FAIL)
    running = POLICY.learn(running, W1000, 1000, 1100)
    running = replace(
        running,
        history=(StepRecord(1, "Read", "r", "tool"),),
        working_summary="w",
        detector=detector(5),
    )
    assert POLICY.load(W1000, POLICY.dump(running)) == running


@pytest.mark.parametrize(
    ("placement", "ratio"), [("end_of_turn", "0.60"), ("preflight", "0.60"), ("preflight", "0.75")]
)
def test_exactly_at_a_watermark_a_turn_does_nothing(placement: str, ratio: str) -> None:
    """What a verdict says, a tier run when it is due and a turn do alike, at the watermark and one token above it."""
    start = plain(10)
    size = raw_tokens(start)
    name = "mid_water_trigger_ratio" if ratio == "0.60" else "compact_threshold_ratio"
    others = (
        ("mid_water_trigger_ratio", "0.99")
        if ratio == "0.75"
        else ("compact_threshold_ratio", "0.99")
    )
    for over in (False, True):
        window = 2 * (size - over)
        settings = POLICY.settings([(name, "0.5"), others, ("placement", placement)], window)
        assert size - settings.mid_line.tokens == over or size - settings.high_line.tokens == over
        done = play(start, World([DONE], OK4), settings)
        fired = {outcome.tier for outcome in done.outcomes if outcome.changed}
        due = {
            one.tier
            for one in POLICY.due(PolicyContext(start, settings, RokuState(), PolicyInput(1)))
            if one.due
        }
        run = drive(
            POLICY.run_due(PolicyContext(start, settings, RokuState(), PolicyInput(1))), Script(OK4)
        )
        wanted = ({"L1"} if ratio == "0.60" else {"L3b"}) if over else set()
        assert (fired, due, {one.tier for one in run if one.changed}) == (wanted, wanted, wanted)
