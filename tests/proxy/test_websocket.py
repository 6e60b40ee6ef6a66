"""WebSockets through the proxy: what passes is what was sent; a `response.create` and its answer are an exchange."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMessage, WSMsgType, web
from hypothesis import given
from hypothesis import strategies as st

from inspector.proxy.gate import Decision, Forward, Gate, PendingRequest, Refuse
from inspector.proxy.record.records import RequestHead
from inspector.proxy.relay.server import ProxyServer
from inspector.proxy.relay.websocket import (
    BINARY,
    CLOSE,
    PING,
    TEXT,
    BadFrames,
    FrameReader,
    frame_readers,
    masked,
    text_frame,
)
from tests.proxy.raw import END, Wire, client, kinds, lines, proxied, read_lines

Talk = Callable[[aiohttp.ClientWebSocketResponse], Awaitable[None]]


class Server:
    """Answers a `response.create` with two events; echoes everything else."""

    def __init__(
        self, *, compress: bool = True, protocols: tuple[str, ...] = ("realtime",)
    ) -> None:
        self.got: list[WSMessage] = []
        self.headers: dict[str, str] = {}
        self.compress: int = 0
        self._socket = web.WebSocketResponse(
            compress=compress, protocols=protocols, autoping=False, autoclose=False
        )

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One connection."""
        socket = self._socket
        self.headers = dict(request.headers)
        await socket.prepare(request)
        self.compress = socket.compress
        while not socket.closed:
            message = await socket.receive()
            self.got.append(message)
            if message.type is WSMsgType.PING:
                await socket.pong(message.data)
            elif message.type is WSMsgType.BINARY:
                await socket.send_bytes(message.data)
            elif message.type is WSMsgType.CLOSE:
                await socket.close(code=4001, message=b"bye")
            elif message.type is WSMsgType.TEXT:
                await self._answer(json.loads(message.data))
        return socket

    async def _answer(self, asked: dict[str, Any]) -> None:
        if asked.get("type") != "response.create":
            await self._socket.send_json({"echo": asked})
            return
        number = asked.get("n", 0)
        await self._socket.send_json(
            {"type": "response.output_text.delta", "delta": "wörds " * 400, "n": number}
        )
        done = {
            "id": f"resp_{number}",
            "output": [],
            "usage": {"input_tokens": 5, "output_tokens": 2},
        }
        await self._socket.send_json({"type": "response.completed", "response": done})


def _run(
    server: Server, folder: Path, talk: Talk, gate: Gate | None = None, **options: Any
) -> list[dict[str, Any]]:
    """The records of a talk through the proxy."""

    async def run() -> None:
        web_server = web.Server(server.handle)
        runner = web.ServerRunner(web_server)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        proxy = ProxyServer(
            f"http://127.0.0.1:{runner.addresses[0][1]}", folder / "r.jsonl", gate=gate
        )
        try:
            proxy.start()
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(f"{proxy.url}/s/launch/v1/responses?x=1", **options) as socket,
            ):
                await asyncio.wait_for(talk(socket), 20)
        finally:
            await asyncio.to_thread(proxy.close)
            await runner.cleanup()

    asyncio.run(run())
    return read_lines(folder / "r.jsonl")


def _of(
    records: list[dict[str, Any]], kind: str, transport: str = "websocket"
) -> list[dict[str, Any]]:
    asked = {
        line["exchange"]
        for line in records
        if line["type"] == "request" and line["transport"] == transport
    }
    return [line for line in records if line["type"] == kind and line.get("exchange") in asked]


async def _two_turns(socket: aiohttp.ClientWebSocketResponse) -> None:
    for number in range(2):
        await socket.send_json(
            {"type": "response.create", "n": number, "input": [{"content": "ü" * 900}]}
        )
        assert (await socket.receive_json())["delta"] == "wörds " * 400
        assert (await socket.receive_json())["type"] == "response.completed"


