"""OpenAI Responses items: every kind read, grouped into responses, and written back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.openai_responses import (
    read_item,
    read_item_parts,
    read_items,
    read_responses_prompt,
    read_responses_usage,
)
from inspector.core.dialects.openai_responses_body import write_responses_body
from inspector.core.jsontext import loads
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage
from tests.shared import transcripts

BODIES = list(transcripts("derived-payloads/openai-responses/*.request.json"))


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(parts)}


PNG = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}


@pytest.mark.parametrize(
    ("item", "role", "parts"),
    [
        (said("user", {"type": "input_text", "text": "hi"}), "user", (Text("hi"),)),
        ({"role": "user", "content": "hi"}, "user", (Text("hi"),)),
        (said("developer", {"type": "input_text", "text": "rules"}), "system", (Text("rules"),)),
        (said("system", {"type": "input_text", "text": "rules"}), "system", (Text("rules"),)),
        (said("assistant", {"type": "output_text", "text": "ho"}), "assistant", (Text("ho"),)),
        (said("assistant", {"type": "refusal", "refusal": "no"}), "assistant", (Text("no"),)),
        (said("user", PNG), "user", (Image("image/png", "aGk="),)),
        (
            said("user", {**PNG, "image_url": "https://x/y.png"}),
            "user",
            (Image("", "", "https://x/y.png"),),
        ),
        (
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "s"}],
                "encrypted_content": "e",
            },
            "assistant",
            (Thinking("s", "e"),),
        ),
        ({"type": "reasoning", "summary": [], "content": None}, "assistant", (Thinking(""),)),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
            "assistant",
            (ToolCall("c", "f", {"a": 1}),),
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": '},
            "assistant",
            (ToolCall("c", "f", '{"a": '),),
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "12"},
            "assistant",
            (ToolCall("c", "f", "12"),),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "p", "input": '{"a":1}'},
            "assistant",
            (ToolCall("c", "p", '{"a":1}'),),
        ),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
            "assistant",
            (ToolCall("c", "local_shell", {"command": ["ls"]}),),
        ),
        (
            {
                "type": "tool_search_call",
                "call_id": "c",
                "execution": "client",
                "arguments": {"query": "q"},
            },
            "assistant",
            (ToolCall("c", "tool_search", {"query": "q"}),),
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": "out"},
            "tool",
            (ToolResult("c", "out"),),
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [
                    {"type": "input_text", "text": "a"},
                    PNG,
                    {"type": "input_text", "text": "b"},
                ],
            },
            "tool",
            (ToolResult("c", "a\nb"), Image("image/png", "aGk=")),
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": {"content": "out", "success": False},
            },
            "tool",
            (ToolResult("c", "out", True),),
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": {"x": 1}},
            "tool",
            (ToolResult("c", '{"x":1}'),),
        ),
        (
            {"type": "custom_tool_call_output", "call_id": "c", "output": "out"},
            "tool",
            (ToolResult("c", "out"),),
        ),
        (
            {"type": "tool_search_output", "call_id": "c", "tools": [{"name": "t"}]},
            "tool",
            (ToolResult("c", '[{"name":"t"}]'),),
        ),
    ],
)
def test_every_kind_of_item_is_read(item: Any, role: str, parts: tuple[Any, ...]) -> None:
    assert read_item_parts(item) == (role, parts)


@pytest.mark.parametrize(
    ("item", "role", "size"),
    [
        (
            {
                "type": "web_search_call",
                "id": "ws",
                "status": "completed",
                "action": {"query": "q"},
            },
            "assistant",
            24,
        ),
        ({"type": "compaction", "id": "cmp", "encrypted_content": "x" * 40}, "assistant", 40),
        ({"type": "compaction_trigger"}, "user", 2),
        ({"type": "item_reference", "id": "rs_1"}, "assistant", 2),
        ({"type": "tool_search_call", "execution": "server", "call_id": "c"}, "assistant", 36),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "system", 31),
        ({"type": "never heard of"}, "assistant", 2),
        (7, "user", 1),
    ],
)
def test_what_only_the_provider_reads_is_kept_unchanged_with_its_size(
    item: Any, role: str, size: int
) -> None:
    found, parts = read_item_parts(item)
    (part,) = parts
    assert isinstance(part, Opaque)
    assert (found, part.value, part.size) == (role, item, size)


def test_a_compaction_is_a_summary_and_belongs_to_no_response() -> None:
    items = [
        {"type": "compaction", "encrypted_content": "x"},
        said("assistant", {"type": "output_text", "text": "on"}),
    ]
    first, second = read_items(items, prefix="i")
    assert (first.summary, second.summary) == (True, False)
    assert read_item(items[0], id="z").summary


def test_the_items_of_one_response_become_one_message() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "out"}
    items = [
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "summary": []},
        said("assistant"),
        call,
        output,
        call,
    ]
    messages = read_items(items, prefix="i", line=3, time="t")
    assert [(message.id, message.role) for message in messages] == [
        ("i0", "user"),
        ("i1", "assistant"),
        ("i4", "tool"),
        ("i5", "assistant"),
    ]
    assert [type(part).__name__ for part in messages[1].parts] == ["Thinking", "ToolCall"]
    assert {(message.line, message.time) for message in messages} == {(3, "t")}


@pytest.mark.parametrize(
    ("items", "count"),
    [("hi", 1), (None, 0), (3, 0), ({"role": "user", "content": "hi"}, 1), ([], 0)],
)
def test_an_input_may_be_a_string_or_nothing(items: Any, count: int) -> None:
    assert len(read_items(items, prefix="i")) == count


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 10, "output_tokens": 3}, Usage(10, 0, 0, 3)),
        (
            {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 8},
                "output_tokens": 3,
                "output_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(2, 8, 0, 3, 2),
        ),
        (
            {
                "input_tokens": 10,
                "cached_input_tokens": 6,
                "cache_write_input_tokens": 3,
                "output_tokens": 3,
                "reasoning_output_tokens": 1,
            },
            Usage(1, 6, 3, 3, 1),
        ),
        ({"input_tokens": 10, "cached_input_tokens": 12}, Usage(0, 12, 0, 0, 0, True, 10)),
        ({"input_tokens": True, "output_tokens": "3"}, None),
        ({"total_tokens": 9}, None),
        ([], None),
    ],
)
def test_usage_is_read_in_both_spellings(usage: Any, expected: Usage | None) -> None:
    assert read_responses_usage(usage) == expected


def test_a_prompt_without_a_name_for_a_tool_takes_its_type() -> None:
    body = {
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}],
    }
    prompt = read_responses_prompt(body)
    assert prompt.system == "Be brief."
    assert [tool.name for tool in prompt.tools or ()] == ["f", "web_search"]
    assert read_responses_prompt({}) == Prompt("", ())


def test_a_body_carries_everything_and_stores_nothing() -> None:
    tool = {"type": "function", "name": "f"}
    messages = (
        Message("a", "system", (Text("rules"),)),
        Message("b", "user", (Text("look"), Image("image/png", "aGk="))),
        Message(
            "c",
            "assistant",
            (
                Thinking("lost"),
                Thinking("kept", "sealed"),
                Text("ho"),
                ToolCall("1", "f", {"x": "é"}),
                ToolCall("2", "patch", "raw"),
            ),
        ),
        Message("d", "tool", (ToolResult("1", "out"), Image("image/png", "aGk="))),
        Message("e", "tool", (ToolResult("2", "done"),)),
    )
    assert write_responses_body(
        Buffer(messages, Prompt("Be brief.", (Tool("f", tool),))), "gpt-x", 99
    ) == {
        "model": "gpt-x",
        "max_output_tokens": 99,
        "store": False,
        "instructions": "Be brief.",
        "tools": [tool],
        "input": [
            said("developer", {"type": "input_text", "text": "rules"}),
            said("user", {"type": "input_text", "text": "look"}, PNG),
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "kept"}],
                "encrypted_content": "sealed",
            },
            said("assistant", {"type": "output_text", "text": "ho"}),
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"x":"é"}'},
            {"type": "custom_tool_call", "call_id": "2", "name": "patch", "input": "raw"},
            {
                "type": "function_call_output",
                "call_id": "1",
                "output": [{"type": "input_text", "text": "out"}, PNG],
            },
            {"type": "custom_tool_call_output", "call_id": "2", "output": "done"},
        ],
    }


def same(one: tuple[Message, ...], other: tuple[Message, ...]) -> bool:
    return [(message.role, message.parts) for message in one] == [
        (message.role, message.parts) for message in other
    ]


@pytest.mark.parametrize("path", BODIES, ids=lambda path: path.name)
def test_a_real_body_written_back_reads_the_same(path: Path) -> None:
    body = loads(path.read_bytes())
    messages = read_items(body["input"], prefix="i")
    written = write_responses_body(Buffer(messages, read_responses_prompt(body)), body["model"], 1)
    assert same(read_items(written["input"], prefix="i"), messages)
    assert read_responses_prompt(written) == read_responses_prompt(body)


KINDS = st.sampled_from(
    [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "compaction",
        "web_search_call",
        "input_text",
    ]
)
KEYS = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "summary",
        "arguments",
        "output",
        "call_id",
        "text",
        "image_url",
        "name",
    ]
)
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | KINDS
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=2), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(
    st.builds(
        lambda kind, rest: {**rest, "type": kind}, KINDS, st.dictionaries(KEYS, VALUES, max_size=6)
    )
    | VALUES
)
def test_nothing_raises_whatever_the_item(item: Any) -> None:
    messages = read_items([item, item], prefix="i")
    write_responses_body(Buffer(messages), "m", 1)
    read_responses_usage(item)
    if isinstance(item, dict):
        read_responses_prompt(item)


WORDS = st.text(st.characters(codec="utf-8"), max_size=5)
CALLS = st.builds(
    ToolCall,
    WORDS,
    WORDS,
    st.dictionaries(WORDS, st.integers(), max_size=2)
    | WORDS.filter(lambda text: text[:1].strip() not in ("{", "[")),
)
MESSAGES = st.one_of(
    st.builds(
        lambda parts: Message("m", "user", tuple(parts)),
        st.lists(st.builds(Text, WORDS), min_size=1, max_size=2),
    ),
    st.builds(
        lambda thought, text, calls: Message(
            "m", "assistant", (Thinking(thought, "sealed"), Text(text), *calls)
        ),
        WORDS,
        WORDS,
        st.lists(CALLS, max_size=2),
    ),
    st.builds(lambda name, text: Message("m", "tool", (ToolResult(name, text),)), WORDS, WORDS),
)


@given(st.lists(MESSAGES, max_size=6))
def test_what_is_written_reads_the_same(messages: list[Message]) -> None:
    """But for assistants that follow one another, which are one response."""
    alone = tuple(
        message
        for n, message in enumerate(messages)
        if not n or message.role != "assistant" or messages[n - 1].role != "assistant"
    )
    assert same(read_items(write_responses_body(Buffer(alone), "m", 1)["input"], prefix="i"), alone)
