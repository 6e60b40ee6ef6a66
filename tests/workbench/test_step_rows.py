"""The drawn tree of steps: depths, and the lines between the dots."""

from inspector.core.answering import offline
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.roku import POLICY
from inspector.core.session import Thread
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.sizing import sizer
from inspector.workbench.step_rows import branches, step_rows
from inspector.workbench.stepper import begin, complete
from inspector.workbench.steps import ORIGIN, Steps
from tests.core.policies.build import build

SIZER = sizer(thread_pressures(Thread("main")), None)
SETTINGS = POLICY.settings((), 3000)


def tree() -> Steps:
    """0 and 3 start from the recorded buffer; 1 and 2 follow 0 one after the other."""
    steps = Steps("main", 7, "roku", build(10, "x" * 900), POLICY.fresh(SETTINGS))
    for parent, tier in ((ORIGIN, "L0"), (0, "L1"), (1, "L3b"), (ORIGIN, "L1")):
        steps = steps.go(parent)
        steps = steps.add(
            complete(
                begin(POLICY, tier, PolicyContext(steps.buffer, SETTINGS, steps.state)), offline
            )
        )
    return steps


def test_a_chain_stays_at_its_depth_and_a_fork_goes_deeper() -> None:
    rows = step_rows(tree(), SIZER)
    assert [(row.at, row.depth, row.parent) for row in rows] == [
        (ORIGIN, 0, ORIGIN),
        (0, 1, ORIGIN),
        (1, 1, 0),
        (2, 1, 1),
        (3, 1, ORIGIN),
    ]
    assert rows[0].name == "request 7 as recorded"
    assert [row.before for row in rows] == [
        None,
        rows[0].tokens,
        rows[1].tokens,
        rows[2].tokens,
        rows[0].tokens,
    ]
    assert rows[3].words.endswith(" replaced by a summary. 1 model call answered offline.")
    assert rows[1].words.endswith(" messages cleared.")


def test_lines_lead_from_each_step_to_the_one_it_starts_from() -> None:
    found = branches(step_rows(tree(), SIZER))
    assert [lines.above for lines in found] == [None, 0, 1, 1, 0]
    assert [lines.below for lines in found] == [True, True, True, False, False]
    assert [set(lines.through) for lines in found] == [set(), {0}, {0}, {0}, set()]
