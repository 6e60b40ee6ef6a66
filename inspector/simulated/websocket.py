"""OpenAI Responses over a WebSocket: one connection, one `response.create` after the other.

The connection remembers its latest response, stored or not, so that the next one can go on from it with the new items
alone; `generate: false` only lays in a beginning. Events are those of the stream, a frame each.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import WSMsgType, web

from inspector.core.jsontext import dumps
from inspector.simulated.answering import answered, check, late_refusal
from inspector.simulated.arriving import LARGEST_BODY, faulted, key, open_headers, read_object, remember
from inspector.simulated.call import Said
from inspector.simulated.dialect import Event, Refused, needed
from inspector.simulated.faults import HEADER, QUERY, Fault
from inspector.simulated.refusals import Refusal, status_refusal
from inspector.simulated.responses import ResponsesDialect
from inspector.simulated.sending import FOREVER_S, error_headers, paced, plain
from inspector.simulated.world import World

_UPGRADE = "This address is spoken to by WebSocket (GET) or HTTP (POST)."


async def converse(request: web.Request, world: World, openai: ResponsesDialect) -> web.StreamResponse:
    """`GET /v1/responses`. A client that is answered 426 goes on by HTTP."""
    socket = web.WebSocketResponse(max_msg_size=LARGEST_BODY, autoping=True)
    if not world.websocket or not socket.can_prepare(request):
        return plain(_UPGRADE, 426)
    await socket.prepare(request)
    one = _Connection(request, socket, world, openai.connected())
    async for frame in socket:
        if frame.type is not WSMsgType.TEXT:
            break
        await one.answer(frame.data)
    return socket


class _Connection:
    """One client's connection, from upgrade to close."""

    def __init__(
        self, request: web.Request, socket: web.WebSocketResponse, world: World, dialect: ResponsesDialect
    ) -> None:
        self._request = request
        self._socket = socket
        self._world = world
        self._dialect = dialect
        self._sent: list[bytes] = []

    async def answer(self, text: str) -> None:
        """One frame of the client, and all that comes of it."""
        raw = text.encode("utf-8", "replace")
        self._sent = []
        try:
            body = read_object(raw)
            if body.get("type") == "response.create":
                remember(self._request, self._world, raw)
                await self._create({name: value for name, value in body.items() if name != "type"})
        except Refused as refused:
            self._dialect.forget()
            await self._send(_error(refused.refusal))
        finally:
            if self._world.log:
                path, headers = str(self._request.rel_url), open_headers(self._request)
                self._world.log.add("WS", path, headers, raw, 101, b"\n".join(self._sent))

    async def _create(self, body: Mapping[str, Any]) -> None:
        """Raises Refused."""
        asked = self._request.headers.get(HEADER) or self._request.query.get(QUERY) or ""
        body, fault = faulted(body, asked, self._world)
        await self._early(fault)
        needed(body, "model")
        call = self._dialect.read(body)
        check(self._dialect, call, self._world, fault)
        if body.get("generate") is False:
            whole = self._dialect.begun(call, self._world.spend(self._dialect.name, call, Said(), key(self._request)))
        else:
            whole = answered(self._dialect, call, self._world, fault, key(self._request))
        late = late_refusal(self._dialect, self._world, fault)
        async for event in paced(self._dialect, self._dialect.events(whole), fault, late, self._world.pause_s):
            await self._send(event)
        match fault.kind:
            case "cut":
                if self._request.transport is not None:
                    self._request.transport.close()
            case "end":
                await self._socket.close()

    async def _early(self, fault: Fault) -> None:
        """The faults that come before any answer. Raises Refused."""
        if fault.status is not None:
            raise Refused(status_refusal(fault.status, fault.number))
        match fault.kind:
            case "stall":
                await asyncio.sleep(FOREVER_S if fault.number is None else fault.number)
            case "garbage":
                await self._socket.send_str("<html><body>502 Bad Gateway</body></html>")
            case "no-key":
                told = f"Incorrect API key provided: {key(self._request)}."
                raise Refused(Refusal(401, told, "authentication_error", "invalid_api_key"))

    async def _send(self, event: Event) -> None:
        text = dumps(event[1])
        if self._world.log:
            self._sent.append(text.encode("utf-8", "replace"))
        await self._socket.send_str(text)


def _error(refusal: Refusal) -> Event:
    """What would have been a status and a body over HTTP."""
    error = {"type": refusal.type, "code": refusal.code, "message": refusal.message, "param": refusal.param}
    return "error", {
        "type": "error",
        "status": refusal.status,
        "error": error,
        "headers": error_headers(refusal),
    }
