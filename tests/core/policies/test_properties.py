"""Spec 2.5 for every policy of the catalogue: what holds for every well-formed buffer and every real transcript."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import AnswerLog, offline, rehearsed
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, AskModel, Need, ProviderFailure, RunTools, Summarize, drive
from inspector.core.outcome import Outcome, fates
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.learn_claude_code import POLICY as LEARN
from inspector.core.policies.pulse import POLICY as PULSE
from inspector.core.policies.verdict import PolicyInput
from tests.core.policies.build import play_loop
from tests.core.policies.test_roku_properties import (
    TEXTS,
    TRANSCRIPT_FILES,
    buffers,
    pairs_hold,
    real_buffers,
)

MODES = st.sampled_from(["faithful", "safe"])
WINDOWS = st.sampled_from([300, 1_000, 200_000])
ANSWER = rehearsed(offline)
SPLITS_PAIRS = {("learn-claude-code", "auto"), ("learn-claude-code", "manual")}
"""Policies whose faithful mode may keep a result without its call."""
ONE_TIER = [(name, tier.name) for name in POLICIES for tier in POLICIES[name].tiers]


def settings_of(policy: Policy[Any, Any], window: int, mode: str = "faithful") -> Any:
    """At that window; at the policy's own where safe mode refuses it."""
    try:
        return policy.settings([("mode", mode)], window)
    except InspectorError:
        return policy.settings([("mode", mode)])


def check(
    before: Buffer, outcome: Outcome[Any], policy: Policy[Any, Any], settings: Any, may_split: bool
) -> None:
    after = outcome.buffer
    assert may_split or pairs_hold(after)
    assert after.prompt is before.prompt
    ids = [message.id for message in after.messages]
    assert len(set(ids)) == len(ids)
    known = {message.id for message in before.messages}
    assert {fate.id for fate in fates(before, outcome)} == known | set(ids)
    assert set(outcome.changed) <= known
    state = json.loads(dumps(policy.dump(outcome.running)))
    assert policy.dump(policy.load(settings, state)) == policy.dump(outcome.running)


def run(policy: Policy[Any, Any], tier: str, buffer: Buffer, settings: Any) -> Outcome[Any]:
    untouched = tuple(buffer.messages)
    outcome = drive(
        policy.tier(tier, PolicyContext(buffer, settings, policy.fresh(settings))), ANSWER
    )
    assert buffer.messages == untouched
    return outcome


@pytest.mark.parametrize(("name", "tier"), ONE_TIER)
@given(buffer=buffers(), mode=MODES, window=WINDOWS)
def test_every_tier_keeps_a_valid_buffer_valid(
    name: str, tier: str, buffer: Buffer, mode: str, window: int
) -> None:
    policy = POLICIES[name]
    settings = settings_of(policy, window, mode)
    outcome = run(policy, tier, buffer, settings)
    check(buffer, outcome, policy, settings, mode == "faithful" and (name, tier) in SPLITS_PAIRS)


@pytest.mark.parametrize("name", POLICIES)
@given(buffer=buffers(), mode=MODES, window=WINDOWS, over=st.booleans())
def test_what_is_due_is_done_and_told(
    name: str, buffer: Buffer, mode: str, window: int, over: bool
) -> None:
    policy = POLICIES[name]
    settings = settings_of(policy, window, mode)
    running, moment = policy.fresh(settings), PolicyInput(overflow="too long" if over else "")
    first = policy.due(PolicyContext(buffer, settings, running, moment))
    assert first == policy.due(PolicyContext(buffer, settings, running, moment))
    assert [verdict.tier for verdict in first] == [tier.name for tier in policy.tiers]
    assert all(verdict.why for verdict in first)
    done = drive(policy.run_due(PolicyContext(buffer, settings, running, moment)), ANSWER)
    assert done
    assert any(verdict.due for verdict in first) or done[-1].buffer == buffer
    for before, outcome in zip((buffer, *(one.buffer for one in done)), done, strict=False):
        check(before, outcome, policy, settings, mode == "faithful" and name == "learn-claude-code")


@pytest.mark.parametrize("name", POLICIES)
@given(buffer=buffers(), text=TEXTS)
def test_an_estimate_never_falls_when_a_message_is_added(
    name: str, buffer: Buffer, text: str
) -> None:
    policy = POLICIES[name]
    settings = policy.settings()
    longer = buffer.with_messages([*buffer.messages, Message("new", "user", (Text(text),))])
    shorter, more = (
        policy.measure(PolicyContext(one, settings, policy.fresh(settings)))
        for one in (buffer, longer)
    )
    assert 0 <= shorter[0] <= more[0]
    assert 0 <= shorter[1] <= more[1]


