"""The server of the simulated provider: its endpoints, and how a request is processed.

It listens on loopback only, in a separate thread. OpenAI Responses is also available over a WebSocket: one connection
takes one `response.create` after the other. The connection remembers its latest response, stored or not, so that the
next one can continue it with only the new items; `generate: false` only stores a beginning. The events are those of the
stream, one per frame.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeAlias

from aiohttp import WSMsgType, web
from aiohttp.typedefs import Middleware

from inspector.core.dialects.gemini import GEMINI
from inspector.core.jsontext import dumps
from inspector.core.untyped import object_of
from inspector.safety.web_server import WebServer, is_local
from inspector.simulated.apis import AnthropicApi, ChatApi, GeminiApi, SimulatedApi, StreamEvent
from inspector.simulated.call import SimulatedAnswer
from inspector.simulated.faults import (
    HEADER,
    QUERY,
    ApiError,
    RequestRefused,
    needed,
)
from inspector.simulated.responses import ResponsesApi, compacted, compaction
from inspector.simulated.state import SimulatedServerState
from inspector.simulated.transport import (
    GARBAGE,
    LARGEST_BODY,
    ON_SENT,
    RAW,
    answer_whole,
    error,
    error_headers,
    faulted,
    json,
    key,
    open_headers,
    paced,
    parsed,
    plain,
    read_object,
    read_request,
    remember_request,
    streamed,
    strikes_early,
)

MODELS = ("simulated", "claude-simulated", "gpt-simulated", "gemini-simulated")

_MODEL = "{model:[^/:]+}"
"""The pattern of a model's name in a route; a colon and the method follow it."""

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(state: SimulatedServerState) -> web.Application:
    """Return the web application with all endpoints, which share one state."""
    anthropic = AnthropicApi()
    chat = ChatApi()
    openai = ResponsesApi()
    gemini = GeminiApi()

    def post(
        path: str, handler: Callable[..., Awaitable[web.StreamResponse]], api: SimulatedApi
    ) -> web.RouteDef:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await handler(state, api, request)
            except RequestRefused as refused:
                return error(api, refused.refusal)

        return web.post(path, handle)

    app = web.Application(middlewares=[refuse_other_hosts, _log_middleware(state)])
    of_all = [web.get("/", _alive), web.get("/api/hello", _alive), web.get("/v1/models", _models)]
    of_anthropic = [
        post("/v1/messages", _answer, anthropic),
        post("/v1/messages/count_tokens", _count, anthropic),
    ]
    of_openai = [
        post("/v1/chat/completions", _answer, chat),
        post("/v1/responses", _answer, openai),
        web.get("/v1/responses", partial(converse, state, openai), allow_head=False),
        post("/v1/responses/compact", _compact, openai),
        post("/v1/responses/input_tokens", _count, openai),
    ]
    list_models = partial(_gemini_models, state)
    of_gemini = [
        post(f"/v1beta/models/{_MODEL}:generateContent", _answer, gemini),
        post(f"/v1beta/models/{_MODEL}:streamGenerateContent", _answer, gemini),
        post(f"/v1beta/models/{_MODEL}:countTokens", _count, gemini),
        web.get("/v1beta/models", list_models),
        web.get(f"/v1beta/models/{_MODEL}", list_models),
    ]
    app.add_routes([*of_all, *of_anthropic, *of_openai, *of_gemini])
    return app


