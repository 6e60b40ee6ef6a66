"""How much of a sentence a text says, by content words, numbers and names: the measure behind "gone".

The text is cut into sentences, and each is joined with the next one to a window. The measure is the largest share of
the sentence's content words in one window. That is nearly all that can be known without a model: docs/lost.md says how
often it is right. Words are compared by their stem, so that "Added" covers "add".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from inspector.core.facts.rules import is_chinese, word_list

_TOKEN = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*|\d+(?:[.,]\d+)*|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ENDINGS = ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s", "ly")
_SHORTEST_STEM = 3
"""Letters that are left of a word without its ending."""


@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    """Return a word in lower case without its ending; empty for a word without a meaning, such as "the"."""
    small = word.lower()
    if small in word_list("function_words") or (
        len(small) == 1 and small.isascii() and not small.isdigit()
    ):
        return ""
    for ending in _ENDINGS:
        if small.endswith(ending) and len(small) - len(ending) >= _SHORTEST_STEM:
            return small[: -len(ending)]
    return small


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something; of Chinese every character. O(text)."""
    return frozenset(filter(None, map(_stem, _TOKEN.findall(text))))


class Coverage(NamedTuple):
    """The window that covers a sentence best."""

    share: float
    """Share of the content words that the window has; 0 if no window has any."""
    sentence: str
    """The sentence of the window that has most of them."""
    window: str
    """The window: that sentence, with its neighbour if both have some."""


class Passages:
    """Sentences that may say what others said. Built once for any number of lookups."""

    def __init__(self, spoken: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Index the sentences.

        Args:
            spoken: Each sentence with its content words, in order.
        """
        self._sentences: list[str] = []
        self._places = defaultdict[str, list[int]](list)
        for sentence, words in spoken:
            for word in words:
                self._places[word].append(len(self._sentences))
            self._sentences.append(sentence)
        chinese = sum(map(is_chinese, self._sentences))
        self.is_in_chinese = 2 * chinese > sum(map(bool, self._sentences))
        """Are most of the sentences Chinese?"""

    def best(self, words: frozenset[str]) -> "Coverage":
        """Return the sentence, or the two neighbours, that hold the most of these words. O(places of the words)."""
        return next(self.covering(words, 0.0), Coverage(0.0, "", ""))

    def covering(self, words: frozenset[str], least_share: float) -> Iterator["Coverage"]:
        """Yield the windows that hold at least that share of the words, the best first. O(places of the words)."""
        held = defaultdict[int, set[str]](set)
        for word in words:
            for place in self._places.get(word, ()):
                held[place].add(word)
        counts = {place: len(held[place] | held.get(place + 1, _NO_WORDS)) for place in held}
        enough = [place for place in sorted(held) if counts[place] >= least_share * len(words)]
        for place in sorted(enough, key=lambda place: -counts[place]):
            yield self._window(place, held, counts[place] / len(words))

    def _window(self, place: int, held: Mapping[int, set[str]], share: float) -> "Coverage":
        """Return the window at a place, which names the sentence that has more of the words."""
        if place + 1 not in held:
            sentence = self._sentences[place]
            return Coverage(share, sentence, sentence)
        most = place + 1 if len(held[place + 1]) > len(held[place]) else place
        return Coverage(share, self._sentences[most], " ".join(self._sentences[place : place + 2]))


_NO_WORDS: set[str] = set()


def merged(parts: Iterable[Sequence[tuple[str, frozenset[str]]]]) -> Passages:
    """Return the passages of several texts; no two neighbours are of different texts."""
    gap = ("", frozenset[str]())
    return Passages(sentence for part in parts for sentence in (*part, gap))