@pytest.mark.parametrize("compress", [0, 15, 9])
def test_turns_are_exchanges(tmp_path: Path, compress: int) -> None:
    """Compressed or not: what both ends agreed on is between them."""
    server = Server(compress=bool(compress))
    headers = {"Authorization": "Bearer sk-secret", "session-id": "s1"}
    records = _run(
        server, tmp_path, _two_turns, compress=compress, headers=headers, protocols=("realtime",)
    )
    assert bool(server.compress) == bool(compress)
    assert server.headers["Authorization"] == "Bearer sk-secret"
    asked, answered = _of(records, "request"), _of(records, "response")
    assert [line["body"]["n"] for line in asked] == [0, 1]
    assert asked[1]["like"]["exchange"] == asked[0]["exchange"]
    assert [line["path"] for line in asked] == ["/v1/responses?x=(redacted)"] * 2
    assert {line["tag"] for line in asked} == {"launch"}
    assert ["session-id", "s1"] in asked[0]["headers"]
    assert "sk-secret" not in (tmp_path / "r.jsonl").read_text()
    assert [line["frames"][-1]["response"]["id"] for line in answered] == ["resp_0", "resp_1"]
    assert {(line["ended"], line["status"], len(line["frames"])) for line in answered} == {
        ("complete", 101, 2)
    }


def test_everything_else_passes_too(tmp_path: Path) -> None:
    """Pings, binary messages, other messages, the code and the words of a close."""
    server = Server()

    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        assert socket.protocol == "realtime"
        await socket.ping(b"are you there")
        await socket.send_bytes(bytes(range(256)))
        pong = await socket.receive()
        assert (pong.type, pong.data) == (WSMsgType.PONG, b"are you there")
        assert (await socket.receive()).data == bytes(range(256))
        await socket.send_json({"type": "session.update"})
        assert await socket.receive_json() == {"echo": {"type": "session.update"}}
        await socket.close(code=4000, message=b"enough")
        assert socket.close_code == 4001

    records = _run(server, tmp_path, talk, autoping=False, protocols=("realtime", "other"))
    close = server.got[-1]
    assert (close.type, close.data, close.extra) == (WSMsgType.CLOSE, 4000, "enough")
    frames = [line for line in records if line["type"] == "frame"]
    assert [(line["from"], line.get("body")) for line in frames if "body" in line] == [
        ("client", {"type": "session.update"}),
        ("upstream", {"echo": {"type": "session.update"}}),
    ]


def test_a_client_that_goes_in_the_middle(tmp_path: Path) -> None:
    class Silent(Server):
        async def _answer(self, asked: dict[str, Any]) -> None:
            await self._socket.send_json({"type": "response.created"})

    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json({"type": "response.create"})
        await socket.receive()

    (response,) = _of(_run(Silent(), tmp_path, talk), "response")
    assert (response["ended"], response["frames"]) == (
        "client closed",
        [{"type": "response.created"}],
    )


