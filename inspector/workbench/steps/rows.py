"""The tree of steps as rows: what each did, in the order of a drawn tree."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.core.answering import Asked
from inspector.core.needs import Failure, ProviderFailure
from inspector.core.tokens.sizing import Sizer
from inspector.workbench.state.steps import ORIGIN, Steps


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step, or (`at` = ORIGIN) the recorded buffer. Tokens as the gauge shows them."""

    at: int
    depth: int
    """How often the way here parted: a chain of steps without branches stays at one depth."""
    name: str
    tokens: int
    before: int | None = None
    fired: tuple[str, ...] = ()
    succeeded: bool = True
    error: str = ""
    answered: tuple[str, ...] = ()
    """Who answered, or how it failed, each once, in order."""
    parent: int = ORIGIN


def step_rows(steps: Steps, sizer: Sizer) -> Sequence[StepRow]:
    """The recorded buffer, then every step, parents first. O(messages x steps); weights are cached on the messages."""
    tokens = sizer.tokens(steps.origin)
    place = "the end" if steps.request is None else f"request {steps.request}"
    found = [StepRow(ORIGIN, 0, f"{place} as recorded", tokens)]
    known = {ORIGIN: tokens}
    for depth, at in _tree(steps):
        step = steps.taken[at]
        known[at] = sizer.tokens(step.buffer)
        found.append(
            StepRow(
                at,
                depth,
                step.name,
                known[at],
                known[step.parent],
                step.fired,
                step.succeeded,
                step.error,
                tuple(dict.fromkeys(map(_answered, step.asked))),
                step.parent,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Branches:
    """The lines of the drawn tree in one row; columns are depths."""

    through: frozenset[int] = frozenset()
    """Columns in which a line runs from top to bottom."""
    above: int | None = None
    """Column of the step it starts from, whose line comes from above."""
    below: bool = False
    """A line goes on downwards from its own dot."""


def branches(rows: Sequence[StepRow]) -> Sequence[Branches]:
    """One for each row. O(rows x length of the longest branch)."""
    places = {row.at: n for n, row in enumerate(rows)}
    through: list[set[int]] = [set() for _ in rows]
    below = set()
    for n, row in enumerate(rows[1:], 1):
        start = places[row.parent]
        below.add(start)
        for between in range(start + 1, n):
            through[between].add(rows[start].depth)
    return [
        Branches(frozenset(through[n]), rows[places[row.parent]].depth if n else None, n in below)
        for n, row in enumerate(rows)
    ]


def _tree(steps: Steps) -> Sequence[tuple[int, int]]:
    """(depth, index) in the order of a drawn tree; deeper only where the way parts."""
    children: dict[int, list[int]] = {}
    for at, step in enumerate(steps.taken):
        children.setdefault(step.parent, []).append(at)
    found: list[tuple[int, int]] = []
    waiting = [(0, ORIGIN)]
    while waiting:
        depth, at = waiting.pop()
        if at != ORIGIN:
            found.append((depth, at))
        below = children.get(at, [])
        waiting += [(depth + (len(below) > 1), one) for one in reversed(below)]
    return found


def _answered(asked: Asked) -> str:
    match asked.reply:
        case ProviderFailure(status=int(status)):
            return f"failed ({status})"
        case Failure() as failure:
            return f"failed ({str(failure)[:40] or type(failure).__name__})"
        case reply:
            return reply.by or "someone"
