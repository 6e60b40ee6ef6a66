"""Call a real model from any thread, and convert errors into the failures that tiers know.

Limits the time of the whole call, not only of each read, and stops at once when cancelled. The key is removed from
every error, and the tools of a session are frozen.
"""

import asyncio
import threading
from collections.abc import Callable, Container, Coroutine
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects.anthropic import ANTHROPIC
from inspector.core.errors import Cancelled
from inspector.core.message import Message, Text
from inspector.core.needs import (
    Answer,
    AskModel,
    Failure,
    Need,
    ProviderFailure,
    RemoteCompact,
    Summarize,
    Timeout,
)
from inspector.providers.adapters import OnText, ProviderAdapter, ProviderRequest
from inspector.providers.failures import read_failure
from inspector.providers.requests import FrozenTools, freeze, sendable
from inspector.safety.keys import ApiKey

T = TypeVar("T")
IsCancelled: TypeAlias = Callable[[], bool]
Last: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
ASK_S = 600.0
"""Maximum number of seconds for a call of the agent itself, whose need sets no limit."""
POLL_S = 0.05
"""Seconds between two checks whether a waiting caller was cancelled."""
CLOSE_S = 4.0


class Provider:
    """A provider that answers needs. `by` is the name in its answers. Close it when done. May be used by several
    threads.
    """

    def __init__(self, adapter: ProviderAdapter, by: str, key: ApiKey) -> None:
        self.by = by
        self._adapter = adapter
        self._key = key
        self._tools = FrozenTools()
        self._own: set[str] = set()
        self._loop = ProviderLoop()

    def answer(
        self, need: Need, on_text: OnText | None = None, cancelled: IsCancelled | None = None
    ) -> Answer:
        """Return the model's answer. Raises Failure, Cancelled."""
        match need:
            case Summarize():
                return self.summarize(need, cancelled)
            case RemoteCompact():
                return self.remote_compact(need, cancelled)
            case AskModel():
                return self.ask(need, on_text, cancelled)
        raise ProviderFailure("a model cannot do this: it has no hands", kind="missing")

    def summarize(self, need: Summarize, cancelled: IsCancelled | None = None) -> Answer:
        """Make a model call without tools. A blank text is returned as an answer, which the tier judges."""
        request = (Message("asked", "user", (Text(need.text),)),) if need.text else ()
        buffer = Buffer((*need.messages, *request), Prompt(need.instructions, ()))
        call = self._call(buffer, (), need.max_tokens, FrozenTools(), timeout_s=need.timeout_s)
        return self._timed(self._adapter.send(call, None), need.timeout_s, cancelled)

    def remote_compact(self, need: RemoteCompact, cancelled: IsCancelled | None = None) -> Answer:
        """Have the provider compact the messages; opaque items that it returns are kept."""
        return self._timed(self._adapter.compact(need), need.timeout_s, cancelled)

    def ask(
        self, need: AskModel, on_text: OnText | None = None, cancelled: IsCancelled | None = None
    ) -> Answer:
        """Make the agent's own call, with the buffer's tools. An answer without content is a failure of kind
        `empty`.
        """
        tools = self.frozen(need.buffer.prompt)
        call = self._call(need.buffer, self._own, need.max_tokens, tools, need.stream, ASK_S)
        answer = self._timed(self._adapter.send(call, on_text), ASK_S, cancelled)
        if not answer.messages:
            raise ProviderFailure("the model answered nothing", kind="empty")
        self._own.update(message.id for message in answer.messages)
        return answer

    def frozen(self, prompt: Prompt) -> FrozenTools:
        """Return the tools of a prompt as they were first sent in this session; only other tools are converted."""
        if not self._tools.holds(prompt.tools or ()):
            self._tools = freeze(prompt.tools or (), self._adapter.shape)
        return self._tools

    def close(self) -> None:
        """Cancel the current calls, and close the connections."""
        self._loop.close(self._adapter.close)

    def _call(
        self,
        buffer: Buffer,
        own: Container[str],
        max_tokens: int | None,
        tools: FrozenTools,
        stream: bool = True,
        timeout_s: float | None = None,
    ) -> ProviderRequest:
        messages = sendable(buffer.messages, own, anthropic=self._adapter.dialect is ANTHROPIC)
        return ProviderRequest(buffer.with_messages(messages), max_tokens, tools, stream, timeout_s)

    def _timed(
        self,
        work: Coroutine[Any, Any, Answer],
        timeout_s: float | None,
        cancelled: IsCancelled | None,
    ) -> Answer:
        """Run a call and return its answer with the elapsed time, or raise its failure.

        The failure contains neither the key nor references to other exceptions.
        """
        started = monotonic()
        try:
            answer = self._loop.run(work, timeout_s, cancelled)
            return replace(answer, by=self.by, elapsed_ms=_ms_since(started))
        except TimeoutError:
            failure: Failure = Timeout(f"no answer within {timeout_s:g} s")
        except Failure as told:
            failure = told
        except Exception as error:
            if not isinstance(error, (*self._adapter.errors, *_UNREADABLE)):
                raise
            failure = read_failure(error)
        failure.args = (self._key.redact(str(failure)),)
        failure.elapsed_ms = _ms_since(started)
        failure.__cause__ = failure.__context__ = None
        raise failure.with_traceback(None)


_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""Exceptions that reading a malformed answer may raise: a server may send anything."""


def _ms_since(started: float) -> int:
    return round((monotonic() - started) * 1000)


class ProviderLoop:
    """An event loop in a separate thread, which runs coroutines for other threads, several at a time.

    The caller waits in its own thread. When its time is up or it is cancelled, it returns at once, and the coroutine is
    cancelled afterwards, which closes its connection.
    """

    def __init__(self) -> None:
        self._over: asyncio.Future[Last] | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(
        self,
        work: Coroutine[Any, Any, T],
        timeout_s: float | None,
        cancelled: Callable[[], bool] | None = None,
    ) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises:
            TimeoutError: `timeout_s` seconds have passed.
            Cancelled: `cancelled` returned True, or the provider was closed.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        until = None if timeout_s is None else monotonic() + timeout_s
        try:
            while True:
                left = POLL_S if until is None else min(POLL_S, until - monotonic())
                if wait((future,), max(0.0, left)).done:
                    return future.result()
                if cancelled is not None and cancelled():
                    raise Cancelled("The call was stopped.")
                if until is not None and monotonic() >= until:
                    raise TimeoutError
        except CancelledError:  # the provider was closed in the meantime
            raise Cancelled("The call was stopped.") from None
        finally:
            future.cancel()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._over is None:
                self._over = asyncio.new_event_loop().create_future()
                self._thread = threading.Thread(
                    target=_serve, args=(self._over,), name="provider", daemon=True
                )
                self._thread.start()
            return self._over.get_loop()

    def close(self, last: Last) -> None:
        """Cancel the current calls, run `last`, and end the thread. May be called twice, or before any call."""
        with self._lock:
            over = self._over
            thread = self._thread
            self._over = self._thread = None
        if over is None or thread is None:
            return
        over.get_loop().call_soon_threadsafe(over.set_result, last)
        # The garbage collector may close a provider on any thread, even on this one.
        if thread is not threading.current_thread():
            thread.join(CLOSE_S)


def _serve(over: "asyncio.Future[Last]") -> None:
    with asyncio.Runner(loop_factory=over.get_loop) as runner:
        runner.run(_finish_after(over))


async def _finish_after(over: "asyncio.Future[Last]") -> None:
    last = await over
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    with suppress(Exception):  # the connection may already be broken
        await last()
