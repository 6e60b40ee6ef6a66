"""The ghosts of steps on the timeline: what each step on the way to where we stand did to the pressure."""

from dataclasses import dataclass

from inspector.core.policies.catalogue import policy
from inspector.workbench.state import State
from inspector.workbench.steps import Step, Steps


@dataclass(frozen=True, slots=True)
class Ghost:
    """One step, at request `at` (None = behind the last record): from `before` to `after` tokens."""

    at: int | None
    name: str
    before: int
    after: int
    """Both by the policy's own calibrated measure: estimated."""


def ghosts(state: State) -> tuple[Ghost, ...]:
    """Of every place of the chosen thread where the chosen policy took steps, along the path to where each stands."""
    wanted = (state.thread_id, state.choices.policy)
    places = [steps for (thread, _, by), steps in state.trees.items() if (thread, by) == wanted]
    return tuple(ghost for steps in places for ghost in _path(steps))


def _path(steps: Steps) -> list[Ghost]:
    taken = [steps.taken[n] for n in steps.path()]
    if not taken:
        return []
    by = policy(steps.policy)
    before = by.measure(steps.origin, taken[0].settings, steps.running)[1]
    found = []
    for step in taken:
        after = measured(steps, step)[1]
        found.append(Ghost(steps.request, step.name, before, after))
        before = after
    return found


def measured(steps: Steps, step: Step) -> tuple[int, int]:
    """(raw, calibrated) tokens of the buffer behind a step, by the policy's own measure. O(messages)."""
    return policy(steps.policy).measure(step.buffer, step.settings, step.running)
