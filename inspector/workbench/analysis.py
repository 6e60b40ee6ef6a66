"""Analyses what the State is about to show: one analysis at a time, and while a session grows the newest one waits.

A followed session may grow faster than it can be analysed. Each analysis then ends and is shown, and the next one
begins with the newest session: those between are never analysed. An analysis of which nobody wants the result any more
is cancelled.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from inspector.core.findings.composition import weigh_categories
from inspector.core.session import Session
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, count_same_requests, known_pressures
from inspector.workbench.state import State

if TYPE_CHECKING:
    from inspector.core.drops import Drops

T = TypeVar("T")
Change: TypeAlias = Callable[[State], State]
Cancel: TypeAlias = Callable[[], object]


class Work(Protocol):
    """Runs `job` somewhere, then `done(result)` on the thread that asked.

    What the job raises is raised there, too, after `fell` has heard of it. `waits`: for others more than it computes.
    `first`: everything else rests meanwhile. What is returned cancels the job; None if it cannot be cancelled.
    """

    def __call__(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
        first: bool = False,
    ) -> Cancel | None: ...


def at_once(
    job: Callable[[], T],
    done: Callable[[T], None],
    fell: Callable[[BaseException], None] | None = None,
    waits: bool = False,
    first: bool = False,
) -> None:
    """Work without another thread."""
    try:
        result = job()
    except BaseException as error:
        if fell is not None:
            fell(error)
        raise
    done(result)


@dataclass(frozen=True, slots=True)
class Growth:
    """A session that is to be shown. `more`: it is still being read."""

    session: Session
    more: bool


@dataclass(slots=True, eq=False)
class _Running:
    growth: Growth | None
    """What it shows in the end, if that is another session."""
    cancel: Cancel | None = field(default=None)


class AnalysisQueue:
    """Runs the analyses of a Workbench."""

    def __init__(
        self,
        work: Work,
        state: Callable[[], State],
        land: Callable[[State], None],
        fell: Callable[[str, BaseException], None],
        reopen: Callable[[Growth], None],
    ) -> None:
        """Make an idle queue.

        Args:
            work: Runs the jobs.
            state: What is shown now.
            land: Shows a state whose analysis is complete.
            fell: Reports an analysis that failed, by the path of its session.
            reopen: Begins again with a session that had to wait.
        """
        self._work, self._state, self._land, self._fell, self._reopen = work, state, land, fell, reopen
        self._running: _Running | None = None
        self._waiting: Growth | None = None

    def keep_waiting(self, growth: Growth) -> bool:
        """Keep a session for later if a shorter one of the same file is being analysed; say whether it waits."""
        running = self._running.growth if self._running is not None else None
        newest = self._waiting or running
        if newest is None or newest.session.path != growth.session.path or not growth.session.path:
            return False
        self._waiting = growth
        return True

    def count_behind(self, shown: Session | None) -> int:
        """Count the requests by which the session that waits is longer than `shown`. O(threads)."""
        if self._waiting is None or shown is None or shown.path != self._waiting.session.path:
            return 0
        return max(0, count_requests(self._waiting.session) - count_requests(shown))

    def forget(self) -> None:
        """Cancel the analysis and drop the session that waits."""
        self._stop()
        self._waiting = None

    def run(self, change: Change, landed: Callable[[], None], growth: Growth | None = None) -> None:
        """Analyse what the changed state needs, show it, then call `landed`. Cancels the analysis that is running.

        The change is applied again to the state at that time: the user may have moved in the meantime. A session that
        was being analysed, or waited, is shown after it unless it is of another file than `growth`.
        """
        interrupted = self._stop()
        self._waiting = self._waiting or interrupted
        if growth is not None:
            self._waiting = None
        running = self._running = _Running(growth)
        changed = change(self._state())

        def analysed(found: "tuple[Pressures | None, Drops | None]") -> None:
            if running is not self._running:
                return
            self._running = None
            self._land(replace(change(self._state()), pressures=found[0], drops=found[1]))
            landed()
            self._go_on()

        def failed(error: BaseException) -> None:
            if running is self._running:
                self._running = None
                self._fell(changed.session.path if changed.session else "", error)
                self._go_on()

        running.cancel = self._work(lambda: analyse(changed), analysed, failed, first=True)

    def _go_on(self) -> None:
        if self._waiting is not None and self._running is None:
            waiting, self._waiting = self._waiting, None
            self._reopen(waiting)

    def _stop(self) -> Growth | None:
        """Cancel what is running. Return the session that it would have shown."""
        running, self._running = self._running, None
        if running is None:
            return None
        if running.cancel is not None:
            running.cancel()
        return running.growth


def count_requests(session: Session) -> int:
    """Count the requests of all threads. O(threads)."""
    return sum(len(thread.requests) for thread in session.threads)


def analyse(state: State) -> "tuple[Pressures | None, Drops | None]":
    """The pressures of the chosen thread by the chosen estimator, and its drops; None while nothing is open.

    O(messages) the first time, O(requests) for another estimator; of a thread that grew, what is new in it. Raises
    UnknownEstimator.
    """
    from inspector.core.drops import thread_drops  # not before something is open

    thread, former = state.thread, state.pressures
    if thread is None:
        return None, None
    measure = estimator(state.estimator)
    weighed = count_same_requests(former, thread) if former is not None and former.estimator == measure.name else 0
    weigh_categories(thread, measure, weighed)
    return known_pressures(thread, measure), thread_drops(thread, state.session, state.drops)
