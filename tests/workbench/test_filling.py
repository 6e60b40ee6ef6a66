"""The areas of the timeline: as high as the shown number at every request, and what the breakdown says there."""

from dataclasses import replace

import pytest

from inspector.core.findings.breakdown import BreakdownNode
from inspector.resources import resource
from inspector.transcripts.files import open_transcript
from inspector.workbench.pressure.filling import (
    OTHER_TOOLS,
    UNSEEN,
    AreaKind,
    areas,
    calls_of,
    filling,
)
from inspector.workbench.workbench import Workbench

SAMPLE = open_transcript(str(resource("sample.jsonl")))


def opened() -> Workbench:
    bench = Workbench()
    bench.open(SAMPLE)
    return bench


@pytest.mark.parametrize("kind", ["category", "tool"])
def test_areas_are_as_high_as_the_shown_number(kind: AreaKind) -> None:
    state = opened().state
    found = areas(state, kind)
    assert state.pressures is not None
    assert [sum(column) for column in zip(*found.tokens, strict=True)] == [
        one.tokens for one in state.pressures
    ]
    assert all(tokens >= 0 for row in found.tokens for tokens in row)
    assert len(found.names) == len(set(found.names)) > 4


@pytest.mark.parametrize("length", [2, 78, 79, 80, 100, 131])
def test_areas_when_the_session_grew_are_those_of_the_whole_session(length: int) -> None:
    thread = SAMPLE.main
    shorter = replace(
        thread, requests=list(thread.requests)[:length], end=thread.requests[length].view
    )
    bench = Workbench()
    bench.open(replace(SAMPLE, threads=(shorter,)))
    former = areas(bench.state, "category")
    bench.open(replace(SAMPLE, threads=(replace(thread),)))
    assert bench.state.pressures is not None
    assert former.pressures is not None
    grown = areas(bench.state, "category", former=former)
    assert grown == areas(bench.state, "category")
    settled = bench.state.pressures.count_settled(former.pressures)
    assert settled in (0, length - 1, length)  # none if the weight of a token has changed since


@pytest.mark.parametrize("at", [0, 12, 60, 79, 131])
def test_areas_are_what_the_breakdown_says(at: int) -> None:
    bench = opened()
    bench.move(at)
    tree = filling(bench.state, calls_of(bench.state)).tree
    by_category = areas(bench.state, "category")
    shown = {
        name: row[at]
        for name, row in zip(by_category.names, by_category.tokens, strict=True)
        if row[at]
    }
    assert shown == {one.name: one.tokens for one in tree.children}
    by_tool = areas(bench.state, "tool")
    for name, row in zip(by_tool.names, by_tool.tokens, strict=True):
        if name not in (UNSEEN, OTHER_TOOLS) and (nodes := _of_tool(tree, name)):
            assert row[at] == pytest.approx(sum(one.tokens for one in nodes), rel=0.02, abs=3)


def _of_tool(tree: BreakdownNode, name: str) -> list[BreakdownNode]:
    return [node for _, node in tree.walk() if node.kind == "tool" and node.name == name]
