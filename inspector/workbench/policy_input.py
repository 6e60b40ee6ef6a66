"""Where a step starts: the policy's settings, what it may know, the steps where we stand, the tier of a number key.

Read from the State.
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
    """The chosen policy. Raises InspectorError."""
    return find_policy(state.choices.policy)


def settings_of(state: State) -> Any:
    """The chosen policy's settings where we stand. Raises InspectorError."""
    return settings_for(policy_of(state), state.choices.settings, window_of(state), client_of(state))


def preset_of(state: State, by: Policy[Any, Any]) -> SettingPairs:
    """Settings that hold before those that the user chose: by the session's client, and by the user's window."""
    return preset(by, window_of(state), client_of(state))


def window_of(state: State) -> Window:
    """The model's window where we stand."""
    if state.user_window is not None:
        return Window(state.user_window, "user")
    return state.window or NO_WINDOW


def client_of(state: State) -> str:
    """The program that wrote the open session; empty while nothing is open."""
    return state.session.client if state.session is not None else ""


def sizer_of(state: State) -> Sizer:
    """What measures every buffer that is shown where we stand. Call it only while something is open."""
    return sizer_at(state, state.steps.at if state.steps is not None else ORIGIN)


def sizer_at(state: State, at: int) -> Sizer:
    """The same at a step (or ORIGIN) of the tree where we stand."""
    if state.branch is not None and state.steps is not None and state.steps.is_before(at):
        return state.branch.sizes.before
    assert state.pressures is not None
    return sizer(state.pressures, state.at)


def call_place_of(state: State, size: Sizer) -> CallPlace:
    """What measures every buffer where we stand, and prices the model calls. Call it only while something is open."""
    thread, pressures = state.thread, state.pressures
    assert thread is not None
    assert pressures is not None
    side_calls = state.session.side_calls if state.session is not None else ()
    return call_place(thread, side_calls, state.place, pressures, size)


def step_rows_of(state: State) -> Sequence[StepRow]:
    """The rows of the tree where we stand; none where there is none. O(messages x steps)."""
    steps, pressures = state.steps, state.pressures
    if steps is None or pressures is None:
        return ()
    return step_rows(steps, sizer(pressures, state.at), sizer_at(state, ORIGIN))


def ground_of(state: State) -> tuple[Thread, int]:
    """The thread and the place in it whose buffer our steps start from: where the recording changed it, and we stand
    before that, the end of the thread as it stood then."""
    thread, steps = state.thread, state.steps
    assert thread is not None
    if steps is not None and steps.recorded is not None and steps.is_before(steps.at):
        return steps.recorded.thread, steps.recorded.request
    return thread, state.place


def summary_of(state: State) -> str:
    """The session memory for L2 where we stand; call it only while something is open."""
    return summary_at(state.choices, *ground_of(state))


def context_of(state: State, tier: str = "", steps: Steps | None = None) -> PolicyContext[Any, Any]:
    """What the chosen policy goes by where we stand. O(messages) where no step was taken. Raises InspectorError.

    Args:
        tier: the tier that is to be run by hand.
        steps: the steps to stand in, where the caller has them; None = `start_of(state)`.
    """
    by = policy_of(state)
    steps = start_of(state) if steps is None else steps
    moment = chosen_moment(by, state.choices, *ground_of(state), tier)
    return PolicyContext(steps.buffer, settings_of(state), steps.state, moment, window_of(state).tokens)


def start_of(state: State) -> Steps:
    """The policy's steps where we stand; new ones, from the recorded buffer, where it took none. O(messages). Raises
    InspectorError."""
    if state.taken is not None:
        return state.taken
    by, thread, change = policy_of(state), state.thread, change_of(state)
    assert thread is not None
    if change is not None:
        return recorded_tree(thread, state.at, by, settings_of(state), change)
    start = context_at(by, state.choices, thread, state.place, window_of(state), client_of(state))
    return Steps(state.thread_id, state.at, by.reference, start.buffer, start.running)


def change_of(state: State) -> "RecordedStep | None":
    """What the recording did to the buffer in front of the request we look at; None where it only grew. O(messages)."""
    from inspector.core.findings.recorded_step import recorded_step  # not before something is open

    if state.branch is not None:
        return state.branch.steps.recorded
    thread, drops = state.thread, state.drops
    if thread is None or drops is None or drops.thread != thread.id:
        return None
    return recorded_step(thread, drops, state.place)


def recorded_tree(
    thread: Thread, request: int | None, by: Policy[Any, Any], settings: Any, change: "RecordedStep"
) -> Steps:
    """The tree with the recorded change as its only step, as the policy has the two buffers; we stand at it."""
    at = change.request
    started, running = (running_at(by, settings, one, at) for one in (change.thread, thread))
    outcome = replace(change.outcome, buffer=buffer_at(by, thread, at), running=running)
    moment = moment_at(change.thread, at)
    step = Step(f"as recorded: {change.name}", "", ORIGIN, settings, moment, (outcome,), recorded=change)
    return Steps(thread.id, request, by.reference, buffer_at(by, change.thread, at), started).add(step)


def called_at(state: State) -> RecordedCall:
    """The recorded call at the request where we stand, with what it brought; an empty one after the last record."""
    thread, request = state.thread, state.request
    if thread is None or request is None:
        return RecordedCall()
    following = thread.requests[state.place + 1 : state.place + 2]
    after = following[0] if following else Request(state.place + 1, thread.end)
    _, brought = additions((request, after))
    return RecordedCall(brought, request.usage, request.finish)


_NUMBER = re.compile(r"\d+")


def tier_of(state: State, number: int) -> str:
    """The tier of that number in the chosen policy; empty where there is none.

    Where several share it (L3a, L3b): the one that is due, else the one for the chosen kind of provider, first for one
    that can compact remotely.
    """
    names = [tier.name for tier in policy_of(state).tiers]
    numbers = [int(found[0]) if (found := _NUMBER.search(name)) else None for name in names]
    if not any(one is not None for one in numbers):
        return names[number] if 0 <= number < len(names) else ""
    sharing = [name for name, one in zip(names, numbers, strict=True) if one == number]
    if not sharing:
        return ""
    due = {verdict.tier for verdict in state.previews.verdicts if verdict.due} if state.previews else set()
    return next((name for name in sharing if name in due), sharing[0 if state.choices.remote else -1])
