"""Analyse what the State is about to show: one analysis at a time; while a session grows, only the newest one waits.

A followed session may grow faster than it can be analysed. The running analysis then ends and is shown, and the next
one begins with the newest version of the session; versions in between are never analysed. An analysis whose result is
no longer needed is cancelled.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from inspector.core.findings.composition import weigh_categories
from inspector.core.session import Session
from inspector.core.tokens.exact import is_loaded
from inspector.core.tokens.pressure import Pressures, count_same_requests, known_pressures
from inspector.core.tokens.weigher import Weigher, weigher_of
from inspector.core.tokens.windows import Window
from inspector.workbench.pressure.gauge import beliefs, is_mostly_believed
from inspector.workbench.preview_worker import previews
from inspector.workbench.previews import Previews
from inspector.workbench.state import PolicyBelief, State, attempt

if TYPE_CHECKING:
    from inspector.core.drops import Drops

T = TypeVar("T")
Change: TypeAlias = Callable[[State], State]
Cancel: TypeAlias = Callable[[], object]
FindWindow: TypeAlias = Callable[[State, int | None], Window]


class Work(Protocol):
    """Run `job` somewhere, then call `done(result)` on the thread that asked.

    Args:
        fell: Called first with the exception of a job that failed; the exception is then raised on the asking thread.
        waits: The job mostly waits for files, models or servers.
        first: All other jobs pause while this one runs.

    Returns:
        A function that cancels the job; None if it cannot be cancelled.
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
    """Run the job on the calling thread: a `Work` without other threads."""
    try:
        result = job()
    except BaseException as error:
        if fell is not None:
            fell(error)
        raise
    done(result)


@dataclass(frozen=True, slots=True)
class Growth:
    """A session that is about to be shown. `more` is True while its file is still being read."""

    session: Session
    more: bool


@dataclass(slots=True, eq=False)
class _Running:
    growth: Growth | None
    """The session that the analysis will show; None if the session does not change."""
    cancel: Cancel | None = field(default=None)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The results computed for the state `of`."""

    of: State
    pressures: Pressures | None = None
    drops: "Drops | None" = None
    window: Window | None = None
    """The model's window at the state's current request; computed here only if the session grew."""
    believed: PolicyBelief | None = None
    """The policy's own counts; computed here only if most of them were known when the session was shorter."""
    verdicts: Previews | None = None
    """Which tiers are due; computed here only if that was known when the session was shorter."""


class AnalysedBench(Protocol):
    """The part of the Workbench that the queue needs."""

    @property
    def state(self) -> State: ...

    def place(self, state: State) -> State:
        """Move the playhead to its proper request in a session that grew."""
        ...

    def find_window(self, state: State, at: int | None) -> Window: ...

    def land(self, state: State, analysis: Analysis) -> None:
        """Show a state whose analysis is complete."""
        ...

    def fell(self, path: str, failure: BaseException) -> None:
        """Report an analysis that failed."""
        ...

    def reopen(self, growth: Growth) -> None:
        """Open a session that had to wait."""
        ...


