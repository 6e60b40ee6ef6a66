"""OpenAI Responses over a WebSocket: one connection, one `response.create` after the other.

The connection remembers its latest response, stored or not, so that the next one can go on from it with the new items
alone; `generate: false` only lays in a beginning. Events are those of the stream, a frame each.
"""

from collections.abc import Mapping
from typing import Any

from aiohttp import WSMsgType, web

from inspector.core.jsontext import dumps
from inspector.simulated.apis import StreamEvent
from inspector.simulated.call import SimulatedAnswer
from inspector.simulated.faults import HEADER, QUERY
from inspector.simulated.refusals import ApiError, RequestRefused, needed
from inspector.simulated.responses import ResponsesApi
from inspector.simulated.state import SimulatedServerState
from inspector.simulated.transport import (
    GARBAGE,
    LARGEST_BODY,
    error_headers,
    faulted,
    key,
    open_headers,
    paced,
    plain,
    read_object,
    remember,
    strikes_early,
)

_UPGRADE = "This address is spoken to by WebSocket (GET) or HTTP (POST)."


async def converse(state: SimulatedServerState, openai: ResponsesApi, request: web.Request) -> web.StreamResponse:
    """`GET /v1/responses`. A client that is answered 426 goes on by HTTP."""
    socket = web.WebSocketResponse(max_msg_size=LARGEST_BODY, autoping=True)
    if not state.websocket or not socket.can_prepare(request):
        return plain(_UPGRADE, 426)
    await socket.prepare(request)
    one = _Connection(request, socket, state, openai.connected())
    async for frame in socket:
        if frame.type is not WSMsgType.TEXT:
            break
        await one.answer(frame.data)
    return socket


class _Connection:
    """One client's connection, from upgrade to close."""

    def __init__(
        self, request: web.Request, socket: web.WebSocketResponse, state: SimulatedServerState, api: ResponsesApi
    ) -> None:
        self._request = request
        self._socket = socket
        self._state = state
        self._api = api
        self._sent: list[bytes] = []

    async def answer(self, text: str) -> None:
        """One frame of the client, and all that comes of it."""
        raw = text.encode("utf-8", "replace")
        self._sent = []
        try:
            body = read_object(raw)
            if body.get("type") == "response.create":
                remember(self._request, self._state, raw)
                await self._create({name: value for name, value in body.items() if name != "type"})
        except RequestRefused as refused:
            self._api.forget()
            await self._send(_error(refused.refusal))
        finally:
            if self._state.log:
                path, headers = str(self._request.rel_url), open_headers(self._request)
                self._state.log.add("WS", path, headers, raw, 101, b"\n".join(self._sent))

    async def _create(self, body: Mapping[str, Any]) -> None:
        """Raises RequestRefused."""
        asked = self._request.headers.get(HEADER) or self._request.query.get(QUERY) or ""
        body, fault = faulted(body, asked, self._state)
        if await strikes_early(self._request, fault):
            await self._socket.send_str(GARBAGE)
        needed(body, "model")
        call = self._api.read(body)
        self._api.check(call, self._state, fault)
        if body.get("generate") is False:
            whole = self._api.begun(
                call, self._state.spend(self._api.dialect.name, call, SimulatedAnswer(), key(self._request))
            )
        else:
            whole = self._api.reply(call, self._state, fault, key(self._request))
        late = self._api.late_refusal(self._state, fault)
        async for event in paced(self._api, self._api.events(whole), fault, late, self._state.pause_s):
            await self._send(event)
        match fault.kind:
            case "cut":
                if self._request.transport is not None:
                    self._request.transport.close()
            case "end":
                await self._socket.close()

    async def _send(self, event: StreamEvent) -> None:
        text = dumps(event[1])
        if self._state.log:
            self._sent.append(text.encode("utf-8", "replace"))
        await self._socket.send_str(text)


def _error(refusal: ApiError) -> StreamEvent:
    """What would have been a status and a body over HTTP."""
    error = {"type": refusal.type, "code": refusal.code, "message": refusal.message, "param": refusal.param}
    return "error", {
        "type": "error",
        "status": refusal.status,
        "error": error,
        "headers": error_headers(refusal),
    }
