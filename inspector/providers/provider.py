"""A real model, called from any thread: needs in, answers out, failures as tiers know them.

Keeps the time (the whole call, not only each read), stops at once when cancelled, takes the key out of every error, and
freezes the tools of a session.
"""

from collections.abc import Callable, Container, Coroutine
from dataclasses import replace
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from inspector.core.buffer import Buffer, Prompt
from inspector.core.dialects.anthropic import ANTHROPIC
from inspector.core.message import Message, Text
from inspector.core.needs import Answer, AskModel, Failure, ProviderFailure, RemoteCompact, Summarize, Timeout
from inspector.providers.adapter import Compaction, OnText, ProviderAdapter, ProviderRequest
from inspector.providers.failures import read_failure
from inspector.providers.loop import ProviderLoop
from inspector.providers.requests import FrozenTools, freeze, sendable
from inspector.safety.keys import ApiKey

T = TypeVar("T")
IsCancelled: TypeAlias = Callable[[], bool]
ASK_S = 600.0
"""Seconds for a call of the agent itself, which its need does not limit."""


class Provider:
    """`by` is the name that its answers carry. Close it when done. Calls may be made from several threads."""

    def __init__(self, adapter: ProviderAdapter, by: str, key: ApiKey, compaction: Compaction = "unary") -> None:
        self.by = by
        self._adapter = adapter
        self._key = key
        self._compaction: Compaction = compaction
        self._tools = FrozenTools()
        self._own: set[str] = set()
        self._loop = ProviderLoop()

    def summarize(self, need: Summarize, cancelled: IsCancelled | None = None) -> Answer:
        """A model call without tools. A blank text is an answer: the tier judges it."""
        said = (Message("asked", "user", (Text(need.text),)),) if need.text else ()
        buffer = Buffer((*need.messages, *said), Prompt(need.instructions, ()))
        call = self._call(buffer, (), need.max_tokens, FrozenTools(), timeout_s=need.timeout_s)
        return self._timed(lambda: self._adapter.send(call, None), need.timeout_s, cancelled)

    def remote_compact(self, need: RemoteCompact, cancelled: IsCancelled | None = None) -> Answer:
        """Have the provider compact; its opaque items are kept."""
        return self._timed(lambda: self._adapter.compact(need, self._compaction), need.timeout_s, cancelled)

    def ask(self, need: AskModel, on_text: OnText | None = None, cancelled: IsCancelled | None = None) -> Answer:
        """The agent's own call, with the buffer's tools. An answer without content is a failure of kind `empty`."""
        tools = self.frozen(need.buffer.prompt)
        call = self._call(need.buffer, self._own, need.max_tokens, tools, need.stream, ASK_S)
        answer = self._timed(lambda: self._adapter.send(call, on_text), ASK_S, cancelled)
        if not answer.messages:
            raise ProviderFailure("the model answered nothing", kind="empty")
        self._own.update(message.id for message in answer.messages)
        return answer

    def frozen(self, prompt: Prompt) -> FrozenTools:
        """The tools of a prompt as they were first sent in this session; anew only where other tools are offered."""
        if not self._tools.holds(prompt.tools or ()):
            self._tools = freeze(prompt.tools or (), self._adapter.shape)
        return self._tools

    def close(self) -> None:
        """Stop what is under way, and close the connections."""
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
        self, work: Callable[[], Coroutine[Any, Any, Answer]], timeout_s: float | None, cancelled: IsCancelled | None
    ) -> Answer:
        started = monotonic()
        answer = self._told(work, timeout_s, cancelled)
        return replace(answer, by=self.by, elapsed_ms=_ms_since(started))

    def _told(
        self, work: Callable[[], Coroutine[Any, Any, T]], timeout_s: float | None, cancelled: IsCancelled | None
    ) -> T:
        """The result, or the failure with its time and without the key. Nothing else hangs on the failure."""
        started = monotonic()
        try:
            return self._loop.run(self._translated(work), timeout_s, cancelled)
        except TimeoutError:
            failure: Failure = Timeout(f"no answer within {timeout_s:g} s")
        except Failure as told:
            failure = told
        failure.args = (self._key.redact(str(failure)),)
        failure.elapsed_ms = _ms_since(started)
        failure.__cause__ = failure.__context__ = None
        raise failure.with_traceback(None)

    async def _translated(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return await work()
        except Failure:
            raise
        except Exception as error:
            if not isinstance(error, (*self._adapter.errors, *_UNREADABLE)):
                raise
            failure = read_failure(error)
        raise failure


_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What an answer that is not shaped like one leads to: a server may send anything."""


def _ms_since(started: float) -> int:
    return round((monotonic() - started) * 1000)
