"""A request as it arrives: its bytes read and unpacked, its JSON parsed, the fault that it is to meet."""

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import brotli  # type: ignore[import-untyped]
import zstandard
from aiohttp import ClientPayloadError, web

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, loads
from inspector.simulated.dialect import Refused
from inspector.simulated.faults import HEADER, NONE, QUERY, Fault, read_faults, split_model
from inspector.simulated.refusals import Refusal, status_refusal
from inspector.simulated.world import Seen, World

LARGEST_BODY = 64_000_000
SECRET = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
"""Headers that are kept nowhere."""
RAW = web.RequestKey("raw", bytes)
"""The body as it came."""
TELL: web.RequestKey[Callable[[bytes], None]] = web.RequestKey("tell")
"""To be handed what goes out in a stream."""


async def received(request: web.Request, world: World) -> tuple[Mapping[str, Any], Fault]:
    """The body with the model's true name, and the fault of this request. Raises Refused."""
    body = {**await parsed(request, world), **_in_path(request)}
    asked = request.headers.get(HEADER) or request.query.get(QUERY) or ""
    return faulted(body, asked, world)


def _in_path(request: web.Request) -> dict[str, Any]:
    """What Gemini says in the path, as the others say it in the body."""
    if "model" not in request.match_info:
        return {}
    return {"model": request.match_info["model"], "stream": ":stream" in request.path}


def faulted(body: Mapping[str, Any], asked: str, world: World) -> tuple[Mapping[str, Any], Fault]:
    """The body with the model's true name; the fault asked for, else the model's, else the queue's. Raises Refused."""
    model, behind = split_model(str(body.get("model") or ""))
    asked = asked or behind
    try:
        found = read_faults(asked)
    except InspectorError as why:
        raise Refused(Refusal(400, str(why), param="fault")) from None
    fault = (found or [NONE])[0] if asked else world.faults.next()
    return ({**body, "model": model} if model else body), fault


async def parsed(request: web.Request, world: World) -> Mapping[str, Any]:
    """The body as JSON; takes no fault from the queue. Raises Refused."""
    raw = await _bytes(request)
    request[RAW] = raw
    body = read_object(unpacked(raw, request.headers.get("content-encoding", "")))
    remember(request, world, raw)
    return body


def read_object(raw: bytes) -> Mapping[str, Any]:
    """A JSON object. Raises Refused."""
    try:
        body = loads(raw)
    except NotJson as why:
        raise Refused(Refusal(400, f"We could not parse the JSON body of your request: {why}")) from None
    if not isinstance(body, Mapping):
        raise Refused(Refusal(400, "The body of the request must be a JSON object"))
    return body


def remember(request: web.Request, world: World, raw: bytes) -> None:
    """For tests that look at what arrived."""
    if world.seen.maxlen:
        world.seen.append(Seen(request.path, open_headers(request), raw))


def open_headers(request: web.Request) -> dict[str, str]:
    """The headers without keys, their names in small letters."""
    return {name.lower(): value for name, value in request.headers.items() if name.lower() not in SECRET}


def key(request: web.Request) -> str:
    """Whose cache it is."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or request.headers.get("x-goog-api-key") or bearer


async def _bytes(request: web.Request) -> bytes:
    data = bytearray()
    try:
        async for piece in request.content.iter_any():
            data += piece
            if len(data) > LARGEST_BODY:
                raise Refused(status_refusal(413))
    except (ClientPayloadError, ConnectionError):
        raise Refused(status_refusal(400)) from None  # nobody is there to read it
    return bytes(data)


def unpacked(raw: bytes, encoding: str) -> bytes:
    """A body out of its `content-encoding`s, never larger than a body may be. Raises Refused."""
    for name in reversed([one.strip().lower() for one in encoding.split(",") if one.strip()]):
        try:
            raw = _unpack(raw, name)
        except (zlib.error, zstandard.ZstdError, brotli.error):
            raise Refused(Refusal(400, f"The body is not packed as its content-encoding says ({name}).")) from None
        if len(raw) > LARGEST_BODY:
            raise Refused(status_refusal(413))
    return raw


def _unpack(raw: bytes, name: str) -> bytes:
    match name:
        case "gzip" | "x-gzip":
            return zlib.decompressobj(wbits=31).decompress(raw, LARGEST_BODY + 1)
        case "deflate":
            return zlib.decompressobj().decompress(raw, LARGEST_BODY + 1)
        case "zstd":
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(raw) as reader:
                return reader.read(LARGEST_BODY + 1)
        case "br":
            return bytes(brotli.Decompressor().process(raw, output_buffer_limit=LARGEST_BODY + 1))
        case "identity":
            return raw
    raise Refused(Refusal(415, f"Unsupported content encoding: {name}"))
