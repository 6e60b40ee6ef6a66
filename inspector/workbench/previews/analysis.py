"""What the State needs worked out: the pressures of the chosen thread, and where its buffer lost something."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, thread_pressures
from inspector.workbench.composition import weigh_categories
from inspector.workbench.state.state import State

if TYPE_CHECKING:
    from inspector.core.drops import Drops


@dataclass(frozen=True, slots=True)
class Weighed:
    """Of the chosen thread; None while nothing is open."""

    pressures: Pressures | None = None
    drops: "Drops | None" = None


def weigh(state: State) -> Weighed:
    """The pressures of the chosen thread by the chosen estimator, and its drops.

    O(messages) the first time, O(requests) after: weights are cached. Raises UnknownEstimator.
    """
    from inspector.core.drops import thread_drops  # not before something is open

    thread = state.thread
    if thread is None:
        return Weighed()
    measure = estimator(state.estimator)
    weigh_categories(thread, measure)
    drops = thread_drops(thread, state.session, state.drops)
    return Weighed(thread_pressures(thread, measure, state.pressures), drops)
