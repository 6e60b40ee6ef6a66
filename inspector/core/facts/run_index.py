"""Find which of many facts a text may name, by a few words that every text with the fact has in a row."""

import re
from itertools import pairwise
from typing import TypeAlias

WORD = re.compile(r"\w+", re.ASCII)
"""Chinese has no spaces: a fact without other words is searched in every message."""
WordRun: TypeAlias = tuple[str, ...]
"""Up to three words in a row that show that a text may name a fact."""
_LONG_NUMBER = re.compile(r"(?<=[A-Za-z_])\d{8,}(?!\w)", re.ASCII)
"""As in `discussion_r2734900785`."""
_FEW = 20
"""Runs that are searched in a text one by one; of more, the text's own runs are listed once."""


def _word_runs(text_words: list[str]) -> set[WordRun]:
    """Return every run of two and three words. O(words)."""
    runs = set[WordRun](pairwise(text_words))
    runs.update(zip(text_words, text_words[1:], text_words[2:], strict=False))
    return runs


class RunIndex:
    """Facts, by number, each under one or more runs of words.

    A run is filed under the one of its words that the fewest others are filed under, so that a text is compared with
    few of them, whatever their number. Where it would be many, as in a small vocabulary, the runs of the text are
    listed instead: O(words of the text) at most.
    """

    def __init__(self) -> None:
        self._facts: dict[WordRun, set[int]] = {}
        self._runs: dict[str, set[WordRun]] = {}
        """The runs by the word that each is filed under; the empty run under the empty word."""
        self._words: dict[WordRun, str] = {}
        """The word that each run is filed under."""
        self._has_number = False
        """Was a long number ever filed? It is looked for inside words, too."""

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
        """Remove a fact from under a run."""
        facts = self._facts.get(run, set())
        facts.discard(fact)
        if run in self._facts and not facts:
            del self._facts[run]
            word = self._words.pop(run)
            self._runs[word].discard(run)
            if not self._runs[word]:
                del self._runs[word]

    def find(self, text: str) -> set[int]:
        """Return the facts under the runs that a text has. O(text)."""
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
    """Return those of some runs, all of whose words a text has, that it has in a row."""
    several = [run for run in runs if len(run) > 1]
    if not several:
        return runs
    if len(several) > _FEW:
        text_runs = _word_runs(text_words)
        return [run for run in runs if len(run) < 2 or run in text_runs]
    line = f" {' '.join(text_words)} "
    return [run for run in runs if len(run) < 2 or f" {' '.join(run)} " in line]
