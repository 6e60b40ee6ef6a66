"""The loop of the providers ends cleanly, also where a stream takes its time to end."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator

import pytest

from inspector.core.errors import Cancelled
from inspector.providers import provider as module
from inspector.providers.provider import ProviderLoop


async def _events() -> AsyncIterator[int]:
    for n in range(10_000):
        yield n
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)  # as on a busy machine
            raise


async def _call() -> None:
    async for _ in _events():
        pass


async def _nothing() -> None:
    pass


def test_a_stream_that_ends_late_is_no_trouble(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CLOSE_S", 0.1)
    loop, ended = ProviderLoop(), list[type[BaseException]]()

    def call() -> None:
        try:
            loop.run(_call(), 20)
        except (Cancelled, TimeoutError) as failure:
            ended.append(type(failure))

    caller = threading.Thread(target=call)
    with caplog.at_level(logging.WARNING, "asyncio"):
        caller.start()
        time.sleep(0.2)
        serving = loop._thread
        assert serving is not None
        loop.close(_nothing)
        serving.join(30)
        caller.join(30)
    assert ended == [Cancelled]
    assert not serving.is_alive()
    assert caplog.text == ""
