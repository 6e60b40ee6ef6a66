"""What the proxy reports to its recorder: plain values that are cheap to make.

What passed is kept in memory until it is written, within bounds: forwarding never waits for the recording. A body that
exceeds `Budget` is left out of the recording, and its record says so.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pickle import PickleBuffer
from threading import Lock
from typing import Any, Literal, TypeAlias

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Transport: TypeAlias = Literal["http", "websocket"]
Side: TypeAlias = Literal["client", "upstream"]
Ended: TypeAlias = Literal["complete", "client closed", "upstream closed", "failed"]
HoldReason: TypeAlias = Literal["watermark", "each", "by hand"]
ReleaseKind: TypeAlias = Literal["as it was", "changed", "dropped", "cut again", "client gone"]


LARGEST = 64_000_000
"""Bytes of one body, as sent."""
ALL = 256_000_000
"""Bytes of all bodies that wait to be written down."""


_LARGE_PIECE = 4096
"""Bytes from which a piece is sent to the writer as it is in memory, not copied into the record first."""


class Budget:
    """Bytes that are kept, of all exchanges together. Asked by the server, given back by the recorder's thread."""

    def __init__(self, limit: int = ALL) -> None:
        self._left, self._lock = limit, Lock()

    def take(self, count: int) -> bool:
        """May that many more bytes be kept?"""
        with self._lock:
            if count > self._left:
                return False
            self._left -= count
            return True

    def give_back(self, count: int) -> None:
        with self._lock:
            self._left += count


class CapturedBody:
    """The pieces of one body, as they passed."""

    __slots__ = ("_budget", "_kept", "_pieces", "left_out", "size")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._pieces: list[bytes] = []
        self._kept = 0
        self.size = 0
        """Bytes that passed, kept or not."""
        self.left_out = ""
        """Why nothing is kept; empty where all is."""

    @classmethod
    def of(cls, pieces: Iterable[bytes], size: int, left_out: str) -> "CapturedBody":
        """One that passed elsewhere."""
        body = cls(Budget())
        body._pieces, body.size, body.left_out = list(pieces), size, left_out
        return body

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        pieces = [
            PickleBuffer(piece) if len(piece) >= _LARGE_PIECE else piece for piece in self._pieces
        ]
        return CapturedBody.of, (pieces, self.size, self.left_out)

    def copy(self) -> "CapturedBody":
        """The same bytes, whatever becomes of this one."""
        return CapturedBody.of(self._pieces, self.size, self.left_out)

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if self.left_out:
            return
        if self.size > LARGEST:
            self._leave_out(f"the body is larger than {LARGEST:,} bytes")
        elif not self._budget.take(len(data)):
            self._leave_out("too much was waiting to be written down")
        else:
            self._pieces.append(data)
            self._kept += len(data)

    def _leave_out(self, why: str) -> None:
        self.left_out = why
        self.free()

    def join(self) -> bytes:
        """All of it, from now on in one piece."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def pieces(self) -> Sequence[bytes]:
        """As they were added. Empty where it was left out."""
        return self._pieces

    def free(self) -> None:
        """Free the memory that the body counts for."""
        self._pieces = []
        self._budget.give_back(self._kept)
        self._kept = 0


def iso(seconds: float) -> str:
    """Return a time since 1970 in the form of a recording."""
    return (
        datetime.fromtimestamp(seconds, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


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
    time: float = field(default_factory=time.time)
    """When it came, in seconds since 1970."""

    def header(self, name: str) -> str:
        """The first header of that name (any case); empty where there is none."""
        key = name.lower()
        return next((value for header, value in self.headers if header.lower() == key), "")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request as the client sent it."""

    head: RequestHead
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class SentRecord:
    """What was forwarded, where it was not what the client sent. Plain, not compressed."""

    time: float
    exchange: int
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """What came back. Milliseconds since the request was handed on; status 0 where nothing came."""

    time: float
    exchange: int
    status: int
    headers: Pairs
    first_byte_ms: float
    elapsed_ms: float
    body: CapturedBody
    ended: Ended
    error: str = ""
    own: bool = False
    """The proxy answered, not the provider."""
    has_frames: bool = False
    """It came on a WebSocket: each piece of the body is a message."""


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """A message of a WebSocket that begins no exchange and answers none. `exchange`: the one under way then."""

    time: float
    connection: int
    exchange: int | None
    side: Side
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """A line without a body, in the form of the recording."""

    document: Mapping[str, Any]

    @classmethod
    def now(cls, kind: str, **fields: Any) -> "PlainRecord":
        exchange = {"exchange": fields.pop("exchange")} if "exchange" in fields else {}
        return cls({"type": kind, **exchange, "time": iso(time.time()), **fields})


Record: TypeAlias = RequestRecord | SentRecord | ResponseRecord | FrameRecord | PlainRecord
