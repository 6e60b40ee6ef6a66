"""The web application of the simulated provider: endpoints, and the way of a request through them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, loads
from inspector.core.validity import ANTHROPIC
from inspector.live.simulated import responses
from inspector.live.simulated.anthropic import AnthropicDialect
from inspector.live.simulated.call import Call, Said, within
from inspector.live.simulated.chat import ChatDialect
from inspector.live.simulated.dialect import Dialect, Refused, needed
from inspector.live.simulated.faults import HEADER, NONE, QUERY, Fault, read_faults, split_model
from inspector.live.simulated.refusals import Refusal, invalid, output_overflow, overflow, status_refusal
from inspector.live.simulated.responses import ResponsesDialect, compacted
from inspector.live.simulated.sending import error, silence, streamed, whole
from inspector.live.simulated.talk import speak
from inspector.live.simulated.world import Seen, World

LARGEST_BODY = 64_000_000
MODELS = ("simulated", "claude-simulated", "gpt-simulated")
_HERE = re.compile(r"(?i)(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?")
_SECRET = ("authorization", "x-api-key", "api-key", "cookie")

Answer: TypeAlias = Callable[[Call, Fault, str], Response]


def application(world: World) -> Starlette:
    """All endpoints over one world."""
    anthropic, chat, openai = AnthropicDialect(), ChatDialect(), ResponsesDialect()

    def endpoint(dialect: Dialect, needs: tuple[str, ...] = ()) -> Any:
        async def answer(request: Request) -> Response:
            return await _model_call(request, world, dialect, needs)

        return answer

    async def compact(request: Request) -> Response:
        return await _compact(request, world, openai)

    def counting(dialect: Dialect) -> Any:
        async def count(request: Request) -> Response:
            return await _count(request, world, dialect)

        return count

    routes = [
        Route("/", _alive),
        Route("/api/hello", _alive),
        Route("/v1/models", _models),
        Route("/v1/messages", endpoint(anthropic, ("max_tokens",)), methods=["POST"]),
        Route("/v1/messages/count_tokens", counting(anthropic), methods=["POST"]),
        Route("/v1/chat/completions", endpoint(chat), methods=["POST"]),
        Route("/v1/responses", endpoint(openai), methods=["POST"]),
        Route("/v1/responses", _upgrade, methods=["GET"]),
        Route("/v1/responses/compact", compact, methods=["POST"]),
        Route("/v1/responses/input_tokens", counting(openai), methods=["POST"]),
    ]
    app = Starlette(routes=routes)
    app.add_middleware(OnlyHere)
    return app


async def _alive(request: Request) -> Response:
    return PlainTextResponse("simulated provider")


async def _upgrade(request: Request) -> Response:
    """Clients that try a WebSocket first fall back on HTTP when they are told so."""
    return PlainTextResponse("WebSocket is not spoken here", 426)


async def _models(request: Request) -> Response:
    data = [{"id": name, "object": "model", "type": "model", "created": 0, "owned_by": "simulated"} for name in MODELS]
    return JSONResponse({"object": "list", "data": data, "has_more": False})


class OnlyHere:
    """Refuses requests meant for another host: no web page may use this server behind a name of its own."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Host must be this machine, and Origin, where there is one, too."""
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            origin = headers.get(b"origin", "").rpartition("://")[2]
            if not _HERE.fullmatch(headers.get(b"host", "")) or (origin and not _HERE.fullmatch(origin)):
                await PlainTextResponse("This server answers to 127.0.0.1 and localhost only.", 403)(
                    scope, receive, send
                )
                return
        await self._app(scope, receive, send)


async def _model_call(request: Request, world: World, dialect: Dialect, needs: tuple[str, ...]) -> Response:
    """One answer of the model, in whichever dialect."""
    try:
        body, fault = await _received(request, world)
        if (early := await _early(request, dialect, fault)) is not None:
            return early
        needed(body, "model", *needs)
        call = dialect.read(body)
        _check(dialect, call, world, fault)
    except Refused as refused:
        return error(dialect, refused.refusal)
    said = Said() if fault.kind == "empty" else within(speak(call), call.max_tokens)
    answer = dialect.answer(call, said, world.spend(dialect.name, call, said, _key(request)))
    if not call.stream:
        if fault.kind == "overflow-late":
            return error(dialect, overflow(dialect.name, world.window + 1, world.window))
        return whole(dialect, answer, fault)
    late = status_refusal(529)
    if fault.kind == "overflow-late":
        late = overflow(dialect.name, world.window + 1, world.window)
    return streamed(dialect, dialect.events(answer), fault, late, world.pause_s)


