"""What the step that is shown cost and freed, by the same rules as the previews of tiers."""

from inspector.workbench.policy_input import call_place_of, sizer_of
from inspector.workbench.previews import Preview, weigh
from inspector.workbench.state import State


def step_cost(state: State) -> Preview | None:
    """Weigh the step that is shown; None if there is none. O(messages)."""
    step, steps = state.shown_step, state.steps
    if step is None or steps is None:
        return None
    place = call_place_of(state, sizer_of(state))
    before = steps.buffer_of(step.parent)
    return weigh(step.name, before, step.buffer, step.asked, place, step.moment.cache_ttl_s)
