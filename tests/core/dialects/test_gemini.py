"""Gemini's JSON to messages and back: calls with and without ids, images, thoughts, what is not understood."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.dialects.gemini import (
    GEMINI,
    read_gemini_prompt,
    read_gemini_usage,
    write_contents,
    write_gemini_body,
)
from inspector.core.dialects.rewrite import read_wire_items
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.message import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from inspector.core.usage import Usage
from tests.core.formats.heads import read


def read_contents(contents: list[Any]) -> tuple[Message, ...]:
    return read_wire_items(GEMINI.name, GEMINI.items({"contents": contents}))


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}
RESULT = {"functionResponse": {"name": "f", "response": {"output": "text"}}}


@pytest.mark.parametrize(
    ("part", "parts"),
    [
        ({"text": "hi"}, (Text("hi"),)),
        ({"text": "hm", "thought": True}, (Thinking("hm"),)),
        ({"text": "hm", "thought": True, "thoughtSignature": "s"}, (Thinking("hm", "s"),)),
        ({"text": "hi", "thought_signature": "s"}, (Thinking("", "s"), Text("hi"))),
        ({"functionCall": {"id": "i", "name": "f", "args": {}}}, (ToolCall("i", "f", {}),)),
        ({"function_call": {"id": "i", "name": "f"}}, (ToolCall("i", "f", {}),)),
        ({"inlineData": {"mimeType": "image/png", "data": "AA"}}, (Image("image/png", "AA"),)),
        ({"inline_data": {"mime_type": "image/png", "data": "AA"}}, (Image("image/png", "AA"),)),
        ({"fileData": {"mimeType": "image/png", "fileUri": "u"}}, (Image("image/png", "", "u"),)),
        (
            {"executableCode": {"code": "1"}},
            (Opaque("executableCode", {"executableCode": {"code": "1"}}, 31),),
        ),
    ],
)
def test_parts(part: Any, parts: Any) -> None:
    (message,) = read_contents([content("user", part)])
    assert message.parts == parts


@pytest.mark.parametrize(
    ("response", "text", "failed"),
    [
        ({"output": "x"}, "x", False),
        ({"result": "x"}, "x", False),
        ({"error": "x"}, "x", True),
        ({"output": {"a": 1}}, '{"a":1}', False),
        ({"output": "x", "exit": 1}, '{"output":"x","exit":1}', False),
        ({"anything": 1}, '{"anything":1}', False),
        ("x", "x", False),
        (None, "", False),
    ],
)
def test_results(response: Any, text: str, failed: bool) -> None:
    told = {"functionResponse": {"id": "i", "name": "f", "response": response}}
    (message,) = read_contents([content("user", told)])
    assert message.result == ToolResult("i", text, failed)


def test_calls_without_ids_find_their_results() -> None:
    """Two equal calls at once, answered in order; the same call again later has another id."""
    contents = [
        content("user", {"text": "go"}),
        content("model", CALL, CALL),
        content("user", RESULT, RESULT),
    ]
    messages = read_contents([*contents, content("model", CALL), content("user", RESULT)])
    ids = [call.id for message in messages for call in message.calls]
    assert len(set(ids)) == 3
    assert [message.result.call_id for message in messages if message.result] == ids
    again = read_contents(contents)
    assert [call.id for message in again for call in message.calls] == ids[:2]
    assert len({message.together for message in messages if message.result}) == 2


def test_a_result_whose_call_is_gone() -> None:
    (message,) = read_contents([content("user", RESULT)])
    assert message.result == ToolResult("f", "text")


def test_there_and_back() -> None:
    contents = [
        content("user", {"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}),
        content("model", {"text": "hm", "thought": True, "thoughtSignature": "s"}, {"text": "so"}),
        content(
            "model",
            {"functionCall": {"id": "i", "name": "f", "args": {"a": 1}}, "thoughtSignature": "t"},
        ),
        content(
            "user",
            {"functionResponse": {"id": "i", "name": "f", "response": {"output": "x"}}},
            {"text": "and"},
        ),
        content(
            "user", {"functionResponse": {"id": "j", "name": "j", "response": {"error": "no"}}}
        ),
    ]
    assert write_contents(read_contents(contents)) == contents


def test_prompt_and_usage() -> None:
    tool = {"name": "f", "parameters": {"type": "OBJECT"}}
    body = {
        "systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}]},
        "tools": [{"functionDeclarations": [tool]}, {"googleSearch": {}}],
    }
    assert read_gemini_prompt(body) == Prompt(
        "a\n\nb", (Tool("f", tool), Tool("googleSearch", {"googleSearch": {}}))
    )
    assert read_gemini_prompt({"system_instruction": "s"}) == Prompt("s", ())
    told = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
    }
    assert read_gemini_usage(told) == Usage(40, 60, 0, 12, 7)
    assert read_gemini_usage({}) is None
    assert read_gemini_usage(None) is None
    written = write_gemini_body(Buffer((), read_gemini_prompt(body)), 9)
    assert written["tools"] == body["tools"]
    assert written["systemInstruction"]["parts"] == [{"text": "a\n\nb"}]
    anthropic = Tool("g", {"name": "g", "description": "d", "input_schema": {"type": "object"}})
    (told_tools,) = write_gemini_body(Buffer((), Prompt("", (anthropic,))), 9)["tools"]
    declared = {"name": "g", "description": "d", "parametersJsonSchema": {"type": "object"}}
    assert told_tools == {"functionDeclarations": [declared]}


def test_a_bare_payload_is_a_session() -> None:
    body = {
        "contents": [
            content("user", {"text": "go"}),
            content("model", CALL),
            content("user", RESULT),
        ]
    }
    assert detect(Head([body], body)).name == "gemini"
    session = read(body)
    (request,) = session.main.requests
    assert [message.role for message in request.view] == ["user", "assistant", "tool"]
    response = {
        "candidates": [{"content": content("model", {"text": "done"}), "finishReason": "STOP"}]
    }
    told = {
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1},
        "modelVersion": "gemini-x",
    }
    session = read({"request": body, "response": {**response, **told}})
    (request,) = session.main.requests
    assert request.usage
    assert (request.usage.prompt, request.finish, request.model) == (9, "STOP", "gemini-x")
    assert session.main.end.messages()[-1].text == "done"


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["", "x", "model", "f"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "parts",
                    "text",
                    "functionCall",
                    "functionResponse",
                    "name",
                    "response",
                    "inlineData",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(contents=_ANY)
def test_anything_is_read_and_written(contents: Any) -> None:
    messages = read_contents(contents)
    assert len({message.id for message in messages}) == len(messages)
    write_contents(messages)
    read_gemini_prompt({"tools": contents, "systemInstruction": contents})
    read_gemini_usage(contents)
