"""The window on a large session: the first card, a search while the other cards are worked out, and how long the
window does not answer while 200,000 records open.

The first two are times by the clock, from the user's act to what is shown, with the real event loop between: a job
rests while the window is at work. The last is processor time of the GUI thread, in a window of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from PySide6.QtCore import QEventLoop, QSettings, Qt, QTimer
from PySide6.QtWidgets import QApplication

from inspector.gui.app import build
from inspector.gui.panels.glance.panel import GlancePanel
from inspector.gui.panels.lists.search import SearchPanel
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from tests.bench.made import make_session
from tests.bench.run import Row, keeping_bytecode
from tests.gui.gaps import many_records
from tests.gui.hands import press, write

MEGABYTES, RECORDS = 100, 200_000
PATIENCE_S, LOOK_MS = 120.0, 5


def main() -> list[Row]:
    """Rows of (what, figure, unit)."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory(prefix="bench-large-") as folder:
        return [*_open_and_search(Path(folder)), *_open_many(Path(folder))]


def _open_and_search(folder: Path) -> list[Row]:
    application = QApplication([])
    path = make_session(folder / "large.jsonl", MEGABYTES, 66)
    settings = QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat)
    window = build(application, Settings(settings))
    window.show()
    _wait(lambda: window.docks.ready)
    cards, search = _find_panels(window)
    began = perf_counter()
    window.open_path(str(path))
    _wait(lambda: any(card.answer is not None for card in cards.cards.values()))
    first = perf_counter() - began
    others_wait = any(card.answer is None for card in cards.cards.values())
    began = perf_counter()
    press(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    write(search.field, "part 14")
    press(search.field, Qt.Key.Key_Return)
    _wait(lambda: bool(search.table.rows))
    found = perf_counter() - began
    window.close()
    size = f"{MEGABYTES} MB"
    return [
        (f"{size}: from opening to the first card", first, "s (asked: at most 2)"),
        (
            f"{size}: were other cards being worked out meanwhile",
            others_wait,
            "(asked: at least 1)",
        ),
        (
            f"{size}: a search meanwhile, until its hits are shown",
            found * 1e3,
            "ms (asked: at most 300)",
        ),
    ]


def _find_panels(window: MainWindow) -> tuple[GlancePanel, SearchPanel]:
    cards, search = window.docks.panel("At a glance"), window.docks.panel("Search")
    assert isinstance(cards, GlancePanel)
    assert isinstance(search, SearchPanel)
    return cards, search


def _wait(is_done: Callable[[], bool]) -> None:
    """Run the event loop until something is done: what computes beside it rests while this thread is busy."""
    loop, timer = QEventLoop(), QTimer(interval=LOOK_MS)
    timer.timeout.connect(lambda: loop.quit() if is_done() else None)
    timer.start()
    QTimer.singleShot(round(PATIENCE_S * 1e3), loop, loop.quit)
    loop.exec()
    if not is_done():
        raise TimeoutError(f"not done within {PATIENCE_S:.0f} s")


def _open_many(folder: Path) -> list[Row]:
    path = many_records(folder / "many.jsonl", RECORDS)
    command = [sys.executable, "-m", "tests.gui.stall", str(path), "later", "15"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=keeping_bytecode()
    )
    stalls = json.loads(done.stdout)
    what = f"{RECORDS:,} records open: the longest that the window does not answer"
    return [
        (what, stalls["work"][0], "s of its own processor time (asked: at most 0.25)"),
        (f"{what}, by the clock", stalls["clock"][0], "s"),
    ]
