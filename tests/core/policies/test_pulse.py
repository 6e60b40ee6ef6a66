"""Pulse Coder: its trigger, summary, fallbacks and loop, and what its authors planned."""

import pytest

from inspector.core.errors import Cancelled
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall
from inspector.core.needs import (
    Answer,
    ContextWindowExceeded,
    Need,
    Summarize,
    drive,
)
from inspector.core.outcome import Outcome
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pulse import (
    POLICY,
    PREFIX,
    PulseState,
    measure_messages,
)
from inspector.core.policies.pulse.turns import prune, split_by_turns, turn_starts
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import Script, assistant, buffer, result, user
from tests.core.policies.pulse_loops import ALWAYS, FAIL, reason, run, turns


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


def said(outcome: Outcome[PulseState]) -> list[tuple[str, str]]:
    return [(m.role, m.result.content if m.result else m.text) for m in outcome.buffer.messages]


def compacted(outcome: Outcome[PulseState]) -> bool:
    return any(event.name == "Compacted" for event in outcome.events)


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
    assert "nothing is older than the 6 turns that are kept (the buffer has 1)" in why(
        [user("x" * 192_000)]
    )
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
