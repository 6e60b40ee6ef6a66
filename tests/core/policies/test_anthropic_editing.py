"""Anthropic's context editing."""

from typing import Any

import pytest

from inspector.core.policies import anthropic_editing
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import SimpleState
from tests.core.policies.build import before_call, build, cleared, run


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ({}, [2, 4]),
        ({"keep": 0}, [2, 4, 6, 8, 10]),
        ({"keep": 9}, []),
        ({"exclude_tools": "Bash"}, []),
        ({"exclude_tools": "Read, Other"}, [2, 4]),
    ],
)
def test_editing_clears_all_but_the_newest(values: dict[str, Any], places: list[int]) -> None:
    before = build(5, "x" * 400)
    after = run(anthropic_editing.POLICY, "clear", before, **values)
    assert cleared(after) == places
    assert all(call for message in after.buffer.messages for call in message.calls)
    again = run(anthropic_editing.POLICY, "clear", after.buffer, **values)
    assert again.buffer == after.buffer


def test_editing_clears_inputs_only_when_asked() -> None:
    before = build(5, "x" * 400)
    kept = run(anthropic_editing.POLICY, "clear", before)
    assert next(call.arguments for m in kept.buffer.messages for call in m.calls) == {
        "command": "echo 0"
    }
    bare = run(anthropic_editing.POLICY, "clear", before, clear_tool_inputs=True)
    assert [call.arguments for m in bare.buffer.messages for call in m.calls][:3] == [
        {},
        {},
        {"command": "echo 2"},
    ]
    assert bare.events[0].fields["cleared_tool_uses"] == 2


@pytest.mark.parametrize(
    ("values", "fires"),
    [
        ({}, False),
        ({"trigger_value": 100}, True),
        ({"trigger_value": 100, "clear_at_least": 170}, True),
        ({"trigger_value": 100, "clear_at_least": 200}, False),
        ({"trigger": "tool_uses", "trigger_value": 5}, False),
        ({"trigger": "tool_uses", "trigger_value": 4}, True),
        ({"trigger": "tool_uses"}, False),
    ],
)
def test_editing_triggers(values: dict[str, Any], fires: bool) -> None:
    before = build(5, "x" * 400)
    assert bool(before_call(anthropic_editing.POLICY, before, **values)) is fires
    settings = anthropic_editing.POLICY.settings(
        [(key, str(value)) for key, value in values.items()]
    )
    (verdict,) = anthropic_editing.POLICY.due(PolicyContext(before, settings, SimpleState()))
    assert verdict.due is fires


def test_editing_has_no_line_for_tool_uses() -> None:
    by = anthropic_editing.POLICY
    assert [line.tokens for line in by.watermarks(by.settings())] == [100_000]
    assert not by.watermarks(by.settings([("trigger", "tool_uses")]))
