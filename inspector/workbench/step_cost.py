"""What the step that is shown cost and freed, by the same rules as the previews of tiers."""

from inspector.workbench.policy_input import call_place_of, sizer_of
from inspector.workbench.previews import Preview, weigh
from inspector.workbench.state import State
from inspector.workbench.steps import Step


def shown_step(state: State) -> Step | None:
    """Return the user's step that is shown; None if it is the recorded buffer, or what the recording did itself."""
    steps = state.steps
    if steps is None or steps.step is None or not steps.stepped or steps.step.recorded is not None:
        return None
    return steps.step


def step_cost(state: State) -> Preview | None:
    """Weigh the step that is shown; None if there is none. O(messages)."""
    step, steps = shown_step(state), state.steps
    if step is None or steps is None:
        return None
    place = call_place_of(state, sizer_of(state))
    before = steps.buffer_of(step.parent)
    return weigh(step.name, before, step.buffer, step.asked, place, step.moment.cache_ttl_s)
