"""The files of a zip archive, read within bounds. Nothing is unpacked to disk."""

import io
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from inspector.core.errors import NothingToRead
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import Problem
from inspector.transcripts.unpack import LONGEST_PACKED, Source, describe_excess, most_unpacked

try:
    from lzma import LZMAError
except ImportError:  # Python without lzma raises RuntimeError instead
    LZMAError = zlib.error  # type: ignore[misc,assignment]

_CHUNK = 1 << 18
_BAD = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
"""Exceptions of unpacking: a damaged archive or name, an unknown compression, or a password."""


@contextmanager
def open_archive(path: Path, member: str = "") -> Iterator[zipfile.ZipFile]:
    """Open an archive, or an archive that is a member of it. Raises NothingToRead if it cannot be unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            if not member:
                yield archive
            elif archive.getinfo(member).file_size > LONGEST_PACKED:
                raise NothingToRead(
                    f"{path}: {member} unpacks to more than {LONGEST_PACKED >> 20:,} MB"
                )
            else:
                with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
                    yield inner
    except _BAD as error:
        raise NothingToRead(f"{path} cannot be unpacked: {error}") from None


class MemberSource(Source):
    """Reads one file of an archive."""

    def __init__(self, path: Path, member: str) -> None:
        super().__init__(path)
        self._member = member
        self.longest = LONGEST_PACKED

    def chunks(self) -> Generator[bytes, None, None]:
        with open_archive(self.path) as archive:
            self.size = archive.getinfo(self._member).compress_size
            with archive.open(self._member) as file:
                yield from self._unpack_chunks(self._pieces(file))
        self.done = self.size

    def _pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        unpacked = 0
        try:
            while chunk := file.read(_CHUNK):
                yield chunk
                unpacked += len(chunk)
                if unpacked > most_unpacked(self.size):
                    self.problems.append(describe_excess(unpacked))
                    return
        except _BAD as error:
            self.problems.append(
                Problem(
                    line=0,
                    what=f"the packed data is damaged ({error}); shown is what could be unpacked",
                )
            )


def read_json_member(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    """Return the value of a JSON file of an archive. Raises NothingToRead."""
    if archive.getinfo(name).file_size > LONGEST_PACKED:
        raise NothingToRead(f"{path}: {name} unpacks to more than {LONGEST_PACKED >> 20:,} MB")
    try:
        return loads(archive.read(name))
    except NotJson as why:
        raise NothingToRead(f"{path}: {name} is not JSON: {why}") from None
