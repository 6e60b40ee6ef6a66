"""`context-inspector breakdown FILE`: what fills the buffer of one request, and its duplicates."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from inspector.cli.output import listing, number, picked, plain, table, write_answer
from inspector.cli.select import Selection, add_selection, select
from inspector.core.findings.breakdown import Breakdown, BreakdownNode, break_down, tool_calls
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.message import Message
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import part_title, per_cent, plural

_ROWS = 20
"""Maximum number of rows of duplicates and tools in the text output; JSON has all."""
_SMALLEST = 0.005
"""Smallest share of the buffer that has its own line in the text output."""
_DEEPEST = 4


add_arguments = add_selection


def run(arguments: argparse.Namespace) -> None:
    """Print the breakdown. Raises InspectorError."""
    write_answer(describe(select(arguments)), arguments.json, breakdown_lines)


def describe(chosen: Selection) -> dict[str, Any]:
    """Return the document of cli.md's `breakdown`."""
    size = sizer(known_pressures(chosen.thread), chosen.at)
    buffer = chosen.buffer
    calls = tool_calls(chosen.session, chosen.thread)
    result: Breakdown = break_down(size, size.pressure, buffer, calls)
    duplicates = repeats(size, buffer, calls)
    tool_fields = "name server schema_tokens calls calls_in_buffer tokens"
    return {
        "thread": chosen.thread.id,
        "request": "end" if chosen.is_end else chosen.at,
        "tokens": size.pressure.tokens,
        "kind": size.pressure.kind,
        "tree": _node(result.tree, buffer.messages),
        "repeats": [_repeat(repeat, buffer.messages) for repeat in duplicates],
        "repeats_free": sum(repeat.free for repeat in duplicates),
        "tools": [picked(tool, tool_fields) for tool in result.tools],
    }


def _repeat(repeat: Repeat, messages: Sequence[Message]) -> dict[str, Any]:
    ids = [messages[place].id for place in repeat.messages]
    return {**picked(repeat, "tokens_each times free what"), "messages": ids}


def _node(node: BreakdownNode, messages: Sequence[Message]) -> dict[str, Any]:
    document: dict[str, Any] = {"name": node.name, "kind": node.kind, "tokens": node.tokens}
    if node.calls is not None:
        document["calls"] = node.calls
    if node.messages and not node.children:
        document["messages"] = [messages[place].id for place in node.messages]
    if node.children:
        document["children"] = [_node(child, messages) for child in node.children]
    return document


def breakdown_lines(document: dict[str, Any]) -> list[str]:
    """Return the document as text, with the largest rows of each part."""
    total = document["tokens"]
    head = f"request {document['request']}: {number(total)} tokens, {document['kind']}"
    lines = [head, "", *_tree(document["tree"], total or 0)]
    duplicates = document["repeats"]
    if duplicates:
        lines += ["", duplicates_words(document["repeats_free"])]
        lines += listing(duplicates[:_ROWS], ">free", ">tokens_each=each", ">times", "what/90")
        lines += _more_line(duplicates)
    tools = document["tools"]
    if tools:
        lines += ["", "tools:"]
        lines += listing(tools[:_ROWS], *_TOOL_COLUMNS)
        lines += _more_line(tools)
    return lines


_TOOL_COLUMNS = (
    "name/60",
    "server/30",
    ">schema_tokens=schema",
    ">calls",
    ">calls_in_buffer=in buffer",
    ">tokens=tokens in buffer",
)


def duplicates_words(tokens: int) -> str:
    """Say how many tokens are duplicates: those that are freed if only the newest copies are kept."""
    subject = "1 token is a duplicate" if tokens == 1 else f"{tokens:,} tokens are duplicates"
    return f"{subject} (free if only the newest copies are kept):"


def _more_line(rows: Sequence[Any]) -> list[str]:
    return [f"... and {len(rows) - _ROWS:,} more"] if len(rows) > _ROWS else []


def _tree(tree: dict[str, Any], total: int) -> list[str]:
    return table(("", ">tokens", ">share", ""), list(_tree_rows(tree, depth=0, total=total)))


def _tree_rows(node: dict[str, Any], depth: int, total: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield the row of a node, the rows of its large children, and one row that sums up the small ones."""
    share = node["tokens"] / total if total else 0.0
    calls = plural(node["calls"], "call") if node.get("calls") else ""
    title = part_title(node["name"]) if node["kind"] == "category" else node["name"]
    name = _INDENT * depth + plain(title, 90)
    yield name, number(node["tokens"]), per_cent(share, places=1), calls
    if depth >= _DEEPEST:
        return
    children = [child for child in node.get("children", ()) if child["kind"] != "message"]
    least = _SMALLEST * total if depth else 0
    large = [child for child in children if child["tokens"] >= least]
    for child in large:
        yield from _tree_rows(child, depth + 1, total)
    rest = _sum_tokens(children) - _sum_tokens(large)
    if large and rest:
        count = len(children) - len(large)
        label = f"{_INDENT * (depth + 1)}{count:,} smaller"
        yield label, number(rest), per_cent(rest / total, places=1), ""


_INDENT = "  "


def _sum_tokens(nodes: Sequence[dict[str, Any]]) -> int:
    return sum(node["tokens"] for node in nodes)
