"""Bodies out of their content encodings, for the recording; what is forwarded stays as it came.

Tolerant: of a body that was cut, what can be unpacked; never more than `LARGEST` bytes, whatever a small body claims.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

LARGEST = 256_000_000
"""Bytes of one unpacked body."""
TOO_LARGE, NOT_KNOWN = f"unpacked it is larger than {LARGEST:,} bytes", "is not known here"


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """`undecoded`: why `data` is still packed; empty where it is plain."""

    data: bytes
    undecoded: str = ""


def decoded(data: bytes, encoding: str) -> DecodedBody:
    """`data` out of its Content-Encoding: `gzip`, `br`, `zstd`, `deflate`; several with commas, the last goes first."""
    plain = data
    for name in reversed([one.strip().lower() for one in encoding.split(",") if one.strip()]):
        if name == "identity" or not plain:
            continue
        unpack = _UNPACK.get(name)
        if unpack is None:
            return DecodedBody(data, f"the encoding {name[:40]} {NOT_KNOWN}")
        try:
            plain = unpack(plain)
        except _Damaged as why:
            return DecodedBody(data, str(why))
    return DecodedBody(plain)


class _Damaged(ValueError):
    """It cannot be unpacked at all, or would be too large."""


def _joined(name: str, pieces: Iterator[bytes], damage: type[Exception]) -> bytes:
    """What can be had of them."""
    out: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            out.append(piece)
            size += len(piece)
            if size > LARGEST:
                raise _Damaged(TOO_LARGE)
    except damage as error:
        if not out:
            raise _Damaged(f"it is not {name} ({error})") from None
    return b"".join(out)


def _members(data: bytes, wbits: int) -> Iterator[bytes]:
    while data:
        member = zlib.decompressobj(wbits)
        yield member.decompress(data, LARGEST + 1)
        data = member.unused_data


def _gzip(data: bytes) -> bytes:
    return _joined("gzip", _members(data, 47), zlib.error)  # gzip or zlib, by its head


def _deflate(data: bytes) -> bytes:
    try:
        return _gzip(data)
    except _Damaged:  # some servers mean the bare stream by it
        return _joined("deflate", islice(_members(data, -15), 1), zlib.error)


def _zstd(data: bytes) -> bytes:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data, read_across_frames=True)
    return _joined("zstd", iter(lambda: reader.read(1 << 20), b""), zstandard.ZstdError)


def _brotli(data: bytes) -> bytes:
    import brotli  # type: ignore[import-untyped]

    unpacker = brotli.Decompressor()
    starts = range(0, len(data), 1 << 16)
    return _joined("brotli", (unpacker.process(data[at : at + (1 << 16)]) for at in starts), brotli.error)


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
