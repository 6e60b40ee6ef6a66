"""What a fact is. The kinds stand in the order in which their loss hurts: what the user wants first, numbers last."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

FactKind: TypeAlias = Literal["instruction", "constraint", "decision", "error", "path", "identifier", "url", "number"]
"""instruction: what the user asks for; constraint: what the user forbids or demands always; decision: what the
assistant chose to do; the others are what they say."""
KINDS: tuple[FactKind, ...] = get_args(FactKind)
SENTENCES: frozenset[FactKind] = frozenset(("instruction", "constraint", "decision", "error"))
"""Kinds that are told in words: a summary may tell them in others."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Equal facts have the same kind and text."""

    kind: FactKind
    text: str

    @property
    def rank(self) -> int:
        """1 for the kind whose loss hurts most."""
        return KINDS.index(self.kind) + 1


@dataclass(frozen=True, slots=True)
class LostFact:
    """A fact that stands nowhere any more, and the message of those that went in which it stood first."""

    fact: Fact
    message: str


def by_kind(found: Iterable[Fact]) -> Mapping[FactKind, int]:
    """How many of each kind."""
    counts: dict[FactKind, int] = dict.fromkeys(KINDS, 0)
    for fact in found:
        counts[fact.kind] += 1
    return counts
