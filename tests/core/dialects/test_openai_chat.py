"""OpenAI Chat: what every shape on the wire reads as, and that it comes back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.openai_chat import (
    CHAT,
    leading,
    read_chat_message,
    read_chat_prompt,
    read_chat_usage,
    write_chat_body,
)
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
from inspector.core.usage import Usage

AUDIO = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "read", "arguments": '{"path": "a.py"}'},
}

SHAPES: list[tuple[str, dict[str, Any], str, tuple[Part, ...]]] = [
    ("plain", {"role": "user", "content": "hi"}, "user", (Text("hi"),)),
    ("system", {"role": "developer", "content": "be brief"}, "system", (Text("be brief"),)),
    ("no content", {"role": "assistant", "content": None}, "assistant", ()),
    (
        "parts",
        {"role": "user", "content": [{"type": "text", "text": "a"}, "b"]},
        "user",
        (Text("a"), Text("b")),
    ),
    (
        "image bytes",
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}],
        },
        "user",
        (Image("image/png", "QUJD"),),
    ),
    (
        "image address",
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://x.test/a.png"}]},
        "user",
        (Image("", "", "https://x.test/a.png"),),
    ),
    ("audio", {"role": "user", "content": [AUDIO]}, "user", (Opaque("input_audio", AUDIO, 73),)),
    (
        "refusal",
        {"role": "assistant", "content": None, "refusal": "no"},
        "assistant",
        (Text("no"),),
    ),
    (
        "reasoning",
        {"role": "assistant", "content": "x", "reasoning_content": "because"},
        "assistant",
        (Thinking("because"), Text("x")),
    ),
    (
        "call",
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        "assistant",
        (ToolCall("c1", "read", {"path": "a.py"}),),
    ),
    (
        "call with free text",
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{broken"}}],
        },
        "assistant",
        (ToolCall("c", "f", "{broken"),),
    ),
    (
        "call with a number",
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "5"}}],
        },
        "assistant",
        (ToolCall("c", "f", "5"),),
    ),
    (
        "call without arguments",
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": ""}}],
        },
        "assistant",
        (ToolCall("c", "f", {}),),
    ),
    (
        "custom call",
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "{}"}}],
        },
        "assistant",
        (ToolCall("c", "sql", "{}"),),
    ),
    (
        "legacy call",
        {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a":1}'}},
        "assistant",
        (ToolCall("", "f", {"a": 1}),),
    ),
    (
        "legacy result",
        {"role": "function", "name": "f", "content": "r"},
        "tool",
        (ToolResult("", "r"),),
    ),
    (
        "result",
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        "tool",
        (ToolResult("c1", "done"),),
    ),
    (
        "result in parts",
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        "tool",
        (ToolResult("c1", "a\nb"),),
    ),
    ("unknown role", {"role": "model", "content": "x"}, "user", (Text("x"),)),
]


@pytest.mark.parametrize(
    ("wire", "role", "parts"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES]
)
def test_shape(wire: dict[str, Any], role: str, parts: tuple[Part, ...]) -> None:
    (message,) = read_chat_message(wire, id="m1", line=7)
    assert (message.id, message.role, message.line) == ("m1", role, 7)
    if parts and isinstance(parts[0], Opaque):
        assert isinstance(message.parts[0], Opaque)
        assert message.parts[0].value == parts[0].value
    else:
        assert message.parts == parts


def test_a_legacy_call_and_its_answer_are_named_alike() -> None:
    items = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    _, call, result = (message for unit in CHAT.units(items) for message in unit)
    assert (call.calls[0].id, result.result and result.result.call_id) == (
        "function-call-1",
        "function-call-1",
    )


def test_what_is_no_object_is_no_message() -> None:
    assert read_chat_message("hello", id="m") == ()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 100, "completion_tokens": 7}, Usage(100, 0, 0, 7)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 60},
            },
            Usage(40, 60, 0, 9),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 9,
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
            Usage(9, 0, 0, 9, 4),
        ),
        (
            {"prompt_tokens": 50, "completion_tokens": 1, "prompt_cache_hit_tokens": 20},
            Usage(30, 20, 0, 1),
        ),
        ({"prompt_tokens": 5, "prompt_tokens_details": None, "completion_tokens": None}, Usage(5)),
    ],
)
def test_usage(usage: Any, expected: Usage | None) -> None:
    assert read_chat_usage(usage) == expected


def test_prompt_is_what_stands_first() -> None:
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "one"},
            {"role": "developer", "content": [{"type": "text", "text": "two"}]},
            {"role": "user", "content": "hi"},
            {"role": "system", "content": "later"},
        ],
        "tools": [{"type": "function", "function": {"name": "read"}}, {"type": "web_search"}],
    }
    prompt = read_chat_prompt(body)
    assert prompt.system == "one\n\ntwo"
    assert [tool.name for tool in prompt.tools or ()] == ["read", "web_search"]
    assert len(leading(body["messages"])) == 2


def test_body_comes_back() -> None:
    wire = [
        row[1]
        for row in SHAPES
        if row[0] in ("plain", "parts", "image bytes", "audio", "reasoning", "call")
    ]
    wire += [{"role": "tool", "tool_call_id": "c1", "content": "done"}]
    body = {
        "messages": [{"role": "system", "content": "sys"}, *wire],
        "tools": [{"type": "function", "function": {}}],
    }
    buffer = Buffer(
        tuple(m for n, w in enumerate(wire) for m in read_chat_message(w, id=str(n))),
        read_chat_prompt(body),
    )
    written = write_chat_body(buffer, "gpt", 500)
    assert (written["model"], written["max_completion_tokens"]) == ("gpt", 500)
    assert written["messages"][0] == {"role": "system", "content": "sys"}
    again = tuple(
        m for n, w in enumerate(written["messages"][1:]) for m in read_chat_message(w, id=str(n))
    )
    assert Buffer(again, read_chat_prompt(written)) == buffer


def test_another_providers_tool_is_turned_into_chats() -> None:
    schema = {"type": "object", "properties": {"p": {"type": "string"}}}
    tool = Tool("read", {"name": "read", "description": "reads", "input_schema": schema})
    (written,) = write_chat_body(Buffer((), Prompt("", (tool,))), "m", 1)["tools"]
    assert written == {
        "type": "function",
        "function": {"name": "read", "description": "reads", "parameters": schema},
    }


TEXTS = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ("role", "content", "tool_calls", "function_call", "tool_call_id", "refusal", "type", "text")
)


@given(st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON), max_size=2)))
def test_nothing_breaks_it(wire: dict[str, Any]) -> None:
    messages = read_chat_message(wire, id="m")
    assert all(isinstance(message, Message) for message in messages)
    write_chat_body(Buffer(messages), "m", 1)
    read_chat_usage(wire)
    read_chat_prompt(wire)
