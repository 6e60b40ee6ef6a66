"""What a run of our own agent leaves in the memory of the window: the demo, unpaced, again and again in one window."""

import gc
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEventLoop, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from inspector.agent.starting import demo_plan
from inspector.gui.app import build
from inspector.gui.garbage import return_free_memory
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from tests.bench.run import Row

RUNS, BEFORE = 14, 4
"""Runs, and how many of them fill what is loaded and cached once."""
PATIENCE_S, LOOK_MS, REST_MS = 300.0, 50, 2_000


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    if not Path("/proc/self/smaps_rollup").exists():
        return []
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication([])
    with tempfile.TemporaryDirectory(prefix="bench-runs-") as folder:
        settings = QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat)
        window = build(application, Settings(settings))
        window.resize(1440, 900)
        window.show()
        _wait(lambda: window.docks.ready)
        used = [_run_demo(window, Path(folder) / str(n)) for n in range(RUNS)]
        window.close()
    print("  MB after each run:", " ".join(f"{one:.2f}" for one in used), file=sys.stderr)
    return [
        (
            f"what a demo run leaves, {RUNS - BEFORE} runs",
            _slope(used[BEFORE:]),
            "MB (asked: at most 0.2)",
        )
    ]


def _run_demo(window: MainWindow, folder: Path) -> float:
    """Run the demo to its end; return the megabytes that the process then uses."""
    window.runs.controller.begin(partial(demo_plan, folder, pace_s=0.0))
    record = folder / "journal.jsonl"

    def is_over() -> bool:
        run = window.workbench.state.run
        is_ours = run is not None and run.plan is not None and run.plan.record == record
        return run is not None and is_ours and bool(run.now.end)

    _wait(is_over)
    _rest()
    gc.unfreeze()
    gc.collect()
    return_free_memory()
    return _used_mb()


def _used_mb() -> float:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1e3
    raise AssertionError("smaps_rollup names no anonymous memory")


def _slope(values: list[float]) -> float:
    """Return by how much the values grow from one to the next, by least squares."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((n - middle) * (value - mean) for n, value in enumerate(values))
    return above / sum((n - middle) ** 2 for n in range(len(values)))


def _wait(is_done: Callable[[], bool]) -> None:
    loop, timer = QEventLoop(), QTimer(interval=LOOK_MS)
    timer.timeout.connect(lambda: loop.quit() if is_done() else None)
    timer.start()
    QTimer.singleShot(round(PATIENCE_S * 1e3), loop, loop.quit)
    loop.exec()
    if not is_done():
        raise TimeoutError(f"not done within {PATIENCE_S:.0f} s")


def _rest() -> None:
    loop = QEventLoop()
    QTimer.singleShot(REST_MS, loop, loop.quit)
    loop.exec()
