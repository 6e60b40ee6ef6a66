"""What the State needs worked out: the pressures of the chosen thread, and the window where we stand."""

from collections.abc import Mapping

from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.core.tokens.windows import Window, find_window
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
    window_at(state)  # the catalogue is loaded when it is first asked
    return thread_pressures(thread, measure, state.pressures)


def window_at(state: State, windows: Mapping[str, int] | None = None) -> Window | None:
    """The window at the request we look at, the user's word first; None while nothing is open.

    `windows`: the user's own table, by model.
    """
    if state.session is None or state.thread is None:
        return None
    return find_window(state.session, state.thread, state.at, state.user_window, windows)
