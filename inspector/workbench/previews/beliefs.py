"""What the chosen policy believes at every request of the thread, and how far that is from what was reported."""

from dataclasses import dataclass
from itertools import islice

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Watermark
from inspector.core.policies.start import believed_at
from inspector.core.session import Thread
from inspector.core.tokens.pressure import Pressures
from inspector.workbench.policy_input import settings_of
from inspector.workbench.state.outlook import Same
from inspector.workbench.state.state import Believed, State

_MOST = 30_000_000
"""Messages to look at over all requests, for a policy whose measure is no running sum; beyond it nothing is drawn."""


def wanted(state: State) -> tuple[object, ...] | None:
    """All that the beliefs depend on; None until that is known. O(1)."""
    if state.thread is None or state.pressures is None or state.window is None:
        return None
    choices = state.choices
    return Same(state.thread), choices.policy, choices.settings, state.window.tokens, state.user_window


def beliefs(state: State) -> Believed:
    """Of every request. O(requests) for a harness that calibrates an estimator, O(requests x messages) for others;
    what the last ones still hold is taken over."""
    thread, by = state.thread, policy(state.choices.policy)
    whose = wanted(state)
    assert thread is not None
    assert whose is not None
    try:
        settings = settings_of(state)
    except InspectorError:
        return Believed(whose, thread)
    start = _kept(state.believed, whose, thread)
    left = islice(thread.requests, len(start), None)
    if by.prompt_estimator is None and sum(len(request.view) for request in left) > _MOST:
        return Believed(whose, thread)
    more = (believed_at(by, settings, thread, n) for n in range(len(start), len(thread.requests)))
    return Believed(whose, thread, (*start, *more))


def _kept(former: Believed | None, whose: tuple[object, ...], thread: Thread) -> tuple[int, ...]:
    """Those of a shorter state of the same thread, as far as its requests are the same."""
    if former is None or former.whose[1:] != whose[1:] or former.thread.id != thread.id:
        return ()
    same = min(len(former.tokens), len(thread.requests))
    while same and former.thread.requests[same - 1] is not thread.requests[same - 1]:
        same -= 1
    return former.tokens[:same]


@dataclass(frozen=True, slots=True)
class Lateness:
    """When a line is crossed for the first time, by what was reported and by what the policy believes."""

    line: Watermark
    reported: int | None
    """Index of the request; None = never."""
    believed: int | None

    @property
    def words(self) -> str:
        """`fires 31 requests late`; empty where nothing is to be said."""
        match self.reported, self.believed:
            case None, None:
                return ""
            case int(), None:
                return "never fires"
            case None, int():
                return "fires although the line is never reached"
            case int(true), int(own) if own == true:
                return ""
            case int(true), int(own):
                count = abs(own - true)
                return f"fires {count:,} request{'s' * (count != 1)} {'late' if own > true else 'early'}"
        return ""


def lateness(line: Watermark, pressures: Pressures, believed: tuple[int, ...]) -> Lateness:
    """Of one line. O(requests)."""
    least = line.least  # asked once: there may be very many requests
    reported = (one.reported for one in pressures)
    true = next((n for n, tokens in enumerate(reported) if tokens is not None and tokens >= least), None)
    return Lateness(line, true, next((n for n, tokens in enumerate(believed) if tokens >= least), None))
