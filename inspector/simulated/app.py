"""The web application of the simulated provider: endpoints, and the way of a request through them."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web
from aiohttp.typedefs import Middleware

from inspector.simulated.answering import answered, check, late_refusal
from inspector.simulated.anthropic import AnthropicDialect
from inspector.simulated.arriving import RAW, TELL, key, open_headers, parsed, received
from inspector.simulated.call import Said
from inspector.simulated.chat import ChatDialect
from inspector.simulated.dialect import Dialect, Refused, needed
from inspector.simulated.faults import Fault
from inspector.simulated.gemini import MODEL, GeminiDialect, counted, model_document
from inspector.simulated.refusals import Refusal, status_refusal
from inspector.simulated.responses import ResponsesDialect, compacted, compaction
from inspector.simulated.sending import FOREVER_S, error, json, paced, plain, streamed, whole
from inspector.simulated.websocket import converse
from inspector.simulated.world import World

MODELS = ("simulated", "claude-simulated", "gpt-simulated", "gemini-simulated")
_HERE = re.compile(r"(?i)(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?")

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(world: World) -> web.Application:
    """All endpoints over one world."""
    anthropic, chat, openai = AnthropicDialect(), ChatDialect(), ResponsesDialect()

    async def compact(request: web.Request) -> web.StreamResponse:
        return await _compact(request, world, openai)

    async def upgrade(request: web.Request) -> web.StreamResponse:
        return await converse(request, world, openai)

    app = web.Application(middlewares=[only_here, _told(world)])
    app.add_routes(
        [
            web.get("/", _alive),
            web.get("/api/hello", _alive),
            web.get("/v1/models", _models),
            web.post("/v1/messages", _endpoint(world, anthropic, ("max_tokens",))),
            web.post("/v1/messages/count_tokens", _counting(world, anthropic)),
            web.post("/v1/chat/completions", _endpoint(world, chat)),
            web.post("/v1/responses", _endpoint(world, openai)),
            web.get("/v1/responses", upgrade, allow_head=False),
            web.post("/v1/responses/compact", compact),
            web.post("/v1/responses/input_tokens", _counting(world, openai)),
            *_gemini_routes(world),
        ]
    )
    return app


def _gemini_routes(world: World) -> list[web.RouteDef]:
    """The model and the verb stand in the path."""
    gemini = GeminiDialect()
    answer = _endpoint(world, gemini)

    async def count(request: web.Request) -> web.StreamResponse:
        try:
            call = gemini.read(counted(await parsed(request, world)))
        except Refused as refused:
            return error(gemini, refused.refusal)
        return json({"totalTokens": world.prompt_tokens(call)})

    async def models(request: web.Request) -> web.StreamResponse:
        return json({"models": [model_document(name, world.window) for name in MODELS]})

    async def model(request: web.Request) -> web.StreamResponse:
        return json(model_document(request.match_info["model"], world.window))

    return [
        web.post(f"/v1beta/models/{MODEL}:generateContent", answer),
        web.post(f"/v1beta/models/{MODEL}:streamGenerateContent", answer),
        web.post(f"/v1beta/models/{MODEL}:countTokens", count),
        web.get("/v1beta/models", models),
        web.get(f"/v1beta/models/{MODEL}", model),
    ]


@web.middleware
async def only_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses requests meant for another host: no web page may use this server behind a name of its own."""
    origin = request.headers.get("origin", "").rpartition("://")[2]
    is_page = any("cross-site" in site.lower() for site in request.headers.getall("sec-fetch-site", ()))
    if is_page or not _HERE.fullmatch(request.headers.get("host", "")) or (origin and not _HERE.fullmatch(origin)):
        return plain("This server answers to 127.0.0.1 and localhost only.", 403)
    return await handler(request)


