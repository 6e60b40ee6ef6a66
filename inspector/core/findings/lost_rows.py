"""The rows about facts that a compaction lost: a verdict for each fact, without duplicates, the worst losses first.

The order: instructions of the user that are gone; files and values that a later request needed; decisions; instructions
that may be gone; open errors; folders and names in the code, which can be searched; names that no request needed; facts
that are finished or carried in other words. Of several names on one line, the first has this rank, and the others
follow at the end.
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
"""gone: the replacement has hardly a word of the fact; carried: the replacement says the fact in other words; unsure:
between these two; done: the fact was finished before; unknown: the replacement is not in the file."""
VERDICT_WORDS: Mapping[LostVerdict, str] = {
    "gone": "gone",
    "unsure": "not sure",
    "unknown": "not known",
    "carried": "in other words",
    "done": "done",
}
"""The verdicts as they are shown."""
LostFate: TypeAlias = Literal["lost", "paraphrased"]
"""paraphrased: the verdict is *carried*; lost: any other verdict, because the buffer no longer has the words."""
SHOWN = 10
"""Number of rows that are shown before "more"."""
_WISHES = ("instruction", "constraint")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class NeededAgain:
    """A later request that used a fact when the fact was no longer in context."""

    request: int
    how: How
    message: str
    """Id of the message that used the fact."""
    tokens: int
    """Tokens of the answer to the call that used it; 0 without a call."""
    result: str = ""
    """Id of the message with that answer; empty without an answer."""


@dataclass(frozen=True, slots=True)
class LostRow:
    """A fact that a compaction removed, with its verdict."""

    fact: Fact
    message: str
    """Id of the message that held the fact."""
    verdict: LostVerdict = "gone"
    needed: tuple[NeededAgain, ...] = ()
    nearest: str = ""
    """The sentence of the replacement that is most similar to the fact; empty if none is."""
    why: str = ""
    """For *done* and *unknown*, the reason as a sentence."""
    request: int | None = None
    """The request that added the message; None: not known."""
    line: int = 0
    """Line of the file that holds the message, from 1; 0: not known."""

    is_needed_late: bool = False
    """True if it was needed only after the next compaction, which would have removed it anyway."""
    is_made: bool = False
    """True if the agent made the named thing outside the files: a pull request, an issue."""
    is_repeat: bool = False
    """True if other rows contain the whole fact."""

    @property
    def fate(self) -> LostFate:
        """Return whether the row counts as lost or as paraphrased; `verdict` says more."""
        return "paraphrased" if self.verdict == "carried" else "lost"

    @property
    def is_open(self) -> bool:
        """Is the fact gone, or perhaps gone, and not finished?"""
        return self.verdict in ("gone", "unsure", "unknown")

    @property
    def hurts(self) -> int:
        """Return the rank of the row: 1 for the worst loss; rows with a rank of at least `QUIET` are not shown."""
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
        if self.fact.kind == "decision":
            return 3 if self.verdict == "gone" else 9
        return 5 if self.verdict == "gone" else 6

    @property
    def _name_hurts(self) -> int:
        if not (self.needed or self.is_made) or self.verdict == "unknown":
            return 9
        if self.is_needed_late and not self.is_made:
            return 8
        return 8 if self.is_plain_name or self._is_folder else 2

    @property
    def _is_folder(self) -> bool:
        return self.fact.kind == "path" and "." not in self.fact.text.rpartition("/")[2]

    @property
    def is_plain_name(self) -> bool:
        """Is the fact a name in the code, which can be read again, and not a value such as an address or a hash?"""
        return self.fact.kind == "identifier" and not _DIGIT.search(self.fact.text)

    @property
    def is_worth_telling(self) -> bool:
        """Is the row shown, and not only counted?"""
        return self.hurts < QUIET


QUIET = 8
"""Rows with at least this rank are only counted, not shown."""


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """The request that added a message, and the message's line in the file."""

    request: int | None = None
    line: int = 0


