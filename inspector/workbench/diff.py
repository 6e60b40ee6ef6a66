"""Before and after: what the diff compares where we stand, and its rows. Shown by the diff and by what was lost."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import get_args

from inspector.core.buffer import Buffer
from inspector.core.calls import CallIndex
from inspector.core.diff import DiffRow, rows
from inspector.core.message import Message
from inspector.core.outcome import Fate, FateName, Outcome, fates
from inspector.core.tokens.pressure import Pressure
from inspector.core.tokens.sizing import Sizer, rounded
from inspector.workbench.policy_input import sizer_at, sizer_of
from inspector.workbench.state import State
from inspector.workbench.steps import ORIGIN, Steps

FATES: tuple[FateName, ...] = get_args(FateName)
LETTERS: Mapping[FateName, str] = MappingProxyType(
    {
        "kept": "K",
        "cleared": "C",
        "cut": "X",
        "replaced": "R",
        "summarised": "S",
        "dropped": "D",
        "inserted": "I",
    }
)
_AS_THEY_ARE: Mapping[FateName, str] = MappingProxyType({name: name for name in FATES})
_ACROSS: Mapping[FateName, str] = MappingProxyType(
    {
        **_AS_THEY_ARE,
        "summarised": "only in the other branch",
        "dropped": "only in the other branch",
        "inserted": "only in this branch",
    }
)
AROUND = 2
"""Kept messages that are shown on either side of a change."""


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Which two buffers are compared. `steps` where it is steps that were taken, `outcome` where it is a preview."""

    name: str
    before: Buffer
    after: Buffer
    sizer: Sizer
    """What measures both ..."""
    steps: Steps | None = None
    outcome: Outcome[object] | None = None
    later: Sizer | None = None
    """... or only the one before, where the recording came to the one after: each is measured as it is where it
    stands, so that gauge, buffer and diff show the same numbers of it."""
    whole: tuple[int, int] | None = None
    """Tokens of both by these two, what no file holds included."""
    ground: Buffer | None = None
    """Of a preview after steps: the recorded buffer that they start from."""

    @property
    def grounds(self) -> tuple[Buffer, Buffer]:
        """The recorded buffers that the one before and the one after start from: the sizes of those are known."""
        if self.steps is None:
            ground = self.before if self.ground is None else self.ground
            return ground, ground
        return self.steps.ground_of(self.steps.compared), self.steps.ground_of(self.steps.at)

    @property
    def is_across(self) -> bool:
        """Is it a step on another branch that is compared with? Neither buffer came of the other then."""
        return self.steps is not None and self.steps.compared not in (ORIGIN, *self.steps.path())

    @property
    def words(self) -> Mapping[FateName, str]:
        """What the fates are called here."""
        return _ACROSS if self.is_across else _AS_THEY_ARE

    @property
    def preview(self) -> bool:
        """Nothing of it has happened."""
        return self.outcome is not None

    def is_same(self, other: "Sides | None") -> bool:
        """The same two buffers under the same name. O(1)."""
        return (
            other is not None
            and (self.name, self.preview) == (other.name, other.preview)
            and self.before is other.before
            and self.after is other.after
            and self.sizer.scale == other.sizer.scale
            and self.sizer.estimator == other.sizer.estimator
            and (self.later and self.later.scale) == (other.later and other.later.scale)
            and self.whole == other.whole
        )

    def fates(self) -> tuple[Fate, ...]:
        """What became of every message. O(messages)."""
        if self.steps is not None:
            return self.steps.fates(since=self.steps.compared)
        assert self.outcome is not None
        return fates(self.before, self.outcome)


