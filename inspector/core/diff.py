"""Before and after, aligned by message id; inside a changed message a diff of its lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from inspector.core.message import Image, Message, Opaque, Part, part_text
from inspector.core.outcome import Fate
from inspector.core.tokens.estimators import Estimator, count

LineMark: TypeAlias = Literal[" ", "-", "+"]
MOST_LINES = 50_000
"""Lines a side, above which a changed text is shown as one block out, one block in."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One message of either side. Tokens by the estimator; 0 on the side where it does not stand."""

    fate: Fate
    tokens_before: int
    tokens_after: int

    @property
    def delta(self) -> int:
        """Tokens gained (negative: freed)."""
        return self.tokens_after - self.tokens_before


@dataclass(frozen=True, slots=True)
class LineRun:
    """Consecutive lines with the same mark."""

    mark: LineMark
    lines: tuple[str, ...]


def rows(fates: Sequence[Fate], estimator: Estimator) -> tuple[DiffRow, ...]:
    """A row a fate, with its tokens. O(messages); counts are cached on the messages."""
    return tuple(
        DiffRow(
            fate,
            count(estimator, fate.before) if fate.before else 0,
            count(estimator, fate.after) if fate.after else 0,
        )
        for fate in fates
    )


def readable(message: Message) -> str:
    """A message as the plain text that is compared: every part, in order."""
    return "\n".join(_part(part) for part in message.parts)


def _part(part: Part) -> str:
    match part:
        case Image(media_type=media):
            return f"[image {media}]"
        case Opaque(kind=kind, size=size) if not part.text:
            return f"[{kind}, {size:,} bytes only the provider can read]"
        case _:
            return part_text(part)


def line_diff(before: str, after: str) -> tuple[LineRun, ...]:
    """Lines kept, out and in; between two that were kept, those that went out come first.

    Common ends are trimmed before anything is compared; linear memory, no recursion.
    """
    old, new = before.split("\n"), after.split("\n")
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    runs = [
        LineRun(" ", tuple(old[:head])),
        *_middle(middle_old, middle_new),
        LineRun(" ", tuple(old[len(old) - tail :])),
    ]
    return tuple(run for run in runs if run.lines)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    same = 0
    for a, b in zip(old, new, strict=False):
        if a != b:
            break
        same += 1
    return same


def _middle(old: list[str], new: list[str]) -> list[LineRun]:
    if not old or not new or max(len(old), len(new)) > MOST_LINES:
        return [LineRun("-", tuple(old)), LineRun("+", tuple(new))]
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    from rapidfuzz.distance import Indel  # not needed to start the window

    runs: list[LineRun] = []
    for is_equal, steps in groupby(Indel.opcodes(a, b), lambda step: step.tag == "equal"):
        listed = list(steps)
        if is_equal:
            runs += [LineRun(" ", tuple(old[step.src_start : step.src_end])) for step in listed]
            continue
        out = [line for step in listed for line in old[step.src_start : step.src_end]]
        into = [line for step in listed for line in new[step.dest_start : step.dest_end]]
        runs += [LineRun("-", tuple(out)), LineRun("+", tuple(into))]
    return runs
