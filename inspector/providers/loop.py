"""An event loop in a thread of its own, so that a call can be stopped from any thread at any moment.

The caller waits in its own thread; when its time is up or somebody cancels, it leaves at once and the call is
cancelled after it, which closes its connection.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from typing import Any, TypeVar

from inspector.core.errors import Cancelled

T = TypeVar("T")
POLL_S = 0.05
"""How often a waiting caller looks whether it was cancelled."""
CLOSE_S = 2.0


class ProviderLoop:
    """Runs coroutines, several at a time, from any thread but its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(
        self, work: Coroutine[Any, Any, T], timeout_s: float | None, cancelled: Callable[[], bool] | None = None
    ) -> T:
        """What `work` returns or raises. TimeoutError after `timeout_s` in all; Cancelled."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        until = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            while True:
                left = POLL_S if until is None else min(POLL_S, until - time.monotonic())
                if wait((future,), max(0.0, left)).done:
                    return future.result()
                if cancelled is not None and cancelled():
                    raise Cancelled("The call was stopped.")
                if until is not None and time.monotonic() >= until:
                    raise TimeoutError
        except CancelledError:  # the provider was closed meanwhile
            raise Cancelled("The call was stopped.") from None
        finally:
            future.cancel()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="provider", daemon=True)
                self._thread.start()
            return self._loop

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel what is under way, run `last`, end the thread. May be called twice, or without any call before."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        if thread is threading.current_thread():  # a collected provider may be closed from anywhere, even from here
            loop.stop()
            return
        ending = asyncio.run_coroutine_threadsafe(_end(last), loop)
        wait((ending,), CLOSE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_S)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        with suppress(asyncio.CancelledError):  # by an `_end` that had no time to begin: it ends the others, too
            loop.run_until_complete(_ended())  # what is in the middle of a stream cannot be closed from outside
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


async def _end(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await _ended()
    await last()


async def _ended() -> None:
    """Every other task is cancelled, and has ended; at the end there may be one that took its time."""
    here = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not here]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
