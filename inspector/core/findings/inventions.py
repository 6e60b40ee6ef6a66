"""Find the numbers, paths, identifiers and addresses in a summary that the buffer before it does not support.

A name is supported if the buffer before the compaction holds it in any spelling, or, for a path, holds its file name.
Any other name is shown with the most similar sentence of that buffer. If that sentence has another number, the summary
changed the number.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from inspector.core.facts.coverage import Passages, content_words
from inspector.core.facts.fact import Fact
from inspector.core.facts.names import names
from inspector.core.facts.reading import texts
from inspector.core.facts.rules import rule
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message, Text

_SAME_MATTER = 0.5
"""Smallest share of common content words, without the name, at which two sentences are about the same subject."""
_DIGITS = re.compile(r"\d[\d.,]*")
_BOILERPLATE = rule("steps.boilerplate")
_LONGEST = 300
"""Largest number of characters of a sentence that are shown."""
_SIGNS = re.compile(r"[\W_]+")
_NO_LETTERS = dict.fromkeys(number for number in range(128) if not chr(number).isalnum())
"""Translation table that removes the punctuation of an ASCII text, ten times as fast as `_SIGNS`."""


@dataclass(frozen=True, slots=True)
class Invention:
    """A name or a number of a summary that is not in the buffer before it."""

    fact: Fact
    sentence: str
    """The sentence of the summary."""
    nearest: str = ""
    """The most similar sentence before the compaction; empty if none is similar enough."""
    is_changed: bool = False
    """Does the nearest sentence have another number?"""


def inventions(summary: Message, before: Sequence[Message]) -> tuple[Invention, ...]:
    """Return the names and numbers in a summary that the messages `before` do not support. O(text of both)."""
    support = _Support("\n".join(part for message in before for part in _texts_and_tools(message)))
    unsupported = [(sentence, fact) for sentence, fact in _named(summary) if not support.has(fact)]
    if not unsupported:
        return ()
    passages = Passages(
        (sentence, content_words(sentence)) for sentence in _short_sentences(before)
    )
    return tuple(_invention(fact, sentence, passages) for sentence, fact in unsupported)


def _texts_and_tools(message: Message) -> Iterator[str]:
    """Yield the texts of a message and the names of the tools that it calls."""
    yield from texts(message)
    yield from (call.name for call in message.calls)


def _short_sentences(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for text in texts(message):
            yield from (sentence for sentence in sentences(text) if len(sentence) <= 2 * _LONGEST)


def _invention(fact: Fact, sentence: str, passages: Passages) -> Invention:
    """Return an unsupported name with the most similar sentence of the earlier buffer."""
    words = content_words(sentence.replace(fact.text, " "))
    passage = passages.best(words) if words else None
    nearest = ""
    if passage is not None and passage.share >= _SAME_MATTER:
        nearest = passage.sentence[:_LONGEST]
    is_changed = fact.kind == "number" and _DIGITS.search(nearest) is not None
    return Invention(fact, sentence[:_LONGEST], nearest, is_changed)


def _named(summary: Message) -> Iterator[tuple[str, Fact]]:
    seen = set[Fact]()
    for part in summary.parts:
        if not isinstance(part, Text):
            continue
        for sentence in sentences(part.text):
            if _BOILERPLATE.search(sentence):
                continue
            for fact in names(sentence):
                if fact not in seen:
                    seen.add(fact)
                    yield sentence, fact


class _Support:
    """The text before a compaction, which is searched for names."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _bare_text(self) -> str:
        return _letters(self._text)

    def has(self, fact: Fact) -> bool:
        """Does the text hold a name in any spelling, or, for a path, its file name?"""
        if fact.text in self._text:
            return True
        if fact.kind == "path":
            _, _, file_name = fact.text.rstrip("/").rpartition("/")
            return file_name in self._text
        if fact.kind == "url":
            _, _, without_scheme = fact.text.partition("://")
            return without_scheme.rstrip("/") in self._text
        return _letters(fact.text) in self._bare_text


def _letters(text: str) -> str:
    """Return a text in lower case without punctuation: equal for `load_rates` and `loadRates`, `84,102` and `84102`."""
    lower = text.lower()
    return lower.translate(_NO_LETTERS) if lower.isascii() else _SIGNS.sub("", lower)
