"""Find which of many facts a text may name, by a few consecutive words that every text with the fact contains."""

import re
from itertools import pairwise
from typing import TypeAlias

WORD = re.compile(r"\w+", re.ASCII)
"""ASCII words only, because Chinese has no spaces: a fact without such a word is searched in every message."""
WordRun: TypeAlias = tuple[str, ...]
"""Up to three consecutive words that show that a text may name a fact."""
_LONG_NUMBER = re.compile(r"(?<=[A-Za-z_])\d{8,}(?!\w)", re.ASCII)
"""A number inside a word, as in `discussion_r2734900785`."""
_FEW = 20
"""Most runs that are searched in a text one by one; for more runs, the text's own runs are listed once."""


def _word_runs(text_words: list[str]) -> set[WordRun]:
    """Return every run of two and of three consecutive words. O(words)."""
    runs = set[WordRun](pairwise(text_words))
    runs.update(zip(text_words, text_words[1:], text_words[2:], strict=False))
    return runs


class RunIndex:
    """An index of facts, by number, each filed under one or more runs of words.

    Each run is filed under the one of its words that has the fewest runs so far, so that a text is compared with few
    runs, however many there are. If there are still many, as with a small vocabulary, the runs of the text are listed
    instead, which costs O(words of the text).
    """

    def __init__(self) -> None:
        self._facts: dict[WordRun, set[int]] = {}
        self._runs: dict[str, set[WordRun]] = {}
        """The runs that are filed under each word; the empty run is filed under the empty word."""
        self._words: dict[WordRun, str] = {}
        """The word that each run is filed under."""
        self._has_number = False
        """True if a number was ever filed. Numbers are also searched inside words."""

    def __bool__(self) -> bool:
        return bool(self._facts)

    def add(self, run: WordRun, fact: int) -> None:
        """Add a fact under a run."""
        facts = self._facts.get(run)
        if facts is not None:
            facts.add(fact)
            return
        self._facts[run] = {fact}
        self._has_number |= len(run) == 1 and run[0].isdecimal()
        word = min(run, key=lambda word: len(self._runs.get(word, ())), default="")
        self._words[run] = word
        self._runs.setdefault(word, set()).add(run)

    def remove(self, run: WordRun, fact: int) -> None:
        """Remove a fact from a run."""
        facts = self._facts.get(run, set())
        facts.discard(fact)
        if run in self._facts and not facts:
            del self._facts[run]
            word = self._words.pop(run)
            self._runs[word].discard(run)
            if not self._runs[word]:
                del self._runs[word]

    def find(self, text: str) -> set[int]:
        """Return the facts that are filed under the runs that the text contains. O(text)."""
        text_words = WORD.findall(text)
        present = {"", *text_words}
        if self._has_number:
            present.update(_LONG_NUMBER.findall(text))
        lists = [self._runs[word] for word in self._runs.keys() & present]
        if sum(map(len, lists)) > len(text_words) + _FEW:
            single = {(word,) for word in present} | {()}
            runs = self._facts.keys() & (_word_runs(text_words) | single)
        else:
            likely = [run for runs in lists for run in runs if present.issuperset(run)]
            runs = set(_in_a_row(likely, text_words))
        return {fact for run in runs for fact in self._facts[run]}


def _in_a_row(runs: list[WordRun], text_words: list[str]) -> list[WordRun]:
    """Return the runs whose words are consecutive in the text; the text must contain all words of every run."""
    several = [run for run in runs if len(run) > 1]
    if not several:
        return runs
    if len(several) > _FEW:
        text_runs = _word_runs(text_words)
        return [run for run in runs if len(run) < 2 or run in text_runs]
    line = f" {' '.join(text_words)} "
    return [run for run in runs if len(run) < 2 or f" {' '.join(run)} " in line]
