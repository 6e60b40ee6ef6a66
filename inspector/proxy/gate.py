"""The gate: where a request waits before it is forwarded, and may be changed or refused.

The server reads each request that the gate wants as a whole, has it recorded, and awaits `admit`. The gate of a proxy
that only observes wants no request, so every request is streamed through.
"""

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from inspector.core.dialects.decoding import decoded
from inspector.core.formats.proxy.keys import name_client
from inspector.core.jsontext import NotJson, loads
from inspector.proxy.record.exchange_log import ExchangeLog
from inspector.proxy.record.records import Pairs, RequestHead, ResponseRecord


@dataclass(frozen=True, slots=True)
class Forward:
    """Forward the request unchanged, or with this body instead (plain, not compressed)."""

    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer it here; the provider never sees it. In a stream that was begun early, `body` is its last event."""

    status: int
    body: bytes
    headers: Pairs = (("content-type", "application/json"),)


Decision: TypeAlias = Forward | Refuse


class PendingRequest:
    """A whole request that waits at the gate. All methods are for the server's own loop."""

    def __init__(self, head: RequestHead, raw: bytes, log: ExchangeLog) -> None:
        self.head, self.log = head, log
        """What passed of it; the gate has recorded that it waits, and what becomes of it."""
        self.raw = raw
        """The body's bytes as they were sent, perhaps compressed."""
        self.begun = False
        """Has the answer begun before the provider's?"""
        self.exchange, self.path, self.tag, self.headers = (
            head.exchange,
            head.path,
            head.tag,
            head.headers,
        )

    @cached_property
    def plain(self) -> bytes:
        """The body, decompressed; as it came where that cannot be done."""
        decoded_body = decoded(self.raw, self.head.header("content-encoding"))
        return self.raw if decoded_body.undecoded else decoded_body.data

    @cached_property
    def body(self) -> Any:
        try:
            return loads(self.plain) if self.plain else None
        except NotJson:
            return None

    @property
    def client(self) -> str:
        """Which program asks, by its headers; empty where none of those we know."""
        return client_name(self.headers)

    async def early(self, status: int, headers: Pairs) -> None:
        """Begin the answer before the provider has: what it answers will follow (decompressed, in chunks).

        Hop-by-hop headers and Content-Length are the server's business. A second call does nothing.
        """
        self.begun = True

    async def send(self, data: bytes) -> None:
        """A piece of an answer begun early (a ping); on a WebSocket, one text message."""


class Gate:
    """Decides what happens to a request. This one lets everything stream through. Called on the server's loop."""

    def wants(self, head: RequestHead) -> bool:
        """Must this request be read whole, and be admitted? False: it streams through. Quick."""
        return False

    async def admit(self, pending: PendingRequest) -> Decision:
        """Wait for the decision. Cancelled when the client closes."""
        return Forward()

    def answered(self, head: RequestHead, answer: ResponseRecord) -> None:
        """The answer is through (also of requests that were not wanted). Its body is kept for the time of this call."""


def decision_of(admission: "asyncio.Task[Decision]") -> Decision | None:
    """What `admit` said, now that it is done; None where it was cancelled. A gate that breaks lets everything pass."""
    if admission.cancelled():
        return None
    if (broke := admission.exception()) is not None:
        report = {"message": "the gate of the proxy broke", "exception": broke, "task": admission}
        asyncio.get_running_loop().call_exception_handler(report)
        return Forward()
    return admission.result()


_SDKS = {
    "anthropic": "anthropic-sdk",
    "asyncanthropic": "anthropic-sdk",
    "openai": "openai-sdk",
    "asyncopenai": "openai-sdk",
}
"""The first word of their user agents -> a name that is not a provider's."""


def client_name(headers: Pairs) -> str:
    """`claude-code`, `codex`, `openai-sdk`, ...; else the first word of the user agent; empty where nothing tells."""
    name = name_client({key.lower(): value for key, value in reversed(headers)})[:40]
    return _SDKS.get(name.lower(), name)
