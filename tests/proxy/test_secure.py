"""Providers with TLS: HTTP/2 where they take it, HTTP/1.1 where not, never one that cannot be trusted."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.proxy.gate import Decision, Forward, Gate, PendingRequest
from inspector.proxy.record.records import RequestHead
from inspector.proxy.relay.server import ProxyServer
from tests.proxy.raw import END, client, eventually, kinds, post
from tests.proxy.secure import Asked, Http1Server, Http2Server, secure

Made = tuple[ProxyServer, list[Asked], list[bool]]


@contextmanager
def _http2(folder: Path, monkeypatch: pytest.MonkeyPatch, gate: Gate | None = None) -> Iterator[Made]:
    seen: list[Asked] = []
    ended: list[bool] = []
    with secure(folder, lambda: Http2Server(seen, ended), ["h2", "http/1.1"]) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "cert.pem"))
        with ProxyServer(url, folder / "r.jsonl", gate=gate) as proxy:
            yield proxy, seen, ended


@pytest.fixture
def http2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """A proxy to a provider that takes HTTP/2."""
    with _http2(tmp_path, monkeypatch) as made:
        yield made


def test_a_request_goes_over_http2(http2: Made) -> None:
    proxy, seen, _ = http2
    body = b'{"a":"\xc3\xbc"}' * 1
    with client(proxy) as wire:
        for n in range(3):
            head = ("X-Key: secret", "Accept: a", "Accept: b", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5")
            wire.send(post(f"/s/tag/echo?x=%2F{n}", body, *head))
            head_back, body_back = wire.message()
            assert head_back == (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-twice: 1\r\nx-twice: 2\r\n"
                b"content-length: %d\r\n\r\n" % len(body)
            )
            assert body_back == body
        assert [line["body"] for line in kinds(proxy, "response", 3)] == [{"a": "ü"}] * 3
    told = seen[0].headers
    assert dict(told)[":path"] == "/echo?x=%2F0"
    assert dict(told)[":authority"].startswith("localhost:")
    names = [name for name, _ in told]
    assert not {"connection", "x-hop", "keep-alive", "host", "user-agent", "accept-encoding"} & set(names)
    assert [value for name, value in told if name == "accept"] == ["a", "b"]


def test_a_stream_over_http2_comes_as_it_is_sent(http2: Made) -> None:
    proxy, _, _ = http2
    with client(proxy) as wire:
        wire.send(post("/slow", b"{}"))
        head, body = wire.message()
        assert b"transfer-encoding: chunked" in head
        assert body == b"".join(b"9\r\ndata: %d\n\n\r\n" % n for n in range(5)) + b"0\r\n\r\n"
        wire.send(b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.until(END) == b"HTTP/1.1 204 No Content\r\n\r\n"
        wire.send(b"HEAD /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"chunked" not in wire.until(END)
        assert [line["ended"] for line in kinds(proxy, "response", 2)][:2] == ["complete"] * 2


def test_chunked_requests_and_large_ones(http2: Made) -> None:
    proxy, seen, _ = http2
    large = b"x" * 3_000_000
    with client(proxy) as wire:
        wire.send(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        wire.send(b"2\r\nde\r\n0\r\n\r\n")
        assert wire.message()[1] == b"abcde"
        wire.send(post("/echo", large, "Expect: 100-continue"))
        assert wire.message()[1] == large
    assert bytes(seen[1].body) == large


def test_a_cut_over_http2_is_a_cut(http2: Made) -> None:
    proxy, _, _ = http2
    with client(proxy) as wire:
        wire.send(post("/cut", b"{}"))
        got = wire.rest()
        assert got.endswith(b"data: 4\n\n\r\n")
        assert kinds(proxy, "response")[0]["ended"] == "upstream closed"


def test_a_client_that_goes_ends_its_stream_only(http2: Made) -> None:
    """At once: the model would work on for nobody."""
    proxy, _, ended = http2
    with client(proxy) as other:
        other.send(post("/echo", b"before"))
        assert other.message()[1] == b"before"
        before = len(ended)  # the connection that found out which protocol is spoken
        with client(proxy) as wire:
            wire.send(post("/hang", b"{}"))
            wire.until(b"data: 4\n\n")
        eventually(lambda: len(ended) == before + 1)
        other.send(post("/echo", b"still here"))
        assert other.message()[1] == b"still here"
    assert sorted(line["ended"] for line in kinds(proxy, "response", 3)) == ["client closed", "complete", "complete"]


def test_many_streams_over_http2(http2: Made) -> None:
    proxy, _, _ = http2
    whole: list[bool] = []

    def ask() -> None:
        with client(proxy) as wire:
            wire.send(post("/slow", b"{}"))
            whole.append(wire.message()[1].count(b"data: ") == 5)

    threads = [threading.Thread(target=ask) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert whole == [True] * 60


class Changing(Gate):
    """Begins the answer early where the path says so, then changes the body."""

    def wants(self, asking: RequestHead) -> bool:
        """All."""
        return True

    async def admit(self, asked: PendingRequest) -> Decision:
        """Another body."""
        if asked.path == "/slow":
            await asked.early(200, (("content-type", "text/event-stream"),))
            await asked.send(b": wait\n\n")
        return Forward(b'{"changed":true}')


def test_the_gate_holds_for_http2_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _http2(tmp_path, monkeypatch, Changing()) as (proxy, seen, _), client(proxy) as wire:
        wire.send(post("/echo", b"{}"))
        assert wire.message()[1] == b'{"changed":true}'
        wire.send(post("/slow", b"{}", "Accept-Encoding: br"))
        _, body = wire.message()
        assert body.startswith(b"8\r\n: wait\n\n\r\n9\r\ndata: 0\n\n\r\n")
        assert body.endswith(b"data: 4\n\n\r\n0\r\n\r\n")
        assert dict(seen[1].headers)["accept-encoding"] == "identity"


def test_a_provider_that_only_speaks_http1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with secure(tmp_path, Http1Server, ["http/1.1"]) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        with ProxyServer(url, tmp_path / "r.jsonl") as proxy, client(proxy) as wire:
            for _ in range(2):
                wire.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert wire.message()[1] == b"http/1.1"


def test_an_upgrade_is_never_asked_for_over_http2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider may speak both: a WebSocket needs HTTP/1.1."""

    class Both(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
            one: asyncio.Protocol = Http2Server([], []) if chosen == "h2" else Http1Server()
            assert isinstance(transport, asyncio.Transport)
            transport.set_protocol(one)
            one.connection_made(transport)

    with secure(tmp_path, Both, ["h2", "http/1.1"]) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        with ProxyServer(url, tmp_path / "r.jsonl") as proxy, client(proxy) as wire:
            wire.send(post("/echo", b"over http2"))
            assert wire.message()[1] == b"over http2"
            wire.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            assert wire.until(END).startswith(b"HTTP/1.1 426 ")


def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    seen: list[Asked] = []
    with (
        secure(tmp_path, lambda: Http2Server(seen, []), ["h2"]) as url,
        ProxyServer(url, tmp_path / "r.jsonl") as proxy,
        client(proxy) as wire,
    ):
        wire.send(post("/v1/messages", b"{}"))
        head, body = wire.message()
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b"certificate is not trusted" in body
    assert not seen
