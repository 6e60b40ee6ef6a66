"""A provider through its SDK: one adapter a dialect. All of it runs in the provider's loop.

The HTTP client under an SDK keeps the SDK's own limits, but takes no proxy from the environment for this machine.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from inspector.core.buffer import Buffer, Tool
from inspector.core.dialects.dialect import Dialect
from inspector.core.heavy import load
from inspector.core.message import Message
from inspector.core.needs import Answer, ProviderFailure, RemoteCompact
from inspector.providers.failures import broken, reported_failure
from inspector.providers.requests import FrozenTools
from inspector.safety.keys import ApiKey
from inspector.safety.loopback import is_loopback

OnText: TypeAlias = Callable[[str], None]
"""Given each bit of text as it arrives, on the provider's own thread."""
Compaction: TypeAlias = Literal["unary", "trigger"]
"""`POST /responses/compact`, or a `compaction_trigger` item at the end of an ordinary request."""

CONNECT_S = 15.0
DRAIN_S = 0.25
DEFAULT_OUTPUT = 8_192
"""Output tokens that are asked for where a provider wants a limit and the need does not say."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One model call. `tools` are those of `buffer`, frozen; `timeout_s` is for the whole of it."""

    buffer: Buffer
    max_tokens: int | None
    tools: FrozenTools
    stream: bool = True
    timeout_s: float | None = None


class ProviderAdapter:
    """One way to talk to a model; the SDK is imported at the first call. `base_url` None = the provider's own, or what
    the environment says. `session` (prompt_cache_key): calls of one session share OpenAI's cache.
    """

    dialect: Dialect
    maker: str
    """Of the SDK, as its classes spell it."""
    errors: tuple[type[Exception], ...] = ()
    """What its SDK raises; known once the SDK is imported."""
    ends_early = False
    """Is the answer whole before the stream is?"""

    def __init__(self, model: str, key: ApiKey, base_url: str | None = None, session: str = "") -> None:
        self.model = model
        self._key = key
        self._base_url = base_url
        self._session = session
        self._client: Any = None

    @staticmethod
    def shape(tool: Tool) -> Any:
        """A tool's definition as this provider takes it; None for one that it cannot be offered."""
        raise NotImplementedError

    def client(self) -> Any:
        """The SDK's client."""
        if self._client is None:
            sdk = load(self.maker.lower())
            import httpx2

            self.errors = (getattr(sdk, f"{self.maker}Error"), httpx2.HTTPError)
            self._client = getattr(sdk, f"Async{self.maker}")(
                api_key=self._key.reveal() or "none",  # OpenAI's wants one, even where the server does not
                base_url=self._base_url,
                max_retries=0,
                http_client=_http_client(self._base_url, f"{self.maker.upper()}_BASE_URL"),
            )
        return self._client

    def create(self, **options: Any) -> Any:
        """The SDK's call for an answer."""
        raise NotImplementedError

    def body(self, call: ProviderRequest) -> dict[str, Any]:
        """The request, with the tools as they were frozen."""
        body = self.dialect.write_body(call.buffer, self.model, call.max_tokens or DEFAULT_OUTPUT)
        body.pop("tools", None)
        tools = call.tools.definitions()
        return {**body, "tools": tools} if tools else body

    def read_answer(self, response: Mapping[str, Any], buffer: Buffer) -> Answer:
        """A whole response as an answer. Raises Failure."""
        raise NotImplementedError

    def answer(self, response: Mapping[str, Any], messages: tuple[Message, ...], finish: str) -> Answer:
        """The answer that holds these messages."""
        text = "\n".join(one.text for one in messages if one.text)
        return Answer(text, messages, self.dialect.usage(response.get("usage")), finish)

    async def send(self, call: ProviderRequest, on_text: OnText | None) -> Answer:
        """One model call. Raises Failure, or one of `errors`."""
        self.client()
        options = {**self.body(call), "timeout": timeout(call.timeout_s)}
        if call.stream:
            return self.read_answer(await self.assembled(options, on_text), call.buffer)
        found = await self.create(**options)
        if not hasattr(found, "to_dict"):  # no JSON came
            raise broken("the server's answer could not be read")
        return self.read_answer(found.to_dict(warnings=False), call.buffer)

    async def assembled(self, options: dict[str, Any], on_text: OnText | None) -> dict[str, Any]:
        """The response that a stream reports."""
        assembler = self.dialect.assembler()
        async with await self.create(**options, stream=True) as stream:
            events = aiter(stream)
            async for event in events:
                text = assembler.feed(event.to_dict(warnings=False))
                if assembler.failure is not None:
                    raise reported_failure(assembler.failure)
                if text and on_text is not None:
                    on_text(text)
                if self.ends_early and assembler.finished:
                    await drain(events, self.errors)
                    break
        if not assembler.finished:
            raise broken()
        return assembler.body()

    async def compact(self, need: RemoteCompact, how: Compaction) -> Answer:
        """Have the provider compact. Raises Failure, or one of `errors`."""
        raise ProviderFailure("this provider cannot compact remotely", kind="missing")

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.close()


def timeout(seconds: float | None) -> Any:
    """For the SDK; the total is kept elsewhere."""
    import httpx2

    return httpx2.Timeout(seconds, connect=CONNECT_S)


def _http_client(base_url: str | None, variable: str) -> Any:
    """An asynchronous httpx2 client for this base URL (None: what the environment `variable` says)."""
    import httpx2

    host = urlsplit(base_url or os.environ.get(variable, "")).hostname or ""
    here = is_loopback(host) or host == "localhost" or host.endswith(".localhost")
    return httpx2.AsyncClient(trust_env=not here, follow_redirects=not here)


async def drain(events: AsyncIterator[Any], errors: tuple[type[Exception], ...]) -> None:
    """The answer is complete: read on to the stream's end, which follows at once, or shortly give up.

    A stream that is left in its middle is closed by the collector, on whatever thread that runs.
    """
    with suppress(TimeoutError, *errors):
        async with asyncio.timeout(DRAIN_S):
            async for _ in events:
                pass


def fresh_id(wire_id: Any, buffer: Buffer) -> str:
    """The provider's own id, unless it has none or has used it before (some servers always send the same)."""
    taken = {message.id for message in buffer.messages}
    name = wire_id if isinstance(wire_id, str) and wire_id else "answer"
    found, n = name, len(buffer.messages)
    while found in taken:
        found, n = f"{name}.{n}", n + 1
    return found
