"""What the proxy reports to its recorder: plain values, quickly made; and how they reach the writer's process."""

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal, TypeAlias

from inspector.core.tokens.prediction import Prediction
from inspector.proxy.record.captured_body import CapturedBody

Buffer: TypeAlias = bytes | memoryview
Pairs: TypeAlias = tuple[tuple[str, str], ...]
Transport: TypeAlias = Literal["http", "websocket"]
Side: TypeAlias = Literal["client", "upstream"]
Ended: TypeAlias = Literal["complete", "client closed", "upstream closed", "failed"]
HoldReason: TypeAlias = Literal["watermark", "each", "by hand"]
ReleaseKind: TypeAlias = Literal["as it was", "changed", "dropped", "cut again", "client gone"]


def iso(seconds: float) -> str:
    """A time since 1970 as it stands in a recording."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request as the client sent it."""

    head: RequestHead
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """A request waits at the gate."""

    time: float
    exchange: int
    why: HoldReason
    size: Prediction | None


@dataclass(frozen=True, slots=True)
class ReleasedRecord:
    """It waits no longer."""

    time: float
    exchange: int
    how: ReleaseKind


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
class NoteRecord:
    """Anything that should be known to who reads the recording."""

    time: float
    what: str


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """From here on requests are held by another rule, or the window is another one: as in the recording's head."""

    time: float
    rule: Mapping[str, Any]


Record: TypeAlias = (
    RequestRecord | HeldRecord | ReleasedRecord | SentRecord | ResponseRecord | FrameRecord | NoteRecord | RuleRecord
)


def packed(record: Record | int) -> list[Buffer]:
    """The pieces to be sent to the writer, one after the other: the bytes of bodies as they are, then the record.

    A number is a question, answered when all that was sent before is written.
    """
    pieces: list[Buffer] = []
    data = pickle.dumps(record, protocol=5, buffer_callback=lambda piece: pieces.append(piece.raw()))
    return [pickle.dumps([len(piece) for piece in pieces]), *pieces, data]


def received(file: BinaryIO) -> Record | int | None:
    """The next of them; None at the end (also in the middle of one)."""
    try:
        pieces = [file.read(size) for size in pickle.load(file)]
        found: Record | int = pickle.load(file, buffers=pieces)
    except (EOFError, pickle.UnpicklingError):
        return None
    return found
