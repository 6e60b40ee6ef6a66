"""Writes down what passes, in a thread of its own: nothing that goes wrong here holds up what is forwarded.

What goes wrong (disk full, file removed) is told once on stderr, and noted in the recording as soon as that can be
written to again.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

from inspector import __version__
from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps
from inspector.live.proxy.lines import Lines
from inspector.live.proxy.record_file import RecordFile
from inspector.live.proxy.records import FrameSeen, FramesSeen, NoteSeen, Record, RequestSeen, ResponseSeen
from inspector.live.proxy.redact import redacted_url
from inspector.live.proxy.tape import Budget, Tape

LONGEST_QUEUE = 100_000
"""Records that may wait to be written; bodies are bounded by their bytes."""
CLOSE_S = 30.0


def to_stderr(sentence: str) -> None:
    """How a recorder tells what goes wrong, unless it is given another way."""
    sys.stderr.write(f"context-inspector: {sentence}\n")
    sys.stderr.flush()


class Recorder:
    """`put(record)` from the server's loop, at no cost to it. Raises InspectorError where the file cannot be used."""

    def __init__(
        self,
        path: Path,
        upstream: str,
        tell: Callable[[str], None] = to_stderr,
        heard: Callable[[Mapping[str, Any]], None] = lambda line: None,
    ) -> None:
        """`heard` is told each line, in the recorder's thread, whether or not it can be written."""
        self.path = path
        self.budget = Budget()
        self._file = RecordFile(path)
        self.first_exchange = self._file.next_exchange
        """Exchanges are numbered from here: a recording that is there already is continued."""
        self._upstream, self._tell, self._heard = redacted_url(upstream), tell, heard
        self._lines = Lines()
        self._queue: SimpleQueue[Record | None] = SimpleQueue()
        self._trouble = ""
        self._lost = self._given = self._done = 0
        self._is_dead = False
        try:
            self._begin()
        except OSError as error:
            raise InspectorError(f"{path} cannot be written: {error.strerror or error}.") from None
        self._thread = threading.Thread(target=self._work, name="proxy-recorder", daemon=True)
        self._thread.start()

    def tape(self) -> Tape:
        """For one body."""
        return Tape(self.budget)

    def put(self, record: Record) -> None:
        """Have it written down. Never waits, never fails."""
        if self._is_dead or self._queue.qsize() > LONGEST_QUEUE:
            self._lost += 1
            _free(record)
        else:
            self._given += 1
            self._queue.put(record)

    def note(self, what: str) -> None:
        """A sentence for whoever reads the recording."""
        self.put(NoteSeen(time.time(), what))

    def settle(self, seconds: float = CLOSE_S) -> bool:
        """Wait until all that was put so far is written; False where that takes longer. For tests and endings."""
        until, wanted = time.monotonic() + seconds, self._given
        while self._done < wanted and self._thread.is_alive():
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def close(self) -> None:
        """Write what waits, and end. May be called twice."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(CLOSE_S)

    def _work(self) -> None:
        try:
            while (record := self._queue.get()) is not None:
                try:
                    self._write(record)
                finally:
                    _free(record)
                    self._done += 1
        finally:
            self._is_dead = True
            self._file.close()

    def _write(self, record: Record) -> None:
        line: Mapping[str, Any] | None = None
        try:
            self._look_after_file()
            if lost := self._lost:
                self._append_note(f"{lost} records were lost: too many waited.")
                self._lost -= lost
            if self._trouble:
                self._append_note(f"Records are missing before this: {self._trouble}")
                self._trouble = ""
            line = self._lines.line(record)
            self._append(line)
            self._lines.written()
        except OSError as error:
            self._fail(f"The recording cannot be written ({error.strerror or error}); requests are still forwarded.")
        except InspectorError as error:
            self._fail(f"Nothing is recorded any more: {error} Requests are still forwarded.")
            self._is_dead = True
        finally:
            self._heard(line or self._lines.line(record))

    def _look_after_file(self) -> None:
        if not self._file.is_there():
            self._file.begin_again()
            self._begin()
            what = f"{self._file.path} was removed or replaced; the recording begins anew there."
            self._tell(what)
            self._append_note(what)

    def _begin(self) -> None:
        self._lines.forget()
        first = {"type": "proxy", "version": 1, "id": str(uuid4()), "time": _now(), "upstream": self._upstream}
        self._append(first | {"program": f"context-inspector {__version__}"})

    def _append_note(self, what: str) -> None:
        self._append({"type": "note", "time": _now(), "what": what})

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.append(dumps(line).encode())

    def _fail(self, sentence: str) -> None:
        if not self._trouble:
            self._tell(sentence)
        self._trouble = sentence


def _free(record: Record) -> None:
    match record:
        case RequestSeen() | ResponseSeen() | FramesSeen() | FrameSeen():
            record.body.free()
        case _:
            pass


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
