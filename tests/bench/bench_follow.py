"""Following: from the write to the telling, and what an appended line costs in a small and in a large file."""

import tempfile
import threading
import time
from pathlib import Path
from statistics import median, quantiles

from inspector.core.session import Session
from inspector.transcripts.follow import Follower, follow
from tests.bench.made import make_session
from tests.bench.run import Row
from tests.transcripts.made import record

_WRITES, _LINES = 60, 300


def main() -> list[Row]:
    """Everything about following."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = (make_session(Path(folder) / f"{size}.jsonl", size) for size in (10, 300))
        late = _late(small)
        costs = {path: _cost(path) for path in (small, large)}
    return [
        ("10 MB: write to telling, median", 1e3 * median(late), "ms"),
        (
            "10 MB: write to telling, 95 of 100",
            1e3 * quantiles(late, n=20)[-1],
            "ms (asked: < 500)",
        ),
        ("10 MB: an appended line", 1e6 * costs[small], "us"),
        ("300 MB: an appended line", 1e6 * costs[large], "us"),
        ("300 MB / 10 MB: an appended line", costs[large] / costs[small], "x (asked: at most 1.5)"),
    ]


def _late(path: Path) -> list[float]:
    """Seconds from each write to the callback that tells it."""
    stop, told, seen = threading.Event(), threading.Event(), [0.0]

    def tell(session: Session) -> None:
        seen[0] = time.perf_counter()
        told.set()

    thread = threading.Thread(target=follow, args=(path, tell, stop.wait))
    thread.start()
    told.wait(60)
    late = []
    for n in range(_WRITES):
        time.sleep(0.013 * (n % 11))  # at any moment between two looks
        told.clear()
        begun = time.perf_counter()
        _append(path, n)
        told.wait(10)
        late.append(seen[0] - begun)
    stop.set()
    thread.join()
    return late


def _cost(path: Path) -> float:
    """Seconds for a look at one new line, the median."""
    follower = Follower(path, lambda session: None)
    follower.look()
    taken = []
    for n in range(_LINES):
        _append(path, 1000 + n)
        begun = time.perf_counter()
        follower.look()
        taken.append(time.perf_counter() - begun)
    return median(taken)


def _append(path: Path, n: int) -> None:
    with path.open("ab") as file:
        file.write(record(n, 400))
