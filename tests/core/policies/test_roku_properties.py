"""Spec 2.5 for Roku: what holds for every well-formed buffer and every real transcript, at several windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import offline
from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import InspectorError
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.needs import Answer, AskModel, Need, ProviderFailure, RunTools, Summarize, drive
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.policies.roku.settings import RokuSettings, RokuState, raw_tokens
from inspector.core.policies.verdict import PolicyInput
from inspector.transcripts.files import open_transcript
from tests.core.policies.build import play_turn
from tests.shared import TRANSCRIPTS

NAMES = ["L0", "L1", "L2", "L3", "L3a", "L3b", "L4"]
TEXTS = st.sampled_from(
    [
        "",
        "ok",
        "do it in src/a.py",
        "中文段落" * 30,
        "x" * 400,
        '{"a": 1}',
        "<thinking>t</thinking>Hi",
    ]
)
TRANSCRIPT_FILES = sorted(
    path
    for folder in ("claude-code", "codex", "pi", "clients")
    if TRANSCRIPTS is not None
    for path in (TRANSCRIPTS / folder).rglob("*.jsonl")
    if path.stat().st_size < 5_000_000
)


@st.composite
def buffers(draw: st.DrawFn) -> Buffer:
    """Well-formed: every call is answered at once, in order, before anybody else speaks."""
    messages = [Message("m0", "user", (Text(draw(TEXTS)),))]
    for turn_number in range(draw(st.integers(0, 9))):
        calls = draw(st.integers(0, 3))
        made = tuple(ToolCall(f"c{turn_number}-{n}", "Read", {"path": "a"}) for n in range(calls))
        messages.append(Message(f"a{turn_number}", "assistant", (Text(draw(TEXTS)), *made)))
        messages += [
            Message(f"r{call.id}", "tool", (ToolResult(call.id, draw(TEXTS), draw(st.booleans())),))
            for call in made
        ]
        if draw(st.booleans()):
            messages.append(Message(f"u{turn_number}", "user", (Text(draw(TEXTS)),)))
    return Buffer(tuple(messages), Prompt(draw(st.sampled_from([None, "system text"]))))


def pairs_hold(buffer: Buffer) -> bool:
    """Would a provider take the buffer's calls and results?"""
    called: set[str] = set()
    answered: set[str] = set()
    for message in buffer.messages:
        called |= {call.id for call in message.calls}
        result = message.result
        if result is not None:
            if result.call_id not in called or result.call_id in answered:
                return False
            answered.add(result.call_id)
    return True


def check_tier(name: str, buffer: Buffer, settings: RokuSettings, remote: bool = False) -> None:
    untouched = tuple(buffer.messages)
    moment = PolicyInput(summary="S" if name == "L2" else "", remote=remote)
    outcome = drive(
        POLICY.tier(name, PolicyContext(buffer, settings, RokuState(), moment)), offline
    )
    assert buffer.messages == untouched
    assert pairs_hold(outcome.buffer)
    assert outcome.buffer.prompt is buffer.prompt
    assert len({m.id for m in outcome.buffer.messages}) == len(outcome.buffer.messages)
    if buffer.messages:
        assert outcome.buffer.messages[0] is buffer.messages[0] or name == "L0"
    if name == "L0":
        again = drive(
            POLICY.tier(name, PolicyContext(outcome.buffer, settings, RokuState(), moment)), offline
        )
        assert again.buffer == outcome.buffer
        assert raw_tokens(outcome.buffer) <= raw_tokens(buffer)


@given(buffers(), st.sampled_from(NAMES), st.sampled_from(["faithful", "safe"]), st.booleans())
def test_every_tier_keeps_a_valid_buffer_valid(
    buffer: Buffer, name: str, mode: str, remote: bool
) -> None:
    assert pairs_hold(buffer)
    check_tier(name, buffer, POLICY.settings([("mode", mode)], 500), remote)


class Failing:
    """Every summary fails; the model answers with one tool call. Counts what it is asked."""

    def __init__(self) -> None:
        self.model = self.summaries = 0

    def __call__(self, need: Need) -> Answer:
        match need:
            case AskModel():
                self.model += 1
                call = ToolCall(f"new{self.model}", "Read", {})
                return Answer(messages=(Message(f"answer{self.model}", "assistant", (call,)),))
            case RunTools(calls):
                return Answer(
                    messages=tuple(
                        Message(c.id, "tool", (ToolResult(c.id, "x" * 4000),)) for c in calls
                    )
                )
            case Summarize():
                self.summaries += 1
        raise ProviderFailure("always")


@given(buffers())
def test_a_failing_summariser_makes_no_loop(buffer: Buffer) -> None:
    world = Failing()
    done = play_turn(POLICY, buffer, world, POLICY.settings((), 100))
    assert world.model <= 2
    assert world.summaries <= 8
    assert pairs_hold(done.buffer)


def real_buffers(path: Path) -> Iterator[Buffer]:
    try:
        session = open_transcript(path)
    except InspectorError:
        return
    for thread in session.threads[:3]:
        count = len(thread.requests)
        for at in sorted({0, count // 2, count - 1} & set(range(count))):
            yield thread.requests[at].buffer()


@pytest.mark.parametrize("path", TRANSCRIPT_FILES, ids=lambda path: "/".join(path.parts[-4:]))
def test_every_tier_on_real_buffers(path: Path) -> None:
    for buffer in real_buffers(path):
        if not pairs_hold(buffer):
            continue  # the transcript itself lacks a call: nothing to hold the tiers to
        for window in (2_000, 50_000, 200_000):
            for name in NAMES:
                check_tier(name, buffer, POLICY.settings((), window))
