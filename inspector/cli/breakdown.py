"""`context-inspector breakdown FILE`: what fills the buffer of one request, and what stands in it more than once."""

import argparse
from collections.abc import Sequence
from typing import Any

from inspector.cli.output import listing, number, picked, plain, table, write_answer
from inspector.cli.select import Selection, add_selection, select
from inspector.core.findings.breakdown import Breakdown, BreakdownNode, breakdown, tool_calls
from inspector.core.findings.repeats import repeats
from inspector.core.message import Message
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.words import per_cent, plural

_ROWS = 20
"""Rows of repeats and tools that people are shown; JSON has all."""
_SHOWN = 0.005
"""Share of the buffer from which on a node is a line of its own for people."""
_DEEPEST = 4


add_arguments = add_selection


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises InspectorError."""
    write_answer(describe(select(arguments)), arguments.json, breakdown_lines)


def describe(chosen: Selection) -> dict[str, Any]:
    """The document of cli.md's `breakdown`."""
    size = sizer(known_pressures(chosen.thread, estimator(DEFAULT_ESTIMATOR)), chosen.at)
    calls, buffer = tool_calls(chosen.session, chosen.thread), chosen.buffer
    found: Breakdown = breakdown(size, size.pressure, buffer, calls)
    again = repeats(size, buffer, calls)
    return {
        "thread": chosen.thread.id,
        "request": "end" if chosen.is_end else chosen.at,
        "tokens": size.pressure.tokens,
        "kind": size.pressure.kind,
        "tree": _node(found.tree, buffer.messages),
        "repeats": [
            {**picked(one, "tokens_each times free what"), "messages": [buffer.messages[at].id for at in one.messages]}
            for one in again
        ],
        "repeats_free": sum(one.free for one in again),
        "tools": [picked(one, "name server schema_tokens calls calls_in_buffer tokens") for one in found.tools],
    }


def _node(node: BreakdownNode, messages: Sequence[Message]) -> dict[str, Any]:
    document: dict[str, Any] = {"name": node.name, "kind": node.kind, "tokens": node.tokens}
    if node.calls is not None:
        document["calls"] = node.calls
    if node.messages and not node.children:
        document["messages"] = [messages[at].id for at in node.messages]
    if node.children:
        document["children"] = [_node(child, messages) for child in node.children]
    return document


def breakdown_lines(document: dict[str, Any]) -> list[str]:
    """The whole document, the largest alone."""
    total = document["tokens"]
    head = f"request {document['request']}: {number(total)} tokens, {document['kind']}"
    lines = [head, "", *_tree(document["tree"], total or 0)]
    if document["repeats"]:
        free, shown = document["repeats_free"], document["repeats"][:_ROWS]
        lines += ["", f"repeated word for word; {number(free)} tokens would be free if only the newest copy stood:"]
        lines += listing(shown, ">free", ">tokens_each=each", ">times", "what/90") + _more(document["repeats"])
    if document["tools"]:
        counts = (">schema_tokens=schema", ">calls", ">calls_in_buffer=in buffer", ">tokens=tokens in buffer")
        lines += ["", "tools:", *listing(document["tools"][:_ROWS], "name/60", "server/30", *counts)]
        lines += _more(document["tools"])
    return lines


def _more(rows: Sequence[Any]) -> list[str]:
    return [f"... and {len(rows) - _ROWS:,} more"] if len(rows) > _ROWS else []


def _tree(tree: dict[str, Any], total: int) -> list[str]:
    rows: list[tuple[str, str, str, str]] = []

    def add(node: dict[str, Any], depth: int) -> None:
        share = node["tokens"] / total if total else 0.0
        calls = plural(calls, "call") if (calls := node.get("calls")) else ""
        rows.append(("  " * depth + plain(node["name"], 90), number(node["tokens"]), per_cent(share, 1), calls))
        children = [one for one in node.get("children", ()) if depth < _DEEPEST and one["kind"] != "message"]
        large = [one for one in children if one["tokens"] >= _SHOWN * total or not depth]
        for child in large:
            add(child, depth + 1)
        if large and (rest := sum(one["tokens"] for one in children) - sum(one["tokens"] for one in large)):
            less = f"{'  ' * (depth + 1)}{len(children) - len(large):,} smaller"
            rows.append((less, number(rest), per_cent(rest / total, 1), ""))

    add(tree, 0)
    return table(("", ">tokens", ">share", ""), rows)
