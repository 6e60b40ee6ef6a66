"""Records on their way to the writer's process: a head of JSON, and behind it the bytes of the body as they are."""

import struct
from dataclasses import fields
from typing import Any, BinaryIO

import orjson

from inspector.proxy.record.captured_body import Tape
from inspector.proxy.record.records import (
    FrameSeen,
    FramesSeen,
    HeldSeen,
    NoteSeen,
    Record,
    ReleasedSeen,
    RequestSeen,
    ResponseSeen,
    RuleSeen,
    SentSeen,
)

HEARD, TOLD, SETTLED = b"H", b"T", b"S"
"""What the writer answers, a line each: a line of the recording, a sentence for people, the number of a `settling`."""
UPSTREAM = "CONTEXT_INSPECTOR_UPSTREAM"
"""The variable in which the writer is told the provider's address: what a process is called with is seen by all."""
_SIZES = struct.Struct(">IQ")
_KINDS: dict[str, type[Record]] = {
    kind.__name__: kind
    for kind in (
        RequestSeen, HeldSeen, ReleasedSeen, SentSeen, ResponseSeen, FramesSeen, FrameSeen, NoteSeen,
        RuleSeen,
    )
}  # fmt: skip
_SETTLING = "settling"


def packed(record: Record) -> list[bytes]:
    """The pieces to be sent, one behind the other."""
    head: dict[str, Any] = {"record": type(record).__name__}
    pieces: list[bytes] = []
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Tape):
            pieces = list(value.pieces())
            if isinstance(record, FramesSeen):
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
        head["body"] = Tape.of(pieces, head.pop("size"), head.pop("left_out"))
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
        case RequestSeen() | ResponseSeen() | FramesSeen() | FrameSeen() | SentSeen():
            record.body.free()
        case _:
            pass
