"""The only file of the window that runs jobs on threads, off the GUI thread, and brings everything back onto it.

A job is a function of a Task. It may `task.report(value)` and should look at `task.cancelled()` often; what it calls
in `core` ends at the next `checkpoint()` after a cancel. Its result, its reports and what it raises arrive on
the GUI thread, in order, one a turn of the event loop. An unexpected failure is raised there again, so that it meets
the same hook as any other bug.

Every job runs in a lane. A long job rests, at its checkpoints, while a job of a more urgent lane is computing.

No job imports a module that makes classes of Qt's: PySide6 looks its classes up without a lock while the event loop
runs, and one that is made meanwhile on another thread can end the program.
"""

import gc
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import partial
from threading import Condition, Event, Lock
from time import monotonic
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer, Signal

from inspector.core.errors import Cancelled, InspectorError
from inspector.core.heavy import with_checkpoints

T = TypeVar("T")

TURN_S = 0.00005
"""How long a job may hold the interpreter. Qt lets go of it in every call, so that painting waits as many turns as it
makes calls: with Python's own 5 ms a picture takes a second while a job computes."""

Lane: TypeAlias = Literal["answer", "state", "compute", "card", "pass", "wait"]
"""`answer`: short, and a person has just asked for it (a search, a filter). `state`: what all panels wait for.
`compute`: what a panel in sight shows.
`card`: the answers of the first screen about a whole session. `pass`: over a whole session, too, shown when it is
there; may take minutes. `wait`: waits for a model, a file or a server more than it computes."""

_WORKERS: Mapping[Lane, int] = MappingProxyType(
    {"answer": 1, "state": 1, "compute": 2, "card": 2, "pass": 1, "wait": 8}
)
"""Jobs of a lane that run at the same time. They share one interpreter: more of them end no sooner, and painting waits
for each in turn."""

_MORE_URGENT: Mapping[Lane, Sequence[Lane]] = MappingProxyType(
    {
        "answer": (),
        "state": ("answer",),
        "compute": ("answer", "state"),
        "card": ("answer", "state", "compute"),
        "pass": ("answer", "state", "compute", "card"),
        "wait": ("answer",),
    }
)
"""The lanes for which a job of a lane rests."""

REST_S = 0.05
"""Seconds between two looks of a resting job at whether it was cancelled."""
GIVE_WAY_MS, GIVE_WAY_S = 5, 1.0
"""Idle milliseconds of the GUI thread that a job asked to give way waits for, and the most seconds that it waits."""
PAUSE_MS = 50
"""Milliseconds before a job that replaces another begins: while a key is held down only the last job is needed."""
LONG = 0.3
"""Seconds of a job that may have made many objects."""


class Task:
    """A job that runs off the GUI thread."""

    def __init__(
        self, threads: "_ThreadPools", reported: Callable[[Any], None], lane: Lane
    ) -> None:
        self._deliver, self._free, self._traffic = threads.deliver, threads.free, threads.traffic
        self._reported = reported
        self.lane = lane
        self.part = ""  # title of the panel that the job is for
        self.began = monotonic()
        self.share: float | None = None
        """How much of the current step of the job is done; None: not known."""
        self.step = 1
        self._stop = Event()

    def report(self, value: Any) -> None:
        """From the job: hand `value` to whoever asked for reports. Nothing arrives after a cancel."""
        self._deliver(partial(self._pass_on, value))

    def _pass_on(self, value: Any) -> None:
        if not self.stopped:
            self._reported(value)

    def cancel(self) -> None:
        """Ask the job to stop. Neither its reports nor its result will arrive."""
        self._stop.set()

    def rest(self, seconds: float) -> bool:
        """From the job: wait so long, or until it is asked to stop; has it been?"""
        return self._stop.wait(seconds)

    @property
    def stopped(self) -> bool:
        """Has it been asked to stop?"""
        return self._stop.is_set()

    def cancelled(self) -> bool:
        """From the job: has it been asked to stop? Waits while the GUI thread is at something (`Bridge.give_way`), and
        while jobs of more urgent lanes are computing."""
        if not self._free.is_set():
            self._give_way()
        if self._traffic.is_held_up(self):
            self._traffic.wait_for_turn(self)
        return self.stopped

    def _give_way(self) -> None:
        end = monotonic() + GIVE_WAY_S
        while not self.stopped and not self._free.wait(REST_S) and monotonic() < end:
            pass

    def check(self, done: int = 0, total: int = 0) -> None:
        """Note how far the job is, and stop it at a checkpoint if it was asked to. Raises Cancelled.

        A job of several loops is in its next step when the share that is done becomes smaller.
        """
        if total:
            share = done / total
            self.step += self.share is not None and share < self.share
            self.share = share
        if self.cancelled():
            raise Cancelled("The work was cancelled.")


