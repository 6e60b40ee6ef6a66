"""Streams put together: whatever pieces they came in, wherever they were cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.dialects.catalogue import DIALECTS, assemble, events


def sse(*values: Any, end: str = "\n") -> str:
    return "".join(f"event: x{end}data: {json.dumps(value)}{end}{end}" for value in values)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_every_kind(end: str) -> None:
    stream = (
        f"\ufeff: a comment{end}{end}"
        + sse({"a": 1}, {"b": "ü\u2028x"}, end=end)
        + f"data: [DONE]{end}{end}"
    )
    assert list(events(stream)) == [{"a": 1}, {"b": "ü\u2028x"}]


def test_data_over_several_lines_and_without_its_end() -> None:
    assert list(events('data: {"a":\ndata: 1}\n\nid: 7\nretry: 3\n\ndata:{"b": 2}')) == [
        {"a": 1},
        {"b": 2},
    ]
    assert list(events('data: {"a": 1}\n\ndata: {"b": ')) == [{"a": 1}]
    assert list(events("")) == []


ANTHROPIC = [
    {
        "type": "message_start",
        "message": {"id": "m", "model": "c", "content": [], "usage": {"input_tokens": 9}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "you"}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t", "name": "f"},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"a"'},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": ": 1}"},
    },
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 4},
        "context_management": {"applied_edits": [{"type": "clear", "cleared_input_tokens": 5}]},
    },
    {"type": "message_stop"},
]


def test_anthropic() -> None:
    whole = assemble(DIALECTS["anthropic"], events(sse(*ANTHROPIC)))
    assert whole.finished
    assert whole.body()["content"] == [
        {"type": "text", "text": "hi you"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    assert whole.body()["usage"] == {"input_tokens": 9, "output_tokens": 4}
    assert whole.body()["context_management"]["applied_edits"][0]["cleared_input_tokens"] == 5
    assert (whole.body()["stop_reason"], whole.body()["id"]) == ("tool_use", "m")


RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "r", "model": "g", "output": []}},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "message", "role": "assistant"},
    },
    {"type": "response.output_text.delta", "output_index": 0, "delta": "hi "},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "you"},
    {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hi you"}],
        },
    },
    {
        "type": "response.output_item.added",
        "output_index": 1,
        "item": {"type": "function_call", "call_id": "t", "name": "f"},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
    {
        "type": "response.completed",
        "response": {"id": "r", "output": [], "usage": {"input_tokens": 9, "output_tokens": 4}},
    },
]
CHAT = [
    {
        "id": "c",
        "model": "g",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "hi "}}],
    },
    {
        "choices": [
            {"index": 1, "delta": {"content": "another choice"}},
            {"index": 0, "delta": {"content": "you"}},
        ]
    },
    {
        "choices": [
            {
                "index": 0,
                "delta": {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f"}}]},
            }
        ]
    },
    {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}
        ]
    },
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
]
GEMINI = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "think", "thought": True}]}}]},
    {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "hi "}]}}],
        "usageMetadata": {"promptTokenCount": 8},
    },
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "you"}]}}]},
    {
        "candidates": [
            {
                "content": {"parts": [{"functionCall": {"name": "f", "args": {}}}]},
                "finishReason": "STOP",
            }
        ]
    },
    {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}, "modelVersion": "g"},
]


def test_the_others() -> None:
    responses = assemble(DIALECTS["openai-responses"], RESPONSES)
    assert responses.finished
    assert [one["type"] for one in responses.body()["output"]] == ["message"]
    chat = assemble(DIALECTS["openai-chat"], CHAT)
    assert chat.finished
    message = chat.body()["choices"][0]["message"]
    assert (message["content"], message["tool_calls"][0]["function"]) == (
        "hi you",
        {"name": "f", "arguments": "{}"},
    )
    assert chat.body()["usage"]["prompt_tokens"] == 9
    gemini = assemble(DIALECTS["gemini"], GEMINI)
    assert gemini.finished
    assert gemini.body()["candidates"][0]["content"]["parts"] == [
        {"thought": True, "text": "think"},
        {"text": "hi you"},
        {"functionCall": {"name": "f", "args": {}}},
    ]
    assert gemini.body()["usageMetadata"]["promptTokenCount"] == 9


@pytest.mark.parametrize(
    ("name", "whole", "said"),
    [
        ("anthropic", ANTHROPIC[:4], lambda body: body["content"][0]["text"]),
        ("openai-chat", CHAT[:2], lambda body: body["choices"][0]["message"]["content"]),
        ("openai-responses", RESPONSES[:4], lambda body: body["output"][0]["content"][0]["text"]),
        ("gemini", GEMINI[1:3], lambda body: body["candidates"][0]["content"]["parts"][0]["text"]),
    ],
)
def test_cut_off_what_came_is_kept(name: str, whole: list[Any], said: Any) -> None:
    found = assemble(DIALECTS[name], whole)
    assert not found.finished
    assert said(found.body()) == "hi you"


def test_half_a_call_is_kept_as_text() -> None:
    found = assemble(
        DIALECTS["openai-responses"], [*RESPONSES[:-2], {**RESPONSES[-2], "delta": '{"pa'}]
    )
    assert found.body()["output"][1]["arguments"] == '{"pa'
    found = assemble(DIALECTS["anthropic"], ANTHROPIC[:6])
    assert found.body()["content"][1]["input"] == '{"a"'


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}),
        ("openai-chat", {"error": {"message": "m"}}),
        (
            "openai-responses",
            {"type": "response.failed", "response": {"error": {"code": "x", "message": "m"}}},
        ),
        ("openai-responses", {"type": "error", "message": "m"}),
        ("gemini", {"error": {"code": 503, "message": "m"}}),
    ],
)
def test_an_error_in_the_stream(name: str, event: Any) -> None:
    found = assemble(DIALECTS[name], [event])
    assert found.failure
    assert found.failure["message"] == "m"
    assert not found.finished


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.integers(-1, 3)
    | st.sampled_from(["", "x", "text", "text_delta", "message", "response.created"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "index",
                    "delta",
                    "message",
                    "item",
                    "choices",
                    "candidates",
                    "content",
                    "parts",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(told=st.lists(_ANY, max_size=6))
@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_anything_is_gathered(name: str, told: list[Any]) -> None:
    assert isinstance(assemble(DIALECTS[name], told).body(), dict)


@given(text=st.text(max_size=60))
def test_any_text_is_a_stream(text: str) -> None:
    list(events(text))
