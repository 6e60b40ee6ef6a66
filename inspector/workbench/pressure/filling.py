"""What fills the buffer, for the window: the breakdown and the repeats where we stand, and areas over all requests."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from inspector.core.buffer import Prompt, View
from inspector.core.errors import Cancelled
from inspector.core.findings.breakdown import BreakdownNode, OfferedTool, ToolCalls, break_down, tool_calls
from inspector.core.findings.composition import CATEGORIES, composition, segments, split, weigh_parts
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.identity import SameObject
from inspector.core.message import Message
from inspector.core.session import Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import prompt_tokens, weight
from inspector.core.tokens.pressure import Pressures
from inspector.core.tokens.sizing import Sizer, rounded, sizer
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.pressure.gauge import pressure_here
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
    found = break_down(size, pressure_here(state, size)[0], buffer, calls)
    if cancelled():
        raise Cancelled("The playhead moved on.")
    return Filling(buffer.messages, found.tree, found.tools, repeats(size, buffer, calls))


def find_tree(state: State, calls: ToolCalls) -> BreakdownNode:
    """Return what fills the buffer that is shown, as a tree, while something is open. O(buffer)."""
    size = sizer_of(state)
    return break_down(size, pressure_here(state, size)[0], state.buffer(), calls).tree


def calls_of(state: State) -> ToolCalls:
    """Of the thread that is looked at, while something is open. O(messages)."""
    assert state.session is not None
    assert state.thread is not None
    return tool_calls(state.session, state.thread)


AreaKind: TypeAlias = Literal["category", "tool"]
OTHER_TOOLS, NO_TOOL, UNSEEN, DIFFERENCE = "other tools", "all else", "unseen", "difference"
_TOOLS = 8
"""Tools with an area of their own: those that weigh most over the whole thread."""
_BITS = 48
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Areas:
    """What fills the buffer at every request: areas over the requests, one on the other, up to the shown number."""

    kind: AreaKind
    names: tuple[str, ...]
    """Lowest first."""
    tokens: tuple[tuple[int, ...], ...]
    """Of each area, one number a request; 0 where nothing is known of the request. Only a difference is below zero."""
    pressures: Pressures | None = field(default=None, compare=False, repr=False)
    """By which they were worked out ..."""
    rows: Sequence[Sequence[int]] = field(default=(), compare=False, repr=False)
    """... and the numbers of each request, of all areas that there may be."""


def areas(
    state: State,
    kind: AreaKind,
    cancelled: Callable[[], bool] = lambda: False,
    former: "Areas | None" = None,
) -> Areas:
    """Of the whole thread, while something is open. O(messages + requests). Raises Cancelled.

    `former`: the areas by category when the thread was shorter; what still holds of them is taken over.
    """
    thread, pressures = state.thread, state.pressures
    assert thread is not None
    assert pressures is not None
    by_tool = _ToolWeights(calls_of(state), thread, pressures.by) if kind == "tool" else None
    counted = by_tool or _by_category
    names: tuple[str, ...] = (NO_TOOL, OTHER_TOOLS, *by_tool.tools, DIFFERENCE) if by_tool else CATEGORIES
    rows: list[Sequence[int]] = []
    if former is not None and former.pressures is not None and former.kind == kind == "category":
        rows += former.rows[: pressures.count_settled(former.pressures)]
    requests = thread.requests
    for at in range(len(rows), len(requests)):
        if cancelled():
            raise Cancelled("Other areas are wanted.")
        request = requests[at]
        size = sizer(pressures, request.index)
        weights = counted(size, request.view, request.prompt)
        total = size.pressure.tokens or 0
        if not any(weights):
            rows.append([total, *weights, 0])
            continue
        recorded = rounded([size.scale.slope * one for one in weights], total - size.scale.beside)
        rows.append([size.scale.unseen, *recorded, size.scale.difference])
    columns = list(zip(*rows, strict=True)) or [()] * (len(names) + 1)
    kept = [(name, found) for name, found in zip((UNSEEN, *names), columns, strict=True) if any(found)]
    return Areas(kind, tuple(name for name, _ in kept), tuple(found for _, found in kept), pressures, rows)


def _by_category(size: Sizer, view: View, prompt: Prompt) -> list[int]:
    found = composition(size.estimator, view, prompt)
    return [found.get(name, 0) for name in CATEGORIES if name != DIFFERENCE]


class _ToolWeights:
    """What estimators count of a buffer by tool, from running sums: all of a result is its tool's, of an answer the
    calls. Lowest: what is no tool's, other tools, then the heaviest ones, the heaviest last."""

    def __init__(self, calls: ToolCalls, thread: Thread, by: Estimator) -> None:
        self._calls, self._by = calls, by
        total: Counter[str] = Counter()
        for message in thread.messages:
            total.update(dict(self._split(message)))
        total.pop("", None)
        self.tools = tuple(name for name, _ in reversed(total.most_common(_TOOLS)))
        self._places = {"": 0} | {name: n for n, name in enumerate(self.tools, 2)}
        self._key = f"{by.name} by tool: {self.tools}"

    def __call__(self, size: Sizer, view: View, prompt: Prompt) -> list[int]:
        packed = view.weight(self._key, self._packed)
        found = [self._by.tokens(packed >> n * _BITS & _MASK) for n in range(len(self.tools) + 2)]
        found[0] += sum(prompt_tokens(self._by, prompt))
        return found

    def _packed(self, message: Message) -> int:
        return sum(found << self._places.get(name, 1) * _BITS for name, found in self._split(message))

    def _split(self, message: Message) -> list[tuple[str, int]]:
        """(tool, or nothing; weight)."""
        whole, result = weight(self._by, message), message.result
        if result is not None:
            call = self._calls.by_id.get(result.call_id)
            return [(call.name if call is not None else OTHER_TOOLS, whole)]
        names = [call.name for call in message.calls]
        if not names:
            return [("", whole)]
        each = [max(1, weigh_parts(self._by, message, [call])) for call in message.calls]
        called = split(self._by, message, segments(message)).get("tool calls", 0)
        found = rounded([called * one / sum(each) for one in each], called)
        return [("", whole - called), *zip(names, found, strict=True)]
