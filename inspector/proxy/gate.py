"""The gate: where a request waits before it is forwarded, and may be changed or refused.

The server reads the whole request, has it recorded, and awaits `admit`. The gate of an observing proxy wants nothing:
requests then stream through while they arrive.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

from inspector.core.formats.proxy.keys import client_of
from inspector.core.jsontext import NotJson, loads
from inspector.proxy.decoding import decoded

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Transport: TypeAlias = Literal["http", "websocket"]
HoldReason: TypeAlias = Literal["watermark", "each", "by hand"]
ReleaseKind: TypeAlias = Literal["as it was", "changed", "dropped", "cut again", "client gone"]


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request says before its body is read. `path` is as forwarded (tag taken off), secrets and all."""

    exchange: int
    connection: int
    transport: Transport
    method: str
    path: str
    tag: str
    headers: Pairs

    def header(self, name: str) -> str:
        """The first header of that name (any case); empty where there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


@dataclass(frozen=True, slots=True)
class Forward:
    """Let it go: as it came, or with this body instead (plain, not compressed)."""

    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer it here; the provider never sees it. In a stream that was begun early, `body` is its last event."""

    status: int
    body: bytes
    headers: Pairs = (("content-type", "application/json"),)


Decision: TypeAlias = Forward | Refuse


class ClientChannel(Protocol):
    """How the gate talks to the one who asked: the server's side of it."""

    async def early(self, status: int, headers: Pairs) -> None:
        """Begin the answer."""

    async def send(self, data: bytes) -> None:
        """A piece of the answer's body."""

    def held(self, why: HoldReason, tokens: int | None) -> None:
        """Record that it waits."""

    def released(self, how: ReleaseKind) -> None:
        """Record that it waits no longer."""

    def sends(self, body: bytes) -> None:
        """Record what would be forwarded, while it waits."""


class PendingRequest:
    """A whole request that waits at the gate. All methods are for the server's own loop."""

    def __init__(self, head: RequestHead, raw: bytes, line: ClientChannel) -> None:
        self.head = head
        self.raw = raw
        """The body's bytes as they were sent, perhaps compressed."""
        self.gone = asyncio.Event()
        """Set as soon as the client has closed. `admit` is then cancelled as well."""
        self.begun = False
        """Has the answer begun before the provider's?"""
        self._line = line

    @property
    def exchange(self) -> int:
        """Its number in the recording."""
        return self.head.exchange

    @property
    def path(self) -> str:
        """Path and query, the tag taken off."""
        return self.head.path

    @property
    def tag(self) -> str:
        """The per-launch tag, where the client's base URL has one."""
        return self.head.tag

    @property
    def headers(self) -> Pairs:
        """All of them, in order, as they came."""
        return self.head.headers

    @cached_property
    def plain(self) -> bytes:
        """The body, decompressed; as it came where that cannot be done."""
        found = decoded(self.raw, self.head.header("content-encoding"))
        return self.raw if found.undecoded else found.data

    @cached_property
    def body(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return loads(self.plain) if self.plain else None
        except NotJson:
            return None

    @property
    def client(self) -> str:
        """Which program asks, told by its headers; empty where none of those we know."""
        return client_name(self.headers)

    async def early(self, status: int, headers: Pairs) -> None:
        """Begin the answer before the provider has: what it answers will be put behind (decompressed, in chunks).

        Hop-by-hop headers and Content-Length are the server's business. A second call does nothing.
        """
        if not self.begun:
            self.begun = True
            await self._line.early(status, headers)

    async def send(self, data: bytes) -> None:
        """A piece of an answer begun early (a ping); on a WebSocket, one text message."""
        await self._line.send(data)

    def held(self, why: HoldReason, tokens: int | None = None) -> None:
        """Record that it waits, and why."""
        self._line.held(why, tokens)

    def released(self, how: ReleaseKind) -> None:
        """Record that it waits no longer, and what was done."""
        self._line.released(how)

    def sends(self, body: bytes) -> None:
        """Record what would be forwarded as it stands, where that is not what the client sent."""
        self._line.sends(body)


class Gate(Protocol):
    """Who stands at the gate. Called on the server's loop."""

    def wants(self, head: RequestHead) -> bool:
        """Must this request be read whole, and be admitted? False: it streams through. Quick."""

    async def admit(self, pending: PendingRequest) -> Decision:
        """Wait as long as it takes. Cancelled when the client closes."""

    def answered(self, head: RequestHead, status: int, ended: str) -> None:
        """The answer is through (also of requests that were not wanted); status 0 where there was none."""

    hears: bool
    """Does it want to hear the lines of the recording?"""

    def heard(self, line: Mapping[str, Any]) -> None:
        """A line of the recording, as it is written. Called in a thread of the recorder's."""


class OpenGate:
    """Lets everything pass while it arrives."""

    hears = False

    def wants(self, head: RequestHead) -> bool:
        """Nothing."""
        return False

    async def admit(self, pending: PendingRequest) -> Decision:
        """At once."""
        return Forward()

    def answered(self, head: RequestHead, status: int, ended: str) -> None:
        """Nobody waits for it."""

    def heard(self, line: Mapping[str, Any]) -> None:
        """Nobody listens."""


_SDKS = {
    "anthropic": "anthropic-sdk",
    "asyncanthropic": "anthropic-sdk",
    "openai": "openai-sdk",
    "asyncopenai": "openai-sdk",
}
"""The first word of their user agents -> a name that is not a provider's."""


def client_name(headers: Pairs) -> str:
    """`claude-code`, `codex`, `openai-sdk`, ...; else the first word of the user agent; empty where nothing tells."""
    name = client_of({key.lower(): value for key, value in reversed(headers)})[:40]
    return _SDKS.get(name.lower(), name)
