"""Decode the content encodings of bodies for the recording. Forwarded bytes are unchanged.

A body that was cut off is unpacked as far as possible. Memory is bounded: a small body that unpacks to a huge one is
unpacked piece by piece only until it exceeds the limit, and nothing of it is kept.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LARGEST = 64_000_000
"""Largest unpacked body, in bytes."""
LARGEST_OF_SMALL = 4_000_000
"""Unpacked size, in bytes, that is allowed for every body, however small the packed body is."""
TOO_LARGE, NOT_KNOWN = "unpacked it is larger than", "is not known here"
_USUAL, _RARE = 20, 100
"""Compression ratios: few bodies exceed `_USUAL`, and no answer of a model exceeds `_RARE`."""
_LARGEST_RARE = 16_000_000
_PIECE = 1 << 18
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A body after decoding. `undecoded` says why `data` is still packed; it is empty if `data` is plain."""

    data: bytes
    undecoded: str = ""


def decoded(data: bytes, encoding: str) -> DecodedBody:
    """Undo the Content-Encoding of `data` (gzip, br, zstd, deflate). Of several encodings, undo the last first."""
    plain = data
    most = _most(len(data))
    for name in reversed([word.strip().lower() for word in encoding.split(",") if word.strip()]):
        if name == "identity" or not plain:
            continue
        unpack = _UNPACK.get(name)
        if unpack is None:
            return DecodedBody(data, f"the encoding {name[:40]} {NOT_KNOWN}")
        try:
            plain = _unpacked(plain, unpack, most)
        except _Damaged as why:
            return DecodedBody(data, str(why))
    return DecodedBody(plain)


def _most(packed: int) -> int:
    """Return the largest allowed unpacked size of a body with `packed` bytes."""
    return max(LARGEST_OF_SMALL, min(_RARE * packed, _LARGEST_RARE), min(_USUAL * packed, LARGEST))


class _Damaged(ValueError):
    """A body cannot be unpacked at all, or would be too large."""


Unpack = Callable[[bytes], Iterator[bytes]]
"""Function that yields the unpacked pieces of a body. It raises _Damaged if the first piece is damaged, and stops at
later damage."""


def _unpacked(data: bytes, unpack: Unpack, most: int) -> bytes:
    """Return the whole unpacked body. A large body is measured first and unpacked again to keep it. Raises _Damaged."""
    pieces: list[bytes] = []
    size = 0
    for piece in unpack(data):
        size += len(piece)
        if size > most:
            raise _Damaged(f"{TOO_LARGE} {most:,} bytes")
        if size > LARGEST_OF_SMALL:
            pieces.clear()
        else:
            pieces.append(piece)
    return b"".join(pieces if size <= LARGEST_OF_SMALL else unpack(data))


def _while_whole(name: str, pieces: Iterator[bytes], damage: type[Exception]) -> Iterator[bytes]:
    """Yield pieces up to the first damage; raise _Damaged if there is no piece before it."""
    is_empty = True
    try:
        for piece in pieces:
            is_empty = False
            yield piece
    except damage as error:
        if is_empty:
            raise _Damaged(f"it is not {name} ({error})") from None


def _members(data: bytes, wbits: int, *, are_many: bool) -> Iterator[bytes]:
    at = 0
    member = zlib.decompressobj(wbits)
    while at < len(data):
        block = data[at : at + _BLOCK]
        at += len(block)
        while block and not member.eof:
            yield member.decompress(block, _PIECE)
            block = member.unconsumed_tail
        if member.eof:
            at -= len(member.unused_data)
            if not are_many:
                return
            member = zlib.decompressobj(wbits)
    yield member.flush()


def _gzip(data: bytes) -> Iterator[bytes]:
    # `zlib` detects gzip or zlib by the header.
    return _while_whole("gzip", _members(data, wbits=47, are_many=True), zlib.error)


def _deflate(data: bytes) -> Iterator[bytes]:
    """Unpack a `deflate` body: zlib data or, as some servers send, the raw stream."""
    try:
        yield from _gzip(data)
    except _Damaged:
        yield from _while_whole("deflate", _members(data, wbits=-15, are_many=False), zlib.error)


def _zstd(data: bytes) -> Iterator[bytes]:
    import zstandard

    # The largest window that HTTP allows (RFC 9659).
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 23)
    reader = unpacker.stream_reader(data, read_across_frames=True)
    return _while_whole("zstd", iter(lambda: reader.read(_PIECE), b""), zstandard.ZstdError)


def _brotli(data: bytes) -> Iterator[bytes]:
    import brotli  # type: ignore[import-untyped]

    unpacker = brotli.Decompressor()

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(data), _BLOCK):
            piece = unpacker.process(data[at : at + _BLOCK], output_buffer_limit=_PIECE)
            yield piece
            while not unpacker.is_finished():
                # The unpacker holds back what exceeds the limit, and takes no more data until it is fetched.
                has_more = bool(piece) or not unpacker.can_accept_more_data()
                if not has_more:
                    break
                piece = unpacker.process(b"", output_buffer_limit=_PIECE)
                yield piece

    return _while_whole("brotli", pieces(), brotli.error)


_UNPACK: dict[str, Unpack] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
