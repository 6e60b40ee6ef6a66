"""Read from the State what a step starts from: the policy's settings, its knowledge, the current steps, and the tier
of a number key.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.place import (
    NO_WINDOW,
    buffer_at,
    chosen_moment,
    context_at,
    moment_at,
    preset,
    running_at,
    settings_for,
    summary_at,
)
from inspector.core.policies.settings import SettingPairs
from inspector.core.replay.costs import call_place
from inspector.core.replay.summary_calls import CallPlace
from inspector.core.session import Request, Thread, additions
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.tokens.windows import Window
from inspector.extensions.policies import find_policy
from inspector.workbench.state import State
from inspector.workbench.step_rows import StepRow, step_rows
from inspector.workbench.steps import ORIGIN, RecordedCall, Step, Steps

if TYPE_CHECKING:
    from inspector.core.findings.recorded_step import RecordedStep


def policy_of(state: State) -> Policy[Any, Any]:
    """Return the chosen policy. Raises InspectorError."""
    return find_policy(state.choices.policy)


def settings_of(state: State) -> Any:
    """Return the chosen policy's settings at the current place. Raises InspectorError."""
    return settings_for(
        policy_of(state),
        pairs=state.choices.settings,
        window=window_of(state),
        client=client_of(state),
    )


def preset_of(state: State, policy: Policy[Any, Any]) -> SettingPairs:
    """Return the settings that apply before the user's own: those for the session's client and for the user's
    window.
    """
    return preset(policy, window_of(state), client_of(state))


def window_of(state: State) -> Window:
    """Return the model's window at the current place."""
    if state.user_window is not None:
        return Window(state.user_window, "user")
    return state.window or NO_WINDOW


def client_of(state: State) -> str:
    """Return the program that wrote the open session; empty while nothing is open."""
    return state.session.client if state.session is not None else ""


def sizer_of(state: State) -> Sizer:
    """Return the sizer of the buffer shown at the current place. Call it only while something is open."""
    return sizer_at(state, state.steps.at if state.steps is not None else ORIGIN)


def sizer_at(state: State, at: int) -> Sizer:
    """Return the sizer for the buffer after a step of the current tree; ORIGIN is the buffer before any step."""
    if state.branch is not None and state.steps is not None and state.steps.is_before(at):
        return state.branch.sizes.before
    assert state.pressures is not None
    return sizer(state.pressures, state.at)


def call_place_of(state: State, size: Sizer) -> CallPlace:
    """Return the sizer and the prices of model calls at the current place. Call it only while something is open."""
    thread = state.thread
    pressures = state.pressures
    assert thread is not None
    assert pressures is not None
    side_calls = state.session.side_calls if state.session is not None else ()
    return call_place(thread, side_calls, at=state.place, pressures=pressures, size=size)


def step_rows_of(state: State) -> Sequence[StepRow]:
    """Return the rows of the current tree; empty if there is none. O(messages x steps)."""
    steps = state.steps
    pressures = state.pressures
    if steps is None or pressures is None:
        return ()
    return step_rows(steps, sizer(pressures, state.at), sizer_at(state, ORIGIN))


def ground_of(state: State) -> tuple[Thread, int]:
    """Return the thread and the request whose buffer the steps start from.

    Before a recorded change, that is the end of the thread as it was before the change.
    """
    thread = state.thread
    steps = state.steps
    assert thread is not None
    if steps is not None and steps.recorded is not None and steps.is_before(steps.at):
        return steps.recorded.thread, steps.recorded.request
    return thread, state.place


def summary_of(state: State) -> str:
    """Return the session memory for L2 at the current place. Call it only while something is open."""
    return summary_at(state.choices, *ground_of(state))


def context_of(state: State, tier: str = "", steps: Steps | None = None) -> PolicyContext[Any, Any]:
    """Return the buffer, settings and knowledge of the chosen policy at the current place. Raises InspectorError.

    O(messages) if no step was taken.

    Args:
        state: The State.
        tier: The tier that is run manually.
        steps: The current steps, if the caller has them; None: `start_of(state)`.
    """
    policy = policy_of(state)
    steps = start_of(state) if steps is None else steps
    moment = chosen_moment(policy, state.choices, *ground_of(state), tier)
    return PolicyContext(
        steps.buffer,
        settings_of(state),
        running=steps.state,
        moment=moment,
        window=window_of(state).tokens,
    )


def start_of(state: State) -> Steps:
    """Return the policy's steps at the current place; if there are none, new ones from the recorded buffer.
    O(messages).

    Raises InspectorError.
    """
    if state.taken is not None:
        return state.taken
    policy = policy_of(state)
    thread = state.thread
    change = change_of(state)
    assert thread is not None
    if change is not None:
        return recorded_tree(
            thread, request=state.at, policy=policy, settings=settings_of(state), change=change
        )
    start = context_at(
        policy,
        state.choices,
        thread,
        at=state.place,
        window=window_of(state),
        client=client_of(state),
    )
    return Steps(
        state.thread_id,
        request=state.at,
        policy=policy.reference,
        origin=start.buffer,
        running=start.running,
    )


def change_of(state: State) -> "RecordedStep | None":
    """Return what the recording did to the buffer before the current request; None if it only grew. O(messages)."""
    from inspector.core.findings.recorded_step import recorded_step  # not before something is open

    if state.branch is not None:
        return state.branch.steps.recorded
    thread = state.thread
    drops = state.drops
    if thread is None or drops is None or drops.thread != thread.id:
        return None
    return recorded_step(thread, drops, state.place)


def recorded_tree(
    thread: Thread,
    request: int | None,
    policy: Policy[Any, Any],
    settings: Any,
    change: "RecordedStep",
) -> Steps:
    """Return the tree with the recorded change as its only and current step, with the policy's two buffers."""
    request_index = change.request
    started = running_at(policy, settings, change.thread, request_index)
    running = running_at(policy, settings, thread, request_index)
    outcome = replace(
        change.outcome, buffer=buffer_at(policy, thread, request_index), running=running
    )
    moment = moment_at(change.thread, request_index)
    step = Step(
        f"as recorded: {change.name}",
        tier="",
        parent=ORIGIN,
        settings=settings,
        moment=moment,
        outcomes=(outcome,),
        recorded=change,
    )
    return Steps(
        thread.id,
        request,
        policy=policy.reference,
        origin=buffer_at(policy, change.thread, request_index),
        running=started,
    ).add(step)


def called_at(state: State) -> RecordedCall:
    """Return the recorded call at the current request with the messages it added; an empty call after the last
    request.
    """
    thread = state.thread
    request = state.request
    if thread is None or request is None:
        return RecordedCall()
    following = thread.requests[state.place + 1 : state.place + 2]
    after = following[0] if following else Request(state.place + 1, thread.end)
    _, brought = additions((request, after))
    return RecordedCall(brought, request.usage, request.finish)


_NUMBER = re.compile(r"\d+")


def tier_of(state: State, number: int) -> str:
    """Return the tier with a number in the chosen policy; empty if there is none.

    If several tiers share the number (L3a, L3b), return the one that is due. If none is due, return the first of them
    when the provider can compact remotely, otherwise the last.
    """
    names = [tier.name for tier in policy_of(state).tiers]
    numbers = {name: int(match[0]) for name in names if (match := _NUMBER.search(name))}
    if not numbers:
        return names[number] if 0 <= number < len(names) else ""
    sharing = [name for name, own_number in numbers.items() if own_number == number]
    if not sharing:
        return ""
    due = state.previews.due if state.previews is not None else ()
    usual = sharing[0] if state.choices.remote else sharing[-1]
    return next((name for name in sharing if name in due), usual)