def _told(world: World) -> Middleware:
    """Hands what arrived and what was sent to the log of the wire, where there is one."""

    @web.middleware
    async def tell(request: web.Request, handler: Handler) -> web.StreamResponse:
        sent: list[bytes] = []
        request[TELL] = sent.append if world.log else lambda data: None
        response: web.StreamResponse | None = None
        try:
            response = await handler(request)
            return response
        except web.HTTPException as refused:
            response = refused
            raise
        finally:
            if world.log:
                body = response.body if isinstance(response, web.Response) else None
                status = response.status if response is not None else 0
                answer = body if isinstance(body, bytes) else b"".join(sent)
                answer = b"" if request.method == "HEAD" else answer
                asked = request[RAW] if RAW in request else await request.read() if request.can_read_body else b""
                path, headers = str(request.rel_url), open_headers(request)
                world.log.add(request.method, path, headers, asked, status, answer)

    return tell


async def _alive(request: web.Request) -> web.StreamResponse:
    return plain("simulated provider")


async def _models(request: web.Request) -> web.StreamResponse:
    data = [{"id": name, "object": "model", "type": "model", "created": 0, "owned_by": "simulated"} for name in MODELS]
    return json({"object": "list", "data": data, "has_more": False})


def _endpoint(world: World, dialect: Dialect, needs: tuple[str, ...] = ()) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return await model_call(request, world, dialect, needs)

    return answer


def _counting(world: World, dialect: Dialect) -> Handler:
    """`/v1/messages/count_tokens`, `/v1/responses/input_tokens`. Takes no fault from the queue."""

    async def count(request: web.Request) -> web.StreamResponse:
        try:
            call = dialect.read(await parsed(request, world))
        except Refused as refused:
            return error(dialect, refused.refusal)
        return json({"object": "response.input_tokens", "input_tokens": world.prompt_tokens(call)})

    return count


async def model_call(
    request: web.Request, world: World, dialect: Dialect, needs: tuple[str, ...] = ()
) -> web.StreamResponse:
    """One answer of the model, in whichever dialect."""
    try:
        body, fault = await received(request, world)
        if (early := await _early(request, dialect, fault)) is not None:
            return early
        needed(body, "model", *needs)
        call = dialect.read(body)
        check(dialect, call, world, fault)
    except Refused as refused:
        return error(dialect, refused.refusal)
    answer = answered(dialect, call, world, fault, key(request))
    late = late_refusal(dialect, world, fault)
    if call.stream:
        events = paced(dialect, dialect.events(answer), fault, late, world.pause_s)
        return await streamed(request, events, fault.kind == "cut")
    if fault.kind == "overflow-late":
        return error(dialect, late)
    return await whole(request, dialect, answer, fault)


async def _compact(request: web.Request, world: World, dialect: ResponsesDialect) -> web.StreamResponse:
    """`/responses/compact`: unary, never a stream."""
    try:
        body, fault = await received(request, world)
        if (early := await _early(request, dialect, fault)) is not None:
            return early
        if not world.may_compact():
            raise Refused(Refusal(404, "Invalid URL (POST /v1/responses/compact)"))
        call = dialect.read(body)
        check(dialect, call, world, fault)
    except Refused as refused:
        return error(dialect, refused.refusal)
    said = Said(compaction(call.buffer.messages, call.digest)["encrypted_content"])
    answer = compacted(call, world.spend(dialect.name, call, said, key(request)))
    if fault.kind == "empty":
        answer["output"] = []
    return await whole(request, dialect, answer, fault)


async def _early(request: web.Request, dialect: Dialect, fault: Fault) -> web.StreamResponse | None:
    """The faults that come before any answer."""
    if fault.status is not None:
        return error(dialect, status_refusal(fault.status, fault.number))
    match fault.kind:
        case "stall":
            await asyncio.sleep(FOREVER_S if fault.number is None else fault.number)
        case "garbage":
            return plain("<html><body>502 Bad Gateway</body></html>", kind="text/html")
        case "no-key":
            told = f"Incorrect API key provided: {key(request)}. You can find your API key at your account."
            return error(dialect, Refusal(401, told, "authentication_error", "invalid_api_key"))
    return None
