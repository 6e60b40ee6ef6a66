"""Make the `PolicyContext` of a policy at a point of a session. No other module makes one.

Window, commands, sweep, replay, proxy and agent get from here the settings that apply, the harness's buffer, its
calibration and other state at that point, its further input, and its own count of the buffer.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from inspector.core.buffer import Buffer, View
from inspector.core.errors import InspectorError
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy
from inspector.core.policies.instructions import acting
from inspector.core.policies.settings import SettingPairs, has_setting, window_pairs
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.session import Filed, PolicyState, Request, Thread
from inspector.core.tokens.believing import known_counts
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.tokens.windows import Window
from inspector.core.usage import cache_ttl

FAILED = ("error", "aborted")
"""Finish reasons of a call without a usable answer."""
FORCED = "forced by hand"
"""The overflow text for a tier that needs an overflow but is run manually."""
NO_WINDOW = Window(tokens=None, source="unknown")
_LOOK = 64
"""Number of requests to search backwards for usage."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """The user's choices for a policy. The other fields of a `PolicyContext` follow from the point in the session."""

    settings: SettingPairs = ()
    """(name, value) pairs that override the policy's defaults, as `--set` takes them."""
    remote: bool = False
    """True if the provider can compact remotely."""
    summary: str = ""
    """The session memory for Roku's tier L2."""
    recorded: bool = False
    """Use the newest summary that the session had recorded at that point instead of `summary`."""
    instructions: str = ""
    """The user's instructions for a manual compaction."""


def preset(policy: Policy[Any, Any], window: Window, client: str = "") -> SettingPairs:
    """Return the settings that apply unless overridden.

    These are the settings that follow from the client that wrote the session (`Session.client`), and the model's window
    if the user set it, which then applies to every policy.
    """
    return (
        *policy.of_client(client),
        *window_pairs(window.tokens if window.source == "user" else None),
    )


def settings_for(
    policy: Policy[Any, Any], pairs: SettingPairs, window: Window, client: str = ""
) -> Any:
    """Return the policy's settings: the preset ones, overridden by `pairs`. Raises InspectorError."""
    return _parsed(policy, (*preset(policy, window, client), *pairs), window.tokens)


@lru_cache(maxsize=64)
def _parsed(policy: Policy[Any, Any], pairs: SettingPairs, window: int | None) -> Any:
    """Parse the settings. Cached, because every panel needs them at each step of the playhead."""
    return policy.settings(pairs, window)


def own_pairs(policy: Policy[Any, Any], pairs: SettingPairs) -> SettingPairs:
    """Return the pairs that name a setting of this policy, because `--set` may address several policies."""
    settings = policy.settings()
    return tuple(pair for pair in pairs if has_setting(settings, pair[0]))


def context_at(
    policy: Policy[Any, Any],
    choice: PolicyChoice,
    thread: Thread,
    at: int,
    window: Window = NO_WINDOW,
    client: str = "",
    tier: str = "",
) -> PolicyContext[Any, Any]:
    """Return the policy's context before request `at`; `len(requests)` means after the last request. O(messages).

    Args:
        client: The program that wrote the session (`Session.client`).
        tier: The tier that is run manually; empty for none.

    Raises:
        InspectorError: A setting is impossible.
    """
    settings = settings_for(policy, pairs=choice.settings, window=window, client=client)
    moment = chosen_moment(policy, choice, thread, at, tier)
    running = running_at(policy, settings, thread, at)
    return PolicyContext(
        buffer_at(policy, thread, at), settings, running, moment, window=window.tokens
    )


def chosen_moment(
    policy: Policy[Any, Any], choice: PolicyChoice, thread: Thread, at: int, tier: str = ""
) -> PolicyInput:
    """Return the policy's further input before request `at`, with the user's choices. `tier` as in `context_at`."""
    return moment_at(
        thread,
        at,
        remote=choice.remote,
        summary=summary_at(choice, thread, at),
        instructions=choice.instructions,
        overflow=FORCED if policy.needs_overflow(tier) else "",
    )


def summary_at(choice: PolicyChoice, thread: Thread, at: int) -> str:
    """Return the session memory for Roku's L2: the user's text, or the newest summary recorded at that point."""
    return recorded_summary(thread, at) if choice.recorded else choice.summary


def moment_at(thread: Thread, at: int, **more: Any) -> PolicyInput:
    """Return a policy's further input before request `at`; `len(requests)` means after the last request.

    Args:
        more: Fields of `PolicyInput` that the user chose.
    """
    requests = thread.requests
    last = requests[at - 1] if 0 < at <= len(requests) else None
    model = requests[at].model if at < len(requests) else ""
    newest_first = range(at - 1, max(0, at - _LOOK) - 1, -1)
    ttl = cache_ttl(requests[n].usage for n in newest_first)
    agent = "" if thread.id == "main" else thread.id
    moment = PolicyInput(step=at, model=model or thread.model, agent=agent, cache_ttl_s=ttl, **more)
    if last is not None:
        moment = replace(moment, usage=last.usage, finish=last.finish)
    return replace(
        moment,
        reports=reports_at(thread, at),
        filed=filed_at(thread, at),
        keeps_instructions=thread.keeps_instructions,
    )


def filed_at(thread: Thread, at: int) -> Filed:
    """Return the records of the file other than the messages of request `at`. O(compactions)."""
    kept_counts = {
        compaction.summary.id: compaction.kept
        for compaction in thread.compactions
        if compaction.summary is not None
    }
    trailing = thread.trailing if at >= len(thread.requests) else ()
    return Filed(thread.records, trailing, kept_counts)


