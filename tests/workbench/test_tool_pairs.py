"""Calls and their results, looked for from a message outwards."""

from typing import Any, cast

from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.workbench.tool_pairs import AHEAD, NEAR, ToolPairs


def call(id_: str, name: str = "Bash") -> Message:
    return Message(f"a-{id_}", "assistant", (ToolCall(id_, name, {}),))


def result(id_: str) -> Message:
    return Message(f"r-{id_}", "tool", (ToolResult(id_, "done"),))


SAID = Message("u", "user", (Text("and now?"),))


def test_halves_find_each_other() -> None:
    pairs = ToolPairs(
        (SAID, call("1"), call("2", "Read"), result("2"), SAID, result("1"), result("nobody"))
    )
    assert [one and one.place for n in range(7) for one in pairs.partners(n)] == [
        None,
        5,
        3,
        2,
        None,
        1,
        None,
    ]


def test_the_same_tool_before_and_after() -> None:
    pairs = ToolPairs(
        (call("1"), result("1"), call("2", "Read"), result("2"), call("3"), SAID, result("3"))
    )
    after, before = [[pairs.same_tool(n, rows) for n in range(7)] for rows in (1, -1)]
    assert [one and one.id for one in after] == ["a-3", "r-3", None, None, None, None, None]
    assert [one and one.id for one in before] == [None, None, None, None, "a-1", None, "r-1"]


def test_a_long_buffer_is_not_walked() -> None:
    """What is far away is not even looked at."""
    far = cast("Any", (object(),) * 9)
    near = (SAID,) * (AHEAD + NEAR)
    pairs = ToolPairs((*far, *near, call("lone"), *near, *far))
    here = len(far) + len(near)
    assert pairs.partners(here) == (None,)
    assert pairs.same_tool(here, 1) is None
    assert pairs.same_tool(here, -1) is None
