"""What stands in a span, in every shape that tracers give it: messages, bodies, counts, times."""

from typing import Any

import pytest

from inspector.core.formats.traces.payloads import pythonic, read_input
from inspector.core.formats.traces.span import read_time, usage_from_counts
from inspector.core.formats.traces.wire import read_tool_list, read_wire
from inspector.core.message import Image, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage

VALUE = {"type": "text", "value": "v"}


@pytest.mark.parametrize(
    ("wire", "parts"),
    [
        ({"role": 1, "content": [{"type": 1, "text": "a"}, {"type": 3, "cacheType": "x"}]}, (Text("a"),)),
        ({"role": "model", "parts": [{"text": "a", "thought": True}, {"text": "b"}]}, (Thinking("a"), Text("b"))),
        (
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": 1}}}]},
            (ToolCall("f", "f", {"x": 1}),),
        ),
        (
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"y": 2}}}]},
            (ToolResult("f", '{"y":2}'),),
        ),
        (
            {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "i", "toolName": "f", "input": {}}]},
            (ToolCall("i", "f", {}),),
        ),
        (
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "i", "output": VALUE}]},
            (ToolResult("i", "v"),),
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i", "content": "v"}]},
            (ToolResult("i", "v"),),
        ),
        ({"type": "human", "data": {"content": "a"}}, (Text("a"),)),
        ({"type": "function_call", "call_id": "i", "name": "f", "arguments": "{}"}, (ToolCall("i", "f", {}),)),
        ({"message": {"role": "user", "contents": [{"message_content": {"type": "text", "text": "a"}}]}}, (Text("a"),)),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]},
            (Image("image/png", "QQ=="),),
        ),
        ({"role": "tool", "tool_call_id": "i", "content": "v"}, (ToolResult("i", "v"),)),
        (
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "i", "name": "f", "input": {}}}]},
            (ToolCall("i", "f", {}),),
        ),
        (
            {"role": "user", "content": [{"toolResult": {"toolUseId": "i", "content": [{"text": "v"}]}}]},
            (ToolResult("i", "v"),),
        ),
        (
            {"type": "AssistantMessage", "content": [{"id": "i", "name": "f", "arguments": "{}"}]},
            (ToolCall("i", "f", {}),),
        ),
        (
            {"type": "FunctionExecutionResultMessage", "content": [{"call_id": "i", "name": "f", "content": "v"}]},
            (ToolResult("i", "v"),),
        ),
        ({"role": "user", "blocks": [{"block_type": "text", "text": "a"}]}, (Text("a"),)),
    ],
)  # fmt: skip
def test_messages_in_every_shape(wire: Any, parts: tuple[Any, ...]) -> None:
    assert [part for message in read_wire(wire) for part in message.parts] == list(parts)


def test_bodies_and_reprs_are_taken_apart() -> None:
    assert pythonic("A(x='y', n=[B(k=1), {'z': None}], f=g.h)") == {
        "x": "y",
        "n": [{"k": 1}, {"z": None}],
        "f": None,
    }
    assert pythonic("role='user' content='it\\'s' calls=[{'a': 'b c'}] m=M(x=1)") == {
        "role": "user", "content": "it's", "calls": [{"a": "b c"}], "m": None
    }  # fmt: skip
    google = {
        "model": "g",
        "config": {
            "system_instruction": "s",
            "tools": [{"function_declarations": [{"name": "f"}]}],
        },
    }
    logged = read_input({**google, "contents": [{"role": "user", "parts": [{"text": "a"}]}]})
    assert (
        len(logged.items),
        logged.system,
        [tool.name for tool in read_tool_list(logged.tools) or ()],
    ) == (
        1,
        "s",
        ["f"],
    )
    for odd in (
        "A(",
        "A(((((",
        "role='user' content='",
        "A(" + "[" * 5000 + ")",
        "A(" + "-" * 9000 + "1)",
    ):
        pythonic(odd)
    assert [item["role"] for item in read_input("system: a\nuser: b\nassistant: c: d").items] == [
        "system", "user", "assistant"
    ]  # fmt: skip


def test_cached_tokens_inside_or_beside_the_input() -> None:
    assert usage_from_counts(100, 5, 64, 10) == Usage(26, 64, 10, 5)
    assert usage_from_counts(100, 5, 640) == Usage(100, 640, 0, 5), "more than the input: beside it"
    assert usage_from_counts(100, 5, 64, 0, None, 169) == Usage(100, 64, 0, 5), "the total says so"
    assert usage_from_counts("1200", "7") == Usage(1200, output=7)
    assert [usage_from_counts(told, 3) for told in (0, 1, None, "x", -5, 10**15)] == [None] * 6


def test_times_in_every_way() -> None:
    noon = 1_767_268_800_000_000_000
    known: list[Any] = [noon, str(noon), [noon // 10**9, 0], "2026-01-01T12:00:00Z"]
    assert [read_time(one)[0] for one in known] == [noon] * 4
    odd: list[Any] = [None, {}, [1], 10**40]
    assert [read_time(one) for one in odd] == [(0, ""), (0, ""), (0, ""), (10**40, "")]
