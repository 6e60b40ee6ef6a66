"""Pass all records to a separate process, which writes the recording.

Parsing and packing a body of megabytes takes milliseconds in which no other Python thread runs. With a thread of this
process as the writer, the first byte after a request of 2.1 MB came after 14.8 ms instead of 2.6, and one in ten events
of another stream was 1.4 ms late instead of 0.2. So unprocessed records go through a pipe to the `writer`.

The writer reads the pipe to its end, even if this process is killed. So a record is safe as soon as it is in the pipe,
and the last byte of an answer waits for that (`wait_until_safe`). Whatever a client received completely will therefore
be on disk, and the recording cannot fall behind without a bound. Only if the pipe stays full for `PATIENCE_S` are
answers passed on before their records are safe. This is reported once, and so is a full disk or a removed file.
"""

import asyncio
import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from inspector.core.errors import InspectorError
from inspector.core.jsontext import loads
from inspector.core.untyped import value_in
from inspector.proxy.record.record_file import RecordFile, RecordKind
from inspector.proxy.record.record_pipe import RecordPipe, free
from inspector.proxy.record.records import Budget, CapturedBody, PlainRecord, Record
from inspector.safety.sealing import open_environment

CLOSE_S = 30.0
PATIENCE_S = 10.0
"""Seconds that an answer waits for its record to be safe."""
_PIPE = 1 << 20
LineListener = Callable[[Mapping[str, Any]], None]


def to_stderr(sentence: str) -> None:
    """Report a problem on standard error: the recorder's default."""
    sys.stderr.write(f"context-inspector: {sentence}\n")
    sys.stderr.flush()


def begins_proxy_recording(line: bytes) -> bool:
    """Does a recording of the proxy begin with this line?"""
    first = value_in(line)
    return isinstance(first, dict) and first.get("type") == "proxy"


KIND = RecordKind("proxy", "a recording of the proxy", begins_proxy_recording)


class Recorder:
    """Records into `path`. `put` costs the server's loop next to nothing and never fails.

    Args:
        path: A new file, or a recording that is continued.
        upstream: The provider's address.
        tell: Called with a sentence for every problem.
        heard: Called in a thread with each line, whether or not it could be written.
        rule: The window and the rule for holding, written in the first line (`Rule.document`).

    Raises:
        InspectorError: The file cannot be used.
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
        self._tell = tell
        self._heard = heard
        self._questions: dict[int, threading.Event] = {}
        self._has_ended = self._is_closed = self._is_behind = False
        file = RecordFile(path, KIND)
        self.first_exchange = file.next_exchange
        """Number of the first exchange to record: 0, or the next free number of a recording that is continued."""
        try:
            self._writer = _start(file)
            pipe, self._replies = _pipes(self._writer)
            pickle.dump((file, upstream, dict(rule), heard is not None), pipe)
            pipe.flush()
        finally:
            file.close()
        self._pipe = RecordPipe(pipe, self._release)
        self._listener = threading.Thread(target=self._listen, name="proxy-replies", daemon=True)
        self._listener.start()

    def capture(self, data: bytes = b"") -> CapturedBody:
        captured = CapturedBody(self.budget)
        if data:
            captured.add(data)
        return captured

    def put(self, record: Record) -> None:
        """Queue a record for writing. Never waits, never fails."""
        if not self._pipe.put(record):
            free(record)

    async def wait_until_safe(self) -> None:
        """Wait until everything that was put so far will be written even if this process is killed.

        Returns at once if nothing is pending, and after `PATIENCE_S` in any case: a blocked writer must not stop the
        traffic.
        """
        if self.is_safe():
            return
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._pipe.wait_until_sent()
        except TimeoutError:
            self._is_behind = True
            self._tell(
                f"{self.path} cannot be written fast enough; answers are now forwarded before they are recorded."
            )

    def is_safe(self) -> bool:
        """Are all records safe, or has the recorder given up waiting because the writer is behind?"""
        if self._pipe.is_empty():
            self._is_behind = False
            return True
        return self._is_behind

    def note(self, what: str) -> None:
        self.put(PlainRecord.now("note", what=what))

    def set_rule(self, rule: Mapping[str, Any]) -> None:
        """Record that the window or the rule for holding has changed."""
        self.put(PlainRecord.now("rule", **rule))

    def settle(self, seconds: float = CLOSE_S) -> bool:
        """Wait until everything that was put so far is written. Return False if that takes longer, or will never
        happen.
        """
        if self._is_closed:
            return bool(self._writer.poll() == 0)
        done = threading.Event()
        self._questions[id(done)] = done
        return self._pipe.put(id(done)) and done.wait(seconds) and not self._has_ended

    def close(self) -> None:
        """Write what is pending, and end. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self._pipe.close(CLOSE_S)
        self._listener.join(CLOSE_S)
        try:
            self._writer.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._tell(f"{self.path} is still being written.")

    def _listen(self) -> None:
        with self._replies as replies, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                match pickle.load(replies):
                    case "heard", line if self._heard is not None:
                        self._heard(loads(line.encode()))
                    case "told", sentence:
                        self._tell(sentence)
                    case "settled", number if done := self._questions.pop(number, None):
                        done.set()
        if not self._is_closed:
            self._tell(
                "The recording has ended: its writer was stopped. Requests are still forwarded."
            )
        self._release()

    def _release(self) -> None:
        """Release everybody who waits for the writer, because it has ended."""
        self._has_ended = True
        for done in tuple(self._questions.values()):
            done.set()


def _pipes(writer: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    """Return the writer's standard input, with the largest buffer allowed, and its standard output."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(writer.stdin, fcntl.F_SETPIPE_SZ, _PIPE)
    return writer.stdin, writer.stdout


def _start(file: RecordFile) -> "subprocess.Popen[bytes]":
    """Start the writer with this process's modules, detached from the terminal's signals. It runs until its pipe
    ends.
    """
    code = f"import sys; sys.path[:] = {sys.path!r}; from inspector.proxy.record.writer import main; main()"
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(file.handle,),
            start_new_session=True,
            env=open_environment(os.environ),
        )
    except OSError as error:
        raise InspectorError(
            f"The recorder cannot be started: {error.strerror or error}."
        ) from None
