"""Recordings in each dialect: chains of responses, web sockets, cuts inside an answer, streams that broke off."""

import json
from typing import Any

import pytest

from inspector.core.message import Opaque
from tests.core.formats.recordings import (
    PATHS,
    Recording,
    body,
    said,
    texts,
    user,
)


def item(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def ask(items: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "model": "gpt-x",
        "instructions": "sys",
        "input": items,
        "tools": [{"type": "function", "name": "f"}],
        **more,
    }


def frames(name: str, *output: dict[str, Any], tokens: int = 10) -> list[dict[str, Any]]:
    usage = {"input_tokens": tokens, "output_tokens": 2}
    done = [
        {"type": "response.output_item.done", "output_index": n, "item": one}
        for n, one in enumerate(output)
    ]
    whole = {"id": name, "model": "gpt-x", "status": "completed", "output": [], "usage": usage}
    return [
        {"type": "response.created", "response": {"id": name}},
        *done,
        {"type": "response.completed", "response": whole},
    ]


def test_a_websocket_sends_only_what_is_new() -> None:
    recording = Recording()
    socket: dict[str, Any] = {"transport": "websocket"}
    warm = recording.ask(
        {"type": "response.create", **ask([item("user", "env")], generate=False)},
        PATHS["responses"],
        **socket,
    )
    recording.reply(warm, frames=frames("r0"), status=101)
    first = ask([item("user", "do it")], previous_response_id="r0")
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    made = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    number = recording.ask({"type": "response.create", **first}, PATHS["responses"], **socket)
    recording.reply(number, frames=frames("r1", thought, made, tokens=30), status=101)
    came = {"type": "function_call_output", "call_id": "c1", "output": "7"}
    number = recording.ask(
        {"type": "response.create", **ask([came], previous_response_id="r1")},
        PATHS["responses"],
        **socket,
    )
    recording.reply(number, frames=frames("r2", item("assistant", "seven"), tokens=40), status=101)
    session = recording.session()
    assert [one.kind for one in session.side_calls] == ["prewarm"]
    assert [[message.role for message in request.view] for request in session.main.requests] == [
        ["user", "user"],
        ["user", "user", "assistant", "tool"],
    ]
    assert [request.usage.prompt for request in session.main.requests if request.usage] == [30, 40]
    assert session.main.end.messages()[-1].text == "seven"
    assert not session.notes


def test_a_chain_whose_beginning_is_missing() -> None:
    recording = Recording()
    number = recording.ask(
        ask([item("user", "and?")], previous_response_id="gone"), PATHS["responses"]
    )
    session = recording.session()
    assert any("is not in the file" in note for note in session.notes)
    recording.reply(
        number, {"id": "r1", "output": [item("assistant", "so")], "usage": {"input_tokens": 5}}
    )
    assert texts(recording.session(), 0) == ["and?"]


def test_a_chain_whose_answer_comes_late() -> None:
    recording = Recording()
    first = recording.ask(ask([item("user", "one")]), PATHS["responses"])
    recording.ask(ask([item("user", "three")], previous_response_id="r1"), PATHS["responses"])
    whole = {
        "id": "r1",
        "status": "completed",
        "output": [item("assistant", "two")],
        "usage": {"input_tokens": 5},
    }
    recording.reply(first, whole)
    session = recording.session()
    assert not [note for note in session.notes if "not in the file" in note]
    assert ["one", "two", "three"] in [
        texts(session, len(t.requests) - 1, t.id) for t in session.threads
    ]


@pytest.mark.parametrize("remote", ["trigger", "endpoint"])
def test_remote_compaction_of_responses(remote: str) -> None:
    recording = Recording()
    sealed = {"type": "compaction", "encrypted_content": "sealed"}
    items = [item("user", "one")]
    recording.reply(
        recording.ask(ask(items), PATHS["responses"]),
        {
            "id": "r1",
            "status": "completed",
            "output": [item("assistant", "two")],
            "usage": {"input_tokens": 500},
        },
    )
    items += [item("assistant", "two"), item("user", "three")]
    if remote == "trigger":
        told = ask([*items, {"type": "compaction_trigger"}])
        answer = {
            "id": "r2",
            "status": "completed",
            "output": [sealed],
            "usage": {"input_tokens": 510},
        }
        recording.reply(recording.ask(told, PATHS["responses"]), answer)
    else:
        path = PATHS["responses"] + "/compact"
        recording.reply(recording.ask(ask(items), path), {"output": [item("user", "one"), sealed]})
    items = [item("user", "one"), sealed, item("user", "four")]
    recording.reply(
        recording.ask(ask(items), PATHS["responses"]),
        {
            "id": "r3",
            "status": "completed",
            "output": [item("assistant", "five")],
            "usage": {"input_tokens": 90},
        },
    )
    session = recording.session()
    (thread,) = session.threads
    (compaction,) = thread.compactions
    assert compaction.before_request == 1
    assert compaction.summary
    assert isinstance(compaction.summary.parts[0], Opaque)
    assert [(one.kind, one.made) for one in session.side_calls] == [("compaction", 0)]
    assert len(thread.requests) == 2


def test_a_cut_inside_what_the_model_said_at_once() -> None:
    """Items of one answer are one message; a later body may share only some of them."""
    recording = Recording()
    calls = [
        {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"}
        for n in range(3)
    ]
    came = [{"type": "function_call_output", "call_id": f"c{n}", "output": "x"} for n in range(3)]
    recording.ask(ask([item("user", "one"), *calls, *came]), PATHS["responses"])
    other = [item("user", "one"), calls[0], item("assistant", "rather not"), came[0]]
    recording.ask(ask(other), PATHS["responses"])
    assert recording.records[-1]["like"]["first"]["input"] == 2
    told = [
        request.view.messages()
        for thread in recording.session().threads
        for request in thread.requests
    ]
    shapes = [[(message.role, len(message.parts)) for message in view] for view in told]
    assert [("user", 1), ("assistant", 2), ("tool", 1)] in shapes
    whole = Recording(like=False)
    whole.ask(ask(other), PATHS["responses"])
    alone = [(message.id, message.parts) for message in whole.session().main.requests[0].view]
    assert alone in [[(message.id, message.parts) for message in view] for view in told]


def test_chat_with_its_prompt_among_the_messages() -> None:
    recording = Recording()
    told: dict[str, Any] = {
        "model": "gpt-x",
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    messages: list[Any] = [{"role": "system", "content": "sys"}, {"role": "user", "content": "one"}]
    chunks = [
        {
            "id": "x",
            "model": "gpt-x",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "tw"}}],
        },
        {"choices": [{"index": 0, "delta": {"content": "o"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1}},
    ]
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    recording.reply(recording.ask({**told, "messages": messages}, PATHS["chat"]), stream=stream)
    messages = [
        *messages,
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    recording.ask({**told, "messages": messages}, PATHS["chat"])
    session = recording.session()
    assert [texts(session, n) for n in (0, 1)] == [["one"], ["one", "two", "three"]]
    assert {request.prompt.system for request in session.main.requests} == {"sys"}
    assert session.main.requests[0].usage
    assert session.main.requests[0].usage.prompt == 20
    assert session.main.requests[0].finish == "stop"


def test_gemini_calls_without_ids_are_paired() -> None:
    recording = Recording()
    told = {
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "systemInstruction": {"parts": [{"text": "sys"}]},
    }
    contents: list[Any] = [{"role": "user", "parts": [{"text": "one"}]}]
    for n in range(3):
        made = {"functionCall": {"name": "f", "args": {"same": True}}}
        chunk = {
            "candidates": [{"content": {"role": "model", "parts": [made]}, "finishReason": "STOP"}]
        }
        usage = {
            "usageMetadata": {"promptTokenCount": 10 + n, "candidatesTokenCount": 1},
            "modelVersion": "gemini-x",
        }
        number = recording.ask({**told, "contents": list(contents)}, PATHS["gemini"])
        recording.reply(number, stream=f"data: {json.dumps({**chunk, **usage})}\r\n\r\n")
        came = {"functionResponse": {"name": "f", "response": {"output": f"{n}"}}}
        contents += [{"role": "model", "parts": [made]}, {"role": "user", "parts": [came]}]
    recording.ask({**told, "contents": contents}, PATHS["gemini"])
    session = recording.session()
    view = session.main.requests[-1].view
    calls = [one.id for message in view for one in message.calls]
    assert len(set(calls)) == 3
    assert [message.result.call_id for message in view if message.result] == calls
    assert [request.usage.prompt for request in session.main.requests[:3] if request.usage] == [
        10,
        11,
        12,
    ]
    assert session.main.model == "gemini-x"
    assert len({id(request.view.stretch) for request in session.main.requests}) == 1


def test_a_stream_that_broke_off_keeps_what_came() -> None:
    events = [
        {
            "type": "message_start",
            "message": {
                **said(),
                "content": [],
                "stop_reason": None,
                "usage": {"input_tokens": 77},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "half a sen"},
        },
    ]
    stream = (
        "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)
        + 'data: {"type": "cont'
    )
    recording = Recording()
    recording.reply(recording.ask(body([user("one")])), stream=stream, ended="upstream closed")
    (request,) = recording.session().main.requests
    assert request.finish == "cut"
    assert request.usage
    assert (request.usage.prompt, request.usage.output_is_final) == (77, False)
    assert recording.session().main.end.messages()[-1].text == "half a sen"
