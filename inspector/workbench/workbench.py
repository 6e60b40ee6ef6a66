"""The Workbench holds the State, the one value that changes. Everything that shows or changes the State uses it.

This is pure Python without Qt. Slow work (analysing a whole session) goes through `work`, which runs a job and passes
its result to a callback. The window provides a `work` that uses another thread; the default runs the job at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inspector.core.answering import Answerer
from inspector.core.session import Session
from inspector.core.tokens.windows import Window
from inspector.extensions.policies import find_policy
from inspector.workbench.analysis import (
    Analysis,
    AnalysisQueue,
    Cancel,
    Change,
    Growth,
    Work,
    at_once,
)
from inspector.workbench.editing import Editing
from inspector.workbench.kept_steps import KeptSteps, restore_steps
from inspector.workbench.live import ProxyView, ReceiverView, RunView
from inspector.workbench.pressure.gauge import beliefs, beliefs_key, lacks_belief
from inspector.workbench.pressure.window_cache import WindowCache
from inspector.workbench.preview_worker import PreviewWorker
from inspector.workbench.recorded_branch import BranchWorker, changed_before
from inspector.workbench.state import (
    BufferFilter,
    Choices,
    Following,
    FoundText,
    OpeningProgress,
    PolicyBelief,
    State,
    Subscribers,
    is_message_recorded,
    newest_message,
)
from inspector.workbench.stepping import Stepping, refuse_models
from inspector.workbench.steps import RECORDED

if TYPE_CHECKING:
    from inspector.workbench.loss_judging import LossJudging

T = TypeVar("T")


def _do_nothing() -> None:
    pass


def _same_thread(state: State, other: State) -> bool:
    """Do two States show the same thread of the same transcript, even if more of it was read in one of them?"""
    if state.session is None or other.session is None:
        return False
    return state.thread is other.thread or (state.session.path, state.thread_id) == (
        other.session.path,
        other.thread_id,
    )


def choices_for(now: State, path: str) -> Choices:
    """Return the choices for a session that is being opened: the user's own; for the journal of the shown run, the
    run's.
    """
    choices = now.choices.for_next_session()
    run = now.run
    if run is None or run.plan is None or run.record != path:
        return choices
    return choices.adopt(run.plan.policy, run.plan.all_settings, run.remote)


def _kept_settings_words(choices: Choices) -> str:
    """Say which settings of the user are kept for the next session; empty if there are none."""
    if choices.usual is not None or not choices.settings:
        return ""
    settings = ", ".join(f"{name} = {value}" for name, value in choices.settings)
    return f"{find_policy(choices.policy).title} keeps your settings: {settings}."


def _nothing_open(now: State) -> State:
    """Return the State without the open transcript. The user's choices and live work are kept."""
    choices = now.choices.for_next_session()
    return State(
        estimator=now.estimator,
        choices=choices,
        run=now.run,
        proxy=now.proxy,
        receiver=now.receiver,
    )


