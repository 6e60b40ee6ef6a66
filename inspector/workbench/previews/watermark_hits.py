"""The ghosts of steps on the timeline: what each step on the way to where we stand did to the pressure."""

from dataclasses import dataclass

from inspector.core.tokens.pressure import Pressures
from inspector.core.tokens.sizing import sizer
from inspector.workbench.state.state import State
from inspector.workbench.state.steps import Steps


@dataclass(frozen=True, slots=True)
class Ghost:
    """One step, at request `at` (None = behind the last record): from `before` to `after` tokens."""

    at: int | None
    name: str
    before: int
    after: int
    """Both as the gauge shows them: what was reported or predicted, and what the next prompt would be instead."""


def ghosts(state: State) -> tuple[Ghost, ...]:
    """Of every place of the chosen thread where the chosen policy took steps, along the path to where each stands."""
    wanted = (state.thread_id, state.choices.policy)
    places = [steps for (thread, _, by), steps in state.trees.items() if (thread, by) == wanted]
    pressures = state.pressures
    return tuple(ghost for steps in places for ghost in _path(steps, pressures)) if pressures is not None else ()


def _path(steps: Steps, pressures: Pressures) -> list[Ghost]:
    size = sizer(pressures, steps.request)
    before, found = size.tokens(steps.origin), []
    for step in (steps.taken[n] for n in steps.path()):
        after = size.tokens(step.buffer)
        found.append(Ghost(steps.request, step.name, before, after))
        before = after
    return found
