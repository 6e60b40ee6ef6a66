"""Buffers that grow out of one another: which stretch a body's messages lie in, how often each was said before.

A body that goes on where another ended costs its own messages only: the counts by which equal messages get different
ids are carried along the stretch, not counted anew.
"""

from collections import Counter
from collections.abc import Sequence

from inspector.core.buffer import EMPTY_VIEW, Stretch, View
from inspector.core.formats.payload.messages import counted
from inspector.core.formats.payload.threads import grown
from inspector.core.message import Message

_LINES = 64
"""Stretches whose counts are kept; another is counted anew when it goes on."""


class Counts:
    """How often each content stands in a view, for many views of few stretches."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[Stretch, int, Counter[str]]] = {}

    def take(self, view: View) -> Counter[str]:
        """The counts of `view`: the caller may change them, and gives them back with `give`. Usually O(1)."""
        stretch = view.stretch
        found = self._lines.pop(id(stretch), None)
        if found is None or found[0] is not stretch:
            return counted(view.messages())
        below = stretch.base.length if stretch.base else 0
        _, length, counts = found
        low, high = min(length, view.length) - below, max(length, view.length) - below
        if low < 0:
            return counted(view.messages())
        more = counted(stretch.own[low:high])
        if view.length >= length:
            counts.update(more)
        else:
            counts.subtract(more)
        return counts

    def give(self, view: View, counts: Counter[str]) -> None:
        """`counts` are those of `view`."""
        self._lines[id(view.stretch)] = (view.stretch, view.length, counts)
        while len(self._lines) > _LINES:
            del self._lines[next(iter(self._lines))]


def trimmed(view: View) -> View:
    """The same messages as a view of the deepest stretch that holds them all."""
    stretch = view.stretch
    while stretch.base is not None and view.length <= stretch.base.length:
        stretch = stretch.base.stretch
    return View(stretch, view.length) if stretch is not view.stretch else view


def extended(view: View, more: Sequence[Message]) -> View:
    """`view` and `more` behind it: along what already stands there, where it is the same."""
    view = trimmed(view) if view.length else EMPTY_VIEW
    stretch, length = view.stretch, view.length
    own = length - (stretch.base.length if stretch.base else 0)
    same = 0
    while same < len(more) and own + same < len(stretch.own) and stretch.own[own + same] is more[same]:
        same += 1
    return grown(View(stretch, length + same), length + same, more[same:])
