"""Compute how much of a sentence a text repeats, by content words, numbers and names. The verdict "gone" rests on it.

The text is cut into sentences, and each sentence is joined with the next one to form a window. The coverage is the
largest share of the sentence's content words that one window contains. Without a model hardly more can be known:
docs/lost.md says how often the verdict is right. Words are compared by their stem, so that "Added" covers "add".
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
"""Fewest letters of a stem: an ending is kept if removing it would leave fewer."""


@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    """Return a word in lower case without its ending; empty for a function word, such as "the"."""
    small = word.lower()
    is_letter = len(small) == 1 and small.isascii() and not small.isdigit()
    if is_letter or small in word_list("function_words"):
        return ""
    for ending in _ENDINGS:
        if small.endswith(ending) and len(small) - len(ending) >= _SHORTEST_STEM:
            return small[: -len(ending)]
    return small


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text; in Chinese, every character is a word. O(text)."""
    return frozenset(filter(None, map(_stem, _TOKEN.findall(text))))


class Coverage(NamedTuple):
    """How well one window of a text covers a sentence."""

    share: float
    """Share of the sentence's content words that the window contains; 0 if no window contains any."""
    sentence: str
    """The sentence of the window that contains most of these words."""
    window: str
    """Text of the window: one sentence, or two neighbours if both contain some of the words."""


class Passages:
    """An index of sentences by content word, built once, in which many sentences are looked up."""

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
        """True if most of the sentences are Chinese."""

    def best(self, words: frozenset[str]) -> "Coverage":
        """Return the window that contains most of these words. O(occurrences of the words)."""
        return next(
            self.covering(words, least_share=0.0), Coverage(share=0.0, sentence="", window="")
        )

    def covering(self, words: frozenset[str], least_share: float) -> Iterator["Coverage"]:
        """Yield the windows with at least `least_share` of the words, best first. O(occurrences of the words)."""
        held = defaultdict[int, set[str]](set)
        for word in words:
            for place in self._places.get(word, ()):
                held[place].add(word)
        counts = {place: len(held[place] | held.get(place + 1, _NO_WORDS)) for place in held}
        enough = [place for place in sorted(held) if counts[place] >= least_share * len(words)]
        for place in sorted(enough, key=lambda place: -counts[place]):
            yield self._window(place, held, counts[place] / len(words))

    def _window(self, place: int, held: Mapping[int, set[str]], share: float) -> "Coverage":
        """Return the coverage of the window that begins with sentence number `place`."""
        first = self._sentences[place]
        if place + 1 not in held:
            return Coverage(share, first, first)
        second = self._sentences[place + 1]
        nearest = second if len(held[place + 1]) > len(held[place]) else first
        return Coverage(share, nearest, f"{first} {second}")


_NO_WORDS: set[str] = set()


def merged(parts: Iterable[Sequence[tuple[str, frozenset[str]]]]) -> Passages:
    """Return the passages of several texts. No window spans two texts."""
    gap = ("", frozenset[str]())
    return Passages(sentence for part in parts for sentence in (*part, gap))
