"""Keeping a client waiting until somebody decides, as long as it bears it and in the way it needs."""

import asyncio

from inspector.proxy.clients import EVERY_S, Patience, ping_of
from inspector.proxy.gate import Asked
from inspector.proxy.holds.hold import Choice

STREAM = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


async def wait_for(
    decided: "asyncio.Future[Choice]", asked: Asked, patience: Patience, arrived: float, every_s: float = EVERY_S
) -> Choice | None:
    """What was decided; None where the client's patience ended first.

    `arrived`: the loop's time when the request came. Cancelled when the client closes.
    """
    loop = asyncio.get_running_loop()
    begin_s = patience.begin_s
    while True:
        now = loop.time() - arrived
        left = patience.limit_s - now
        if left <= 0:
            return None
        due = begin_s is not None and now >= begin_s
        pause = every_s if due else left if begin_s is None else begin_s - now
        if due:
            await asked.early(200, STREAM)
            await asked.send(ping_of(patience.ping))
        await asyncio.wait([decided], timeout=min(pause, left))
        if decided.done():
            return decided.result()
