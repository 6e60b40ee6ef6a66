"""Where a step starts: the policy's settings, what it may know, the steps where we stand, the tier of a number key.

Read from the State.
"""

import re
from typing import Any

from inspector.core.policies.catalogue import policy
from inspector.core.policies.settings import said
from inspector.core.policies.start import buffer_at, moment_at, recorded_summary, running_at
from inspector.core.policies.verdict import PolicyInput
from inspector.core.replay.driver import additions
from inspector.core.session import Request
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.workbench.state import State
from inspector.workbench.steps import RecordedCall, Steps


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


def moment_of(state: State, tier: str = "") -> PolicyInput:
    """What the policy may know where we stand."""
    thread, choices = state.thread, state.choices
    assert thread is not None
    return moment_at(
        thread,
        state.place,
        remote=choices.remote,
        summary=summary_of(state),
        instructions=choices.instructions,
        overflow="forced by hand" if policy(choices.policy).needs_overflow(tier) else "",
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
    names = [tier.name for tier in policy(state.choices.policy).tiers]
    numbers = [int(found[0]) if (found := _NUMBER.search(name)) else None for name in names]
    if not any(one is not None for one in numbers):
        return names[number] if 0 <= number < len(names) else ""
    sharing = [name for name, one in zip(names, numbers, strict=True) if one == number]
    if not sharing:
        return ""
    due = {verdict.tier for verdict in state.previews.verdicts if verdict.due} if state.previews else set()
    return next((name for name in sharing if name in due), sharing[0 if state.choices.remote else -1])
