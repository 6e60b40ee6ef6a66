"""Limit how often a job over a whole session is repeated while the session grows."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, thread_time
from typing import Any, TypeVar

from PySide6.QtCore import QObject, QTimer

from inspector.core.session import Session
from inspector.gui.bridge import Bridge, Lane, LatestJob, Task
from inspector.workbench.analysis import count_requests

T = TypeVar("T")

SHARE, DEAR_S = 200, 0.05
"""A repeat for a few new requests waits SHARE times the processor time of the last job; if that job took more than
DEAR_S seconds, the wait grows in proportion."""
REST_MS = 500
"""Milliseconds without a new request after which the file counts as idle."""
FEW, MANY = 0.01, 0.1
"""Shares of new requests. Above FEW a job is repeated as soon as the file is idle, above MANY at once."""


@dataclass(frozen=True, slots=True)
class _WantedJob:
    """A requested job, and the subject that it is about."""

    subject: tuple[object, ...]
    session: int
    """`id()` of the session. It is stored in place of the session, which would be kept in memory."""
    requests: int
    start: Callable[[], None]


class PacedJob:
    """Runs jobs of which only the newest matters, as `LatestJob`, and delays repeats for a session that has only grown.

    A job about another subject starts at once. A job about the same session with more requests waits until the running
    job has ended, and then until the file is idle or the job is cheap compared with the time since the last one.
    """

    def __init__(self, bridge: Bridge, owner: QObject) -> None:
        """Create the runner; `owner` is a panel, and pending jobs end with it."""
        self._job = LatestJob(bridge)
        self._last: _WantedJob | None = None
        """The job that was started last."""
        self._seen = 0
        """`id()` of the session for which a job was requested last."""
        self._next: _WantedJob | None = None
        self._cost_s = 0.0
        """Seconds of processor time that the last job took."""
        self._ended = 0.0
        self._timer = QTimer(owner, singleShot=True)
        self._timer.timeout.connect(self._start_next)

    @property
    def busy(self) -> bool:
        """True if a job was started and has not ended; False if jobs are only pending."""
        return self._job.busy

    @property
    def is_late(self) -> bool:
        """True if a job is pending, so that the last result is about a shorter session."""
        return self._next is not None

    def run(
        self,
        session: Session,
        subject: tuple[object, ...],
        job: Callable[[Task], T],
        done: Callable[[T], None],
        reported: Callable[[Any], None] = lambda value: None,
        lane: Lane = "compute",
    ) -> None:
        """Run a job as `LatestJob.run` does, now or after a delay.

        Args:
            session: The session that the job analyses.
            subject: All values besides the session on which the result depends.
            job: The function to run; its argument is the Task.
            done: Called on the GUI thread with the result.
            reported: Called on the GUI thread with each reported value.
            lane: The urgency of the job.
        """

        def start() -> None:
            self._job.run(lambda task: _run_timed(job, task), end, reported, lane)

        def end(result: tuple[T, float]) -> None:
            self._cost_s = result[1]
            self._ended = monotonic()
            done(result[0])
            self._schedule()

        call = _WantedJob(
            (session.path, *subject),
            session=id(session),
            requests=count_requests(session),
            start=start,
        )
        last = self._last
        seen = self._seen
        self._seen = call.session
        if last is None or not session.path or last.subject != call.subject or seen == call.session:
            self._begin(call)
        else:
            self._next = call
            self._schedule()

    def cancel(self) -> None:
        """Cancel the running job and the pending one; no result arrives."""
        self._job.cancel()
        self._timer.stop()
        self._last = self._next = None

    def _begin(self, call: _WantedJob) -> None:
        self._last = call
        self._next = None
        self._timer.stop()
        call.start()

    def _start_next(self) -> None:
        if self._next is not None and not self._job.busy:
            self._begin(self._next)

    def _schedule(self) -> None:
        if self._last is None or self._next is None or self._job.busy:
            return
        grown = self._next.requests - self._last.requests
        left = self._ended + SHARE * self._cost_s * max(1.0, self._cost_s / DEAR_S) - monotonic()
        if left <= 0 or grown > MANY * self._last.requests:
            self._start_next()
            return
        wait_ms = round(left * 1e3) + 1
        self._timer.start(min(wait_ms, REST_MS) if grown > FEW * self._last.requests else wait_ms)


def _run_timed(job: Callable[[Task], T], task: Task) -> tuple[T, float]:
    began = thread_time()
    return job(task), thread_time() - began
