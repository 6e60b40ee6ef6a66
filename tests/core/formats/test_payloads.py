"""Bare payloads: one body, a response, a list, a row of bodies; what they share and what is no step."""

import json
from typing import Any

import pytest

from tests.core.formats.heads import read
from tests.core.formats.payload_bodies import TURNS, body, said, texts


def test_one_body_is_one_request_without_usage() -> None:
    session = read(body(TURNS[:3], system="sys"))
    (thread,) = session.threads
    (request,) = thread.requests
    assert (session.format, thread.id, request.index, request.usage, request.model) == (
        ("anthropic", "main", 0, None, "claude-x")
    )
    assert texts(session, 0) == ["one", "two", "three"]
    assert (request.prompt.system, [tool.name for tool in request.prompt.tools or ()]) == (
        "sys",
        ["read"],
    )
    assert thread.end.messages() == request.view.messages()
    assert not session.notes


def test_a_complete_body_has_an_empty_prompt_and_a_list_has_none() -> None:
    assert read({"model": "m", "messages": TURNS[:1]}).main.prompt.system == ""
    for bare in (TURNS[:1], {"messages": TURNS[:1]}):
        assert read(bare).main.prompt.system is None
        assert read(bare).main.prompt.tools is None


def test_system_messages_of_anthropic_stay_where_they_are() -> None:
    session = read(body([TURNS[0], said("system", "listing"), TURNS[1]]))
    assert [message.role for message in session.main.end] == ["user", "system", "assistant"]


def test_the_answer_stands_in_the_end_buffer() -> None:
    response = {
        "type": "message",
        "role": "assistant",
        "model": "claude-y",
        "content": [{"type": "text", "text": "two"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
    }
    session = read(
        {"request": body(TURNS[:1]), "response": response, "timestamp": "2026-01-01T00:00:00Z"}
    )
    (request,) = session.main.requests
    assert request.usage
    assert (
        request.usage.prompt,
        request.usage.output,
        request.finish,
        request.model,
        request.time,
    ) == ((15, 3, "end_turn", "claude-y", "2026-01-01T00:00:00Z"))
    assert [message.text for message in session.main.end] == ["one", "two"]
    assert texts(session, 0) == ["one"]


@pytest.mark.parametrize(
    ("response", "text", "prompt"),
    [
        (
            {
                "type": "message",
                "role": "assistant",
                "content": "yes",
                "usage": {"input_tokens": 4, "output_tokens": 1},
            },
            "yes",
            4,
        ),
        (
            {
                "choices": [{"message": said("assistant", "yes"), "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 4},
            },
            "yes",
            4,
        ),
        (
            {
                "object": "response",
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "yes"}],
                    }
                ],
                "usage": {"input_tokens": 4, "output_tokens": 1},
            },
            "yes",
            4,
        ),
    ],
    ids=["anthropic", "chat", "responses"],
)
def test_a_response_alone_says_what_it_says(
    response: dict[str, Any], text: str, prompt: int
) -> None:
    session = read(response)
    (request,) = session.main.requests
    assert request.usage
    assert (request.usage.prompt, len(request.view)) == (prompt, 0)
    assert [message.text for message in session.main.end] == [text]
    assert "response has no request" in session.notes[0]


def told_by(dialect: str, text: str, prompt: int = 4) -> list[dict[str, Any]]:
    """A stream that says `text` in two pieces."""
    one, two = text[:1], text[1:]
    match dialect:
        case "anthropic":
            start = {
                "id": "m",
                "role": "assistant",
                "model": "claude-x",
                "content": [],
                "usage": {"input_tokens": prompt},
            }
            deltas = [
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "text_delta", "text": t},
                }
                for t in (one, two)
            ]
            block = {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            }
            return [
                {"type": "message_start", "message": start},
                {"type": "ping"},
                block,
                *deltas,
                {"type": "message_stop"},
            ]
        case "chat":
            chunk = {"id": f"c-{text}", "object": "chat.completion.chunk", "model": "gpt-x"}
            parts = [
                {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": t}}]}
                for t in (one, two)
            ]
            return [*parts, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
                    {**chunk, "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": 2}}]  # fmt: skip
        case "responses":
            item = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
            done = {
                "id": "r",
                "object": "response",
                "output": [item],
                "usage": {"input_tokens": prompt},
            }
            return [
                {"type": "response.created", "response": {"id": "r", "output": []}},
                {
                    "type": "response.output_text.delta",
                    "item_id": "i",
                    "output_index": 0,
                    "delta": one,
                },
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": done},
            ]
        case _:
            said_in: list[dict[str, Any]] = [
                {"candidates": [{"content": {"role": "model", "parts": [{"text": t}]}}]}
                for t in (one, two)
            ]
            said_in[1]["candidates"][0]["finishReason"] = "STOP"
            return [said_in[0], {**said_in[1], "usageMetadata": {"promptTokenCount": prompt}}]


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses", "gemini"])
def test_a_list_of_events_is_the_response_that_they_tell(dialect: str) -> None:
    plain = told_by(dialect, "yes")
    named = [{"event": "x", "data": event} for event in plain]
    for events in (plain, named, [{"event": "x", "data": json.dumps(event)} for event in plain]):
        session = read(events)
        (request,) = session.main.requests
        assert request.usage
        assert (request.usage.prompt, len(request.view)) == (4, 0)
        assert [message.text for message in session.main.end] == ["yes"]
        assert f"{len(events)} events of a stream" in session.notes[0]


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_events_a_line_several_answers_one_after_the_other(dialect: str) -> None:
    lines = [*told_by(dialect, "yes"), *told_by(dialect, "no", 9)]
    session = read(*lines)
    told = [
        request.usage.prompt
        for thread in session.threads
        for request in thread.requests
        if request.usage
    ]
    assert told[0] == 4
    assert sum("events of a stream" in note for note in session.notes) == 1
    assert not session.problems


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_a_stream_that_breaks_off_says_so(dialect: str) -> None:
    events = told_by(dialect, "yes")[:-2] if dialect != "chat" else told_by(dialect, "yes")[:2]
    for session in (read(*events), read(events)):
        assert len(session.main.requests) == 1
        assert any("it breaks off" in note for note in session.notes)
