"""What passes through the proxy: the same bytes, up and down, whatever they are."""

import gzip
import threading
import time
import zlib
from hashlib import sha256
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from inspector.proxy.relay.server import ProxyServer
from tests.proxy.raw import (
    BODY,
    END,
    OK,
    Behave,
    Wire,
    answer,
    client,
    echo,
    kinds,
    lines,
    post,
    provider,
    proxied,
)


def _without_host(head: bytes) -> list[bytes]:
    return [line for line in head.split(b"\r\n") if not line.lower().startswith(b"host:")]


def test_a_request_arrives_as_it_was_sent(tmp_path: Path) -> None:
    """Order, case, spacing and doubles of headers; only the host is another one."""
    seen: list[tuple[bytes, bytes]] = []
    sent = (
        b"POST /v1/messages?beta=true&x=%2F%20a+b&&y HTTP/1.1\r\nhOsT: localhost\r\nX-Api-Key:sk-secret\r\n"
        b"accept: a\r\nAccept:   b\t \r\nX-Empty:\r\nx-latin: \xe9\r\nContent-Length: "
        + b"%d\r\n\r\n"
        % len(BODY)
    )
    with proxied(echo(seen, OK), tmp_path) as (proxy, upstream), client(proxy) as wire:
        wire.send(sent + BODY)
        assert wire.message() == (OK[: -len(b'{"ok":true}')], b'{"ok":true}')
    ((head, body),) = seen
    assert body == BODY
    assert _without_host(head) == _without_host(sent)
    assert f"hOsT: {upstream.url.removeprefix('http://')}\r\n".encode() in head


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ("/v1/x", "/v1/x"),
        ("/v1/%7Euser//a/../b;c=d?q=%zz&e=é#", None),
        ("/s/launch-1/v1/messages?a=b", "/v1/messages?a=b"),
        ("/s/launch%20x/v1/y", "/v1/y"),
        ("/s/tag", "/"),
        ("/s/tag?x=1", "/?x=1"),
        ("/s/tag/s/other", "/s/other"),
        ("/s/", "/s/"),
        ("/story/s/tag", "/story/s/tag"),
        ("http://localhost/v1/z?q", "/v1/z?q"),
        ("*", "*"),
    ],
)
def test_the_path_arrives_as_it_was_spelled(tmp_path: Path, sent: str, arrives: str | None) -> None:
    seen: list[tuple[bytes, bytes]] = []
    with proxied(echo(seen, OK), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(f"GET {sent} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode("latin-1"))
        assert b"200 OK" in wire.message()[0]
    assert seen[0][0].split(b" ")[1] == (arrives or sent).encode("latin-1")


def test_a_prefix_of_the_upstream_is_put_in_front(tmp_path: Path) -> None:
    seen: list[tuple[bytes, bytes]] = []
    with (
        provider(echo(seen, OK)) as upstream,
        ProxyServer(upstream.url + "/api/", tmp_path / "r.jsonl") as proxy,
        client(proxy) as wire,
    ):
        wire.send(b"GET /s/t/v1/models?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wire.message()
        assert kinds(proxy, "request")[0]["path"] == "/v1/models?limit=1"
    assert seen[0][0].startswith(b"GET /api/v1/models?limit=1 HTTP/1.1\r\n")


PACKED = [
    ("gzip", gzip.compress(BODY, mtime=0)),
    ("br", brotli.compress(BODY)),
    ("zstd", zstandard.ZstdCompressor().compress(BODY)),
    ("deflate", zlib.compress(BODY)),
    ("gzip, br", brotli.compress(gzip.compress(BODY, mtime=0))),
]


@pytest.mark.parametrize(("encoding", "packed"), PACKED, ids=[name for name, _ in PACKED])
def test_packed_bodies_pass_packed_and_are_recorded_plain(
    tmp_path: Path, encoding: str, packed: bytes
) -> None:
    seen: list[tuple[bytes, bytes]] = []
    reply = answer(packed, "Content-Type: application/json", f"Content-Encoding: {encoding}")
    with proxied(echo(seen, reply), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/responses", packed, f"Content-Encoding: {encoding}"))
        head, body = wire.message()
        assert head + body == reply
        for line in kinds(proxy, "request") + kinds(proxy, "response"):
            assert line["size"] == len(packed)
            assert line["sha256"] == sha256(packed).hexdigest()
            assert line["encoding"] == encoding
            assert line["body"]["messages"][0]["content"] == "hi ü"
    assert seen[0][1] == packed


def test_chunks_stay_chunks(tmp_path: Path) -> None:
    """Sizes, extensions and trailers as they were, both ways."""
    seen: list[tuple[bytes, bytes]] = []
    up = b'5;name=v\r\n{"a":\r\n3\r\n12}\r\n0\r\n\r\n'
    down = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
    chunks = b"4\r\nab\r\n\r\n00A\r\n0123456789\r\n0\r\nX-T: end\r\n\r\n"

    def behave(wire: Wire) -> None:
        seen.append(wire.message())
        wire.send(down + chunks)
        wire.socket.recv(1)

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(
            b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + up
        )
        assert wire.exactly(len(down + chunks)) == down + chunks
        assert kinds(proxy, "request")[0]["body"] == {"a": 12}
        assert kinds(proxy, "response")[0]["text"] == "ab\r\n0123456789"
        assert kinds(proxy, "response")[0]["ended"] == "complete"
    assert seen[0][1] == up


BARE = [
    ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"),
    ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
    ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nETag: x\r\n\r\n"),
    ("POST", b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
    ("OPTIONS", b"HTTP/1.1 299 A Reason of Its Own\r\ncontent-length: 0\r\n\r\n"),
]


@pytest.mark.parametrize(("method", "reply"), BARE, ids=range(len(BARE)))
def test_answers_without_a_body(tmp_path: Path, method: str, reply: bytes) -> None:
    """And the connection goes on behind them."""
    with proxied(echo([], reply, OK), tmp_path) as (proxy, upstream), client(proxy) as wire:
        wire.send(f"{method} /x HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert wire.until(END) == reply
        wire.send(b"GET /y HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.message()[1] == b'{"ok":true}'
        assert upstream.connections == 1
        assert [line["ended"] for line in kinds(proxy, "response", 2)] == ["complete", "complete"]


def test_100_continue_is_the_providers(tmp_path: Path) -> None:
    """The head goes on before the body is there; the client waits for the provider's word, not for ours."""

    def behave(wire: Wire) -> None:
        head = wire.until(END)
        assert b"Expect: 100-continue" in head
        wire.send(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\nX-Own: 1\r\n\r\n"
        )
        assert wire.body(head) == BODY
        wire.send(OK)

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/x", BODY, "Expect: 100-continue")[: -len(BODY)])
        assert wire.until(END) == b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        assert wire.until(END) == b"HTTP/1.1 100 Continue\r\nX-Own: 1\r\n\r\n"
        wire.send(BODY)
        assert wire.message()[1] == b'{"ok":true}'
        assert kinds(proxy, "response")[0]["status"] == 200


def test_an_answer_before_the_body_is_whole(tmp_path: Path) -> None:
    """A provider that refuses early is heard early."""

    def behave(wire: Wire) -> None:
        wire.until(END)
        wire.send(
            answer(b'{"error":"too large"}', "Connection: close", status="413 Content Too Large")
        )
        wire.rest()

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\nabc")
        assert wire.message()[1] == b'{"error":"too large"}'
        wire.close()
        assert kinds(proxy, "response")[0]["status"] == 413
        assert kinds(proxy, "request")[0]["size"] == 3


def test_big_headers_pass(tmp_path: Path) -> None:
    seen: list[tuple[bytes, bytes]] = []
    big = "v" * 200_000
    reply = answer(b"{}", f"X-Big: {big}")
    with proxied(echo(seen, reply), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/x", b"{}", f"X-Big: {big}", *(f"X-{n}: {n}" for n in range(500))))
        assert sum(map(len, wire.message())) == len(reply)
    assert f"X-Big: {big}\r\nX-0: 0\r\n".encode() in seen[0][0]


def test_a_stream_is_not_held_back(tmp_path: Path) -> None:
    """Each piece is there before the next one is sent."""
    goes_on = threading.Semaphore(0)
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )

    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(head)
        for n in range(20):
            assert goes_on.acquire(timeout=10)
            wire.send(b"%x\r\ndata: %06d\n\n\r\n" % (14, n))
        wire.send(b"0\r\n\r\n")

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        assert wire.until(END) == head
        for n in range(20):
            goes_on.release()
            assert wire.until(b"\n\n\r\n").endswith(b"data: %06d\n\n\r\n" % n)
        assert wire.until(b"0\r\n\r\n") == b"0\r\n\r\n"
        assert kinds(proxy, "response")[0]["stream"].count("data: ") == 20


def _stream(*events: bytes, end: bytes = b"0\r\n\r\n", then: Behave | None = None) -> Behave:
    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for event in events:
            wire.send(b"%x\r\n%b\r\n" % (len(event), event))
        wire.send(end)
        if then is not None:
            then(wire)

    return behave


def test_a_cut_is_passed_as_a_cut(tmp_path: Path) -> None:
    """No good end where there was none."""
    cut = _stream(b'data: {"type":"message_start"}\n\n', b"data: tw", end=b"")
    with proxied(cut, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        got = wire.rest()
        assert got.endswith(b"8\r\ndata: tw\r\n")
        (response,) = kinds(proxy, "response")
        assert response["ended"] == "upstream closed"
        assert response["stream"].endswith("data: tw")


def test_a_cut_in_a_sized_body(tmp_path: Path) -> None:
    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half":'
        )

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        assert wire.rest().endswith(b'\r\n\r\n{"half":')
        assert kinds(proxy, "response")[0]["ended"] == "upstream closed"
        assert kinds(proxy, "response")[0]["text"] == '{"half":'


def test_an_answer_that_ends_with_the_connection(tmp_path: Path) -> None:
    """No Content-Length, no chunks: as old servers do. That is a good end."""

    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n")
        wire.send(b'{"a":1}')

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        assert wire.rest() == b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"a":1}'
        (response,) = kinds(proxy, "response")
        assert (response["ended"], response["body"]) == ("complete", {"a": 1})


def test_chunks_that_are_none_are_passed_and_told(tmp_path: Path) -> None:
    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n")

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        assert wire.rest().endswith(b"3\r\nabcdef\r\n")
        assert kinds(proxy, "response")[0]["ended"] == "upstream closed"


def test_a_client_that_goes_ends_the_upstream_at_once(tmp_path: Path) -> None:
    """Also between two events, when nothing is being sent."""
    closed = threading.Event()

    def behave(wire: Wire) -> None:
        _stream(b'data: {"type":"message_start"}\n\n', end=b"")(wire)
        if wire.is_closed():
            closed.set()

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        wire.until(b"message_start")
        began = time.monotonic()
        wire.close()
        assert closed.wait(60)
        assert time.monotonic() - began < 5
        assert kinds(proxy, "response")[0]["ended"] == "client closed"


def test_a_client_that_goes_before_any_answer(tmp_path: Path) -> None:
    closed = threading.Event()

    def behave(wire: Wire) -> None:
        wire.message()
        if wire.is_closed():
            closed.set()

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/messages", BODY))
        kinds(proxy, "request")
        wire.close()
        assert closed.wait(60)
        (response,) = kinds(proxy, "response")
        assert (response["status"], response["ended"]) == (0, "client closed")


TERMINAL = [
    ("/v1/messages", b'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
    (
        "/v1/responses",
        b'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n',
    ),
    ("/v1/chat/completions", b"data: [DONE]\n\n"),
    ("/v1/chat/completions", b'data: {"choices":[{"finish_reason":"stop"}]}\n\n'),
    (
        "/v1beta/models/g:streamGenerateContent",
        b'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n',
    ),
]


@pytest.mark.parametrize(("path", "event"), TERMINAL, ids=range(len(TERMINAL)))
def test_a_client_that_closes_behind_the_end_had_a_whole_answer(
    tmp_path: Path, path: str, event: bytes
) -> None:
    behave = _stream(b"data: {}\n\n", event, end=b"", then=Wire.is_closed)
    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post(path, BODY))
        wire.until(event)
        wire.close()
        assert kinds(proxy, "response")[0]["ended"] == "complete"


def test_the_next_request_takes_the_same_connection(tmp_path: Path) -> None:
    with proxied(echo([], OK), tmp_path) as (proxy, upstream), client(proxy) as wire:
        for _ in range(5):
            wire.send(post("/v1/x", BODY))
            wire.message()
        wire.send(post("/v1/x", BODY) + post("/v1/y", BODY))  # sent before the first is answered
        assert wire.message()[1] == wire.message()[1] == b'{"ok":true}'
        assert upstream.connections == 1
        assert [line["connection"] for line in kinds(proxy, "request", 7)] == [1] * 7
        assert [line["exchange"] for line in kinds(proxy, "request")] == list(range(7))


def test_a_provider_that_closes_a_kept_connection_closes_the_clients(tmp_path: Path) -> None:
    """Clients know how to go on when that happens; it must not look like a connection that can be used."""

    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(OK)

    with proxied(behave, tmp_path) as (proxy, upstream):
        for n in range(3):
            with client(proxy) as wire:
                wire.send(post("/v1/x", BODY))
                wire.message()
                assert wire.is_closed()
                assert upstream.connections == n + 1


def test_connection_close_is_kept(tmp_path: Path) -> None:
    reply = answer(b"{}", "Connection: close")
    with proxied(echo([], reply), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/x", BODY, "Connection: close"))
        assert wire.rest() == reply


def test_many_streams_at_once_keep_their_order(tmp_path: Path) -> None:
    """100 of them, each with numbered events of its own."""
    together = threading.Barrier(100)

    def behave(wire: Wire) -> None:
        head, body = wire.message()
        del head
        together.wait(30)
        wire.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for n in range(100):
            event = b"data: %b-%d\n\n" % (body, n)
            wire.send(b"%x\r\n%b\r\n" % (len(event), event))
        wire.send(b"0\r\n\r\n")

    found: dict[int, bytes] = {}

    def ask(proxy: ProxyServer, n: int) -> None:
        with client(proxy) as wire:
            wire.send(post("/v1/x", b"%d" % n))
            wire.until(END)
            found[n] = wire.until(b"\r\n0\r\n\r\n")

    with proxied(behave, tmp_path) as (proxy, _):
        threads = [threading.Thread(target=ask, args=(proxy, n)) for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for n in range(100):
            events = [part for part in found[n].split(b"\r\n") if part.startswith(b"data")]
            assert events == [b"data: %d-%d\n\n" % (n, m) for m in range(100)]
        assert len(kinds(proxy, "response", 100)) == 100
        assert all(line["stream"].count("data:") == 100 for line in kinds(proxy, "response"))


def test_a_body_of_many_megabytes_passes(tmp_path: Path) -> None:
    """Both ways at once, in pieces; what is too large to be kept is left out of the recording, and that is told."""
    size = 70_000_000
    seen: list[int] = []

    def behave(wire: Wire) -> None:
        head = wire.until(END)
        del head
        left = size
        while left:
            left -= len(wire.receive())
        seen.append(size - left)
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(70):
            wire.send(bytes(1_000_000))

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(70):
            wire.send(bytes(1_000_000))
        wire.until(END)
        got = 0
        while got < size:
            got += len(wire.receive())
        assert (seen, got) == ([size], size)
        for line in kinds(proxy, "request") + kinds(proxy, "response"):
            assert line["size"] == size
            assert "larger than" in line["left_out"]


def test_closing_the_proxy_ends_what_is_under_way(tmp_path: Path) -> None:
    with proxied(_stream(b"data: {}\n\n", end=b"", then=Wire.is_closed), tmp_path) as (proxy, _):
        with client(proxy) as wire:
            wire.send(post("/v1/x", BODY))
            wire.until(b"data: {}")
            proxy.close()
            assert wire.is_closed()
        assert lines(proxy)[-1]["type"] == "response"
