"""Anthropic Messages: what is read is what is written back, and nothing that is read is lost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects import neutral
from inspector.core.dialects.anthropic import (
    read_anthropic_prompt,
    read_wire_messages,
    write_anthropic_body,
    write_messages,
)
from inspector.core.dialects.anthropic_usage import read_anthropic_usage
from inspector.core.jsontext import loads
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage
from tests.shared import transcripts

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "Hello 世界"},
    {"type": "text", "text": ""},
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "thinking", "thinking": "", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "AAAAAAAA"},
    {
        "type": "tool_use",
        "id": "t1",
        "name": "Bash",
        "input": {"command": "ls", "n": [1, None, 2.5]},
    },
    {"type": "tool_result", "tool_use_id": "t1", "content": "a\nb"},
    {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
    {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "see"}, IMAGE],
    },
    {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "tool_reference", "tool_name": "WebFetch"}],
    },
    IMAGE,
    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    {"type": "compaction", "content": "what was before"},
    {"type": "of_the_future", "anything": {"goes": True}},
]


def read_all(wire: list[dict[str, Any]]) -> tuple[Message, ...]:
    return tuple(
        m
        for n, one in enumerate(wire)
        for m in read_wire_messages(one["role"], one["content"], id=f"m{n}")
    )


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block["type"]))
def test_a_block_goes_out_as_it_came_in(block: dict[str, Any]) -> None:
    role = "assistant" if block["type"] in ("thinking", "tool_use", "redacted_thinking") else "user"
    (message,) = read_wire_messages(
        role, [block, {"type": "image", "source": {"type": "url", "url": "u"}}], id="m"
    )[:1]
    (wire,) = write_messages([message])
    content = wire["content"]
    found = {"type": "text", "text": content} if isinstance(content, str) else content[0]
    assert found == block


def test_the_table_of_neutral_parts() -> None:
    (message,) = read_wire_messages(
        "assistant", BLOCKS[0:1] + BLOCKS[2:3] + BLOCKS[4:6], id="m", line=3, time="t"
    )
    assert message == Message(
        "m",
        "assistant",
        (
            Text("Hello 世界"),
            Thinking("hm", "c2ln"),
            Opaque("redacted_thinking", BLOCKS[4], 6),
            ToolCall("t1", "Bash", {"command": "ls", "n": [1, None, 2.5]}),
        ),
        line=3,
        time="t",
    )


def test_results_are_messages_of_their_own_and_go_back_into_one() -> None:
    content = [
        {"type": "text", "text": "before"},
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {
            "type": "tool_result",
            "tool_use_id": "t2",
            "content": [{"type": "text", "text": "two"}, IMAGE],
        },
        {"type": "text", "text": "after"},
        {"type": "text", "text": "and on"},
    ]
    messages = read_wire_messages("user", content, id="m")
    assert [(message.role, message.together) for message in messages] == [
        ("user", "m"),
        ("tool", "m"),
        ("tool", "m"),
        ("user", "m"),
    ]
    assert messages[2].parts == (
        ToolResult("t2", "two", texts=("two",)),
        Image("image/png", "AAAA"),
    )
    assert len({message.id for message in messages}) == 4
    assert messages[0].id == "m"
    assert write_messages(messages) == [{"role": "user", "content": content}]


def test_a_result_keeps_its_shape() -> None:
    """A list of text blocks stays one; what somebody puts in its place is a text."""
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b\nc"}]
    for content in ("plain", "", texts, texts[:1], [*texts, IMAGE], [IMAGE]):
        wire = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}],
        }
        (message,) = read_wire_messages("user", wire["content"], id="m")
        assert write_messages([message]) == [wire]
        (again,) = neutral.read_messages([neutral.write_message(message)], "m")
        assert again == message
    (message,) = read_wire_messages(
        "user", [{"type": "tool_result", "tool_use_id": "t", "content": texts}], id="m"
    )
    assert message.result is not None
    assert message.result.content == "a\nb\nc"
    cut = replace(message, parts=(replace(message.result, content="cut"),))
    assert write_messages([cut])[0]["content"][0]["content"] == "cut"


def test_results_that_came_apart_share_a_message() -> None:
    """As OpenAI has them: one message a result. Anthropic wants all results of a turn in one."""
    results = [Message(f"r{n}", "tool", (ToolResult(f"t{n}", "x"),)) for n in range(2)]
    (wire,) = write_messages(results)
    assert (wire["role"], len(wire["content"])) == ("user", 2)


def test_neighbours_that_travelled_apart_stay_apart() -> None:
    wire = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    assert write_messages(read_all(wire)) == wire


@pytest.mark.parametrize(
    "content", [None, [], {}, 7, True, [None], [[]], [{"type": "text"}], [{"type": ["x"]}]]
)
def test_odd_content_is_a_message_all_the_same(content: Any) -> None:
    messages = read_wire_messages("user", content, id="m")
    assert [message.id for message in messages] == ["m"]
    assert write_messages(messages)[0]["role"] == "user"


def test_free_text_arguments_become_an_object() -> None:
    """Another provider's custom tools take text; Anthropic demands an object."""
    call = Message("m", "assistant", (ToolCall("t1", "apply_patch", "*** Begin"),))
    assert write_messages([call])[0]["content"][0]["input"] == {"input": "*** Begin"}


