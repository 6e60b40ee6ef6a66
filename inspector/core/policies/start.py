"""A policy at a request of a recorded session: what it would know there, and what its estimator would have learned."""

from typing import Any

from inspector.core.policies.policy import Moment, Policy
from inspector.core.session import Thread
from inspector.core.tokens.calibration import MAX_SAMPLES


def moment_at(thread: Thread, at: int, **more: Any) -> Moment:
    """Before request `at` is sent (`len(requests)` = after the last one). `more`: what the user chose."""
    last = thread.requests[at - 1] if 0 < at <= len(thread.requests) else None
    model = thread.requests[at].model if at < len(thread.requests) else ""
    return Moment(
        step=at,
        model=model or thread.model,
        usage=last.usage if last else None,
        finish=last.finish if last else "",
        **more,
    )


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
