"""Read requests, and send answers.

The body is read, unpacked and parsed, and the request's fault is determined. Answers may be streams that fall silent,
break off or never end.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

from aiohttp import ClientPayloadError, web

from inspector.core.dialects.decoding import NOT_KNOWN, TOO_LARGE, decoded
from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, dumps, loads
from inspector.simulated.apis import SimulatedApi, StreamEvent
from inspector.simulated.faults import (
    HEADER,
    NONE,
    QUERY,
    ApiError,
    Fault,
    RequestRefused,
    read_faults,
    split_model,
    status_refusal,
)
from inspector.simulated.state import SeenRequest, SimulatedServerState

LARGEST_BODY = 64_000_000
SECRET = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
"""Headers that are never recorded."""
RAW = web.RequestKey("raw", bytes)
"""The body as it was sent."""
ON_SENT: web.RequestKey[Callable[[bytes], None]] = web.RequestKey("tell")
"""A function that receives the bytes sent in a stream."""


async def read_request(
    request: web.Request, state: SimulatedServerState
) -> tuple[Mapping[str, Any], Fault]:
    """Return the body, with the fault suffix removed from the model's name, and the fault of this request.

    The fault is that of the header or the query, else that of the suffix, else the next one of the queue, which is
    consumed. Raises RequestRefused.
    """
    body = dict(await parsed(request, state))
    if "model" in request.match_info:  # Gemini has the model in the path, not in the body
        body |= {"model": request.match_info["model"], "stream": ":stream" in request.path}
    faults = request.headers.get(HEADER) or request.query.get(QUERY) or ""
    return faulted(body, faults, state)


def faulted(
    body: Mapping[str, Any], names: str, state: SimulatedServerState
) -> tuple[Mapping[str, Any], Fault]:
    """Return the body, with the fault suffix removed from the model's name, and the fault of `read_request`.

    Raises RequestRefused.
    """
    model, of_model = split_model(str(body.get("model") or ""))
    names = names or of_model
    try:
        faults = read_faults(names)
    except InspectorError as why:
        raise RequestRefused(ApiError(status=400, message=str(why), param="fault")) from None
    fault = (faults or [NONE])[0] if names else state.faults.next()
    return ({**body, "model": model} if model else body), fault


async def parsed(request: web.Request, state: SimulatedServerState) -> Mapping[str, Any]:
    """Return the body as JSON. Takes no fault from the queue. Raises RequestRefused."""
    raw = await _bytes(request)
    request[RAW] = raw
    body = read_object(unpacked(raw, request.headers.get("content-encoding", "")))
    remember_request(request, state, raw)
    return body


def read_object(raw: bytes) -> Mapping[str, Any]:
    """Parse a JSON object. Raises RequestRefused."""
    try:
        body = loads(raw)
    except NotJson as why:
        raise RequestRefused(
            ApiError(status=400, message=f"We could not parse the JSON body of your request: {why}")
        ) from None
    if not isinstance(body, Mapping):
        raise RequestRefused(
            ApiError(status=400, message="The body of the request must be a JSON object")
        )
    return body


def remember_request(request: web.Request, state: SimulatedServerState, raw: bytes) -> None:
    """Remember a request for tests that inspect what was sent."""
    if state.seen.maxlen:
        state.seen.append(SeenRequest(request.path, open_headers(request), raw))


def open_headers(request: web.Request) -> dict[str, str]:
    """Return the headers without keys, with lower-case names."""
    return {
        name.lower(): value for name, value in request.headers.items() if name.lower() not in SECRET
    }


async def strikes_early(request: web.Request, fault: Fault) -> bool:
    """Apply a fault that occurs before any answer. Return True if garbage is to be sent. Raises RequestRefused."""
    if fault.status is not None:
        raise RequestRefused(status_refusal(fault.status, fault.number))
    if fault.kind == "stall":
        await asyncio.sleep(FOREVER_S if fault.number is None else fault.number)
    if fault.kind == "no-key":
        words = f"Incorrect API key provided: {key(request)}. You can find your API key at your account."
        raise RequestRefused(
            ApiError(status=401, message=words, type="authentication_error", code="invalid_api_key")
        )
    return fault.kind == "garbage"


def key(request: web.Request) -> str:
    """Return the client's API key, by which caches are separated."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or request.headers.get("x-goog-api-key") or bearer