@pytest.mark.parametrize("name", POLICIES)
@given(buffer=buffers(), mode=MODES)
def test_a_summariser_that_always_fails_is_asked_a_few_times(
    name: str, buffer: Buffer, mode: str
) -> None:
    def fails(need: Need) -> Answer:
        if isinstance(need, Summarize):
            raise ProviderFailure("always")
        return ANSWER(need)

    policy = POLICIES[name]
    settings = settings_of(policy, 300, mode)
    heard = AnswerLog(fails)
    done = drive(
        policy.run_due(
            PolicyContext(
                buffer, settings, policy.fresh(settings), PolicyInput(overflow="too long")
            )
        ),
        heard,
    )
    assert sum(isinstance(one.need, Summarize) for one in heard.asked) <= 4
    assert pairs_hold(done[-1].buffer)


# --- what only some promise


@given(buffers(), st.integers(1, 4), MODES, st.booleans())
def test_pulse_keeps_the_newest_user_message_word_for_word(
    buffer: Buffer, keep: int, mode: str, fails: bool
) -> None:
    settings = PULSE.settings(
        [("COMPACT_TRIGGER", "0"), ("KEEP_LAST_TURNS", str(keep)), ("mode", mode)]
    )

    def answer(need: Need) -> Answer:
        if fails:
            raise ProviderFailure("always")
        return Answer(text="SUM")

    outcome = drive(
        PULSE.tier("compact", PolicyContext(buffer, settings, PULSE.fresh(settings))), answer
    )
    newest = [message for message in buffer.messages if message.role == "user"][-1]
    assert newest in outcome.buffer.messages
    assert not pairs_hold(buffer) or pairs_hold(outcome.buffer)


class Failing:
    """Every summary fails, the model ends each answer with `finish`; some of its answers call a tool."""

    def __init__(self, finish: str) -> None:
        self.finish = finish
        self.model = self.summaries = 0

    def __call__(self, need: Need) -> Answer:
        match need:
            case AskModel():
                self.model += 1
                calls = (ToolCall(f"new{self.model}", "bash", {}),) if self.model < 6 else ()
                message = Message(f"answer{self.model}", "assistant", (Text("so"), *calls))
                return Answer(messages=(message,), finish=self.finish)
            case RunTools(calls):
                return Answer(
                    messages=tuple(
                        Message(c.id, "tool", (ToolResult(c.id, "x" * 4000),)) for c in calls
                    )
                )
            case Summarize():
                self.summaries += 1
                raise ProviderFailure("always")
        return ANSWER(need)


@given(buffers(), st.sampled_from(["stop", "length"]), st.booleans())
def test_pulse_compacts_at_most_twice_in_a_loop(
    buffer: Buffer, finish: str, write_back: bool
) -> None:
    world = Failing(finish)
    settings = PULSE.settings(
        [("COMPACT_TRIGGER", "0"), ("KEEP_LAST_TURNS", "1"), ("write_back", str(write_back))]
    )
    done = play_loop(PULSE, buffer, world, settings)
    assert len(done.events) == world.summaries <= 2
    assert world.model <= 6


@given(buffers(), MODES)
def test_learn_claude_code_gives_up_on_a_summariser(buffer: Buffer, mode: str) -> None:
    """Safe mode after three failures in a session, faithful mode at the first: there the exception ends the loop."""
    world = Failing("stop")
    settings = LEARN.settings([("overhead", "183500"), ("min_savings", "0"), ("mode", mode)])
    done = play_loop(LEARN, buffer, world, settings)
    assert world.summaries <= (3 if mode == "safe" else 1)
    assert bool(done.error) is (mode == "faithful" and world.summaries == 1)
    assert pairs_hold(done.buffer)


@given(buffers(), MODES)
def test_micro_compaction_is_idempotent(buffer: Buffer, mode: str) -> None:
    values = [
        ("COMPACTABLE_TOOLS", "Read"),
        ("micro_min_tokens", "20"),
        ("KEEP_RECENT", "1"),
        ("mode", mode),
    ]
    settings = LEARN.settings(values)
    once = run(LEARN, "micro", buffer, settings).buffer
    assert run(LEARN, "micro", once, settings).buffer is once
    total, less = (
        LEARN.measure(PolicyContext(one, settings, LEARN.fresh(settings)))[0]
        for one in (buffer, once)
    )
    assert less <= total
    (again,) = drive(
        LEARN.before_call(PolicyContext(once, settings, LEARN.fresh(settings))), ANSWER
    )
    assert again.buffer is once


# --- real transcripts


@pytest.mark.parametrize("path", TRANSCRIPT_FILES, ids=lambda path: "/".join(path.parts[-4:]))
def test_every_tier_on_real_buffers(path: Path) -> None:
    for buffer in real_buffers(path):
        if not pairs_hold(buffer):
            continue  # the transcript itself lacks a call: nothing to hold the tiers to
        for name, tier in ONE_TIER:
            policy = POLICIES[name]
            for mode, window in (("faithful", 2_000), ("safe", 200_000)):
                settings = settings_of(policy, window, mode)
                policy.due(PolicyContext(buffer, settings, policy.fresh(settings)))
                outcome = run(policy, tier, buffer, settings)
                check(
                    buffer,
                    outcome,
                    policy,
                    settings,
                    mode == "faithful" and (name, tier) in SPLITS_PAIRS,
                )