def sides(state: State) -> Sides | None:
    """What is compared where we stand: a preview that is looked at, else the steps; None while there is neither."""
    seen, steps = state.preview, state.steps
    if seen is not None and seen.outcome is not None and state.previews is not None:
        before, ground = state.previews.context.buffer, steps.ground_of(steps.at) if steps is not None else None
        return Sides(seen.tier, before, seen.outcome.buffer, sizer_of(state), None, seen.outcome, ground=ground)
    if steps is None or (steps.at == ORIGIN and steps.compared == ORIGIN):
        return None
    name = "recorded" if steps.recorded is None else "before it"
    if steps.step is not None:
        name = steps.step.name
    left, right = (steps.buffer_of(at) for at in (steps.compared, steps.at))
    if steps.is_before(steps.compared) == steps.is_before(steps.at):
        return Sides(name, left, right, sizer_of(state), steps)
    earlier, later = sizer_at(state, steps.compared), sizer_of(state)
    whole = earlier.tokens(left), later.tokens(right)
    return Sides(name, left, right, earlier, steps, None, later, whole)


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
    """The rows of the diff. `before` and `after` hold a row's place in its buffer, -1 where it does not stand."""

    sides: Sides
    rows: tuple[DiffRow, ...]
    before: Sequence[int]
    after: Sequence[int]
    counts: Mapping[FateName, int]
    before_size: Pressure
    """Of the whole buffer before ..."""
    after_size: Pressure
    """... and after."""
    delta: int
    """Tokens by which the next prompt would be larger (negative: freed): the sum of the rows that changed ..."""
    rest: int = 0
    """... of what the file does not hold, which the recording changed, too ..."""
    prompt: int = 0
    """... of system prompt and tools, where they are others ..."""
    anew: int = 0
    """... and what was kept counts so much more by the measure of the buffer after."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Row by message id."""
    calls: CallIndex = field(default_factory=CallIndex)
    """Name of the tool by call id."""


def compared(sides: Sides) -> Diff:
    """The rows, worked out. O(messages); token counts are cached on the messages."""
    told = sized_rows(sides.fates(), sides.before, sides.after, sides.sizer, sides.later)
    before = _numbers(sides.before, (row.fate.before for row in told))
    after = _numbers(sides.after, (row.fate.after for row in told))
    order = _order(told)
    found = tuple(told[n] for n in order)
    counts = Counter(row.fate.name for row in found)
    delta = sum(row.delta for row in found if row.fate.name != "kept")
    rest = sides.later.scale.beside - sides.sizer.scale.beside if sides.later else 0
    prompt = _prompt_delta(sides)
    return Diff(
        sides,
        found,
        [before[n] for n in order],
        [after[n] for n in order],
        {name: counts[name] for name in FATES if counts[name]},
        sides.sizer.pressure_beside(sides.before, sides.grounds[0]),
        (sides.later or sides.sizer).pressure_beside(sides.after, sides.grounds[1]),
        delta,
        rest,
        prompt,
        sides.whole[1] - sides.whole[0] - delta - rest - prompt if sides.whole else 0,
        {row.fate.id: n for n, row in enumerate(found)},
        CallIndex((*sides.before.messages, *sides.after.messages)),
    )


def _prompt_delta(sides: Sides) -> int:
    was, now = sides.before.prompt, sides.after.prompt
    if sides.later is None or was is now or was == now:
        return 0
    size, later = sides.sizer, sides.later
    return later.scale.rows(later.counted((), now)) - size.scale.rows(size.counted((), was))


def sized_rows(
    fates: Sequence[Fate], before: Buffer, after: Buffer, size: Sizer, later: Sizer | None = None
) -> tuple[DiffRow, ...]:
    """Every row in the tokens that the gauge shows. What changed adds up to the difference of the two buffers; where
    `later` measures the one after, each side to its own buffer."""
    counted = rows(fates, size.estimator)
    if later is not None:
        was, now = size.scale, later.scale
        return tuple(DiffRow(one.fate, was.rows(one.tokens_before), now.rows(one.tokens_after)) for one in counted)
    changed = [n for n, row in enumerate(counted) if row.fate.name != "kept"]
    delta = size.tokens(after) - size.tokens(before)
    gained = rounded([size.scale.slope * counted[n].delta for n in changed], delta)
    found = [DiffRow(row.fate, size.scale.rows(row.tokens_before), 0) for row in counted]
    found = [replace(row, tokens_after=row.tokens_before) for row in found]
    for n, more in zip(changed, gained, strict=True):
        found[n] = _gained(found[n], more)
    return tuple(found)