@web.middleware
async def refuse_other_hosts(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests for another host, so that no web page can use this server under another name."""
    if not is_local(request):
        return plain("This server answers to 127.0.0.1 and localhost only.", 403)
    return await handler(request)


def _log_middleware(state: SimulatedServerState) -> Middleware:
    """Return middleware that records received and sent bytes in the wire log, if there is one."""

    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
        sent: list[bytes] = []
        request[ON_SENT] = sent.append if state.log else lambda data: None
        response: web.StreamResponse | None = None
        try:
            response = await handler(request)
            return response
        except web.HTTPException as refused:
            response = refused
            raise
        finally:
            if state.log:
                body = response.body if isinstance(response, web.Response) else None
                status = response.status if response is not None else 0
                answer = body if isinstance(body, bytes) else b"".join(sent)
                answer = b"" if request.method == "HEAD" else answer
                path = str(request.rel_url)
                headers = open_headers(request)
                state.log.add(
                    request.method, path, headers, await _raw_body(request), status, answer
                )

    return log


async def _raw_body(request: web.Request) -> bytes:
    """Return the body as it was sent."""
    if RAW in request:
        raw: bytes = request[RAW]
        return raw
    return await request.read() if request.can_read_body else b""


async def _alive(request: web.Request) -> web.StreamResponse:
    return plain("simulated provider")


async def _models(request: web.Request) -> web.StreamResponse:
    data = [
        {"id": name, "object": "model", "type": "model", "created": 0, "owned_by": "simulated"}
        for name in MODELS
    ]
    return json({"object": "list", "data": data, "has_more": False})


async def _gemini_models(state: SimulatedServerState, request: web.Request) -> web.StreamResponse:
    """Return the model that the path names, or all models."""
    requested = request.match_info.get("model")
    if requested:
        return json(_gemini_model(requested, state.window))
    return json({"models": [_gemini_model(name, state.window) for name in MODELS]})


def _gemini_model(name: str, window: int) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": window,
        "outputTokenLimit": 8192,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


async def _count(
    state: SimulatedServerState, api: SimulatedApi, request: web.Request
) -> web.StreamResponse:
    """Return the tokens of a prompt. Takes no fault from the queue."""
    body = await parsed(request, state)
    tokens = state.prompt_tokens(api.read(object_of(body, "generateContentRequest") or body))
    if api.dialect is GEMINI:
        return json({"totalTokens": tokens})
    return json({"object": "response.input_tokens", "input_tokens": tokens})


async def _answer(
    state: SimulatedServerState, api: SimulatedApi, request: web.Request
) -> web.StreamResponse:
    body, fault = await read_request(request, state)
    if await strikes_early(request, fault):
        return plain(GARBAGE, kind="text/html")
    needed(body, "model", *api.answers_need)
    call = api.read(body)
    api.check(call, state, fault)
    answer = api.reply(call, state, fault, key(request))
    late = api.late_refusal(state, fault)
    if call.stream:
        events = paced(api, api.events(answer), fault, late, state.pause_s)
        return await streamed(request, events, fault.kind == "cut")
    if fault.kind == "overflow-late":
        return error(api, late)
    return await answer_whole(request, api, answer, fault)


async def _compact(
    state: SimulatedServerState, api: ResponsesApi, request: web.Request
) -> web.StreamResponse:
    """Answer `/responses/compact`: one complete response, never a stream."""
    body, fault = await read_request(request, state)
    if await strikes_early(request, fault):
        return plain(GARBAGE, kind="text/html")
    if not state.may_compact():
        raise RequestRefused(
            ApiError(status=404, message="Invalid URL (POST /v1/responses/compact)")
        )
    call = api.read(body)
    api.check(call, state, fault)
    spoken = SimulatedAnswer(compaction(call.buffer.messages, call.digest)["encrypted_content"])
    answer = compacted(call, state.spend(api.dialect.name, call, spoken, key(request)))
    if fault.kind == "empty":
        answer["output"] = []
    return await answer_whole(request, api, answer, fault)


LONGEST_LINE = 1 << 16
"""Maximum number of bytes of one header: some clients put whole JSON documents there."""


class SimulatedServer(WebServer):
    """Runs the simulated provider. `world`: its state, with window and faults."""

    NAME: ClassVar[str] = "simulated provider"
    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "auto_decompress": False,  # bodies are recorded as they were sent
        "handler_cancellation": True,  # handling stops when the client has closed
        "shutdown_timeout": 0.05,
        "max_field_size": LONGEST_LINE,
        "max_line_size": LONGEST_LINE,
    }

    def __init__(self, world: SimulatedServerState | None = None, port: int = 0) -> None:
        super().__init__(port=port)
        self.world = world or SimulatedServerState()

    def _application(self) -> web.Application:
        return application(self.world)


_UPGRADE = "This address is spoken to by WebSocket (GET) or HTTP (POST)."


async def converse(
    state: SimulatedServerState, openai: ResponsesApi, request: web.Request
) -> web.StreamResponse:
    """Answer `GET /v1/responses` over a WebSocket. A client that gets 426 continues over HTTP."""
    socket = web.WebSocketResponse(max_msg_size=LARGEST_BODY, autoping=True)
    if not state.websocket or not socket.can_prepare(request):
        return plain(_UPGRADE, 426)
    await socket.prepare(request)
    connection = _Connection(request, socket, state, api=openai.connected())
    async for frame in socket:
        if frame.type is not WSMsgType.TEXT:
            break
        await connection.answer(frame.data)
    return socket


class _Connection:
    """One client's connection, from upgrade to close."""

    def __init__(
        self,
        request: web.Request,
        socket: web.WebSocketResponse,
        state: SimulatedServerState,
        api: ResponsesApi,
    ) -> None:
        self._request = request
        self._socket = socket
        self._state = state
        self._api = api
        self._sent: list[bytes] = []

    async def answer(self, text: str) -> None:
        """Answer one frame of the client."""
        raw = text.encode("utf-8", "replace")
        self._sent = []
        try:
            body = read_object(raw)
            if body.get("type") == "response.create":
                remember_request(self._request, self._state, raw)
                await self._create({name: value for name, value in body.items() if name != "type"})
        except RequestRefused as refused:
            self._api.forget()
            await self._send(_error(refused.refusal))
        finally:
            if self._state.log:
                path = str(self._request.rel_url)
                headers = open_headers(self._request)
                self._state.log.add("WS", path, headers, raw, 101, b"\n".join(self._sent))

    async def _create(self, body: Mapping[str, Any]) -> None:
        """Answer one `response.create`. Raises RequestRefused."""
        faults = self._request.headers.get(HEADER) or self._request.query.get(QUERY) or ""
        body, fault = faulted(body, faults, self._state)
        if await strikes_early(self._request, fault):
            await self._socket.send_str(GARBAGE)
        needed(body, "model")
        call = self._api.read(body)
        self._api.check(call, self._state, fault)
        if body.get("generate") is False:
            whole = self._api.begun(
                call,
                self._state.spend(
                    self._api.dialect.name, call, spoken=SimulatedAnswer(), key=key(self._request)
                ),
            )
        else:
            whole = self._api.reply(call, self._state, fault, key(self._request))
        late = self._api.late_refusal(self._state, fault)
        async for event in paced(
            self._api, self._api.events(whole), fault, late, self._state.pause_s
        ):
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
    """Return a refusal as an event that contains the status and body of HTTP."""
    error = {
        "type": refusal.type,
        "code": refusal.code,
        "message": refusal.message,
        "param": refusal.param,
    }
    return "error", {
        "type": "error",
        "status": refusal.status,
        "error": error,
        "headers": error_headers(refusal),
    }
