"""A buffer told by the one before it: runs of what stayed, and in full what is new or changed.

`{"of": 40, "parts": [[0, 12], {message}, [30, 40]]}`: the first 12 of the 40 messages before, a new one, the last ten.
So a compaction costs what it changed, not what it left.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.core.dialects.neutral import read_messages, write_message
from inspector.core.errors import InspectorError
from inspector.core.message import Message


def write_shape(before: Sequence[Message], after: Sequence[Message]) -> dict[str, Any]:
    """`after` as JSON. O(messages), and the comparison of those that are not the same object."""
    place = {message.id: n for n, message in enumerate(before)}
    parts: list[Any] = []
    for message in after:
        at = place.get(message.id)
        if at is None or not (before[at] is message or before[at] == message):
            parts.append(write_message(message))
        elif parts and isinstance(parts[-1], list) and parts[-1][1] == at:
            parts[-1][1] = at + 1
        else:
            parts.append([at, at + 1])
    return {"of": len(before), "parts": parts}


def read_shape(shape: Any, before: Sequence[Message], line: int) -> tuple[int, list[Message]]:
    """(how many messages from the first on are as before, those behind them). Raises InspectorError.

    A file that lost a line may name messages that are not there: what is there of them is taken.
    """
    parts = shape.get("parts") if isinstance(shape, Mapping) else None
    if not isinstance(parts, list):
        raise InspectorError("a buffer without its parts")
    same = 0
    if parts and (run := _run(parts[0])) is not None and run[0] == 0:
        same = min(run[1], len(before))
        parts = parts[1:]
    rest: list[Message] = []
    for n, part in enumerate(parts):
        run = _run(part)
        rest += before[run[0] : run[1]] if run is not None else read_messages([part], f"line-{line}-{n}")
    return same, rest


def _run(part: Any) -> tuple[int, int] | None:
    if not isinstance(part, list):
        return None
    if len(part) != 2 or not all(type(one) is int and one >= 0 for one in part):
        raise InspectorError("a run of messages that is none")
    return part[0], part[1]
