"""A policy at a place of a session: the only file that makes a `PolicyContext`.

Window, commands, sweep, replay, proxy and agent ask here which settings hold, which buffer the harness has, what it
would have learned by then, what it may know, and what its own count of the buffer is.
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
"""The overflow that a tier is given which needs one but is run manually."""
NO_WINDOW = Window(None, "unknown")
_LOOK = 64
"""How many calls to look back for usage."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """What the user chose for a policy. The rest of a `PolicyContext` follows from the place in the session."""

    settings: SettingPairs = ()
    """(name, value) pairs that differ from the policy's own, as `--set` takes them."""
    remote: bool = False
    """The provider can compact remotely."""
    summary: str = ""
    """Session memory for L2."""
    recorded: bool = False
    """Use the newest summary that the session itself had recorded by the place, instead of `summary`."""
    instructions: str = ""
    """What a manual compaction should keep."""


def preset(policy: Policy[Any, Any], window: Window, client: str = "") -> SettingPairs:
    """Return the settings that hold unless overridden: those of the client that wrote the session (`Session.client`),
    and the model's window if the user gave it, which holds for every policy."""
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
    """Parse the settings. Cached, because every panel asks at each step of the playhead."""
    return policy.settings(pairs, window)


def own_pairs(policy: Policy[Any, Any], pairs: SettingPairs) -> SettingPairs:
    """Return the pairs that name a setting of the policy: `--set` may be for several policies."""
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
    """Return what the policy reads before request `at` (`len(requests)`: after the last one). O(messages).

    Args:
        client: the program that wrote the session (`Session.client`).
        tier: the tier that is run manually; empty for none.

    Raises:
        InspectorError: for an impossible setting.
    """
    settings = settings_for(policy, choice.settings, window, client)
    moment = chosen_moment(policy, choice, thread, at, tier)
    running = running_at(policy, settings, thread, at)
    return PolicyContext(buffer_at(policy, thread, at), settings, running, moment, window.tokens)


def chosen_moment(
    policy: Policy[Any, Any], choice: PolicyChoice, thread: Thread, at: int, tier: str = ""
) -> PolicyInput:
    """Return what the policy may know before request `at`, with the user's choices. `tier` as in `context_at`."""
    return moment_at(
        thread,
        at,
        remote=choice.remote,
        summary=summary_at(choice, thread, at),
        instructions=choice.instructions,
        overflow=FORCED if policy.needs_overflow(tier) else "",
    )


def summary_at(choice: PolicyChoice, thread: Thread, at: int) -> str:
    """Return the session memory for L2: the user's text, or the newest summary that the session had recorded."""
    return recorded_summary(thread, at) if choice.recorded else choice.summary


def moment_at(thread: Thread, at: int, **more: Any) -> PolicyInput:
    """Return what a policy may know before request `at` (`len(requests)`: after the last one).

    Args:
        more: fields that the user chose.
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
    """Return what the file holds beside the messages of request `at`. O(compactions)."""
    kept_counts = {
        compaction.summary.id: compaction.kept
        for compaction in thread.compactions
        if compaction.summary is not None
    }
    return Filed(thread.records, thread.trailing if at >= len(thread.requests) else (), kept_counts)


def reports_at(thread: Thread, at: int) -> tuple[CallReport, ...]:
    """Return `PolicyInput.reports` before request `at`. Reads few calls if usage is recorded at all."""
    reports: list[CallReport] = []
    for n in range(at - 1, max(0, at - _LOOK, *_summaries_until(thread, at)) - 1, -1):
        request = thread.requests[n]
        upto = _last_of_answer(request.view, thread.place(n + 1).view)
        if upto:
            reports.append(CallReport(upto, request.usage, request.finish, request.model))
            if request.usage is not None and request.finish not in FAILED:
                break
    return tuple(reversed(reports))


def _last_of_answer(sent: View, after: View) -> str:
    """Return the id of the last message of the answer to `sent`; empty if `after` does not continue `sent`."""
    length = len(sent)
    if len(after) < length:
        return ""
    last = sent.tail(length - 1)[0].id if length else ""
    if length and after.tail(length - 1)[0].id != last:
        return ""
    answer = (message.id for message in reversed(after.tail(length)) if message.role == "assistant")
    return next(answer, last)


def buffer_at(policy: Policy[Any, Any], thread: Thread, at: int) -> Buffer:
    """Return the buffer of request `at` (`len(requests)`: after the last record) as the harness has it.

    A harness that counts its prompt knows the tokens that are not in the file, so they count, in the harness's own
    tokens. If it ran the session itself and the file records its state, it had the buffer as recorded.
    """
    buffer = thread.place(at).buffer()
    if policy.prompt_estimator is None or recorded_state(policy, thread, at) is not None:
        return buffer
    unseen = known_counts(thread, policy.prompt_estimator).at(at).belief.unseen
    return Buffer(buffer.messages, replace(buffer.prompt, unseen=unseen)) if unseen else buffer


def recorded_state(policy: Policy[Any, Any], thread: Thread, at: int) -> PolicyState | None:
    """Return the running state before request `at` that the transcript records.

    None if another policy ran, or none, or if the record is damaged: every number can be worked out without it.
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
    """Return the running state at `at` of a session as recorded: the recorded state, else a calibration by the calls
    before it.

    Only the last calls are read: older samples no longer count in the calibration.
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
        running = policy.learn(running, settings, raw, request.usage.prompt if request.usage else 0)
    return running


def _requests_to_learn(policy: Policy[Any, Any], thread: Thread, at: int) -> list[Request]:
    """Return the requests with usage before `at` that the policy would have learned from, oldest first."""
    first = max(0, at - MAX_SAMPLES)
    if policy.estimates_after_compaction:
        first = max(first, *_summaries_until(thread, at), 0)
    reported = [request for request in thread.requests[first:at] if request.usage is not None][
        -policy.samples :
    ]
    if reported and policy.keeps_first:
        oldest = next(request for request in thread.requests if request.usage is not None)
        return [oldest, *reported]
    return reported


def _summaries_until(thread: Thread, at: int) -> list[int]:
    """Return the requests before which a summary was recorded, up to `at`."""
    summaries = (
        compaction.before_request
        for compaction in thread.compactions
        if compaction.kind == "summary"
    )
    return [place for place in summaries if place <= at]


def believed_at(policy: Policy[Any, Any], settings: Any, thread: Thread, at: int) -> int:
    """Return the policy's own count before request `at`, in tokens, which decides which tier fires.

    O(1) for a harness that calibrates an estimator, O(messages) for the others.
    """
    recorded = recorded_state(policy, thread, at)
    if (
        policy.prompt_estimator is not None
        and recorded is not None
        and recorded.believed is not None
    ):
        return recorded.believed
    if policy.prompt_estimator is not None and recorded is None:
        return known_counts(thread, policy.prompt_estimator).at(at).calibrated
    buffer, running = buffer_at(policy, thread, at), running_at(policy, settings, thread, at)
    context = PolicyContext(buffer, settings, running, moment_at(thread, at))
    return acting(policy, context).believed(context)


def counts_by_itself(policy: Policy[Any, Any], thread: Thread, at: int) -> bool:
    """Does the policy estimate before request `at`, because nothing was reported since a recorded compaction?"""
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
