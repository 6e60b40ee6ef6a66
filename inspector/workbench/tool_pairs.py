"""Find the result of a call in a buffer, and the next message of the same tool.

The search begins at the message. Providers want a result right after its call, so the search in a buffer of 200,000
messages costs no more than in one of a hundred.
"""

from collections.abc import Callable
from dataclasses import dataclass

from inspector.core.message import Message, ToolCall, ToolResult

NEAR = 500
"""Maximum number of messages between a call and its result; a result that is further away counts as unpaired."""
AHEAD = 5_000
"""Maximum number of messages that are searched for the next use of a tool."""


@dataclass(frozen=True, slots=True)
class PairedPart:
    """The other half of a call or a result, and the message that holds it."""

    part: ToolCall | ToolResult
    message: str
    """Id of that message."""
    place: int
    """Index of that message in the buffer."""


class ToolPairs:
    """The pairs of one buffer. Messages are given by their indices in it."""

    def __init__(self, messages: tuple[Message, ...] = ()) -> None:
        self._messages = messages

    def partners(self, place: int) -> tuple[PairedPart | None, ...]:
        """Return the other half of each part of a message; None for a part without one."""
        return tuple(self._partner(part, place) for part in self._messages[place].parts)

    def same_tool(self, place: int, rows: int) -> Message | None:
        """Return the nearest message after index `place` with the same role and tool; None if none is near.

        If `rows` is 0 or negative, search the messages before it.
        """
        role = self._messages[place].role
        tools = self._tools(place)
        if not tools:
            return None
        nearby = range(place + 1, min(place + 1 + AHEAD, len(self._messages)))
        if rows <= 0:
            nearby = range(place - 1, max(place - 1 - AHEAD, -1), -1)
        for other in nearby:
            if self._messages[other].role == role and self._tools(other) & tools:
                return self._messages[other]
        return None

    def _partner(self, part: object, place: int) -> PairedPart | None:
        if isinstance(part, ToolCall):
            after = range(place, min(place + NEAR, len(self._messages)))
            return self._find(
                after, lambda other: isinstance(other, ToolResult) and other.call_id == part.id
            )
        if isinstance(part, ToolResult):
            before = range(place, max(place - NEAR, -1), -1)
            return self._find(
                before, lambda other: isinstance(other, ToolCall) and other.id == part.call_id
            )
        return None

    def _find(self, places: range, fits: Callable[[object], bool]) -> PairedPart | None:
        for place in places:
            for part in self._messages[place].parts:
                if isinstance(part, ToolCall | ToolResult) and fits(part):
                    return PairedPart(part, self._messages[place].id, place)
        return None

    def _tools(self, place: int) -> frozenset[str]:
        """Return the names of the tools that a message calls, or whose result it holds."""
        names = set[str]()
        for part in self._messages[place].parts:
            if isinstance(part, ToolCall):
                names.add(part.name)
            elif isinstance(part, ToolResult):
                pair = self._partner(part, place)
                if pair is not None and isinstance(pair.part, ToolCall):
                    names.add(pair.part.name)
        return frozenset(names)