def reports_at(thread: Thread, at: int) -> tuple[CallReport, ...]:
    """Return `PolicyInput.reports` before request `at`. Reads only a few requests if usage is recorded."""
    newest_first: list[CallReport] = []
    first = max(0, at - _LOOK, *_summaries_until(thread, at))
    for index in range(at - 1, first - 1, -1):
        request = thread.requests[index]
        upto = _last_of_answer(request.view, thread.place(index + 1).view)
        if not upto:
            continue
        newest_first.append(CallReport(upto, request.usage, request.finish, request.model))
        if request.usage is not None and request.finish not in FAILED:
            break
    return tuple(reversed(newest_first))


def _last_of_answer(sent: View, after: View) -> str:
    """Return the id of the last message of the answer to `sent`; empty if `after` does not continue `sent`."""
    length = len(sent)
    if len(after) < length:
        return ""
    last_sent = ""
    if length:
        last_sent = sent.tail(length - 1)[0].id
        if after.tail(length - 1)[0].id != last_sent:
            return ""
    for message in reversed(after.tail(length)):
        if message.role == "assistant":
            return message.id
    return last_sent


def buffer_at(policy: Policy[Any, Any], thread: Thread, at: int) -> Buffer:
    """Return the harness's buffer at request `at`; `len(requests)` means after the last record.

    A harness that counts its prompt knows the tokens not in the file, so they are added, in the harness's own tokens.
    If the harness ran the session itself and the file records its state, the buffer is the recorded one.
    """
    buffer = thread.place(at).buffer()
    if policy.prompt_estimator is None or recorded_state(policy, thread, at) is not None:
        return buffer
    unseen = known_counts(thread, policy.prompt_estimator).at(at).belief.unseen
    return Buffer(buffer.messages, replace(buffer.prompt, unseen=unseen)) if unseen else buffer


def recorded_state(policy: Policy[Any, Any], thread: Thread, at: int) -> PolicyState | None:
    """Return the running state of the policy that the transcript records before request `at`.

    Return None if another policy ran, or none, or if the record is damaged; all numbers can be computed without it.
    """
    state = thread.states[at] if at < len(thread.states) else None
    if state is None or state.policy != policy.reference:
        return None
    try:
        policy.load(_parsed(policy, (), None), dict(state.data))
    except InspectorError:
        return None
    return state


def running_at(policy: Policy[Any, Any], settings: Any, thread: Thread, at: int) -> Any:
    """Return the policy's running state before request `at`: the recorded state or, if there is none, a calibration.

    The calibration reads only the last requests before `at`, because older samples no longer count.
    """
    recorded = recorded_state(policy, thread, at)
    if recorded is not None:
        return policy.load(settings, dict(recorded.data))
    running = policy.fresh(settings)
    if policy.prompt_estimator is not None:
        samples = known_counts(thread, policy.prompt_estimator).at(at).belief.samples
        return policy.calibrated(running, settings, samples)
    if policy.learn(running, settings, 100, 200) is running:
        return running
    moment = PolicyInput(keeps_instructions=thread.keeps_instructions)
    for request in _requests_to_learn(policy, thread, at):
        sent = PolicyContext(request.buffer(), settings, running, moment)
        raw, _ = acting(policy, sent).measure(sent)
        reported = request.usage.prompt if request.usage else 0
        running = policy.learn(running, settings, raw, reported)
    return running


def _requests_to_learn(policy: Policy[Any, Any], thread: Thread, at: int) -> list[Request]:
    """Return the requests before `at` whose usage the policy's calibration uses, oldest first."""
    first = max(0, at - MAX_SAMPLES)
    if policy.estimates_after_compaction:
        first = max(first, *_summaries_until(thread, at), 0)
    reported = [request for request in thread.requests[first:at] if request.usage is not None]
    reported = reported[-policy.samples :]
    if reported and policy.keeps_first:
        oldest = next(request for request in thread.requests if request.usage is not None)
        return [oldest, *reported]
    return reported


def _summaries_until(thread: Thread, at: int) -> list[int]:
    """Return the indices, up to `at`, of the requests that follow a recorded summary."""
    summaries = (
        compaction.before_request
        for compaction in thread.compactions
        if compaction.kind == "summary"
    )
    return [place for place in summaries if place <= at]


def believed_at(policy: Policy[Any, Any], settings: Any, thread: Thread, at: int) -> int:
    """Return the policy's own count before request `at`, in tokens, which decides whether a tier fires.

    O(1) for a harness that calibrates an estimator, O(messages) for any other.
    """
    if policy.prompt_estimator is not None:
        recorded = recorded_state(policy, thread, at)
        if recorded is None:
            return known_counts(thread, policy.prompt_estimator).at(at).calibrated
        if recorded.believed is not None:
            return recorded.believed
    buffer = buffer_at(policy, thread, at)
    running = running_at(policy, settings, thread, at)
    context = PolicyContext(buffer, settings, running, moment_at(thread, at))
    return acting(policy, context).believed(context)


def counts_by_itself(policy: Policy[Any, Any], thread: Thread, at: int) -> bool:
    """Does the policy use its plain estimate before request `at`, as nothing was reported since a compaction?"""
    if not policy.estimates_after_compaction:
        return False
    places = _summaries_until(thread, at)
    return bool(places) and all(
        request.usage is None for request in thread.requests[max(places) : at]
    )


def recorded_summary(thread: Thread, at: int) -> str:
    """Return the newest summary that the session recorded before request `at`; empty if there is none."""
    for compaction in reversed(thread.compactions):
        if compaction.before_request <= at and compaction.summary is not None:
            return compaction.summary.text
    return ""
