"""Spec 2.5 for Pi: what holds for every well-formed buffer and every real transcript, at several windows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import offline
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, AskModel, Need, ProviderFailure, RunTools, Summarize, drive
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pi import POLICY
from inspector.core.policies.pi.settings import PiSettings, PiState
from inspector.core.policies.place import moment_at
from inspector.core.policies.verdict import PolicyInput
from inspector.core.replay.driver import Ground, replay_requests
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import play_turn
from tests.core.policies.test_roku_properties import TEXTS, TRANSCRIPT_FILES, buffers, pairs_hold

KEEPS = st.sampled_from(["1", "50", "150", "1000"])
POINTS = st.sampled_from(["after_llm", "before_llm", "turn_end", "agent_end"])


def check_outcome(
    before: Buffer, settings: PiSettings, moment: PolicyInput, running: PiState
) -> Buffer:
    untouched = tuple(before.messages)
    outcome = drive(
        POLICY.tier("compact", PolicyContext(before, settings, running, moment)), offline
    )
    after = outcome.buffer
    assert before.messages == untouched
    assert pairs_hold(after)
    assert after.prompt is before.prompt
    assert len({message.id for message in after.messages}) == len(after.messages)
    if outcome.succeeded:
        known = set(map(id, before.messages))
        kept = [message for message in after.messages if id(message) in known]
        assert len(kept) == len(after.messages) - 1
        stays = {message.id for message in kept}
        assert set(outcome.changed) == {m.id for m in before.messages if m.id not in stays}
        once_more = drive(
            POLICY.tier("compact", PolicyContext(after, settings, outcome.running, moment)), offline
        )
        assert once_more.buffer is after
    else:
        assert after is before
    return after


@given(buffers(), KEEPS, st.sampled_from(["faithful", "safe"]), st.booleans())
def test_compaction_keeps_a_valid_buffer_valid(
    buffer: Buffer, keep: str, mode: str, pin: bool
) -> None:
    settings = POLICY.settings([("keepRecentTokens", keep), ("mode", mode)])
    after = check_outcome(buffer, replace(settings, pin_last_user=pin), PolicyInput(), PiState())
    prompts = [message for message in buffer.messages if message.role == "user"]
    assert not pin or prompts[-1] in after.messages


@given(buffers(), POINTS, KEEPS)
def test_at_every_check_point_a_valid_buffer_stays_valid(
    buffer: Buffer, point: str, keep: str
) -> None:
    settings = POLICY.settings([("check_point", point), ("keepRecentTokens", keep)], 500)
    moment = PolicyInput(usage=Usage(input=1000), finish="stop")
    (outcome,) = drive(
        POLICY.before_call(PolicyContext(buffer, settings, PiState(), moment)), offline
    )
    assert pairs_hold(outcome.buffer)
    (again,) = drive(
        POLICY.after_turn(PolicyContext(outcome.buffer, settings, outcome.running, moment)), offline
    )
    assert pairs_hold(again.buffer)
    if point != "agent_end":  # there the end of the run and the next prompt are two checks
        assert again.buffer is outcome.buffer


@given(buffers(), st.sampled_from(["seed", "upstream"]))
def test_verdicts_change_nothing_and_repeat(buffer: Buffer, profile: str) -> None:
    settings = POLICY.settings([("profile", profile)], 500)
    first = POLICY.due(PolicyContext(buffer, settings, PiState()))
    assert first == POLICY.due(PolicyContext(buffer, settings, PiState()))
    assert [verdict.tier for verdict in first] == ["compact"]


@given(buffers(), TEXTS, st.sampled_from(["seed", "upstream"]))
def test_the_estimate_never_falls_when_a_message_is_added(
    buffer: Buffer, text: str, profile: str
) -> None:
    settings = POLICY.settings([("profile", profile)])
    longer = buffer.with_messages([*buffer.messages, Message("new", "user", (Text(text),))])
    shorter, more = (
        POLICY.measure(PolicyContext(one, settings, PiState()))[0] for one in (buffer, longer)
    )
    assert 0 <= shorter <= more


class Failing:
    """Every summary fails; the model answers with one tool call over the threshold. Counts what it is asked."""

    def __init__(self) -> None:
        self.model = self.summaries = 0

    def __call__(self, need: Need) -> Answer:
        match need:
            case AskModel():
                self.model += 1
                call = ToolCall(f"new{self.model}", "Read", {})
                message = Message(f"answer{self.model}", "assistant", (call,))
                return Answer(messages=(message,), usage=Usage(input=10_000), finish="toolUse")
            case RunTools(calls):
                return Answer(
                    messages=tuple(
                        Message(c.id, "tool", (ToolResult(c.id, "x" * 4000),)) for c in calls
                    )
                )
            case Summarize():
                self.summaries += 1
        raise ProviderFailure("always")


@given(buffers(), POINTS)
def test_a_failing_summariser_makes_no_loop(buffer: Buffer, point: str) -> None:
    world, settings = (
        Failing(),
        POLICY.settings([("check_point", point), ("keepRecentTokens", "50")], 1_000),
    )
    done = play_turn(POLICY, buffer, world, settings)
    assert world.model == 1
    assert world.summaries <= 2
    assert pairs_hold(done.buffer)


def _views(path: Path) -> Iterator[tuple[Buffer, PolicyInput]]:
    try:
        session = open_transcript(path)
    except InspectorError:
        return
    for thread in session.threads[:3]:
        count = len(thread.requests)
        for at in sorted({0, count // 2, count - 1} & set(range(count))):
            yield thread.requests[at].buffer(), moment_at(thread, at)
        yield Buffer(thread.end.messages(), thread.prompt), moment_at(thread, count)


@pytest.mark.parametrize("path", TRANSCRIPT_FILES, ids=lambda path: "/".join(path.parts[-4:]))
def test_compaction_of_real_buffers(path: Path) -> None:
    for buffer, moment in _views(path):
        if not pairs_hold(buffer):
            continue  # the transcript itself lacks a call: nothing to hold the tier to
        for keep in ("500", "20000"):
            settings = POLICY.settings([("keepRecentTokens", keep)])
            check_outcome(buffer, settings, moment, PiState())
            for profile in ("seed", "upstream"):
                (found,) = POLICY.due(
                    PolicyContext(buffer, replace(settings, profile=profile), PiState(), moment)
                )
                assert (found.tokens or 0) >= 0


@pytest.mark.parametrize("point", ["after_llm", "turn_end", "before_llm"])
@pytest.mark.parametrize("path", TRANSCRIPT_FILES[::9], ids=lambda path: "/".join(path.parts[-4:]))
def test_driven_over_real_sessions(path: Path, point: str) -> None:
    """A window that each session outgrows; the pairs hold at every request where they hold in the recording."""
    try:
        thread = open_transcript(path).main
    except InspectorError:
        return
    if not all(pairs_hold(request.buffer()) for request in thread.requests[:200]):
        return
    settings = POLICY.settings(
        [("keepRecentTokens", "2000"), ("reserveTokens", "1000"), ("check_point", point)], 9_000
    )
    start = Ground(replace(thread, requests=thread.requests[:200]))
    for one in replay_requests(start, POLICY, settings, offline):
        assert pairs_hold(one.buffer)
