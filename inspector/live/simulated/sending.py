"""Answers on their way out, faults included: streams that fall silent, break off or never end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inspector.core.jsontext import dumps
from inspector.live.simulated.dialect import Dialect, Event, sse
from inspector.live.simulated.faults import Fault
from inspector.live.simulated.refusals import Refusal, status_refusal

FOREVER_S = 3_600.0
BEAT_S = 0.1


class Stream(Response):
    """Events of a stream. `broken`: it ends without its end, as when the connection is cut."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], broken: bool = False) -> None:
        super().__init__(headers={"cache-control": "no-cache"})
        del self.headers["content-length"]
        self._events = events
        self._broken = broken

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        """Send until the events or the client's patience end."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        gone = asyncio.ensure_future(_disconnected(receive))
        sending = asyncio.ensure_future(self._send(send))
        try:
            await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, sending):
                task.cancel()
            await asyncio.gather(gone, sending, return_exceptions=True)

    async def _send(self, send: Any) -> None:
        async for data in self._events:
            await send({"type": "http.response.body", "body": data, "more_body": True})
        if not self._broken:
            await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class CutShort(Response):
    """Half of a JSON answer, then the connection breaks."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Promise all, send half."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})


def error(dialect: Dialect, refusal: Refusal) -> Response:
    """An error with its status and headers."""
    headers = {"request-id": "req_simulated", "x-request-id": "req_simulated"}
    if refusal.retry_after is not None:
        headers["retry-after"] = f"{refusal.retry_after:g}"
    return JSONResponse(dialect.refused(refusal), refusal.status, headers)


def whole(dialect: Dialect, answer: dict[str, Any], fault: Fault) -> Response:
    """An answer at once."""
    data = dumps(answer).encode("utf-8", "replace")
    match fault.kind:
        case "cut" | "end" | "hang" | "drip":
            return CutShort(data, media_type="application/json")
        case "error-event":
            return error(dialect, status_refusal(529))
    return Response(data, media_type="application/json", headers={"request-id": "req_simulated"})


def streamed(dialect: Dialect, events: Iterator[Event], fault: Fault, late: Refusal, pause_s: float) -> Response:
    """An answer as a stream; `late` is what goes wrong in it, where the fault wants it so."""
    return Stream(_events(dialect, events, fault, late, pause_s), broken=fault.kind == "cut")


_MIDSTREAM = ("cut", "end", "hang", "drip", "error-event", "overflow-late")


async def _events(
    dialect: Dialect, events: Iterator[Event], fault: Fault, late: Refusal, pause_s: float
) -> AsyncIterator[bytes]:
    strikes = fault.events(3) if fault.kind in _MIDSTREAM else None
    for n, event in enumerate(events):
        if n == strikes:
            break
        yield sse(event)
        if pause_s:
            await asyncio.sleep(pause_s)
    match fault.kind:
        case "hang":
            await asyncio.sleep(FOREVER_S)
        case "drip":
            while True:
                yield sse(dialect.alive())
                await asyncio.sleep(BEAT_S)
        case "error-event" | "overflow-late":
            for event in dialect.failed(late):
                yield sse(event)


async def silence(request: Request, seconds: float | None) -> None:
    """Nothing, until the time is over or the client has gone."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(_disconnected(request.receive), FOREVER_S if seconds is None else seconds)
