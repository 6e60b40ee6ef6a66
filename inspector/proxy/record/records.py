"""What the proxy tells its recorder: plain values, quickly made. The recorder's thread makes lines of JSON of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from inspector.proxy.gate import How, Pairs, Transport, Why
from inspector.proxy.record.captured_body import Tape

Side: TypeAlias = Literal["client", "upstream"]
Ended: TypeAlias = Literal["complete", "client closed", "upstream closed", "failed"]


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """A request as the client sent it. `time` in seconds since 1970."""

    time: float
    exchange: int
    transport: Transport
    connection: int
    method: str
    path: str
    tag: str
    headers: Pairs
    body: Tape


@dataclass(frozen=True, slots=True)
class HeldSeen:
    """A request waits at the gate."""

    time: float
    exchange: int
    why: Why
    tokens: int | None


@dataclass(frozen=True, slots=True)
class ReleasedSeen:
    """It waits no longer."""

    time: float
    exchange: int
    how: How


@dataclass(frozen=True, slots=True)
class SentSeen:
    """What was forwarded, where it was not what the client sent. Plain, not compressed."""

    time: float
    exchange: int
    body: Tape


@dataclass(frozen=True, slots=True)
class ResponseSeen:
    """What came back. Milliseconds since the request was handed on; status 0 where nothing came."""

    time: float
    exchange: int
    status: int
    headers: Pairs
    first_byte_ms: float
    elapsed_ms: float
    body: Tape
    ended: Ended
    error: str = ""
    own: bool = False
    """The proxy answered, not the provider."""


@dataclass(frozen=True, slots=True)
class FramesSeen:
    """What came back on a WebSocket: a piece of the tape is a message."""

    time: float
    exchange: int
    status: int
    headers: Pairs
    first_byte_ms: float
    elapsed_ms: float
    body: Tape
    ended: Ended
    error: str = ""


@dataclass(frozen=True, slots=True)
class FrameSeen:
    """A message of a WebSocket that begins no exchange and answers none. `exchange`: the one under way then."""

    time: float
    connection: int
    exchange: int | None
    side: Side
    body: Tape


@dataclass(frozen=True, slots=True)
class NoteSeen:
    """Anything that should be known to who reads the recording."""

    time: float
    what: str


@dataclass(frozen=True, slots=True)
class RuleSeen:
    """From here on requests are held by another rule, or the window is another one: as in the recording's head."""

    time: float
    standing: Mapping[str, Any]


Record: TypeAlias = (
    RequestSeen | HeldSeen | ReleasedSeen | SentSeen | ResponseSeen | FramesSeen | FrameSeen | NoteSeen | RuleSeen
)
