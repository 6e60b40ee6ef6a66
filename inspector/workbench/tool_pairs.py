"""Which result belongs to which call in a buffer, and where the same tool is called again.

Looked for from a message outwards: a provider wants a result right after its call, so that a buffer of 200,000 messages
costs no more than one of a hundred.
"""

from collections.abc import Callable
from dataclasses import dataclass

from inspector.core.message import Message, ToolCall, ToolResult

NEAR = 500
"""Messages between a call and its result; further away they count as unpaired."""
AHEAD = 5_000
"""Messages that are looked through for the next use of a tool."""


@dataclass(frozen=True, slots=True)
class PairedPart:
    """The other half of a call or a result, and the message that holds it."""

    part: ToolCall | ToolResult
    message: str
    """Its id."""
    place: int
    """Its place in the buffer."""


class ToolPairs:
    """Of one buffer; messages are named by their places in it."""

    def __init__(self, messages: tuple[Message, ...] = ()) -> None:
        self._messages = messages

    def partners(self, here: int) -> tuple[PairedPart | None, ...]:
        """For each part of a message its other half, where it has one."""
        return tuple(self._partner(part, here) for part in self._messages[here].parts)

    def same_tool(self, here: int, rows: int) -> Message | None:
        """The nearest message after it (`rows` < 0: before it) of the same role and tool; None where none is near."""
        role, wanted = self._messages[here].role, self._tools(here)
        step = 1 if rows > 0 else -1
        near = self._messages[max(0, here - AHEAD) : here][::-1] if step < 0 else self._messages[here + 1 :][:AHEAD]
        places = (here + step * n for n, one in enumerate(near, 1) if one.role == role)
        return next((self._messages[at] for at in places if wanted and self._tools(at) & wanted), None)

    def _partner(self, part: object, here: int) -> PairedPart | None:
        if isinstance(part, ToolCall):
            after = range(here, min(here + NEAR, len(self._messages)))
            return self._find(after, lambda one: isinstance(one, ToolResult) and one.call_id == part.id)
        if isinstance(part, ToolResult):
            before = range(here, max(here - NEAR, -1), -1)
            return self._find(before, lambda one: isinstance(one, ToolCall) and one.id == part.call_id)
        return None

    def _find(self, places: range, fits: Callable[[object], bool]) -> PairedPart | None:
        for place in places:
            for part in self._messages[place].parts:
                if isinstance(part, ToolCall | ToolResult) and fits(part):
                    return PairedPart(part, self._messages[place].id, place)
        return None

    def _tools(self, here: int) -> frozenset[str]:
        """Those that a message calls or answers for."""
        parts = self._messages[here].parts
        found = (self._partner(part, here) for part in parts if isinstance(part, ToolResult))
        calls = [part for part in parts if isinstance(part, ToolCall)]
        calls += [one.part for one in found if one is not None and isinstance(one.part, ToolCall)]
        return frozenset(call.name for call in calls)
