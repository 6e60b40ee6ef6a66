"""A record is in the pipe to the writer before the last byte of its answer goes out."""

import os
import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.core.jsontext import loads
from inspector.proxy.record import recorder as recorder_module
from inspector.proxy.record.record_file import RecordFile
from inspector.proxy.record.recorder import KIND
from inspector.proxy.relay.server import ProxyServer
from inspector.proxy.relay.websocket import text_frame
from tests.proxy.raw import (
    END,
    Wire,
    answer,
    client,
    echo,
    kinds,
    post,
    provider,
    proxied,
    read_lines,
)
from tests.soak.kills import run_kills

TOO_MUCH_FOR_THE_PIPE = b"x" * 3_000_000
SHORT_S = 0.3


@pytest.fixture(autouse=True)
def warm_writers() -> None:
    """None: here writers are started as the program starts them."""


@contextmanager
def _stopped_writer(proxy: ProxyServer) -> Iterator[int]:
    """The pipe takes a megabyte, and nobody reads it. Gives the writer's process id."""
    assert proxy.recorder.settle()
    writer = proxy.recorder._writer.pid
    os.kill(writer, signal.SIGSTOP)
    try:
        yield writer
    finally:
        os.kill(writer, signal.SIGCONT)


def _is_quiet(wire: Wire) -> bool:
    """Does nothing come for a while?"""
    wire.socket.settimeout(SHORT_S)
    try:
        wire.receive()
    except TimeoutError:
        return True
    finally:
        wire.socket.settimeout(15)
    return False


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"7\r\ndata: a\r\n0\r\n\r\n"
)
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
SIZED = answer(b'{"ok":true}', "Content-Type: application/json")


@pytest.mark.parametrize("reply", [SIZED, CHUNKED, EMPTY], ids=["sized", "chunked", "empty"])
def test_last_byte_when_the_writer_is_behind_waits_for_the_record(
    tmp_path: Path, reply: bytes
) -> None:
    with proxied(echo([], reply), tmp_path) as (proxy, _), client(proxy) as wire:
        with _stopped_writer(proxy):
            wire.send(post("/v1/messages", TOO_MUCH_FOR_THE_PIPE))
            assert wire.exactly(len(reply) - 1) == reply[:-1]
            assert _is_quiet(wire)
        assert wire.exactly(1) == reply[-1:]
        assert kinds(proxy, "response")[0]["ended"] == "complete"


def test_end_of_an_unsized_answer_when_the_writer_is_behind_waits_for_the_record(
    tmp_path: Path,
) -> None:
    reply = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"

    def behave(wire: Wire) -> None:
        wire.message()
        wire.send(reply)

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        with _stopped_writer(proxy):
            wire.send(post("/v1/messages", TOO_MUCH_FOR_THE_PIPE))
            assert wire.exactly(len(reply)) == reply
            assert not wire.is_closed(SHORT_S)
        assert wire.is_closed()
        assert kinds(proxy, "response")[0]["ended"] == "complete"


def test_answer_of_the_proxy_itself_when_the_writer_is_behind_waits_for_the_record(
    tmp_path: Path,
) -> None:
    with (
        ProxyServer("http://127.0.0.1:9", tmp_path / "record.jsonl") as proxy,
        client(proxy) as wire,
    ):
        with _stopped_writer(proxy):
            wire.send(post("/v1/messages", TOO_MUCH_FOR_THE_PIPE))
            head = wire.until(END)
            assert head.startswith(b"HTTP/1.1 502 ")
            size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            early = wire.exactly(size - 1)
            assert _is_quiet(wire)
        assert "error" in loads(early + wire.exactly(1))


def test_websocket_answer_when_the_writer_is_behind_waits_for_the_record(tmp_path: Path) -> None:
    ended = text_frame(b'{"type":"response.completed","response":{"id":"r"}}', is_client=False)

    def behave(wire: Wire) -> None:
        wire.until(END)
        wire.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        )
        wire.exactly(len(asked))
        wire.send(ended)
        wire.receive()

    asked = text_frame(
        b'{"type":"response.create","input":"%b"}' % TOO_MUCH_FOR_THE_PIPE, is_client=True
    )
    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(
            b"GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        )
        assert wire.until(END).startswith(b"HTTP/1.1 101 ")
        with _stopped_writer(proxy):
            wire.send(asked)
            assert _is_quiet(wire)
        assert wire.exactly(len(ended)) == ended


def test_answers_when_the_writer_hangs_pass_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that does not answer stops nobody's work. It is reported once, and nothing is lost."""
    monkeypatch.setattr(recorder_module, "PATIENCE_S", SHORT_S)
    sentences: list[str] = []
    with provider(echo([], SIZED)) as upstream:
        proxy = ProxyServer(upstream.url, tmp_path / "r.jsonl", tell=sentences.append)
        with proxy, client(proxy) as wire:
            with _stopped_writer(proxy):
                for _ in range(3):
                    wire.send(post("/v1/messages", TOO_MUCH_FOR_THE_PIPE))
                    assert wire.message()[1] == b'{"ok":true}'
            assert len(kinds(proxy, "response", 3)) == 3
    assert len(sentences) == 1
    assert "answers are now forwarded before they are recorded" in sentences[0]


def test_proxy_when_killed_under_four_clients_loses_nothing(tmp_path: Path) -> None:
    report = run_kills(tmp_path, 3, seed=8)
    assert report.failures == []
    assert report.kills == 3
    assert report.answers > 0


def test_torn_line_when_a_recording_is_continued_is_removed(tmp_path: Path) -> None:
    """It was never a whole record; a note says so. Its number is not used again."""
    path = tmp_path / "record.jsonl"
    with proxied(echo([], SIZED), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/x", b"{}"))
        wire.message()
    whole = path.read_bytes()
    torn = b'{"type":"request","exchange":7,"torn'
    path.write_bytes(whole + torn)
    with proxied(echo([], SIZED), tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(post("/v1/x", b"{}"))
        wire.message()
    assert path.read_bytes().startswith(whole)
    records = read_lines(path)
    assert len(records) == path.read_bytes().count(b"\n")
    assert [line["exchange"] for line in records if line["type"] == "request"] == [0, 8]
    (note,) = [line["what"] for line in records if line["type"] == "note"]
    assert f"{len(torn)} bytes" in note


def test_line_when_only_a_part_fits_on_the_disk_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    file = RecordFile(path, KIND)
    file.append(b'{"type":"proxy"}')
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            file.append(b'{"type":"note","what":"%b"}' % (b"x" * 100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b'{"type":"proxy"}\n'
    file.close()


def test_port_of_a_killed_proxy_is_free_again(tmp_path: Path) -> None:
    """The writer outlives the proxy, but not its socket."""
    with proxied(echo([], SIZED), tmp_path) as (proxy, _):
        writer = proxy.recorder._writer.pid
        held = [os.readlink(f"/proc/{writer}/fd/{one}") for one in os.listdir(f"/proc/{writer}/fd")]
    assert not [name for name in held if name.startswith("socket:")]
    with socket.create_server(("127.0.0.1", proxy.port)):
        pass
