"""Read the bytes of a transcript chunk by chunk, and unpack them if they are packed. Only regular files are read.

The first bytes show what the file is (gzip, zstd, UTF-16, a byte-order mark). A pipe or a device is never opened,
because that could block for ever.
"""

import codecs
import os
import stat
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from inspector.core.errors import NothingToRead
from inspector.core.session import Problem

_FIRST, _CHUNK = 1 << 16, 1 << 17
"""Bytes that are read at once; the values of a chunk are in memory together."""
GZIP, ZIP, ZSTD = b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
PACKED = (GZIP, ZSTD)
LONGEST = 1 << 30
"""Maximum number of bytes of a line, or of a document that is one value; a longer one is left out."""
LONGEST_PACKED = 1 << 26
"""The same limit for a packed file: a megabyte may unpack to a gigabyte, which would fill the memory."""
_PLENTY, _RATIO = 1 << 28, 200
"""Unpacked bytes that are always allowed, and the largest allowed ratio of unpacked to packed size beyond that.

Transcripts reach a ratio of about thirty.
"""
_KINDS = (
    (stat.S_ISDIR, "is a folder; name a file in it"),
    (stat.S_ISFIFO, "is a pipe, not a file"),
    (stat.S_ISSOCK, "is a socket, not a file"),
    (stat.S_ISCHR, "is a device, not a file"),
    (stat.S_ISBLK, "is a device, not a file"),
)


class FileStat(NamedTuple):
    """The state of a file. If two states are equal, the file was not changed."""

    device: int
    inode: int
    size: int
    changed_ns: int
    """Time of the last change, in ns."""


def file_stat(path: Path) -> FileStat | None:
    """Return the state of a file; None if it does not exist (a rotation may be under way). Raises NothingToRead."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NothingToRead(f"{path} cannot be read: {error.strerror or error}") from None
    return FileStat(
        about.st_dev, inode=about.st_ino, size=about.st_size, changed_ns=about.st_mtime_ns
    )


def find_files(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files that match a pattern. Stop if the folder is removed meanwhile."""
    with suppress(OSError):
        yield from folder.glob(pattern)


def most_unpacked(size: int) -> int:
    """Return how many bytes a packed file of `size` bytes may unpack to."""
    return max(_PLENTY, _RATIO * size)


def describe_excess(unpacked: int) -> Problem:
    """Say that reading stopped after this number of unpacked bytes."""
    what = f"reading stopped after {unpacked >> 20:,} MB: the file unpacks to more than"
    return Problem(line=0, what=f"{what} {_RATIO} times its size; the rest is not shown")


def is_packed(path: Path) -> bool:
    """Does the file begin like gzip or zstd?"""
    try:
        if not path.is_file():  # a pipe is never opened
            return False
        with path.open("rb", buffering=0) as file:
            return file.read(len(ZSTD)).startswith(PACKED)
    except OSError:  # reading the file will report the error
        return False


