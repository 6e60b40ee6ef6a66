"""Rows of what a compaction lost: a verdict for each fact, duplicates folded, in the order in which their loss hurts.

First what the user asked for and what is gone, then values that a later request needed, decisions, and errors that were
open; names that no request needed come after all of these, and what is done or carried comes last.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.facts.fact import SENTENCES, Fact, distinct
from inspector.core.facts.wording import Echo
from inspector.core.replay.regret import How

LostVerdict: TypeAlias = Literal["gone", "unsure", "carried", "done", "unknown"]
"""gone: hardly a word of it is in the replacement; carried: the replacement says it in other words; unsure:
between the two; done: it was finished before; unknown: the replacement is not in the file."""
VERDICT_WORDS: Mapping[LostVerdict, str] = {
    "gone": "gone",
    "unsure": "not sure",
    "unknown": "not known",
    "carried": "in other words",
    "done": "done",
}
"""The words for people."""
LostFate: TypeAlias = Literal["lost", "paraphrased"]
"""paraphrased: the verdict is *carried*; lost: any other."""
SHOWN = 10
"""Rows that are shown before "more"."""
_WISHES = ("instruction", "constraint")


@dataclass(frozen=True, slots=True)
class NeededAgain:
    """A later request that used the fact when it was no longer in context."""

    request: int
    how: How
    message: str
    """Id of the message that used it."""
    tokens: int
    """Tokens of the answer to the call that used it; 0 without a call."""
    result: str = ""
    """Id of the message with that answer; empty without one."""


@dataclass(frozen=True, slots=True)
class LostRow:
    """A fact that a compaction removed, with its verdict."""

    fact: Fact
    message: str
    """Id of the message that held it."""
    verdict: LostVerdict = "gone"
    needed: tuple[NeededAgain, ...] = ()
    nearest: str = ""
    """The sentence of the replacement that says most of it; empty if none does."""
    why: str = ""
    """Why it is done, or unknown; a sentence."""
    request: int | None = None
    """The request that brought the message; None: not known."""
    line: int = 0
    """Line of the file that holds the message, from 1; 0: not known."""

    @property
    def fate(self) -> LostFate:
        """Return the verdict in two words: *paraphrased* if it is carried, else *lost*."""
        return "paraphrased" if self.verdict == "carried" else "lost"

    @property
    def is_open(self) -> bool:
        """Is it gone, or perhaps gone, and not finished?"""
        return self.verdict in ("gone", "unsure", "unknown")

    @property
    def hurts(self) -> int:
        """Return its place in the order: 1 for what hurts most; rows from `QUIET` on are not worth reading."""
        if self.verdict == "done":
            return 10
        if self.verdict == "carried":
            return 8 if self.needed else 11
        if self.fact.kind in _WISHES:
            return 1 if self.verdict == "gone" else 2
        if self.fact.kind not in SENTENCES:
            return 3 if self.needed else 9
        if self.verdict == "gone":
            return 4 if self.fact.kind == "decision" else 5
        return 6

    @property
    def is_worth_telling(self) -> bool:
        """Is it among the rows that are shown, and not only counted?"""
        return self.hurts < QUIET


QUIET = 7
"""From this place in the order on rows are counted, and not shown."""


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """The request that brought a message, and its line in the file."""

    request: int | None = None
    line: int = 0


NO_PLACE = MessagePlace()


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The judges of facts that rows are made from."""

    echo: Callable[[Fact], Echo]
    """Does the replacement carry a fact, and in which sentence?"""
    finished: Callable[[Fact, str], str] = lambda fact, message: ""
    """Why a fact in a message was finished before; empty if it was not."""
    unknown: Callable[[Fact, str], str] = lambda fact, message: ""
    """Why the fate of a fact in a message is not known; empty if it is known."""
    places: Mapping[str, MessagePlace] | None = None
    """Places of messages by id."""

    def row(self, names: Sequence[Fact], gone: Mapping[Fact, str], uses: Sequence[NeededAgain], whole: Fact) -> LostRow:
        """Return the row of a fact that has several names."""
        message = next((gone[name] for name in names if gone[name]), uses[0].message if uses else "")
        place = (self.places or {}).get(message, NO_PLACE)
        echoes = [self.echo(name) for name in names]
        echo = max(echoes, key=lambda heard: (_ORDER[heard.verdict], heard.share))
        verdict: LostVerdict = echo.verdict
        why = ""
        if verdict != "carried" and (why := self.finished(whole, message)):
            verdict = "done"
        elif verdict != "carried" and (why := self.unknown(whole, message)):
            verdict = "unknown"
        nearest = echo.nearest if verdict in ("unsure", "carried") else ""
        return LostRow(whole, message, verdict, tuple(uses), nearest, why, place.request, place.line)


_ORDER = {"gone": 0, "unsure": 1, "carried": 2}


def ranked(
    gone: Mapping[Fact, str], verdicts: Verdicts, needed: Mapping[Fact, Sequence[NeededAgain]] | None = None
) -> tuple[LostRow, ...]:
    """Return a row for each different fact, what hurts most first, else in the order of the buffer.

    Args:
        gone: Facts, and the ids of the messages that held them.
        verdicts: The judges of the facts.
        needed: Later requests that used a fact.
    """
    rows = []
    for fact, names in distinct(gone):
        uses = [use for name in names for use in (needed or {}).get(name, ())]
        once = tuple({(use.request, use.message): use for use in reversed(uses)}.values())[::-1]
        rows.append(verdicts.row(names, gone, once, fact))
    rows.sort(key=lambda row: (row.hurts, row.fact.rank if row.hurts >= QUIET else 0, -len(row.needed)))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of the short list: one row, or several names of one folder."""

    rows: tuple[LostRow, ...]
    text: str

    @property
    def first(self) -> LostRow:
        """Return the row that hurts most."""
        return self.rows[0]


def shown_lines(rows: Iterable[LostRow]) -> tuple[ShownLine, ...]:
    """Return the rows that are worth reading, those of paths in one folder on one line."""
    lines = list[list[LostRow]]()
    by_folder = dict[str, list[LostRow]]()
    for row in rows:
        if not row.is_worth_telling:
            continue
        folder = row.fact.text.rpartition("/")[0] if row.fact.kind == "path" else ""
        if folder and folder in by_folder:
            by_folder[folder].append(row)
            continue
        lines.append([row])
        if folder:
            by_folder[folder] = lines[-1]
    return tuple(ShownLine(tuple(line), _line_text(line)) for line in lines)


def _line_text(rows: Sequence[LostRow]) -> str:
    """Return `src/a.py`, or `src/: a.py, b.py` for several rows."""
    if len(rows) == 1:
        return rows[0].fact.text
    folder = rows[0].fact.text.rpartition("/")[0]
    return f"{folder}/: {', '.join(row.fact.text.rpartition('/')[2] for row in rows)}"
