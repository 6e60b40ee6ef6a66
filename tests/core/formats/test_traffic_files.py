"""Captures that are refused, exported or real."""

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
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import check, laid_out, told
from tests.core.formats.recordings import Recording
from tests.core.formats.traffic_samples import HERE, buffers, prompts, values
from tests.shared import transcripts


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
