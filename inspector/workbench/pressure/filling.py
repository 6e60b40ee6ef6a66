"""What fills the buffer: breakdown and duplicates at the current place, and areas over all requests."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from inspector.core.buffer import Prompt, View
from inspector.core.errors import Cancelled
from inspector.core.findings.breakdown import (
    BreakdownNode,
    OfferedTool,
    ToolCalls,
    break_down,
    tool_calls,
)
from inspector.core.findings.composition import (
    CATEGORIES,
    composition,
    segments,
    split,
    weigh_parts,
)
from inspector.core.findings.repeats import Repeat, repeats
from inspector.core.identity import SameObject
from inspector.core.message import Message
from inspector.core.session import Request, Thread
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.estimators import prompt_tokens, weight
from inspector.core.tokens.pressure import Pressures
from inspector.core.tokens.sizing import Sizer, rounded, sizer
from inspector.workbench.policy_input import sizer_of
from inspector.workbench.pressure.gauge import pressure_here
from inspector.workbench.state import State


@dataclass(frozen=True, slots=True)
class Filling:
    """The contents of one buffer: its breakdown, its tools and its duplicates."""

    messages: tuple[Message, ...]
    tree: BreakdownNode
    tools: tuple[OfferedTool, ...]
    repeats: tuple[Repeat, ...]

    def ids(self, places: tuple[int, ...]) -> frozenset[str]:
        """Return the ids of the messages at these indices."""
        return frozenset(self.messages[place].id for place in places)


def filling_key(state: State) -> tuple[object, ...] | None:
    """Return everything that the filling depends on; None while nothing is open. O(1)."""
    if state.thread is None or state.pressures is None:
        return None
    return (
        SameObject(state.thread),
        SameObject(state.pressures),
        state.at,
        SameObject(state.stepped_buffer),
    )


def filling(
    state: State, calls: ToolCalls, cancelled: Callable[[], bool] = lambda: False
) -> Filling:
    """Return what fills the shown buffer. Call it only while a session is open. O(text). Raises Cancelled."""
    size = sizer_of(state)
    buffer = state.buffer()
    breakdown = break_down(size, pressure_here(state, size)[0], buffer, calls)
    if cancelled():
        raise Cancelled("The playhead moved on.")
    return Filling(buffer.messages, breakdown.tree, breakdown.tools, repeats(size, buffer, calls))


def find_tree(state: State, calls: ToolCalls) -> BreakdownNode:
    """Return what fills the shown buffer, as a tree. Call it only while a session is open. O(buffer)."""
    size = sizer_of(state)
    return break_down(size, pressure_here(state, size)[0], state.buffer(), calls).tree


def calls_of(state: State) -> ToolCalls:
    """Return the tool calls of the shown thread. Call it only while a session is open. O(messages)."""
    assert state.session is not None
    assert state.thread is not None
    return tool_calls(state.session, state.thread)


AreaKind: TypeAlias = Literal["category", "tool"]
OTHER_TOOLS, NO_TOOL, UNSEEN, DIFFERENCE = "other tools", "all else", "unseen", "difference"
_TOOLS = 8
"""Number of tools with areas of their own: the tools with the most tokens over the whole thread."""
_BITS = 48
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Areas:
    """What fills the buffer at every request: areas over the requests, stacked up to the number shown."""

    kind: AreaKind
    names: tuple[str, ...]
    """Names of the areas, lowest first."""
    tokens: tuple[tuple[int, ...], ...]
    """Tokens of each area, one number per request; 0 if the request's size is unknown. Only a difference can be
    negative.
    """
    pressures: Pressures | None = field(default=None, compare=False, repr=False)
    """The pressures that the areas were computed from."""
    rows: Sequence[Sequence[int]] = field(default=(), compare=False, repr=False)
    """The numbers of each request for all possible areas, reused when the thread grows."""


def areas(
    state: State,
    kind: AreaKind,
    cancelled: Callable[[], bool] = lambda: False,
    former: "Areas | None" = None,
) -> Areas:
    """Return the areas of the whole thread. Call it only while a session is open. O(messages + requests).

    Args:
        state: The State.
        kind: Areas by category or by tool.
        cancelled: Asked at every request.
        former: The areas by category when the thread was shorter; their settled requests are reused.

    Raises:
        Cancelled: `cancelled` returned True.
    """
    thread = state.thread
    pressures = state.pressures
    assert thread is not None
    assert pressures is not None
    names: tuple[str, ...] = CATEGORIES
    weigh: _Weigh = _count_by_category
    if kind == "tool":
        by_tool = _ToolWeights(calls_of(state), thread, pressures.by)
        names = (NO_TOOL, OTHER_TOOLS, *by_tool.tools, DIFFERENCE)
        weigh = by_tool
    rows: list[Sequence[int]] = []
    if former is not None and former.pressures is not None and former.kind == kind == "category":
        rows += former.rows[: pressures.count_settled(former.pressures)]
    for request in thread.requests[len(rows) :]:
        if cancelled():
            raise Cancelled("Other areas are wanted.")
        rows.append(_request_row(sizer(pressures, request.index), weigh, request))
    columns = list(zip(*rows, strict=True)) or [()] * (len(names) + 1)
    filled = {
        name: column for name, column in zip((UNSEEN, *names), columns, strict=True) if any(column)
    }
    return Areas(
        kind, names=tuple(filled), tokens=tuple(filled.values()), pressures=pressures, rows=rows
    )


def _request_row(size: Sizer, weigh: "_Weigh", request: Request) -> list[int]:
    """Return the numbers of one request: tokens not in the file, each area, the difference to the provider's count."""
    weights = weigh(size, request.view, request.prompt)
    total = size.pressure.tokens or 0
    if not any(weights):
        return [total, *weights, 0]
    recorded = rounded(
        [size.scale.slope * area_weight for area_weight in weights], total - size.scale.beside
    )
    return [size.scale.unseen, *recorded, size.scale.difference]


