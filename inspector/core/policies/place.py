"""A policy at a place of a session: the one file that puts a `PolicyContext` together.

Every face asks here (window, commands, sweep, replay, proxy, agent): which settings hold, which buffer the harness has,
what it would have learned by then, what it may know, and what it believes the size of the buffer to be.
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
from inspector.core.session import Filed, PolicyState, Thread
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.windows import Window
from inspector.core.usage import cache_ttl

FAILED = ("error", "aborted")
"""How a call ends that has no answer to build on."""
FORCED = "forced by hand"
"""What a tier that needs an overflow is told where there was none."""
NO_WINDOW = Window(None, "unknown")
_LOOK = 64
"""Calls to look back for usage."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """What somebody chose for a policy. Everything else in a `PolicyContext` follows from the place in the session."""

    settings: SettingPairs = ()
    """(name, value) pairs that differ from the policy's own, as `--set` takes them."""
    remote: bool = False
    """The provider can compact remotely."""
    summary: str = ""
    """Session memory for L2."""
    recorded: bool = False
    """Instead of `summary`: the newest summary that the session itself had recorded by the place."""
    instructions: str = ""
    """What a manual compaction should keep."""


def preset(policy: Policy[Any, Any], window: Window, client: str = "") -> SettingPairs:
    """Settings that hold before those that somebody chooses: by the client that wrote the session (`Session.client`),
    and the user's word on the model's window, which holds for every policy."""
    return (*policy.of_client(client), *window_pairs(window.tokens if window.source == "user" else None))


def settings_for(policy: Policy[Any, Any], pairs: SettingPairs, window: Window, client: str = "") -> Any:
    """The policy's settings: preset, then `pairs`. Raises InspectorError."""
    return _parsed(policy, (*preset(policy, window, client), *pairs), window.tokens)


@lru_cache(maxsize=64)
def _parsed(policy: Policy[Any, Any], pairs: SettingPairs, window: int | None) -> Any:
    """Cached: each panel asks, at each step of the playhead."""
    return policy.settings(pairs, window)


