"""Pulse Coder: its trigger, summary, fallbacks and loop, and what its authors planned."""

from typing import Any

import pytest

from inspector.core.buffer import Buffer
from inspector.core.errors import Cancelled, InspectorError
from inspector.core.message import Image, Json, Message, Opaque, Text, Thinking, ToolCall
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Need,
    ProviderFailure,
    Summarize,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pulse import (
    POLICY,
    PREFIX,
    PulseSettings,
    PulseState,
    measure_messages,
)
from inspector.core.policies.pulse.turns import prune, split_by_turns, turn_starts
from inspector.core.policies.verdict import PolicyInput
from inspector.core.usage import Usage
from tests.core.policies.build import AgentLoop, Script, assistant, buffer, play_loop, result, user

ALWAYS = POLICY.settings([("COMPACT_TRIGGER", "0")])
FAIL = ProviderFailure("down")


def turns(n: int) -> list[Message]:
    return [one for i in range(1, n + 1) for one in (user(f"q{i}"), assistant(f"r{i}"))]


def tool_turns(n: int) -> list[Message]:
    """Turns, each with reasoning and a call, its result, and a text."""
    found: list[Message] = []
    for i in range(1, n + 1):
        call = (Thinking("hm"), ToolCall(f"c{i}", "ls", {}))
        found += [user(f"q{i}"), Message(f"call{i}", "assistant", call), result(f"c{i}", "out")]
        found.append(Message(f"text{i}", "assistant", (Thinking("so"), Text(f"r{i}"))))
    return found


def giants(first: int) -> list[Message]:
    """Seven user messages: x×first, then six `q`."""
    return [user("x" * first), *(user("q") for _ in range(6))]


def run(
    start: list[Message], *replies: object, force: bool = False, settings: PulseSettings = ALWAYS
) -> tuple[Outcome[PulseState], Script]:
    script = Script(*replies)  # type: ignore[arg-type]
    whole = buffer(*start)
    if force:
        return drive(
            POLICY.tier("compact", PolicyContext(whole, settings, PulseState())), script
        ), script
    return drive(POLICY.run_due(PolicyContext(whole, settings, PulseState())), script)[-1], script


def said(outcome: Outcome[PulseState]) -> list[tuple[str, str]]:
    return [(m.role, m.result.content if m.result else m.text) for m in outcome.buffer.messages]


def compacted(outcome: Outcome[PulseState]) -> bool:
    return any(event.name == "Compacted" for event in outcome.events)


def reason(outcome: Outcome[PulseState]) -> object:
    return outcome.events[0].fields.get("reason")


# --- trigger


@pytest.mark.parametrize(
    ("messages", "force", "fires"),
    [
        pytest.param(giants(191_962), False, False, id="below the trigger"),
        pytest.param(giants(191_963), False, True, id="on the trigger"),
        pytest.param([], False, False, id="no messages"),
        pytest.param([], True, False, id="no messages, forced"),
        pytest.param(turns(6), True, False, id="nothing older than the kept turns, forced"),
        pytest.param([assistant("a"), assistant("b")], True, False, id="no user turn, forced"),
        pytest.param([user("x" * 192_000)], False, False, id="one long turn"),
    ],
)
def test_trigger(messages: list[Message], force: bool, fires: bool) -> None:
    settings = POLICY.settings()
    outcome, script = run(messages, "SUM", force=force, settings=settings)
    assert compacted(outcome) is fires
    assert len(script.needs) == fires
    if not fires:
        assert outcome.buffer.messages == tuple(messages)
    if not force:
        verdict = POLICY.due(PolicyContext(buffer(*messages), settings, PulseState()))[0]
        assert verdict.due is fires
        assert verdict.limit == 48_000


