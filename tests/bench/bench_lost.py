"""What the recorded compactions of the largest real session lost, against `info` on the same file: processor time."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

from inspector.core.findings.lost import lost_by_compactions
from inspector.transcripts.files import open_transcript
from tests.bench.run import Row
from tests.shared import transcripts


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    files = [path for path in transcripts("derived-merged/**/*") if path.is_file()]
    if not files:
        return []
    path = max(files, key=lambda one: one.stat().st_size)
    session = open_transcript(path)
    start = process_time()
    found = lost_by_compactions(session, session.main)
    each = (process_time() - start) / max(1, len(found))
    info, lost = (least(lambda name=name: seconds([name, str(path), "--json"])) for name in ("info", "lost"))  # type: ignore[misc]
    return [
        (
            f"lost against info, {path.stat().st_size / 1e6:.0f} MB",
            lost / info,
            "x the processor time (asked: at most 3)",
        ),
        (f"one of its {len(found)} compactions and drops", each, "s (asked: at most 0.3)"),
    ]


def least(work: Callable[[], float], times: int = 3) -> float:
    """The least of a few runs: the others were disturbed."""
    return min(work() for _ in range(times))


def seconds(words: Sequence[str]) -> float:
    """Processor time of one run of the command."""
    before = os.times()
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-m", "inspector", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
