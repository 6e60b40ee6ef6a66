"""The neutral JSON: what is written whole is read back equal, through real JSON."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.neutral import read_buffer, read_messages, write_buffer
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from inspector.transcripts.files import open_transcript

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
TOKENS = st.none() | st.integers(0, 9_999)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Thinking, WORDS, WORDS, TOKENS),
    st.builds(ToolCall, WORDS, WORDS, JSON),
    st.builds(ToolResult, WORDS, WORDS, st.booleans()),
    st.builds(Image, WORDS, WORDS, WORDS),
    st.builds(Opaque, WORDS, JSON, st.integers(0, 99), TOKENS),
)
MESSAGES = st.builds(
    Message,
    WORDS.filter(bool),
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(PARTS, max_size=4).map(tuple),
    WORDS,
    st.booleans(),
    st.sampled_from(["", "meta", "attachment", "placeholder"]),
    st.integers(0, 99),
    WORDS,
)
TOOLS = st.none() | st.lists(st.builds(Tool, WORDS, JSON), max_size=2).map(tuple)
BUFFERS = st.builds(
    Buffer, st.lists(MESSAGES, max_size=4).map(tuple), st.builds(Prompt, st.none() | WORDS, TOOLS)
)


@given(BUFFERS)
def test_a_buffer_comes_back_equal(buffer: Buffer) -> None:
    assert read_buffer(loads(dumps(write_buffer(buffer)).encode())) == buffer


def test_real_buffers_come_back_equal(shared: Path) -> None:
    paths = [
        *sorted(shared.glob("claude-code/**/*.jsonl"))[:3],
        *sorted(shared.glob("codex/**/*.jsonl"))[:2],
        *sorted(shared.glob("pi/**/large-session.jsonl")),
    ]
    assert paths
    for path in paths:
        session = open_transcript(str(path))
        buffer = Buffer(session.main.end.messages(), session.main.prompt)
        assert read_buffer(loads(dumps(write_buffer(buffer)).encode())) == buffer


_TOOLS: list[Any] = [[{}], 1.5, True, "name", {"name": "x"}]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"messages": "no"},
        {"messages": [3]},
        *({"tools": one, "messages": []} for one in _TOOLS),
    ],
)
def test_what_is_no_buffer_is_refused(value: Any) -> None:
    with pytest.raises(InspectorError):
        read_buffer(value)


def test_a_part_without_its_value_stays_what_it_was() -> None:
    part: dict[str, Any] = {"type": "opaque", "kind": "compaction", "bytes": 7}
    (message,) = read_messages([{"role": "user", "parts": [part]}], "m")
    assert message.id == "m-0"
    assert message.parts == (Opaque("compaction", part, 7),)