def test_verdicts_say_why() -> None:
    def why(
        messages: list[Message],
        running: PulseState = PulseState(),  # noqa: B008
        moment: PolicyInput = PolicyInput(),  # noqa: B008
    ) -> str:
        context = PolicyContext(buffer(*messages), POLICY.settings(), running, moment)
        return POLICY.due(context)[0].why

    assert why(giants(191_962)) == "47,999 < 48,000 (75% of 64,000, its own): 1 to go"
    assert why(giants(191_967)) == "48,001 ≥ 48,000 (75% of 64,000, its own): 1 over"
    assert "nothing older than the 6 turns kept (there are 1)" in why([user("x" * 192_000)])
    assert "forced: the last call ended with length" in why(
        turns(7), moment=PolicyInput(finish="length")
    )
    many = giants(192_000)
    assert "all 2 attempts" in why(many, PulseState(2, many[-1].id))
    assert "attempts" not in why([*many, user("next")], PulseState(2, many[-1].id))


def test_the_newest_prompt_counts_the_attempts() -> None:
    start = turns(7)
    once = drive(
        POLICY.run_due(PolicyContext(buffer(*start), ALWAYS, PulseState(2, start[-2].id))),
        Script("SUM"),
    )
    assert not compacted(once[0])
    again = drive(
        POLICY.run_due(PolicyContext(buffer(*start), ALWAYS, PulseState(2, "another"))),
        Script("SUM"),
    )
    assert again[0].running == PulseState(1, start[-2].id)


# --- split, summary


def test_summary_when_seven_turns_exist_replaces_the_first() -> None:
    start = turns(7)
    whole = buffer(*start)
    script = Script("SUM")
    (outcome,) = drive(POLICY.run_due(PolicyContext(whole, ALWAYS, PulseState())), script)
    (need,) = script.needs
    assert isinstance(need, Summarize)
    assert need.messages == tuple(start[:2])
    assert all(a is b for a, b in zip(need.messages, start, strict=False))
    assert need.max_tokens == 1_200
    assert need.timeout_s is None
    assert len(outcome.buffer.messages) == 13
    assert said(outcome)[:2] == [("assistant", "[COMPACTED_CONTEXT]\nSUM"), ("user", "q2")]
    assert said(outcome)[-1] == ("assistant", "r7")
    assert (reason(outcome), outcome.error, outcome.succeeded) == (None, "", True)
    assert whole.messages == tuple(start)
    assert outcome.changed == {start[0].id: "summarised", start[1].id: "summarised"}


def test_summary_when_it_has_the_prefix_is_not_prefixed_again() -> None:
    outcome, _ = run(turns(8), "  [COMPACTED_CONTEXT] done ")
    assert said(outcome)[:2] == [("assistant", "[COMPACTED_CONTEXT] done"), ("user", "q3")]


@pytest.mark.parametrize("mode", ["faithful", "safe"])
def test_leading_system_message_when_compacted_stays_only_in_safe_mode(mode: str) -> None:
    system = Message("s", "system", (Text("S"),))
    settings = POLICY.settings([("COMPACT_TRIGGER", "0"), ("mode", mode)])
    outcome, script = run([system, *turns(7)], "SUM", settings=settings)
    need = script.needs[0]
    assert isinstance(need, Summarize)
    assert (system in need.messages) is (mode == "faithful")
    lead = [] if mode == "faithful" else [("system", "S")]
    assert said(outcome)[: len(lead) + 2] == [
        *lead,
        ("assistant", "[COMPACTED_CONTEXT]\nSUM"),
        ("user", "q2"),
    ]


def test_safe_keeps_the_system_message_in_a_fallback_too() -> None:
    system = Message("s", "system", (Text("S"),))
    settings = POLICY.settings([("COMPACT_TRIGGER", "0"), ("mode", "safe")])
    outcome, _ = run([system, *turns(7)], FAIL, settings=settings)
    assert said(outcome)[:2] == [("system", "S"), ("user", "q2")]


