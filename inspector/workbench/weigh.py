"""What the State needs worked out: the pressures of the chosen thread."""

from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.workbench.composition import weigh_categories
from inspector.workbench.state import State


def weigh(state: State) -> Pressures | None:
    """Pressures of the chosen thread by the chosen estimator; None while nothing is open.

    O(messages) the first time, O(requests) after: weights are cached. Raises UnknownEstimator.
    """
    thread = state.thread
    if thread is None:
        return None
    measure = estimator(state.estimator)
    weigh_categories(thread, measure)
    return thread_pressures(thread, measure, state.pressures)
