"""Works out the previews where we stand, off the side, and keeps the last few. Nothing here takes a step."""

from collections.abc import Callable
from dataclasses import replace

from inspector.core.answering import offline
from inspector.core.errors import InspectorError
from inspector.core.identity import SameObject
from inspector.core.policies.instructions import acting
from inspector.core.policies.place import chosen_moment
from inspector.core.replay.files import with_recorded_files
from inspector.core.session import Session
from inspector.workbench.policy_input import call_place_of, context_of, ground_of, policy_of, sizer_of
from inspector.workbench.previews import Preview, Previews, fired_when_due, preview, weigh
from inspector.workbench.state import Bench, State, attempt
from inspector.workbench.steps import ORIGIN

KEPT = 24
"""Previews that are kept: walking back and forth, undo and redo need no new ones."""


def _key(state: State) -> tuple[object, ...]:
    """All that they depend on. O(1)."""
    steps, choices = state.taken, state.choices
    return (
        SameObject(state.thread),
        state.at,
        SameObject(steps.step if steps else None),
        SameObject(steps.running if steps else None),
        replace(choices, answer_by="", model=""),
        state.window.tokens if state.window else None,
        state.user_window,
    )


def previews(state: State) -> Previews:
    """Verdicts where we stand, without previews yet. O(messages). Raises InspectorError for impossible settings."""
    context, size = context_of(state), sizer_of(state)
    by = acting(policy_of(state), context)
    verdicts = by.due(context)
    estimated, _ = by.measure(context)
    shown = size.pressure_of(context.buffer).tokens or 0
    place = call_place_of(state, size)
    return Previews(_key(state), by, context, estimated, by.believed(context, verdicts), place, verdicts, shown)


def looked_at(state: State, known: Previews | None) -> str:
    """Return the tier whose preview is shown where `state` stands; empty if a step is shown instead.

    A tier that waits for an answer comes first, then the one that the user selected. Without either, the suggested
    tier is shown until a step was taken or recorded here: then the step itself.
    """
    if state.asking is not None:
        return state.asking.tier
    if state.pointed is not None:
        return state.pointed
    steps = state.steps
    shows_step = steps is not None and steps.at != ORIGIN
    return "" if known is None or shows_step else known.suggested


def step_cost(state: State) -> Preview | None:
    """Weigh the step that is shown, as the tiers are weighed; None if there is none. O(messages)."""
    step, steps = state.shown_step, state.steps
    if step is None or steps is None:
        return None
    place = call_place_of(state, sizer_of(state))
    before = steps.buffer_of(step.parent)
    return weigh(step.name, before, step.buffer, step.asked, place, step.moment.cache_ttl_s)


class PreviewWorker:
    """Held by the Workbench as `previews`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._known: dict[tuple[object, ...], Previews] = {}
        self._session: Session | None = None
        """Whose previews these are."""
        self._underway: tuple[object, ...] | None = None
        self._stop: Callable[[], object] | None = None
        """Cancels the job that works out verdicts."""
        self._looked: tuple[object, ...] | None = None
        """The place whose previews somebody looks at, not its verdicts alone."""

    def settled(self, state: State) -> State:
        """`state` with the previews that are known for where it stands, if any, and the preview that is looked at."""
        known = self._known.get(_key(state)) if state.thread is not None else None
        seen = known.by_tier.get(looked_at(state, known)) if known is not None else None
        if known is state.previews and seen is state.preview:
            return state
        return replace(state, previews=known, preview=seen)

    def look(self) -> None:
        """Work out what every tier would do where we stand: verdicts first, then one preview after the other."""
        state = self._bench.state
        if state.thread is None:
            return
        self._looked = _key(state)
        known = self._known.get(self._looked)
        if known is None:
            self.judge()
        elif known.missing and self._underway != self._looked:
            self._underway = self._looked
            self._see(known, state)

    def judge(self) -> None:
        """Work out the verdicts where we stand, and the policy's own count. O(messages), off the side."""
        state = self._bench.state
        key = _key(state)
        if state.thread is None or key in self._known or self._underway == key:
            return
        self._underway = key
        if self._stop is not None:
            self._stop()  # those of another place are not needed any more
        self._stop = self._bench.work(
            lambda: attempt(lambda: previews(state)), lambda found: self._arrived(found, state)
        )

    def _arrived(self, found: Previews | InspectorError, state: State) -> None:
        if self._underway == _key(state):
            self._underway = None
        if isinstance(found, InspectorError):
            return
        self._keep(found)
        if self._looked == found.key:
            self._underway = found.key
            self._see(found, state)

    def _see(self, found: Previews, state: State) -> None:
        """Work out what is missing next, while the playhead stays here."""
        if self._underway != found.key:
            return
        if found.is_complete or _key(self._bench.state) != found.key:
            self._underway = None
            return
        if not found.missing:
            self._see_due_run(found, state)
            return
        tier = found.missing[0]

        def seen(preview: Preview) -> None:
            self._grow(found, state, lambda known: known.with_preview(preview))

        def job() -> Preview:
            forced = chosen_moment(found.policy, state.choices, *ground_of(state), tier)
            answer = with_recorded_files(offline, *ground_of(state))
            return preview(found.policy, tier, replace(found.context, moment=forced), found.place, answer)

        self._bench.work(job, seen)

    def _see_due_run(self, found: Previews, state: State) -> None:
        """Find out which of several tiers that are due would still fire, one after the other."""

        def seen(tiers: tuple[str, ...] | InspectorError) -> None:
            fired = found.due if isinstance(tiers, InspectorError) else tiers
            self._grow(found, state, lambda known: replace(known, due_run=fired))

        def job() -> tuple[str, ...]:
            return fired_when_due(found.policy, found.context, with_recorded_files(offline, *ground_of(state)))

        if len(found.due) < 2:
            seen(found.due)
        else:
            self._bench.work(lambda: attempt(job), seen)

    def _grow(self, found: Previews, state: State, change: Callable[[Previews], Previews]) -> None:
        grown = change(self._known.get(found.key, found))
        self._keep(grown)
        self._see(grown, state)

    def _keep(self, found: Previews) -> None:
        session = self._bench.state.session
        if session is not self._session:  # those of another would keep all of it in memory
            threads = {SameObject(thread) for thread in session.threads} if session else set()
            self._known = {key: kept for key, kept in self._known.items() if key[0] in threads}
            self._session = session
        self.remember(found)
        if _key(self._bench.state) == found.key:
            self._bench.show(self.settled(self._bench.state))

    def remember(self, found: Previews) -> None:
        """Keep what was worked out, for when the State stands there."""
        self._known.pop(found.key, None)
        while len(self._known) >= KEPT:
            del self._known[next(iter(self._known))]
        self._known[found.key] = found

    def point(self, tier: str | None) -> None:
        """Look at the preview of a tier; empty = at none; None = as `looked_at` chooses."""
        state = self._bench.state
        if state.pointed != tier:
            self._bench.show(self.settled(replace(state, pointed=tier)))
