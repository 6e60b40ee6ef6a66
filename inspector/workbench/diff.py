"""The two buffers that the diff compares at the current place, and its rows. The page of lost facts uses them too."""

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
"""Number of kept messages that are shown before and after a change."""


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The two buffers that are compared: before and after steps (`steps`), or before and after a preview
    (`outcome`).
    """

    name: str
    before: Buffer
    after: Buffer
    sizer: Sizer
    """Computes the token counts of both buffers, or of only the buffer before if there is a `later`."""
    steps: Steps | None = None
    outcome: Outcome[object] | None = None
    later: Sizer | None = None
    """Computes the token counts of the buffer after, if both buffers were recorded: then gauge, buffer and diff show
    the same numbers.
    """
    whole: tuple[int, int] | None = None
    """(before, after): the tokens of each buffer by its own sizer, including tokens that are not in the file."""
    ground: Buffer | None = None
    """For a preview after steps: the recorded buffer that the steps start from."""

    @property
    def grounds(self) -> tuple[Buffer, Buffer]:
        """Return the recorded buffers that the two buffers start from. The sizes of recorded buffers are known."""
        if self.steps is None:
            ground = self.before if self.ground is None else self.ground
            return ground, ground
        return self.steps.ground_of(self.steps.compared), self.steps.ground_of(self.steps.at)

    @property
    def is_across(self) -> bool:
        """Are the buffers on two branches, so that neither follows from the other?"""
        return self.steps is not None and self.steps.compared not in (ORIGIN, *self.steps.path())

    @property
    def words(self) -> Mapping[FateName, str]:
        """Return the names of the fates as the screen shows them."""
        return _ACROSS if self.is_across else _AS_THEY_ARE

    @property
    def preview(self) -> bool:
        """Does this compare the buffer with a preview, not with a step that was taken?"""
        return self.outcome is not None

    def is_same(self, other: "Sides | None") -> bool:
        """Are these the same two buffers, with the same name and sizes? O(1)."""
        if other is None or (self.name, self.preview) != (other.name, other.preview):
            return False
        if self.before is not other.before or self.after is not other.after:
            return False
        return self._measures == other._measures

    @property
    def _measures(self) -> tuple[object, ...]:
        later = self.later.scale if self.later is not None else None
        return self.sizer.scale, self.sizer.estimator, later, self.whole

    def fates(self) -> tuple[Fate, ...]:
        """Return the fate of every message. O(messages)."""
        if self.steps is not None:
            return self.steps.fates(since=self.steps.compared)
        assert self.outcome is not None
        return fates(self.before, self.outcome)


def sides(state: State) -> Sides | None:
    """Return the buffers that are compared at the current place: those of the shown preview, or else of the steps.

    None if there is neither a preview nor a step.
    """
    preview = state.preview
    steps = state.steps
    if preview is not None and preview.outcome is not None and state.previews is not None:
        before = state.previews.context.buffer
        outcome = preview.outcome
        ground = steps.ground_of(steps.at) if steps is not None else None
        return Sides(
            preview.tier,
            before,
            after=outcome.buffer,
            sizer=sizer_of(state),
            outcome=outcome,
            ground=ground,
        )
    if steps is None or (steps.at == ORIGIN and steps.compared == ORIGIN):
        return None
    name = "recorded" if steps.recorded is None else "before it"
    if steps.step is not None:
        name = steps.step.name
    left, right = (steps.buffer_of(step) for step in (steps.compared, steps.at))
    if steps.is_before(steps.compared) == steps.is_before(steps.at):
        return Sides(name, before=left, after=right, sizer=sizer_of(state), steps=steps)
    earlier, later = sizer_at(state, steps.compared), sizer_of(state)
    whole = earlier.tokens(left), later.tokens(right)
    return Sides(
        name, before=left, after=right, sizer=earlier, steps=steps, later=later, whole=whole
    )


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
    """The rows of the diff. `before` and `after` hold each row's index in that buffer; -1 if the buffer lacks the
    message.
    """

    sides: Sides
    rows: tuple[DiffRow, ...]
    before: Sequence[int]
    after: Sequence[int]
    counts: Mapping[FateName, int]
    before_size: Pressure
    """The size of the whole buffer before the change."""
    after_size: Pressure
    """The size of the whole buffer after the change."""
    delta: int
    """Tokens by which the changed rows enlarge the next prompt; negative if they free tokens."""
    rest: int = 0
    """Tokens by which the part that is not in the file grows; a recorded change may affect that part, too."""
    prompt: int = 0
    """Tokens by which the system prompt and the tools grow, if they changed."""
    anew: int = 0
    """Tokens by which the kept rows grow, because the sizer of the buffer after may count them differently."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Index of each row by message id."""
    calls: CallIndex = field(default_factory=CallIndex)
    """Looks up the name of a tool by call id."""


