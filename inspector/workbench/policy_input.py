"""Where a step starts: the policy's settings, what it may know, and the steps where we stand. Read from the State."""

from typing import Any

from inspector.core.policies.catalogue import policy
from inspector.core.policies.policy import Moment
from inspector.core.policies.settings import said
from inspector.core.policies.start import buffer_at, moment_at, recorded_summary, running_at
from inspector.core.replay.driver import additions
from inspector.core.session import Request
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.workbench.state.state import State
from inspector.workbench.state.steps import Called, Steps


def settings_of(state: State) -> Any:
    """The policy's settings: the window where we stand, then what the user set. Raises InspectorError."""
    window = state.window.tokens if state.window else None
    return policy(state.choices.policy).settings((*said(state.user_window), *state.choices.settings), window)


def sizer_of(state: State) -> Sizer:
    """What measures every buffer that is shown where we stand. Call it only while something is open."""
    assert state.pressures is not None
    return sizer(state.pressures, state.at)


def summary_of(state: State) -> str:
    """The session memory at hand: what the user typed, or the newest summary that the session had recorded by here."""
    thread, choices = state.thread, state.choices
    if choices.recorded and thread is not None:
        return recorded_summary(thread, state.place)
    return choices.summary


def moment_of(state: State, tier: str = "") -> Moment:
    """What the policy may know where we stand."""
    thread, choices = state.thread, state.choices
    assert thread is not None
    return moment_at(
        thread,
        state.place,
        remote=choices.remote,
        summary=summary_of(state),
        instructions=choices.instructions,
        overflow="forced by hand" if tier.lower() == "l4" else "",
    )


def start_of(state: State) -> Steps:
    """The policy's steps where we stand; new ones, from the recorded buffer, where it took none."""
    if state.steps is not None:
        return state.steps
    by = policy(state.choices.policy)
    thread = state.thread
    assert thread is not None
    running = running_at(by, settings_of(state), thread, state.place)
    return Steps(state.thread_id, state.at, by.name, buffer_at(by, thread, state.place), running)


def called_at(state: State) -> Called:
    """The recorded call at the request where we stand, with what it brought; an empty one behind the last record."""
    thread, request = state.thread, state.request
    if thread is None or request is None:
        return Called()
    following = thread.requests[state.place + 1 : state.place + 2]
    after = following[0] if following else Request(state.place + 1, thread.end)
    _, brought = additions((request, after))
    return Called(brought, request.usage, request.finish)
