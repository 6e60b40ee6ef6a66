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
"""gone: hardly a word of it is said in what came instead; carried: it is said, in other words or by its name; unsure:
between the two; done: it was finished before; unknown: what came instead is not in the file."""
VERDICT_WORDS: Mapping[LostVerdict, str] = {
    "gone": "gone",
    "unsure": "not sure",
    "unknown": "not known",
    "carried": "in other words",
    "done": "done",
}
"""As people read them."""
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
    """Id of the message that did."""
    tokens: int
    """Of what came back for it: the answer to the call. 0 if nothing was called."""
    result: str = ""
    """Id of the message with that answer; empty if nothing came back."""


@dataclass(frozen=True, slots=True)
class LostRow:
    """One fact."""

    fact: Fact
    message: str
    """Id of the message in which it stood."""
    verdict: LostVerdict = "gone"
    needed: tuple[NeededAgain, ...] = ()
    nearest: str = ""
    """The sentence in what came instead that says most of it; empty if none does."""
    why: str = ""
    """Why it is done, or unknown; a sentence."""
    request: int | None = None
    """The request that brought the message; None: not known."""
    line: int = 0
    """Line of the file that holds the message, from 1; 0: not known."""

    @property
    def fate(self) -> LostFate:
        """The verdict in the two words of before."""
        return "paraphrased" if self.verdict == "carried" else "lost"

    @property
    def is_open(self) -> bool:
        """Is it gone, or perhaps gone, and not finished?"""
        return self.verdict in ("gone", "unsure", "unknown")

    @property
    def hurts(self) -> int:
        """Its place in the order: 1 for what hurts most, from `QUIET` on what nobody need read."""
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
        """Would somebody who asks what was lost want to read it?"""
        return self.hurts < QUIET


QUIET = 7
"""From this place in the order on rows are counted, and not shown."""


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a message stands."""

    request: int | None = None
    line: int = 0


NO_PLACE = MessagePlace()


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What rows are made from."""

    echo: Callable[[Fact], Echo]
    """Whether what came instead carries a fact."""
    finished: Callable[[Fact, str], str] = lambda fact, message: ""
    """Why a fact in a message was finished before; empty if it was not."""
    unknown: Callable[[Fact, str], str] = lambda fact, message: ""
    """Why nobody can tell what became of a fact in a message; empty if one can."""
    places: Mapping[str, MessagePlace] | None = None
    """Places of messages by id."""

    def row(self, names: Sequence[Fact], gone: Mapping[Fact, str], uses: Sequence[NeededAgain], whole: Fact) -> LostRow:
        """Return the row of a fact that has several names."""
        message = next((gone[name] for name in names if gone[name]), uses[0].message if uses else "")
        place = (self.places or {}).get(message, NO_PLACE)
        echo = max((self.echo(name) for name in names), key=lambda one: (_ORDER[one.verdict], one.share))
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
        gone: Facts, and the ids of the messages in which they stood.
        verdicts: What became of them.
        needed: Later requests that used a fact.
    """
    rows = []
    for fact, names in distinct(gone):
        uses = [use for one in names for use in (needed or {}).get(one, ())]
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
        """The row that hurts most."""
        return self.rows[0]


def shown_lines(rows: Iterable[LostRow]) -> tuple[ShownLine, ...]:
    """Return the rows that are worth telling, those of paths in one folder as one line."""
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
    return tuple(ShownLine(tuple(found), _line_text(found)) for found in lines)


def _line_text(rows: Sequence[LostRow]) -> str:
    """`src/a.py`; `src/: a.py, b.py`."""
    if len(rows) == 1:
        return rows[0].fact.text
    folder = rows[0].fact.text.rpartition("/")[0]
    return f"{folder}/: {', '.join(row.fact.text.rpartition('/')[2] for row in rows)}"
