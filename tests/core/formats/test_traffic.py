"""Captures of other tools: read as a recording of our own proxy, each buffer as its request says it."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from inspector.core.errors import NothingToRead
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Head
from inspector.core.session import Session
from inspector.transcripts.files import find_session_path, open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import check, deep, laid_out, spoilt, told
from tests.core.formats.traffic_samples import HERE, buffers, prompts, values

SAMPLES = {
    "packets.json": "exchange-log",
    "exchanges.jsonl": "exchange-log",
    "frames.ndjson": "frames",
    "archive.har": "har",
    "cassette.yaml": "cassette",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_each_is_known_by_its_content(name: str) -> None:
    session = open_transcript(HERE / name)
    assert session.format == SAMPLES[name]
    assert session.main.requests
    assert not session.problems
    check(session)
    given = [value for _, value in values(name)]
    head = Head(given[:60], given[0] if len(given) == 1 else None)
    sure = {one.name: one.sniff(head) for one in FORMATS}
    assert sure.pop(SAMPLES[name]) >= 0.95
    assert max(sure.values()) < 0.9


@pytest.mark.parametrize("name", SAMPLES)
def test_any_value_in_any_place(name: str) -> None:
    given = values(name)
    format_ = next(one for one in FORMATS if one.name == SAMPLES[name])
    for bad in (None, [7], {"role": 1}, -(10**30), deep(60), b"\x00"):
        for changed in spoilt(given, bad, depth=7):
            told(format_, changed)


def test_packets_with_two_sessions() -> None:
    """The first is read, the others are named; what failed is no step."""
    first = open_transcript(HERE / "packets.json")
    assert [one.id for one in first.held] == ["0000-one", "0000-two"]
    assert buffers(first.main) == [
        ["user: Count to three."],
        ["user: Count to three.", "assistant: next", "tool: one…〔已截断,原长 90 字符〕"],
    ]
    assert prompts(first) == [[(120, 9), (150, 8)]]
    assert first.main.prompt.system == "You count."
    assert [call.kind for call in first.side_calls] == ["models"]
    assert any("shortened" in note for note in first.notes)
    for wanted in ("0000-two", "1"):
        second = open_transcript(find_session_path(HERE / "packets.json", wanted))
        assert prompts(second) == [[(115, 2)]]
        assert [(call.kind, call.status) for call in second.side_calls] == [
            ("models", 200),
            ("refused", 529),
        ]
    with pytest.raises(NothingToRead, match="0000-one, 0000-two"):
        open_transcript(find_session_path(HERE / "packets.json", "0000-three"))


def test_lines_with_a_socket_and_a_stream() -> None:
    """A line may hold several requests of a WebSocket; a request that goes on from a response holds what is new."""
    session = open_transcript(HERE / "exchanges.jsonl")
    assert prompts(session) == [[(100, 5), (112, 6), (130, 3)]]
    assert [len(one) for one in buffers(session.main)] == [1, 3, 5]
    assert buffers(session.main)[1] == ["user: Count to two.", "assistant: next", "tool: one"]


def test_frames_grow(tmp_path: Path) -> None:
    """A log of frames is followed line by line; a request whose answer has not ended is there already."""
    lines = (HERE / "frames.ndjson").read_text(encoding="utf-8").splitlines(keepends=True)
    file = tmp_path / "frames.ndjson"
    file.write_text("".join(lines[:5]), encoding="utf-8")
    seen: list[Session] = []
    follower = Follower(file, seen.append)
    follower.look()
    assert prompts(seen[-1]) == [[(100, 5), None]]
    with file.open("a", encoding="utf-8") as grows:
        grows.write("".join(lines[5:]))
    follower.look()
    assert laid_out(seen[-1]) == laid_out(open_transcript(HERE / "frames.ndjson"))
    assert prompts(seen[-1]) == [[(100, 5), (112, 6)]]


def test_an_archive_in_the_order_of_its_times() -> None:
    session = open_transcript(HERE / "archive.har")
    assert prompts(session) == [[(30, 6)], [(20, 3)]]
    assert any("are not model calls" in note for note in session.notes)


def test_a_cassette_with_its_bodies_in_every_shape() -> None:
    """Values, a text over two lines, an event stream, packed bytes."""
    session = open_transcript(HERE / "cassette.yaml")
    assert prompts(session) == [[(30, 6)], [(20, 3)]]
    assert session.main.prompt.system == "You count."
    assert buffers(session.threads[1]) == [["user: Und weiter?\nBitte: „drei“."]]
    assert session.threads[1].end.messages()[-1].text == "Drei."


RUBY = """---
http_interactions:
- request:
    method: post
    uri: https://api.example.com/v1/chat/completions
    body:
      encoding: UTF-8
      string: '{"model":"elm-1","messages":[{"role":"user","content":"Count."}]}'
    headers:
      Content-Type:
      - application/json
  response:
    status:
      code: 200
      message: OK
    headers: {}
    body:
      encoding: ASCII-8BIT
      string: |
        {
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "One."}, "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 8, "completion_tokens": 2}
        }
  recorded_at: Thu, 01 Jan 2026 00:00:00 GMT
