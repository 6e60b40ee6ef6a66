"""Pulse Coder in a loop: before each call and after each answer, what its authors wish for, its settings."""

from typing import Any

import pytest

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Json, Message
from inspector.core.needs import (
    Answer,
    AskModel,
    ContextWindowExceeded,
    Need,
    Summarize,
    drive,
)
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pulse import (
    POLICY,
    PREFIX,
    PulseState,
)
from inspector.core.policies.pulse.settings import PulseSettings
from inspector.core.policies.verdict import PolicyInput
from inspector.core.usage import Usage
from tests.core.policies.build import AgentLoop, Script, assistant, buffer, play_loop, result, user
from tests.core.policies.pulse_loops import ALWAYS, FAIL, length, reason, run, stop, turns

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
    # 13, and the partial answer.
    assert [len(buffer.messages) for buffer in world.asked] == [14, 14]
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
    # ceil(7 x (6 + 38) / 4); ceil((6 x (6 + 38) + 31) / 4): answers are lists of parts.
    before, after = (77, 74)
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