def _gained(row: DiffRow, more: int) -> DiffRow:
    """With so many tokens more than before. A message that is gone has none after, one that came none before."""
    if row.fate.after is None:
        return replace(row, tokens_before=-more, tokens_after=0)
    if row.fate.before is None:
        return replace(row, tokens_before=0, tokens_after=more)
    return replace(row, tokens_after=row.tokens_before + more)


def _numbers(buffer: Buffer, standing: Iterable[Message | None]) -> list[int]:
    """Number each message as the buffer panel does; -1 where there is none."""
    places = {message.id: number for number, message in enumerate(buffer.messages)}
    return [-1 if message is None else places[message.id] for message in standing]


def _order(told: Sequence[DiffRow]) -> list[int]:
    """What stands in for messages that are gone comes before them: a summary is what one wants to read first."""
    found: list[int] = []
    for together, run in groupby(range(len(told)), lambda n: None in (told[n].fate.before, told[n].fate.after)):
        listed = list(run)
        found += sorted(listed, key=lambda n: told[n].fate.before is not None) if together else listed
    return found


def rival(comparison: Diff, at: int) -> Message | None:
    """The summary on the other side that stands for the same stretch as the one in row `at`; None for none, or several.

    Two branches that summarise the same messages each have theirs: they are worth comparing line by line.
    """
    rows = comparison.rows
    one = rows[at].fate
    summary = one.before or one.after
    if summary is None or not summary.summary or None not in (one.before, one.after):
        return None
    low, high = at, at + 1
    while low > 0 and None in (rows[low - 1].fate.before, rows[low - 1].fate.after):
        low -= 1
    while high < len(rows) and None in (rows[high].fate.before, rows[high].fate.after):
        high += 1
    others = (row.fate.after if one.before is not None else row.fate.before for row in rows[low:high])
    found = [message for message in others if message is not None and message.summary]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Which rows of a comparison are listed, and where its changes begin in the list."""

    comparison: Diff
    wanted: frozenset[FateName]
    rows: Sequence[tuple[int, int]]
    """(start, end) of the comparison's rows: one that is shown, or a stretch that is left out."""
    changes: Sequence[int]

    def opened(self, place: int) -> "Listing":
        """With the rows of the stretch at `place` shown."""
        start, end = self.rows[place]
        rows = [*self.rows[:place], *((at, at + 1) for at in range(start, end)), *self.rows[place + 1 :]]
        return Listing(self.comparison, self.wanted, rows, changes(self.comparison, rows))


def listing(comparison: Diff, wanted: frozenset[FateName]) -> Listing:
    """The rows whose fates are wanted, with a little around. O(rows)."""
    rows = shown(comparison, wanted)
    return Listing(comparison, wanted, rows, changes(comparison, rows))


def shown(comparison: Diff, wanted: Collection[FateName], around: int = AROUND) -> list[tuple[int, int]]:
    """Which rows are shown: (start, end) pairs that cover all rows in order. O(rows).

    A row that is shown stands alone (end = start + 1) and is wanted, or is kept and near one that is wanted; a longer
    stretch is left out. A single row is never left out: a line that tells of it takes as much room.
    """
    names = [row.fate.name for row in comparison.rows]
    near = bytearray(len(names))
    for at, name in enumerate(names):
        if name in wanted:
            near[at] = 1
            if name != "kept":
                for other in (*range(at - around, at), *range(at + 1, at + around + 1)):
                    if 0 <= other < len(names) and names[other] == "kept":
                        near[other] = 1
    found: list[tuple[int, int]] = []
    start = 0
    for at in range(len(names) + 1):
        if at == len(names) or near[at]:
            if at > start:
                found.append((start, at))
            if at < len(names):
                found.append((at, at + 1))
            start = at + 1
    return found


def changes(comparison: Diff, listed: Sequence[tuple[int, int]]) -> list[int]:
    """Places in `listed` where a change begins: neighbouring rows of one fate are one change."""
    names = ["kept"] + [comparison.rows[start].fate.name if end - start == 1 else "kept" for start, end in listed]
    return [at for at, (last, name) in enumerate(pairwise(names)) if name != "kept" and name != last]
