"""Records that the proxy reports to its recorder: plain values that are cheap to make.

Bodies are kept in memory until they are written, within bounds, so that forwarding never waits for the recording. A
body that exceeds `Budget` is left out of the recording, and its record says so.
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
"""Maximum number of bytes of one body, as sent."""
ALL = 256_000_000
"""Maximum number of bytes of all bodies that wait to be written."""


_LARGE_PIECE = 4096
"""Size in bytes from which a piece is sent to the writer without copying it into the record."""


class Budget:
    """Limits the bytes that all exchanges together keep. The server takes from it, the recorder's thread gives back."""

    def __init__(self, limit: int = ALL) -> None:
        self._left = limit
        self._lock = Lock()

    def take(self, count: int) -> bool:
        """Reserve `count` bytes. Return False if there is no room."""
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
        """Why nothing is kept; empty if everything is."""

    @classmethod
    def of(cls, pieces: Iterable[bytes], size: int, left_out: str) -> "CapturedBody":
        """Return a body with given content, outside any shared budget."""
        body = cls(Budget())
        body._pieces = list(pieces)
        body.size = size
        body.left_out = left_out
        return body

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        pieces = [
            PickleBuffer(piece) if len(piece) >= _LARGE_PIECE else piece for piece in self._pieces
        ]
        return CapturedBody.of, (pieces, self.size, self.left_out)

    def copy(self) -> "CapturedBody":
        """Return a copy that stays valid when this body is freed."""
        return CapturedBody.of(self._pieces, self.size, self.left_out)

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if self.left_out:
            return
        if self.size > LARGEST:
            self._leave_out(f"the body is larger than {LARGEST:,} bytes")
        elif not self._budget.take(len(data)):
            self._leave_out("the recorder's queue was full")
        else:
            self._pieces.append(data)
            self._kept += len(data)

    def _leave_out(self, why: str) -> None:
        self.left_out = why
        self.free()

    def join(self) -> bytes:
        """Return the whole body, and keep it as one piece from now on."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def pieces(self) -> Sequence[bytes]:
        """Return the pieces as they were added; empty if the body was left out."""
        return self._pieces

    def free(self) -> None:
        """Free the body's memory, and give it back to the budget."""
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
    """The head of a request. `path` is the path to forward, without the tag but with any secrets."""

    exchange: int
    connection: int
    transport: Transport
    method: str
    path: str
    tag: str
    headers: Pairs
    time: float = field(default_factory=time.time)
    """Time of arrival, in seconds since 1970."""
    upstream: str = ""
    """Address of the provider, if the proxy chooses it for each request; empty if all requests go to the same."""

    def header(self, name: str) -> str:
        """Return the first header with a name, ignoring case; empty if there is none."""
        key = name.lower()
        return next((value for header, value in self.headers if header.lower() == key), "")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request as the client sent it."""

    head: RequestHead
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class SentRecord:
    """The body that was forwarded if it differs from the client's, not compressed."""

    time: float
    exchange: int
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """The answer to a request. Milliseconds count from when the request was passed on; status 0 means no answer."""

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
    """True if the proxy answered, not the provider."""
    has_frames: bool = False
    """True if it came on a WebSocket; then each piece of the body is a message."""


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """A WebSocket message that neither begins nor answers an exchange. `exchange`: the exchange that was open then."""

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