class _Traffic:
    """Counts the jobs of each lane, so that less urgent ones rest meanwhile."""

    def __init__(self) -> None:
        self._jobs = Counter[Lane]()
        self._fewer = Condition()

    def enter(self, lane: Lane) -> None:
        """A job of the lane is waiting for its thread, or running, from now on."""
        with self._fewer:
            self._jobs[lane] += 1

    def leave(self, lane: Lane) -> None:
        """A job of the lane has ended."""
        with self._fewer:
            self._jobs[lane] -= 1
            self._fewer.notify_all()

    def wait_for_turn(self, task: Task) -> None:
        """Return as soon as no job of a more urgent lane is left, or the task was asked to stop."""
        with self._fewer:
            while self.is_held_up(task):
                self._fewer.wait(REST_S)

    def is_held_up(self, task: Task) -> bool:
        """Is a job of a more urgent lane left, and the task not asked to stop? Asked thousands of times a second."""
        jobs = self._jobs
        for lane in _MORE_URGENT[task.lane]:
            if jobs[lane]:
                return not task.stopped
        return False


class Frames(QObject):
    """Shows what other threads report, at most once per interval: any thread may call `ask`, and `show` is called on
    the GUI thread, once for all calls of an interval."""

    _asked = Signal()

    def __init__(self, show: Callable[[], None], milliseconds: int) -> None:
        super().__init__()
        self._show, self._on_its_way = show, False
        self._timer = QTimer(self, singleShot=True, interval=milliseconds)
        self._timer.timeout.connect(self._due)
        self._asked.connect(self._timer.start)

    def ask(self) -> None:
        """Request a call of `show` for new values."""
        if not self._on_its_way:
            self._on_its_way = True
            self._asked.emit()

    def _due(self) -> None:
        self._on_its_way = False  # before it is looked at: what comes now asks again
        self._show()

    def close(self) -> None:
        """Nothing is shown any more."""
        self._on_its_way = True
        self._timer.stop()


class Bridge:
    """Between the GUI thread and the others."""

    def __init__(self, parent: QObject | None = None) -> None:
        self._threads = _ThreadPools(parent)
        self._fell: Callable[[BaseException], None] | None = None
        self._part = ""

    def for_part(self, part: str, fell: Callable[[BaseException], None]) -> "Bridge":
        """Return a bridge for a part of the window; `fell` is called with the unexpected errors of its jobs."""
        bridge = copy(self)
        bridge._fell, bridge._part = fell, part
        return bridge

    def run(
        self,
        job: Callable[[Task], T],
        done: Callable[[T], None],
        failed: Callable[[InspectorError], None] | None = None,
        reported: Callable[[Any], None] = lambda value: None,
        fell: Callable[[BaseException], None] | None = None,
        lane: Lane = "compute",
        after_ms: int = 0,
    ) -> Task:
        """Run `job` on another thread, as soon as this one is done with its work: they share one interpreter.

        After `close` nothing is run any more.

        Args:
            failed: hears of expected failures; without it they are raised like any other.
            fell: hears of an unexpected failure before it is raised.
        """
        threads, hears = self._threads, fell or self._fell
        task = Task(threads, reported, lane)
        task.part = self._part
        if threads.closed:
            task.cancel()
            return task

        def end(future: Future[T]) -> None:
            threads.tasks.discard(task)
            if task.stopped:
                return
            try:
                error = future.exception()
                if isinstance(error, InspectorError) and failed is not None:
                    failed(error)
                else:
                    done(future.result())
            except BaseException as fallen:
                if hears is not None:
                    hears(fallen)
                raise

        threads.tasks.add(task)
        begin = partial(threads.begin, job, task, end)
        QTimer.singleShot(after_ms, threads, begin) if after_ms else threads.deliver(begin)
        return task

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
        first: bool = False,
    ) -> Callable[[], None]:
        """As the Workbench wants it: run `job` elsewhere, then `done` here. What is returned cancels it."""
        lane: Lane = "state" if first else "compute"
        if waits:
            lane = "wait"
        return self.run(lambda task: job(), done, fell=fell, lane=lane).cancel

    @property
    def tasks(self) -> list[Task]:
        return list(self._threads.tasks)

    def give_way(self) -> None:
        """Jobs rest, as soon as they look whether to stop, until this thread is done with all that it is at: two that
        compute take thrice as long."""
        if not self._threads.closed:
            self._threads.give_way()

    def in_turns(self, pieces: Iterator[None]) -> None:
        """Go through `pieces` on this thread, one a turn of the event loop: what the user does comes in between."""
        if not self._threads.closed:
            self._threads.give_way()
            for _ in pieces:
                QTimer.singleShot(0, self._threads, partial(self.in_turns, pieces))
                break

    def close(self) -> None:
        """Cancel everything; nothing arrives any more."""
        self._threads.close()

    @property
    def busy(self) -> bool:
        """Is any job still on its way?"""
        return bool(self._threads.tasks)