recorded_with: VCR 6.2.0
"""
GO = """---
version: 2
interactions:
    - id: 0
      request:
        body: |
            {"model":"elm-1","messages":[{"role":"user","content":"Count."}]}
        form: {}
        headers:
            Content-Type:
                - application/json
        url: https://api.example.com/v1/chat/completions
        method: POST
      response:
        body: '{"choices":[{"index":0,"message":{"role":"assistant","content":"One."},"finish_reason":"stop"}],
          "usage":{"prompt_tokens":8,"completion_tokens":2}}'
        status: 200 OK
        code: 200
        duration: 1.5s
"""


PLAIN = '\'{"model":"elm-1","messages":[{"role":"user","content":"Count."}]}\''
PACKED = RUBY.replace(
    f"string: {PLAIN}", f"base64_string: {b64encode(PLAIN[1:-1].encode()).decode()}"
)


@pytest.mark.parametrize(
    ("text", "time"),
    [(RUBY, "2026-01-01T00:00:00+00:00"), (PACKED, "2026-01-01T00:00:00+00:00"), (GO, "")],
    ids=["Ruby", "Ruby, exact bytes", "Go"],
)
def test_cassettes_of_other_languages(tmp_path: Path, text: str, time: str) -> None:
    file = tmp_path / "c.yml"
    file.write_text(text, encoding="utf-8")
    session = open_transcript(file)
    assert (buffers(session.main), prompts(session)) == ([["user: Count."]], [[(8, 2)]])
    assert session.main.requests[0].time == time


def test_a_log_with_the_keys_of_its_relatives() -> None:
    """An address, a status and a body under other names; seconds since 1970."""
    body = {
        "anthropic_version": "v",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Count."}],
    }
    said = {
        "type": "message",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 8, "output_tokens": 2},
    }
    address = "https://x.example.com/v1/publishers/anthropic/models/oak-2:rawPredict"
    request = {
        "method": "POST",
        "url": address,
        "timestamp": 1767225600,
        "headers": {},
        "body": body,
    }
    row = {"request": request, "response": {"status_code": 200, "body_raw": json.dumps(said)}}
    session = told(detect(Head([row], row)), [(1, row)])
    assert prompts(session) == [[(8, 2)]]
    assert (session.main.model, session.main.requests[0].time) == (
        "oak-2",
        "2026-01-01T00:00:00.000+00:00",
    )


ASKED = {
    "anthropic_version": "v",
    "model": "oak-2",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Count."}],
}
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [],
    "usage": {"input_tokens": 8, "output_tokens": 2},
}
URL = "https://api.anthropic.com/v1/messages"
INVOKED = {
    "schemaType": "ModelInvocationLog",
    "region": "r",
    "modelId": "anthropic.oak-2",
    "operation": "InvokeModel",
}
CONVERSED = {
    "input": {"inputBodyJson": {"messages": [{"role": "user", "content": [{"text": "Count."}]}]}},
    "output": {
        "outputBodyJson": {
            "output": {"message": {"role": "assistant", "content": []}},
            "usage": {"inputTokens": 8, "outputTokens": 2},
        }
    },
}


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        ({"scope": "https://api.anthropic.com:443", "method": "POST", "path": "/v1/messages", "body": ASKED,
          "status": 200, "response": SAID, "rawHeaders": ["content-type", "application/json"]}, (8, 2)),
        (INVOKED | {"input": {"inputBodyJson": ASKED}, "output": {"outputBodyJson": SAID}}, (8, 2)),
        (INVOKED | {"operation": "ConverseStream", **CONVERSED}, (8, 2)),
        ({"custom_id": "1", "params": ASKED}, None),
        ({"custom_id": "1", "method": "POST", "url": "/v1/messages", "body": ASKED}, None),
    ],
)  # fmt: skip
def test_request_and_answer_side_by_side(
    row: dict[str, Any], counts: tuple[int, int] | None
) -> None:
    """As nock, Bedrock's log of invocations and batches have them."""
    session = told(detect(Head([row], row)), [(1, row)])
    assert (buffers(session.main), prompts(session)) == ([["user: Count."]], [[counts]])
    assert session.main.model in ("oak-2", "anthropic.oak-2")


def test_a_log_of_invocations_has_other_calls_and_failed_ones() -> None:
    """The model stands there as it was called: by the name of a resource, too."""
    arn = "arn:aws:bedrock:r::foundation-model/"
    sought = {
        "input": {"inputBodyJson": {"inputText": "Count."}},
        "output": {"outputBodyJson": {"embedding": [0.5]}},
    }
    other = {"modelId": f"{arn}amazon.elm-1", **sought}
    failed = {
        "operation": "Converse",
        "input": {},
        "output": {},
        "errorCode": "ThrottlingException",
    }
    conversed = {"modelId": f"{arn}oak-2", "operation": "Converse", **CONVERSED}
    rows = [INVOKED | other, INVOKED | conversed, INVOKED | failed]
    session = told(detect(Head(rows, None)), list(enumerate(rows, 1)))
    assert (session.main.model, prompts(session)) == ("oak-2", [[(8, 2)]])
    assert [(call.model, call.status) for call in session.side_calls] == [
        ("", 200),
        ("anthropic.oak-2", 400),
    ]
