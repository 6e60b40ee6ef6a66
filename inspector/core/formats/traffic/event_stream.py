"""Amazon's binary event streams: length, headers, payload, two checksums (CRC-32) a message.

https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PRELUDE, _CRC = 12, 4
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; 6 (bytes) and 7 (text) say their length."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One message. `headers`: those that are text, `:event-type` among them."""

    headers: Mapping[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True)
class DamagedMessage:
    """`at`: bytes from the beginning of the stream. Nothing is read after it where its length cannot be believed."""

    at: int
    why: str


def stream_messages(data: bytes) -> Iterator[StreamMessage | DamagedMessage]:
    """The messages in order. Never raises."""
    at = 0
    while at < len(data):
        if len(data) - at < _PRELUDE + _CRC:
            yield DamagedMessage(at, "it ends in the middle of a message")
            return
        size, headers, crc = struct.unpack_from(">III", data, at)
        if zlib.crc32(data[at : at + 8]) != crc:
            yield DamagedMessage(at, "the checksum of a length is wrong")
            return
        if size > len(data) - at or size < _PRELUDE + _CRC + headers:
            yield DamagedMessage(at, "it ends in the middle of a message")
            return
        yield _message(data[at : at + size], headers, at)
        at += size


def _message(data: bytes, headers: int, at: int) -> StreamMessage | DamagedMessage:
    (crc,) = struct.unpack_from(">I", data, len(data) - _CRC)
    if zlib.crc32(data[:-_CRC]) != crc:
        return DamagedMessage(at, "the checksum of a message is wrong")
    told = _headers(data[_PRELUDE : _PRELUDE + headers])
    return StreamMessage(told, data[_PRELUDE + headers : -_CRC])


def _headers(data: bytes) -> dict[str, str]:
    """As far as they can be read."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        if name_end >= len(data):
            break
        name, kind, at = data[at + 1 : name_end].decode("utf-8", "replace"), data[name_end], name_end + 1
        size = _SIZES.get(kind)
        if size is None:
            if kind not in (6, 7) or at + 2 > len(data):
                break
            size, at = int.from_bytes(data[at : at + 2], "big"), at + 2
        if kind == 7:
            found[name] = data[at : at + size].decode("utf-8", "replace")
        at += size
    return found
