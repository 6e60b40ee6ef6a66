"""Speed of the window: start, walking through a long session, scrolling a very long buffer. Made-up input."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from PySide6.QtCore import QPoint, QSettings
from PySide6.QtWidgets import QApplication

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Request, Session, Thread
from inspector.core.usage import Usage
from inspector.gui.app import build
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.timeline.panel import Timeline
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow
from tests.bench.run import keeping_bytecode
from tests.gui.hands import hold, let_go, pull, turn_wheel

ROOT = Path(__file__).resolve().parents[2]
STARTS = 7
REQUESTS, PER_REQUEST = 600, 3
LONG = 15_000
"""Requests of a long session, each with one new message."""
ROWS, FRAMES = 100_000, 300

BARE = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow, QLabel
app = QApplication([])
window = QMainWindow()
window.setCentralWidget(QLabel("bare"))
window.show()
window.grab()
"""
OURS = """
import gc, sys
gc.disable()  # as the program itself does before it loads the window
from PySide6.QtCore import QPoint, QSettings
from PySide6.QtWidgets import QApplication
from inspector.gui.app import build
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.settings import Settings
app = QApplication([])
window = build(app, Settings(QSettings(sys.argv[1], QSettings.Format.IniFormat)))
window.show()
window.grab()
import os
os._exit(0)
"""


def main() -> list[tuple[str, float, str]]:
    """Rows of (what, figure, unit)."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    bare, ours = starts()
    walk = walking()
    long = long_timeline()
    scroll = scrolling()
    return [
        ("start to first painted window, bare PySide6", bare * 1e3, "ms"),
        ("start to first painted window, ours", ours * 1e3, "ms"),
        ("our start against a bare window (asked: at most 2.6)", ours / bare, "x the time"),
        (f"playhead move in {REQUESTS} requests until painted, median", median(walk) * 1e3, "ms"),
        (
            f"playhead move in {REQUESTS} requests until painted, p95 (asked: at most 16)",
            p95(walk) * 1e3,
            "ms",
        ),
        *(
            (f"{what} in {LONG:,} requests, a frame, {name}", figure(times) * 1e3, "ms")
            for what, times in long.items()
            for name, figure in (("median", median), ("p95 (asked: at most 16)", p95))
        ),
        (f"scrolling {ROWS:,} rows, a frame, median", median(scroll) * 1e3, "ms"),
        (f"scrolling {ROWS:,} rows, a frame, p95 (asked: at most 16)", p95(scroll) * 1e3, "ms"),
    ]


def p95(times: list[float]) -> float:
    """The 95th percentile."""
    return quantiles(times, n=20)[-1]


def starts() -> tuple[float, float]:
    """Median seconds of whole processes (start, window, first paint, end): a bare one and ours, in turns."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    bare, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        for n in range(STARTS + 1):
            bare.append(seconds_of(BARE))
            ours.append(seconds_of(OURS, str(Path(folder) / f"{n}.ini")))
    return median(bare[1:]), median(ours[1:])  # the first one warms the disk cache


def seconds_of(program: str, *arguments: str) -> float:
    """Of one process, which may keep what it compiles, as installed programs do."""
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        check=True,
        stderr=subprocess.DEVNULL,
        env=keeping_bytecode(),
    )
    return perf_counter() - start