_Weigh: TypeAlias = Callable[[Sizer, View, Prompt], list[int]]
"""Returns the counted tokens of a buffer by area."""


def _count_by_category(size: Sizer, view: View, prompt: Prompt) -> list[int]:
    counted = composition(size.estimator, view, prompt)
    return [counted.get(name, 0) for name in CATEGORIES if name != DIFFERENCE]


class _ToolWeights:
    """Counts a buffer's tokens by tool, from running sums. A result counts for its tool; of an answer, only the calls
    do.

    The areas are in this order: no tool, other tools, then the tools with the most tokens, the largest last.
    """

    def __init__(self, calls: ToolCalls, thread: Thread, estimator: Estimator) -> None:
        self._calls = calls
        self._by = estimator
        total: Counter[str] = Counter()
        for message in thread.messages:
            total.update(dict(self._split(message)))
        total.pop("", None)
        self.tools = tuple(name for name, _ in reversed(total.most_common(_TOOLS)))
        self._places = {"": 0} | {name: number for number, name in enumerate(self.tools, 2)}
        self._key = f"{estimator.name} by tool: {self.tools}"

    def __call__(self, size: Sizer, view: View, prompt: Prompt) -> list[int]:
        packed = view.weight(self._key, self._pack_weights)
        tokens = [
            self._by.tokens(packed >> index * _BITS & _MASK) for index in range(len(self.tools) + 2)
        ]
        tokens[0] += sum(prompt_tokens(self._by, prompt))
        return tokens

    def _pack_weights(self, message: Message) -> int:
        """Return the weights of a message by area, packed into one integer."""
        return sum(
            share << self._places.get(name, 1) * _BITS for name, share in self._split(message)
        )

    def _split(self, message: Message) -> list[tuple[str, int]]:
        """Return (name of the tool, weight) for each tool of a message; the name is empty for the part without a
        tool.
        """
        whole = weight(self._by, message)
        result = message.result
        if result is not None:
            call = self._calls.by_id.get(result.call_id)
            return [(call.name if call is not None else OTHER_TOOLS, whole)]
        names = [call.name for call in message.calls]
        if not names:
            return [("", whole)]
        each = [max(1, weigh_parts(self._by, message, [call])) for call in message.calls]
        called = split(self._by, message, segments(message)).get("tool calls", 0)
        shares = rounded([called * call_weight / sum(each) for call_weight in each], called)
        return [("", whole - called), *zip(names, shares, strict=True)]