async def _bytes(request: web.Request) -> bytes:
    data = bytearray()
    try:
        async for piece in request.content.iter_any():
            data += piece
            if len(data) > LARGEST_BODY:
                raise RequestRefused(status_refusal(413))
    except (ClientPayloadError, ConnectionError):
        raise RequestRefused(status_refusal(400)) from None  # the client has closed the connection
    return bytes(data)


def unpacked(raw: bytes, encoding: str) -> bytes:
    """Return the body without its `content-encoding`s, bounded in size. Raises RequestRefused."""
    body = decoded(raw, encoding)
    if len(body.data) > LARGEST_BODY or body.undecoded.startswith(TOO_LARGE):
        raise RequestRefused(status_refusal(413))
    if body.undecoded:
        status = 415 if body.undecoded.endswith(NOT_KNOWN) else 400
        raise RequestRefused(ApiError(status, f"The body cannot be unpacked: {body.undecoded}."))
    return body.data


# -- answers

FOREVER_S = 3_600.0
GARBAGE = "<html><body>502 Bad Gateway</body></html>"
BEAT_S = 0.1
MIDSTREAM = ("cut", "end", "hang", "drip", "error-event", "overflow-late")
"""Faults that occur in the middle of a stream."""
ID = {"request-id": "req_simulated", "x-request-id": "req_simulated"}


def plain(text: str, status: int = 200, kind: str = "text/plain") -> web.Response:
    """Return a response with a text."""
    return web.Response(text=text, status=status, content_type=kind)


def json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Return a response with a JSON document."""
    data = dumps(value).encode("utf-8", "replace")
    return web.Response(body=data, status=status, headers=headers, content_type="application/json")


def error(api: SimulatedApi, refusal: ApiError) -> web.Response:
    """Return an error response with its status and headers."""
    return json(api.refused(refusal), refusal.status, error_headers(refusal))


def error_headers(refusal: ApiError) -> dict[str, str]:
    """Return the headers of an error response."""
    return ID if refusal.retry_after is None else {**ID, "retry-after": f"{refusal.retry_after:g}"}


async def answer_whole(
    request: web.Request, api: SimulatedApi, answer: dict[str, Any], fault: Fault
) -> web.StreamResponse:
    """Return the complete answer, unless the fault breaks it."""
    match fault.kind:
        case "cut" | "end" | "hang" | "drip":
            return await _half(request, dumps(answer).encode("utf-8", "replace"))
        case "error-event":
            return error(api, status_refusal(529))
    return json(answer, headers=ID)


async def _half(request: web.Request, data: bytes) -> web.StreamResponse:
    """Announce the whole answer, send half of it, and break the connection."""
    response = web.StreamResponse(
        headers={"content-type": "application/json", "content-length": str(len(data))}
    )
    await response.prepare(request)
    half = data[: len(data) // 2]
    request[ON_SENT](half)
    await response.write(half)
    break_off(request)
    return response


async def streamed(
    request: web.Request, events: AsyncIterator[StreamEvent], broken: bool
) -> web.StreamResponse:
    """Send an answer as a stream. `broken`: close the connection instead of ending the stream, as when it is cut."""
    response = web.StreamResponse(
        headers={"content-type": "text/event-stream", "cache-control": "no-cache", **ID}
    )
    await response.prepare(request)
    async for event in events:
        name, value = event
        head = f"event: {name}\n" if name else ""
        data = f"{head}data: {value if isinstance(value, str) else dumps(value)}\n\n".encode(
            "utf-8", "replace"
        )
        request[ON_SENT](data)
        await response.write(data)
    if broken:
        break_off(request)
    return response


def break_off(request: web.Request) -> None:
    """Close the connection, even if the answer is incomplete."""
    if request.transport is not None:
        request.transport.close()


async def paced(
    api: SimulatedApi, events: Iterable[StreamEvent], fault: Fault, late: ApiError, pause_s: float
) -> AsyncIterator[StreamEvent]:
    """Yield the events, as far as the fault allows. `late` is the error of a fault within the stream."""
    strikes = fault.events(3) if fault.kind in MIDSTREAM else None
    for index, event in enumerate(events):
        if index == strikes:
            break
        yield event
        if pause_s:
            await asyncio.sleep(pause_s)
    match fault.kind:
        case "cut":
            # The client can read the earlier events before the connection breaks.
            await asyncio.sleep(BEAT_S)
        case "hang":
            await asyncio.sleep(FOREVER_S)
        case "drip":
            while True:
                yield api.alive()
                await asyncio.sleep(BEAT_S)
        case "error-event" | "overflow-late":
            for event in api.failed(late):
                yield event