def walking() -> list[float]:
    """Seconds from the intent until everything is painted, for moves by one request, to and fro."""
    window, spin = opened(session(REQUESTS, PER_REQUEST))
    bench = window.workbench
    bench.move(REQUESTS // 2)
    spin(0.3)
    times = []
    for n in range(2 * FRAMES):
        start = perf_counter()
        (bench.next if n % 100 < 50 else bench.previous)()
        painted()
        times.append(perf_counter() - start)
    window.close()
    return times


def long_timeline() -> dict[str, list[float]]:
    """Seconds of a frame in a long session: moves of the playhead, turns of the wheel, drags of the brush."""
    window, spin = opened(session(LONG, 1))
    timeline = window.docks.panel("Timeline")
    assert isinstance(timeline, Timeline)
    while timeline.plot is None or timeline.plot.areas is None:
        spin(0.1)
    bench, plot = window.workbench, timeline.plot
    bench.move(LONG // 2)
    spin(0.5)
    times: dict[str, list[float]] = {"playhead": [], "zoom": [], "brush": []}
    for n in range(FRAMES):
        times["playhead"].append(
            seconds_until_painted(bench.next if n % 100 < 50 else bench.previous)
        )
    canvas, strip = plot.canvas, plot.overview
    for n in range(FRAMES):
        at = QPoint(
            round(canvas.area.left()) + n * 7 % round(canvas.area.width()),
            round(canvas.area.center().y()),
        )
        times["zoom"].append(
            seconds_until_painted(partial(turn_wheel, canvas, at, 1 if n % 24 < 12 else -1))
        )
    plot.frame.range.show(1_000, 4_000)
    middle = strip.brush.center().toPoint()
    hold(strip, middle)
    for n in range(FRAMES):
        to = middle + QPoint(n * 3 % 400, 0)
        times["brush"].append(seconds_until_painted(partial(pull, strip, to)))
    let_go(strip, middle)
    window.close()
    return times


def seconds_until_painted(act: Callable[[], object]) -> float:
    """Seconds from an act of the user until everything is painted."""
    start = perf_counter()
    act()
    painted()
    return perf_counter() - start


def scrolling() -> list[float]:
    """Seconds of a frame while the buffer list of one request with very many messages is scrolled."""
    window, spin = opened(session(2, ROWS // 2))
    panel = window.docks.panel("Buffer")
    assert isinstance(panel, BufferPanel)
    view = panel.view
    bar = view.verticalScrollBar()
    spin(0.3)
    times = []
    for n in range(FRAMES):
        start = perf_counter()
        bar.setValue(bar.value() + (37 if n % 3 else 5000))
        painted()
        times.append(perf_counter() - start)
    window.close()
    return times


def session(requests: int, per_request: int) -> Session:
    """A made-up session: so many requests, each with so many new messages, usage reported."""
    stretch, made, messages = Stretch(), [], []
    for n in range(requests):
        for m in range(per_request):
            key = f"{n}-{m}"
            if m % 2:
                parts = (
                    ToolResult(
                        f"call-{n}-{m - 1}",
                        f"line of output {m}\n" * (1 + m % 40),
                        is_error=m % 17 == 0,
                    ),
                )
                message = Message(key, "tool", parts)
            else:
                call = ToolCall(f"call-{key}", "Bash", {"command": f"pytest -q tests/{n}.py"})
                message = Message(
                    key, "assistant", (Text(f"I will look at part {n}, step {m}."), call)
                )
            stretch.append(message)
            messages.append(message)
        made.append(
            Request(
                n,
                stretch.view(),
                usage=Usage(cache_read=200 * n, input=9_000),
                model="claude-opus-4-5",
            )
        )
    thread = Thread(
        "main", requests=made, messages=messages, end=stretch.view(), model="claude-opus-4-5"
    )
    return Session("claude-code", (thread,), path="made-up.jsonl")


def opened(made: Session) -> tuple[MainWindow, Callable[[float], None]]:
    """The real window with a session in it, all panels drawn, and what runs the event loop for some seconds."""
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    folder = tempfile.mkdtemp(prefix="bench-window-")
    window = build(
        application, Settings(QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat))
    )
    window.resize(1440, 900)
    window.show()

    def spin(seconds: float) -> None:
        end = perf_counter() + seconds
        while perf_counter() < end or window.bridge.busy:
            application.processEvents()

    window.workbench.open(made)
    spin(2)
    return window, spin


def painted() -> None:
    """Until every widget that asked for it was painted."""
    QApplication.sendPostedEvents()
    QApplication.processEvents()


if __name__ == "__main__":
    for what, figure, unit in main():
        print(f"{figure:10.2f} {unit:10} {what}")
