"""Captures of other tools: read as a recording of our own proxy, each buffer as its request says it."""

import gzip
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

from inspector.core.dialects.catalogue import endpoint
from inspector.core.errors import NothingToRead, UnknownFormat
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Head
from inspector.core.formats.proxy.whole import WholeExchanges, har_text
from inspector.core.session import Session, Thread
from inspector.transcripts.files import find_session_path, open_transcript
from inspector.transcripts.follow import Follower
from inspector.transcripts.yamltext import parse_yaml as yaml
from tests.core.formats.feeding import DATA, check, deep, laid_out, records, spoilt, told
from tests.core.formats.recordings import Recording
from tests.shared import transcripts

HERE = DATA / "traffic"
SAMPLES = {
    "packets.json": "exchange-log",
    "exchanges.jsonl": "exchange-log",
    "frames.ndjson": "frames",
    "archive.har": "har",
    "cassette.yaml": "cassette",
}


def values(name: str) -> list[tuple[int, Any]]:
    """As they are fed: a document on line 1, or a value a line."""
    path = HERE / name
    if path.suffix in (".jsonl", ".ndjson"):
        return records(path)
    data = path.read_bytes()
    return [(1, yaml(data) if path.suffix == ".yaml" else json.loads(data))]


def buffers(thread: Thread) -> list[list[str]]:
    """What stood in the buffer of each request: role and what it says."""
    return [
        [f"{m.role}: {m.result.content if m.result else m.text or m.calls[0].name}" for m in r.view]
        for r in thread.requests
    ]


def prompts(session: Session) -> list[list[tuple[int, int] | None]]:
    """(prompt, output) of each request of each thread."""
    return [
        [(r.usage.prompt, r.usage.output) if r.usage else None for r in one.requests]
        for one in session.threads
    ]


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
    assert any("ask no model" in note for note in session.notes)


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


def test_a_live_conversation() -> None:
    """The setup stands with every call; pieces are put together; a turn with two calls has no tokens of its own."""

    def sent(**data: Any) -> dict[str, Any]:
        return {"kind": "message", "direction": "sent", "data": data}

    def received(**data: Any) -> dict[str, Any]:
        return {"kind": "message", "direction": "received", "data": data}

    def spoken(*words: str) -> list[dict[str, Any]]:
        audio = {
            "modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "AAAA"}}]}
        }
        return [
            received(serverContent=one)
            for word in words
            for one in ({"outputTranscription": {"text": word}}, audio)
        ]

    def over(used: int, answer: int) -> dict[str, Any]:
        return received(
            serverContent={"turnComplete": True},
            usageMetadata={"promptTokenCount": used, "responseTokenCount": answer},
        )

    def turn(text: str) -> dict[str, Any]:
        return sent(
            client_content={
                "turns": [{"role": "user", "parts": [{"text": text}]}],
                "turnComplete": True,
            }
        )

    tool = {"functionDeclarations": [{"name": "next", "parameters": {"type": "OBJECT"}}]}
    setup = {
        "model": "models/oak-live",
        "systemInstruction": {"parts": [{"text": "You count."}]},
        "tools": [tool],
    }
    rows = [
        sent(setup=setup),
        received(setupComplete={}),
        turn("Count."),
        *spoken("O", "ne."),
        over(30, 5),
    ]
    rows += [
        turn("Go on."),
        received(toolCall={"functionCalls": [{"id": "f", "name": "next", "args": {}}]}),
    ]
    rows += [
        sent(
            tool_response={"functionResponses": [{"id": "f", "name": "next", "response": {"n": 2}}]}
        )
    ]
    rows += [*spoken("Two."), over(90, 9)]
    document = {"version": 1, "interactions": rows}
    session = told(detect(Head([document], document)), [(1, document)])
    assert prompts(session) == [[(30, 5), None, None]]
    assert [len(one) for one in buffers(session.main)] == [1, 3, 5]
    assert buffers(session.main)[1] == ["user: Count.", "assistant: One.", "user: Go on."]
    assert session.main.end.messages()[-1].text == "Two."
    request = session.main.requests[2]
    assert (request.prompt.system, request.model) == ("You count.", "oak-live")
    assert any("2 calls" in note for note in session.notes)


def test_what_we_export_can_be_opened_again(tmp_path: Path) -> None:
    recording = Recording()
    body: dict[str, Any] = {
        "model": "oak-2",
        "max_tokens": 9,
        "system": "s",
        "messages": [{"role": "user", "content": "hi"}],
    }
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hello."}],
        "usage": {"input_tokens": 8, "output_tokens": 2},
    }
    recording.reply(recording.ask(body), said)
    body["messages"] += [
        {"role": "assistant", "content": said["content"]},
        {"role": "user", "content": "Go on."},
    ]
    recording.reply(
        recording.ask(body), {**said, "usage": {"input_tokens": 15, "output_tokens": 2}}
    )
    whole = WholeExchanges()
    exchanges = [
        one for line, record in enumerate(recording.records, 1) for one in whole.take(line, record)
    ]
    file = tmp_path / "own.har"
    file.write_text("".join(har_text(exchanges, "1")), encoding="utf-8")
    again, ours = open_transcript(file), recording.session()
    assert buffers(again.main) == buffers(ours.main)
    assert prompts(again) == prompts(ours) == [[(8, 2), (15, 2)]]


