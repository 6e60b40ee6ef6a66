"""What fills the buffer where we stand, for the window: the breakdown and the repeats."""

from collections.abc import Callable
from dataclasses import dataclass

from inspector.core.errors import Cancelled
from inspector.core.findings.breakdown import BreakdownNode, OfferedTool, ToolCalls, breakdown, tool_calls
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.identity import SameObject
from inspector.core.message import Message
from inspector.workbench.gauge import pressure_here
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class Filling:
    """What one buffer is filled with."""

    messages: tuple[Message, ...]
    tree: BreakdownNode
    tools: tuple[OfferedTool, ...]
    repeats: tuple[Repeat, ...]

    def ids(self, places: tuple[int, ...]) -> frozenset[str]:
        """Of the messages at these places."""
        return frozenset(self.messages[at].id for at in places)


def filling_key(state: State) -> tuple[object, ...] | None:
    """All that it depends on; None while nothing is open. O(1)."""
    if state.thread is None or state.pressures is None:
        return None
    return SameObject(state.thread), SameObject(state.pressures), state.at, SameObject(state.stepped_buffer)


def filling(state: State, calls: ToolCalls, cancelled: Callable[[], bool] = lambda: False) -> Filling:
    """Of the buffer that is looked at, while something is open. O(text). Raises Cancelled."""
    size, buffer = sizer_of(state), state.buffer()
    found = breakdown(size, pressure_here(state, size)[0], buffer, calls)
    if cancelled():
        raise Cancelled("The playhead moved on.")
    return Filling(buffer.messages, found.tree, found.tools, repeats(size, buffer, calls))


def calls_of(state: State) -> ToolCalls:
    """Of the thread that is looked at, while something is open. O(messages)."""
    assert state.session is not None
    assert state.thread is not None
    return tool_calls(state.session, state.thread)
