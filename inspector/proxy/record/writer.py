"""The process that writes a recording: it reads records from its pipe until the pipe ends, and writes a line for each.

It outlives a proxy that is killed, until everything in the pipe is written. It replies on its other pipe while
somebody reads that.
"""

import pickle
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any, BinaryIO, Literal, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from inspector import __version__
from inspector.core.errors import InspectorError
from inspector.proxy.record.lines import LineEncoder
from inspector.proxy.record.record_file import RecordFile
from inspector.proxy.record.records import PlainRecord, Record, RequestRecord, ResponseRecord, iso
from inspector.proxy.record.redact import redacted_url
from inspector.proxy.record.redactor import Redactor
from inspector.safety.sealing import seal

_BUFFER = 1 << 18
Reply: TypeAlias = Literal["heard", "told", "settled"]


def main() -> None:
    """Run the writer, which the recorder starts. The first value on its pipe says what to write and where."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seal()
    source = open(0, "rb", buffering=_BUFFER, closefd=False)  # noqa: SIM115 - until the process ends
    file, upstream, rule, hears = pickle.load(source)
    writer = Writer(file, upstream, rule, Replies(sys.stdout.buffer), hears=hears)
    while (record := received(source)) is not None:
        writer.take(record)
    file.close()


def received(file: BinaryIO) -> Record | int | None:
    """Read the next record, or number of a question; None at the end, also if it is in the middle of a value."""
    try:
        pieces = [file.read(size) for size in pickle.load(file)]
        record: Record | int = pickle.load(file, buffers=pieces)
    except (EOFError, pickle.UnpicklingError):
        return None
    return record


class Replies:
    """Sends (kind, value) pairs to the proxy; sends nothing once the proxy has ended."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._is_gone = False

    def put(self, kind: Reply, what: str | int) -> None:
        """Send a line of the recording, a sentence for people, or the number of an answered question."""
        try:
            if not self._is_gone:
                pickle.dump((kind, what), self._out)
                self._out.flush()
        except OSError:
            self._is_gone = True


class Writer:
    """Writes each record at once. A failure is reported once, and noted in the recording as soon as that works again.

    Args:
        file: The recording.
        upstream: The provider's address.
        rule: The window and the rule for holding, for the first line.
        replies: The pipe back to the proxy.
        hears: Send the lines back, too.
    """

    def __init__(
        self,
        file: RecordFile,
        upstream: str,
        rule: Mapping[str, Any],
        replies: Replies,
        *,
        hears: bool,
    ):
        self._file = file
        self._upstream = redacted_url(upstream)
        self._rule = rule
        self._replies = replies
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
        """Write a record, or answer a question. Never fails."""
        if isinstance(record, int):
            self._replies.put("settled", record)
            return
        line = self._write(record)
        if self._hears:
            self._replies.put("heard", line)

    def _write(self, record: Record) -> str:
        """Return the line for a record, whether or not it could be written."""
        try:
            self._look_after_file()
        except OSError as error:
            self._fail(error)
        except InspectorError as error:
            self._is_lost = True
            self._replies.put(
                "told", f"Nothing is recorded any more: {error} Requests are still forwarded."
            )
        if isinstance(record, RequestRecord):
            self._redactor.learn_head(record.head.headers, record.head.path)
        elif isinstance(record, ResponseRecord):
            self._redactor.learn_head(record.headers, is_answer=True)
        elif isinstance(record, PlainRecord) and record.document["type"] == "rule":
            self._rule = {
                key: value for key, value in record.document.items() if key not in ("type", "time")
            }
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
        what = f"{self._file.path} was removed; a new recording starts there."
        self._replies.put("told", what)
        self._append_note(what)

    def _begin(self) -> None:
        self._lines.forget()
        about = {
            "upstream": self._upstream,
            "program": f"context-inspector {__version__}",
            **self._rule,
        }
        self._append(
            {"type": "proxy", "version": 1, "id": str(uuid4()), "time": iso(time.time())} | about
        )
        if self._file.removed:
            self._append_note(
                f"The last line before this was incomplete; its {self._file.removed} bytes were removed."
            )
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