def test_an_archive_with_packed_pieces() -> None:
    """Polly.JS keeps packed bodies as a list of pieces."""
    archive = values("archive.har")[0][1]
    response = archive["log"]["entries"][0]["response"]
    packed = gzip.compress(b64decode(response["content"]["text"]))
    pieces = [b64encode(piece).decode() for piece in (packed[:10], packed[10:])]
    response["content"]["text"] = json.dumps(pieces)
    response["headers"].append({"name": "Content-Encoding", "value": "gzip"})
    assert prompts(told(detect(Head([archive], archive)), [(1, archive)])) == [[(30, 6)], [(20, 3)]]


# -- refusals


def test_captures_in_which_no_model_is_asked_are_refused(tmp_path: Path) -> None:
    entry = {
        "request": {"method": "GET", "url": "https://example.com/"},
        "response": {"status": 200},
    }
    with pytest.raises(UnknownFormat, match="HAR web capture"):
        detect(Head([{"log": {"entries": [entry]}}], {"log": {"entries": [entry]}}))
    with pytest.raises(UnknownFormat, match="answers of a batch"):
        detect(
            Head([{"custom_id": "1", "response": {"status_code": 200, "body": {}}, "error": None}])
        )
    file = tmp_path / "c.yaml"
    file.write_text(
        "interactions:\n- request: {method: GET, uri: 'https://example.com/'}\n", encoding="utf-8"
    )
    with pytest.raises(UnknownFormat, match="VCR cassette"):
        open_transcript(file)
    file.write_text("interactions:\n- request: [\n", encoding="utf-8")
    with pytest.raises(NothingToRead, match="YAML"):
        open_transcript(file)


# -- real files

REAL = [
    path
    for pattern in ("api-trace/**/*.*json*", "har/**/*.har", "api-cassettes/**/*.yaml")
    for path in transcripts(pattern)
    if path.is_file()
]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[-40:])
def test_real_captures_open(path: Path) -> None:
    session = open_transcript(path)
    assert not session.problems
    told_tokens = any(
        one.usage and one.usage.prompt for thread in session.threads for one in thread.requests
    )
    assert told_tokens or any("unknown" in note for note in session.notes)
    check(session)


@pytest.mark.parametrize(
    "path",
    [path for path in REAL if "packets" in path.read_text(encoding="utf-8")[:400]],
    ids=lambda path: path.name,
)
def test_real_buffers_are_the_bodies_in_the_file(path: Path) -> None:
    """What the dialect reads of each body that is complete in itself stands in the buffer, message by message."""
    session = open_transcript(path)
    packets = json.loads(path.read_text(encoding="utf-8"))["packets"]
    compared = 0
    for thread in session.threads:
        for request in thread.requests:
            packet = packets[request.line - 1]
            body, where = packet["request"]["body"], endpoint("POST", packet["path"])
            assert where.dialect is not None
            if body.get("previous_response_id"):
                continue
            wanted = [
                m for unit in where.dialect.units(where.dialect.conversation(body)) for m in unit
            ]
            assert [(m.role, m.parts) for m in request.view] == [(m.role, m.parts) for m in wanted]
            assert request.prompt == where.dialect.prompt(body)
            used = where.dialect.usage(packet["response"]["body"].get(where.dialect.counts))
            assert request.usage == used
            compared += 1
    assert compared or all(
        packet["request"]["body"].get("previous_response_id") for packet in packets
    )


def test_a_body_in_chunks_is_put_together() -> None:
    """Some captures keep the lengths that stood between the pieces on the line."""
    document = json.loads((HERE / "archive.har").read_bytes())
    whole = laid_out(told(next(one for one in FORMATS if one.name == "har"), [(1, document)]))
    changed = 0
    for entry in document["log"]["entries"]:
        content = entry["response"]["content"]
        if content.get("text") and "encoding" not in content:
            data = content["text"].encode()
            pieces = [data[at : at + 40] for at in range(0, len(data), 40)]
            body = (
                b"".join(b"%x;last=no\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"
            )
            content["text"] = body.decode()
            entry["response"]["headers"].append({"name": "Transfer-Encoding", "value": "chunked"})
            changed += 1
    assert changed
    assert (
        laid_out(told(next(one for one in FORMATS if one.name == "har"), [(1, document)])) == whole
    )
