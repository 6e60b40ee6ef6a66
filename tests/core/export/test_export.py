"""A buffer that was written as a transcript opens as the same buffer."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects import anthropic, gemini, neutral, openai_chat, openai_responses_body
from inspector.core.errors import InspectorError
from inspector.core.export import WRITERS, Birth, transcript
from inspector.core.jsontext import dumps, loads
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.transcripts.files import open_transcript

BIRTH = Birth(
    "8d6bb0d1-6f5e-4a58-9b5e-0d5f0c1f7a11",
    "2026-01-02T03:04:05.678Z",
    "/home/dev/ledger",
    "some-model",
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BUFFER = Buffer(
    (
        Message("1", "user", (Text("Fix the rounding bug. 先不要改接口。"),)),
        Message("2", "user", (Text("[Conversation summary]\nGoal: fix it"),), summary=True),
        Message(
            "3",
            "assistant",
            (
                Text("I look."),
                ToolCall("c1", "Read", {"path": "a.py"}),
                ToolCall("c2", "Bash", {"command": "ls"}),
            ),
        ),
        Message("4", "tool", (ToolResult("c1", "x = 1", False),)),
        Message("5", "tool", (ToolResult("c2", "no such file", True), Image("image/png", PIXEL))),
        Message("6", "assistant", (Text("Done."),)),
        Message("7", "user", (Text("Thanks. Next?"),)),
    ),
    Prompt("be brief"),
)


def told(part: Part) -> object:
    """What must survive: everything but what only the wire of one provider knows."""
    return (part.call_id, part.content) if isinstance(part, ToolResult) else part


@pytest.mark.parametrize("format", WRITERS)
def test_round_trip(format: str, tmp_path: Path) -> None:  # noqa: A002
    path = tmp_path / "new.jsonl"
    path.write_text(transcript(format, BUFFER, BIRTH), encoding="utf-8")
    session = open_transcript(path)
    assert session.format == format
    assert not session.problems
    assert session.id == BIRTH.session
    found = session.main.end.messages()
    assert [m.role for m in found] == [m.role for m in BUFFER.messages]
    for old, new in zip(BUFFER.messages, found, strict=True):
        assert list(map(told, new.parts)) == list(map(told, old.parts))
    assert transcript(format, BUFFER, BIRTH) == transcript(format, BUFFER, BIRTH)


WORDS = st.text(max_size=4)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Thinking, WORDS, st.sampled_from(["", "sealed"])),
    st.builds(ToolCall, WORDS, WORDS, st.dictionaries(WORDS, st.integers(), max_size=2) | WORDS),
    st.builds(ToolResult, st.sampled_from(["", "c1"]), WORDS),
    st.builds(Image, st.just("image/png"), st.sampled_from(["", PIXEL])),
    st.builds(
        Opaque,
        st.sampled_from(["input_file", "server_tool_use", ""]),
        st.none() | st.just({"type": "x"}),
    ),
)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant", "tool", "system"])
MESSAGES = st.builds(Message, WORDS, ROLES, st.lists(PARTS, max_size=5).map(tuple))


@given(st.lists(MESSAGES, max_size=4).map(tuple))
def test_every_part_at_every_place_can_be_written(messages: tuple[Message, ...]) -> None:
    """A damaged transcript may hold any."""
    for write in (
        anthropic.write_anthropic_body,
        openai_chat.write_chat_body,
        openai_responses_body.write_responses_body,
    ):
        loads(dumps(write(Buffer(messages), "m", 1)).encode())
    loads(dumps(gemini.write_gemini_body(Buffer(messages), 1)).encode())
    loads(dumps(neutral.write_buffer(Buffer(messages))).encode())
    for format in WRITERS:  # noqa: A001
        transcript(format, Buffer(messages), BIRTH)
    items = openai_responses_body.write_items(messages, {})
    results = [
        part for message in messages for part in message.parts if isinstance(part, ToolResult)
    ]
    assert sum(
        "call_id" in item and item["type"].endswith("output") for item in items if item
    ) == len(results)


def test_a_summary_that_begins_the_buffer_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(
        transcript("claude-code", BUFFER.with_messages(BUFFER.messages[1:]), BIRTH),
        encoding="utf-8",
    )
    found = open_transcript(path).main.end.messages()
    assert [m.summary for m in found] == [True, False, False, False, False, False]


def test_other_formats_are_told() -> None:
    with pytest.raises(InspectorError, match="cannot be written"):
        transcript("anthropic-payload", BUFFER, BIRTH)
