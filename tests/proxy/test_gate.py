"""A request at the gate: whole, let go as it was, changed, refused, kept alive meanwhile."""

import asyncio
import gzip
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.core.jsontext import loads
from inspector.core.tokens.prediction import Prediction
from inspector.proxy.gate import Decision, Forward, Gate, PendingRequest, Refuse, client_name
from inspector.proxy.record.records import RequestHead, ResponseRecord
from tests.proxy.raw import END, Wire, answer, client, echo, eventually, kinds, post, proxied

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
OK = answer(b'{"ok":true}', "Content-Type: application/json")
STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"
)
Decide = Callable[[PendingRequest], Awaitable[Decision]]


class At(Gate):
    """Decides as the test says."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self.asked: list[PendingRequest] = []
        self.answers: list[tuple[int, int, str]] = []

    def wants(self, head: RequestHead) -> bool:
        """Posts only."""
        return head.method == "POST"

    async def admit(self, asked: PendingRequest) -> Decision:
        """As the test says."""
        self.asked.append(asked)
        return await self._decide(asked)

    def answered(self, head: RequestHead, answer: ResponseRecord) -> None:
        """Noted."""
        self.answers.append((answer.exchange, answer.status, answer.ended))


def _says(decision: Decision) -> Decide:
    async def decide(asked: PendingRequest) -> Decision:
        return decision

    return decide


def test_as_it_was_means_the_same_bytes(tmp_path: Path) -> None:
    """Packed and chunked bodies too."""
    seen: list[tuple[bytes, bytes]] = []
    packed = gzip.compress(BODY)
    chunks = b"%x;x=y\r\n%b\r\n0\r\nX: y\r\n\r\n" % (len(packed), packed)
    gate = At(_says(Forward()))
    with proxied(echo(seen, OK), tmp_path, gate) as (proxy, _), client(proxy) as wire:
        wire.send(
            post("/s/t/v1/messages", packed, "Content-Encoding: gzip", "User-Agent: claude-cli/2.1")
        )
        assert wire.message()[1] == b'{"ok":true}'
        wire.send(
            b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        )
        assert wire.message()[1] == b'{"ok":true}'
        eventually(lambda: gate.answers == [(0, 200, "complete"), (1, 200, "complete")])
    first = gate.asked[0]
    assert (first.path, first.tag, first.client, first.body) == (
        "/v1/messages",
        "t",
        "claude-code",
        loads(BODY),
    )
    assert first.plain == BODY
    assert gate.asked[1].raw == packed
    assert [body for _, body in seen] == [packed, chunks]


def test_a_changed_body_is_sent_plain_and_recorded(tmp_path: Path) -> None:
    seen: list[tuple[bytes, bytes]] = []
    other = b'{"model":"m","messages":[{"role":"user","content":"other"}]}'
    with (
        proxied(echo(seen, OK), tmp_path, At(_says(Forward(other)))) as (proxy, _),
        client(proxy) as wire,
    ):
        wire.send(
            b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n"
        )
        wire.send(b"Content-Encoding: gzip\r\nX-B: 2\r\n\r\n")
        packed = gzip.compress(BODY)
        wire.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed))
        assert wire.message()[1] == b'{"ok":true}'
        assert kinds(proxy, "sent")[0]["body"] == loads(other)
        assert kinds(proxy, "request")[0]["body"] == loads(BODY)
    head, body = seen[0]
    assert body == other
    assert [line.split(b":")[0] for line in head.split(b"\r\n")[2:-2]] == [
        b"X-A",
        b"X-B",
        b"content-length",
    ]


def test_a_refused_request_never_reaches_the_provider(tmp_path: Path) -> None:
    seen: list[tuple[bytes, bytes]] = []
    gate = At(_says(Refuse(400, b'{"type":"error"}')))
    with proxied(echo(seen, OK), tmp_path, gate) as (proxy, _), client(proxy) as wire:
        for _ in range(2):
            wire.send(post("/v1/messages", BODY))
            head, body = wire.message()
            assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
            assert body == b'{"type":"error"}'
        assert [line["own"] for line in kinds(proxy, "response", 2)] == [True, True]
    assert not seen


def test_100_continue_is_answered_where_the_body_is_wanted_first(tmp_path: Path) -> None:
    seen: list[tuple[bytes, bytes]] = []
    with (
        proxied(echo(seen, OK), tmp_path, At(_says(Forward()))) as (proxy, _),
        client(proxy) as wire,
    ):
        wire.send(post("/x", BODY, "Expect: 100-continue")[: -len(BODY)])
        assert wire.until(END) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.send(BODY)
        assert wire.message()[1] == b'{"ok":true}'
    assert b"Expect" not in seen[0][0]


async def _pings(asked: PendingRequest) -> None:
    await asked.early(200, (("content-type", "text/event-stream"), ("content-length", "5")))
    await asked.early(500, ())
    for _ in range(3):
        await asked.send(b": ping\n\n")


@pytest.mark.parametrize(
    "reply",
    [
        STREAM,
        answer(b"data: 1\n\ndata: 2\n\n"),
        answer(gzip.compress(b"data: 1\n\ndata: 2\n\n", mtime=0), "Content-Encoding: gzip"),
    ],
    ids=["chunks", "sized", "packed"],
)
def test_an_answer_begun_early_goes_on_with_the_providers(tmp_path: Path, reply: bytes) -> None:
    async def decide(asked: PendingRequest) -> Decision:
        await _pings(asked)
        return Forward()

    seen: list[tuple[bytes, bytes]] = []
    with proxied(echo(seen, reply, OK), tmp_path, At(decide)) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY, "Accept-Encoding: gzip, br"))
        head, body = wire.message()
        assert head.lower().count(b"content-length") == 0
        assert _plain(body) == b": ping\n\n" * 3 + b"data: 1\n\ndata: 2\n\n"
        wire.send(b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.message()[1] == b'{"ok":true}'
        assert kinds(proxy, "response", 2)[0]["status"] == 200
    assert b"accept-encoding: identity\r\n" in seen[0][0].lower()


def _plain(chunks: bytes) -> bytes:
    plain = b""
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        count = int(size, 16)
        plain += rest[:count]
        chunks = rest[count + 2 :]
    return plain


FAILED = answer(
    b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}',
    status="429 Too Many",
)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/v1/messages", b'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error"'),
        ("/v1/responses", b'event: response.failed\ndata: {"type":"response.failed"'),
        ("/v1/chat/completions", b'data: {"type":"error"'),
    ],
    ids=["anthropic", "responses", "chat"],
)
def test_an_error_behind_an_answer_begun_early_is_an_event(
    tmp_path: Path, path: str, told: bytes
) -> None:
    async def decide(asked: PendingRequest) -> Decision:
        await _pings(asked)
        return Forward()

    with proxied(echo([], FAILED), tmp_path, At(decide)) as (proxy, _), client(proxy) as wire:
        wire.send(post(path, BODY))
        _, body = wire.message()
        plain = _plain(body)
        assert plain.startswith(b": ping\n\n" * 3 + told)
        assert b"slow down" in plain
        assert kinds(proxy, "response")[0]["status"] == 429


def test_a_cut_behind_an_answer_begun_early_is_a_cut(tmp_path: Path) -> None:
    async def decide(asked: PendingRequest) -> Decision:
        await _pings(asked)
        return Forward()

    def cut(wire: Wire) -> None:
        wire.message()
        wire.send(STREAM[:-5])

    with proxied(cut, tmp_path, At(decide)) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        assert wire.rest().endswith(b"data: 2\n\n\r\n")
        assert kinds(proxy, "response")[0]["ended"] == "upstream closed"


def test_nobody_listens_behind_an_answer_begun_early(tmp_path: Path) -> None:
    async def decide(asked: PendingRequest) -> Decision:
        await _pings(asked)
        return Forward()

    with proxied(echo([], OK), tmp_path, At(decide)) as (proxy, upstream), client(proxy) as wire:
        upstream.close()
        wire.send(post("/v1/messages", BODY))
        assert b"cannot be reached" in _plain(wire.message()[1])


def test_a_client_that_goes_while_it_is_held(tmp_path: Path) -> None:
    told: list[Any] = []

    async def decide(asked: PendingRequest) -> Decision:
        asked.log.held("each", Prediction(42, 40, 45))
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            told.append(True)
            raise
        return Forward()

    seen: list[tuple[bytes, bytes]] = []
    gate = At(decide)
    with proxied(echo(seen, OK), tmp_path, gate) as (proxy, _):
        with client(proxy) as wire:
            wire.send(post("/v1/messages", BODY))
            assert [kinds(proxy, "held")[0][key] for key in ("tokens", "band")] == [42, [40, 45]]
        assert kinds(proxy, "released")[0]["how"] == "client gone"
        assert kinds(proxy, "response")[0]["ended"] == "client closed"
        eventually(lambda: gate.answers == [(0, 0, "client closed")])
    assert told == [True]
    assert not seen


def test_a_hold_is_longer_than_the_providers_patience(tmp_path: Path) -> None:
    """The kept connection ends meanwhile: another one is made, and the client notices nothing."""
    goes = asyncio.Event()
    held: list[PendingRequest] = []

    async def decide(asked: PendingRequest) -> Decision:
        held.append(asked)
        if len(held) == 2:
            await goes.wait()
        return Forward()

    def once(wire: Wire) -> None:
        wire.message()
        wire.send(OK)
        eventually(lambda: len(held) == 2 or upstream_is_second)

    upstream_is_second = False
    with proxied(once, tmp_path, At(decide)) as (proxy, upstream), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        wire.message()
        wire.send(post("/v1/messages", BODY))
        eventually(lambda: len(held) == 2)
        upstream_is_second = True
        proxy.loop.call_soon_threadsafe(proxy.loop.call_later, 0.2, goes.set)
        assert wire.message()[1] == b'{"ok":true}'
        assert upstream.connections == 2


def test_a_gate_that_breaks_lets_everything_pass(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def decide(asked: PendingRequest) -> Decision:
        raise ZeroDivisionError("a bug")

    caplog.set_level(logging.CRITICAL, "asyncio")
    with proxied(echo([], OK), tmp_path, At(decide)) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        assert wire.message()[1] == b'{"ok":true}'


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ((("User-Agent", "claude-cli/2.1.330 (external, cli)"),), "claude-code"),
        ((("originator", "codex_cli_rs"), ("user-agent", "codex_cli_rs/0.169")), "codex"),
        ((("user-agent", "opencode/1.18"),), "opencode"),
        ((("user-agent", "GeminiCLI/0.61/x (linux)"),), "gemini-cli"),
        ((("user-agent", "OpenAI/Python 3.54"),), "openai-sdk"),
        ((("user-agent", "curl/8"),), "curl"),
        ((), ""),
    ],
)
def test_which_program_asks(headers: tuple[tuple[str, str], ...], name: str) -> None:
    assert client_name(headers) == name