NO_PLACE = MessagePlace()


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The functions and data by which the verdict of a row is decided."""

    echo: Callable[[Fact], Echo]
    """Returns whether the replacement carries a fact, and in which sentence."""
    finished: Callable[[Fact, str], str] = lambda fact, message: ""
    """Returns why a fact in a message (id) was finished before; empty if it was not."""
    unknown: Callable[[Fact, str], str] = lambda fact, message: ""
    """Returns why the fate of a fact in a message (id) is not known; empty if it is known."""
    places: Mapping[str, MessagePlace] | None = None
    """Places of messages by id."""
    outside: frozenset[str] = frozenset()
    """Names of things that the agent made outside the files."""
    until: int | None = None
    """The request before which the next compaction took place; None if there is none."""

    def row(
        self,
        names: Sequence[Fact],
        gone: Mapping[Fact, str],
        uses: Sequence[NeededAgain],
        whole: Fact,
    ) -> LostRow:
        """Return the row of a fact that may have several names.

        Args:
            names: The names of the fact.
            gone: The ids of the messages that held each name.
            uses: Later requests that used the fact.
            whole: The name that the row shows.
        """
        messages = [gone[name] for name in names if gone[name]]
        messages += [use.message for use in uses]
        message = messages[0] if messages else ""
        place = (self.places or {}).get(message, NO_PLACE)
        echoes = [self.echo(name) for name in names]
        echo = max(echoes, key=lambda heard: (_ORDER[heard.verdict], heard.share))
        verdict, why = self._decide(echo, whole, message)
        nearest = echo.nearest if verdict in ("unsure", "carried") else ""
        is_made = any(name.text in self.outside for name in names)
        is_late = self.until is not None and all(use.request >= self.until for use in uses)
        return LostRow(
            whole,
            message,
            verdict,
            needed=tuple(uses),
            nearest=nearest,
            why=why,
            request=place.request,
            line=place.line,
            is_needed_late=is_late and bool(uses),
            is_made=is_made,
        )

    def _decide(self, echo: Echo, fact: Fact, message: str) -> tuple[LostVerdict, str]:
        """Return the verdict, and the reason if the fact was finished before, or its fate is not known; else empty."""
        if echo.verdict == "carried":
            return "carried", ""
        why_done = self.finished(fact, message)
        if why_done:
            return "done", why_done
        why_unknown = self.unknown(fact, message)
        if why_unknown:
            return "unknown", why_unknown
        return echo.verdict, ""


_ORDER = {"gone": 0, "unsure": 1, "carried": 2}


def _drop_repeated(uses: Iterable[NeededAgain]) -> tuple[NeededAgain, ...]:
    """Return the first use in each message of each request, in the order of the last one."""
    last_first = reversed(list(uses))
    by_place = {(use.request, use.message): use for use in last_first}
    return tuple(reversed(by_place.values()))


def _rank_row(row: LostRow) -> tuple[int, int, int]:
    """Return the sort key of a row: by harm, then for facts that hurt little by kind, then by later uses."""
    kind_rank = row.fact.rank if row.hurts >= QUIET else 0
    return row.hurts, kind_rank, -len(row.needed)


def ranked(
    gone: Mapping[Fact, str],
    verdicts: Verdicts,
    needed: Mapping[Fact, Sequence[NeededAgain]] | None = None,
) -> tuple[LostRow, ...]:
    """Return a row for each different fact, the worst losses first, rows of equal rank in the order of the buffer.

    Args:
        gone: The id of the message that held each fact.
        verdicts: Decides the verdict of each fact.
        needed: Later requests that used each fact.
    """
    rows = []
    for fact, names in distinct(gone):
        uses = [use for name in names for use in (needed or {}).get(name, ())]
        rows.append(verdicts.row(names, gone, _drop_repeated(uses), fact))
    rows = _mark_repeats(rows)
    rows.sort(key=_rank_row)
    lines = _group_by_line(rows)
    heads = {id(line[0]) for line in lines}
    return (*(line[0] for line in lines), *(row for row in rows if id(row) not in heads))


_LEAST_WORDS = 4
"""Smallest number of words of an instruction that can be marked as part of another."""


def _mark_repeats(rows: Sequence[LostRow]) -> list[LostRow]:
    """Mark the instructions that a longer one contains. If it contains several, mark the longer one instead.

    O(words of the instructions): a sentence has a bounded number of words.
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
    """A trie of sentences by words, which finds the sentences inside another one without comparing all pairs."""

    def __init__(self) -> None:
        self._children = dict[str, _WordTree]()
        """Subtrees by the next word."""
        self._places: list[int] = []
        """Numbers of the sentences that end at this node."""

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
        """Return the numbers of the shorter sentences that this sentence contains; if there are many, at least two."""
        parts = set[int]()
        for start in range(len(words)):
            parts.update(self._find_begun(words, start))
            if len(parts) > 1:
                break
        return parts

    def _find_begun(self, words: Sequence[str], start: int) -> Iterator[int]:
        """Yield the numbers of the shorter sentences that begin at word `start` of this sentence."""
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
        """Return the row with the worst loss."""
        return self.rows[0]


def shown_lines(rows: Iterable[LostRow]) -> tuple[ShownLine, ...]:
    """Return the lines of the rows that are worth showing; paths in one folder share a line."""
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
"""Smallest depth of a folder (names in its path) whose subfolders share a line."""


def _group_of(row: LostRow) -> str:
    """Return the folder by which a row is grouped into a line; empty for a row on a separate line.

    It is the parent of the path's folder if the parent is deep enough, else the path's folder.
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
    folders = [text.rpartition("/")[0] for text in texts]
    common = commonpath(folders)
    names_start = len(common) + 1
    listed = ", ".join(text[names_start:] for text in texts)
    return f"{common}/: {listed}"
