"""What the proxy tells its recorder: plain values, quickly made; and how they reach the writer's process."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, BinaryIO, Literal, TypeAlias

import orjson

from inspector.proxy.gate import HoldReason, Pairs, ReleaseKind, Transport
from inspector.proxy.record.captured_body import CapturedBody

Side: TypeAlias = Literal["client", "upstream"]
Ended: TypeAlias = Literal["complete", "client closed", "upstream closed", "failed"]


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request as the client sent it. `time` in seconds since 1970."""

    time: float
    exchange: int
    transport: Transport
    connection: int
    method: str
    path: str
    tag: str
    headers: Pairs
    body: CapturedBody


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """A request waits at the gate."""

    time: float
    exchange: int
    why: HoldReason
    tokens: int | None


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


@dataclass(frozen=True, slots=True)
class FramesRecord:
    """What came back on a WebSocket: a piece of the body is a message."""

    time: float
    exchange: int
    status: int
    headers: Pairs
    first_byte_ms: float
    elapsed_ms: float
    body: CapturedBody
    ended: Ended
    error: str = ""


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
    RequestRecord
    | HeldRecord
    | ReleasedRecord
    | SentRecord
    | ResponseRecord
    | FramesRecord
    | FrameRecord
    | NoteRecord
    | RuleRecord
)


HEARD, TOLD, SETTLED = b"H", b"T", b"S"
"""What the writer answers, a line each: a line of the recording, a sentence for people, the number of a `settling`."""
UPSTREAM = "CONTEXT_INSPECTOR_UPSTREAM"
"""The variable in which the writer is told the provider's address: what a process is called with is seen by all."""
_SIZES = struct.Struct(">IQ")
_KINDS: dict[str, type[Record]] = {
    kind.__name__: kind
    for kind in (
        RequestRecord, HeldRecord, ReleasedRecord, SentRecord, ResponseRecord, FramesRecord, FrameRecord, NoteRecord,
        RuleRecord,
    )
}  # fmt: skip
_SETTLING = "settling"


def packed(record: Record) -> list[bytes]:
    """The pieces to be sent, one behind the other."""
    head: dict[str, Any] = {"record": type(record).__name__}
    pieces: list[bytes] = []
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, CapturedBody):
            pieces = list(value.pieces())
            if isinstance(record, FramesRecord):
                head["pieces"] = [len(piece) for piece in pieces]
            head["size"], head["left_out"] = value.size, value.left_out
        else:
            head[field.name] = value
    data = orjson.dumps(head)
    return [_SIZES.pack(len(data), sum(map(len, pieces))) + data, *pieces]


def settling(number: int) -> list[bytes]:
    """A question that is answered when all that was sent before is written."""
    data = orjson.dumps({_SETTLING: number})
    return [_SIZES.pack(len(data), 0) + data]


def received(file: BinaryIO) -> Record | int | None:
    """The next record, or the number of a `settling`; None at the end (also in the middle of one)."""
    start = file.read(_SIZES.size)
    if len(start) < _SIZES.size:
        return None
    head_size, body_size = _SIZES.unpack(start)
    data, body = file.read(head_size), file.read(body_size)
    if len(data) < head_size or len(body) < body_size:
        return None
    head = orjson.loads(data)
    if _SETTLING in head:
        return int(head[_SETTLING])
    kind = _KINDS[head.pop("record")]
    if "size" in head:
        lengths = head.pop("pieces", None)
        pieces = [body] if lengths is None else _cut(body, lengths)
        head["body"] = CapturedBody.of(pieces, head.pop("size"), head.pop("left_out"))
    for name in ("headers",):
        if name in head:
            head[name] = tuple((key, value) for key, value in head[name])
    return kind(**head)


def _cut(data: bytes, lengths: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for length in lengths:
        pieces.append(data[at : at + length])
        at += length
    return pieces


def freed(record: Record) -> None:
    """Its body is needed no longer."""
    match record:
        case RequestRecord() | ResponseRecord() | FramesRecord() | FrameRecord() | SentRecord():
            record.body.free()
        case _:
            pass
