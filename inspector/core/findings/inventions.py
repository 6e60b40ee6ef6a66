"""What a summary says that nothing before it supports: numbers, paths, identifiers and addresses that stand nowhere.

A name counts as supported if the buffer before holds it in any spelling, or its file. Each other one is told with the
sentence of the buffer that is nearest: if that speaks of the same with another number, the summary changed it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.core.facts.coverage import Passages, content_words
from inspector.core.facts.fact import Fact
from inspector.core.facts.names import names
from inspector.core.facts.reading import texts
from inspector.core.facts.rules import rule
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message, Text

_SAME_MATTER = 0.5
"""Share of the other content words from which on a sentence speaks of the same matter."""
_DIGITS = re.compile(r"\d[\d.,]*")
_BOILERPLATE = rule("steps.boilerplate")
_LONGEST = 300
"""Characters of a sentence that is shown."""


@dataclass(frozen=True, slots=True)
class Invention:
    """A name or a number of a summary that stands nowhere before it."""

    fact: Fact
    sentence: str
    """The sentence of the summary."""
    nearest: str = ""
    """The sentence before the compaction that speaks of the same; empty if none does."""
    is_changed: bool = False
    """The nearest sentence has another number in its place."""


def inventions(summary: Message, before: Sequence[Message]) -> tuple[Invention, ...]:
    """Return what a summary says that the buffer before does not support. O(text of both)."""
    text = "\n".join(part for message in before for part in texts(message))
    bare, found = _letters(text), list[Invention]()
    passages: Passages | None = None
    for sentence, fact in _named(summary):
        if _is_supported(fact, text, bare):
            continue
        if passages is None:
            spoken = (one for message in before for part in texts(message) for one in sentences(part))
            passages = Passages((one, content_words(one)) for one in spoken if len(one) <= 2 * _LONGEST)
        wanted = content_words(sentence.replace(fact.text, " "))
        near = passages.best(wanted) if wanted else None
        nearest = near.sentence[:_LONGEST] if near is not None and near.share >= _SAME_MATTER else ""
        is_changed = fact.kind == "number" and bool(nearest) and _DIGITS.search(nearest) is not None
        found.append(Invention(fact, sentence[:_LONGEST], nearest, is_changed))
    return tuple(found)


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


def _is_supported(fact: Fact, text: str, bare: str) -> bool:
    if fact.text in text:
        return True
    if fact.kind == "path":
        return fact.text.rstrip("/").rpartition("/")[2] in text
    if fact.kind == "url":
        return fact.text.partition("://")[2].rstrip("/") in text
    return _letters(fact.text) in bare


def _letters(text: str) -> str:
    """The text in one spelling: `load_rates` and `loadRates` alike, `84,102` and `84102`."""
    return re.sub(r"[\W_]+", "", text.lower())
