"""Bodies out of their content encodings, for the recording; what is forwarded stays as it came.

Tolerant: of a body that was cut, what can be unpacked; never more than `LARGEST` bytes, whatever a small body claims.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

LARGEST = 256_000_000
"""Bytes of one unpacked body."""


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
            return DecodedBody(data, f"the encoding {name[:40]} is not known here")
        try:
            plain = unpack(plain)
        except _Damaged as why:
            return DecodedBody(data, str(why))
    return DecodedBody(plain)


class _Damaged(ValueError):
    """It cannot be unpacked at all, or would be too large."""


def _gzip(data: bytes) -> bytes:
    out: list[bytes] = []
    size = 0
    while data:
        member = zlib.decompressobj(wbits=47)  # gzip or zlib, told by its head
        try:
            piece = member.decompress(data, LARGEST - size + 1)
        except zlib.error as error:
            if out:
                break  # what follows a whole member is no gzip
            raise _Damaged(f"it is not gzip ({error})") from None
        out.append(piece)
        size += len(piece)
        _check(size)
        data = member.unused_data
    return b"".join(out)


def _deflate(data: bytes) -> bytes:
    try:
        return _gzip(data)
    except _Damaged:
        pass
    raw = zlib.decompressobj(wbits=-15)  # what some servers mean by it
    try:
        plain = raw.decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise _Damaged(f"it is not deflate ({error})") from None
    _check(len(plain))
    return plain


def _zstd(data: bytes) -> bytes:
    import zstandard

    out, size = [], 0
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data, read_across_frames=True)
        while piece := reader.read(1 << 20):
            out.append(piece)
            size += len(piece)
            _check(size)
    except zstandard.ZstdError as error:
        if not out:
            raise _Damaged(f"it is not zstd ({error})") from None
    return b"".join(out)


def _brotli(data: bytes) -> bytes:
    import brotli  # type: ignore[import-untyped]

    out, size = [], 0
    unpacker = brotli.Decompressor()
    try:
        for start in range(0, len(data), 1 << 16):
            piece = unpacker.process(data[start : start + (1 << 16)])
            out.append(piece)
            size += len(piece)
            _check(size)
    except brotli.error as error:
        if not out:
            raise _Damaged(f"it is not brotli ({error})") from None
    return b"".join(out)


def _check(size: int) -> None:
    if size > LARGEST:
        raise _Damaged(f"unpacked it is larger than {LARGEST:,} bytes")


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
