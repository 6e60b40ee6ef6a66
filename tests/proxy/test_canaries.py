"""A key in each of 60 places, sent through the real proxy or to the real receiver: it is in no byte of the file."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from inspector.core.jsontext import dumps
from inspector.proxy.receiver import SpanReceiver
from tests.proxy.raw import END, Wire, answer, client, proxied
from tests.proxy.test_receiver import post as send_export

LOOK = "sk-canary-4f1b9c27d6e803a5"
"""A key that is known by how it looks."""
WORD = "Canary.of.Nothing/77-Known"
"""A key that is known only by what stands before it."""
KEPT = "what is no key is kept"
"""Stands beside every key."""

# -- through the proxy: what is sent, what is answered

JSON = "Content-Type: application/json"
STREAM = "Content-Type: text/event-stream"


def _request(*headers: str, path: str = "/v1/messages", body: Any = None) -> bytes:
    data = dumps(
        {"model": "m", "note": KEPT} if body is None else {"model": "m", "note": KEPT, "more": body}
    ).encode()
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        JSON,
        *headers,
        f"Content-Length: {len(data)}",
    )
    return "\r\n".join(lines).encode() + END + data


def _said(text: str) -> bytes:
    """A request in which a message says this."""
    return _request(body={"messages": [{"role": "user", "content": text}]})


ASKED = _request()
ANSWERED = answer(dumps({"ok": True}).encode(), JSON)

REQUESTS: dict[str, bytes] = {
    "authorization header": _request(f"Authorization: Bearer {WORD}"),
    "x-api-key header": _request(f"x-api-key: {WORD}"),
    "x-auth-token header": _request(f"X-Auth-Token: {WORD}"),
    "cookie header": _request(f"Cookie: theme=dark; session={WORD}"),
    "header of no known name": _request(f"X-My-Own: {WORD}"),
    "websocket protocol header": _request(
        f"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.{WORD}"
    ),
    "query of the referer": _request(f"HTTP-Referer: https://app.example/?key={WORD}&page=2"),
    "user of the referer": _request(f"HTTP-Referer: https://me:{WORD}@app.example/"),
    "kept header with a key in it": _request(f"User-Agent: tool/1 ({LOOK})"),
    "key in the query": _request(path=f"/v1beta/models/m:generateContent?key={WORD}"),
    "access_token in the query": _request(path=f"/v1/messages?beta=true&access_token={WORD}"),
    "part of the path": _request(path=f"/gateway/{LOOK}/v1/messages"),
    "api_key field": _request(body={"api_key": WORD}),
    "token of a tool server": _request(
        body={"mcp_servers": [{"url": "https://a", "authorization_token": WORD}]}
    ),
    "headers in a field": _request(
        body={"headers": {"Authorization": f"Bearer {WORD}", "X-Api-Key": WORD}}
    ),
    "headers as pairs": _request(body={"headers": [["X-Api-Key", WORD]]}),
    "variables by name": _request(body={"env": [{"name": "OPENAI_API_KEY", "value": WORD}]}),
    "name of a field": _request(body={LOOK: 1}),
    "arguments that are JSON": _said(dumps({"headers": {"authorization": f"Bearer {WORD}"}})),
    "JSON in JSON in JSON": _said(dumps(dumps({"x-api-key": WORD}))),
    "headers as Python writes them": _said(str({"X-Auth-Token": WORD})),
    "command with a header": _said(f"curl -H 'Authorization: Bearer {WORD}' https://api.example"),
    "command with an option": _said(f"deploy --api-key {WORD} --yes"),
    "line of an .env file": _said(f"MODE=test\nexport STRIPE_SECRET_KEY={WORD}\n"),
    "setting in a program": _said(f'client = Client(api_key="{WORD}")'),
    "address in a text": _said(f"GET https://maps.example/v1?q=a&key={WORD} failed"),
    "percent-coded address": _said(f"https%3A%2F%2Fmaps.example%3Fkey%3D{LOOK}%26q=a"),
    "database's address": _said(f"postgres://user:{WORD.replace('/', '-')}@db.example/main"),
    "cookie line": _said(f"HTTP/1.1 200 OK\nSet-Cookie: session={WORD}; HttpOnly\n"),
    "private key": _said(f"-----BEGIN RSA PRIVATE KEY-----\n{WORD}\n-----END RSA PRIVATE KEY-----"),
    "login in base64": _said("Authorization: Basic " + b64encode(f"me:{WORD}".encode()).decode()),
    "known look in a text": _said(f"It says: invalid key {LOOK}."),
}

ANSWERS: dict[str, tuple[bytes, bytes]] = {
    "cookie that is set": (ASKED, answer(b"{}", JSON, f"Set-Cookie: session={WORD}")),
    "error that repeats the key": (
        _request(f"x-api-key: {WORD}"),
        answer(dumps({"error": f"invalid key {WORD}"}).encode(), JSON, status="401 Unauthorized"),
    ),
    "error that repeats it in base64": (
        _request(f"x-api-key: {WORD}"),
        answer(dumps({"error": b64encode(WORD.encode()).decode()}).encode(), JSON),
    ),
    "error with a known look": (
        ASKED,
        answer(dumps({"error": f"no quota for {LOOK}"}).encode(), JSON),
    ),
    "stream": (ASKED, answer(f'data: {{"delta":"use {LOOK} then"}}\n\n'.encode(), STREAM)),
    "arguments in a stream": (
        ASKED,
        answer(b"data: " + dumps({"a": dumps({"password": WORD})}).encode(), STREAM),
    ),
    "text": (ASKED, answer(f"Authorization: Bearer {WORD}".encode(), "Content-Type: text/plain")),
    "location of a redirect": (
        ASKED,
        answer(b"{}", JSON, f"Location: https://a.example/?token={WORD}"),
    ),
}


def _secret_of(data: bytes) -> str:
    text = data.decode()
    return LOOK if LOOK in text else WORD


def _spellings(secret: str) -> set[str]:
    """The key, parts of it, and how else it is written above."""
    as_login = b64encode(f"me:{secret}".encode()).decode()
    parts = {secret[-12:], secret[:12], secret.replace("/", "-")}
    return parts | {as_login, b64encode(secret.encode()).decode().rstrip("=")}


def _check(recorded: str, secret: str) -> None:
    assert KEPT in recorded
    for spelling in _spellings(secret):
        assert spelling not in recorded, spelling


@pytest.mark.parametrize("place", [*REQUESTS, *ANSWERS])
def test_key_through_the_proxy_when_recorded_is_gone(tmp_path: Path, place: str) -> None:
    request, reply = ANSWERS.get(place) or (REQUESTS[place], ANSWERED)
    secret = _secret_of(request + reply)

    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(reply)
        wire.receive()

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(request)
        assert wire.message()[0] + b"" in reply
        assert proxy.recorder.settle()
        recorded = proxy.recorder.path.read_text()
    assert recorded.count('"type":"response"') == 1
    _check(recorded, secret)


# -- to the receiver

Span = dict[str, Any]


def _attribute(name: str, value: str) -> Span:
    return {"key": name, "value": {"stringValue": value}}


def _holding(*fields: Span) -> Span:
    return {"arrayValue": {"values": [{"kvlistValue": {"values": list(fields)}}]}}


SECRET_FIELD = _attribute("api_key", WORD)
SPANS: dict[str, Span] = {
    "attribute": {"attributes": [SECRET_FIELD]},
    "attribute of an event": {"events": [{"name": "e", "attributes": [SECRET_FIELD]}]},
    "attribute of a link": {"links": [{"spanId": "ab", "attributes": [SECRET_FIELD]}]},
    "field in an attribute": {"attributes": [{"key": "request", "value": _holding(SECRET_FIELD)}]},
    "header attribute": {"attributes": [_attribute("http.request.header.x-auth-token", WORD)]},
    "header attribute of no known name": {
        "attributes": [_attribute("http.request.header.x_my_own", WORD)]
    },
    "token attribute": {"attributes": [_attribute("app.auth_token", WORD)]},
    "query of url.full": {
        "attributes": [_attribute("url.full", f"https://a.example/v1?key={WORD}&alt=sse")]
    },
    "url.query": {"attributes": [_attribute("url.query", f"?alt=sse&access_token={WORD}")]},
    "user of an address": {
        "attributes": [_attribute("db.connection", f"redis://u:{WORD.replace('/', '-')}@h:1")]
    },
    "JSON in an attribute": {
        "attributes": [_attribute("input", dumps({"authorization": f"Bearer {WORD}"}))]
    },
    "messages in an attribute": {
        "attributes": [
            _attribute(
                "gen_ai.input.messages", dumps([{"parts": [{"content": f"my key: {LOOK}"}]}])
            )
        ]
    },
    "exception message": {
        "events": [
            {
                "name": "exception",
                "attributes": [_attribute("exception.message", f"401 for {LOOK}")],
            }
        ]
    },
    "exception stacktrace": {
        "events": [
            {
                "name": "e",
                "attributes": [_attribute("exception.stacktrace", f'f(api_key="{WORD}")\n')],
            }
        ]
    },
    "status": {"status": {"code": 2, "message": f"invalid key {LOOK}"}},
    "status that repeats an attribute": {
        "attributes": [SECRET_FIELD],
        "status": {"code": 2, "message": f"The key {WORD} is not valid."},
    },
    "name": {"name": f"POST /v1?key={WORD}"},
    "trace state": {"traceState": f"vendor={LOOK}"},
    "name of an attribute": {"attributes": [_attribute(LOOK, "1")]},
}


def _traces(
    span: Span, *, scope: Span | None = None, resource: Span | None = None, **more: Any
) -> Span:
    whole = {"traceId": "ab", "spanId": "cd", "name": "n", **span}
    whole["attributes"] = [*whole.get("attributes", []), _attribute("note", KEPT)]
    scopes = {"scope": scope or {}, "spans": [whole]}
    return {"resourceSpans": [{"resource": resource or {}, "scopeSpans": [scopes], **more}]}


def _logs(record: Span) -> Span:
    whole = {"spanId": "cd", "eventName": "gen_ai.choice", "body": {"stringValue": KEPT}, **record}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [whole]}]}]}


EXPORTS: dict[str, tuple[str, Span]] = {
    **{f"span: {place}": ("traces", _traces(span)) for place, span in SPANS.items()},
    "scope": ("traces", _traces({}, scope={"name": "s", "attributes": [SECRET_FIELD]})),
    "name of a scope": ("traces", _traces({}, scope={"name": f"s {LOOK}"})),
    "resource": ("traces", _traces({}, resource={"attributes": [SECRET_FIELD]})),
    "address of a schema": ("traces", _traces({}, schemaUrl=f"https://a.example/?token={WORD}")),
    "log attribute": ("logs", _logs({"attributes": [SECRET_FIELD, _attribute("note", KEPT)]})),
    "log body": ("logs", _logs({"body": _holding(SECRET_FIELD, _attribute("content", KEPT))})),
    "log text": ("logs", _logs({"body": {"stringValue": f"{KEPT}, not {LOOK}"}})),
}


def _protobuf(signal: str, document: Span) -> bytes:
    from google.protobuf.json_format import ParseDict

    made: Any = ExportLogsServiceRequest() if signal == "logs" else ExportTraceServiceRequest()
    ParseDict(json.loads(dumps(document)), made)
    return bytes(made.SerializeToString())


WIRES: dict[str, Callable[[str, Span], bytes]] = {
    "application/json": lambda signal, document: dumps(document).encode(),
    "application/x-protobuf": _protobuf,
}


@pytest.mark.parametrize("content_type", WIRES)
@pytest.mark.parametrize("place", EXPORTS)
def test_key_to_the_receiver_when_written_is_gone(
    tmp_path: Path, place: str, content_type: str
) -> None:
    signal, document = EXPORTS[place]
    path = tmp_path / "spans.jsonl"
    data = WIRES[content_type](signal, document)
    with SpanReceiver(path, port=0) as receiver:
        assert send_export(f"{receiver.url}/v1/{signal}", data, content_type) == 200
        recorded = path.read_text()
    assert len(recorded.splitlines()) == 2
    _check(recorded, _secret_of(dumps(document).encode()))


def test_places_when_counted_are_sixty_or_more() -> None:
    assert len(REQUESTS) + len(ANSWERS) + len(EXPORTS) >= 60
