"""Compute, as the first step of the tree, what the recording did to the buffer: a compaction or a silent drop.

The work is done in the background; the last few results are cached.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.core.errors import InspectorError
from inspector.core.identity import SameObject
from inspector.workbench.policy_input import change_of, policy_of, recorded_tree, settings_of
from inspector.workbench.state import Bench, State
from inspector.workbench.steps import RecordedBranch

if TYPE_CHECKING:
    from inspector.core.replay.economics import Economics

KEPT = 8
"""Number of cached places, so that moving back and forth computes nothing twice."""


def changed_before(state: State) -> tuple[int, ...]:
    """Return the requests before which the recording changed the buffer of the chosen thread, in order."""
    from inspector.core.findings.recorded_step import places  # not before something is open

    thread = state.thread
    drops = state.drops
    if thread is not None and drops is not None and drops.thread == thread.id:
        return places(thread, drops)
    return ()


class BranchWorker:
    """Computes and caches recorded branches. Held by the Workbench."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._places: tuple[object, frozenset[int]] = (None, frozenset())
        self._known: dict[tuple[object, ...], RecordedBranch] = {}
        self._path = ""
        """Path of the session that the cached branches belong to."""
        self._paid: tuple[object, Mapping[int, Economics]] = (None, {})
        """The thread and the economics of its compactions."""
        self._underway: tuple[object, ...] | None = None
        self._stop: Callable[[], object] | None = None
        """Cancels the job that computes what the recording did."""
        self._stop_paid: Callable[[], object] | None = None
        """Cancels the job that computes which compactions paid for themselves."""

    def settled(self, state: State) -> State:
        """Return `state` with what the recording did at its place, if that is known. O(1)."""
        branch = self._known.get(self._key(state))
        if (
            branch is not None
            and branch.economics is None
            and self._paid[0] == SameObject(state.thread)
        ):
            branch = self._known[self._key(state)] = replace(
                branch, economics=self._paid[1].get(state.place)
            )
        return state if branch is state.branch else replace(state, branch=branch)

    def look(self) -> None:
        """Compute what the recording did at the current place, unless it only appended messages."""
        state = self._bench.state
        key = self._key(state)
        if not key or key in self._known or key == self._underway:
            return
        self._underway = key

        def arrived(branch: RecordedBranch | None) -> None:
            if self._underway == key:
                self._underway = None
            if branch is not None:
                self._keep(key, branch)
                self._bench.show(self._bench.state)
                self._see_what_paid()

        if self._stop is not None:
            self._stop()  # the branch of another place is no longer needed
        self._stop = self._bench.work(lambda: _branch(state), arrived, lambda: arrived(None))

    def _see_what_paid(self) -> None:
        """Compute which compactions paid for themselves.

        This takes longest, and the result is the same for all places of a thread.
        """
        from inspector.core.findings.recorded_step import recorded_economics

        thread = self._bench.state.thread
        session = self._bench.state.session
        if thread is None or session is None or self._paid[0] == SameObject(thread):
            return

        def arrived(economics: "Mapping[int, Economics]") -> None:
            self._paid = SameObject(thread), economics
            self._bench.show(self._bench.state)

        if self._stop_paid is not None:
            self._stop_paid()
        self._stop_paid = self._bench.work(
            lambda: recorded_economics(thread, session.side_calls), arrived
        )

    def _keep(self, key: tuple[object, ...], branch: RecordedBranch) -> None:
        session = self._bench.state.session
        path = session.path if session is not None else ""
        if path != self._path:  # cached branches would keep the other session in memory
            self._known.clear()
            self._path = path
        while len(self._known) >= KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = branch

    def _key(self, state: State) -> tuple[object, ...]:
        """Return everything that a branch depends on; empty if the buffer only grew. O(1) except for a new thread."""
        thread = state.thread
        drops = state.drops
        if thread is None or drops is None or state.pressures is None or drops.thread != thread.id:
            return ()
        if self._places[0] != (whole := (SameObject(thread), SameObject(drops))):
            self._places = whole, frozenset(changed_before(state))
        if state.place not in self._places[1]:
            return ()
        request_or_end = (
            thread.requests[state.place] if state.place < len(thread.requests) else thread
        )
        return SameObject(request_or_end), thread.id, state.at, state.choices.policy


def _branch(state: State) -> RecordedBranch | None:
    """Return what the recording did at the place of `state`. O(messages)."""
    from inspector.core.findings.recorded_step import recorded_sizes

    thread = state.thread
    change = change_of(state)
    policy = policy_of(state)
    pressures = state.pressures
    if thread is None or change is None or pressures is None:
        return None
    try:
        settings = settings_of(state)
    except InspectorError:  # impossible settings are reported when a step is taken
        settings = policy.settings()
    sizes = recorded_sizes(change, thread, pressures)
    return RecordedBranch(
        recorded_tree(thread, request=state.at, policy=policy, settings=settings, change=change),
        sizes,
    )
