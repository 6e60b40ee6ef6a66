"""The one thing that changes. Holds the State; everything that wants to see or change it comes here.

Pure Python, no Qt. What may take long (analysing a whole session) goes through `work`, which runs a job and hands its
result to a callback; the window gives one that uses another thread, the default runs it on the spot.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from inspector.core.answering import Answerer
from inspector.core.session import Session
from inspector.core.tokens.windows import Window
from inspector.extensions.policies import find_policy
from inspector.workbench.analysis import Analysis, AnalysisQueue, Cancel, Change, Growth, Work, at_once
from inspector.workbench.editing import Editing
from inspector.workbench.kept_steps import KeptSteps, restore_steps
from inspector.workbench.live import ProxyView, ReceiverView, RunView
from inspector.workbench.pressure.gauge import beliefs, lacks_belief, wanted
from inspector.workbench.preview_worker import PreviewWorker
from inspector.workbench.recorded_branch import BranchWorker, changed_before
from inspector.workbench.state import BufferFilter, Choices, Following, FoundText, OpeningProgress, PolicyBelief, State
from inspector.workbench.stepping import Stepping, only_offline
from inspector.workbench.steps import RECORDED
from inspector.workbench.window_cache import WindowCache

T = TypeVar("T")


def _nothing() -> None:
    pass


def newest(state: State) -> str:
    """Id of the newest message of the buffer we look at, empty where there is none."""
    view = state.view
    stretch, length, base = view.stretch, view.length, view.stretch.base
    while base is not None and length <= base.length:
        stretch, base = base.stretch, base.stretch.base
    return stretch.own[length - 1 - (base.length if base else 0)].id if length else ""


def _same_thread(one: State, other: State) -> bool:
    """Do they look at the same thread of the same transcript, however far it was read?"""
    if one.session is None or other.session is None:
        return False
    return one.thread is other.thread or (one.session.path, one.thread_id) == (other.session.path, other.thread_id)


def choices_for(now: State, path: str) -> Choices:
    """The choices for a session that is opened: the user's; for the journal of the run that is shown, the run's."""
    choices, run = now.choices.for_another_session(), now.run
    if run is None or run.plan is None or run.record != path:
        return choices
    return choices.adopt(run.plan.policy, run.plan.all_settings, run.remote)


def _carried_over(choices: Choices) -> str:
    """Say which settings of the user hold for the next session, too; empty where there are none."""
    if choices.usual is not None or not choices.settings:
        return ""
    settings = ", ".join(f"{name} = {value}" for name, value in choices.settings)
    return f"{find_policy(choices.policy).title} keeps your settings: {settings}."


def _nothing_open(now: State) -> State:
    """What outlasts the open transcript: what the user chose, and what runs."""
    choices = now.choices.for_another_session()
    return State(estimator=now.estimator, choices=choices, run=now.run, proxy=now.proxy, receiver=now.receiver)


class Workbench:
    """Intents come in as method calls; after each, every subscriber is given the new State."""

    def __init__(self, work: Work = at_once, answerers: Callable[[str, State], Answerer] = only_offline) -> None:
        self._work = work
        self.previews = PreviewWorker(self)
        self._branches = BranchWorker(self)
        self.stepping = Stepping(self, answerers)
        self.editing = Editing(self, self.stepping.keep)
        self._state = State()
        self._analyses = AnalysisQueue(self, work)
        self._windows = WindowCache()
        self._subscribers = Subscribers(self._catch_up)
        self._believing: tuple[tuple[object, ...], State] | None = None
        """What the beliefs that are being worked out depend on, and the state that they are of."""
        self._stop_believing: Cancel = _nothing
        self._follows_end = True
        self._picked = False
        self._kept_steps = KeptSteps()

    @property
    def state(self) -> State:
        """What is shown now."""
        return self._state

    @property
    def has_selection(self) -> bool:
        """Has the user selected a message? Else the newest one is selected, wherever the playhead is."""
        return self._picked

    @property
    def end_window(self) -> Window | None:
        """The window after the last record, wherever we stand; None where nobody has looked for it yet."""
        return self._windows.known(self._state.move(None))

    def find_window(self, state: State, at: int | None) -> Window:
        """Return the window at a request of what `state` has open. O(requests); on any thread."""
        return self._windows.find(state.move(at))

    def subscribe(self, callback: Callable[[State], None]) -> Callable[[], None]:
        """Call back after every change, and once now. Returns what ends it."""
        return self._subscribers.add(callback, self._state)

    def show(self, state: State) -> None:
        """Make `state` the one that is shown, with what is known for where it stands."""
        state = self.previews.settled(self._branches.settled(state))
        if state is self._state:
            return
        self._state = state
        self._subscribers.tell(lambda: self._state)

    def _catch_up(self) -> None:
        """What is shown now may need something worked out."""
        self._branches.look()
        self._believe()
        if lacks_belief(self._state):
            self.previews.judge()

    def _believe(self) -> None:
        """See to it that what the chosen policy believes is worked out for what is shown."""
        state, whose, thread = self._state, wanted(self._state), self._state.thread
        known = self._state.believed.whose if self._state.believed is not None else None
        if whose is None or thread is None or whose == known:
            return
        if self._believing is not None:
            before, then = self._believing
            if before[1:] == whose[1:] and _same_thread(then, state):
                return  # of the thread when it was shorter: the next job goes on from there
            self._stop_believing()
        self._believing = whose, state

        def arrived(found: PolicyBelief) -> None:
            if self._believing is None or self._believing[0] != found.whose:
                return
            self._believing = None
            now = wanted(self._state)
            if now is not None and now[1:] == found.whose[1:] and _same_thread(state, self._state):
                self.show(replace(self._state, believed=found))
            else:
                self._believe()

        self._stop_believing = (
            self.work(lambda: beliefs(state), arrived, lambda: arrived(PolicyBelief(whose, thread))) or _nothing
        )

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[], None] = _nothing,
        *,
        waits: bool = False,
        first: bool = False,
    ) -> Cancel | None:
        """As `Work`. An unexpected error of the job becomes the State's failure, after `fell` put things right."""

        def failed(error: BaseException) -> None:
            told = f"Not worked out: something went wrong inside the program ({type(error).__name__}). You can go on."
            error.add_note(told)
            fell()
            self.show(replace(self._state, failure=self._state.failure or told))

        return self._work(job, done, failed, waits, first)

    # -- opening ---------------------------------------------------------------------------------------------------

    def begin(self, path: str) -> None:
        """A transcript is being read. What is shown stays until its first requests come."""
        self._follows_end = True
        self.show(replace(self._state, opening=OpeningProgress(path), following="", behind=0, failure=""))

    def progress(self, done: int, total: int) -> None:
        """So many bytes of the transcript have been read."""
        if self._state.opening is not None:
            self.show(replace(self._state, opening=replace(self._state.opening, done=done, total=total)))

    def open(self, session: Session, *, more: bool = False) -> None:
        """Show `session`, standing at its last request. `more`: it is still being read, a fuller one will follow.

        A fuller one of the same transcript leaves the playhead where the user put it, with thread and selection. It
        waits if a shorter one is still being analysed.
        """
        growth = Growth(session, more)
        if self._analyses.keep_waiting(growth):
            self.show(replace(self._state, behind=self._analyses.count_behind(self._state.session)))
            return
        if self._state.session is None or self._state.session.path != session.path:
            self._follows_end, self._picked = True, False
            self.stepping.give_up()
            self._kept_steps.leave(self._state)
        returning = None if more else self._kept_steps.of(session.path)
        stays = not self._follows_end
        if returning is not None:
            self._follows_end = False

        def opened(now: State) -> State:
            same = now.session is not None and bool(session.path) and now.session.path == session.path
            fresh = now if same else self._emptied(now, session)
            state = replace(fresh, session=session, opening=now.opening if more else None, failure="")
            return state if returning is None else restore_steps(state, returning, stays)

        def landed() -> None:
            if returning is not None:
                self._kept_steps.forget(session.path)

        self._analyses.run(opened, landed, growth)

    def reopen(self, growth: Growth) -> None:
        """Open a session that had to wait."""
        self.open(growth.session, more=growth.more)

    def _emptied(self, now: State, session: Session) -> State:
        """Prepare the State for a session of another file."""
        choices = choices_for(now, session.path)
        notes = (self._kept_steps.last_note, _carried_over(choices) if now.session is not None else "")
        note = " ".join(filter(None, notes))
        return replace(_nothing_open(now), following=now.following, choices=choices, note=note)

    def failed(self, sentence: str) -> None:
        """An expected failure, reported in one sentence; what is shown stays."""
        self.show(replace(self._state, opening=None, failure=sentence))

    def note(self, sentence: str) -> None:
        """Say something that is no failure. It leaves without being dismissed."""
        self.show(replace(self._state, note=sentence))

    def fell(self, path: str, failure: BaseException) -> None:
        """A failure that nobody expected while `path` was read or analysed; what is shown stays."""
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
        """Clear the failure or the note: the user has read it."""
        self.show(replace(self._state, failure="", note=""))

    def close(self) -> None:
        """Close the open session. Its steps are kept."""
        self.stepping.give_up()
        self._analyses.forget()
        note = self._kept_steps.leave(self._state)
        self.show(replace(_nothing_open(self._state), note=note))

    # -- what runs beside it ---------------------------------------------------------------------------------------

    def show_run(self, run: RunView | None) -> None:
        """How the run of our own agent stands; None: there is none."""
        self.show(replace(self._state, run=run))

    def show_proxy(self, proxy: ProxyView | None) -> None:
        """How the proxy stands; None: there is none."""
        self.show(replace(self._state, proxy=proxy))

    def show_receiver(self, receiver: ReceiverView | None) -> None:
        """How the receiver of spans stands; None: there is none."""
        self.show(replace(self._state, receiver=receiver))

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
            self.work(lambda: self._windows.find(state), lambda window: self._found(state, window), first=True)

    def _found(self, state: State, window: Window) -> None:
        if self._state.thread is state.thread:
            self._windows.keep(state, window)
            window = self._windows.known(self._state) or self._state.window or window
        elif not _same_thread(self._state, state) or self._state.window is not None:
            return  # another thread; or a fuller one of the same, whose window is being looked for
        self.show(replace(self._state, window=window))

    def next(self) -> None:
        """One request on; after the last one stands the buffer after the last record."""
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

    def next_compaction(self) -> bool:
        """Go to the first request after the next compaction, micro-compaction or silent drop, with its diff. After the
        last one comes the first. Returns whether the thread has any."""
        places = changed_before(self._state)
        first = min(places, default=None)
        self._see_change(min((place for place in places if place > self._state.place), default=first))
        return bool(places)

    def previous_compaction(self) -> bool:
        """The same backwards: before the first one comes the last."""
        places = changed_before(self._state)
        last = max(places, default=None)
        self._see_change(max((place for place in places if place < self._state.place), default=last))
        return bool(places)

    def recorded_compaction(self) -> None:
        """The same for the latest one up to this request that the file itself records, else for its first one."""
        recorded = (
            [compaction.before_request for compaction in self._state.thread.compactions] if self._state.thread else []
        )
        self._see_change(max((n for n in recorded if n <= self._state.place), default=min(recorded, default=None)))

    def _see_change(self, place: int | None) -> None:
        thread = self._state.thread
        if place is None or thread is None:
            return
        self.previews.point(None)
        self.move(place if place < len(thread.requests) else None)
        steps = self._state.taken
        if steps is not None and steps.recorded is not None and steps.at != RECORDED:
            self.stepping.go(RECORDED)

    def select(self, message_id: str) -> None:
        """Look at one message; empty for the newest one of whatever buffer we stand at."""
        self._picked = bool(message_id)
        if not message_id:
            message_id = newest(self._state)
        self.show(replace(self._state, selected=message_id))

    def look_into(self, part: tuple[str, ...], among: BufferFilter | None = None) -> None:
        """Look into a part of the buffer, with the list of messages reduced to it; empty for all of it."""
        self.show(replace(self._state, part=part, among=among))

    def show_found(self, found: FoundText | None) -> None:
        """Where the text that is searched for stands; None for nowhere."""
        if found != self._state.found:
            self.show(replace(self._state, found=found))

    def pin(self, text: str, on: bool = True) -> None:
        """Follow a text over all requests, as long as the session is open; or no more."""
        text = " ".join(text.split())
        others = tuple(pin for pin in self._state.pins if pin != text)
        self.show(replace(self._state, pins=(*others, text) if on and text else others))

    # -- choosing --------------------------------------------------------------------------------------------------

    def choose_thread(self, thread_id: str) -> None:
        """Look at another agent's requests, standing at its last one."""
        self.stepping.give_up()
        self._follows_end, self._picked = True, False
        self._settle(lambda state: replace(state, thread_id=thread_id, part=(), among=None))

    def set_window(self, tokens: int | None) -> None:
        """The window the user says it is; None takes their word back."""
        self._stand(replace(self._state, user_window=tokens))

    def use_windows(self, windows: Mapping[str, int]) -> None:
        """The user's own table of windows, by model: it goes before the catalogue."""
        self._windows.use(windows)
        self._stand(self._state)

    def set_estimator(self, name: str) -> None:
        """Show as *estimated* what another estimator counts (a name of `tokens.estimators.ESTIMATORS`)."""
        self.show(replace(self._state, estimator=name))

    def _settle(self, change: Change, landed: Callable[[], None] = _nothing) -> None:
        """Analyse what the changed state needs (may take long), show it, then call `landed`. The newest call wins."""
        self._analyses.run(change, landed)

    def land(self, state: State, found: Analysis) -> None:
        """Show a state whose analysis is complete."""
        state = self.place(replace(state, behind=self._analyses.count_behind(state.session)))
        if found.window is not None and state.thread is found.of.thread:
            self._windows.keep(found.of, found.window)
        if found.verdicts is not None:
            self.previews.remember(found.verdicts)
        self._stand(state if found.believed is None else replace(state, believed=found.believed))

    def place(self, state: State) -> State:
        """Put the playhead at the last request, unless the user put it elsewhere or looks at a step."""
        thread = state.thread
        if not self._follows_end or thread is None or state.stepped:
            return state.move(state.at)
        return state.move(len(thread.requests) - 1 if thread.requests else None)


class Subscribers:
    """Each is given every state in the order in which they came, whatever another does.

    What one changes meanwhile comes to all of them after all have the state before it. One that fails keeps none of the
    others from theirs: its failure is raised at the end. `then` is called after the last of them.
    """

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self._callbacks: list[Callable[[State], None]] = []
        self._then = then
        self._telling = False

    def add(self, callback: Callable[[State], None], now: State) -> Callable[[], None]:
        """Tell this one from now on, and how it is now. Returns what ends it."""
        self._callbacks.append(callback)
        callback(now)
        return lambda: self._callbacks.remove(callback)

    def tell(self, newest: Callable[[], State]) -> None:
        """Tell all until everybody knows the newest."""
        if self._telling:
            return  # whoever is telling looks for the newest when all were told
        self._telling, failures, told = True, list[Exception](), None
        while told is not newest():
            told = newest()
            calls: list[Callable[[], None]] = [partial(callback, told) for callback in self._callbacks]
            for call in (*calls, self._then):
                try:
                    call()
                except Exception as failure:  # noqa: BLE001  # raised as soon as the others know
                    failures.append(failure)
        self._telling = False
        if failures:
            raise failures[0]