def test_old_part_when_a_call_precedes_the_first_turn_includes_its_result() -> None:
    start = [assistant("", ("c", "ls", {})), result("c", "out"), *turns(7)]
    outcome, script = run(start, "SUM")
    need = script.needs[0]
    assert isinstance(need, Summarize)
    assert need.messages == tuple(start[:4])
    assert said(outcome)[1] == ("user", "q2")


def test_recent_turns_when_compacted_keep_calls_and_results() -> None:
    start = tool_turns(7)
    outcome, _ = run(start, "SUM")
    assert outcome.buffer.messages[1:] == tuple(start[4:])


def test_summary_when_compacted_again_has_one_prefix() -> None:
    first, _ = run(turns(7), "ONE")
    second, script = run([*first.buffer.messages, *turns(1)], "TWO")
    need = script.needs[0]
    assert isinstance(need, Summarize)
    assert need.messages[0].text == "[COMPACTED_CONTEXT]\nONE"
    assert second.buffer.messages[0].text == "[COMPACTED_CONTEXT]\nTWO"
    assert second.events[0].fields["summaries"] == 1
    assert len({m.id for m in second.buffer.messages}) == len(second.buffer.messages)


def test_the_bare_prefix_is_blank_in_safe_mode_only() -> None:
    for mode, expected in (("faithful", None), ("safe", "fallback")):
        settings = POLICY.settings([("COMPACT_TRIGGER", "0"), ("mode", mode)])
        assert reason(run(turns(7), f" {PREFIX}\n", settings=settings)[0]) == expected


# --- fallbacks


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(FAIL, id="the model fails"),
        pytest.param("  \n ", id="a blank summary"),
        ContextWindowExceeded("no"),
    ],
)
def test_failed_summary(reply: object) -> None:
    start = turns(7)
    outcome, _ = run(start, reply)
    assert outcome.succeeded
    assert reason(outcome) == "fallback"
    assert outcome.buffer.messages == tuple(start[2:])
    assert len(outcome.buffer.messages) == 12


def test_fallback_when_the_model_fails_prunes_calls_and_reasoning() -> None:
    outcome, _ = run(tool_turns(7), FAIL)
    assert said(outcome) == [
        pair for i in range(2, 8) for pair in (("user", f"q{i}"), ("assistant", f"r{i}"))
    ]
    assert all(m.parts == (Text(m.text),) for m in outcome.buffer.messages)
    assert outcome.changed["text2"] == "cut"
    assert outcome.changed["call2"] == "dropped"


@pytest.mark.parametrize(
    ("summary", "expected", "after"),
    [
        pytest.param("y" * 127_941, None, 32_000, id="a summary as large as the target"),
        pytest.param("y" * 127_942, "summary-too-large", 8, id="a summary larger than the target"),
    ],
)
def test_target(summary: str, expected: str | None, after: int) -> None:
    outcome, _ = run(giants(191_966), summary, settings=POLICY.settings())
    assert reason(outcome) == expected
    assert outcome.events[0].fields["tokens_after"] == after
    if expected:
        assert said(outcome) == [("user", "q")] * 6


@pytest.mark.parametrize("pruned", [False, True])
def test_oversize_summary_when_pruning_is_off_keeps_calls(pruned: bool) -> None:
    settings = POLICY.settings([("COMPACT_TRIGGER", "0"), ("prune_on_oversize", str(pruned))])
    start = tool_turns(7)
    outcome, _ = run(start, "y" * 200_000, settings=settings)
    assert reason(outcome) == "summary-too-large"
    kept = outcome.buffer.messages
    assert kept == (prune(start[4:]) if pruned else tuple(start[4:]))
    assert any(m.calls for m in kept) is not pruned


def test_oversize_summary_when_the_recent_turns_exceed_the_target_keeps_them() -> None:
    start = [*turns(1), *(user("x" * 40_000) for _ in range(6))]
    outcome, _ = run(start, "SUM")
    assert reason(outcome) == "summary-too-large"
    assert outcome.buffer.messages == tuple(start[2:])
    assert measure_messages(outcome.buffer.messages, ALWAYS) > 32_000
    safe = POLICY.settings([("COMPACT_TRIGGER", "0"), ("mode", "safe")])
    outcome, _ = run(start, "SUM", settings=safe)
    assert len(outcome.buffer.messages) == 3  # the most that fits
    giant = [*start[:-1], user("x" * 200_000)]
    outcome, _ = run(giant, "SUM", settings=safe)
    assert outcome.buffer.messages == (giant[-1],)


