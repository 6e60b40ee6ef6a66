"""One file that somebody else is writing: what was appended since the last look, read from where we stopped.

It is opened for reading only, only while there is something to read, and never locked. What was read is known again by
its beginning and its last bytes; where they are others, the file was truncated, replaced or rewritten (Rewritten).
"""

import os
from pathlib import Path

from inspector.core.errors import NothingToRead
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import Problem
from inspector.transcripts.feeder import Feeder, excerpt
from inspector.transcripts.opening import Opening, Watch

_HEAD, _TAIL, _CHUNK = 1024, 256, 1 << 18
_PACKED = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

Standing = tuple[int, int, int, int]
"""Device, inode, bytes, time of the last change: all equal = nobody has touched the file."""


class Rewritten(Exception):
    """What was read is no longer what the file begins with: it must be read anew."""


def standing(path: Path) -> Standing | None:
    """How the file stands now; None where there is none (a rotation may just be under way)."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NothingToRead(f"{path} cannot be read: {error.strerror or error}") from None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def is_packed(path: Path) -> bool:
    """Does it begin as gzip does?"""
    try:
        if not path.is_file():  # a pipe is never opened
            return False
        with path.open("rb", buffering=0) as file:
            return file.read(2) == _PACKED
    except OSError:  # whoever reads all of it tells why
        return False


class Waiting(Feeder):
    """A feeder that never takes the last line for a torn one: it waits for its rest."""

    _early = False
    """The line was read before its end came."""

    def feed_bytes(self, chunk: bytes) -> None:
        """As a Feeder, but the end of a line that was read early is no line."""
        if self._early and chunk:
            end = chunk.find(b"\n") + 1
            ends = end > 0 and not chunk[:end].strip()
            self._early = not ends and not chunk.strip()
            chunk = chunk[end:] if ends else b"" if self._early else chunk
        super().feed_bytes(chunk)

    def torn(self) -> list[Problem]:
        """What stands behind the last newline and is no whole value, told as a problem: for who does not wait."""
        size = len(self._rest)
        if not self._rest.strip(b" \t\r\n\0"):
            return []
        what = f"torn last line: its {size:,} bytes are no complete JSON value; it was left out"
        return [Problem(self.line + 1, what, excerpt(bytes(self._rest)), self._file)]

    def finish(self) -> None:
        """Nothing more for now: read the last line if it is one whole value, else let it wait."""
        if not self._rest[-16:].rstrip().endswith((b"}", b"]")):
            return
        try:
            value = loads(self._rest)
        except NotJson:
            return
        self._rest = bytearray()
        self._early = True
        self.line += 1
        self.values += 1
        self.feed(self.line, value, self._file)


class Growing(Opening):
    """A file on its way in that is not finished."""

    def __init__(self, path: Path, watch: Watch, file: str = "") -> None:
        super().__init__(path, watch, file)
        self.path = path
        self._standing = standing(path)
        self._feeder = self._waiting = Waiting(self._feeder.feed, file)
        self._quiet = False
        self._first, self._last = b"", b""
        self._done = 0

    def settle(self) -> None:
        """All that there was has been fed: keep in mind how it looked."""
        self._done = self._source.done
        try:
            with self.path.open("rb", buffering=0) as file:
                self._first = file.read(min(_HEAD, self._done))
                self._last = self._before(file.fileno())
        except OSError as error:
            raise NothingToRead(f"{self.path} cannot be read: {error.strerror or error}") from None

    def torn(self) -> list[Problem]:
        """The last line, if it is torn."""
        return self._waiting.torn() if self._feeder is self._waiting else []

    def _before(self, handle: int) -> bytes:
        os.lseek(handle, max(0, self._done - _TAIL), os.SEEK_SET)
        return os.read(handle, min(_TAIL, self._done))

    @property
    def _whole(self) -> bool:
        """One JSON document, or bytes that cannot be read from the middle: every change is a new file.

        A transcript of one value may be such a document; it costs little to read it once more.
        """
        one = not self._file and self._feeder.values <= 1
        return one or self._feeder is not self._waiting or self._first.startswith((*_UTF16, _PACKED))

    def read_more(self) -> bool:
        """Feed what was appended; was there anything? O(what was appended). Raises Rewritten."""
        now = standing(self.path)
        if now == self._standing or now is None:
            return self._rest_of_line()
        former, self._standing, self._quiet = self._standing, now, False
        if self._whole or now[2] < self._done or (former is not None and now[:2] != former[:2]):
            raise Rewritten
        try:
            with self.path.open("rb", buffering=0) as file:
                if file.read(len(self._first)) != self._first or self._before(file.fileno()) != self._last:
                    raise Rewritten
                return self._feed_from(file.fileno())
        except OSError as error:  # it went away this moment, or is no longer for us to see
            raise Rewritten from error

    def _feed_from(self, handle: int) -> bool:
        before = self._waiting.line
        os.lseek(handle, self._done, os.SEEK_SET)
        while chunk := os.read(handle, _CHUNK):
            self._done += len(chunk)
            self._waiting.feed_bytes(chunk)
        if len(self._first) < min(_HEAD, self._done):
            os.lseek(handle, 0, os.SEEK_SET)
            self._first = os.read(handle, min(_HEAD, self._done))
        self._last = self._before(handle)
        return self._waiting.line > before

    def _rest_of_line(self) -> bool:
        """Nothing was written for a while: the last line may be whole although its end is missing."""
        if self._quiet or self._whole:
            return False
        self._quiet = True
        before = self._waiting.line
        self._waiting.finish()
        return self._waiting.line > before