class Source:
    """One file, to be read once from its beginning. Raises NothingToRead if there is nothing to read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """Bytes on disk when the file was opened; it may have grown since."""
        self.done = 0
        """Bytes on disk that have been read."""
        self.longest = LONGEST
        """Maximum number of bytes that a line of the file may have."""
        self.problems: list[Problem] = []

    def chunks(self) -> Generator[bytes, None, None]:
        """Yield the unpacked bytes. The first chunks are small, so that something can be shown early."""
        with _open_regular(self.path) as file:
            self.size = os.fstat(file.fileno()).st_size
            yield from self._unpack_chunks(self._read_chunks(file))

    def _unpack_chunks(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Yield these bytes, unpacked if they are packed."""
        start = next(raw, b"")
        if not start:
            raise NothingToRead(f"{self.path} is empty")
        yield from _as_utf8(
            self._unpacked(start, raw) if start.startswith(PACKED) else chain((start,), raw)
        )

    def _read_chunks(self, file: BinaryIO) -> Iterator[bytes]:
        size = _FIRST
        try:
            while chunk := file.read(size):
                self.done += len(chunk)
                yield chunk
                size = min(2 * size, _CHUNK)
        except OSError as error:
            if not self.done:
                raise NothingToRead(
                    f"{self.path} cannot be read: {error.strerror or error}"
                ) from None
            what = f"reading stopped after {self.done:,} bytes ({error.strerror or error}); the rest is not shown"
            self.problems.append(Problem(line=0, what=what))

    def _unpacked(self, start: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content of all members of a packed file; of a damaged or torn file, what could be unpacked."""
        magic = GZIP if start.startswith(GZIP) else ZSTD
        member = _member(magic)
        self.longest = LONGEST_PACKED
        unpacked_so_far = 0
        try:
            for chunk in chain((start,), raw):
                data = chunk
                while data:
                    if member.eof:
                        data = data.lstrip(b"\0")
                        if not data.startswith(magic[: len(data)]):
                            what = "gzip" if magic == GZIP else "zstd"
                            what = f"the data after the packed data is not {what}; it was left out"
                            self.problems.append(Problem(line=0, what=what))
                            return
                        member = _member(magic)
                    if unpacked := member.decompress(data, _CHUNK):
                        yield unpacked
                    unpacked_so_far += len(unpacked)
                    if unpacked_so_far > most_unpacked(self.done):
                        self.problems.append(describe_excess(unpacked_so_far))
                        return
                    data = member.unused_data if member.eof else member.unconsumed_tail
        except zlib.error as error:
            self.problems.append(
                Problem(
                    line=0,
                    what=f"the packed data is damaged ({error}); shown is what could be unpacked",
                )
            )
            return
        if rest := member.flush():
            yield rest
        if not member.eof:
            self.problems.append(
                Problem(
                    line=0,
                    what="the packed file ends in the middle; shown is what could be unpacked",
                )
            )


def _member(magic: bytes) -> Any:
    """Return an object that unpacks one member: zlib's own, or one with the same interface."""
    return zlib.decompressobj(wbits=31) if magic == GZIP else _ZstdFrame()


class _ZstdFrame:
    """Unpacks one zstd frame with the interface of zlib's decompression object.

    The input is processed in small pieces, so that no piece unpacks to more than a few megabytes.
    """

    _PIECE = 512

    def __init__(self) -> None:
        import zstandard  # few files are packed so, and the library would be loaded at every start

        self._error = zstandard.ZstdError
        self._inner = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
        self.unconsumed_tail: memoryview | bytes = b""

    @property
    def eof(self) -> bool:
        """Has the end of the frame been reached?"""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """Return the bytes that follow the frame."""
        return self._inner.unused_data + bytes(self.unconsumed_tail)

    def decompress(self, data: memoryview | bytes, most: int) -> bytes:
        """Unpack a piece of the data; the rest is kept in `unconsumed_tail`."""
        del most
        view = memoryview(data)
        self.unconsumed_tail = view[self._PIECE :]
        try:
            return self._inner.decompress(view[: self._PIECE])
        except self._error as error:
            raise zlib.error(str(error)) from None

    def flush(self) -> bytes:
        """Return nothing: no bytes of a frame are held back."""
        return b""


_WINDOW = 1 << 27
"""Maximum number of bytes of memory that a frame may require."""


def _open_regular(path: Path) -> BinaryIO:
    try:
        _check(path, os.stat(path).st_mode)
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        file = open(handle, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        raise NothingToRead(f"there is no file {path}") from None
    except OSError as error:
        raise NothingToRead(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # the name contains a NUL
        raise NothingToRead(f"{str(path)!r} is not a valid file name: {error}") from None
    _check(path, os.fstat(handle).st_mode)
    return file


def _check(path: Path, mode: int) -> None:
    for is_kind, what in _KINDS:
        if is_kind(mode):
            raise NothingToRead(f"{path} {what}")


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes as UTF-8 without a byte-order mark. UTF-16 (written by Windows shells) is converted."""
    start = next(chunks, b"")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        for chunk in chain((start,), chunks):
            yield decoder.decode(chunk).encode("utf-8", errors="replace")
        return
    yield start.removeprefix(codecs.BOM_UTF8)
    yield from chunks
