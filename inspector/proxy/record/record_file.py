"""The file of a recording: created for its owner only, appended to, never written over.

A recording that is there already is continued: another `proxy` line, its exchanges numbered on. Any other file that
holds something is refused. Two proxies never write to one file.
"""

import os
import re
import stat
import sys
from pathlib import Path

from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, loads

_EXCHANGE = re.compile(rb'"exchange":(\d{1,15})')
_FIRST_LINE = 1 << 16


class RecordFile:
    """`next_exchange`: the first number that is free. Raises InspectorError where nothing may be written there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.next_exchange = 0
        self.is_torn = False
        """Does it end in the middle of a line?"""
        try:
            self.handle = self._open()
        except OSError as error:
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}.") from None

    @classmethod
    def handed(cls, path: Path, handle: int, *, is_torn: bool) -> "RecordFile":
        """One that another process has opened."""
        made = cls.__new__(cls)
        made.path, made.handle, made.is_torn, made.next_exchange = path, handle, is_torn, 0
        return made

    def _open(self) -> int:
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600)
        except FileExistsError:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | _CLOEXEC)
        try:
            self._claim(handle)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _claim(self, handle: int) -> None:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InspectorError(f"{self.path} is not a file; name another one to record into.")
        if found.st_size:
            self._continue(handle)
        if not _lock(handle):
            raise InspectorError(f"Another proxy records into {self.path}; name another file.")
        os.fchmod(handle, 0o600)

    def _continue(self, handle: int) -> None:
        with os.fdopen(os.dup(handle), "rb") as file:
            file.seek(0)
            if not _is_ours(file.readline(_FIRST_LINE)):
                raise InspectorError(f"{self.path} exists and is not a recording of the proxy; name another file.")
            last = b"\n"
            for line in file:
                last = line
                if found := _EXCHANGE.search(line, 0, 200):
                    self.next_exchange = max(self.next_exchange, int(found[1]) + 1)
        self.is_torn = not last.endswith(b"\n")

    def is_there(self) -> bool:
        """Is it still under its name?"""
        try:
            now, ours = self.path.stat(), os.fstat(self.handle)
        except FileNotFoundError:
            return False
        return (now.st_dev, now.st_ino) == (ours.st_dev, ours.st_ino)

    def begin_again(self) -> None:
        """Make it anew under the same name, after it was removed. Raises OSError, InspectorError."""
        handle = self._open()
        os.close(self.handle)
        self.handle, self.is_torn = handle, False

    def append(self, line: bytes) -> None:
        """One record, at once. Raises OSError; what was written of it then is closed off before the next."""
        data = memoryview(b"\n" + line + b"\n" if self.is_torn else line + b"\n")
        while data:
            self.is_torn = True
            data = data[os.write(self.handle, data) :]
        self.is_torn = False

    def close(self) -> None:
        """Done."""
        os.close(self.handle)


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def _lock(handle: int) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_ours(line: bytes) -> bool:
    try:
        first = loads(line)
    except NotJson:
        return False
    return isinstance(first, dict) and first.get("type") == "proxy"
