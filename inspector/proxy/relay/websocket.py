"""WebSockets (RFC 6455, permessage-deflate of RFC 7692): frames are parsed from a copy of the bytes that pass.

All bytes pass unchanged, including pings and closes. New frames are made only if the gate changed a message or sends
its own. Messages of the client wait, each until it is complete and admitted, only if the gate wants to see them;
control frames overtake them. wsproto is not suitable: it gives the content of frames but not their original bytes,
which are what is passed on, and takes nearly twice the time for small frames.
"""

import asyncio
import os
import time
import zlib
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from inspector.core.dialects.catalogue import is_terminal
from inspector.core.jsontext import dumps
from inspector.core.untyped import fields_of, text_at, value_in
from inspector.proxy.gate import Decision, Forward, Gate, PendingRequest, Refuse, decision_of
from inspector.proxy.record.exchange_log import ExchangeLog
from inspector.proxy.record.recorder import Recorder
from inspector.proxy.record.records import Ended, FrameRecord, RequestHead, Side
from inspector.proxy.relay.http_syntax import HeaderBlock
from inspector.proxy.relay.link import TcpLink

UNKNOWN, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
LARGEST = 64_000_000
"""Maximum number of bytes of one message, unpacked."""
_TAIL = b"\x00\x00\xff\xff"


class BadFrames(ValueError):
    """The bytes are not WebSocket frames, or the frames are too large; what follows cannot be parsed."""


def frame_readers(extensions: str) -> "tuple[FrameReader, FrameReader]":
    """Return the readers of the client's and the server's frames, according to the answer's extensions header."""
    for extension in extensions.split(","):
        name, *parameters = [
            word.strip().lower().partition("=")[0] for word in extension.split(";")
        ]
        if name == "permessage-deflate":
            client, server = (
                f"{side}_no_context_takeover" not in parameters for side in ("client", "server")
            )
            return FrameReader(is_packed=True, goes_on=client), FrameReader(
                is_packed=True, goes_on=server
            )
    return FrameReader(), FrameReader()


@dataclass(frozen=True, slots=True)
class WebSocketMessage:
    """A complete message, a control frame, or (UNKNOWN) bytes that cannot be parsed. `raw` holds the original bytes."""

    kind: int
    data: bytes
    raw: bytes


class RawFrame(NamedTuple):
    """A frame as it was received."""

    first_byte: int
    """Holds the kind of the frame and its flags."""
    payload: bytes
    """The content, unmasked."""
    raw: bytes
    """All bytes of the frame."""


