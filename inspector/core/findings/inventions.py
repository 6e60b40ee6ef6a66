"""What a summary says that nothing before it supports: numbers, paths, identifiers and addresses.

A name is supported if the buffer before the compaction holds it in any spelling, or holds its file. Any other name is
shown with the most similar sentence of that buffer. If that sentence is about the same with another number, the summary
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
"""Least share of common content words, the name apart, of two sentences about the same."""
_DIGITS = re.compile(r"\d[\d.,]*")
_BOILERPLATE = rule("steps.boilerplate")
_LONGEST = 300
"""Characters of a sentence that is shown."""
_SIGNS = re.compile(r"[\W_]+")
_NO_LETTERS = dict.fromkeys(number for number in range(128) if not chr(number).isalnum())
"""What removes the signs of a text in ASCII, ten times as fast."""


@dataclass(frozen=True, slots=True)
class Invention:
    """A name or a number of a summary that is not in the buffer before it."""

    fact: Fact
    sentence: str
    """The sentence of the summary."""
    nearest: str = ""
    """The sentence before the compaction that is about the same; empty if none is."""
    is_changed: bool = False
    """Does the nearest sentence have another number?"""


def inventions(summary: Message, before: Sequence[Message]) -> tuple[Invention, ...]:
    """Return what a summary says that the buffer before does not support. O(text of both)."""
    support = _Support("\n".join(part for message in before for part in texts(message)))
    unsupported = [(sentence, fact) for sentence, fact in _named(summary) if not support.has(fact)]
    if not unsupported:
        return ()
    passages = Passages(
        (sentence, content_words(sentence)) for sentence in _short_sentences(before)
    )
    return tuple(_invention(fact, sentence, passages) for sentence, fact in unsupported)


def _short_sentences(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for text in texts(message):
            yield from (sentence for sentence in sentences(text) if len(sentence) <= 2 * _LONGEST)


def _invention(fact: Fact, sentence: str, passages: Passages) -> Invention:
    """Return an unsupported name with the most similar sentence of the buffer before."""
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
    """The text before a compaction, in which names are looked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _bare_text(self) -> str:
        return _letters(self._text)

    def has(self, fact: Fact) -> bool:
        """Does the text hold a name in any spelling, or its file?"""
        if fact.text in self._text:
            return True
        if fact.kind == "path":
            return fact.text.rstrip("/").rpartition("/")[2] in self._text
        if fact.kind == "url":
            return fact.text.partition("://")[2].rstrip("/") in self._text
        return _letters(fact.text) in self._bare_text


def _letters(text: str) -> str:
    """Return the text in one spelling: the same for `load_rates` and `loadRates`, for `84,102` and `84102`."""
    lower = text.lower()
    return lower.translate(_NO_LETTERS) if lower.isascii() else _SIGNS.sub("", lower)
