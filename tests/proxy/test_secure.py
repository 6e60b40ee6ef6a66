"""Providers behind TLS: HTTP/1.1 only, and never one whose certificate is not trusted."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.proxy.relay.server import ProxyServer
from tests.proxy.raw import END, client, kinds, post
from tests.proxy.secure import TlsProvider, secure

HTTP1_ONLY, HTTP2_FIRST = ["http/1.1"], ["h2", "http/1.1"]
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def proxy_to(
    protocols: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ProxyServer]:
    """Yield a proxy to a provider that offers these protocols, in its order of preference."""
    with secure(folder, lambda: TlsProvider([]), protocols) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "cert.pem"))
        with ProxyServer(url, folder / "r.jsonl") as proxy:
            yield proxy


@pytest.mark.parametrize("protocols", [HTTP1_ONLY, HTTP2_FIRST])
def test_request_when_the_provider_has_tls_goes_over_http1(
    protocols: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy_to(protocols, tmp_path, monkeypatch) as proxy, client(proxy) as wire:
        for _ in range(2):
            wire.send(GET)
            assert wire.message()[1] == b"http/1.1"


def test_large_body_when_the_provider_has_tls_arrives_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = b"x" * 3_000_000
    with proxy_to(HTTP2_FIRST, tmp_path, monkeypatch) as proxy, client(proxy) as wire:
        wire.send(post("/echo", large))
        assert wire.message()[1] == large


def test_stream_when_the_provider_has_tls_passes_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy_to(HTTP2_FIRST, tmp_path, monkeypatch) as proxy, client(proxy) as wire:
        wire.send(post("/slow", b"{}"))
        head, body = wire.message()
        assert b"transfer-encoding: chunked" in head.lower()
        assert body == b"".join(b"9\r\ndata: %d\n\n\r\n" % n for n in range(5)) + b"0\r\n\r\n"
        assert kinds(proxy, "response")[0]["ended"] == "complete"


def test_stream_when_the_provider_cuts_it_is_recorded_as_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy_to(HTTP2_FIRST, tmp_path, monkeypatch) as proxy, client(proxy) as wire:
        wire.send(post("/cut", b"{}"))
        assert wire.rest().endswith(b"data: 4\n\n\r\n")
        assert kinds(proxy, "response")[0]["ended"] == "upstream closed"


def test_upgrade_when_the_provider_has_tls_is_answered_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy_to(HTTP2_FIRST, tmp_path, monkeypatch) as proxy, client(proxy) as wire:
        wire.send(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        assert wire.until(END).startswith(b"HTTP/1.1 426 ")


def test_certificate_when_it_is_not_trusted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    connections: list[str | None] = []
    with (
        secure(tmp_path, lambda: TlsProvider(connections), HTTP1_ONLY) as url,
        ProxyServer(url, tmp_path / "r.jsonl") as proxy,
        client(proxy) as wire,
    ):
        wire.send(post("/v1/messages", b"{}"))
        head, body = wire.message()
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b"certificate is not trusted" in body
    assert not connections
