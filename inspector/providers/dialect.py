"""What a provider's dialect can do: one file each. All of it runs in the provider's loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from inspector.core.buffer import Buffer
from inspector.core.needs import Answer, ProviderFailure, RemoteCompact
from inspector.providers.frozen import FrozenTools, Shape

OnText: TypeAlias = Callable[[str], None]
"""Told each bit of text as it arrives, on the provider's own thread."""
Compaction: TypeAlias = Literal["unary", "trigger"]
"""`POST /responses/compact`, or a `compaction_trigger` item at the end of an ordinary request."""

CONNECT_S = 15.0
DRAIN_S = 0.25
DEFAULT_OUTPUT = 8_192
"""Output tokens that are asked for where a provider must be told and the need does not say."""


@dataclass(frozen=True, slots=True)
class Call:
    """One model call. `tools` are those of `buffer`, frozen; `timeout_s` is for the whole of it."""

    buffer: Buffer
    max_tokens: int | None
    tools: FrozenTools
    stream: bool = True
    timeout_s: float | None = None


class Dialect(Protocol):
    """One way to talk to a model."""

    errors: tuple[type[Exception], ...]
    """What its SDK raises; known once the SDK is imported."""

    @property
    def anthropic(self) -> bool:
        """Does it read Anthropic's own parts (else OpenAI's)?"""
        ...

    @property
    def shape(self) -> Shape:
        """How it is offered a tool."""
        ...

    async def send(self, call: Call, on_text: OnText | None) -> Answer:
        """One model call. Raises Failure, or one of `errors`."""
        ...

    async def compact(self, need: RemoteCompact, how: Compaction) -> Answer:
        """Have the provider compact. Raises Failure, or one of `errors`."""
        ...

    async def count(self, call: Call) -> int:
        """Tokens of a prompt, counted by the provider. Raises Failure, or one of `errors`."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


def broken(what: str = "") -> ProviderFailure:
    """The stream ended before the answer did."""
    return ProviderFailure(what or "the stream broke off before the answer was complete", kind="broken")


async def drain(events: AsyncIterator[Any], errors: tuple[type[Exception], ...]) -> None:
    """The answer is complete: read on to the stream's end, which follows at once, or shortly give up.

    A stream that is left in its middle is closed by the collector, on whatever thread that runs.
    """
    with suppress(TimeoutError, *errors):
        async with asyncio.timeout(DRAIN_S):
            async for _ in events:
                pass