def test_summary_when_the_user_cancels_has_no_fallback() -> None:
    def stop(need: Need) -> Answer:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        drive(POLICY.tier("compact", PolicyContext(buffer(*turns(7)), ALWAYS, PulseState())), stop)


def test_prune_touches_text_only_messages_not_at_all() -> None:
    plain = [
        user(""),
        assistant("a"),
        Message("i", "user", (Text("look"), Image("image/png", "AAAA"))),
    ]
    assert all(a is b for a, b in zip(prune(plain), plain, strict=True))
    opaque = Message(
        "o", "assistant", (Opaque("redacted_thinking", {}), Opaque("web_search_call", {}))
    )
    assert prune([opaque]) == ()


# --- turns


def test_without_a_user_message_nothing_is_taken_away() -> None:
    lone = [assistant("a")]
    assert split_by_turns(lone, 6) == ([], lone)


def test_turns_begin_with_what_the_user_said() -> None:
    """A user message between a call and its result, or travelling with results, begins no turn."""
    call = assistant("", ("a", "ls", {}), ("b", "ls", {}))
    start = [user("q"), call, result("a", "1"), user("warn"), result("b", "2"), user("next")]
    assert turn_starts(start) == [0, 5]
    travelling = Message("text", "user", (Text("reminder"),), together="w")
    with_it = Message("res", "tool", result("a", "1").parts, together="w")
    assert turn_starts([user("q"), assistant("", ("a", "ls", {})), with_it, travelling]) == [0]
    old, recent = split_by_turns(start, 1)
    assert (len(old), len(recent)) == (5, 1)


# --- the loop


class World:
    """The summariser answers SUM; the model what it was told to, in order."""

    def __init__(self, *answers: Answer | ContextWindowExceeded) -> None:
        self.answers = list(answers)
        self.asked: list[Buffer] = []
        self.summaries = 0

    def __call__(self, need: Need) -> Answer:
        if isinstance(need, Summarize):
            self.summaries += 1
            return Answer(text="SUM")
        if isinstance(need, AskModel):
            self.asked.append(need.buffer)
            reply = self.answers.pop(0)
            if isinstance(reply, ContextWindowExceeded):
                raise reply
            return reply
        return Answer(messages=tuple(result(call.id, "out") for call in getattr(need, "calls", ())))


def stop(text: str = "done") -> Answer:
    return Answer(messages=(assistant(text),), finish="stop")


def length(text: str = "") -> Answer:
    return Answer(messages=(assistant(text),) if text else (), finish="length")


def play(start: list[Message], world: World, **values: Any) -> AgentLoop:
    settings = POLICY.settings([(name, str(value)) for name, value in values.items()])
    return play_loop(POLICY, buffer(*start), world, settings)


def test_loop_when_the_list_is_written_back_compacts_once() -> None:
    world = World(stop())
    done = play(turns(7), world, COMPACT_TRIGGER=0)
    assert (done.running.attempts, len(done.events), done.text) == (1, 1, "done")
    assert done.events[0].fields["trigger"] == "pre-loop"
    assert len(world.asked[0].messages) == 13


def test_loop_when_the_list_is_not_written_back_compacts_twice() -> None:
    world = World(stop())
    start = turns(7)
    done = play(start, world, COMPACT_TRIGGER=0, write_back=False)
    assert (done.running.attempts, len(done.events), world.summaries) == (2, 2, 2)
    assert [buffer.messages for buffer in world.asked] == [tuple(start)]


