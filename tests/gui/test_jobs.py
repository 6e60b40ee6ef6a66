"""Jobs beside the window: of many that a held key asks for, the first and the last are done."""

import gc
import platform
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread, current_thread
from time import monotonic, sleep, thread_time

import pytest
import shiboken6
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.core.heavy import checkpoint
from inspector.gui import garbage
from inspector.gui.bridge import Bridge, Lane, LatestJob, Task
from inspector.gui.desk import Desk
from inspector.gui.garbage import collect
from inspector.gui.panels.timeline.frame import TimelineFrame
from inspector.gui.panels.timeline.mark_rows import MarkRows
from inspector.resources import resource
from inspector.workbench.pressure.timeline import Mark

ROOT = Path(__file__).resolve().parents[2]


def test_of_the_jobs_of_a_held_key_the_first_and_the_last_are_done(
    desk: Desk, qtbot: QtBot
) -> None:
    latest, begun, shown = LatestJob(desk.bridge), list[int](), list[int]()

    def ask(number: int) -> None:
        def job(task: Task) -> int:
            begun.append(number)
            while number == 0 and not task.rest(0.001):
                pass  # until another one takes its place
            return number

        latest.run(job, shown.append)

    ask(0)
    qtbot.waitUntil(lambda: begun == [0])
    for number in range(1, 31):
        ask(number)
        QApplication.processEvents()
    qtbot.waitUntil(lambda: shown == [30])
    assert (begun[0], begun[-1]) == (0, 30)
    assert len(begun) < 10  # two, unless the machine stood still for a pause
    assert not latest.busy
    ask(31)
    qtbot.waitUntil(lambda: shown == [30, 31])


def test_a_job_gives_way_while_the_window_is_at_work(desk: Desk, qtbot: QtBot) -> None:
    looks, bridge = list[float](), desk.bridge

    def job(task: Task) -> None:
        while not task.cancelled():
            looks.append(monotonic())
            sleep(0.001)

    task = bridge.run(job, lambda _: None)
    qtbot.waitUntil(lambda: len(looks) > 5)
    bridge.give_way()
    sleep(0.01)
    before = len(looks)
    sleep(0.3)  # the window is at work
    assert len(looks) == before
    qtbot.waitUntil(lambda: len(looks) > before + 5)
    bridge.give_way()
    task.cancel()
    qtbot.waitUntil(lambda: not bridge.busy)


def test_answer_when_all_other_lanes_are_busy_comes_at_once(desk: Desk, qtbot: QtBot) -> None:
    answers, running = list[str](), list[Lane]()

    def work(task: Task) -> None:
        running.append(task.lane)
        while not task.rest(0.01):
            pass

    busy: list[Lane] = ["pass", "compute", "compute"]
    tasks = [desk.bridge.run(work, lambda _: None, lane=lane) for lane in busy]
    qtbot.waitUntil(lambda: sorted(running) == sorted(busy))
    desk.bridge.run(lambda task: "found", answers.append, lane="answer")
    qtbot.waitUntil(lambda: answers == ["found"], timeout=5_000)
    for task in tasks:
        task.cancel()


def test_pass_when_something_is_computed_rests_until_it_has_ended(desk: Desk, qtbot: QtBot) -> None:
    steps, goes_on = list[int](), Event()

    def walk(task: Task) -> None:
        while True:
            checkpoint()
            steps.append(1)
            sleep(0.001)

    long_pass = desk.bridge.run(walk, lambda _: None, lane="pass")
    qtbot.waitUntil(lambda: len(steps) > 5)
    desk.bridge.run(lambda task: goes_on.wait(10), lambda _: None)
    qtbot.wait(100)
    before = len(steps)
    sleep(0.2)
    assert len(steps) == before
    goes_on.set()
    qtbot.waitUntil(lambda: len(steps) > before + 5)
    long_pass.cancel()
    qtbot.waitUntil(lambda: not desk.bridge.busy)


