"""What providers charge for what no tokenizer sees: what stands around calls and results, and sealed thinking.

Both are read off how much the next prompt grows, by a straight line without outliers; nothing of it takes part in what
the program shows. Figures for docs/fidelity.md; `make_fidelity.py` puts them on the page.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inspector.core.buffer import is_prefix
from inspector.core.message import Message, Part, Thinking, ToolCall, ToolResult
from inspector.core.session import Session, Thread
from inspector.core.tokens.counted import MESSAGE_FRAMING
from inspector.core.tokens.families import Family, family_of
from inspector.core.tokens.weigher import Weigher, weigher_of
from inspector.core.words import per_cent

FEW_CALLS = 15
"""Steps with calls that a family needs."""
FEW_THOUGHTS = 15
"""Steps with thinking that a session needs."""
SHORT = 500
"""Tokens of text up to which a step tells what stands around it."""
LARGEST = 6_000
"""Tokens of growth beyond which a step says little of a thought."""
NEAR = 0.15
_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Step:
    """What one call added to the prompt of the next, nothing of it by the user."""

    session: str
    family: Family
    grown: int
    """As reported."""
    texts: int
    """Weight of the texts of it, without thinking and without what stands around them."""
    framing: int
    """Weight of what stands around them, as the program has it."""
    thinking: int
    calls: int

    @property
    def weight(self) -> int:
        """Return what the program counts for all of it, in tokens of o200k."""
        return self.texts + self.framing + self.thinking

    @property
    def is_short_call(self) -> bool:
        """Is it one call with a short result and no thinking?"""
        return self.calls == 1 and not self.thinking and self.texts < SHORT


def steps_of(session: Session, name: str) -> Iterator[Step]:
    """Yield the steps of all threads of a session."""
    for thread in session.threads:
        yield from _steps(thread, name)


def _steps(thread: Thread, name: str) -> Iterator[Step]:
    by, anchor = weigher_of(thread), None
    for request in thread.requests:
        if not request.usage or not request.usage.prompt:
            continue
        if anchor is not None and anchor.usage is not None and is_prefix(anchor.view, request.view):
            came = request.view.tail(len(anchor.view))
            if (
                came
                and not any(message.from_user for message in came)
                and anchor.prompt == request.prompt
            ):
                family = family_of(request.model or thread.model)
                yield _step(name, family, request.usage.prompt - anchor.usage.prompt, by, came)
        anchor = request


def _step(name: str, family: Family, grown: int, by: Weigher, came: Sequence[Message]) -> Step:
    parts: list[Part] = [part for message in came for part in message.parts]
    thinking = sum(by.weigh_parts([part for part in parts if isinstance(part, Thinking)]))
    calls = sum(isinstance(part, ToolCall) for part in parts)
    results = sum(isinstance(part, ToolResult) for part in parts)
    around = (
        calls * family.call_framing + results * family.result_framing + MESSAGE_FRAMING * len(came)
    )
    whole = sum(map(by.weigh, came))
    return Step(
        name,
        family,
        grown,
        whole - around - thinking,
        around,
        thinking,
        calls if calls == results else 0,
    )


def families_table(steps: Sequence[Step]) -> list[str]:
    """Return one row a family: what a counted token and a call are expected to cost, and what they were charged."""
    lines = [
        "| family | steps | counted token: expected | charged | call and result: expected | charged |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    by_family = defaultdict[str, list[Step]](list)
    for step in steps:
        if step.weight > 0 and step.grown > 0:
            by_family[step.family.name].append(step)
    for name, some in sorted(by_family.items()):
        calls = [step for step in some if step.is_short_call]
        if len(calls) < FEW_CALLS:
            continue
        around = np.median([step.grown / step.family.factor - step.texts for step in calls])
        cells = [
            name,
            f"{len(some):,}",
            f"{some[0].family.factor:.2f}",
            f"{_charged_per_token(some):.2f}",
            f"{np.median([step.framing for step in calls]):.0f}",
            f"{around:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _charged_per_token(steps: Sequence[Step]) -> float:
    """Return the median of growth as reported over growth as counted, weighted by the latter."""
    ordered = sorted(steps, key=lambda step: step.grown / step.weight)
    half = sum(step.weight for step in ordered) / 2
    passed = 0
    for step in ordered:
        passed += step.weight
        if passed >= half:
            return step.grown / step.weight
    raise ValueError("no steps")


def thinking_ratios(steps: Sequence[Step]) -> Mapping[str, tuple[int, float]]:
    """Return by session the steps with thinking, and what the program has for thinking over what was charged."""
    by_session = defaultdict[str, list[Step]](list)
    for step in steps:
        if 0 < step.grown < LARGEST:
            by_session[step.session].append(step)
    found: dict[str, tuple[int, float]] = {}
    for name, some in by_session.items():
        count = sum(step.thinking > 0 for step in some)
        if count >= FEW_THOUGHTS:
            slope, charged = _fit(
                [(step.texts + step.framing, step.thinking, step.grown) for step in some]
            )
            found[name] = count, slope / charged
    return found


def _fit(rows: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
    """Return (what a token of text is charged, what one of thinking is), by least absolute errors.

    A constant for each step takes what the client adds and does not record.
    """
    table = np.array(rows, dtype=float)
    known = np.column_stack([table[:, 0], table[:, 1], np.ones(len(table))])
    weights: npt.NDArray[np.floating] = np.ones(len(table))
    found: npt.NDArray[np.floating] = np.ones(3)
    for _ in range(_ROUNDS):
        found = np.linalg.lstsq(known * weights[:, None], table[:, 2] * weights, rcond=None)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(table[:, 2] - known @ found), 2))
    return float(found[0]), float(found[1])


def thinking_line(ratios: Mapping[str, tuple[int, float]]) -> str:
    """Say in how many sessions thinking has about the size that was charged."""
    near = sum(abs(ratio - 1) <= NEAR for _, ratio in ratios.values())
    return f"Thinking is within {per_cent(NEAR, 0)} of what was charged in {near} of {len(ratios)} sessions."