def test_a_body_holds_prompt_and_tools() -> None:
    tool = {"name": "Bash", "input_schema": {"type": "object"}}
    buffer = Buffer(
        read_wire_messages("user", "Go", id="m"), Prompt("Be good.", (Tool("Bash", tool),))
    )
    assert write_anthropic_body(buffer, "claude-opus-5", 1024) == {
        "model": "claude-opus-5",
        "max_tokens": 1024,
        "system": "Be good.",
        "tools": [tool],
        "messages": [{"role": "user", "content": "Go"}],
    }
    assert (
        read_anthropic_prompt(write_anthropic_body(buffer, "claude-opus-5", 1024)) == buffer.prompt
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ("many", None),
        ({}, None),
        ({"service_tier": "standard"}, None),
        ({"input_tokens": 3}, Usage(3)),
        ({"input_tokens": -3, "output_tokens": True, "cache_read_input_tokens": 1.5}, Usage()),
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 7,
                "output_tokens": 11,
            },
            Usage(3, 5, 7, 11),
        ),
        (  # kept for five minutes, and for an hour
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 7,
                "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 5},
            },
            Usage(3, 0, 7, cache_write_1h=5),
        ),
        (
            {"input_tokens": 3, "cache_creation_input_tokens": 7, "cache_creation": None},
            Usage(3, 0, 7),
        ),
        (  # never more for an hour than in all
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 7,
                "cache_creation": {"ephemeral_1h_input_tokens": 9},
            },
            Usage(3, 0, 7, cache_write_1h=7),
        ),
        (
            {"input_tokens": 3, "cache_creation": {"ephemeral_1h_input_tokens": 9}},
            Usage(3, 0, 9, cache_write_1h=9),
        ),
        (
            {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
            Usage(output=9, reasoning=4),
        ),
        ({"input_tokens": 3, "iterations": [{"type": "message", "input_tokens": 3}]}, Usage(3)),
        (  # a compaction on the server, then the answer: both cost, only the second is the context
            {
                "input_tokens": 229,
                "output_tokens": 7,
                "iterations": [
                    {
                        "type": "compaction",
                        "input_tokens": 100,
                        "cache_creation_input_tokens": 55096,
                        "output_tokens": 131,
                    },
                    {"type": "message", "input_tokens": 229, "output_tokens": 7},
                ],
            },
            Usage(329, 0, 55096, 138, context=229, compacted=55196, summary_output=131),
        ),
        (  # it paused after its compaction, which the sums above leave out
            {
                "input_tokens": 0,
                "output_tokens": 0,
                "iterations": [{"type": "compaction", "input_tokens": 700, "output_tokens": 40}],
            },
            Usage(700, output=40, context=700, compacted=700, summary_output=40),
        ),
        (  # the calls of a turn write alike: told of each, or of all together
            {
                "input_tokens": 1,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 40},
                "iterations": [
                    {"type": "message", "input_tokens": 1, "cache_creation_input_tokens": 60},
                    {"type": "message", "input_tokens": 1, "cache_creation_input_tokens": 40},
                ],
            },
            Usage(2, 0, 100, context=41, cache_write_1h=100),
        ),
        (
            {
                "input_tokens": 1,
                "iterations": [
                    {"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 60}},
                    {"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 40}},
                ],
            },
            Usage(2, 0, 100, context=41, cache_write_1h=40),
        ),
    ],
)
def test_usage(usage: Any, expected: Usage | None) -> None:
    assert read_anthropic_usage(usage) == expected


def test_the_true_size_is_the_sum() -> None:
    usage = read_anthropic_usage(
        {"input_tokens": 3, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7}
    )
    assert usage is not None
    assert usage.prompt == 15


# ---- any block, any body --------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=8)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
CALLS = st.fixed_dictionaries(
    {
        "type": st.just("tool_use"),
        "id": TEXTS,
        "name": TEXTS,
        "input": st.dictionaries(TEXTS, JSON, max_size=2),
    }
)
RESULTS = st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": TEXTS, "content": TEXTS}
)
LOOSE = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries({"type": st.just("search_result"), "anything": JSON}),
    st.just(IMAGE),
)
WIRE = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "role": st.just("assistant"),
                "content": st.lists(LOOSE | CALLS, min_size=2, max_size=4),
            }
        ),
        st.fixed_dictionaries(
            {"role": st.just("user"), "content": st.lists(LOOSE | RESULTS, min_size=2, max_size=4)}
        ),
        st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": TEXTS}),
    ),
    max_size=5,
)


@given(WIRE)
def test_messages_round_trip(wire: list[dict[str, Any]]) -> None:
    messages = read_all(wire)
    assert write_messages(messages) == wire
    assert len({message.id for message in messages}) == len(messages)


@given(
    st.sampled_from(["user", "assistant", "system", "tool", ""]), st.one_of(JSON, st.lists(JSON))
)
def test_no_content_is_refused(role: str, content: Any) -> None:
    messages = read_wire_messages(role, content, id="m")
    assert messages
    assert len(write_messages(messages)) == 1
    read_anthropic_usage(content)


@pytest.mark.parametrize(
    "path", [*transcripts("derived-payloads/anthropic/*.request.json")], ids=lambda p: p.stem
)
def test_real_bodies_round_trip(path: Path) -> None:
    body = loads(path.read_bytes())
    written = write_messages(read_all(body["messages"]))
    assert [bare(one) for one in written] == [bare(one) for one in body["messages"]]
    assert len(read_anthropic_prompt(body).tools or ()) == len(body.get("tools", []))


def bare(message: dict[str, Any]) -> Any:
    """A wire message in one spelling: content as blocks, without cache marks."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return message["role"], [bare_block(block) for block in blocks]


def bare_block(block: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in block.items() if key not in ("cache_control", "caller")}
    match kept:
        case {"content": [{"type": "text", "text": str(text)} as only]} if set(only) <= {
            "type",
            "text",
            "cache_control",
        }:
            kept["content"] = text
    if kept.get("is_error") is False:
        del kept["is_error"]
    return kept
