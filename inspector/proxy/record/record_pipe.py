"""The pipe to the writer's process. What is in the pipe is written to disk, even if this process is killed.

A small record is sent at once by the thread that puts it: that takes some 30 microseconds, less than waking another
thread. A larger record, and everything that follows while the pipe is full, is sent by a thread, in order.
"""

import asyncio
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from inspector.proxy.record.records import CapturedBody, PlainRecord, Record

LONGEST_QUEUE = 100_000
"""Maximum number of records that may wait for the pipe. The size of their bodies is bounded by `Budget`."""
LARGEST_AT_ONCE = 1 << 16
"""Maximum number of bytes of a body that the thread that puts its record sends itself."""
_PIECES_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class _Waiter:
    """A task that waits until `count` records have been sent."""

    count: int
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[None]"

    def wake(self) -> None:
        with suppress(RuntimeError):  # the loop was closed
            self.loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class RecordPipe:
    """Sends records, and numbers that the writer answers, to the writer. `put` may be called from any thread.

    Args:
        pipe: The writer's standard input; closed at the end.
        on_end: Called once from a thread, when everything was sent after `close` or when the writer has ended.
    """

    def __init__(self, pipe: IO[bytes], on_end: Callable[[], None]) -> None:
        self._pipe = pipe
        self._on_end = on_end
        self._handle = pipe.fileno()
        self._lock = threading.Lock()
        self._waiting: deque[Record | int] = deque()
        self._rest: list[memoryview] = []
        """The unsent bytes of the first waiting record."""
        self._put_count = self._sent_count = self._lost_count = 0
        self._waiters: deque[_Waiter] = deque()
        self._is_sending = True
        """True while the thread sends; otherwise the caller of `put` sends small records."""
        self._is_closing = False
        self.has_ended = False
        self._work = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="proxy-records", daemon=True)
        self._thread.start()

    def put(self, value: Record | int) -> bool:
        """Send a value after everything that was put before, without waiting. Return False if it is lost."""
        with self._lock:
            if self.has_ended or self._is_closing:
                return False
            if len(self._waiting) >= LONGEST_QUEUE:
                self._lost_count += 1
                return False
            if self._lost_count:
                self._append(
                    PlainRecord.now(
                        "note",
                        what=f"{self._lost_count} records were lost: the recorder's queue was full.",
                    )
                )
                self._lost_count = 0
            self._append(value)
            if not self._is_sending:
                self._send_small()
            if self._waiting:
                self._start_thread()
            return True

    def is_empty(self) -> bool:
        """Is everything in the pipe that was put, or lost because the writer has ended?"""
        return not self._waiting

    async def wait_until_sent(self) -> None:
        """Wait until everything that was put so far is in the pipe, or until the writer has ended."""
        with self._lock:
            if not self._waiting:
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(self._put_count, loop, loop.create_future())
            self._waiters.append(waiter)
        await waiter.future

    def close(self, seconds: float) -> None:
        """Send what is queued, for at most `seconds` seconds, and close the pipe."""
        with self._lock:
            self._is_closing = True
            self._start_thread()
        self._thread.join(seconds)

    def _append(self, value: Record | int) -> None:
        self._waiting.append(value)
        self._put_count += 1

    def _send_small(self) -> None:
        """Send small records from the front, until one is large or the pipe is full."""
        try:
            while self._waiting and _size(self._waiting[0]) <= LARGEST_AT_ONCE:
                if not self._send_first():
                    return
        except OSError:  # the writer has ended; the thread will get the same error and clean up
            return

    def _send_first(self) -> bool:
        """Send as much of the first waiting record as the pipe takes. Return True if all of it is in the pipe.

        Raises:
            OSError: The writer has ended.
        """
        if not self._rest:
            self._rest = _encode_record(self._waiting[0])
        if not _write(self._handle, self._rest):
            return False
        self._sent_count += 1
        free(self._waiting.popleft())
        return True

    def _start_thread(self) -> None:
        if not self._is_sending:
            self._is_sending = True
            self._work.release()

    def _run(self) -> None:
        with suppress(OSError):
            while not self._is_over():
                self._send_first()
        with self._lock:
            self.has_ended = True
            while self._waiting:
                free(self._waiting.popleft())
            self._wake_waiters()
        with suppress(OSError):
            self._pipe.close()
        self._on_end()

    def _is_over(self) -> bool:
        """Wait until there is something to send. Return True if nothing more will be put.

        The pipe is blocking only while the thread sends: a non-blocking pipe would take only a page at a time.
        """
        while True:
            with self._lock:
                self._wake_waiters()
                if self._waiting:
                    return False
                if self._is_closing:
                    return True
                os.set_blocking(self._handle, False)
                self._is_sending = False
            self._work.acquire()
            os.set_blocking(self._handle, True)

    def _wake_waiters(self) -> None:
        while self._waiters and (self.has_ended or self._waiters[0].count <= self._sent_count):
            self._waiters.popleft().wake()


def free(value: Record | int) -> None:
    """Return the memory of a record's body to its budget."""
    body = getattr(value, "body", None)
    if isinstance(body, CapturedBody):
        body.free()


def _size(value: Record | int) -> int:
    body = getattr(value, "body", None)
    return body.size if isinstance(body, CapturedBody) else 0


def _encode_record(value: Record | int) -> list[memoryview]:
    """Return the sizes of the body's large pieces, then the pieces without copying, then the record."""
    pieces: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=pieces.append)
    sizes = pickle.dumps([len(piece.raw()) for piece in pieces])
    return [memoryview(sizes), *(piece.raw() for piece in pieces), memoryview(data)]


def _write(handle: int, views: list[memoryview]) -> bool:
    """Write `views`, and remove from the list what was written. Return False if the pipe is full."""
    while views:
        try:
            count = os.writev(handle, views[:_PIECES_AT_ONCE])
        except BlockingIOError:
            return False
        done = 0
        while done < len(views) and count >= len(views[done]):
            count -= len(views[done])
            done += 1
        del views[:done]
        if count:
            views[0] = views[0][count:]
    return True
