"""Two views of a breakdown: the parts whose names hold a text, and what changed between two buffers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from inspector.core.findings.breakdown import BreakdownNode
from inspector.core.heavy import checkpoint


def keep_matching(tree: BreakdownNode, text: str) -> BreakdownNode | None:
    """Return the tree reduced to the parts whose names contain a text, with all their children. Ignores case.

    The tokens of each part above them are the sum of the remaining children. None if no name contains the text.
    O(nodes).
    """
    return _keep(tree, text.casefold())


def _keep(node: BreakdownNode, text: str) -> BreakdownNode | None:
    checkpoint()
    if node.kind != "buffer" and text in node.name.casefold():
        return node
    reduced = (_keep(child, text) for child in node.children)
    children = tuple(child for child in reduced if child is not None)
    if not children:
        return None
    places = sorted({place for child in children for place in child.messages})
    tokens = sum(child.tokens for child in children)
    return replace(node, tokens=tokens, children=children, messages=tuple(places))


@dataclass(frozen=True, slots=True)
class PartChange:
    """A part of two buffers: a category, and below it the tool and the file, command or text."""

    part: tuple[str, ...]
    before: int
    after: int

    @property
    def change(self) -> int:
        """Return the tokens by which the part grew; negative if it shrank."""
        return self.after - self.before


def compare_breakdowns(before: BreakdownNode, after: BreakdownNode) -> tuple[PartChange, ...]:
    """Return the parts that differ, the largest change first. The changes add up to that of the buffer. O(nodes)."""
    former = Counter(dict(_leaves(before, ())))
    latter = Counter(dict(_leaves(after, ())))
    changes = [
        PartChange(part, former[part], latter[part]) for part in former.keys() | latter.keys()
    ]
    changed = (change for change in changes if change.change)
    return tuple(sorted(changed, key=lambda change: (-abs(change.change), change.part)))


def _leaves(node: BreakdownNode, part: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield (names on the path, tokens) of the lowest parts; a message counts for the part that it is in."""
    checkpoint()
    left = node.tokens
    for child in node.children:
        if child.kind != "message":
            left -= child.tokens
            yield from _leaves(child, (*part, child.name))
    if left:
        yield part, left
