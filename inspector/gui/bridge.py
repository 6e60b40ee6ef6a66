"""Run jobs on worker threads and bring their results to the GUI thread. No other file of the window starts such jobs.

A job is a function that takes a Task. It may call `task.report(value)` and should check `task.cancelled()` often; code
of `core` that it calls ends at the next `checkpoint()` after a cancel. The job's result, reports and exceptions arrive
on the GUI thread, in order, one per turn of the event loop. An unexpected exception is raised there again, so that the
same exception hook handles it as any other bug.

Every job runs in a lane. A long job pauses at its checkpoints while a job of a more urgent lane computes.

A job must not import a module that defines Qt classes: PySide6 looks up its classes without a lock while the event loop
runs, so a class that another thread defines meanwhile can crash the program.
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
"""Seconds for which a thread may hold the interpreter (Python's switch interval).

Qt releases the interpreter in every call, so painting waits one interval per Qt call while a job computes. With
Python's default of 5 ms, painting a picture would take a second.
"""

Lane: TypeAlias = Literal["answer", "state", "compute", "card", "pass", "wait"]
"""The kind of a job, which determines its urgency.

`answer`: short, and a user has just requested it (a search, a filter). `state`: all panels wait for it. `compute`: a
visible panel shows its result. `card`: computes an answer of the first screen from a whole session. `pass`: also goes
over a whole session, may take minutes, and is shown when it ends. `wait`: waits for a model, a file or a server more
than it computes.
"""

_WORKERS: Mapping[Lane, int] = MappingProxyType(
    {"answer": 1, "state": 1, "compute": 2, "card": 2, "pass": 1, "wait": 8}
)
"""Maximum number of jobs that run at the same time, by lane.

The jobs share one interpreter, so more threads would not finish earlier, and painting waits for each of them in turn.
"""

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
"""The lanes whose jobs make a job of the given lane pause."""

REST_S = 0.05
"""Seconds between two checks of a pausing job whether it was cancelled."""
GIVE_WAY_MS, GIVE_WAY_S = 5, 1.0
"""Milliseconds for which the GUI thread must be idle before a job that gave way continues, and the maximum number of
seconds for which the job waits."""
PAUSE_MS = 50
"""Milliseconds by which a job that replaces another is delayed.

While a key is held down, only the last job is needed.
"""
LONG = 0.3
"""Seconds after which a job counts as long: it may have made many objects, which are then excluded from collection."""


class Task:
    """A job that runs on a worker thread: its progress and whether it was cancelled."""

    def __init__(
        self, threads: "_ThreadPools", reported: Callable[[Any], None], lane: Lane
    ) -> None:
        self._deliver = threads.deliver
        self._free = threads.free
        self._traffic = threads.traffic
        self._reported = reported
        self.lane = lane
        self.part = ""  # title of the panel that the job is for
        self.began = monotonic()
        self.share: float | None = None
        """Completed fraction of the current step of the job; None if unknown."""
        self.step = 1
        self._stop = Event()

    def report(self, value: Any) -> None:
        """Pass `value` to the callback for reports on the GUI thread.

        Nothing arrives after a cancel. Called by the job.
        """
        self._deliver(partial(self._pass_on, value))

    def _pass_on(self, value: Any) -> None:
        if not self.stopped:
            self._reported(value)

    def cancel(self) -> None:
        """Ask the job to stop. Neither its reports nor its result will arrive after this call."""
        self._stop.set()

    def rest(self, seconds: float) -> bool:
        """Wait for `seconds`, or until the job is cancelled. Return True if it was cancelled. Called by the job."""
        return self._stop.wait(seconds)

    @property
    def stopped(self) -> bool:
        """True if the job was asked to stop."""
        return self._stop.is_set()

    def cancelled(self) -> bool:
        """Return True if the job was asked to stop. Called by the job.

        Waits while the GUI thread is working (`Bridge.give_way`), and while jobs of more urgent lanes compute.
        """
        if not self._free.is_set():
            self._wait_for_others()
        if self._traffic.is_held_up(self):
            self._traffic.wait_for_turn(self)
        return self.stopped

    def _wait_for_others(self) -> None:
        end = monotonic() + GIVE_WAY_S
        while not self.stopped and not self._free.wait(REST_S) and monotonic() < end:
            pass

    def check(self, done: int = 0, total: int = 0) -> None:
        """Record the progress of the job and stop the job here if it was cancelled.

        If the completed fraction becomes smaller, the job has begun its next loop, and `step` is increased.

        Args:
            done: Units of work that are completed in the current loop.
            total: Units of work in the current loop; 0 if unknown.

        Raises:
            Cancelled: The job was asked to stop.
        """
        if total:
            share = done / total
            self.step += self.share is not None and share < self.share
            self.share = share
        if self.cancelled():
            raise Cancelled("The work was cancelled.")


class _Traffic:
    """Counts the jobs of each lane, so that jobs of less urgent lanes can pause."""

    def __init__(self) -> None:
        self._jobs = Counter[Lane]()
        self._fewer = Condition()

    def enter(self, lane: Lane) -> None:
        """Count a job of `lane` that now waits for its thread or runs."""
        with self._fewer:
            self._jobs[lane] += 1

    def leave(self, lane: Lane) -> None:
        """Stop counting a job of `lane` that has ended."""
        with self._fewer:
            self._jobs[lane] -= 1
            self._fewer.notify_all()

    def wait_for_turn(self, task: Task) -> None:
        """Wait until no job of a more urgent lane is left, or the task is cancelled."""
        with self._fewer:
            while self.is_held_up(task):
                self._fewer.wait(REST_S)

    def is_held_up(self, task: Task) -> bool:
        """Return True if a job of a more urgent lane is left and the task is not cancelled.

        Called thousands of times a second.
        """
        jobs = self._jobs
        for lane in _MORE_URGENT[task.lane]:
            if jobs[lane]:
                return not task.stopped
        return False


class Frames(QObject):
    """Limits how often values from other threads are shown.

    Any thread may call `ask`. `show` is then called on the GUI thread, at most once per interval.
    """

    _asked = Signal()

    def __init__(self, show: Callable[[], None], milliseconds: int) -> None:
        super().__init__()
        self._show = show
        self._on_its_way = False
        self._timer = QTimer(self, singleShot=True, interval=milliseconds)
        self._timer.timeout.connect(self._due)
        self._asked.connect(self._timer.start)

    def ask(self) -> None:
        """Request a call of `show` for new values."""
        if not self._on_its_way:
            self._on_its_way = True
            self._asked.emit()

    def _due(self) -> None:
        self._on_its_way = False  # first, so that a value that arrives now asks again
        self._show()

    def close(self) -> None:
        """Stop calling `show`."""
        self._on_its_way = True
        self._timer.stop()


class Bridge:
    """Starts jobs on worker threads and delivers their results on the GUI thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        self._threads = _ThreadPools(parent)
        self._fell: Callable[[BaseException], None] | None = None
        self._part = ""

    def for_part(self, part: str, fell: Callable[[BaseException], None]) -> "Bridge":
        """Return a bridge for a part of the window; `fell` is called with the unexpected errors of its jobs."""
        bridge = copy(self)
        bridge._fell = fell
        bridge._part = part
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
        """Run `job` on a worker thread as soon as the GUI thread has finished its current work.

        The threads share one interpreter, so they would slow each other down. After `close` no job is started.

        Args:
            job: The function to run; its argument is the Task.
            done: Called on the GUI thread with the result.
            failed: Called with an expected failure. Without it, the failure is raised like any other exception.
            reported: Called on the GUI thread with each reported value.
            fell: Called with an unexpected exception before it is raised.
            lane: The urgency of the job.
            after_ms: Milliseconds to wait before the job starts.
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
        """Run `job` on a worker thread, then `done` on this thread; the signature that the Workbench expects.

        Returns:
            A function that cancels the job.
        """
        lane: Lane = "state" if first else "compute"
        if waits:
            lane = "wait"
        return self.run(lambda task: job(), done, fell=fell, lane=lane).cancel

    @property
    def tasks(self) -> list[Task]:
        return list(self._threads.tasks)

    def give_way(self) -> None:
        """Pause all jobs at their next check until the GUI thread is idle: two busy threads would take three times as
        long."""
        if not self._threads.closed:
            self._threads.give_way()

    def in_turns(self, pieces: Iterator[None]) -> None:
        """Run the steps of `pieces` on this thread, one per turn of the event loop, so that user input is handled in
        between."""
        if not self._threads.closed:
            self._threads.give_way()
            for _ in pieces:
                QTimer.singleShot(0, self._threads, partial(self.in_turns, pieces))
                break

    def close(self) -> None:
        """Cancel all jobs. No result or report is delivered after this call."""
        self._threads.close()

    @property
    def busy(self) -> bool:
        """True if any job is waiting or running."""
        return bool(self._threads.tasks)


class LatestJob:
    """Runs jobs of which only the newest matters: each job cancels the previous one.

    A job that replaces another starts after PAUSE_MS, so that a newer job can still replace it.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        """True if a job is waiting or running."""
        return self._task is not None

    def run(
        self,
        job: Callable[[Task], T],
        done: Callable[[T], None],
        reported: Callable[[Any], None] = lambda value: None,
        lane: Lane = "compute",
    ) -> None:
        """Cancel the previous job and run this one as `Bridge.run` does. `busy` is False when `done` is called."""

        def end(result: T) -> None:
            self._task = None
            done(result)

        after_ms = PAUSE_MS if self._task is not None else 0
        self.cancel()
        self._task = self._bridge.run(job, end, reported=reported, lane=lane, after_ms=after_ms)

    def cancel(self) -> None:
        """Cancel the current job; its result will not arrive."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


class _ThreadPools(QObject):
    """The worker threads, and the queue that delivers their results to the GUI thread.

    The object belongs to the window or the application, and Qt deletes it with its owner on the GUI thread. Without an
    owner, a job could hold the last reference: a Qt object with timers that is destroyed on another thread crashes the
    program. Jobs may hold a reference for longer than the owner exists, so nothing is delivered after `close`.
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
        """Hand the job to a thread of its lane, unless the job was cancelled meanwhile."""
        if task.stopped:
            self.tasks.discard(task)
            return

        def finish(future: Future[T]) -> None:
            self.traffic.leave(task.lane)
            self.deliver(partial(end, future))

        self.traffic.enter(task.lane)
        run = job if task.lane == "wait" else partial(_compute, job)
        self.lanes[task.lane].submit(_start_job, run, task).add_done_callback(finish)

    def deliver(self, call: Callable[[], None]) -> None:
        with self._closing:
            if not self.closed:
                self._arrived.emit(call)

    def _keep(self, call: Callable[[], None]) -> None:
        self._calls.append(call)
        self._turn.start()

    def _run_next(self) -> None:
        """Run the oldest delivered call, one per turn of the event loop as in `Bridge.in_turns`."""
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
"""Jobs that are computing now."""


def _start_job(run: Callable[[Task], T], task: Task) -> T:
    """Run a job, unless it was cancelled while it waited for its thread."""
    if task.stopped:
        raise Cancelled("The work was cancelled.")
    return run(task)


def _compute(job: Callable[[Task], T], task: Task) -> T:
    """Run a job with checkpoints. After a long job, exclude its many lasting objects from garbage collection.

    Collecting them would block the window.
    """
    began = monotonic()
    computing_jobs.add(task)
    try:
        with with_checkpoints(task.check):
            return job(task)
    finally:
        computing_jobs.discard(task)
        if monotonic() - began > LONG:
            gc.freeze()
