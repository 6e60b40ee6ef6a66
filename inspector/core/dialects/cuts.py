"""A cut: the user's change of a held buffer, applied again to every later request of that thread.

A client keeps its own conversation and sends all of it with every turn. A cut recognises the items that it replaces by
their content, and builds the new ones from them; later items are passed on unchanged. If the conversation begins with
other items (the client compacted it, or went back), the cut no longer fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.core.dialects.catalogue import DIALECTS
from inspector.core.dialects.recipe import Recipe, Ref, carry_out, looks_into
from inspector.core.identity import fingerprint


@dataclass(frozen=True, slots=True)
class BufferCut:
    """The items at the beginning, by fingerprint, and the recipes of the items that replace them."""

    dialect: str
    before: tuple[str, ...]
    after: tuple[Recipe, ...]
    inside: frozenset[int] = frozenset()
    """Items of which pieces are kept: these must be alike in every piece."""

    def fits(self, items: Sequence[Any]) -> bool:
        """Do the items begin with those that it replaces?"""
        if len(items) < len(self.before):
            return False
        pairs = zip(items, self.before, strict=False)
        return all(
            _print(self.dialect, item, n in self.inside) == print_
            for n, (item, print_) in enumerate(pairs)
        )

    def apply(self, items: Sequence[Any]) -> list[Any]:
        """The items with the cut made. Only for items that it `fits`."""
        opened = [
            _opened(self.dialect, item) if n in self.inside else item
            for n, item in enumerate(items)
        ]
        return [*(carry_out(recipe, opened) for recipe in self.after), *items[len(self.before) :]]


def cut_of(dialect: str, items: Sequence[Any], plan: Sequence[Recipe]) -> BufferCut | None:
    """Return the cut that changes `items` as `plan` (of `plan_recipes`) says; None if it changes nothing."""
    same = 0
    while same < min(len(items), len(plan)) and plan[-1 - same] == Ref((len(items) - 1 - same,)):
        same += 1
    after = tuple(plan[: len(plan) - same])
    count = len(items) - same
    if not after and not count:
        return None
    inside = frozenset(n for recipe in after for n in looks_into(recipe))
    before = tuple(_print(dialect, item, n in inside) for n, item in enumerate(items[:count]))
    return BufferCut(dialect, before, after, inside)


def _opened(dialect: str, item: Any) -> Any:
    """With its content as a list: the same text may come as a string one time and as a block another."""
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
    """What the cuts of a thread made of a later request."""

    items: list[Any]
    made: int
    """How many cuts were made, from the first one on."""
    left: int
    """How many do not fit: the client's own conversation has changed under them."""


def recut(cuts: Sequence[BufferCut], items: Sequence[Any]) -> Recut:
    """Each cut on what the one before it left. Those after one that does not fit were made of it: they wait, too."""
    now = list(items)
    for n, cut in enumerate(cuts):
        if not cut.fits(now):
            return Recut(now, n, len(cuts) - n)
        now = cut.apply(now)
    return Recut(now, len(cuts), 0)
