"""The one thing that changes. Holds the State; everything that wants to see or change it comes here.

Pure Python, no Qt. What may take long (weighing a whole session) goes through `work`, which runs a job and hands its
result to a callback; the window gives one that uses another thread, the default runs it on the spot.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from inspector.core.answering import Answerer
from inspector.core.buffer import EMPTY_VIEW
from inspector.core.session import Session
from inspector.core.tokens.windows import Window
from inspector.workbench.previews.analysis import Weighed, weigh
from inspector.workbench.previews.beliefs import beliefs, wanted
from inspector.workbench.state.state import Believed, Following, Opening, State
from inspector.workbench.steps.editing import Editing
from inspector.workbench.steps.stepping import Stepping, only_offline
from inspector.workbench.subscribers import Subscribers
from inspector.workbench.windows import KnownWindows

T = TypeVar("T")
Change = Callable[[State], State]


class Work(Protocol):
    """Runs `job` somewhere, then `done(result)` on the thread that asked.

    What the job raises is raised there, too, after `fell` has heard of it. `waits`: for others more than it computes.
    """

    def __call__(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[BaseException], None] | None = None,
        waits: bool = False,
    ) -> None: ...


def at_once(
    job: Callable[[], T],
    done: Callable[[T], None],
    fell: Callable[[BaseException], None] | None = None,
    waits: bool = False,
) -> None:
    """Work without another thread."""
    try:
        result = job()
    except BaseException as error:
        if fell is not None:
            fell(error)
        raise
    done(result)


def _nothing() -> None:
    pass


def newest(state: State) -> str:
    """Id of the newest message of the buffer we look at, empty where there is none."""
    thread, request = state.thread, state.request
    view = request.view if request else thread.end if thread else EMPTY_VIEW
    stretch, length, base = view.stretch, view.length, view.stretch.base
    while base is not None and length <= base.length:
        stretch, base = base.stretch, base.stretch.base
    return stretch.own[length - 1 - (base.length if base else 0)].id if length else ""


def _same_thread(one: State, other: State) -> bool:
    """Do they look at the same thread of the same transcript, however far it was read?"""
    if one.session is None or other.session is None:
        return False
    return one.thread is other.thread or (one.session.path, one.thread_id) == (other.session.path, other.thread_id)


class Workbench:
    """Intents come in as method calls; after each, every subscriber is given the new State."""

    def __init__(self, work: Work = at_once, answerers: Callable[[str, State], Answerer] = only_offline) -> None:
        self._work = work
        self.stepping = Stepping(self, answerers)
        self.editing = Editing(self, self.stepping.keep)
        self._state = State()
        self._windows = KnownWindows()
        self._subscribers: Subscribers[State] = Subscribers(self._believe)
        self._believing: tuple[object, ...] | None = None
        self._asked = 0
        self._follows_end = True
        self._picked = False

    @property
    def state(self) -> State:
        """What is shown now."""
        return self._state

    @property
    def end_window(self) -> Window | None:
        """The window behind the last record, wherever we stand; None where nobody has looked for it yet."""
        return self._windows.known(self._state.move(None))

    def subscribe(self, callback: Callable[[State], None]) -> Callable[[], None]:
        """Call back after every change, and once now. Returns what ends it."""
        return self._subscribers.add(callback, self._state)

    def show(self, state: State) -> None:
        """Make `state` the one that is shown, with the outlook that is known for where it stands."""
        state = self.stepping.foresight.settled(state)
        if state is self._state:
            return
        self._state = state
        self._subscribers.tell(lambda: self._state)

    def _believe(self) -> None:
        """See to it that what the chosen policy believes is worked out for what is shown."""
        state, whose, thread = self._state, wanted(self._state), self._state.thread
        known = self._state.believed.whose if self._state.believed is not None else None
        if whose is None or thread is None or whose in (known, self._believing):
            return
        self._believing = whose

        def arrived(found: Believed) -> None:
            if self._believing == found.whose:
                self._believing = None
            if wanted(self._state) == found.whose:
                self.show(replace(self._state, believed=found))

        self.work(lambda: beliefs(state), arrived, lambda: arrived(Believed(whose, thread)))

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[], None] = _nothing,
        *,
        waits: bool = False,
    ) -> None:
        """As `Work`. What nobody expected of the job is told as the State's failure, after `fell` put things right."""

        def failed(error: BaseException) -> None:
            told = f"Not worked out: something went wrong inside the program ({type(error).__name__}). You can go on."
            error.add_note(told)
            fell()
            self.show(replace(self._state, failure=self._state.failure or told))

        self._work(job, done, failed, waits)

    # -- opening ---------------------------------------------------------------------------------------------------

    def begin(self, path: str) -> None:
        """A transcript is being read. What is shown stays until its first requests come."""
        self._follows_end = True
        self.show(replace(self._state, opening=Opening(path), following="", failure=""))

    def progress(self, done: int, total: int) -> None:
        """So many bytes of the transcript have been read."""
        if self._state.opening is not None:
            self.show(replace(self._state, opening=replace(self._state.opening, done=done, total=total)))

    def open(self, session: Session, *, more: bool = False) -> None:
        """Show `session`, standing at its last request. `more`: it is still being read, a fuller one will follow.

        A fuller one of the same transcript leaves the playhead where the user put it, with thread and selection.
        """

        def opened(now: State) -> State:
            same = now.session is not None and bool(session.path) and now.session.path == session.path
            fresh = now if same else State(estimator=now.estimator, choices=now.choices, following=now.following)
            return replace(fresh, session=session, opening=now.opening if more else None, failure="")

        if self._state.session is None or self._state.session.path != session.path:
            self._follows_end, self._picked = True, False
            self.stepping.give_up()
        self._settle(opened)

    def failed(self, sentence: str) -> None:
        """An expected failure, told in one sentence; what is shown stays."""
        self.show(replace(self._state, opening=None, failure=sentence))

    def fell(self, path: str, failure: BaseException) -> None:
        """A failure that nobody expected while `path` was read or weighed; what is shown stays."""
        kind = type(failure).__name__
        told = f"Cannot show {Path(path).name or 'it'}: something went wrong inside the program ({kind})."
        failure.add_note(told)
        self.failed(told)

    def follow(self, what: Following) -> None:
        """Fuller sessions will come by `open` while the agent writes; empty = no more of them."""
        self.show(replace(self._state, following=what))

    def stopped(self) -> None:
        """The user stopped the reading."""
        self.show(replace(self._state, opening=None))

    def dismiss(self) -> None:
        """The user has read the failure."""
        self.show(replace(self._state, failure=""))

    def close(self) -> None:
        """Back to nothing open."""
        self.stepping.give_up()
        self._asked += 1
        self.show(State(estimator=self._state.estimator, choices=self._state.choices))

    # -- walking ---------------------------------------------------------------------------------------------------

    def move(self, at: int | None) -> None:
        """Stand at request `at` (clamped), or with None at the buffer after the last record."""
        thread = self._state.thread
        self._follows_end = thread is not None and at is not None and at >= len(thread.requests) - 1
        self._stand(self._state.move(at))

    def _stand(self, state: State) -> None:
        if not self._picked:
            state = replace(state, selected=newest(state))
        if state.session is None:
            self.show(state)
            return
        known = self._windows.known(state)
        before = self._state.window if _same_thread(self._state, state) else None
        self.show(replace(state, window=known or before))  # until it is found, the one from before will do
        if known is None:
            self.work(lambda: self._windows.find(state), lambda window: self._found(state, window))

    def _found(self, state: State, window: Window) -> None:
        if self._state.thread is state.thread:
            self._windows.keep(state, window)
            window = self._windows.known(self._state) or self._state.window or window
        elif not _same_thread(self._state, state) or self._state.window is not None:
            return  # another thread; or a fuller one of the same, whose window is being looked for
        self.show(replace(self._state, window=window))

    def next(self) -> None:
        """One request on; behind the last one stands the buffer after the last record."""
        thread, at = self._state.thread, self._state.at
        if thread is not None and at is not None:
            self.move(at + 1 if at + 1 < len(thread.requests) else None)

    def previous(self) -> None:
        """One request back."""
        thread, at = self._state.thread, self._state.at
        if thread is not None:
            self.move(len(thread.requests) - 1 if at is None else at - 1)

    def first(self) -> None:
        """To the first request."""
        self.move(0)

    def last(self) -> None:
        """To the last request."""
        thread = self._state.thread
        self.move(len(thread.requests) - 1 if thread else None)

    def next_compaction(self) -> None:
        """To the first request behind the next recorded compaction of the history."""
        thread, at = self._state.thread, self._state.at
        if thread is not None and at is not None:
            behind = [
                one.before_request for one in thread.compactions if one.kind == "summary" and one.before_request > at
            ]
            if behind:
                self.move(min(behind))

    def previous_compaction(self) -> None:
        """To the first request behind the recorded compaction before this one."""
        thread, at = self._state.thread, self._state.at
        if thread is not None:
            end = len(thread.requests) if at is None else at
            before = [
                one.before_request for one in thread.compactions if one.kind == "summary" and one.before_request < end
            ]
            if before:
                self.move(max(before))

    def select(self, message_id: str) -> None:
        """Look at one message; empty for the newest one of whatever buffer we stand at."""
        self._picked = bool(message_id)
        if not message_id:
            message_id = newest(self._state)
        self.show(replace(self._state, selected=message_id))

    # -- choosing --------------------------------------------------------------------------------------------------

    def choose_thread(self, thread_id: str) -> None:
        """Look at another agent's requests, standing at its last one."""
        self.stepping.give_up()
        self._follows_end, self._picked = True, False
        self._settle(lambda state: replace(state, thread_id=thread_id))

    def set_window(self, tokens: int | None) -> None:
        """The window the user says it is; None takes their word back."""
        self._stand(replace(self._state, user_window=tokens))

    def use_windows(self, windows: Mapping[str, int]) -> None:
        """The user's own table of windows, by model: it goes before the catalogue."""
        self._windows.use(windows)
        self._stand(self._state)

    def set_estimator(self, name: str) -> None:
        """Estimate by another estimator (a name of `tokens.estimators.ESTIMATORS`)."""
        self._settle(lambda state: replace(state, estimator=name))

    def _settle(self, change: Change) -> None:
        """Weigh what the changed state needs (may take long), then show it. Of several, only the newest counts.

        The change is made anew to the state of then: the user may have walked on meanwhile.
        """
        self._asked += 1
        asked, changed = self._asked, change(self._state)

        def weighed(found: Weighed) -> None:
            if asked == self._asked:
                state = replace(change(self._state), pressures=found.pressures, drops=found.drops)
                self._stand(self._at_end(state))

        def fell(error: BaseException) -> None:
            if asked == self._asked:
                self.fell(changed.session.path if changed.session else "", error)

        self._work(lambda: weigh(changed), weighed, fell)

    def _at_end(self, state: State) -> State:
        """The playhead at the last request, unless the user put it elsewhere or looks at a step."""
        thread = state.thread
        if not self._follows_end or thread is None or state.stepped:
            return state.move(state.at)
        return state.move(len(thread.requests) - 1 if thread.requests else None)
