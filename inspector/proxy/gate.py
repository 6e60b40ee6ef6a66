"""The gate: a request waits here before it is forwarded, and may be changed or refused.

The server reads each request that the gate wants completely, has it recorded, and awaits `admit`. The gate of a proxy
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
    """Forward the request unchanged, or with `body` instead (not compressed)."""

    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer the request here; the provider never receives it. If a stream was begun early, `body` is its last
    event.
    """

    status: int
    body: bytes
    headers: Pairs = (("content-type", "application/json"),)


Decision: TypeAlias = Forward | Refuse


class PendingRequest:
    """A complete request that waits at the gate. All methods must be called on the server's own loop."""

    def __init__(self, head: RequestHead, raw: bytes, log: ExchangeLog) -> None:
        self.head = head
        self.log = log
        """The exchange's log, in which the gate records that the request waits and what becomes of it."""
        self.raw = raw
        """The bytes of the body as they were sent, perhaps compressed."""
        self.begun = False
        """True if an answer was begun before the provider's answer arrived."""
        self.exchange = head.exchange
        self.path = head.path
        self.tag = head.tag
        self.headers = head.headers

    @cached_property
    def plain(self) -> bytes:
        """Return the body decompressed; if that is impossible, as it was sent."""
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
        """Return the client's name according to the headers; empty if it is unknown."""
        return client_name(self.headers)

    async def early(self, status: int, headers: Pairs) -> None:
        """Begin the answer before the provider does; the provider's answer will follow (decompressed, in chunks).

        The server sets hop-by-hop headers and Content-Length. A second call does nothing.
        """
        self.begun = True

    async def send(self, data: bytes) -> None:
        """Send a piece of an answer that was begun early (a ping); on a WebSocket, one text message."""


class Gate:
    """Decides what happens to a request. This base class lets everything stream through. Called on the server's
    loop.
    """

    def wants(self, head: RequestHead) -> bool:
        """Must this request be read completely and be admitted? False lets it stream through. Must be fast."""
        return False

    async def admit(self, pending: PendingRequest) -> Decision:
        """Wait for the decision about a request. Cancelled when the client closes."""
        return Forward()

    def answered(self, head: RequestHead, answer: ResponseRecord) -> None:
        """Take a completed answer, also of a request that was not wanted. Its body is kept only during this call."""


def decision_of(admission: "asyncio.Task[Decision]") -> Decision | None:
    """Return the result of a finished `admit`; None if it was cancelled. If it failed, the request is forwarded."""
    if admission.cancelled():
        return None
    if (broke := admission.exception()) is not None:
        report = {
            "message": "the proxy had an internal error",
            "exception": broke,
            "task": admission,
        }
        asyncio.get_running_loop().call_exception_handler(report)
        return Forward()
    return admission.result()


_SDKS = {
    "anthropic": "anthropic-sdk",
    "asyncanthropic": "anthropic-sdk",
    "openai": "openai-sdk",
    "asyncopenai": "openai-sdk",
}
"""Client names by the first word of a user agent, for SDKs whose first word is only the provider's name."""


def client_name(headers: Pairs) -> str:
    """Return the client's name: `claude-code`, `codex`, `openai-sdk`, ...; or the first word of the user agent.

    Empty if the headers identify no client.
    """
    name = name_client({key.lower(): value for key, value in reversed(headers)})[:40]
    return _SDKS.get(name.lower(), name)
