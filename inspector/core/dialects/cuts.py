"""Cuts: a user's change of a held request, which is applied to every later request of that thread.

A client keeps its own conversation and sends all of it with every request. A cut recognises the items that it replaces
by their content and builds the new items from them; later items are forwarded unchanged. If the conversation begins
with other items, because the client compacted or rewound it, the cut no longer fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.recipe import Recipe, Ref, carry_out, looks_into
from inspector.core.identity import fingerprint


@dataclass(frozen=True, slots=True)
class BufferCut:
    """Fingerprints of the items that a cut replaces, and the recipes of the new items."""

    dialect: str
    before: tuple[str, ...]
    after: tuple[Recipe, ...]
    inside: frozenset[int] = frozenset()
    """Indices of items of which parts are kept: their fingerprint covers every part."""

    def fits(self, items: Sequence[Any]) -> bool:
        """Do the items begin with the items that this cut replaces?"""
        if len(items) < len(self.before):
            return False
        pairs = zip(items, self.before, strict=False)
        return all(
            _print(self.dialect, item, n in self.inside) == print_
            for n, (item, print_) in enumerate(pairs)
        )

    def apply(self, items: Sequence[Any]) -> list[Any]:
        """Return the items after the cut. Call only if `fits` is true for them."""
        opened = [
            _opened(self.dialect, item) if n in self.inside else item
            for n, item in enumerate(items)
        ]
        return [*(carry_out(recipe, opened) for recipe in self.after), *items[len(self.before) :]]


def cut_of(dialect: str, items: Sequence[Any], plan: Sequence[Recipe]) -> BufferCut | None:
    """Return the cut that changes `items` according to `plan` (from `plan_recipes`); None if nothing changes."""
    items_end, plan_end = len(items), len(plan)
    while items_end and plan_end and plan[plan_end - 1] == Ref((items_end - 1,)):
        items_end -= 1
        plan_end -= 1
    after = tuple(plan[:plan_end])
    if not after and not items_end:
        return None
    inside = frozenset(place for recipe in after for place in looks_into(recipe))
    before = tuple(
        _print(dialect, item, place in inside) for place, item in enumerate(items[:items_end])
    )
    return BufferCut(dialect, before, after, inside)


def _opened(dialect: str, item: Any) -> Any:
    """Return an item with its content as a list, because clients send the same text as a string or as a block."""
    match item:
        case {"content": str(text)}:
            text_type = "output_text" if item.get("role") == "assistant" else "input_text"
            kind = text_type if dialect == "openai-responses" else "text"
            return {**item, "content": [{"type": kind, "text": text}]}
    return item


def _print(dialect: str, item: Any, whole: bool) -> str:
    return fingerprint(DIALECTS[dialect].read(item, "", 0, ""), whole=whole)


@dataclass(frozen=True, slots=True)
class Recut:
    """A later request of a thread after the thread's cuts."""

    items: list[Any]
    made: int
    """Number of cuts that were applied, from the first one on."""
    left: int
    """Number of cuts that were not applied, because the client's own conversation has changed."""


def recut(cuts: Sequence[BufferCut], items: Sequence[Any]) -> Recut:
    """Apply cuts one after the other, up to the first that does not fit: later cuts build on its result."""
    now = list(items)
    for n, cut in enumerate(cuts):
        if not cut.fits(now):
            return Recut(now, n, len(cuts) - n)
        now = cut.apply(now)
    return Recut(now, len(cuts), left=0)
