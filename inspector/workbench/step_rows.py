"""The tree of steps as a list: one row per step with its sizes and effect, and the lines drawn between rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.core.tokens.sizing import Sizer
from inspector.workbench.steps import ORIGIN, Step, Steps
from inspector.workbench.words.step_words import step_words


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row for one step, or for the buffer that the tree starts from (`at` is ORIGIN). Tokens are those that the gauge
    shows.
    """

    at: int
    depth: int
    """Number of branchings above the step: a chain of steps without branches stays at one depth."""
    name: str
    tokens: int
    before: int | None = None
    succeeded: bool = True
    words: str = ""
    """What the step did and which model calls it made, or what the recorded change was."""
    parent: int = ORIGIN
    is_recorded: bool = False


def step_rows(steps: Steps, sizer: Sizer, before: Sizer | None = None) -> Sequence[StepRow]:
    """Return the row of the buffer that the steps start from, then a row for every step, parents first.

    O(messages x steps); weights are cached on the messages.

    Args:
        steps: The tree.
        sizer: Computes the sizes of buffers.
        before: Computes the sizes of buffers before the recorded change; None: `sizer` does.
    """
    earlier = sizer if before is None else before
    tokens = earlier.tokens(steps.origin)
    place = "the end" if steps.request is None else f"request {steps.request:,}"
    start = f"{place} as recorded" if steps.recorded is None else f"{place} before the change"
    rows = [StepRow(ORIGIN, depth=0, name=start, tokens=tokens)]
    tokens_after = {ORIGIN: tokens}
    for depth, step_index in drawn(steps):
        step = steps.taken[step_index]
        tokens_after[step_index] = (earlier if steps.is_before(step_index) else sizer).tokens(
            step.buffer
        )
        rows.append(
            StepRow(
                step_index,
                depth,
                step.name,
                tokens_after[step_index],
                before=tokens_after[step.parent],
                succeeded=step.succeeded,
                words=_words(step),
                parent=step.parent,
                is_recorded=step.recorded is not None,
            )
        )
    return rows


def _words(step: Step) -> str:
    """Describe what a step did, naming its tiers if the user renamed the step."""
    if step.recorded is not None:
        return step.recorded.why
    tiers = " + ".join(step.fired)
    return step_words(step) if step.name == tiers or not tiers else f"{tiers}: {step_words(step)}"


@dataclass(frozen=True, slots=True)
class Branches:
    """The lines of the drawn tree in one row. Columns are depths."""

    through: frozenset[int] = frozenset()
    """Columns in which a line runs from top to bottom."""
    above: int | None = None
    """Column of the parent, from which a line comes down to this row."""
    below: bool = False
    """True if a line runs downwards from the row's own dot."""


def branches(rows: Sequence[StepRow]) -> Sequence[Branches]:
    """Return the lines of each row. O(rows x length of the longest branch)."""
    places = {row.at: index for index, row in enumerate(rows)}
    through: list[set[int]] = [set() for _ in rows]
    below = set()
    for index, row in enumerate(rows[1:], 1):
        start = places[row.parent]
        below.add(start)
        for between in range(start + 1, index):
            through[between].add(rows[start].depth)
    lines = []
    for index, row in enumerate(rows):
        parent_depth = rows[places[row.parent]].depth if index else None
        lines.append(Branches(frozenset(through[index]), parent_depth, index in below))
    return lines


def drawn(steps: Steps) -> Sequence[tuple[int, int]]:
    """Return (depth, index) of every step in drawing order. The depth grows only where the tree branches."""
    children: dict[int, list[int]] = {}
    for index, step in enumerate(steps.taken):
        children.setdefault(step.parent, []).append(index)
    rows_in_order: list[tuple[int, int]] = []
    waiting = [(0, ORIGIN)]
    while waiting:
        depth, index = waiting.pop()
        if index != ORIGIN:
            rows_in_order.append((depth, index))
        below = children.get(index, [])
        depth_below = depth + 1 if len(below) > 1 else depth
        waiting += [(depth_below, child) for child in reversed(below)]
    return rows_in_order
