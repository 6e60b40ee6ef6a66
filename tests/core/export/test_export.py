"""A buffer that was written as a transcript opens as the same buffer."""

from pathlib import Path

import pytest

from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import InspectorError
from inspector.core.export import WRITERS, Birth, transcript
from inspector.core.message import Image, Message, Part, Text, ToolCall, ToolResult
from inspector.transcripts.files import open_transcript

BIRTH = Birth("8d6bb0d1-6f5e-4a58-9b5e-0d5f0c1f7a11", "2026-01-02T03:04:05.678Z", "/home/dev/ledger", "some-model")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BUFFER = Buffer(
    (
        Message("1", "user", (Text("Fix the rounding bug. 先不要改接口。"),)),
        Message("2", "user", (Text("[Conversation summary]\nGoal: fix it"),), summary=True),
        Message(
            "3",
            "assistant",
            (Text("I look."), ToolCall("c1", "Read", {"path": "a.py"}), ToolCall("c2", "Bash", {"command": "ls"})),
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


def test_a_summary_that_begins_the_buffer_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(transcript("claude-code", BUFFER.with_messages(BUFFER.messages[1:]), BIRTH), encoding="utf-8")
    found = open_transcript(path).main.end.messages()
    assert [m.summary for m in found] == [True, False, False, False, False, False]


def test_other_formats_are_told() -> None:
    with pytest.raises(InspectorError, match="cannot be written"):
        transcript("anthropic-payload", BUFFER, BIRTH)
