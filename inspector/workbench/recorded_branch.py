"""Where the recording compacted the buffer, or lost something of it: works out what it did, as the first step of the
tree there. Off the side; the last few are kept."""

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
"""Places that are kept: walking back and forth needs nothing worked out anew."""


def changed_before(state: State) -> tuple[int, ...]:
    """The requests in front of which the recording changed the buffer of the chosen thread, in order."""
    from inspector.core.findings.recorded_step import places  # not before something is open

    thread, drops = state.thread, state.drops
    return places(thread, drops) if thread is not None and drops is not None and drops.thread == thread.id else ()


class BranchWorker:
    """Held by the Workbench."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._places: tuple[object, frozenset[int]] = (None, frozenset())
        self._known: dict[tuple[object, ...], RecordedBranch] = {}
        self._path = ""
        """Of the session whose places these are."""
        self._paid: tuple[object, Mapping[int, Economics]] = (None, {})
        """Of the compactions of one thread, whether they paid."""
        self._underway: tuple[object, ...] | None = None
        self._stop: Callable[[], object] | None = None
        """Cancels the job that works out what the recording did."""
        self._stop_paid: Callable[[], object] | None = None
        """Cancels the job that works out which compactions paid for themselves."""

    def settled(self, state: State) -> State:
        """`state` with what the recording did where it stands, as far as that is known. O(1)."""
        branch = self._known.get(self._key(state))
        if branch is not None and branch.economics is None and self._paid[0] == SameObject(state.thread):
            branch = self._known[self._key(state)] = replace(branch, economics=self._paid[1].get(state.place))
        return state if branch is state.branch else replace(state, branch=branch)

    def look(self) -> None:
        """Work out what the recording did where we stand, if it did anything."""
        state = self._bench.state
        key = self._key(state)
        if not key or key in self._known or key == self._underway:
            return
        self._underway = key

        def arrived(found: RecordedBranch | None) -> None:
            if self._underway == key:
                self._underway = None
            if found is not None:
                self._keep(key, found)
                self._bench.show(self._bench.state)
                self._see_what_paid()

        if self._stop is not None:
            self._stop()  # that of another place is not needed any more
        self._stop = self._bench.work(lambda: _branch(state), arrived, lambda: arrived(None))

    def _see_what_paid(self) -> None:
        """It takes longer than all else, and is the same wherever we stand in the thread."""
        from inspector.core.findings.recorded_step import recorded_economics

        thread, session = self._bench.state.thread, self._bench.state.session
        if thread is None or session is None or self._paid[0] == SameObject(thread):
            return

        def arrived(found: "Mapping[int, Economics]") -> None:
            self._paid = SameObject(thread), found
            self._bench.show(self._bench.state)

        if self._stop_paid is not None:
            self._stop_paid()
        self._stop_paid = self._bench.work(lambda: recorded_economics(thread, session.side_calls), arrived)

    def _keep(self, key: tuple[object, ...], found: RecordedBranch) -> None:
        session = self._bench.state.session
        path = session.path if session is not None else ""
        if path != self._path:  # those of another would keep all of it in memory
            self._known.clear()
            self._path = path
        while len(self._known) >= KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = found

    def _key(self, state: State) -> tuple[object, ...]:
        """All that it depends on; empty where the buffer only grew. O(1) but for a new thread."""
        thread, drops = state.thread, state.drops
        if thread is None or drops is None or state.pressures is None or drops.thread != thread.id:
            return ()
        if self._places[0] != (whole := (SameObject(thread), SameObject(drops))):
            self._places = whole, frozenset(changed_before(state))
        if state.place not in self._places[1]:
            return ()
        here = thread.requests[state.place] if state.place < len(thread.requests) else thread
        return SameObject(here), thread.id, state.at, state.choices.policy


def _branch(state: State) -> RecordedBranch | None:
    """What the recording did where `state` stands. O(messages)."""
    from inspector.core.findings.recorded_step import recorded_sizes

    thread, change, by, pressures = state.thread, change_of(state), policy_of(state), state.pressures
    if thread is None or change is None or pressures is None:
        return None
    try:
        settings = settings_of(state)
    except InspectorError:  # impossible ones are for those to hear who take a step
        settings = by.settings()
    sizes = recorded_sizes(change, thread, pressures)
    return RecordedBranch(recorded_tree(thread, state.at, by, settings, change), sizes)
