"""Compute the previews at the current place in the background, and cache the last few. No step is taken."""

from collections.abc import Callable
from dataclasses import replace

from inspector.core.answering import offline
from inspector.core.errors import InspectorError
from inspector.core.identity import SameObject
from inspector.core.policies.instructions import acting
from inspector.core.policies.place import chosen_moment
from inspector.core.replay.files import with_recorded_files
from inspector.core.session import Session
from inspector.workbench.policy_input import (
    call_place_of,
    context_of,
    ground_of,
    policy_of,
    sizer_of,
)
from inspector.workbench.previews import Preview, Previews, fired_when_due, preview, weigh
from inspector.workbench.state import Bench, State, attempt
from inspector.workbench.steps import ORIGIN

KEPT = 24
"""Number of cached previews, so that moving back and forth, undo and redo compute none again."""


def _key(state: State) -> tuple[object, ...]:
    """Return everything that the previews of a State depend on. O(1)."""
    steps = state.taken
    choices = state.choices
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
    """Return the verdicts at the current place, without previews yet. O(messages).

    Raises InspectorError for impossible settings.
    """
    context = context_of(state)
    size = sizer_of(state)
    policy = acting(policy_of(state), context)
    verdicts = policy.due(context)
    estimated, _ = policy.measure(context)
    shown_tokens = size.pressure_of(context.buffer).tokens or 0
    place = call_place_of(state, size)
    return Previews(
        _key(state),
        policy=policy,
        context=context,
        estimated=estimated,
        tokens=policy.believed(context, verdicts),
        place=place,
        verdicts=verdicts,
        shown_tokens=shown_tokens,
    )


def looked_at(state: State, known_previews: Previews | None) -> str:
    """Return the tier whose preview is shown in `state`; empty if a step is shown instead.

    A tier that waits for an answer comes first, then the tier that the user selected. Without either, the suggested
    tier is shown; but if a step was taken or recorded here, the step is shown.
    """
    if state.asking is not None:
        return state.asking.tier
    if state.pointed is not None:
        return state.pointed
    steps = state.steps
    shows_step = steps is not None and steps.at != ORIGIN
    return "" if known_previews is None or shows_step else known_previews.suggested


def step_cost(state: State) -> Preview | None:
    """Compute the cost of the shown step, as for the tiers; None if no step is shown. O(messages)."""
    step = state.shown_step
    steps = state.steps
    if step is None or steps is None:
        return None
    place = call_place_of(state, sizer_of(state))
    before = steps.buffer_of(step.parent)
    return weigh(step.name, before, step.buffer, step.asked, place, step.moment.cache_ttl_s)


class PreviewWorker:
    """Computes and caches previews. Held by the Workbench as `previews`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._known: dict[tuple[object, ...], Previews] = {}
        self._session: Session | None = None
        """The session of the cached previews."""
        self._underway: tuple[object, ...] | None = None
        self._stop: Callable[[], object] | None = None
        """Cancels the job that computes verdicts."""
        self._looked: tuple[object, ...] | None = None
        """The key of the place whose previews were requested, not only its verdicts."""

    def settled(self, state: State) -> State:
        """Return `state` with the cached previews of its place, if any, and the preview that is shown."""
        known_previews = self._known.get(_key(state)) if state.thread is not None else None
        if known_previews is not None:
            seen = known_previews.by_tier.get(looked_at(state, known_previews))
        else:
            seen = None
        if known_previews is state.previews and seen is state.preview:
            return state
        return replace(state, previews=known_previews, preview=seen)

    def look(self) -> None:
        """Compute what every tier would do at the current place: verdicts first, then one preview after the other."""
        state = self._bench.state
        if state.thread is None:
            return
        self._looked = _key(state)
        known_previews = self._known.get(self._looked)
        if known_previews is None:
            self.judge()
        elif known_previews.missing and self._underway != self._looked:
            self._underway = self._looked
            self._preview_next_tier(known_previews, state)

    def judge(self) -> None:
        """Compute the verdicts at the current place, and the policy's own count. O(messages), in the background."""
        state = self._bench.state
        key = _key(state)
        if state.thread is None or key in self._known or self._underway == key:
            return
        self._underway = key
        if self._stop is not None:
            self._stop()  # the verdicts of another place are no longer needed
        self._stop = self._bench.work(
            lambda: attempt(lambda: previews(state)),
            lambda arrived_previews: self._accept_previews(arrived_previews, state),
        )

    def _accept_previews(self, arrived_previews: Previews | InspectorError, state: State) -> None:
        if self._underway == _key(state):
            self._underway = None
        if isinstance(arrived_previews, InspectorError):
            return
        self._keep(arrived_previews)
        if self._looked == arrived_previews.key:
            self._underway = arrived_previews.key
            self._preview_next_tier(arrived_previews, state)

    def _preview_next_tier(self, current: Previews, state: State) -> None:
        """Compute the next missing preview, unless the user has left this place."""
        if self._underway != current.key:
            return
        if current.is_complete or _key(self._bench.state) != current.key:
            self._underway = None
            return
        if not current.missing:
            self._see_due_run(current, state)
            return
        tier = current.missing[0]

        def seen(preview: Preview) -> None:
            self._grow(current, state, lambda latest: latest.with_preview(preview))

        def job() -> Preview:
            forced = chosen_moment(current.policy, state.choices, *ground_of(state), tier)
            answer = with_recorded_files(offline, *ground_of(state))
            return preview(
                current.policy,
                tier,
                context=replace(current.context, moment=forced),
                place=current.place,
                answer=answer,
            )

        self._bench.work(job, seen)

    def _see_due_run(self, current: Previews, state: State) -> None:
        """Find out which of the due tiers would still fire if they were run one after the other."""

        def seen(tiers: tuple[str, ...] | InspectorError) -> None:
            fired = current.due if isinstance(tiers, InspectorError) else tiers
            self._grow(current, state, lambda latest: replace(latest, due_run=fired))

        def job() -> tuple[str, ...]:
            return fired_when_due(
                current.policy, current.context, with_recorded_files(offline, *ground_of(state))
            )

        if len(current.due) < 2:
            seen(current.due)
        else:
            self._bench.work(lambda: attempt(job), seen)

    def _grow(
        self, current: Previews, state: State, change: Callable[[Previews], Previews]
    ) -> None:
        grown = change(self._known.get(current.key, current))
        self._keep(grown)
        self._preview_next_tier(grown, state)

    def _keep(self, current: Previews) -> None:
        session = self._bench.state.session
        if session is not self._session:  # cached previews would keep the other session in memory
            threads = {SameObject(thread) for thread in session.threads} if session else set()
            self._known = {
                key: old_previews for key, old_previews in self._known.items() if key[0] in threads
            }
            self._session = session
        self.remember(current)
        if _key(self._bench.state) == current.key:
            self._bench.show(self.settled(self._bench.state))

    def remember(self, current: Previews) -> None:
        """Cache previews for the next time that the State is at their place."""
        self._known.pop(current.key, None)
        while len(self._known) >= KEPT:
            del self._known[next(iter(self._known))]
        self._known[current.key] = current

    def point(self, tier: str | None) -> None:
        """Select the preview to show: that of `tier`; empty for none; None to let `looked_at` choose."""
        state = self._bench.state
        if state.pointed != tier:
            self._bench.show(self.settled(replace(state, pointed=tier)))
