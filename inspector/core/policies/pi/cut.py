"""Where the kept part begins (spec 3.5): never with a tool's result, so that calls and results stay together.

Where something else came between a call and its result (the user ran a command meanwhile), Pi may cut there, and the
result is left without its call; safe mode never does. A call that is still to be answered always stays with what
follows it, since its result is appended later.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inspector.core.message import ToolResult
from inspector.core.policies.pi.entries import Entry
from inspector.core.policies.pi.settings import Settings


@dataclass(frozen=True, slots=True)
class Rules:
    """How Pi cuts."""

    newest: bool = False
    """As Pi 1.5: by what an entry shows the model; where results at the end are too large, before their answer."""
    together: bool = False
    """Never between a call and its result."""


RULES = Rules()


def rules_of(settings: Settings) -> Rules:
    """By the profile, and by the mode."""
    return Rules(settings.is_newest, settings.safe)


@dataclass(frozen=True, slots=True)
class Cut:
    """Indices into the entries; `turn_start` is -1 where the cut does not split a turn, or no start was found."""

    first_kept: int
    turn_start: int = -1
    split: bool = False


def find_cut_point(
    entries: Sequence[Entry],
    start: int,
    end: int,
    keep: int,
    owed: Collection[str] = frozenset(),
    rules: Rules = RULES,
) -> Cut:
    """findCutPoint over entries[start:end]. `owed`: ids of calls whose results are still to come. O(end - start)."""
    valid = _valid(entries, start, end, owed, rules.together)
    if not valid:
        return Cut(start)
    at = _back_over_metadata(entries, start, _reach(entries, start, end, keep, valid, rules.newest), rules.newest)
    if entries[at].is_start(rules.newest):
        return Cut(at)
    turn_start = next((n for n in range(at, start - 1, -1) if entries[n].starts_turn(rules.newest)), -1)
    return Cut(at, turn_start, turn_start != -1)


def _reach(entries: Sequence[Entry], start: int, end: int, keep: int, valid: Sequence[int], newest: bool) -> int:
    """The first valid position at or after the message with which the newest reach `keep`; else the first of all.

    Where the results at the end are that large by themselves, there is none after them: the newest Pi then takes the
    last, the older ones the first, which keeps everything.
    """
    total = 0
    for at in range(end - 1, start - 1, -1):
        tokens = entries[at].tokens(newest)
        if not (tokens or (entries[at].is_message and not newest)):
            continue
        total += tokens
        if total >= keep:
            return next((n for n in valid if n >= at), valid[-1 if newest else 0])
    return valid[0]


def _back_over_metadata(entries: Sequence[Entry], start: int, at: int, newest: bool) -> int:
    """Metadata travels with what follows it."""
    while at > start and not entries[at - 1].is_shown(newest) and entries[at - 1].kind != "compaction":
        at -= 1
    return at


def _valid(entries: Sequence[Entry], start: int, end: int, owed: Collection[str], together: bool) -> list[int]:
    """Positions where the kept part may begin."""
    change = _held_together(entries, start, end, owed, together)
    held, found = 0, []
    for at in range(start, end):
        held += change.get(at, 0)
        if not held and entries[at].may_open:
            found.append(at)
    return found


def _held_together(
    entries: Sequence[Entry], start: int, end: int, owed: Collection[str], together: bool
) -> dict[int, int]:
    """From which position on one more (or one less) call waits for its result. Those that were answered count only
    `together`."""
    change: dict[int, int] = defaultdict(int)
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for at in range(start, end):
        message = entries[at].message if entries[at].sent else None  # nobody answers an answer that failed
        for part in message.parts if message else ():
            if isinstance(part, ToolResult) and waiting.get(part.call_id):
                asked = waiting[part.call_id].popleft()
                if together:
                    change[asked + 1] += 1
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
