"""How much of a reported prompt the file explains where it holds all of it: messages, system prompt and tools.

Figures for docs/fidelity.md. The breakdown always sums to the number on the gauge; what nothing in the file accounts
for is a part of its own there (`unseen`). Where the file holds everything, that part should be next to nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inspector.core.findings.breakdown import break_down, tool_calls
from inspector.core.session import Session
from inspector.core.tokens.families import family_of
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.quantiles import quantile
from inspector.core.tokens.sizing import sizer
from inspector.core.words import per_cent

AT_MOST = 12
"""Calls of a session that are looked at, evenly spread."""
BAR = 0.03


@dataclass(frozen=True, slots=True)
class Explained:
    """One call whose file holds system prompt and tools."""

    format: str
    session: str
    counted: float
    """Tokens of all that the file holds, by the tokenizer alone, over the reported number."""
    difference: float
    """By how much the provider's count is above what is recorded, as a share of it."""
    unseen: float
    """Share of the breakdown that no part of the file accounts for."""
    over: bool
    """Its rows weigh less than half of what is expected: the file holds more than was sent, or numbers are made up."""


def explained_calls(session: Session, name: str) -> Iterator[Explained]:
    """Of the main thread."""
    thread = session.main
    told = [
        one
        for one in thread.requests
        if one.usage
        and one.usage.prompt
        and one.prompt.system is not None
        and one.prompt.tools is not None
        and len(one.view)
    ]
    pressures = known_pressures(thread)
    calls = tool_calls(session, thread)
    for request in told[:: max(1, len(told) // AT_MOST)]:
        size = sizer(pressures, request.index)
        reported = size.pressure.reported
        if not reported:
            continue
        tree = break_down(size, size.pressure, request.buffer(), calls).tree
        unseen = sum(one.tokens for one in tree.children if one.name == "unseen")
        counted = size.counted(request.view, request.prompt)
        over = size.scale.slope < family_of(request.model or thread.model).factor / 2
        beside = size.scale.difference / reported
        yield Explained(session.format, name, counted / reported, beside, unseen / reported, over)


def explained_table(titles: Mapping[str, str], found: Sequence[Explained]) -> list[str]:
    """Return a row for each format with at least two sessions, and a row for all sessions."""
    lines = [
        "| format | sessions | counted / reported | difference | calls within 3% |",
        "|---|---:|---:|---:|---:|",
    ]
    rows = [(title, [one for one in found if one.format == name]) for name, title in titles.items()]
    listed = [(title, some) for title, some in rows if len({one.session for one in some}) > 1]
    return [*lines, *(_row(title, some) for title, some in (*listed, ("all", found)) if some)]


def _row(title: str, some: Sequence[Explained]) -> str:
    counted = [one.counted for one in some]
    within = sum(abs(one.difference) + one.unseen <= BAR and not one.over for one in some)
    cells = [
        title,
        f"{len({one.session for one in some})}",
        f"{quantile(counted, 0.5) or 0:.2f}",
        per_cent(quantile([one.difference for one in some], 0.5) or 0, 1),
        f"{within} of {len(some)}",
    ]
    return f"| {' | '.join(cells)} |"