class FrameReader:
    """Parses the frames of one direction. `feed` yields the messages that are completed. Raises BadFrames.

    `is_packed`: compression was agreed on; `goes_on`: the compression context continues from message to message.
    """

    def __init__(self, is_packed: bool = False, goes_on: bool = True) -> None:
        self.is_packed = is_packed
        self.goes_on = goes_on
        self._inflater = zlib.decompressobj(-15)
        self._waiting = bytearray()
        self._parts: list[bytes] = []
        self._raws: list[bytes] = []
        self._kind = 0
        self._is_compressed = False

    def at_boundary(self) -> bool:
        """Does the next byte begin a frame? Only then may another frame be inserted."""
        return not self._waiting

    def feed(self, data: bytes) -> Iterator[WebSocketMessage]:
        """Yield the completed messages in order; control frames may come between the frames of a message."""
        self._waiting += data
        while (frame := self._frame()) is not None:
            kind = frame.first_byte & 0x0F
            is_last = bool(frame.first_byte & 0x80)
            if kind >= CLOSE:
                yield WebSocketMessage(kind, frame.payload, frame.raw)
                continue
            if kind:
                self._kind = kind
                self._is_compressed = bool(frame.first_byte & 0x40)
                self._parts = []
                self._raws = []
            self._parts.append(frame.payload)
            self._raws.append(frame.raw)
            if sum(map(len, self._parts)) > LARGEST:
                raise BadFrames(f"a message is larger than {LARGEST:,} bytes")
            if is_last:
                message = WebSocketMessage(self._kind, self._join_message(), b"".join(self._raws))
                self._raws = []
                yield message

    def rest(self) -> bytes:
        """Return the bytes that belong to no complete message yet."""
        return b"".join((*self._raws, self._waiting))

    def _frame(self) -> RawFrame | None:
        """Take the next frame from the waiting bytes; None until it is complete."""
        waiting = self._waiting
        if len(waiting) < 2:
            return None
        length = waiting[1] & 0x7F
        position = 2
        if length > 125:
            position = 4 if length == 126 else 10
            if len(waiting) < position:
                return None
            length = int.from_bytes(waiting[2:position], "big")
        if length > LARGEST:
            raise BadFrames(f"a frame is larger than {LARGEST:,} bytes")
        is_masked = bool(waiting[1] & 0x80)
        start = position + 4 if is_masked else position  # the mask has 4 bytes
        if len(waiting) < start + length:
            return None
        raw = bytes(waiting[: start + length])
        del waiting[: start + length]
        payload = masked(raw[start:], raw[position:start]) if is_masked else raw[start:]
        return RawFrame(raw[0], payload, raw)

    def _join_message(self) -> bytes:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        if not (self.is_packed and self._is_compressed):
            return data
        try:
            plain = self._inflater.decompress(data + _TAIL, LARGEST)
        except zlib.error as error:
            raise BadFrames(f"a message cannot be unpacked ({error})") from None
        if self._inflater.unconsumed_tail:
            raise BadFrames(f"a message is larger than {LARGEST:,} bytes")
        if not self.goes_on or self._inflater.eof:
            self._inflater = zlib.decompressobj(-15)
        return plain


def masked(data: bytes, key: bytes) -> bytes:
    """Mask or unmask a payload; both are the same operation."""
    size = len(data)
    stretched = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(stretched, "big")).to_bytes(size, "big")


def text_frame(data: bytes, *, is_client: bool) -> bytes:
    """Return one text message as one uncompressed frame; masked if a client sends it."""
    size = len(data)
    mask = 0x80 if is_client else 0
    if size < 126:
        head = bytes((0x80 | TEXT, mask | size))
    elif size < 1 << 16:
        head = bytes((0x80 | TEXT, mask | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | TEXT, mask | 127)) + size.to_bytes(8, "big")
    if not is_client:
        return head + data
    key = os.urandom(4)
    return head + key + masked(data, key)


_ENDS = (
    b"response.completed",
    b"response.failed",
    b"response.incomplete",
    b"response.done",
    b'"error"',
)
"""Every message that ends an answer contains one of these."""


class Tunnel:
    """A connection that no longer carries HTTP. `run()` passes bytes in both directions until one side has closed."""

    def __init__(self, down: TcpLink, up: TcpLink) -> None:
        self._down = down
        self._up = up

    async def run(self) -> None:
        work = {asyncio.create_task(way) for way in self._directions()}
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            self._close()
            self._up.close()
            self._down.close()

    def _directions(self) -> tuple[Coroutine[Any, Any, None], ...]:
        return _pass_bytes(self._down, self._up), _pass_bytes(self._up, self._down)

    def _close(self) -> None:
        """Clean up after the connection has ended."""


async def _pass_bytes(source: TcpLink, target: TcpLink) -> None:
    while data := await source.read():
        target.write(data)
        await target.drain()


