"""Which result belongs to which call in a buffer, and where the same tool is called again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.core.message import Message, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class PairedPart:
    """The other half of a call or a result, and the message that holds it."""

    part: ToolCall | ToolResult
    message: str
    """Its id."""
    place: int
    """Its place in the buffer."""


class ToolPairs:
    """Of one buffer. O(messages) once."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = tuple(messages)
        self._calls = dict[str, PairedPart]()
        self._results = dict[str, PairedPart]()
        self._tools = list[frozenset[str]]()
        """The tools that each message calls or answers for."""
        for place, one in enumerate(self._messages):
            for part in one.parts:
                if isinstance(part, ToolCall):
                    self._calls[part.id] = PairedPart(part, one.id, place)
                elif isinstance(part, ToolResult):
                    self._results[part.call_id] = PairedPart(part, one.id, place)
        self._tools = [self._names(one) for one in self._messages]

    def call_of(self, result: ToolResult) -> PairedPart | None:
        """None where the buffer does not hold it."""
        return self._calls.get(result.call_id)

    def result_of(self, call: ToolCall) -> PairedPart | None:
        """None where the buffer does not hold it."""
        return self._results.get(call.id)

    def partners(self, message: Message) -> tuple[PairedPart | None, ...]:
        """For each part of a message its other half, where it has one."""
        return tuple(self._partner(part) for part in message.parts)

    def _partner(self, part: object) -> PairedPart | None:
        if isinstance(part, ToolCall):
            return self.result_of(part)
        return self.call_of(part) if isinstance(part, ToolResult) else None

    def _names(self, message: Message) -> frozenset[str]:
        called = (self.call_of(part) for part in message.parts if isinstance(part, ToolResult))
        names = [call.name for call in message.calls]
        names += [found.part.name for found in called if found is not None and isinstance(found.part, ToolCall)]
        return frozenset(names)

    def same_tool(self, message: Message, rows: int) -> Message | None:
        """The nearest message after it (`rows` < 0: before it) of the same role and tool; None where there is none."""
        here = next((n for n, one in enumerate(self._messages) if one.id == message.id), None)
        if here is None:
            return None
        ahead: Sequence[int] = range(here + 1, len(self._messages)) if rows > 0 else range(here - 1, -1, -1)
        wanted = self._tools[here]
        return next(
            (self._messages[n] for n in ahead if self._messages[n].role == message.role and self._tools[n] & wanted),
            None,
        )
