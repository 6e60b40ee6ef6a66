"""Has written down what passes, by a process of its own: nothing that goes wrong there holds up what is forwarded.

Parsing and packing a body of megabytes takes milliseconds in which no other Python thread runs: written by a thread of
this process, a first byte after a request of 2.1 MB came after 14.8 ms in place of 2.6 (636 KB: 3.3 in place of 0.7),
and one in ten events of another stream 1.4 ms late in place of 0.2. So records are handed on as they are, through a
pipe, to the `writer`; it ends by itself when the pipe does, with all that it was given written: a proxy that is killed
loses nothing that had passed. What goes wrong (disk full, file removed) is reported once.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.jsontext import loads
from inspector.core.tokens.prediction import Prediction
from inspector.proxy.record.records import (
    Budget,
    CapturedBody,
    Ended,
    HoldReason,
    Pairs,
    PlainRecord,
    Record,
    ReleaseKind,
    RequestHead,
    RequestRecord,
    ResponseRecord,
    SentRecord,
)
from inspector.proxy.record.writer import RecordFile
from inspector.safety.sealing import open_environment

LONGEST_QUEUE = 100_000
"""Records that may wait to be handed on; bodies are bounded by their bytes."""
CLOSE_S = 30.0
_PIPE = 1 << 20
LineListener = Callable[[Mapping[str, Any]], None]


def to_stderr(sentence: str) -> None:
    """How a recorder reports what goes wrong, unless it is given another way."""
    sys.stderr.write(f"context-inspector: {sentence}\n")
    sys.stderr.flush()


class Recorder:
    """`put(record)` from the server's loop, at no cost to it. Raises InspectorError where the file cannot be used.

    `heard` is given each line, in a thread of the recorder's, whether or not it could be written. `rule`: what its
    first line says of the window and of holding (`Rule.document`).
    """

    def __init__(
        self,
        path: Path,
        upstream: str,
        tell: Callable[[str], None] = to_stderr,
        heard: LineListener | None = None,
        rule: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.path = path
        self.budget = Budget()
        self._tell, self._heard = tell, heard
        self._queue: SimpleQueue[Record | threading.Event | None] = SimpleQueue()
        self._settling: dict[int, threading.Event] = {}
        self._lost = 0
        self._is_dead = self._is_closed = False
        file = RecordFile(path)
        self.first_exchange = file.next_exchange
        """Exchanges are numbered from here: a recording that is there already is continued."""
        try:
            self._writer = _start(file)
            pickle.dump((file, upstream, dict(rule), heard is not None), self._writer.stdin)
            self._writer.stdin.flush()
        finally:
            file.close()
        self._threads = [
            threading.Thread(target=work, name="proxy-recorder", daemon=True) for work in (self._hand_on, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def capture(self, data: bytes = b"") -> CapturedBody:
        captured = CapturedBody(self.budget)
        if data:
            captured.add(data)
        return captured

    def put(self, record: Record) -> None:
        """Have it written down. Never waits, never fails."""
        if self._is_dead or self._queue.qsize() > LONGEST_QUEUE:
            self._lost += 1
            _free(record)
        else:
            self._queue.put(record)

    def note(self, what: str) -> None:
        self.put(PlainRecord.now("note", what=what))

    def set_rule(self, rule: Mapping[str, Any]) -> None:
        """The window, or the rule of holding, is another one from here on."""
        self.put(PlainRecord.now("rule", **rule))

    def settle(self, seconds: float = CLOSE_S) -> bool:
        """Wait until all that was put so far is written; False where that takes longer. For tests and endings."""
        if self._is_closed:
            return bool(self._writer.poll() == 0)
        done = threading.Event()
        self._queue.put(done)
        return done.wait(seconds) and not self._is_dead

    def close(self) -> None:
        """Have written what waits, and end. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self._queue.put(None)
        for thread in self._threads:
            thread.join(CLOSE_S)
        try:
            self._writer.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._tell(f"{self.path} is still being written.")

    def _hand_on(self) -> None:
        pipe = self._writer.stdin

        def send(value: Record | int) -> None:
            """The pieces of a body as they lie there, then what they belong to."""
            pieces: list[pickle.PickleBuffer] = []
            data = pickle.dumps(value, protocol=5, buffer_callback=pieces.append)
            _write(pipe.fileno(), [pickle.dumps([len(piece.raw()) for piece in pieces]), *pieces, data])

        try:
            while (record := self._queue.get()) is not None:
                if isinstance(record, threading.Event):
                    self._settling[id(record)] = record
                    send(id(record))
                    continue
                if lost := self._lost:
                    self._lost -= lost
                    send(PlainRecord.now("note", what=f"{lost} records were lost: too many waited."))
                try:
                    send(record)
                finally:
                    _free(record)
        except OSError:
            pass  # the writer has ended; `_listen` reports it
        finally:
            self._is_dead = True
            with contextlib.suppress(OSError):
                pipe.close()
            self._release()

    def _listen(self) -> None:
        with self._writer.stdout as replies, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                match pickle.load(replies):
                    case "heard", line if self._heard is not None:
                        self._heard(loads(line.encode()))
                    case "told", sentence:
                        self._tell(sentence)
                    case "settled", number if done := self._settling.pop(number, None):
                        done.set()
        if not self._is_closed:
            self._tell("The recording has ended: its writer was stopped. Requests are still forwarded.")
        self._is_dead = True
        self._release()

    def _release(self) -> None:
        """Nobody waits for a writer that has ended."""
        for done in tuple(self._settling.values()):
            done.set()
        while not self._queue.empty():
            record = self._queue.get()
            if isinstance(record, threading.Event):
                record.set()
            elif record is not None:
                _free(record)