class Cycle:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_cycle_when_it_was_set_aside_is_freed_while_nothing_is_computed(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = weakref.ref(Cycle())
    gc.freeze()
    assert cycle() is not None
    monkeypatch.setattr(garbage, "MOST_THAWED", 10_000_000)
    monkeypatch.setattr(garbage, "THAW_S", 0.0)
    monkeypatch.setattr(garbage, "THAW_SHARE", 0)
    qtbot.waitUntil(lambda: cycle() is None)


MEMORY_PROGRAM = """
import gc, os, time
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from inspector.gui.garbage import Garbage

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

application = QCoreApplication([])
garbage = Garbage()
pieces = [bytes(1_000) for _ in range(60_000)]
between = pieces[::50]  # what is free lies between what is used
del pieces
gc.freeze()
full = resident_mb()
garbage._collect_frozen()
end = time.monotonic() + 20
while resident_mb() > full - 30 and time.monotonic() < end:
    time.sleep(0.01)
print(len(between), resident_mb() < full - 30)
"""
"""In a process of its own: the heap of one that has run other tests is in pieces."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps free memory")
def test_free_memory_when_garbage_was_collected_goes_back_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1200", "True"]


def test_garbage_when_counting_what_was_set_aside_is_slow_counts_it_seldom(
    application: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = list[float]()

    def count_slowly() -> int:
        counted.append(monotonic())
        sleep(0.05)
        return 100_000_000

    monkeypatch.setattr(garbage, "THAW_S", 0.0)
    monkeypatch.setattr(gc, "get_freeze_count", count_slowly)
    collector = garbage.Garbage()
    for _ in range(10):
        collector._freeze_or_collect()
    assert len(counted) == 1, "else the window does little else, and every job waits for it"


def test_computation_when_the_window_is_busy_and_its_job_is_cancelled_ends_within_50_ms(
    desk: Desk, qtbot: QtBot
) -> None:
    steps, ended = list[int](), list[float]()

    def walk(task: Task) -> None:
        try:
            while True:
                steps.append(1)
                checkpoint()
        finally:
            ended.append(monotonic())

    task = desk.bridge.run(walk, lambda _: None)
    qtbot.waitUntil(lambda: len(steps) > 5)
    desk.bridge.give_way()
    before = len(steps)
    sleep(0.02)
    assert len(steps) <= before + 1, "it rests"
    began = monotonic()
    task.cancel()
    while not ended and monotonic() < began + 5:
        sleep(0.001)
    assert ended
    assert ended[0] - began < 0.5, "at most 50 ms on a machine that has time"
    qtbot.waitUntil(lambda: not desk.bridge.busy)


def test_computation_when_its_job_is_cancelled_ends_at_the_next_checkpoint(
    desk: Desk, qtbot: QtBot
) -> None:
    steps, ended = list[int](), Event()

    def walk(task: Task) -> None:
        try:
            while True:
                checkpoint()
                steps.append(1)
                sleep(0.001)
        finally:
            ended.set()

    task = desk.bridge.run(walk, lambda _: None)
    qtbot.waitUntil(lambda: len(steps) > 5)
    assert not ended.is_set()
    task.cancel()
    qtbot.waitUntil(ended.is_set)
    qtbot.waitUntil(lambda: not desk.bridge.busy)


def test_what_takes_long_is_shown_in_turns(desk: Desk, qtbot: QtBot) -> None:
    """What arrives while another is shown, and what comes in pieces: what the user does comes in between."""
    seen = list[str]()
    timer = QTimer()
    timer.timeout.connect(lambda: seen.append("turn"))
    timer.start(1)

    def show(what: str) -> None:
        seen.append(what)
        sleep(0.02)

    def job(task: Task) -> None:
        for _ in range(4):
            task.report("report")

    def pieces() -> Iterator[None]:
        for _ in range(4):
            show("piece")
            yield

    desk.bridge.run(job, lambda _: None, reported=show)
    qtbot.waitUntil(lambda: seen.count("report") == 4)
    desk.bridge.in_turns(pieces())
    qtbot.waitUntil(lambda: seen.count("piece") == 4)
    for what in ("report", "piece"):
        first = seen.index(what)
        last = len(seen) - seen[::-1].index(what)
        assert "turn" in seen[first:last]


def test_what_holds_the_threads_ends_on_none_of_them(qtbot: QtBot) -> None:
    """A job may be the last to hold it, after the window has closed; its timers are the event loop's of this thread."""
    bridge, ended = Bridge(), list[Thread]()
    last, parts = [bridge._threads], vars(bridge)
    bridge.run(lambda task: None, lambda _: None)
    qtbot.waitUntil(lambda: not bridge.busy)
    bridge.give_way()
    bridge.close()
    assert not any(timer.isActive() for timer in last[0].findChildren(QTimer))
    known = weakref.ref(last[0], lambda _: ended.append(current_thread()))
    parts.clear()
    job = Thread(target=last.clear)
    job.start()
    job.join()
    assert not ended, known


def test_a_job_may_outlive_the_window(qtbot: QtBot) -> None:
    """It ends when it likes, and is the last to hold what brought its results; nothing of it arrives."""
    parent, goes_on, arrived = QObject(), Event(), list[object]()
    bridge = Bridge(parent)

    def job(task: Task) -> None:
        while not goes_on.wait(0.01):
            task.report(1)
        task.report(2)

    bridge.run(job, arrived.append, reported=arrived.append)
    qtbot.waitUntil(lambda: bool(arrived))
    known, threads = weakref.ref(bridge._threads), bridge._threads.lanes["compute"]
    bridge.close()
    shiboken6.delete(parent)
    arrived.clear()
    assert bridge.run(lambda task: None, arrived.append).stopped
    bridge.give_way()
    del bridge
    goes_on.set()
    threads.shutdown(wait=True)
    QApplication.processEvents()
    assert not arrived
    qtbot.waitUntil(lambda: known() is None)


class _Cycle:
    def __init__(self) -> None:
        self.me = self


def test_garbage_is_found_and_a_look_for_it_is_short_however_much_a_job_made(desk: Desk) -> None:
    collect()
    gone = weakref.ref(_Cycle())
    few = [[n] for n in range(2_000)]
    collect()
    assert gone() is None
    many = [[n] for n in range(1_000_000)]
    began = thread_time()
    collect()
    assert thread_time() - began < 0.01
    assert len(few) + len(many) == 1_002_000


def test_marks_that_are_the_same_are_not_painted_again(desk: Desk, qtbot: QtBot) -> None:
    owner = QObject()
    frame = TimelineFrame(desk.theme, owner)
    frame.range.set_count(400, keeps_view=False)
    row = MarkRows(frame)
    qtbot.addWidget(row)
    row.resize(400, 20)
    row.show()
    marks = [Mark(at, f"mark {at}", kind="cache miss") for at in (300, 10)]
    row.show_marks(marks)
    qtbot.waitUntil(lambda: len(row.folds) == 2)
    before = row.folds
    row.show_marks(tuple(marks))
    qtbot.wait(50)
    assert row.folds is before
    row.show_marks(marks[:1])
    qtbot.waitUntil(lambda: len(row.folds) == 1)


def test_no_class_of_qt_is_made_on_another_thread(tmp_path: Path) -> None:
    """PySide6 looks its classes up without a lock: one that is made beside the event loop can end the program."""
    program = [
        sys.executable,
        "-m",
        "tests.gui.imports_apart",
        str(tmp_path / "a.ini"),
        str(resource("sample.jsonl")),
    ]
    told = subprocess.run(
        program, check=True, capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert told.stdout.split() == ["none"]