def compare_sides(sides: Sides) -> Diff:
    """Compute the rows and sums of a diff. O(messages); token counts are cached on the messages."""
    unordered = sized_rows(
        sides.fates(), sides.before, sides.after, size=sides.sizer, later=sides.later
    )
    rows = tuple(unordered[index] for index in _order(unordered))
    names = Counter(row.fate.name for row in rows)
    later = sides.later or sides.sizer
    delta = sum(row.delta for row in rows if row.fate.name != "kept")
    rest = later.scale.beside - sides.sizer.scale.beside
    prompt = _prompt_delta(sides)
    kept_delta = _kept_delta(sides, delta + rest + prompt)
    before = _numbers(sides.before, (row.fate.before for row in rows))
    after = _numbers(sides.after, (row.fate.after for row in rows))
    counts = {name: names[name] for name in FATES if names[name]}
    ground_before, ground_after = sides.grounds
    before_size = sides.sizer.pressure_beside(sides.before, ground_before)
    after_size = later.pressure_beside(sides.after, ground_after)
    places = {row.fate.id: index for index, row in enumerate(rows)}
    calls = CallIndex((*sides.before.messages, *sides.after.messages))
    return Diff(
        sides,
        rows,
        before,
        after,
        counts,
        before_size,
        after_size,
        delta,
        rest,
        prompt,
        anew=kept_delta,
        places=places,
        calls=calls,
    )


def _kept_delta(sides: Sides, changed: int) -> int:
    """Return the part of the size difference that no change explains: `later` counts the kept rows differently."""
    if sides.whole is None:
        return 0
    before, after = sides.whole
    return after - before - changed


def _prompt_delta(sides: Sides) -> int:
    was, now = sides.before.prompt, sides.after.prompt
    if sides.later is None or was is now or was == now:
        return 0
    size = sides.sizer
    later = sides.later
    return later.scale.rows(later.counted((), now)) - size.scale.rows(size.counted((), was))


def sized_rows(
    fates: Sequence[Fate], before: Buffer, after: Buffer, size: Sizer, later: Sizer | None = None
) -> tuple[DiffRow, ...]:
    """Return all rows, with the token counts that the gauge shows.

    The changed rows add up to the difference between the two buffers. If `later` is given, the rows of each side add up
    to the size of that buffer.
    """
    counted = rows(fates, size.estimator)
    if later is not None:
        was, now = size.scale, later.scale
        return tuple(
            DiffRow(row.fate, was.rows(row.tokens_before), now.rows(row.tokens_after))
            for row in counted
        )
    changed = [index for index, row in enumerate(counted) if row.fate.name != "kept"]
    delta = size.tokens(after) - size.tokens(before)
    gained = rounded([size.scale.slope * counted[index].delta for index in changed], delta)
    tokens = [size.scale.rows(row.tokens_before) for row in counted]
    sized = [DiffRow(row.fate, count, count) for row, count in zip(counted, tokens, strict=True)]
    for index, more in zip(changed, gained, strict=True):
        sized[index] = add_tokens(sized[index], more)
    return tuple(sized)


def add_tokens(row: DiffRow, more: int) -> DiffRow:
    """Return the row with `more` tokens after than before. A removed message has 0 tokens after, a new message 0
    before.
    """
    if row.fate.after is None:
        return replace(row, tokens_before=-more, tokens_after=0)
    if row.fate.before is None:
        return replace(row, tokens_before=0, tokens_after=more)
    return replace(row, tokens_after=row.tokens_before + more)


def _numbers(buffer: Buffer, standing: Iterable[Message | None]) -> list[int]:
    """Return the index of each message in the buffer, as the buffer panel numbers them; -1 for None."""
    places = {message.id: number for number, message in enumerate(buffer.messages)}
    return [-1 if message is None else places[message.id] for message in standing]


