"""A policy at a request of a recorded session: what it would know there, and what its estimator would have learned."""

from typing import Any

from inspector.core.buffer import View
from inspector.core.policies.policy import Moment, Policy, Report
from inspector.core.session import Thread
from inspector.core.tokens.calibration import MAX_SAMPLES
from inspector.core.usage import cache_ttl

FAILED = ("error", "aborted")
"""How a call ends that has no answer to build on."""
_LOOK = 64
"""Calls to look back for usage."""


def moment_at(thread: Thread, at: int, **more: Any) -> Moment:
    """Before request `at` is sent (`len(requests)` = after the last one). `more`: what the user chose."""
    last = thread.requests[at - 1] if 0 < at <= len(thread.requests) else None
    model = thread.requests[at].model if at < len(thread.requests) else ""
    return Moment(
        step=at,
        model=model or thread.model,
        usage=last.usage if last else None,
        finish=last.finish if last else "",
        agent="" if thread.id == "main" else thread.id,
        reports=reports_at(thread, at),
        cache_ttl_s=ttl_at(thread, at),
        **more,
    )


def ttl_at(thread: Thread, at: int) -> int:
    """Seconds that the cache entries of the calls before request `at` live. Looks at few calls."""
    return cache_ttl(thread.requests[n].usage for n in range(at - 1, max(0, at - _LOOK) - 1, -1))


def reports_at(thread: Thread, at: int) -> tuple[Report, ...]:
    """What `Moment.reports` says before request `at`. Looks at few calls where usage is recorded at all."""
    compacted = (one.before_request for one in thread.compactions if one.kind == "summary" and one.before_request <= at)
    found: list[Report] = []
    for n in range(at - 1, max(0, at - _LOOK, *compacted) - 1, -1):
        request = thread.requests[n]
        after = thread.requests[n + 1].view if n + 1 < len(thread.requests) else thread.end
        upto = _last_of_answer(request.view, after)
        if upto:
            found.append(Report(upto, request.usage, request.finish, request.model))
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


def running_at(policy: Policy[Any, Any], settings: Any, thread: Thread, at: int) -> Any:
    """Running state of a session that came to `at` without compacting: the calibration of the calls before it.

    Looks at the last calls only: older samples have left the calibration by then.
    """
    running = policy.fresh(settings)
    for request in thread.requests[max(0, at - MAX_SAMPLES) : at]:
        if request.usage is not None:
            raw, _ = policy.measure(request.buffer(), settings, running)
            running = policy.learn(running, settings, raw, request.usage.prompt)
    return running


def recorded_summary(thread: Thread, at: int) -> str:
    """The newest summary that the session itself recorded before request `at`; empty where there is none."""
    for compaction in reversed(thread.compactions):
        if compaction.before_request <= at and compaction.summary is not None:
            return compaction.summary.text
    return ""
