"""How buffers begin, and how much two of them have in common there, told by how they lie in their stretches."""

from inspector.core.buffer import View
from inspector.core.message import Message


def shared(one: View, other: View) -> int:
    """How many messages two views share at their beginning: the same objects. O(1) for views of one line of growth."""
    same = _parting(one, other)
    if same in (one.length, other.length):
        return same
    for mine, theirs in zip(one.tail(same), other.tail(same), strict=False):
        if mine is not theirs:
            break
        same += 1
    return same


def head(view: View, count: int) -> tuple[Message, ...]:
    """The first `count` messages, without laying out the others."""
    return View(view.stretch, min(count, view.length)).messages()


def _parting(one: View, other: View) -> int:
    """How long both are the same, told by the nearest stretch on which both stand."""
    mine, theirs, here, there = one.stretch, other.stretch, one.length, other.length
    while mine is not theirs:
        if mine.depth < theirs.depth:
            mine, theirs, here, there = theirs, mine, there, here
        base = mine.base
        if base is None:
            return 0
        mine, here = base.stretch, min(here, base.length)
    return min(here, there)
