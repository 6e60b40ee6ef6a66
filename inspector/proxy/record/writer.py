"""The process that writes a recording: reads records from its pipe until that ends, writes a line each.

It outlives the proxy for as long as it takes to write what it was given: a proxy that is killed loses nothing that had
passed. It answers on its other pipe, as long as somebody reads that.
"""

import os
import pickle
import re
import signal
import stat
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from inspector import __version__
from inspector.core.errors import InspectorError
from inspector.core.jsontext import NotJson, loads
from inspector.proxy.record.lines import LineEncoder
from inspector.proxy.record.records import PlainRecord, Record, RequestRecord, ResponseRecord, iso
from inspector.proxy.record.redact import redacted_url
from inspector.proxy.record.redactor import Redactor
from inspector.safety.sealing import seal

_EXCHANGE = re.compile(rb'"exchange":(\d{1,15})')
_FIRST_LINE = 1 << 16


class RecordFile:
    """`next_exchange`: the first number that is free. Raises InspectorError where nothing may be written there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.next_exchange = 0
        self.removed = 0
        """Bytes of an incomplete last line that were removed when the file was opened."""
        self.is_torn = False
        """Does it end in the middle of a line?"""
        try:
            self.handle = self._open()
        except OSError as error:
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}.") from None

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
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InspectorError(f"{self.path} is not a file; name another one to record into.")
        if not _lock(handle):
            raise InspectorError(f"Another proxy records into {self.path}; name another file.")
        if size := os.fstat(handle).st_size:
            self._continue(handle, size)
        os.fchmod(handle, 0o600)

    def _continue(self, handle: int, size: int) -> None:
        """Find the first number that is free, and remove a last line that is incomplete: nothing may follow it."""
        with os.fdopen(os.dup(handle), "rb") as file:
            file.seek(0)
            if not _is_ours(file.readline(_FIRST_LINE)):
                raise InspectorError(f"{self.path} exists and is not a recording of the proxy; name another file.")
            last = b"\n"
            for line in file:
                last = line
                if found := _EXCHANGE.search(line, 0, 200):
                    self.next_exchange = max(self.next_exchange, int(found[1]) + 1)
        if not last.endswith(b"\n"):
            self.removed = len(last)
            os.ftruncate(handle, size - len(last))

    def is_there(self) -> bool:
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
        """Write one record at once.

        Raises:
            OSError: It cannot be written. What was written of it is taken back, or closed off before the next one.
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


_BUFFER = 1 << 18
Reply: TypeAlias = Literal["heard", "told", "settled"]


def main() -> None:
    """Started by the recorder. What it is to write, and where, comes first on its pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seal()
    source = open(0, "rb", buffering=_BUFFER, closefd=False)  # noqa: SIM115 - until the process ends
    file, upstream, rule, hears = pickle.load(source)
    writer = Writer(file, upstream, rule, Replies(sys.stdout.buffer), hears=hears)
    while (record := received(source)) is not None:
        writer.take(record)
    file.close()


def received(file: BinaryIO) -> Record | int | None:
    """What was sent next, a number for a question; None at the end (also in the middle of one)."""
    try:
        pieces = [file.read(size) for size in pickle.load(file)]
        found: Record | int = pickle.load(file, buffers=pieces)
    except (EOFError, pickle.UnpicklingError):
        return None
    return found


class Replies:
    """To the proxy, a pair each; to nobody, once it has gone."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._is_gone = out, False

    def put(self, kind: Reply, what: str | int) -> None:
        """A line of the recording, a sentence for people, or the number that was asked for."""
        try:
            if not self._is_gone:
                pickle.dump((kind, what), self._out)
                self._out.flush()
        except OSError:
            self._is_gone = True


class Writer:
    """Writes each record at once. What fails is reported once, and noted as soon as that can be written.

    `rule`: the window and the rule of holding, as its first line has them. `hears`: are the lines wanted?
    """

    def __init__(self, file: RecordFile, upstream: str, rule: Mapping[str, Any], replies: Replies, *, hears: bool):
        self._file, self._upstream, self._rule, self._replies = file, redacted_url(upstream), rule, replies
        self._hears = hears
        self._lines = LineEncoder()
        self._redactor = Redactor()
        self._redactor.learn_head((), urlsplit(upstream).path)
        self._trouble = ""
        self._is_reported = self._is_lost = False
        try:
            self._begin()
        except OSError as error:
            self._fail(error)

    def take(self, record: Record | int) -> None:
        """Write it down. Never fails."""
        if isinstance(record, int):
            self._replies.put("settled", record)
            return
        line = self._write(record)
        if self._hears:
            self._replies.put("heard", line)

    def _write(self, record: Record) -> str:
        """The line that was written, or would have been."""
        try:
            self._look_after_file()
        except OSError as error:
            self._fail(error)
        except InspectorError as error:
            self._is_lost = True
            self._replies.put("told", f"Nothing is recorded any more: {error} Requests are still forwarded.")
        if isinstance(record, RequestRecord):
            self._redactor.learn_head(record.head.headers, record.head.path)
        elif isinstance(record, ResponseRecord):
            self._redactor.learn_head(record.headers, is_answer=True)
        elif isinstance(record, PlainRecord) and record.document["type"] == "rule":
            self._rule = {key: value for key, value in record.document.items() if key not in ("type", "time")}
        line = self._redactor.line(self._lines.line(record))
        if self._is_lost:
            return line
        try:
            if self._trouble:
                self._append_note(f"Records are missing before this: {self._trouble}")
                self._trouble = ""
            self._file.append(line.encode())
            self._lines.written()
        except OSError as error:
            self._fail(error)
        return line

    def _look_after_file(self) -> None:
        if self._is_lost or self._file.is_there():
            return
        self._file.begin_again()
        self._begin()
        what = f"{self._file.path} was removed; the recording begins anew there."
        self._replies.put("told", what)
        self._append_note(what)

    def _begin(self) -> None:
        self._lines.forget()
        about = {"upstream": self._upstream, "program": f"context-inspector {__version__}", **self._rule}
        self._append({"type": "proxy", "version": 1, "id": str(uuid4()), "time": iso(time.time())} | about)
        if self._file.removed:
            self._append_note(f"The last line before this was incomplete; its {self._file.removed} bytes were removed.")
            self._file.removed = 0

    def _append_note(self, what: str) -> None:
        self._append(PlainRecord.now("note", what=what).document)

    def _append(self, document: Mapping[str, Any]) -> None:
        self._file.append(self._redactor.line(dict(document)).encode())

    def _fail(self, error: OSError) -> None:
        what = f"The recording cannot be written ({error.strerror or error}); requests are still forwarded."
        if not self._is_reported:
            self._replies.put("told", what)
        self._is_reported = True
        self._trouble = what