async def _compact(request: Request, world: World, dialect: ResponsesDialect) -> Response:
    """`/responses/compact`: unary, never a stream."""
    try:
        body, fault = await _received(request, world)
        if (early := await _early(request, dialect, fault)) is not None:
            return early
        call = dialect.read(body)
        _check(dialect, call, world, fault)
    except Refused as refused:
        return error(dialect, refused.refusal)
    said = Said(responses.compaction(call.buffer.messages, call.digest)["encrypted_content"])
    answer = compacted(call, world.spend(dialect.name, call, said, _key(request)))
    if fault.kind == "empty":
        answer["output"] = []
    return whole(dialect, answer, fault)


async def _count(request: Request, world: World, dialect: Dialect) -> Response:
    """`/v1/messages/count_tokens`, `/v1/responses/input_tokens`. Takes no fault from the queue."""
    try:
        raw, body = _object(await _body(request))
        _remember(request, world, raw)
        call = dialect.read(body)
    except Refused as refused:
        return error(dialect, refused.refusal)
    return JSONResponse({"object": "response.input_tokens", "input_tokens": world.prompt_tokens(call)})


async def _received(request: Request, world: World) -> tuple[Mapping[str, Any], Fault]:
    """The body with the model's true name, and the fault of this request. Raises Refused."""
    raw, body = _object(await _body(request))
    _remember(request, world, raw)
    model, behind = split_model(str(body.get("model") or ""))
    asked = request.headers.get(HEADER) or request.query_params.get(QUERY) or behind
    try:
        found = read_faults(asked)
    except InspectorError as why:
        raise Refused(Refusal(400, str(why), param="fault")) from None
    fault = (found or [NONE])[0] if asked else world.faults.next()
    return ({**body, "model": model} if model else body), fault


async def _body(request: Request) -> bytes:
    data = bytearray()
    try:
        async for piece in request.stream():
            data += piece
            if len(data) > LARGEST_BODY:
                raise Refused(status_refusal(413))
    except ClientDisconnect:
        raise Refused(status_refusal(400)) from None  # nobody is there to read it
    return bytes(data)


def _object(raw: bytes) -> tuple[bytes, Mapping[str, Any]]:
    try:
        body = loads(raw)
    except NotJson as why:
        raise Refused(Refusal(400, f"We could not parse the JSON body of your request: {why}")) from None
    if not isinstance(body, Mapping):
        raise Refused(Refusal(400, "The body of the request must be a JSON object"))
    return raw, body


def _remember(request: Request, world: World, raw: bytes) -> None:
    if world.seen.maxlen:
        headers = {name: value for name, value in request.headers.items() if name not in _SECRET}
        world.seen.append(Seen(request.url.path, headers, raw))


def _key(request: Request) -> str:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or bearer


async def _early(request: Request, dialect: Dialect, fault: Fault) -> Response | None:
    """The faults that come before any answer."""
    if fault.status is not None:
        return error(dialect, status_refusal(fault.status, fault.number))
    match fault.kind:
        case "stall":
            await silence(request, fault.number)
        case "garbage":
            return PlainTextResponse("<html><body>502 Bad Gateway</body></html>", 200, media_type="text/html")
        case "no-key":
            told = f"Incorrect API key provided: {_key(request)}. You can find your API key at your account."
            return error(dialect, Refusal(401, told, "authentication_error", "invalid_api_key"))
    return None


def _check(dialect: Dialect, call: Call, world: World, fault: Fault) -> None:
    """Raises Refused for a prompt that does not pair up or does not fit."""
    if (refusal := invalid(dialect.name, call)) is not None:
        raise Refused(refusal)
    tokens = world.prompt_tokens(call)
    if fault.kind == "overflow-output" and dialect.name == ANTHROPIC:
        wanted = call.max_tokens or 0
        raise Refused(output_overflow(max(tokens, world.window - wanted + 1), wanted, world.window))
    if tokens > world.window or fault.kind in ("overflow", "overflow-output"):
        raise Refused(overflow(dialect.name, max(tokens, world.window + 1), world.window))
