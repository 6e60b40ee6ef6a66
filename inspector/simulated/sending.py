"""Answers on their way out, faults included: streams that fall silent, break off or never end."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from aiohttp import web

from inspector.core.jsontext import dumps
from inspector.simulated.arriving import TELL
from inspector.simulated.dialect import Dialect, Event, sse
from inspector.simulated.faults import Fault
from inspector.simulated.refusals import Refusal, status_refusal

FOREVER_S = 3_600.0
BEAT_S = 0.1
MIDSTREAM = ("cut", "end", "hang", "drip", "error-event", "overflow-late")
"""Faults that strike in the middle of a stream."""
ID = {"request-id": "req_simulated", "x-request-id": "req_simulated"}


def plain(text: str, status: int = 200, kind: str = "text/plain") -> web.Response:
    """A text."""
    return web.Response(text=text, status=status, content_type=kind)


def json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """A JSON document."""
    data = dumps(value).encode("utf-8", "replace")
    return web.Response(body=data, status=status, headers=headers, content_type="application/json")


def error(dialect: Dialect, refusal: Refusal) -> web.Response:
    """An error with its status and headers."""
    return json(dialect.refused(refusal), refusal.status, error_headers(refusal))


def error_headers(refusal: Refusal) -> dict[str, str]:
    """What comes with an error besides its body."""
    return ID if refusal.retry_after is None else {**ID, "retry-after": f"{refusal.retry_after:g}"}


async def whole(request: web.Request, dialect: Dialect, answer: dict[str, Any], fault: Fault) -> web.StreamResponse:
    """An answer at once."""
    match fault.kind:
        case "cut" | "end" | "hang" | "drip":
            return await _half(request, dumps(answer).encode("utf-8", "replace"))
        case "error-event":
            return error(dialect, status_refusal(529))
    return json(answer, headers=ID)


async def _half(request: web.Request, data: bytes) -> web.StreamResponse:
    """Promise all, send half; then the connection breaks."""
    response = web.StreamResponse(headers={"content-type": "application/json", "content-length": str(len(data))})
    await response.prepare(request)
    half = data[: len(data) // 2]
    request[TELL](half)
    await response.write(half)
    break_off(request)
    return response


async def streamed(request: web.Request, events: AsyncIterator[Event], broken: bool) -> web.StreamResponse:
    """An answer as a stream. `broken`: it ends without its end, as when the connection is cut."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream", "cache-control": "no-cache", **ID})
    await response.prepare(request)
    async for event in events:
        data = sse(event)
        request[TELL](data)
        await response.write(data)
    if broken:
        break_off(request)
    return response


def break_off(request: web.Request) -> None:
    """Close the connection, with whatever was promised still owed."""
    if request.transport is not None:
        request.transport.close()


async def paced(
    dialect: Dialect, events: Iterable[Event], fault: Fault, late: Refusal, pause_s: float
) -> AsyncIterator[Event]:
    """The events as the fault lets them through; `late` is what goes wrong in mid-stream, where the fault wants it."""
    strikes = fault.events(3) if fault.kind in MIDSTREAM else None
    for n, event in enumerate(events):
        if n == strikes:
            break
        yield event
        if pause_s:
            await asyncio.sleep(pause_s)
    match fault.kind:
        case "cut":
            await asyncio.sleep(
                BEAT_S
            )  # what came before is read before the connection breaks, however quick the client
        case "hang":
            await asyncio.sleep(FOREVER_S)
        case "drip":
            while True:
                yield dialect.alive()
                await asyncio.sleep(BEAT_S)
        case "error-event" | "overflow-late":
            for event in dialect.failed(late):
                yield event
