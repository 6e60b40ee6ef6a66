"""How buffers begin, and how much two of them have in common there, told by how they lie in their stretches."""

from inspector.core.buffer import Stretch, View
from inspector.core.message import Message


def shared(one: View, other: View) -> int:
    """How many messages two views share at their beginning: the same objects. O(1) for views of one line of growth."""
    if one.stretch is other.stretch:
        return min(one.length, other.length)
    places = {id(stretch): length for stretch, length in _line(one)}
    same = next((min(length, places[id(stretch)]) for stretch, length in _line(other) if id(stretch) in places), 0)
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


def _line(view: View) -> list[tuple[Stretch, int]]:
    """The stretches that a view stands on, each with how much of it is seen, the topmost first."""
    found = []
    stretch, length = view.stretch, view.length
    while True:
        found.append((stretch, length))
        if stretch.base is None:
            return found
        length, stretch = min(length, stretch.base.length), stretch.base.stretch