class Workbench:
    """Holds the State. Intents are method calls; after each change, every subscriber gets the new State."""

    def __init__(
        self, work: Work = at_once, answerers: Callable[[str, State], Answerer] = refuse_models
    ) -> None:
        self._work = work
        self.previews = PreviewWorker(self)
        self._branches = BranchWorker(self)
        self.stepping = Stepping(self, answerers)
        self.editing = Editing(self, self.stepping.keep)
        self._answerers = answerers
        self._state = State()
        self._analyses = AnalysisQueue(self, work)
        self._windows = WindowCache()
        self._subscribers = Subscribers(self._catch_up)
        self._believing: tuple[tuple[object, ...], State] | None = None
        """The key of the own counts that are being computed, and the State that they are computed for."""
        self._stop_believing: Cancel = _do_nothing
        self._follows_end = True
        self._picked = False
        self.kept_steps = KeptSteps()

    @cached_property
    def loss_judging(self) -> "LossJudging":
        """Return the helper that asks a model about lost facts whose verdict is unsure."""
        from inspector.workbench.loss_judging import LossJudging  # not needed to start the window

        return LossJudging(self, self._answerers)

    @property
    def state(self) -> State:
        """Return the State that is shown."""
        return self._state

    @property
    def has_selection(self) -> bool:
        """Has the user selected a message? Otherwise the newest message is selected, even when the playhead moves."""
        return self._picked

    @property
    def end_window(self) -> Window | None:
        """Return the window after the last record, regardless of the current place; None until it is looked up."""
        return self._windows.known(self._state.move(None))

    def find_window(self, state: State, at: int | None) -> Window:
        """Return the window at request `at` of the open thread of `state`. O(requests). May be called on any thread."""
        return self._windows.find(state.move(at))

    def subscribe(self, callback: Callable[[State], None]) -> Callable[[], None]:
        """Call `callback` now and after every change. Return a function that unsubscribes it."""
        return self._subscribers.add(callback, self._state)

    def show(self, state: State) -> None:
        """Show `state`, with the values that are already known for its place."""
        state = self.previews.settled(self._branches.settled(state))
        if state is self._state:
            return
        self._state = state
        self._subscribers.tell(lambda: self._state)

    def _catch_up(self) -> None:
        """Start computing the values that the shown State lacks."""
        self._branches.look()
        self._update_own_counts()
        if lacks_belief(self._state):
            self.previews.judge()

    def _update_own_counts(self) -> None:
        """Compute the chosen policy's own counts for the shown thread, unless they are known."""
        state = self._state
        key = beliefs_key(self._state)
        thread = self._state.thread
        known_key = self._state.believed.key if self._state.believed is not None else None
        if key is None or thread is None or key == known_key:
            return
        if self._believing is not None:
            former_key, former_state = self._believing
            if former_key[1:] == key[1:] and _same_thread(former_state, state):
                return  # the running job is for a shorter version of the thread: the next job continues from its result
            self._stop_believing()
        self._believing = key, state

        def arrived(belief: PolicyBelief) -> None:
            if self._believing is None or self._believing[0] != belief.key:
                return
            self._believing = None
            current_key = beliefs_key(self._state)
            is_current = current_key is not None and current_key[1:] == belief.key[1:]
            if is_current and _same_thread(state, self._state):
                self.show(replace(self._state, believed=belief))
            else:
                self._update_own_counts()

        def fell() -> None:
            arrived(PolicyBelief(key, thread))

        self._stop_believing = self.work(lambda: beliefs(state), arrived, fell) or _do_nothing

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        fell: Callable[[], None] = _do_nothing,
        *,
        waits: bool = False,
        first: bool = False,
    ) -> Cancel | None:
        """Run a job as `Work` does. If it fails unexpectedly, call `fell` and show the error as the State's failure."""

        def failed(error: BaseException) -> None:
            name = type(error).__name__
            sentence = f"Cannot compute this: something went wrong inside the program ({name}). You can continue."
            error.add_note(sentence)
            fell()
            self.show(replace(self._state, failure=self._state.failure or sentence))

        return self._work(job, done, failed, waits, first)

    # -- opening ---------------------------------------------------------------------------------------------------

    def begin(self, path: str) -> None:
        """Show that a transcript is being read. The open session stays until the first requests of the new one are
        read.
        """
        self._follows_end = True
        self.show(
            replace(self._state, opening=OpeningProgress(path), following="", behind=0, failure="")
        )

    def progress(self, done: int, total: int) -> None:
        """Show how many bytes of the transcript have been read, and of how many."""
        if self._state.opening is not None:
            self.show(
                replace(self._state, opening=replace(self._state.opening, done=done, total=total))
            )

    def open(self, session: Session, *, more: bool = False) -> None:
        """Show `session` at its last request. `more`: it is still being read, and a fuller version will follow.

        A fuller version of the same transcript keeps the playhead, the thread and the selection. It waits while a
        shorter version is being analysed.
        """
        growth = Growth(session, more)
        if self._analyses.keep_waiting(growth):
            self.show(replace(self._state, behind=self._analyses.count_behind(self._state.session)))
            return
        if self._state.session is None or self._state.session.path != session.path:
            self._follows_end = True
            self._picked = False
            self.stepping.give_up()
            self.kept_steps.leave(self._state)
        returning = None if more else self.kept_steps.of(session.path)
        stays = not self._follows_end
        if returning is not None:
            self._follows_end = False

        def opened(now: State) -> State:
            same = (
                now.session is not None and bool(session.path) and now.session.path == session.path
            )
            fresh = now if same else self._state_for_new_session(now, session)
            pins = fresh.pins or session.shared_pins
            opening = now.opening if more else None
            state = replace(fresh, session=session, pins=pins, opening=opening, failure="")
            return state if returning is None else restore_steps(state, returning, stays)

        def landed() -> None:
            if returning is not None:
                self.kept_steps.forget(session.path)

        self._analyses.run(opened, landed, growth)

    def reopen(self, growth: Growth) -> None:
        """Open a session that had to wait."""
        self.open(growth.session, more=growth.more)

    def _state_for_new_session(self, now: State, session: Session) -> State:
        """Prepare the State for a session of another file."""
        choices = choices_for(now, session.path)
        notes = (
            self.kept_steps.last_note,
            _kept_settings_words(choices) if now.session is not None else "",
        )
        note = " ".join(filter(None, notes))
        return replace(_nothing_open(now), following=now.following, choices=choices, note=note)

    def failed(self, sentence: str) -> None:
        """Show the sentence of an expected failure; the open session stays."""
        self.show(replace(self._state, opening=None, failure=sentence))

    def note(self, sentence: str) -> None:
        """Show a sentence that is not a failure. It disappears without being dismissed."""
        self.show(replace(self._state, note=sentence))

    def fell(self, path: str, failure: BaseException) -> None:
        """Show an unexpected failure of reading or analysing `path`; the open session stays."""
        kind = type(failure).__name__
        sentence = f"Cannot show {Path(path).name or 'it'}: something went wrong inside the program ({kind})."
        failure.add_note(sentence)
        self.failed(sentence)

    def follow(self, what: Following) -> None:
        """Note what is being followed: fuller versions will come by `open` while the agent writes. Empty: none will
        come.
        """
        self.show(replace(self._state, following=what))

    def stopped(self) -> None:
        """Note that the user stopped the reading: no transcript is being opened any more."""
        self.show(replace(self._state, opening=None))

    def dismiss(self) -> None:
        """Clear the failure and the note, which the user has read."""
        self.show(replace(self._state, failure="", note=""))

    def close(self) -> None:
        """Close the open session. Its steps are kept."""
        self.stepping.give_up()
        self._analyses.forget()
        note = self.kept_steps.leave(self._state)
        self.show(replace(_nothing_open(self._state), note=note))

    # -- live work ---------------------------------------------------------------------------------------------------

    def show_run(self, run: RunView | None) -> None:
        """Show the status of the run of the product's own agent; None if there is none."""
        self.show(replace(self._state, run=run))

    def show_proxy(self, proxy: ProxyView | None) -> None:
        """Show the status of the proxy; None if there is none."""
        self.show(replace(self._state, proxy=proxy))

    def show_receiver(self, receiver: ReceiverView | None) -> None:
        """Show the status of the receiver of spans; None if there is none."""
        self.show(replace(self._state, receiver=receiver))

    # -- moving ------------------------------------------------------------------------------------------------------

    def move(self, at: int | None) -> None:
        """Move the playhead to request `at` (clamped); None: to the buffer after the last record."""
        thread = self._state.thread
        self._follows_end = thread is not None and at is not None and at >= len(thread.requests) - 1
        self._stand(self._state.move(at))

    def _stand(self, state: State) -> None:
        if self._state.stepped and not is_message_recorded(state):
            self._picked = False
        if not self._picked:
            state = replace(state, selected=newest_message(state))
        if state.session is None:
            self.show(state)
            return
        window = self._windows.known(state)
        before = self._state.window if _same_thread(self._state, state) else None
        # The previous one is shown until the new one is known.
        self.show(replace(state, window=window or before))
        if window is None:
            self.work(
                lambda: self._windows.find(state),
                lambda window: self._accept_window(state, window),
                first=True,
            )

    def _accept_window(self, state: State, window: Window) -> None:
        if self._state.thread is state.thread:
            self._windows.keep(state, window)
            window = self._windows.known(self._state) or self._state.window or window
        elif not _same_thread(self._state, state) or self._state.window is not None:
            return  # another thread, or a fuller version of this one, whose window is being looked up
        self.show(replace(self._state, window=window))

    def next(self) -> None:
        """Move to the next request; after the last one, to the buffer after the last record."""
        thread = self._state.thread
        at = self._state.at
        if thread is not None and at is not None:
            self.move(at + 1 if at + 1 < len(thread.requests) else None)

    def previous(self) -> None:
        """Move to the previous request."""
        thread = self._state.thread
        at = self._state.at
        if thread is not None:
            self.move(len(thread.requests) - 1 if at is None else at - 1)

    def first(self) -> None:
        """Move to the first request."""
        self.move(0)

    def last(self) -> None:
        """Move to the last request."""
        thread = self._state.thread
        self.move(len(thread.requests) - 1 if thread else None)

    def next_compaction(self) -> bool:
        """Move to the first request after the next compaction, micro-compaction or silent drop, with its diff.

        After the last such request, start again at the first. Return whether the thread has any.
        """
        places = changed_before(self._state)
        first = min(places, default=None)
        later = [place for place in places if place > self._state.place]
        self._see_change(min(later, default=first))
        return bool(places)

    def previous_compaction(self) -> bool:
        """Move to the previous compaction, micro-compaction or silent drop; before the first one, go to the last."""
        places = changed_before(self._state)
        last = max(places, default=None)
        earlier = [place for place in places if place < self._state.place]
        self._see_change(max(earlier, default=last))
        return bool(places)

    def recorded_compaction(self) -> None:
        """Move to the latest recorded compaction up to the current request; if there is none, to the first one."""
        thread = self._state.thread
        recorded = (
            [compaction.before_request for compaction in thread.compactions] if thread else []
        )
        first = min(recorded, default=None)
        self._see_change(
            max((place for place in recorded if place <= self._state.place), default=first)
        )

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
        """Select a message by id; an empty id selects the newest one in the current buffer."""
        self._picked = bool(message_id)
        if not message_id:
            message_id = newest_message(self._state)
        self.show(replace(self._state, selected=message_id))

    def look_into(self, part: tuple[str, ...], among: BufferFilter | None = None) -> None:
        """Show a part of the buffer, and only its messages in the list. An empty part shows the whole buffer."""
        self.show(replace(self._state, part=part, among=among))

    def show_found(self, hits: FoundText | None) -> None:
        """Show the hits of the search; None if there is no search."""
        if hits != self._state.hits:
            self.show(replace(self._state, hits=hits))

    def pin(self, text: str, on: bool = True) -> None:
        """Follow a text over all requests until the session is closed; with `on` False, stop following it."""
        text = " ".join(text.split())
        others = tuple(pin for pin in self._state.pins if pin != text)
        self.show(replace(self._state, pins=(*others, text) if on and text else others))

    # -- choosing --------------------------------------------------------------------------------------------------

    def choose_thread(self, thread_id: str) -> None:
        """Show the requests of another agent, at the last one."""
        self.stepping.give_up()
        self._follows_end, self._picked = True, False
        self._settle(lambda state: replace(state, thread_id=thread_id, part=(), among=None))

    def set_window(self, tokens: int | None) -> None:
        """Set the model's window in tokens; None restores the known one."""
        self._stand(replace(self._state, user_window=tokens))

    def use_windows(self, windows: Mapping[str, int]) -> None:
        """Use the user's own table of windows in tokens by model, which takes precedence over the catalogue."""
        self._windows.use(windows)
        self._stand(self._state)

    def set_estimator(self, name: str) -> None:
        """Show another estimator's counts as *estimated* (a name of `tokens.estimators.ESTIMATORS`)."""
        self.show(replace(self._state, estimator=name))

    def _settle(self, change: Change, landed: Callable[[], None] = _do_nothing) -> None:
        """Analyse what the changed state needs (slow), show it, then call `landed`. The newest call wins."""
        self._analyses.run(change, landed)

    def land(self, state: State, analysis: Analysis) -> None:
        """Show a state whose analysis is complete."""
        state = self.place(replace(state, behind=self._analyses.count_behind(state.session)))
        if analysis.window is not None and state.thread is analysis.of.thread:
            self._windows.keep(analysis.of, analysis.window)
        if analysis.verdicts is not None:
            self.previews.remember(analysis.verdicts)
        self._stand(
            state if analysis.believed is None else replace(state, believed=analysis.believed)
        )

    def place(self, state: State) -> State:
        """Move the playhead to the last request, unless the user moved it away or a step is shown."""
        thread = state.thread
        if not self._follows_end or thread is None or state.stepped:
            return state.move(state.at)
        return state.move(len(thread.requests) - 1 if thread.requests else None)
