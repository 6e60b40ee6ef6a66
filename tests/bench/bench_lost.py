"""What the recorded compactions of every real session lost: processor time.

Of one compaction: the work in the process that has read the file, over all of a session's compactions and drops,
divided by their number. Patterns and the library of prices are loaded before, as every command loads them once. The
whole command on the largest session stands against `info` on it.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time

from inspector.core.errors import InspectorError
from inspector.core.findings.lost import lost_by_compactions
from inspector.transcripts.files import open_transcript
from tests.bench.run import Row, keeping_bytecode
from tests.shared import transcripts

WORST = 5


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    files = [path for path in transcripts("**/*") if path.is_file()]
    if not files:
        return []
    each = sorted((one for path in files for one in _of_one(path)), reverse=True)
    path = max(
        (path for path in files if "derived-merged" in path.parts),
        key=lambda one: one.stat().st_size,
    )
    info, lost = (least(partial(seconds, [name, str(path), "--json"])) for name in ("info", "lost"))
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    return [
        (f"lost against info, {size}", lost / info, "x the processor time (asked: at most 3)"),
        *(
            (
                f"one of {count}, {name} (the worst of {len(each)} sessions)",
                figure,
                "s (asked: at most 0.3)",
            )
            for figure, count, name in each[:WORST]
        ),
    ]


def _of_one(path: Path) -> list[tuple[float, int, str]]:
    """(seconds a compaction or drop, how many there are, name) of the first thread; empty where it has none."""
    try:
        session = open_transcript(path)
    except InspectorError:
        return []
    if not session.threads or not (found := lost_by_compactions(session, session.main)):
        return []

    def work() -> float:
        start = process_time()
        lost_by_compactions(session, session.main)
        return (process_time() - start) / len(found)

    return [(least(work), len(found), "/".join(path.parts[-4:]))]


def least(work: Callable[[], float], times: int = 3) -> float:
    """The least of a few runs: the others were disturbed."""
    return min(work() for _ in range(times))


def seconds(words: Sequence[str]) -> float:
    """Processor time of one run of the command."""
    before = os.times()
    root = Path(__file__).resolve().parents[2]
    subprocess.run(
        [sys.executable, "-m", "inspector", *words],
        cwd=root,
        check=True,
        stdout=subprocess.DEVNULL,
        env=keeping_bytecode(),
    )
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
