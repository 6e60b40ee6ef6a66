"""The process that writes a recording: reads records from its pipe until that ends, writes a line each.

It outlives the proxy for as long as it takes to write what it was given: a proxy that is killed loses nothing that had
passed. It answers on its other pipe (see `parcels`), as long as somebody reads that.
"""

import os
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from uuid import uuid4

from inspector import __version__
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads
from inspector.proxy.record.lines import Lines
from inspector.proxy.record.record_codec import HEARD, SETTLED, TOLD, UPSTREAM, received
from inspector.proxy.record.record_file import RecordFile
from inspector.proxy.record.records import FramesSeen, Record, RequestSeen, ResponseSeen, RuleSeen
from inspector.proxy.record.secrets import Secrets
from inspector.safety.sealing import seal

_BUFFER = 1 << 18


def main(words: list[str]) -> None:
    """Started by the recorder: file descriptor, path, upstream, is it torn, are the lines heard, the standing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked = os.environ.pop(UPSTREAM, "")
    seal()
    handle, path, upstream, is_torn, hears, standing = words
    file = RecordFile.handed(Path(path), int(handle), is_torn=is_torn == "1")
    source = open(0, "rb", buffering=_BUFFER, closefd=False)  # noqa: SIM115 - until the process ends
    writer = Writer(file, upstream, loads(standing.encode()), Answers(sys.stdout.buffer, hears=hears == "1"))
    writer.begin(asked)
    while (record := received(source)) is not None:
        writer.take(record)
    file.close()


class Answers:
    """To the proxy; to nobody, once it has gone."""

    def __init__(self, out: BinaryIO, *, hears: bool) -> None:
        self._out, self._hears, self._is_gone = out, hears, False

    def heard(self, line: str) -> None:
        """A line of the recording, where somebody wants to hear it."""
        if self._hears:
            self._put(HEARD + line.encode())

    def told(self, sentence: str) -> None:
        """A sentence for people."""
        self._put(TOLD + sentence.replace("\n", " ").encode())

    def settled(self, number: int) -> None:
        """All that was sent before is written."""
        self._put(SETTLED + str(number).encode())

    def _put(self, data: bytes) -> None:
        try:
            if not self._is_gone:
                self._out.write(data + b"\n")
                self._out.flush()
        except OSError:
            self._is_gone = True


class Writer:
    """Writes each record at once. What fails is told once, and noted as soon as that can be written.

    `standing`: the window and the rule of holding, as its first line tells them.
    """

    def __init__(self, file: RecordFile, upstream: str, standing: Mapping[str, Any], answers: Answers) -> None:
        self._file, self._upstream, self._standing, self._answers = file, upstream, standing, answers
        self._lines = Lines()
        self._secrets = Secrets()
        self._trouble = ""
        self._is_lost = False

    def begin(self, asked: str = "") -> None:
        """The first line of a run of the proxy. `asked`: the upstream with what may be secret of it."""
        self._secrets.learn((), urlsplit(asked).path)
        try:
            self._begin()
        except OSError as error:
            self._fail(error)

    def take(self, record: Record | int) -> None:
        """Write it down. Never fails."""
        if isinstance(record, int):
            self._answers.settled(record)
            return
        line = self._write(record)
        self._answers.heard(line)

    def _write(self, record: Record) -> str:
        """The line that was written, or would have been."""
        try:
            self._look_after_file()
        except OSError as error:
            self._fail(error)
        except InspectorError as error:
            self._lose(error)
        if isinstance(record, RequestSeen):
            self._secrets.learn(record.headers, record.path)
        elif isinstance(record, ResponseSeen | FramesSeen):
            self._secrets.learn(record.headers, is_answer=True)
        elif isinstance(record, RuleSeen):
            self._standing = record.standing
        line = self._secrets.line(self._lines.line(record))
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
        self._answers.told(what)
        self._append_note(what)

    def _begin(self) -> None:
        self._lines.forget()
        first = {"type": "proxy", "version": 1, "id": str(uuid4()), "time": _now(), "upstream": self._upstream}
        self._append(first | {"program": f"context-inspector {__version__}"} | dict(self._standing))

    def _append_note(self, what: str) -> None:
        self._append({"type": "note", "time": _now(), "what": what})

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.append(dumps(line).encode())

    def _fail(self, error: OSError) -> None:
        what = f"The recording cannot be written ({error.strerror or error}); requests are still forwarded."
        if not self._trouble:
            self._answers.told(what)
        self._trouble = what

    def _lose(self, error: InspectorError) -> None:
        self._is_lost = True
        self._answers.told(f"Nothing is recorded any more: {error} Requests are still forwarded.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
