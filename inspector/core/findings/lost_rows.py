"""Rows of what a compaction lost: a verdict for each fact, duplicates folded, in the order in which their loss hurts.

First what the user asked for and what is gone, then files and values that a later request needed, decisions, wishes
that may be gone, and errors that were open. Folders and names in the code, which can be searched, come after all of
these, then names that no request needed; what is done or carried comes last. Of several names on one line the first one
has its place among these, the others come after.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import commonpath
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
"""paraphrased: the verdict is *carried*; lost: any other, as the buffer no longer has the words."""
SHOWN = 10
"""Rows that are shown before "more"."""
_WISHES = ("instruction", "constraint")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")


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

    is_made: bool = False
    """The agent made it outside the files: a pull request, an issue."""
    is_repeat: bool = False
    """Other rows say all of it."""

    @property
    def fate(self) -> LostFate:
        """Return whether the row counts as lost or as paraphrased; `verdict` says more."""
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
        if self.is_repeat:
            return 9
        if self.fact.kind not in SENTENCES:
            return self._name_hurts
        if self.fact.kind in _WISHES:
            return 1 if self.verdict == "gone" else 4
        if self.verdict == "unknown":
            return 9
        if self.verdict == "unsure":
            return 6
        return 3 if self.fact.kind == "decision" else 5

    @property
    def _name_hurts(self) -> int:
        if not (self.needed or self.is_made) or self.verdict == "unknown":
            return 9
        return 8 if self.is_plain_name or self._is_folder else 2

    @property
    def _is_folder(self) -> bool:
        return self.fact.kind == "path" and "." not in self.fact.text.rpartition("/")[2]

    @property
    def is_plain_name(self) -> bool:
        """Is it a name in the code, which can be read again, rather than a value such as an address or a hash?"""
        return self.fact.kind == "identifier" and not _DIGIT.search(self.fact.text)

    @property
    def is_worth_telling(self) -> bool:
        """Is it among the rows that are shown, and not only counted?"""
        return self.hurts < QUIET


QUIET = 8
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
    outside: frozenset[str] = frozenset()
    """Names of what the agent made outside the files."""

    def row(
        self,
        names: Sequence[Fact],
        gone: Mapping[Fact, str],
        uses: Sequence[NeededAgain],
        whole: Fact,
    ) -> LostRow:
        """Return the row of a fact that has several names."""
        message = next(
            (gone[name] for name in names if gone[name]), uses[0].message if uses else ""
        )
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
        is_made = any(name.text in self.outside for name in names)
        return LostRow(
            whole, message, verdict, tuple(uses), nearest, why, place.request, place.line, is_made
        )


_ORDER = {"gone": 0, "unsure": 1, "carried": 2}


def ranked(
    gone: Mapping[Fact, str],
    verdicts: Verdicts,
    needed: Mapping[Fact, Sequence[NeededAgain]] | None = None,
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
    rows = _mark_repeats(rows)
    rows.sort(
        key=lambda row: (row.hurts, row.fact.rank if row.hurts >= QUIET else 0, -len(row.needed))
    )
    lines = _group_by_line(rows)
    heads = {id(line[0]) for line in lines}
    return (*(line[0] for line in lines), *(row for row in rows if id(row) not in heads))


_LEAST_WORDS = 4
"""Words of a wish that another one holds."""


def _mark_repeats(rows: Sequence[LostRow]) -> list[LostRow]:
    """Mark the wishes that a longer one holds, and a longer one that is made of several others.

    O(words of the wishes): a sentence has a bounded number of them.
    """
    wishes = _WordTree()
    words_by_place = dict[int, list[str]]()
    for place, row in enumerate(rows):
        if row.fact.kind in _WISHES and row.is_open:
            words = _WORD.findall(row.fact.text.lower())
            if len(words) >= _LEAST_WORDS:
                words_by_place[place] = words
                wishes.add(words, place)
    repeats = set[int]()
    for place, words in words_by_place.items():
        parts = wishes.find_parts(words)
        repeats.update([place] if len(parts) > 1 else parts)
    return [
        replace(row, is_repeat=True) if place in repeats else row for place, row in enumerate(rows)
    ]


class _WordTree:
    """Sentences by their words, so that those inside another sentence are found without a look at all others."""

    def __init__(self) -> None:
        self._children = dict[str, _WordTree]()
        """By the word that comes next."""
        self._places: list[int] = []
        """Of the sentences that end here."""

    def add(self, words: Sequence[str], place: int) -> None:
        """Add a sentence under a number."""
        tree = self
        for word in words:
            child = tree._children.get(word)
            if child is None:
                child = tree._children[word] = _WordTree()
            tree = child
        tree._places.append(place)

    def find_parts(self, words: Sequence[str]) -> set[int]:
        """Return the numbers of the shorter sentences that this one holds; of many, two at least."""
        parts = set[int]()
        for start in range(len(words)):
            parts.update(self._find_begun(words, start))
            if len(parts) > 1:
                break
        return parts

    def _find_begun(self, words: Sequence[str], start: int) -> Iterator[int]:
        """Yield the numbers of the shorter sentences that begin at a word of this one."""
        tree = self
        for place in range(start, len(words)):
            child = tree._children.get(words[place])
            if child is None:
                return
            tree = child
            if place - start + 1 < len(words):
                yield from tree._places


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of the short list: one row, or several paths of one folder."""

    rows: tuple[LostRow, ...]
    text: str

    @property
    def first(self) -> LostRow:
        """Return the row that hurts most."""
        return self.rows[0]


def shown_lines(rows: Iterable[LostRow]) -> tuple[ShownLine, ...]:
    """Return the rows that are worth telling; paths in one folder are one line."""
    return tuple(ShownLine(tuple(line), _line_text(line)) for line in _group_by_line(rows))


def _group_by_line(rows: Iterable[LostRow]) -> list[list[LostRow]]:
    """Return the rows of each line of the short list."""
    lines = list[list[LostRow]]()
    by_group = dict[str, list[LostRow]]()
    for row in filter(lambda row: row.is_worth_telling, rows):
        group = _group_of(row)
        if not group:
            lines.append([row])
        elif group in by_group:
            by_group[group].append(row)
        else:
            by_group[group] = [row]
            lines.append(by_group[group])
    return lines


_DEEP_ENOUGH = 3
"""Names in the path of a folder whose subfolders are listed together."""


def _group_of(row: LostRow) -> str:
    """Return what the rows of one line have in common; empty for a row that has a line to itself.

    It is the folder above the path's own, if that is deep enough, else its own.
    """
    if row.fact.kind != "path":
        return ""
    folder = row.fact.text.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return above if len(above.strip("/").split("/")) >= _DEEP_ENOUGH else folder


def _line_text(rows: Sequence[LostRow]) -> str:
    """Return `src/a.py`, or `src/: a.py, b.py` for several paths."""
    texts = [row.fact.text for row in rows]
    if len(rows) == 1:
        return texts[0]
    folder = commonpath([text.rpartition("/")[0] for text in texts])
    listed = ", ".join(text[len(folder) + 1 :] for text in texts)
    return f"{folder}/: {listed}"
