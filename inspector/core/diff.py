"""Compare two buffers: a row for each message, aligned by id, and a diff of the lines of a changed message."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from inspector.core.message import Image, Message, Opaque, Part, part_text
from inspector.core.outcome import Fate
from inspector.core.tokens.estimators import Estimator, count

LineMark: TypeAlias = Literal[" ", "-", "+"]
MOST_LINES = 50_000
"""Largest number of lines on a side that are compared. A longer text is shown as one block removed, one added."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One message of either buffer. Tokens are by the estimator, and 0 for a buffer that lacks the message."""

    fate: Fate
    tokens_before: int
    tokens_after: int

    @property
    def delta(self) -> int:
        """Return the tokens added; negative if tokens were freed."""
        return self.tokens_after - self.tokens_before


@dataclass(frozen=True, slots=True)
class LineRun:
    """Consecutive lines with the same mark."""

    mark: LineMark
    lines: tuple[str, ...]


def rows(fates: Sequence[Fate], estimator: Estimator) -> tuple[DiffRow, ...]:
    """Return a row with token counts for each fate. O(messages); counts are cached on the messages."""
    listed: list[DiffRow] = []
    for fate in fates:
        before = count(estimator, fate.before) if fate.before else 0
        after = count(estimator, fate.after) if fate.after else 0
        listed.append(DiffRow(fate, before, after))
    return tuple(listed)


def message_lines(message: Message) -> str:
    """Return a message as the plain text to compare: every part, in order."""
    return "\n".join(_part_lines(part) for part in message.parts)


def _part_lines(part: Part) -> str:
    match part:
        case Image(media_type=media):
            return f"[image {media}]"
        case Opaque(kind=kind, size=size) if not part.text:
            return f"[{kind}, {size:,} bytes only the provider can read]"
        case _:
            return part_text(part)


def line_diff(before: str, after: str) -> tuple[LineRun, ...]:
    """Return runs of unchanged, removed and added lines; between unchanged runs the removed lines come first.

    The common beginning and end are trimmed before the rest is compared. Linear memory, no recursion.
    """
    old = before.split("\n")
    new = after.split("\n")
    head = _count_equal(old, new)
    tail = _count_equal(old[head:][::-1], new[head:][::-1])
    old_end = len(old) - tail
    new_end = len(new) - tail
    runs = [
        LineRun(" ", tuple(old[:head])),
        *_compare_lines(old[head:old_end], new[head:new_end]),
        LineRun(" ", tuple(old[old_end:])),
    ]
    return tuple(run for run in runs if run.lines)


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the leading lines that are equal."""
    same = 0
    for old_line, new_line in zip(old, new, strict=False):
        if old_line != new_line:
            break
        same += 1
    return same


def _compare_lines(old: list[str], new: list[str]) -> list[LineRun]:
    if not old or not new or max(len(old), len(new)) > MOST_LINES:
        return [LineRun("-", tuple(old)), LineRun("+", tuple(new))]
    from rapidfuzz.distance import Indel  # not needed to start the window

    numbers: dict[str, int] = {}
    old_numbers = [numbers.setdefault(line, len(numbers)) for line in old]
    new_numbers = [numbers.setdefault(line, len(numbers)) for line in new]
    runs: list[LineRun] = []
    for is_equal, steps in groupby(
        Indel.opcodes(old_numbers, new_numbers), lambda step: step.tag == "equal"
    ):
        if is_equal:
            runs += [LineRun(" ", tuple(old[step.src_start : step.src_end])) for step in steps]
            continue
        out: list[str] = []
        into: list[str] = []
        for step in steps:
            out += old[step.src_start : step.src_end]
            into += new[step.dest_start : step.dest_end]
        runs += [LineRun("-", tuple(out)), LineRun("+", tuple(into))]
    return runs