def _order(sized: Sequence[DiffRow]) -> list[int]:
    """Return the order of the rows: new messages precede the removed messages next to them, so a summary is first."""

    def is_one_sided(index: int) -> bool:
        return sized[index].fate.before is None or sized[index].fate.after is None

    def is_removed(index: int) -> bool:
        return sized[index].fate.before is not None

    order: list[int] = []
    for one_sided, run in groupby(range(len(sized)), is_one_sided):
        indices = list(run)
        if one_sided:
            indices.sort(key=is_removed)
        order += indices
    return order


def rival(comparison: Diff, at: int) -> Message | None:
    """Return the summary on the other side that replaces the same messages as the summary in row `at`.

    Two branches that summarise the same messages have one summary each, and these can be compared line by line. None if
    the other side has no such summary, or several.
    """
    rows = comparison.rows
    fate = rows[at].fate
    summary = fate.before or fate.after
    if summary is None or not summary.summary or not _is_one_sided(fate):
        return None
    stretch = rows[slice(*_changed_stretch(rows, at))]
    others = (row.fate.after if fate.before is not None else row.fate.before for row in stretch)
    summaries = [message for message in others if message is not None and message.summary]
    return summaries[0] if len(summaries) == 1 else None


def _changed_stretch(rows: Sequence[DiffRow], at: int) -> tuple[int, int]:
    """Return (start, end) of the run of neighbouring rows around `at` that are in only one of the two buffers."""
    low, high = at, at + 1
    while low > 0 and _is_one_sided(rows[low - 1].fate):
        low -= 1
    while high < len(rows) and _is_one_sided(rows[high].fate):
        high += 1
    return low, high


def _is_one_sided(fate: Fate) -> bool:
    """Is the message in only one of the two buffers?"""
    return fate.before is None or fate.after is None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The rows of a comparison that are listed, and the indices in the list at which changes begin."""

    comparison: Diff
    selected: frozenset[FateName]
    rows: Sequence[tuple[int, int]]
    """(start, end) ranges of the comparison's rows: a single row that is shown, or a stretch that is left out."""
    changes: Sequence[int]

    def opened(self, place: int) -> "Listing":
        """Return the list with the rows of the stretch at index `place` shown."""
        start, end = self.rows[place]
        rows = [
            *self.rows[:place],
            *((row, row + 1) for row in range(start, end)),
            *self.rows[place + 1 :],
        ]
        return Listing(self.comparison, self.selected, rows, change_places(self.comparison, rows))


def list_rows(comparison: Diff, selected: frozenset[FateName]) -> Listing:
    """List the rows with the selected fates, and a few rows around them. O(rows)."""
    rows = list_stretches(comparison, selected)
    return Listing(comparison, selected, rows, change_places(comparison, rows))


def list_stretches(
    comparison: Diff, selected: Collection[FateName], around: int = AROUND
) -> list[tuple[int, int]]:
    """Return (start, end) pairs that cover all rows in order. O(rows).

    A row that is shown is one pair (end = start + 1): it is selected, or kept and near a selected one. Longer
    pairs are left out. A single row is never left out, because a line about it would take as much room.
    """
    names = [row.fate.name for row in comparison.rows]
    stretches: list[tuple[int, int]] = []
    start = 0
    for place in _shown_places(names, selected, around):
        if place > start:
            stretches.append((start, place))
        stretches.append((place, place + 1))
        start = place + 1
    if start < len(names):
        stretches.append((start, len(names)))
    return stretches


def _shown_places(
    names: Sequence[FateName], selected: Collection[FateName], around: int
) -> list[int]:
    """Return the indices of the rows that are selected, or kept and within `around` rows of a selected change."""
    is_shown = bytearray(len(names))
    for index, name in enumerate(names):
        if name not in selected:
            continue
        is_shown[index] = 1
        if name != "kept":
            for other in range(max(0, index - around), min(len(names), index + around + 1)):
                is_shown[other] |= names[other] == "kept"
    return [index for index in range(len(names)) if is_shown[index]]


def change_places(comparison: Diff, listed: Sequence[tuple[int, int]]) -> list[int]:
    """Return the indices in `listed` at which a change begins: neighbouring rows with the same fate are one change."""
    names = ["kept"] + [
        comparison.rows[start].fate.name if end - start == 1 else "kept" for start, end in listed
    ]
    return [
        index
        for index, (last, name) in enumerate(pairwise(names))
        if name != "kept" and name != last
    ]
