"""The only file that makes threads: runs a job off the GUI thread and brings everything back onto it.

A job is a function of a Task. It may `task.report(value)` and should look at `task.cancelled()` often. Its result,
its reports and what it raises arrive on the GUI thread, in order. What nobody expects is raised there again, so that
it meets the same hook as any other bug.
"""

import gc
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event
from time import monotonic
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from inspector.core.errors import InspectorError

T = TypeVar("T")
TURN_S = 0.0002
"""How long a job may hold the interpreter. Qt lets go of it in every call, so that painting waits as many turns as it
makes calls: with Python's own 5 ms a picture takes a second while a job computes."""

AT_ONCE = 2
"""Jobs that compute at the same time. They share one interpreter: more of them end no sooner, and painting waits for
each in turn."""

LONG = 0.3
"""Seconds of a job that may have made many objects."""


class Task:
    """One job on its way."""

    def __init__(self, deliver: Callable[[Callable[[], None]], None], reported: Callable[[Any], None]) -> None:
        self._deliver = deliver
        self._reported = reported
        self._stop = Event()

    def report(self, value: Any) -> None:
        """From the job: hand `value` to whoever asked for reports. Nothing arrives after a cancel."""
        self._deliver(partial(self._pass_on, value))

    def _pass_on(self, value: Any) -> None:
        if not self._stop.is_set():
            self._reported(value)

    def cancel(self) -> None:
        """Ask the job to stop. Neither its reports nor its result will arrive."""
        self._stop.set()

    def rest(self, seconds: float) -> bool:
        """From the job: wait so long, or until it is asked to stop; has it been?"""
        return self._stop.wait(seconds)

    def cancelled(self) -> bool:
        """Has it been asked to stop?"""
        return self._stop.is_set()


def _unheard(value: object) -> None:
    pass


class Jobs(Protocol):
    """What a part of the window does with the bridge."""

    def run(
        self,
        job: Callable[[Task], T],
        done: Callable[[T], None],
        failed: Callable[[InspectorError], None] | None = None,
        reported: Callable[[Any], None] = _unheard,
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> Task:
        """As `Bridge.run`."""
        ...

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> None:
        """As `Bridge.work`."""
        ...


class Lent:
    """The bridge for one part of the window, which hears of what nobody expected of its jobs."""

    def __init__(self, bridge: "Jobs", fell: Callable[[BaseException], None]) -> None:
        self._bridge, self._fell = bridge, fell

    def run(
        self,
        job: Callable[[Task], T],
        done: Callable[[T], None],
        failed: Callable[[InspectorError], None] | None = None,
        reported: Callable[[Any], None] = _unheard,
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> Task:
        """As `Bridge.run`; a job that says itself who hears of it is not told here."""
        return self._bridge.run(job, done, failed, reported, fell or self._fell, waits)

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> None:
        """As `Bridge.work`."""
        self.run(lambda task: job(), done, fell=fell, waits=waits)


class Bridge(QObject):
    """Between the GUI thread and the others."""

    _arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        sys.setswitchinterval(TURN_S)
        self._threads = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="job")
        self._waiters = ThreadPoolExecutor(max_workers=8, thread_name_prefix="waiting-job")
        self._tasks: set[Task] = set()
        self._closed = False
        self._arrived.connect(self._run_here, Qt.ConnectionType.QueuedConnection)

    def run(
        self,
        job: Callable[[Task], T],
        done: Callable[[T], None],
        failed: Callable[[InspectorError], None] | None = None,
        reported: Callable[[Any], None] = _unheard,
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> Task:
        """Run `job` elsewhere. `failed` is for expected failures; without it they are raised like any other.

        `fell` hears of what is raised, before it is. `waits`: for a model, a file, a server more than it computes; it
        keeps no other job from beginning. After `close` nothing is run any more.
        """
        task = Task(self._deliver, reported)
        if self._closed:
            task.cancel()
            return task
        self._tasks.add(task)
        future = (self._waiters if waits else self._threads).submit(_worked, job, task)
        end = partial(self._end, done=done, failed=failed)
        future.add_done_callback(lambda future: self._deliver(lambda: _heard(fell, partial(end, task, future))))
        return task

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> None:
        """As the Workbench wants it: run `job` elsewhere, then `done` here."""
        self.run(lambda task: job(), done, fell=fell, waits=waits)

    def close(self) -> None:
        """Cancel everything; nothing arrives any more."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for threads in (self._threads, self._waiters):
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def busy(self) -> bool:
        """Is any job still on its way?"""
        return bool(self._tasks)

    def _deliver(self, call: Callable[[], None]) -> None:
        if not self._closed:
            self._arrived.emit(call)

    def _run_here(self, call: Callable[[], None]) -> None:
        if not self._closed:
            call()

    def _end(
        self,
        task: Task,
        future: Future[T],
        done: Callable[[T], None],
        failed: Callable[[InspectorError], None] | None,
    ) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = future.exception()
        if error is None:
            done(future.result())
        elif isinstance(error, InspectorError) and failed is not None:
            failed(error)
        else:
            raise error


def _worked(job: Callable[[Task], T], task: Task) -> T:
    """Do the job. What a long one made is much, and stays: looking through it for garbage would hold up the window."""
    began = monotonic()
    try:
        return job(task)
    finally:
        if monotonic() - began > LONG:
            gc.freeze()


def _heard(fell: Callable[[BaseException], None] | None, call: Callable[[], None]) -> None:
    try:
        call()
    except BaseException as error:
        if fell is not None:
            fell(error)
        raise
