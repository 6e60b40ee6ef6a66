"""The tree of steps, and a tier that waits for an answer."""

import pytest

from inspector.core.answering import Scripted, offline
from inspector.core.needs import Answer, ProviderFailure
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.workbench.step_rows import drawn
from inspector.workbench.stepper import DUE, begin, complete
from inspector.workbench.steps import ORIGIN, Step, Steps
from tests.core.policies.build import build, plain

SETTINGS = POLICY.settings((), 1000)
FRESH = POLICY.fresh(SETTINGS)


def run(steps: Steps, tier: str) -> Step:
    return complete(
        begin(POLICY, tier, PolicyContext(steps.buffer, SETTINGS, steps.state)), offline
    )


def start() -> Steps:
    return Steps("main", None, "roku", plain(10), FRESH)


def test_undo_redo_branch() -> None:
    steps = start()
    steps = steps.add(run(steps, "L1"))
    steps = steps.add(run(steps, "L3"))
    one_way = steps.buffer
    steps = steps.undo()
    assert steps.at == 0
    assert steps.redo().buffer is one_way
    branch = steps.add(run(steps, "L0"))
    assert branch.children(0) == (1, 2)
    assert branch.path() == (0, 2)
    assert drawn(branch) == [(0, 0), (1, 1), (1, 2)]
    assert branch.undo().undo().undo().at == ORIGIN
    assert branch.undo().undo().buffer is steps.origin


def test_fates_from_parent_and_from_the_origin() -> None:
    steps = start()
    steps = steps.add(run(steps, "L1"))
    steps = steps.add(run(steps, "L3b"))
    since_parent = {fate.name for fate in steps.fates()}
    assert since_parent == {"kept", "summarised", "inserted"}
    whole = steps.fates(since=ORIGIN)
    assert [f.before for f in whole if f.before] == list(steps.origin.messages)
    assert [f.after for f in whole if f.after] == list(steps.buffer.messages)


def test_a_tier_waits_and_goes_on() -> None:
    running = begin(POLICY, "L3b", PolicyContext(plain(10), SETTINGS, FRESH))
    assert running.need is not None
    running.answer(ProviderFailure("no", 403))
    step = running.step
    assert step is not None
    assert (step.succeeded, step.error) == (False, "provider_failure")


def test_giving_up_changes_nothing() -> None:
    running = begin(POLICY, "L3b", PolicyContext(plain(10), SETTINGS, FRESH))
    running.give_up()
    running.answer(Answer("late"))
    assert running.step is None


def test_a_recording_replays_exactly() -> None:
    first = run(start(), "L3b")
    again = complete(
        begin(POLICY, "L3b", PolicyContext(plain(10), SETTINGS, FRESH)),
        Scripted([one.reply for one in first.asked]),
    )
    assert [m.text for m in again.buffer.messages] == [m.text for m in first.buffer.messages]
    assert again.events == first.events


def test_what_is_due_names_what_fired() -> None:
    buffer = build(8, "x" * 2000)
    step = complete(begin(POLICY, DUE, PolicyContext(buffer, SETTINGS, FRESH)), offline)
    assert step.fired == ("L0", "L1", "L3b")
    assert step.name == "L0 + L1 + L3b"


def test_two_branches_are_compared_with_each_other() -> None:
    steps = start()
    steps = steps.add(run(steps, "L1")).undo()
    steps = steps.add(run(steps, "L3b"))
    assert steps.compared == ORIGIN
    sideways = steps.compare(0)
    assert sideways.compared == 0
    found = sideways.fates(since=sideways.compared)
    assert [f.before for f in found if f.before] == list(steps.taken[0].buffer.messages)
    assert [f.after for f in found if f.after] == list(steps.taken[1].buffer.messages)
    assert sideways.go(0).compared == ORIGIN, "a step is not compared with itself"
    assert steps.compare(0).compare(None).compared == ORIGIN
    with pytest.raises(IndexError):
        steps.compare(2)