class WebSocketTunnel(Tunnel):
    """A WebSocket connection. Its exchanges are recorded, and admitted if the gate wants to see them.

    `head` and `answer` are those of the handshake; each exchange gets a separate number.
    """

    def __init__(
        self,
        down: TcpLink,
        up: TcpLink,
        recorder: Recorder,
        gate: Gate,
        head: RequestHead,
        answer: HeaderBlock,
        number: Callable[[], int],
    ) -> None:
        super().__init__(down, up)
        self._recorder = recorder
        self._gate = gate
        self._headers = answer.pairs
        self._number = number
        self._head = replace(head, transport="websocket")
        """The head of the next exchange, except for its number and time."""
        self._from_client: FrameReader | None
        self._from_server: FrameReader | None
        self._from_client, self._from_server = frame_readers(
            ",".join(answer.all("sec-websocket-extensions"))
        )
        self._is_packed = self._from_client.is_packed
        self._under_way: deque[ExchangeLog] = deque()
        self._closed: Ended | None = None
        """The side that announced first that it closes."""
        self._must_rewrite = False
        """True once a compressed message was replaced: later ones may refer to data that the provider never
        received.
        """
        self._injected: list[bytes] = []
        self._is_waiting = False
        """True while bytes that were read from the provider are not passed on yet."""
        self._admits = gate.wants(self._head)
        self._waiting: asyncio.Queue[WebSocketMessage] = asyncio.Queue()
        self._held: asyncio.Task[Decision] | None = None
        down.on_gone = self._client_gone

    def _directions(self) -> tuple[Coroutine[Any, Any, None], ...]:
        both = (self._pass_up(), self._pass_down())
        return (*both, self._forward_waiting()) if self._admits else both

    def _client_gone(self) -> None:
        if self._held is not None:
            self._held.cancel()

    def _close(self) -> None:
        self._down.on_gone = None
        self._client_gone()
        for log in tuple(self._under_way):
            self._end(
                log, self._closed or ("client closed" if self._down.gone else "upstream closed")
            )

    def _end(self, log: ExchangeLog, ended: Ended) -> None:
        if log in self._under_way:
            self._under_way.remove(log)
            log.finish(ended)

    # -- what is recorded

    def _record_client_message(self, data: bytes) -> ExchangeLog | None:
        """Record a message of the client. If it asks for an answer, return the exchange that begins with it."""
        is_asked = b"response.create" in data[:4096] + data[-4096:]
        if not is_asked or text_at(value_in(data), "type") != "response.create":
            self._put_frame("client", data)
            return None
        head = replace(self._head, exchange=self._number(), time=time.time())
        log = ExchangeLog(
            head,
            self._recorder,
            self._gate.answered,
            has_frames=True,
            status=101,
            headers=self._headers,
        )
        log.up.add(data)
        log.request_read()
        self._under_way.append(log)
        return log

    def _record_provider_message(self, data: bytes) -> None:
        """Record a message of the provider as part of the oldest open exchange."""
        if not self._under_way:
            self._put_frame("upstream", data)
            return
        log = self._under_way[0]
        log.began_to_answer()
        log.down.add(data)
        if any(word in data for word in _ENDS) and is_terminal(fields_of(value_in(data))):
            self._end(log, "complete")

    def _put_frame(self, side: Side, data: bytes) -> None:
        exchange = self._under_way[0].head.exchange if self._under_way else None
        captured = self._recorder.capture(data)
        self._recorder.put(
            FrameRecord(time.time(), self._head.connection, exchange, side, body=captured)
        )

    def _read_messages(self, frames: FrameReader | None, data: bytes) -> list[WebSocketMessage]:
        """Return the messages that are completed by `data`. Bytes that cannot be parsed pass unrecorded."""
        if frames is None:
            return []
        messages: list[WebSocketMessage] = []
        try:
            messages.extend(frames.feed(data))
        except BadFrames:
            messages.append(WebSocketMessage(UNKNOWN, b"", frames.rest()))
            if frames is self._from_client:
                self._from_client = None
            else:
                self._from_server = None
        return messages

    # -- to the client

    async def _pass_down(self) -> None:
        while data := await self._up.read():
            for message in self._read_messages(self._from_server, data):
                if message.kind == CLOSE:
                    self._closed = self._closed or "upstream closed"
                elif UNKNOWN < message.kind < CLOSE:
                    self._record_provider_message(message.data)
            await self._wait_until_safe()
            self._down.write(data)
            self._flush()
            await self._down.drain()

    async def _wait_until_safe(self) -> None:
        """Wait until the answers that have ended are recorded. Meanwhile, messages of the proxy wait, too."""
        if self._recorder.is_safe():
            return
        self._is_waiting = True
        try:
            await self._recorder.wait_until_safe()
        finally:
            self._is_waiting = False

    def inject(self, data: bytes) -> None:
        """Send the client a text message of the proxy, as soon as no frame is in progress."""
        self._injected.append(text_frame(data, is_client=False))
        self._flush()

    def _flush(self) -> None:
        if (
            self._injected
            and not self._is_waiting
            and (self._from_server is None or self._from_server.at_boundary())
        ):
            self._down.write(b"".join(self._injected))
            self._injected.clear()

    # -- to the provider

    async def _pass_up(self) -> None:
        """Pass on the client's messages: at once, or, if the gate wants to see them, each when it is complete and
        admitted.
        """
        while data := await self._down.read():
            if not self._admits:
                self._up.write(data)
            elif self._from_client is None:
                self._waiting.put_nowait(WebSocketMessage(UNKNOWN, b"", data))
            for message in self._read_messages(self._from_client, data):
                if message.kind == CLOSE:
                    self._closed = self._closed or "client closed"
                    self._client_gone()
                if self._admits and message.kind < CLOSE:
                    self._waiting.put_nowait(message)
                elif self._admits:
                    self._up.write(message.raw)
                elif UNKNOWN < message.kind < CLOSE:
                    self._record_client_message(message.data)
            if not self._admits:
                await self._up.drain()

    async def _forward_waiting(self) -> None:
        """Forward the client's messages one after the other, each when it is admitted."""
        while True:
            message = await self._waiting.get()
            log = self._record_client_message(message.data) if message.kind != UNKNOWN else None
            if message.kind == UNKNOWN:
                self._up.write(message.raw)
            elif log is None:
                self._send(message, None)
            else:
                await self._admit(message, log)
            await self._up.drain()

    async def _admit(self, message: WebSocketMessage, log: ExchangeLog) -> None:
        self._held = asyncio.ensure_future(
            self._gate.admit(_WebSocketRequest(self, log, message.data))
        )
        await asyncio.wait({self._held})
        match decision_of(self._held):
            case Refuse() as refuse if not self._down.gone:
                data = _refusal(refuse)
                log.down.add(data)
                log.status = refuse.status
                self._end(log, "complete")
                await self._recorder.wait_until_safe()
                self.inject(data)
            case Forward(body) if not self._down.gone:
                if body is not None:
                    log.sent(body)
                log.note_sent()
                self._send(message, body)
            case _:
                self._end(log, "client closed")

    def _send(self, message: WebSocketMessage, body: bytes | None) -> None:
        self._must_rewrite = self._must_rewrite or (body is not None and self._is_packed)
        if body is None and not self._must_rewrite:
            self._up.write(message.raw)
        else:
            self._up.write(text_frame(message.data if body is None else body, is_client=True))


class _WebSocketRequest(PendingRequest):
    """A WebSocket message that waits at the gate. Its answer has no head that could be begun early."""

    def __init__(self, tunnel: WebSocketTunnel, log: ExchangeLog, raw: bytes) -> None:
        super().__init__(log.head, raw, log)
        self._tunnel = tunnel

    async def send(self, data: bytes) -> None:
        self._tunnel.inject(data)


def _refusal(refuse: Refuse) -> bytes:
    """Return an error in the form of the Responses API on a WebSocket."""
    error = fields_of(value_in(refuse.body)).get("error")
    if not isinstance(error, dict):
        error = {"message": refuse.body.decode(errors="replace"), "code": "proxy_refused"}
    return dumps({"type": "error", "status": refuse.status, "error": error}).encode()
