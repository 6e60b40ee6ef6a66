"""A breakdown reduced to what is searched for, and what changed between two of them."""

from inspector.core.findings.breakdown import BreakdownNode, NodeKind
from inspector.core.findings.breakdown_views import compare_breakdowns, keep_matching


def node(name: str, kind: NodeKind, *children: BreakdownNode, tokens: int = 0) -> BreakdownNode:
    whole = tokens or sum(child.tokens for child in children)
    places = tuple(place for child in children for place in child.messages)
    return BreakdownNode(name, kind, whole, places, children)


def read(*files: tuple[str, int]) -> BreakdownNode:
    leaves = [BreakdownNode(name, "file", tokens, (n,)) for n, (name, tokens) in enumerate(files)]
    results = node("tool results", "category", node("Read", "tool", *leaves))
    return node("buffer", "buffer", results, BreakdownNode("user", "category", 10, (9,)))


def test_search_when_a_file_matches_keeps_its_branch_with_its_tokens() -> None:
    kept = keep_matching(read(("src/ledger.py", 30), ("src/rates.py", 50)), "LEDGER")
    assert kept is not None
    assert [(found.name, found.tokens) for _, found in kept.walk()] == [
        ("buffer", 30), ("tool results", 30), ("Read", 30), ("src/ledger.py", 30),
    ]  # fmt: skip
    assert kept.messages == (0,)
    assert keep_matching(read(("a", 1)), "nowhere") is None


def test_search_when_a_tool_matches_keeps_all_below_it() -> None:
    kept = keep_matching(read(("a", 30), ("b", 50)), "read")
    assert kept is not None
    assert kept.tokens == 80


def test_changes_when_two_buffers_differ_add_up_to_the_change_of_the_buffer() -> None:
    before, after = read(("a", 30), ("b", 50)), read(("b", 55), ("c", 200))
    changes = compare_breakdowns(before, after)
    assert [(change.part[-1], change.change) for change in changes] == [
        ("c", 200),
        ("a", -30),
        ("b", 5),
    ]
    assert sum(change.change for change in changes) == after.tokens - before.tokens
