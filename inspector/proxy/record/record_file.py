"""A file to which one process appends lines. Each line is written completely or not at all."""

import os
import re
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inspector.core.errors import InspectorError

_EXCHANGE = re.compile(rb'"exchange":(\d{1,15})')
_FIRST_LINE = 1 << 16


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of recording: its names in messages, and how its files begin."""

    writer: str
    """The program that records: `proxy`."""
    what: str
    """The kind in words: `a recording of the proxy`."""
    is_first_line: Callable[[bytes], bool]
    """Returns whether a line is the first of such a file."""


class RecordFile:
    """Opens a new file, or continues one of this kind. It is locked and readable only by its owner.

    Raises:
        InspectorError: The file must not or cannot be written.
    """

    def __init__(self, path: Path, kind: RecordKind) -> None:
        self.path = path
        self._kind = kind
        self.is_new = True
        self.next_exchange = 0
        """The first exchange number that is not used in the file."""
        self.removed = 0
        """Bytes of an incomplete last line that were removed when the file was opened."""
        self.is_torn = False
        """True if the file ends in the middle of a line."""
        try:
            self.handle = self._open()
        except OSError as error:
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}.") from None

    def _open(self) -> int:
        try:
            handle = os.open(
                self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600
            )
        except FileExistsError:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | _CLOEXEC)
        try:
            self._claim(handle)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _claim(self, handle: int) -> None:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InspectorError(f"{self.path} is not a file; name another one to record into.")
        if not _lock(handle):
            raise InspectorError(
                f"Another {self._kind.writer} records into {self.path}; name another file."
            )
        if size := os.fstat(handle).st_size:
            self._continue(handle, size)
        self.is_new = not os.fstat(handle).st_size
        os.fchmod(handle, 0o600)

    def _continue(self, handle: int, size: int) -> None:
        """Find the first unused exchange number, and remove an incomplete last line, which must not be followed by
        others.
        """
        with os.fdopen(os.dup(handle), "rb") as file:
            file.seek(0)
            if not self._kind.is_first_line(file.readline(_FIRST_LINE)):
                raise InspectorError(
                    f"{self.path} exists and is not {self._kind.what}; name another file."
                )
            last = b"\n"
            for line in file:
                last = line
                if number := _EXCHANGE.search(line, 0, 200):
                    self.next_exchange = max(self.next_exchange, int(number[1]) + 1)
        if not last.endswith(b"\n"):
            self.removed = len(last)
            os.ftruncate(handle, size - len(last))

    def is_there(self) -> bool:
        try:
            now = self.path.stat()
            ours = os.fstat(self.handle)
        except FileNotFoundError:
            return False
        return (now.st_dev, now.st_ino) == (ours.st_dev, ours.st_ino)

    def begin_again(self) -> None:
        """Create the file again after it was removed. Raises OSError, InspectorError."""
        handle = self._open()
        os.close(self.handle)
        self.handle = handle
        self.is_torn = False

    def append(self, line: bytes) -> None:
        """Append one line.

        Raises:
            OSError: The line cannot be written. A partial line is removed, or ended before the next line.
        """
        whole = memoryview(b"\n" + line + b"\n" if self.is_torn else line + b"\n")
        rest = whole
        try:
            while rest:
                rest = rest[os.write(self.handle, rest) :]
        except OSError:
            if written := len(whole) - len(rest):
                self._take_back(written)
            raise
        self.is_torn = False

    def _take_back(self, count: int) -> None:
        try:
            os.ftruncate(self.handle, os.fstat(self.handle).st_size - count)
        except OSError:
            self.is_torn = True

    def close(self) -> None:
        os.close(self.handle)


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def _lock(handle: int) -> bool:
    """Lock the file, unless another process holds its lock. Return whether this process may write; Windows does not
    lock.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
