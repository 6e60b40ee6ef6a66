"""Where the kept part begins (spec 3.5): never with a tool's result, so that calls and results stay together.

Pi's own sessions hold one message an answer, and its results right behind. Sessions of other harnesses may not: a
position between a call and its result is therefore no cut position either. In Pi's sessions that changes nothing.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inspector.core.message import ToolResult
from inspector.core.policies.pi.entries import Entry


@dataclass(frozen=True, slots=True)
class Cut:
    """Indices into the entries; `turn_start` is -1 where the cut does not split a turn, or no start was found."""

    first_kept: int
    turn_start: int = -1
    split: bool = False


def find_cut_point(
    entries: Sequence[Entry], start: int, end: int, keep: int, owed: Collection[str] = frozenset()
) -> Cut:
    """findCutPoint over entries[start:end]. `owed`: ids of calls whose results are still to come. O(end - start)."""
    valid = _valid(entries, start, end, owed)
    if not valid:
        return Cut(start)
    at = _back_over_metadata(entries, start, _reach(entries, start, end, keep, valid))
    if entries[at].is_user:
        return Cut(at)
    turn_start = next((n for n in range(at, start - 1, -1) if entries[n].starts_turn), -1)
    return Cut(at, turn_start, turn_start != -1)


def _reach(entries: Sequence[Entry], start: int, end: int, keep: int, valid: Sequence[int]) -> int:
    """The first valid position at or behind the message with which the newest reach `keep`; else the first of all."""
    total = 0
    for at in range(end - 1, start - 1, -1):
        if not entries[at].is_message:
            continue
        total += entries[at].tokens
        if total >= keep:
            return next((n for n in valid if n >= at), valid[0])
    return valid[0]


def _back_over_metadata(entries: Sequence[Entry], start: int, at: int) -> int:
    """Metadata travels with what follows it."""
    while at > start and not entries[at - 1].is_message and entries[at - 1].kind != "compaction":
        at -= 1
    return at


def _valid(entries: Sequence[Entry], start: int, end: int, owed: Collection[str]) -> list[int]:
    """Positions where the kept part may begin."""
    change = _held_together(entries, start, end, owed)
    held, found = 0, []
    for at in range(start, end):
        held += change.get(at, 0)
        if not held and entries[at].may_open:
            found.append(at)
    return found


def _held_together(entries: Sequence[Entry], start: int, end: int, owed: Collection[str]) -> dict[int, int]:
    """From which position on one more (or one less) call waits for its result."""
    change: dict[int, int] = defaultdict(int)
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for at in range(start, end):
        message = entries[at].message
        for part in message.parts if message else ():
            if isinstance(part, ToolResult) and waiting.get(part.call_id):
                change[waiting[part.call_id].popleft() + 1] += 1
                change[at + 1] -= 1
        for call in message.calls if message else ():
            waiting[call.id].append(at)
    newest = _newest_answer(entries, start, end)
    for call_id, calls in waiting.items():
        for at in calls:
            if call_id in owed or at >= newest:
                change[at + 1] += 1
    return change


def _newest_answer(entries: Sequence[Entry], start: int, end: int) -> int:
    """Where the answer at the very end begins: its calls are still to be answered."""
    at = end
    while at > start and ((message := entries[at - 1].message) is None or message.role == "assistant"):
        at -= 1
    return at