def own_pairs(policy: Policy[Any, Any], pairs: SettingPairs) -> SettingPairs:
    """Those of the pairs whose name is a setting of the policy: `--set` is given to several."""
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
    """What the policy goes by before request `at` (`len(requests)` = after the last one). O(messages).

    Args:
        client: the program that wrote the session (`Session.client`).
        tier: the tier that is to be run by hand.

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
    """What the policy may know before request `at`, what the user chose included. `tier`: as in `context_at`."""
    return moment_at(
        thread,
        at,
        remote=choice.remote,
        summary=summary_at(choice, thread, at),
        instructions=choice.instructions,
        overflow=FORCED if policy.needs_overflow(tier) else "",
    )


def summary_at(choice: PolicyChoice, thread: Thread, at: int) -> str:
    """The session memory for L2: what the user typed, or the newest summary that the session had recorded by then."""
    return recorded_summary(thread, at) if choice.recorded else choice.summary


def moment_at(thread: Thread, at: int, **more: Any) -> PolicyInput:
    """Before request `at` is sent (`len(requests)` = after the last one). `more`: what the user chose."""
    last = thread.requests[at - 1] if 0 < at <= len(thread.requests) else None
    model = thread.requests[at].model if at < len(thread.requests) else ""
    return PolicyInput(
        step=at,
        model=model or thread.model,
        usage=last.usage if last else None,
        finish=last.finish if last else "",
        agent="" if thread.id == "main" else thread.id,
        reports=reports_at(thread, at),
        filed=filed_at(thread, at),
        keeps_instructions=thread.keeps_instructions,
        cache_ttl_s=cache_ttl(thread.requests[n].usage for n in range(at - 1, max(0, at - _LOOK) - 1, -1)),
        **more,
    )


def filed_at(thread: Thread, at: int) -> Filed:
    """What the file tells beside the messages of request `at`. O(compactions)."""
    kept = {one.summary.id: one.kept for one in thread.compactions if one.summary is not None}
    return Filed(thread.records, thread.trailing if at >= len(thread.requests) else (), kept)


def reports_at(thread: Thread, at: int) -> tuple[CallReport, ...]:
    """What `PolicyInput.reports` says before request `at`. Looks at few calls where usage is recorded at all."""
    compacted = (one.before_request for one in thread.compactions if one.kind == "summary" and one.before_request <= at)
    found: list[CallReport] = []
    for n in range(at - 1, max(0, at - _LOOK, *compacted) - 1, -1):
        request = thread.requests[n]
        upto = _last_of_answer(request.view, thread.place(n + 1).view)
        if upto:
            found.append(CallReport(upto, request.usage, request.finish, request.model))
            if request.usage is not None and request.finish not in FAILED:
                break
    return tuple(reversed(found))


def _last_of_answer(sent: View, after: View) -> str:
    """Id of the last message of the answer to `sent`; empty where the buffer after it does not stand on `sent`."""
    length = len(sent)
    if len(after) < length:
        return ""
    last = sent.tail(length - 1)[0].id if length else ""
    if length and after.tail(length - 1)[0].id != last:
        return ""
    answer = (message.id for message in reversed(after.tail(length)) if message.role == "assistant")
    return next(answer, last)


def buffer_at(policy: Policy[Any, Any], thread: Thread, at: int) -> Buffer:
    """The buffer of request `at` (`len(requests)` = after the last record) as the harness has it.

    A harness that counts its prompt knows what the transcript does not hold of it: there the unseen part takes part, in
    the harness's own tokens. Where it ran the session itself, and the file records its state, it had the buffer as it
    is recorded.
    """
    buffer = thread.place(at).buffer()
    if policy.prompt_estimator is None or recorded_state(policy, thread, at) is not None:
        return buffer
    unseen = known_pressures(thread, policy.prompt_estimator).belief(at).unseen
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
    """Running state of a session that came to `at` as recorded: what the file records of it, else the calibration of
    the calls before it.

    Looks at the last calls only: older samples have left the calibration by then.
    """
    recorded = recorded_state(policy, thread, at)
    if recorded is not None:
        return policy.load(settings, dict(recorded.data))
    running = policy.fresh(settings)
    if policy.prompt_estimator is not None:
        samples = known_pressures(thread, policy.prompt_estimator).belief(at).samples
        return policy.calibrated(running, settings, samples)
    if policy.learn(running, settings, 100, 200) is running:
        return running
    first = max(0, at - MAX_SAMPLES)
    if policy.estimates_after_compaction:
        summaries = (one.before_request for one in thread.compactions if one.kind == "summary")
        first = max(first, *(place for place in summaries if place <= at), 0)
    told = [request for request in thread.requests[first:at] if request.usage is not None][-policy.samples :]
    if told and policy.keeps_first:
        told = [next(request for request in thread.requests if request.usage is not None), *told]
    moment = PolicyInput(keeps_instructions=thread.keeps_instructions)
    for request in told:
        sent = PolicyContext(request.buffer(), settings, running, moment)
        raw, _ = acting(policy, sent).measure(sent)
        running = policy.learn(running, settings, raw, request.usage.prompt if request.usage else 0)
    return running


def believed_at(
    policy: Policy[Any, Any], settings: Any, thread: Thread, at: int, pressures: Pressures | None = None
) -> int:
    """Tokens that the policy would measure before request `at`, by its own formula: what decides which tier fires.

    O(1) for a harness that calibrates an estimator, O(messages) for the others.

    Args:
        pressures: of the thread, by any estimator, where the caller has them.
    """
    recorded = recorded_state(policy, thread, at)
    if policy.prompt_estimator is not None and recorded is not None and recorded.believed is not None:
        return recorded.believed
    if policy.prompt_estimator is not None and recorded is None:
        if pressures is None or pressures.estimator != policy.prompt_estimator.name:
            pressures = known_pressures(thread, policy.prompt_estimator)
        return pressures.at(at).calibrated
    buffer, running = buffer_at(policy, thread, at), running_at(policy, settings, thread, at)
    context = PolicyContext(buffer, settings, running, moment_at(thread, at))
    return acting(policy, context).believed(context)


def counts_by_itself(policy: Policy[Any, Any], thread: Thread, at: int) -> bool:
    """Does it go by an estimate of its own before request `at`: a compaction was recorded, and no report since?"""
    if not policy.estimates_after_compaction:
        return False
    places = [one.before_request for one in thread.compactions if one.kind == "summary" and one.before_request <= at]
    return bool(places) and all(request.usage is None for request in thread.requests[max(places) : at])


def recorded_summary(thread: Thread, at: int) -> str:
    """The newest summary that the session itself recorded before request `at`; empty where there is none."""
    for compaction in reversed(thread.compactions):
        if compaction.before_request <= at and compaction.summary is not None:
            return compaction.summary.text
    return ""