@pytest.mark.parametrize("status", ["426 Upgrade Required", "404 Not Found"])
def test_a_provider_that_does_not_upgrade(tmp_path: Path, status: str) -> None:
    """Its very answer is passed on, and the connection goes on as HTTP."""
    reply = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno".encode()

    def behave(wire: Wire) -> None:
        while wire.until(END):
            wire.send(reply)

    asked = (
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        for _ in range(2):
            wire.send(asked)
            assert b"".join(wire.message()) == reply
        assert [line["status"] for line in kinds(proxy, "response", 2)] == [int(status[:3])] * 2


def test_an_upgrade_to_something_else_is_a_pipe(tmp_path: Path) -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: strange/1\r\n\r\n"

    def behave(wire: Wire) -> None:
        wire.until(END)
        wire.send(head + b"hello")
        while data := wire.receive():
            wire.send(data.upper())

    with proxied(behave, tmp_path) as (proxy, _), client(proxy) as wire:
        wire.send(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: strange/1\r\n\r\nmore"
        )
        assert wire.exactly(len(head) + 9) == head + b"helloMORE"
        wire.send(b"\x00\xffabc")
        assert wire.exactly(5) == b"\x00\xffABC"
        assert kinds(proxy, "response")[0]["status"] == 101


class Deciding(Gate):
    """Does with each message what the test says, and keeps a client waiting while it does."""

    def __init__(self, *decisions: Decision) -> None:
        self._decisions = list(decisions)
        self.asked: list[Any] = []

    def wants(self, asking: RequestHead) -> bool:
        """Messages only."""
        return asking.transport == "websocket"

    async def admit(self, asked: PendingRequest) -> Decision:
        """The next decision."""
        self.asked.append(asked.body)
        asked.log.held("each")
        await asked.send(b'{"type":"keepalive"}')
        asked.log.released("as it was")
        return self._decisions.pop(0)


@pytest.mark.parametrize("compress", [0, 15])
def test_the_gate_may_change_a_message(tmp_path: Path, compress: int) -> None:
    """And what follows is still understood, though the provider never saw what was replaced."""
    server = Server()
    gate = Deciding(Forward(), Forward(b'{"type":"response.create","n":7}'), Forward())

    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        for number in range(3):
            await socket.send_json(
                {"type": "response.create", "n": number, "input": "over and over " * 50}
            )
            assert (await socket.receive_json())["type"] == "keepalive"
            assert (await socket.receive_json())["n"] == (number, 7, number)[number]
            assert (await socket.receive_json())["type"] == "response.completed"
        await socket.send_json({"type": "x", "said": "over and over " * 50})
        assert (await socket.receive_json())["echo"]["said"] == "over and over " * 50

    records = _run(server, tmp_path, talk, gate, compress=compress)
    assert [one["n"] for one in gate.asked] == [0, 1, 2]
    assert [json.loads(one.data).get("n") for one in server.got if one.type is WSMsgType.TEXT] == [
        0,
        7,
        2,
        None,
    ]
    assert [line["body"]["n"] for line in _of(records, "sent")] == [7]
    assert len(_of(records, "held")) == len(_of(records, "released")) == 3


def test_the_gate_may_refuse_a_message(tmp_path: Path) -> None:
    server = Server()
    gate = Deciding(
        Refuse(400, b'{"error":{"message":"dropped by hand","code":"dropped"}}'), Forward()
    )

    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json({"type": "response.create", "n": 1})
        await socket.receive_json()
        assert await socket.receive_json() == {
            "type": "error",
            "status": 400,
            "error": {"message": "dropped by hand", "code": "dropped"},
        }
        await socket.send_json({"type": "response.create", "n": 2})
        await socket.receive_json()
        assert (await socket.receive_json())["n"] == 2

    records = _run(server, tmp_path, talk, gate)
    assert _of(records, "response")[0]["status"] == 400
    assert [json.loads(one.data)["n"] for one in server.got if one.type is WSMsgType.TEXT] == [2]


def test_pings_go_past_a_message_that_waits(tmp_path: Path) -> None:
    server = Server()

    class Waiting(Deciding):
        async def admit(self, asked: PendingRequest) -> Decision:
            while not any(one.type is WSMsgType.PING for one in server.got):
                await asyncio.sleep(0.01)
            return Forward()

    async def talk(socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json({"type": "response.create", "n": 1})
        await socket.ping(b"x")
        assert (await socket.receive()).type is WSMsgType.PONG
        assert (await socket.receive_json())["n"] == 1

    _run(server, tmp_path, talk, Waiting(), autoping=False)
    assert [one.type for one in server.got][:2] == [WSMsgType.PING, WSMsgType.TEXT]


@pytest.mark.parametrize("gate", [Gate(), Deciding()], ids=["observed", "admitted"])
@pytest.mark.parametrize("begun", [b"", b"\x01\x03abc"], ids=["", "in the middle of a message"])
def test_what_is_no_frame_passes_unrecorded(tmp_path: Path, gate: Gate, begun: bytes) -> None:
    """Where messages wait for the gate, too: behind them, and in its order."""
    head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    def behave(wire: Wire) -> None:
        wire.until(END)
        wire.send(head)
        while data := wire.receive():
            wire.send(data)

    with proxied(behave, tmp_path, gate) as (proxy, _), client(proxy) as wire:
        wire.send(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        assert wire.until(END) == head
        nonsense = begun + b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff" + b"x" * 50
        said = text_frame(b"hello", is_client=True)
        wire.send(said + nonsense)
        assert wire.exactly(len(said)) == said
        assert wire.exactly(len(nonsense)) == nonsense
        wire.send(b"and more")
        assert wire.exactly(8) == b"and more"
        frames = [
            line for line in lines(proxy) if line["type"] == "frame" and line["from"] == "client"
        ]
        assert [line["text"] for line in frames] == ["hello"]


# -- frames by themselves ----------------------------------------------------------------------------------------------


def _frame(
    kind: int, data: bytes, *, last: bool = True, packed: bool = False, key: bytes = b""
) -> bytes:
    head = bytes((kind | 0x80 * last | 0x40 * packed,))
    size, mask = len(data), 0x80 * bool(key)
    if size < 126:
        head += bytes((mask | size,))
    elif size < 1 << 16:
        head += bytes((mask | 126,)) + size.to_bytes(2, "big")
    else:
        head += bytes((mask | 127,)) + size.to_bytes(8, "big")
    return head + key + (masked(data, key) if key else data)


@given(
    st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=5)), max_size=5),
    st.booleans(),
    st.booleans(),
    st.integers(1, 40),
)
def test_frames_in_any_pieces(
    parts: list[tuple[bytes, bytes]], is_packed: bool, goes_on: bool, step: int
) -> None:
    """Messages in two frames each, a ping between them, cut anywhere."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    sent = b""
    for data, ping in parts:
        wire = data
        if is_packed:
            if not goes_on:
                deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
            wire = (deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)).removesuffix(
                b"\x00\x00\xff\xff"
            )
        half = len(wire) // 2
        sent += _frame(TEXT, wire[:half], last=False, packed=is_packed, key=b"abcd")
        sent += _frame(PING, ping) + _frame(0, wire[half:])
    frames = FrameReader(is_packed, goes_on)
    got = [
        message for at in range(0, len(sent), step) for message in frames.feed(sent[at : at + step])
    ]
    assert [message.data for message in got if message.kind == TEXT] == [data for data, _ in parts]
    assert [message.data for message in got if message.kind == PING] == [ping for _, ping in parts]
    assert sorted(b"".join(message.raw for message in got)) == sorted(sent)
    assert frames.at_boundary()


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
@pytest.mark.parametrize("is_client", [True, False])
def test_frames_of_our_own_are_read_as_frames(size: int, is_client: bool) -> None:
    (message,) = FrameReader(True, True).feed(text_frame(b"x" * size, is_client=is_client))
    assert (message.kind, message.data) == (TEXT, b"x" * size)


def test_a_message_that_grows_without_end_is_not_kept() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = bomb.compress(bytes(100_000_000)) + bomb.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(BadFrames):
        list(FrameReader(True, True).feed(_frame(BINARY, data, packed=True)))
    with pytest.raises(BadFrames):
        list(FrameReader(False, True).feed(b"\x82\x7f" + (1 << 40).to_bytes(8, "big")))


def test_what_was_agreed_on_compression() -> None:
    def agreed(extensions: str) -> list[tuple[bool, bool]]:
        return [(one.is_packed, one.goes_on) for one in frame_readers(extensions)]

    assert agreed("") == agreed("x-other") == [(False, True)] * 2
    assert agreed("permessage-deflate") == [(True, True)] * 2
    asked = "foo, permessage-deflate; server_no_context_takeover; client_max_window_bits=15"
    assert agreed(asked) == [(True, True), (True, False)]
    assert CLOSE == 8
