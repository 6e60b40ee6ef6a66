"""Facts and their kinds. Kinds are ordered by how much their loss hurts: the user's wishes first, numbers last."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

FactKind: TypeAlias = Literal[
    "instruction", "constraint", "decision", "error", "path", "identifier", "url", "number"
]
"""instruction: what the user asks for; constraint: what the user forbids or demands always; decision: what the
assistant chose to do; the other kinds are named after their content."""
KINDS: tuple[FactKind, ...] = get_args(FactKind)
SENTENCES: frozenset[FactKind] = frozenset(("instruction", "constraint", "decision", "error"))
"""Kinds whose facts are sentences, which a summary may paraphrase."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a text says and that cannot be guessed. Equal facts have the same kind and text."""

    kind: FactKind
    text: str

    @property
    def rank(self) -> int:
        """Return the rank of the fact's kind: 1 for the kind whose loss hurts most."""
        return KINDS.index(self.kind) + 1


def by_kind(facts: Iterable[Fact]) -> Mapping[FactKind, int]:
    """Return the number of facts of each kind."""
    counts: dict[FactKind, int] = dict.fromkeys(KINDS, 0)
    for fact in facts:
        counts[fact.kind] += 1
    return counts


_CHANCE = re.compile(r":\d+|\bline \d+|\b\d+(?:\.\d+)? ?m?s\b")
"""Line numbers and durations: they differ between two runs with the same error."""


def _same_saying(fact: Fact) -> str:
    """Return a key that equal sentences share; the key of an error leaves out line numbers and durations."""
    text = _CHANCE.sub("", fact.text) if fact.kind == "error" else fact.text
    return " ".join(_WORDS.findall(text.lower())) or fact.text


_WORDS = re.compile(r"\w+")


def _list_tails(folders: list[str]) -> list[str]:
    """Return a path, given as its parts, and every shorter path that it ends with, longest first."""
    return ["/".join(folders[first:]) for first in range(len(folders))]


def distinct(gone: Iterable[Fact]) -> list[tuple[Fact, list[Fact]]]:
    """Group facts that name the same thing, and return each group as (main fact, all its facts).

    Two paths name the same file if one ends with the other (a leading `@`, `.` or `/` is ignored). Errors are equal if
    only their line numbers and durations differ, other sentences if only their punctuation and case differ.
    """
    listed = list(gone)
    parts = {
        fact.text: fact.text.lstrip("@./").split("/") for fact in listed if fact.kind == "path"
    }
    paths = {path: _list_tails(named) for path, named in parts.items()}
    ends = {tail for tails in paths.values() for tail in tails[1:]}
    owner = dict[str, str]()
    for path in sorted(paths, key=len, reverse=True):
        if paths[path][0] not in ends:
            # The shortest of several paths with the same end.
            owner |= dict.fromkeys(paths[path], path)
    sayings = dict[str, Fact]()
    names = dict[Fact, list[Fact]]()
    for fact in listed:
        whole = fact
        if fact.kind == "path":
            whole = Fact("path", owner[paths[fact.text][0]])
        elif fact.kind in SENTENCES:
            whole = sayings.setdefault(_same_saying(fact), fact)
        names.setdefault(whole, []).append(fact)
    return list(names.items())
