"""Steps as a regression test: what an exported pytest calls, and what it expects.

The exported file holds everything: buffer, running state, settings, moments and answers. It needs this library and
pytest, no transcript, no network and no window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.buffer import Buffer
from inspector.core.dialects.neutral import read_buffer, write_message
from inspector.core.diff import readable
from inspector.core.jsontext import WRAPPED, dumps, loads
from inspector.core.outcome import FateName
from inspector.core.policies.catalogue import policy
from inspector.workbench.state.steps import ORIGIN, Steps
from inspector.workbench.steps.file import run_step, write_step


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a step, as plain values that can be compared and printed."""

    fired: tuple[str, ...]
    succeeded: bool
    error: str
    before: int
    """Tokens by the policy's own estimator, raw ..."""
    after: int
    calibrated: int
    """... and calibrated, afterwards."""
    fates: Mapping[str, FateName]
    """By message id; those that were kept are left out."""
    inserted: tuple[str, ...]
    """Texts of the messages that are new."""
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    """(name, fields) in order."""


def ran(steps: Steps, at: int) -> Ran:
    """What came of the step `at`."""
    step, by = steps.taken[at], policy(steps.policy)
    fates = steps.fates(at)
    parent_state = steps.running if step.parent == ORIGIN else steps.taken[step.parent].running
    before, _ = by.measure(steps.buffer_of(step.parent), step.settings, parent_state)
    after, calibrated = by.measure(step.buffer, step.settings, step.running)
    return Ran(
        fired=step.fired,
        succeeded=step.succeeded,
        error=step.error,
        before=before,
        after=after,
        calibrated=calibrated,
        fates={fate.id: fate.name for fate in fates if fate.name != "kept"},
        inserted=tuple(readable(fate.after) for fate in fates if fate.before is None and fate.after is not None),
        events=tuple((event.name, loads(dumps(dict(event.fields)).encode(), deepest=WRAPPED)) for event in step.events),
    )


def run(policy_name: str, start: Mapping[str, Any], state: Any, steps: Sequence[Mapping[str, Any]]) -> list[Ran]:
    """Run the steps one after the other from `start` (`messages` a JSON text each). Raises InspectorError."""
    by = policy(policy_name)
    messages = [loads(line.encode("utf-8", "replace"), deepest=WRAPPED) for line in start["messages"]]
    origin = read_buffer({**start, "messages": messages})
    tree = Steps("main", None, by.name, origin, by.load(by.settings(), state))
    for told in steps:
        tree = tree.add(run_step(by, tree, told))
    return [ran(tree, at) for at in range(len(tree.taken))]


def start_of(buffer: Buffer) -> dict[str, Any]:
    """A buffer as `run` takes it."""
    tools = buffer.prompt.tools
    return {
        "system": buffer.prompt.system,
        "tools": None if tools is None else [{"name": tool.name, "definition": tool.definition} for tool in tools],
        "unseen": buffer.prompt.unseen,
        "messages": [dumps(write_message(message)) for message in buffer.messages],
    }


def told_path(steps: Steps) -> list[dict[str, Any]]:
    """The steps down to where we stand, as `run` takes them.

    The running state is worked out anew, but where it was changed by hand between two steps (a breaker that was
    closed): there it is told.
    """
    by, told = policy(steps.policy), []
    again = replace(steps, taken=(), at=ORIGIN, against=None)
    for at in steps.path():
        step = steps.taken[at]
        one = write_step(step, by)
        again = again.add(run_step(by, again, one))
        state = by.dump(step.running)
        if by.dump(again.state) != state:
            one["state"] = state
            again = again.undo().add(run_step(by, again.undo(), one))
        told.append({key: value for key, value in one.items() if key != "parent"})
    return told