def test_loop_when_the_answer_is_cut_off_compacts_by_force() -> None:
    world = World(length("half"), stop())
    done = play(turns(7), world)
    assert [event.fields["trigger"] for event in done.events] == ["length-retry"]
    assert [len(buffer.messages) for buffer in world.asked] == [
        14,
        14,
    ]  # 13, and the partial answer
    assert done.text == "done"


@pytest.mark.parametrize(("text", "expected"), [("", "Context limit reached."), ("half", "half")])
def test_loop_when_nothing_is_old_says_that_the_limit_is_reached(text: str, expected: str) -> None:
    world = World(length(text))
    done = play(turns(3), world)
    assert (done.text, done.events, len(world.asked)) == (expected, (), 1)


def test_loop_when_answers_are_cut_off_again_ends_without_old_turns() -> None:
    world = World(length(), length())
    done = play(turns(7), world)
    assert (done.text, len(done.events), len(world.asked)) == ("Context limit reached.", 1, 2)


def test_loop_when_cut_off_without_write_back_compacts_twice() -> None:
    world = World(length("one"), length("two"), length("three"))
    done = play(turns(7), world, write_back=False)
    assert (done.text, len(done.events), len(world.asked)) == ("three", 2, 3)


def test_the_loop_runs_tools_and_goes_on() -> None:
    calling = Answer(messages=(assistant("", ("c", "ls", {})),), finish="tool-calls")
    world = World(calling, stop())
    done = play(turns(1), world)
    assert [m.role for m in done.buffer.messages][2:] == ["assistant", "tool", "assistant"]


def test_a_refusal_is_like_length_in_safe_mode_only() -> None:
    over = ContextWindowExceeded("too long")
    assert play(turns(7), World(over)).error == "too long"
    world = World(over, stop())
    done = play(turns(7), world, mode="safe")
    assert (done.text, len(done.events), len(world.asked[1].messages)) == ("done", 1, 13)
    refused = PolicyInput(overflow="too long")
    for mode, due in (("faithful", False), ("safe", True)):
        settings = POLICY.settings([("mode", mode)])
        assert (
            POLICY.due(PolicyContext(buffer(*turns(7)), settings, PulseState(), refused))[0].due
            is due
        )


def test_length_after_a_small_prompt_may_be_let_pass() -> None:
    half = Answer(messages=(assistant("half"),), finish="length", usage=Usage(input=30_000))
    assert play(turns(7), World(half), length_ratio=0.8).text == "half"
    assert play(turns(7), World(half, stop()), length_ratio=0.4).text == "done"


def test_after_length_the_next_call_is_preceded_by_a_forced_compaction() -> None:
    (outcome,) = drive(
        POLICY.before_call(
            PolicyContext(
                buffer(*turns(7)), POLICY.settings(), PulseState(), PolicyInput(finish="max_tokens")
            )
        ),
        Script("SUM"),
    )
    assert outcome.events[0].fields["trigger"] == "length-retry"
    assert outcome.running.attempts == 1
    assert (
        drive(POLICY.after_turn(PolicyContext(outcome.buffer, ALWAYS, outcome.running)), Script())
        == ()
    )


# --- what its authors wish for beyond


def test_the_event_holds_the_figures() -> None:
    outcome, _ = run(turns(7), "SUM")
    fields = outcome.events[0].fields
    before, after = (
        77,
        74,
    )  # ceil(7 x (6 + 38) / 4); ceil((6 x (6 + 38) + 31) / 4): answers are lists of parts
    assert fields == {
        "trigger": "pre-loop", "tokens_before": before, "tokens_after": after, "ratio": 0.961, "summaries": 0,
    }  # fmt: skip
    assert outcome.buffer.messages[0].summary


def test_a_tokenizer_may_count() -> None:
    settings = POLICY.settings([("tokenizer", "tiktoken")])
    raw, calibrated = POLICY.measure(
        PolicyContext(buffer(user("中文" * 100)), settings, PulseState())
    )
    assert raw == calibrated
    assert (
        raw
        > POLICY.measure(
            PolicyContext(buffer(user("中文" * 100)), POLICY.settings(), PulseState())
        )[0]
    )


