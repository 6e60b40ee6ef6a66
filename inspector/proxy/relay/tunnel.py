"""An upgraded connection: bytes pass both ways as they come, pings and closes among them.

Only where the gate wants to see them do messages of the client wait, each until it is whole and admitted; control
frames go past those that wait.
"""

import asyncio
from collections import deque

from inspector.core.jsontext import NotJson, dumps, loads
from inspector.proxy.gate import Asked, Forward, Gate, How, Pairs, Refuse, Why
from inspector.proxy.record.records import Ended
from inspector.proxy.relay.conversation import Conversation, Turn
from inspector.proxy.relay.link import Link
from inspector.proxy.relay.websocket import CLOSE, BadFrames, Frames, Message, Packing, text_frame


class Tunnel:
    """`run()` until one side has closed. Without a `conversation` (no WebSocket) the bytes just pass."""

    def __init__(self, down: Link, up: Link, gate: Gate, conversation: Conversation | None, packed: Packing) -> None:
        self._down, self._up, self._gate, self._conversation = down, up, gate, conversation
        self._from_client: Frames | None = None
        self._from_server: Frames | None = None
        if conversation is not None:
            self._from_client = Frames(packed.is_on, packed.client_goes_on)
            self._from_server = Frames(packed.is_on, packed.server_goes_on)
        self._closed: Ended | None = None
        """Who said first that it closes."""
        self._must_rewrite = False
        """Set once a compressed message was replaced: later ones may lean on what the provider never saw."""
        self._is_packed = packed.is_on
        self._injected: list[bytes] = []
        self._waiting: deque[Message] = deque()
        self._more = asyncio.Event()
        self._held: asyncio.Task[Forward | Refuse] | None = None

    async def run(self) -> None:
        """Both ways, until one ends."""
        conversation = self._conversation
        admits = conversation is not None and self._gate.wants(conversation.asking)
        work = {
            asyncio.create_task(self._upwards_admitted() if admits else self._upwards()),
            asyncio.create_task(self._downwards()),
        }
        forwarder = asyncio.create_task(self._forward_waiting(conversation)) if admits and conversation else None
        self._down.on_gone = self._client_gone
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._down.on_gone = None
            for task in (*work, forwarder, self._held):
                if task is not None:
                    task.cancel()
            if conversation is not None:
                conversation.close(self._closed or ("client closed" if self._down.gone else "upstream closed"))
            self._up.close()
            self._down.close()

    def _client_gone(self) -> None:
        if self._held is not None:
            self._held.cancel()

    async def _upwards(self) -> None:
        while data := await self._down.read():
            self._up.write(data)
            for message in self._seen(self._from_client, data):
                self._note(message)
            await self._up.drain()

    def _note(self, message: Message) -> None:
        conversation = self._conversation
        if message.kind == CLOSE:
            self._closed = self._closed or "client closed"
        if conversation is None or message.kind >= CLOSE:
            return
        if conversation.begins(message.data):
            conversation.asked(message.data)
        else:
            conversation.said(message.data)

    async def _downwards(self) -> None:
        while data := await self._up.read():
            self._down.write(data)
            for message in self._seen(self._from_server, data):
                if message.kind == CLOSE:
                    self._closed = self._closed or "upstream closed"
                elif message.kind < CLOSE and self._conversation is not None:
                    self._conversation.answered(message.data)
            self._flush()
            await self._down.drain()

    def _seen(self, frames: Frames | None, data: bytes) -> list[Message]:
        """The messages that are whole with `data`. What is not understood passes all the same, unrecorded."""
        if frames is None:
            return []
        try:
            return list(frames.feed(data))
        except BadFrames:
            if frames is self._from_client:
                self._from_client = None
            else:
                self._from_server = None
            return []

    def inject(self, data: bytes) -> None:
        """A text message of ours for the client, as soon as no frame is under way."""
        self._injected.append(text_frame(data, is_client=False))
        self._flush()

    def _flush(self) -> None:
        if self._injected and (self._from_server is None or self._from_server.at_boundary()):
            self._down.write(b"".join(self._injected))
            self._injected.clear()

    async def _upwards_admitted(self) -> None:
        while data := await self._down.read():
            if self._from_client is None:
                self._up.write(data)
                continue
            for message in self._seen(self._from_client, data):
                if message.kind >= CLOSE:
                    self._up.write(message.raw)
                    if message.kind == CLOSE:
                        self._closed = self._closed or "client closed"
                        self._client_gone()
                else:
                    self._waiting.append(message)
                    self._more.set()

    async def _forward_waiting(self, conversation: Conversation) -> None:
        """Messages of the client, one after the other, each when it may go."""
        while True:
            while not self._waiting:
                self._more.clear()
                await self._more.wait()
            message = self._waiting.popleft()
            if conversation.begins(message.data):
                await self._admit(conversation, message, conversation.asked(message.data))
            else:
                conversation.said(message.data)
                self._send(message, None)
            await self._up.drain()

    async def _admit(self, conversation: Conversation, message: Message, turn: Turn) -> None:
        asked = Asked(turn.passage.asking, message.data, _Talk(self, turn))
        self._held = asyncio.ensure_future(self._gate.admit(asked))
        await asyncio.wait({self._held})
        if self._held.cancelled() or self._down.gone:
            asked.gone.set()
            conversation.end(turn, "client closed")
            return
        if (broke := self._held.exception()) is not None:
            told = {"message": "the gate of the proxy broke", "exception": broke, "task": self._held}
            asyncio.get_running_loop().call_exception_handler(told)
        match Forward() if broke is not None else self._held.result():
            case Refuse() as refuse:
                data = _refusal(refuse)
                turn.tape.add(data)
                self.inject(data)
                conversation.end(turn, "complete", status=refuse.status)
            case Forward() as forward:
                if forward.body is not None:
                    turn.passage.sent(forward.body)
                turn.passage.handed_on()
                self._send(message, forward.body)

    def _send(self, message: Message, body: bytes | None) -> None:
        self._must_rewrite = self._must_rewrite or (body is not None and self._is_packed)
        if body is None and not self._must_rewrite:
            self._up.write(message.raw)
        else:
            self._up.write(text_frame(message.data if body is None else body, is_client=True))


class _Talk:
    """What the gate says to the client of a WebSocket: messages; the answer has no head to begin."""

    def __init__(self, tunnel: Tunnel, turn: Turn) -> None:
        self._tunnel, self._turn = tunnel, turn

    async def early(self, status: int, headers: Pairs) -> None:
        """Nothing: the connection stands already."""

    async def send(self, data: bytes) -> None:
        """One text message."""
        self._tunnel.inject(data)

    def held(self, why: Why, tokens: int | None) -> None:
        """Record it."""
        self._turn.passage.held(why, tokens)

    def released(self, how: How) -> None:
        """Record it."""
        self._turn.passage.released(how)

    def sends(self, body: bytes) -> None:
        """Record it."""
        self._turn.passage.sent(body)


def _refusal(refuse: Refuse) -> bytes:
    """An error as a WebSocket of the Responses API tells one."""
    try:
        told = loads(refuse.body)
    except NotJson:
        told = {}
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict):
        error = {"message": refuse.body.decode(errors="replace"), "code": "proxy_refused"}
    return dumps({"type": "error", "status": refuse.status, "error": error}).encode()