def _write(handle: int, pieces: Sequence[bytes | pickle.PickleBuffer]) -> None:
    """All of it, without putting it together first: in few turns, as each of them may wait for the other threads."""
    for start in range(0, len(pieces), 512):
        left = [memoryview(piece) for piece in pieces[start : start + 512]]
        while left:
            sent = os.writev(handle, left)
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if left:
                left[0] = left[0][sent:]


def _free(record: Record) -> None:
    """Its body is needed no longer."""
    body = getattr(record, "body", None)
    if body is not None:
        body.free()


def _start(file: RecordFile) -> Any:
    """The writer: with the same modules, without the terminal's signals; it runs until its pipe ends."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from inspector.proxy.record.writer import main; main()"
    pipe = subprocess.PIPE
    try:
        made = subprocess.Popen(
            [sys.executable, "-I", "-c", code], stdin=pipe, stdout=pipe, pass_fds=(file.handle,),
            start_new_session=True, env=open_environment(os.environ),
        )  # fmt: skip
    except OSError as error:
        raise InspectorError(f"The recorder cannot be started: {error.strerror or error}.") from None
    assert made.stdin is not None
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # as wide as this system allows: fewer turns between the two processes
            fcntl.fcntl(made.stdin, fcntl.F_SETPIPE_SZ, _PIPE)
    return made


@dataclass(slots=True, eq=False)
class ExchangeLog:
    """Made when the head of a request is read; `finish` ends it, once, and says so to `answered`."""

    head: RequestHead
    recorder: Recorder
    answered_by: Callable[[RequestHead, ResponseRecord], None]
    has_frames: bool = False
    up: CapturedBody = field(init=False)
    down: CapturedBody = field(init=False)
    status: int = 0
    headers: Pairs = ()
    client_gone: bool = False
    is_held: bool = False
    is_over: bool = False
    _handed: float = field(default_factory=time.monotonic)
    _first: float = 0.0
    _is_recorded: bool = False
    _sent: bytes | None = None

    def __post_init__(self) -> None:
        self.up, self.down = self.recorder.capture(), self.recorder.capture()

    def request_read(self) -> None:
        """The request is whole, or no more of it will come: it is recorded. Again: nothing."""
        self._record_request()
        self._handed = time.monotonic()

    def _record_request(self) -> None:
        if not self._is_recorded:
            self._is_recorded = True
            self.recorder.put(RequestRecord(self.head, self.up))

    def handed_on(self) -> None:
        """It goes to the provider now: times are measured from here."""
        self._handed = time.monotonic()

    def sent(self, body: bytes) -> None:
        """Something else goes than what came. Said again, it is not recorded again."""
        if body != self._sent:
            self._sent = body
            self.recorder.put(SentRecord(time.time(), self.head.exchange, self.recorder.capture(body)))

    def held(self, why: HoldReason, size: Prediction | None = None) -> None:
        self.is_held = True
        self.recorder.put(PlainRecord.now("held", exchange=self.head.exchange, why=why, **_size_fields(size)))

    def released(self, how: ReleaseKind, size: Prediction | None = None) -> None:
        """It waits no longer. `size`: what was promised of what goes on, where that is another request than waited."""
        self.is_held = False
        self.recorder.put(PlainRecord.now("released", exchange=self.head.exchange, how=how, **_size_fields(size)))

    def answered(self, status: int, headers: Pairs) -> None:
        """The head of the answer is here."""
        self.status, self.headers = status, headers
        self.began_to_answer()

    def began_to_answer(self) -> None:
        """The first byte of the answer is here. Again: nothing."""
        self._first = self._first or time.monotonic()

    def finish(self, ended: Ended, error: str = "", own: bool = False) -> None:
        """It is over. Only the first call counts."""
        if self.is_over:
            return
        self.is_over = True
        self._record_request()  # the answer may be there before the request is whole
        if self.is_held:
            self.released("client gone")
        first = 1000 * max(0.0, self._first - self._handed) if self._first else 0.0
        elapsed = 1000 * max(0.0, time.monotonic() - self._handed)
        record = ResponseRecord(
            time.time(), self.head.exchange, self.status, self.headers, first, elapsed, self.down, ended, error, own,
            self.has_frames,
        )  # fmt: skip
        self.answered_by(self.head, record)  # before it is recorded: what is recorded is kept no longer
        self.recorder.put(record)


def _size_fields(size: Prediction | None) -> dict[str, Any]:
    return {} if size is None else {"tokens": size.tokens, "band": size.band}
