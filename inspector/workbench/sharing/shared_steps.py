"""Restore the steps that were shared with a session."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.policies.place import buffer_at
from inspector.core.session import Session
from inspector.extensions.policies import find_policy
from inspector.workbench.kept_steps import FileSteps
from inspector.workbench.policy_input import recorded_tree
from inspector.workbench.steps import Origin, Step, Steps
from inspector.workbench.steps_file import place_of, replay_steps, starts_before


def find_origin(session: Session, document: Any) -> tuple[Buffer, Step | None]:
    """Return the policy's buffer from which saved steps start, and the recorded step if they start before one.

    Raises InspectorError.
    """
    thread_id, request = place_of(document)
    try:
        thread = session.thread(thread_id)
    except KeyError:
        raise InspectorError(
            f"These steps start in thread {thread_id!r}, which this session does not have."
        ) from None
    if request is not None and not 0 <= request < len(thread.requests):
        raise InspectorError(
            f"These steps start at request {request}, which this session does not have."
        )
    policy = find_policy(str(document.get("policy")))
    at = len(thread.requests) if request is None else request
    if not starts_before(document):
        return buffer_at(policy, thread, at), None
    from inspector.core.drops import thread_drops  # not before something is open
    from inspector.core.findings.recorded_step import recorded_step

    change = recorded_step(thread, thread_drops(thread, session), at)
    if change is None:
        raise InspectorError(
            f"These steps start before a compaction at request {at}, which this session does not have."
        )
    tree = recorded_tree(thread, request, policy, policy.settings(), change)
    return tree.origin, tree.step


def restore_shared_steps(session: Session) -> FileSteps | None:
    """Run the steps of a bundle again with their recorded answers; None if there are none. O(messages x steps).

    Steps that cannot be run on this session are left out, and the result says why.
    """
    trees: dict[Origin, Steps] = {}
    failures: list[str] = []
    documents: Sequence[Any] = session.shared.steps if session.shared is not None else ()
    for document in documents:
        try:
            steps = replay_steps(document, *find_origin(session, document)).steps
        except InspectorError as failure:
            failures.append(str(failure))
            continue
        trees[steps.start] = steps
    if not trees and not failures:
        return None
    last = next(reversed(trees.values()), None)
    thread_id, request = ("", None) if last is None else (last.thread_id, last.request)
    return FileSteps(MappingProxyType(trees), thread_id, at=request, failures=failures)