class LatestJob:
    """Jobs of which only the newest matters: each takes the place of the one that is on its way, after a pause in which
    a newer one can take its own."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        """Is a job waiting or running?"""
        return self._task is not None

    def run(
        self,
        job: Callable[[Task], T],
        done: Callable[[T], None],
        reported: Callable[[Any], None] = lambda value: None,
        lane: Lane = "compute",
    ) -> None:
        """As `Bridge.run`; when `done` is called the job is over."""

        def end(result: T) -> None:
            self._task = None
            done(result)

        after_ms = PAUSE_MS if self._task is not None else 0
        self.cancel()
        self._task = self._bridge.run(job, end, reported=reported, lane=lane, after_ms=after_ms)

    def cancel(self) -> None:
        """Of the one on its way nothing will arrive."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


class _ThreadPools(QObject):
    """The threads, and the way back from them.

    It belongs to the window, or to the application, and ends with it, on the GUI thread. Else the last to let go of it
    would be a job, now and then: an object of Qt's that ends on another thread ends the program, by its timers. Jobs
    may hold it longer than that, so nothing is delivered after `close`.
    """

    _arrived = Signal(object)

    def __init__(self, parent: QObject | None) -> None:
        super().__init__(parent or QCoreApplication.instance())
        sys.setswitchinterval(TURN_S)
        self.lanes = {
            lane: ThreadPoolExecutor(many, f"{lane}-job") for lane, many in _WORKERS.items()
        }
        self.traffic = _Traffic()
        self.tasks: set[Task] = set()
        self.closed = False
        self._closing = Lock()
        self.free = Event()
        self.free.set()
        self._idle = QTimer(self, singleShot=True, interval=GIVE_WAY_MS)
        self._idle.timeout.connect(self.free.set)
        self._arrived.connect(self._keep, Qt.ConnectionType.QueuedConnection)
        self._calls = deque[Callable[[], None]]()
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._run_next)

    def begin(self, job: Callable[[Task], T], task: Task, end: Callable[[Future[T]], None]) -> None:
        """Hand the job to a thread of its lane, unless it was cancelled meanwhile."""
        if task.stopped:
            self.tasks.discard(task)
            return

        def finish(future: Future[T]) -> None:
            self.traffic.leave(task.lane)
            self.deliver(partial(end, future))

        self.traffic.enter(task.lane)
        run = job if task.lane == "wait" else partial(_computed, job)
        self.lanes[task.lane].submit(_started, run, task).add_done_callback(finish)

    def deliver(self, call: Callable[[], None]) -> None:
        with self._closing:
            if not self.closed:
                self._arrived.emit(call)

    def _keep(self, call: Callable[[], None]) -> None:
        self._calls.append(call)
        self._turn.start()

    def _run_next(self) -> None:
        """One a turn of the event loop, as `Bridge.in_turns`."""
        call = self._calls.popleft()
        if self._calls:
            self._turn.start()
        if not self.closed:
            self.give_way()
            call()

    def give_way(self) -> None:
        self.free.clear()
        self._idle.start()

    def close(self) -> None:
        with self._closing:
            self.closed = True
        self.free.set()
        self._idle.stop()
        self._turn.stop()
        self._calls.clear()
        for task in self.tasks:
            task.cancel()
        self.tasks.clear()
        for threads in self.lanes.values():
            threads.shutdown(wait=False, cancel_futures=True)


computing_jobs: set[Task] = set()
"""Jobs that compute now."""


def _started(run: Callable[[Task], T], task: Task) -> T:
    """Run a job, unless it was cancelled while it waited for its thread."""
    if task.stopped:
        raise Cancelled("The work was cancelled.")
    return run(task)


def _computed(job: Callable[[Task], T], task: Task) -> T:
    """Do the job. What a long one made is much, and stays: looking through it for garbage would hold up the window."""
    began = monotonic()
    computing_jobs.add(task)
    try:
        with with_checkpoints(task.check):
            return job(task)
    finally:
        computing_jobs.discard(task)
        if monotonic() - began > LONG:
            gc.freeze()
