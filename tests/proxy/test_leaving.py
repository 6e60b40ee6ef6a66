"""Whoever leaves, wherever: no failure of the program's own, not in the proxy and not in the simulated provider."""

import logging
import random
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from inspector.proxy.relay.server import ProxyServer
from inspector.simulated.server import SimulatedServer
from tests.proxy.raw import Behave, Wire, answer, client, post, provider

ASKED = b'{"model":"simulated","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}'
REQUESTS = (
    post("/v1/messages", ASKED, "Content-Type: application/json"),
    b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n\x81\x05abcde",
    b"GET /v1/models HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    b"no HTTP at all\r\n\r\n",
    b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400\r\nExpect: 100-continue\r\n\r\n{",
)
REPLY = answer(b'{"ok":true}' * 50, "Content-Type: application/json")
ROUNDS = 120


def _remove_finished_run(connection: socket.socket, *, at_once: bool) -> None:
    """In good order, or with a reset."""
    if at_once:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _come_and_go(port: int, data: bytes, chance: random.Random) -> None:
    cut = chance.choice((chance.randrange(len(data) + 1), len(data)))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(0.02)
        try:
            connection.sendall(data[: cut // 2])
            time.sleep(chance.choice((0, 0.002)))
            connection.sendall(data[cut // 2 : cut])
            if chance.random() < 0.4:
                connection.recv(100)
        except OSError:
            pass  # the other end was quicker
        _remove_finished_run(connection, at_once=chance.random() < 0.6)


def _rude(chance: random.Random) -> Behave:
    """A provider that leaves anywhere: before the request, in the middle of the head or of the body."""

    def behave(wire: Wire) -> None:
        wire.socket.settimeout(0.5)
        if chance.random() < 0.8:
            wire.until(b"\r\n\r\n")
        wire.send(REPLY[: chance.randrange(len(REPLY) + 1)])
        _remove_finished_run(wire.socket, at_once=chance.random() < 0.5)

    return behave


def test_whoever_leaves_leaves_no_trace_of_a_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Hundreds of clients and providers that leave at a random byte; both servers serve on behind them."""
    caplog.set_level(logging.WARNING)
    chance = random.Random(20)
    with (
        provider(_rude(chance)) as rude,
        SimulatedServer() as simulated,
        ProxyServer(rude.url, tmp_path / "a.jsonl") as one,
        ProxyServer(simulated.url, tmp_path / "b.jsonl") as other,
    ):
        ports = (one.port, other.port, int(simulated.url.rpartition(":")[2]))
        for _ in range(ROUNDS):
            going = [
                threading.Thread(
                    target=_come_and_go,
                    args=(port, chance.choice(REQUESTS), random.Random(chance.random())),
                )
                for port in ports
            ]
            for each in going:
                each.start()
            for each in going:
                each.join()
        with client(other) as wire:
            wire.send(REQUESTS[0])
            assert b"200 OK" in wire.until(b"\r\n\r\n")
    assert [
        record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR
    ] == []
    assert "Traceback" not in capfd.readouterr().err


def test_who_leaves_in_the_middle_of_a_head_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The commonest of all: a reset behind half a head."""
    caplog.set_level(logging.WARNING)
    with SimulatedServer() as simulated, ProxyServer(simulated.url, tmp_path / "r.jsonl") as proxy:
        for _ in range(50):
            connection = socket.create_connection(("127.0.0.1", proxy.port))
            connection.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: loc")
            time.sleep(0.002)
            _remove_finished_run(connection, at_once=True)
        time.sleep(0.2)
    assert caplog.records == []
