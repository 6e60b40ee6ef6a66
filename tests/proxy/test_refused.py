"""What the proxy refuses, and what it says where its provider gives no answer."""

from pathlib import Path

import pytest

from inspector.core.errors import InspectorError
from inspector.proxy.relay.server import ProxyServer
from tests.proxy.raw import (
    BODY,
    END,
    OK,
    Wire,
    client,
    echo,
    kinds,
    post,
    proxied,
)


def test_nobody_listens_upstream(tmp_path: Path) -> None:
    with proxied(echo([], OK), tmp_path) as (proxy, upstream):
        upstream.close()
        for path, word in (
            ("/v1/messages", '"type":"error"'),
            ("/v1/responses", '"code":"proxy_error"'),
        ):
            with client(proxy) as wire:
                wire.send(post(path, BODY))
                head, body = wire.message()
                assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
                assert word in body.decode()
                assert "cannot be reached" in body.decode()
        first = kinds(proxy, "response")[0]
        assert (first["status"], first["ended"], first["own"]) == (502, "failed", True)
        assert kinds(proxy, "request")[0]["body"]["model"] == "m"


@pytest.mark.parametrize(
    "sent", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-"], ids=range(3)
)
def test_a_provider_that_gives_no_answer(tmp_path: Path, sent: bytes) -> None:
    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(sent)

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1beta/models/g:generateContent", BODY))
        head, body = wire.message()
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b'"status":"UNAVAILABLE"' in body


BAD = [
    (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403"),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", b"403"),
    (b"GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", b"403"),
    (b"GET / HTTP/1.1\r\n\r\n", b"403"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", b"403"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", b"403"),
    (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    (b"CONNECT a:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"501"),
    (b"nonsense\r\n\r\n", b"400"),
    (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n", b"400"),
    (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"400",
    ),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\na", b"400"),
    (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"400",
    ),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
]


@pytest.mark.parametrize(("sent", "status"), BAD, ids=range(len(BAD)))
def test_what_is_not_for_us_is_refused(tmp_path: Path, sent: bytes, status: bytes) -> None:
    """Nothing of it reaches the provider as a request; the answer says why."""
    seen: list[tuple[bytes, bytes]] = []

    def behave(wire: Wire) -> None:
        if head := wire.until(END):
            seen.append((head, wire.rest()))

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(sent)
        head, body = wire.message()
        assert head.split(b" ")[1] == status
        assert b"error" in body
        assert wire.is_closed()
    assert not seen


@pytest.mark.parametrize(
    "host", ["localhost:99", "LocalHost", "127.0.0.1:1", "127.9.9.9", "[::1]:80"]
)
def test_every_name_of_this_machine_will_do(tmp_path: Path, host: str) -> None:
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/x", b"{}", "Origin: vscode-file://app", host=host))
        assert wire.message()[1] == b'{"ok":true}'


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com", ""])
def test_it_listens_on_loopback_only(tmp_path: Path, host: str) -> None:
    with pytest.raises(InspectorError, match="this machine only"):
        ProxyServer("http://127.0.0.1:1", tmp_path / "r.jsonl", host=host)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "http://",
        "https://user:pw@host",
        "https://host?key=1",
        "https://host/#",
        "k@host",
        "http://h:99999",
    ],
)
def test_an_upstream_must_be_an_address(tmp_path: Path, url: str) -> None:
    with pytest.raises(InspectorError):
        ProxyServer(url, tmp_path / "r.jsonl")
    assert not (tmp_path / "r.jsonl").exists()


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with (
        proxied(echo([], OK), tmp_path) as (proxy, _),
        pytest.raises(InspectorError, match="cannot be used"),
    ):
        ProxyServer("http://127.0.0.1:1", tmp_path / "other.jsonl", port=proxy.port)


def test_the_environments_proxy_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with proxied(echo([], OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/x", b"{}"))
        assert wire.message()[1] == b'{"ok":true}'