def test_summary_of_summaries() -> None:
    """With a part size the old part is summarised in parts of whole turns, then the summaries."""
    settings = POLICY.settings(
        [("COMPACT_TRIGGER", "0"), ("summary_part_tokens", "80"), ("KEEP_LAST_TURNS", "1")]
    )
    start = [one for i in range(5) for one in (user("u" * 100), assistant("a" * 100))]
    outcome, script = run(start, "one", "two", "three", "four", "all", settings=settings)
    sizes = [len(need.messages) for need in script.needs if isinstance(need, Summarize)]
    assert sizes == [2, 2, 2, 2, 4]
    last = script.needs[-1]
    assert isinstance(last, Summarize)
    assert [m.text for m in last.messages] == [
        f"{PREFIX}\n{word}" for word in ("one", "two", "three", "four")
    ]
    assert outcome.buffer.messages[0].text == f"{PREFIX}\nall"
    failed, _ = run(start, "one", FAIL, settings=settings)
    assert reason(failed) == "fallback"


def test_summaries_too_large_for_a_part_are_summarised_all_the_same() -> None:
    settings = POLICY.settings(
        [("COMPACT_TRIGGER", "0"), ("summary_part_tokens", "1"), ("KEEP_LAST_TURNS", "1")]
    )
    outcome, script = run(turns(4), "a" * 40, "b" * 40, "c" * 40, "all", settings=settings)
    assert len(script.needs) == 4
    assert outcome.buffer.messages[0].text == f"{PREFIX}\nall"


# --- settings and state


def test_trigger_and_target_follow_the_window() -> None:
    settings = POLICY.settings([("window", "model")], 200_001)
    assert (settings.compact_trigger, settings.compact_target) == (150_000, 100_000)
    (line,) = POLICY.watermarks(settings)
    assert (line.tokens, line.setting, line.label) == (150_000, "compact_trigger", "75% compact")
    assert (
        POLICY.settings([("contextWindowTokens", "1000"), ("compact_target", "10")]).compact_trigger
        == 750
    )
    assert POLICY.settings() == PulseSettings()


@pytest.mark.parametrize("value", ["abc", "-1", "0", "", "1e3"])
def test_unusable_overrides_are_ignored(value: str) -> None:
    names = (
        "CONTEXT_WINDOW_TOKENS", "COMPACT_TARGET", "KEEP_LAST_TURNS", "MAX_COMPACTION_ATTEMPTS",
        "COMPACT_SUMMARY_MAX_TOKENS",
    )  # fmt: skip
    assert POLICY.settings([(name, value) for name in names]) == PulseSettings()
    trigger = POLICY.settings([("COMPACT_TRIGGER", value)]).compact_trigger
    assert trigger == (0 if value == "0" else 48_000)


def test_safe_mode_refuses_a_target_at_the_trigger() -> None:
    values = [("COMPACT_TARGET", "48000")]
    assert POLICY.settings(values).compact_target == 48_000
    with pytest.raises(InspectorError, match="below"):
        POLICY.settings([*values, ("mode", "safe")])


def test_state_comes_back() -> None:
    running = PulseState(2, "u1")
    assert POLICY.load(ALWAYS, POLICY.dump(running)) == running
    assert POLICY.load(ALWAYS, {}) == POLICY.fresh(ALWAYS)
    unreadable: tuple[Json, ...] = ([], {"attempts": "two"}, {"attempts": -1}, {"prompt": 3})
    for bad in unreadable:
        with pytest.raises(InspectorError):
            POLICY.load(ALWAYS, bad)
    assert POLICY.learn(running, ALWAYS, 10, 20) == running
    with pytest.raises(InspectorError, match="no tier"):
        drive(POLICY.tier("L1", PolicyContext(buffer(), ALWAYS, running)), Script())
