"""How long the window does not answer: a watch on the event loop, and sessions of many records to open in it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time, thread_time

from PySide6.QtCore import QTimer

EVERY_MS = 5


class Gaps:
    """Seconds between two turns of the event loop: by the clock, how long this thread itself was at work then, and how
    long all threads of this program were, which share one interpreter.

    The clock also counts what other programs do on a busy machine; the work is the window's own.
    """

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.work: list[float] = []
        self.shared: list[float] = []
        self._last = perf_counter(), thread_time(), process_time()

    def tick(self) -> None:
        """One turn."""
        now = perf_counter(), thread_time(), process_time()
        for kept, this, last in zip(
            (self.clock, self.work, self.shared), now, self._last, strict=True
        ):
            kept.append(this - last)
        self._last = now


@contextmanager
def watched() -> Iterator[Gaps]:
    """Measure as long as it lasts."""
    gaps = Gaps()
    timer = QTimer()
    timer.timeout.connect(gaps.tick)
    timer.start(EVERY_MS)
    yield gaps
    timer.stop()
    gaps.tick()


def many_records(path: Path, records: int) -> Path:
    """A session of a coding agent without a single compaction: the buffer holds all of it."""
    with path.open("w") as file:
        for n in range(records):
            line: dict[str, object] = {
                "parentUuid": f"u{n - 1}" if n else None,
                "isSidechain": False,
                "cwd": "/home/dev",
                "sessionId": "s",
                "version": "2.1.219",
                "uuid": f"u{n}",
                "timestamp": f"2026-01-{n // 86400 + 1:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z",
            }
            if n % 2:
                usage = {"input_tokens": 3, "cache_read_input_tokens": 900 + n, "output_tokens": 8}
                message: dict[str, object] = {
                    "id": f"m{n}",
                    "model": "claude-opus-4-5",
                    "usage": usage,
                    "role": "assistant",
                }
                call = {
                    "type": "tool_use",
                    "id": f"t{n}",
                    "name": "Read",
                    "input": {"path": f"src/file_{n}.py"},
                }
                message |= {"type": "message", "content": [call]}
                line |= {"type": "assistant", "message": message, "requestId": f"r{n}"}
            else:
                result = {
                    "type": "tool_result",
                    "tool_use_id": f"t{n - 1}",
                    "content": f"line {n} of the file",
                }
                line |= {
                    "type": "user",
                    "message": {"role": "user", "content": [result] if n else "Read it all."},
                }
            file.write(json.dumps(line) + "\n")
    return path
