"""Jobs over a whole session, at a pace that a session can afford which grows without a pause."""

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
"""A job is repeated for a few new requests if it took at most this fraction (1/n) of the time since; a job that takes
more than this processor time in seconds waits longer in proportion."""
REST_MS = 500
"""Milliseconds without a new request after which the file rests."""
FEW, MANY = 0.01, 0.1
"""Shares of new requests: of more than a few a job is repeated as soon as the file rests, of many while it grows."""


@dataclass(frozen=True, slots=True)
class _WantedJob:
    """A job that is wanted, and what it is about."""

    subject: tuple[object, ...]
    session: int
    """`id()` of the session, so that the session is not kept alive."""
    requests: int
    start: Callable[[], None]


class PacedJob:
    """Jobs of which only the newest matters, as `LatestJob`; what a session only grew by does not start one at once.

    A job about something else begins at once. One about the same session with more requests waits until the one that
    runs has ended, and then until the file rests, or until it costs little compared with the time that has passed.
    """

    def __init__(self, bridge: Bridge, owner: QObject) -> None:
        """`owner`: a panel; with it the waiting ends."""
        self._job = LatestJob(bridge)
        self._last: _WantedJob | None = None
        """The one that was begun last."""
        self._seen = 0
        """Identity of the session for which a job was wanted last."""
        self._next: _WantedJob | None = None
        self._cost_s = 0.0
        """Seconds of processor time that the last job took."""
        self._ended = 0.0
        self._timer = QTimer(owner, singleShot=True)
        self._timer.timeout.connect(self._start_next)

    @property
    def busy(self) -> bool:
        """Is a job waiting or running?"""
        return self._job.busy

    @property
    def is_late(self) -> bool:
        """Does a job wait, so that what the last one found is of a shorter session?"""
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
        """As `LatestJob.run`. `subject`: all that the result depends on besides the session."""

        def start() -> None:
            self._job.run(lambda task: _timed(job, task), end, reported, lane)

        def end(result: tuple[T, float]) -> None:
            self._cost_s, self._ended = result[1], monotonic()
            done(result[0])
            self._schedule()

        call = _WantedJob((session.path, *subject), id(session), count_requests(session), start)
        last, seen, self._seen = self._last, self._seen, call.session
        if last is None or not session.path or last.subject != call.subject or seen == call.session:
            self._begin(call)
        else:
            self._next = call
            self._schedule()

    def cancel(self) -> None:
        """Of the one on its way nothing will arrive, and none waits."""
        self._job.cancel()
        self._timer.stop()
        self._last = self._next = None

    def _begin(self, call: _WantedJob) -> None:
        self._last, self._next = call, None
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


def _timed(job: Callable[[Task], T], task: Task) -> tuple[T, float]:
    began = thread_time()
    return job(task), thread_time() - began