class AnalysisQueue:
    """Runs the analyses of a Workbench, one at a time."""

    def __init__(self, bench: AnalysedBench, work: Work) -> None:
        self._bench = bench
        self._work = work
        self._running: _Running | None = None
        self._waiting: Growth | None = None

    def keep_waiting(self, growth: Growth) -> bool:
        """Keep a session for later if a shorter version of it is being analysed. Return True if it has to wait."""
        running = self._running.growth if self._running is not None else None
        newest = self._waiting or running
        if newest is None or newest.session.path != growth.session.path or not growth.session.path:
            return False
        self._waiting = growth
        return True

    def count_behind(self, shown_session: Session | None) -> int:
        """Count the requests by which the session that waits is longer than `shown_session`. O(threads)."""
        if (
            self._waiting is None
            or shown_session is None
            or shown_session.path != self._waiting.session.path
        ):
            return 0
        return max(0, count_requests(self._waiting.session) - count_requests(shown_session))

    def forget(self) -> None:
        """Cancel the analysis and drop the session that waits."""
        self._stop()
        self._waiting = None

    def run(self, change: Change, landed: Callable[[], None], growth: Growth | None = None) -> None:
        """Analyse what the changed state needs, show the result, then call `landed`. Cancel the analysis that is
        running.

        `change` is applied again when the result arrives, because the user may have moved in the meantime. A session
        that was
        being analysed or was waiting is shown afterwards, unless `growth` is given.
        """
        interrupted = self._stop()
        self._waiting = self._waiting or interrupted
        if growth is not None:
            self._waiting = None
        running = self._running = _Running(growth)
        changed = self._bench.place(change(self._bench.state))

        def analysed(analysis: Analysis) -> None:
            if running is not self._running:
                return
            self._running = None
            state = change(self._bench.state)
            state = replace(state, pressures=analysis.pressures, drops=analysis.drops)
            self._bench.land(state, analysis)
            landed()
            self._go_on()
            self._weigh_rough_sizes_exactly(analysis)

        def failed(error: BaseException) -> None:
            if running is self._running:
                self._running = None
                self._bench.fell(changed.session.path if changed.session else "", error)
                self._go_on()

        quickly = not self._is_of_shown_file(changed) and not is_loaded()
        find_window = self._bench.find_window
        running.cancel = self._work(
            lambda: analyse(changed, find_window, quickly=quickly), analysed, failed, first=True
        )

    def _is_of_shown_file(self, changed: State) -> bool:
        shown = self._bench.state.session
        if shown is None or changed.session is None:
            return False
        return shown.path == changed.session.path

    def _weigh_rough_sizes_exactly(self, analysis: Analysis) -> None:
        is_rough_only = analysis.pressures is not None and is_rough(analysis.pressures)
        if is_rough_only and self._running is None:
            self._weigh_exactly()

    def _weigh_exactly(self) -> None:
        """Repeat an analysis that did not wait for the tokenizer, unless the file is still being read."""
        if not self._bench.state.is_being_read:
            self.run(lambda state: state, lambda: None)

    def _go_on(self) -> None:
        if self._waiting is not None and self._running is None:
            waiting = self._waiting
            self._waiting = None
            self._bench.reopen(waiting)

    def _stop(self) -> Growth | None:
        """Cancel the running analysis. Return the session that it would have shown."""
        running = self._running
        self._running = None
        if running is None:
            return None
        if running.cancel is not None:
            running.cancel()
        return running.growth


def count_requests(session: Session) -> int:
    """Count the requests of all threads. O(threads)."""
    return sum(len(thread.requests) for thread in session.threads)


def is_rough(pressures: Pressures) -> bool:
    """Were the pressures computed without the tokenizer, from rough sizes?"""
    return isinstance(pressures.by, Weigher) and pressures.by.is_rough


def analyse(state: State, find_window: FindWindow, *, quickly: bool = False) -> Analysis:
    """Compute the pressures and drops of the chosen thread; an empty analysis if nothing is open.

    O(messages) the first time; if the thread grew, O(new messages), and the window and the policy's own count are
    computed too.

    Args:
        state: The state that is about to be shown.
        find_window: Finds the model's window at a request.
        quickly: Do without the tokenizer, which takes 0.3 s to load, so that the first picture does not wait for it.
    """
    from inspector.core.drops import thread_drops  # not before something is open

    thread = state.thread
    former = state.pressures
    if thread is None:
        return Analysis(state)
    measure = weigher_of(thread, is_rough=quickly)
    weighed = 0
    if former is not None and former.by.name == measure.name:
        weighed = count_same_requests(former.requests, thread.requests)
    weigh_categories(thread, measure, weighed)
    pressures = known_pressures(thread, measure)
    drops = thread_drops(thread, state.session, state.drops)
    if not weighed:
        return Analysis(state, pressures, drops)
    window = find_window(state, state.at)
    grown = replace(state, pressures=pressures, drops=drops, window=window, branch=None)
    believed = beliefs(grown) if is_mostly_believed(grown) else None
    if state.previews is not None and not state.stepped:
        verdicts = attempt(lambda: previews(grown))
    else:
        verdicts = None
    return Analysis(
        state,
        pressures,
        drops,
        window,
        believed,
        verdicts=verdicts if isinstance(verdicts, Previews) else None,
    )
