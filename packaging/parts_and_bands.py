"""How true the parts of a prompt are, and how often a report lay within the predicted range, by what came.

Figures for docs/fidelity.md, one session at a time; `make_fidelity.py` puts them on the page. The parts are held
against tiktoken, which has no part in what the program shows where the faster tokenizer is installed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inspector.core.buffer import Prompt, is_prefix, read_definition
from inspector.core.findings.composition import Category, composition, sized
from inspector.core.jsontext import dumps
from inspector.core.message import (
    Image,
    Message,
    Opaque,
    Part,
    Thinking,
    ToolCall,
    ToolResult,
    part_text,
)
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.counted import MESSAGE_FRAMING, TokenizerRefused, count_tokens
from inspector.core.tokens.estimator import Estimator
from inspector.core.tokens.pressure import Pressure, Pressures, known_pressures, summary_since
from inspector.core.tokens.quantiles import quantile
from inspector.core.tokens.sizing import sizer
from inspector.core.tokens.weigher import Weigher, weigher_of
from inspector.core.words import per_cent

AT_MOST = 6
"""Requests of a session whose parts are looked at, evenly spread."""
NEAR = 0.03
"""Share of what is recorded by which a part may differ."""
MUCH = 5_000
"""Tokens from which on an addition is large."""


@dataclass(frozen=True, slots=True)
class TiktokenWeigher(Estimator):
    """Texts by tiktoken, with or without what a provider writes around them; what is no text as the weigher has it."""

    beside: Weigher
    name: str
    is_framed: bool = False

    def text(self, text: str) -> int:
        try:
            return count_tokens(text, "o200k_base")
        except TokenizerRefused:
            return len(text) // 4

    def weigh(self, message: Message) -> int:
        return sum(map(self._part, message.parts)) + (MESSAGE_FRAMING if self.is_framed else 0)

    def _part(self, part: Part) -> int:
        if isinstance(part, Thinking | Image | Opaque):
            return sum(self.beside.weigh_parts([part]))
        return self.text(part_text(part)) + (self._framing(part) if self.is_framed else 0)

    def _framing(self, part: Part) -> int:
        if isinstance(part, ToolCall):
            return self.beside.family.call_framing
        return self.beside.family.result_framing if isinstance(part, ToolResult) else 0

    def weigh_prompt(self, prompt: Prompt) -> int:
        framing = MESSAGE_FRAMING if self.is_framed and prompt.system else 0
        read = (read_definition(tool.definition) for tool in prompt.tools or ())
        texts = [
            prompt.system or "",
            *(dumps(definition) for definition in read if definition is not None),
        ]
        return framing + sum(map(self.text, texts))


@dataclass(frozen=True, slots=True)
class PartShares:
    """Of one session: by how much the share of a category differs at most, at each request that was looked at."""

    format: str
    largest: tuple[float, ...]
    largest_alone: tuple[float, ...]
    """The same, against texts with nothing written around them."""
    thinking: tuple[float, ...]
    """Share of thinking in what is recorded."""
    framing: tuple[float, ...]
    """Share of what is written around texts."""


def part_shares(session: Session) -> PartShares:
    """Of the main thread."""
    thread, by = session.main, weigher_of(session.main)
    oracles = [
        TiktokenWeigher(by, f"tiktoken {framed} {by.name}", is_framed=framed)
        for framed in (True, False)
    ]
    largest: tuple[list[float], list[float]] = [], []
    thinking, framing, pressures = list[float](), list[float](), known_pressures(thread)
    told = [
        request
        for request in thread.requests
        if request.usage and request.usage.prompt and len(request.view)
    ]
    for request in told[:: max(1, -(-len(told) // AT_MOST))]:
        size = sizer(pressures, request.index)
        parts = dict(sized(size, size.pressure, request.view, request.prompt))
        parts.pop("difference", None)
        counted = [dict(composition(oracle, request.view, request.prompt)) for oracle in oracles]
        shown, (whole, texts) = sum(parts.values()), (sum(one.values()) for one in counted)
        if not shown or not texts:
            continue
        for found, one in zip(largest, counted, strict=True):
            found.append(_largest_difference(parts, one))
        thinking.append(parts.get("thinking", 0) / shown)
        framing.append(1 - texts / whole)
    return PartShares(
        session.format, tuple(largest[0]), tuple(largest[1]), tuple(thinking), tuple(framing)
    )


def _largest_difference(parts: Mapping[Category, int], others: Mapping[Category, int]) -> float:
    """Return by how much the share of a part differs at most."""
    shown, true = sum(parts.values()), sum(others.values())
    return max(
        abs(parts.get(name, 0) / shown - others.get(name, 0) / true) for name in {*parts, *others}
    )


@dataclass(frozen=True, slots=True)
class Covered:
    """One prediction that was reported later."""

    kinds: tuple[str, ...]
    inside: bool
    width: float
    """Of the range, as a share of the report."""


KINDS = (
    "ordinary next request",
    "new turn",
    "first three requests",
    "more than 5,000 tokens added",
    "messages cleared or changed",
    "right after a compaction",
    "nothing recorded of what came",
)


def covered_reports(thread: Thread, pressures: Pressures) -> Iterator[Covered]:
    """Of all requests of a thread whose size was predicted before it was reported."""
    anchor, seen = None, 0
    for request, pressure in zip(thread.requests, pressures, strict=True):
        if pressure.reported is None:
            continue
        if anchor is not None and pressure.predicted is not None:
            kinds = tuple(
                _kinds(thread, request, anchor, seen, (pressures[anchor.index], pressure))
            )
            low, high = pressure.predicted.band
            yield Covered(kinds, low <= pressure.reported <= high, (high - low) / pressure.reported)
        anchor, seen = request, seen + 1


def _kinds(
    thread: Thread, request: Request, anchor: Request, seen: int, sizes: tuple[Pressure, Pressure]
) -> Iterator[str]:
    before, after = sizes
    if summary_since(thread, request, anchor.index) is not None:
        yield KINDS[5]
        return
    if not is_prefix(anchor.view, request.view):
        yield KINDS[4]
        return
    if (after.reported or 0) - (before.reported or 0) > MUCH:
        yield KINDS[3]
    if after.counted <= before.counted:
        yield KINDS[6]
    elif seen < 3:
        yield KINDS[2]
    elif any(message.from_user for message in request.view.tail(len(anchor.view))):
        yield KINDS[1]
    else:
        yield KINDS[0]


def parts_line(found: Sequence[PartShares]) -> str:
    """Say how far the share of a category differs from the share by another tokenizer."""
    whole = [one for one in found if one.largest]
    largest = [value for one in whole for value in one.largest]
    near = sum(_is_near(one.largest) for one in whole)
    framing = quantile([value for one in whole for value in one.framing], 0.5) or 0
    alone = sum(_is_near(one.largest_alone) for one in whole)
    return (
        f"The category that differs most is off by {per_cent(quantile(largest, 0.9) or 0, 2)} of the prompt or less in "
        f"90% of {len(largest)} requests, and within 3 points in {near} of {len(whole)} sessions. Framing is "
        f"{per_cent(framing, 1)} of a prompt (median); without it {alone} of {len(whole)} would be within 3 points."
    )


def _is_near(differences: Sequence[float]) -> bool:
    """Is the median of a session's differences as near as is asked?"""
    return (quantile(differences, 0.5) or 0) <= NEAR
