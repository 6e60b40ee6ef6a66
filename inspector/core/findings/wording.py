"""Does a text say a fact in other words? Of sentences by likeness (rapidfuzz), of names by spelling."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz.fuzz import partial_ratio

from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.reading import texts
from inspector.core.message import Message

ALIKE = 80
"""Percent: from here on two sentences say the same. Below it lie sentences that share a name or a phrase."""
_SHARED = 0.6
"""Share of the words that both must have to be compared at all."""
_END = re.compile(r"(?<=[。！？；])|(?<=[.!?])(?=\s)|\n+")
_WORD = re.compile(r"[a-z0-9_]{3,}|[\u4e00-\u9fff]{2}")
_FILE = re.compile(r"[\w-][\w.-]*\.\w+")
_NAME = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")
_LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    words: frozenset[str]


class Wording:
    """What the new messages of a buffer say: a summary, mostly."""

    def __init__(self, messages: Iterable[Message]) -> None:
        told = [message for message in messages if message.role != "tool" and not message.calls]
        self._text = "\n".join(text for message in told for text in texts(message))
        self._sentences: list[_Said] | None = None
        self._letters = ""
        self._files = frozenset(_FILE.findall(self._text))

    def says(self, fact: Fact) -> bool:
        """Is the fact there in other words: the name of the file, the identifier as words, the sentence told anew?"""
        if not self._text:
            return False
        if fact.kind in SENTENCES:
            return self._tells(fact.text)
        if fact.kind == "path":
            return fact.text.rpartition("/")[2] in self._files
        if fact.kind == "url":
            return fact.text.partition("://")[2].rstrip("/") in self._text
        self._letters = self._letters or _letters(self._text)
        said = _letters(fact.text).strip()
        return len(said) >= (8 if fact.kind == "identifier" else 4) and f" {said} " in self._letters

    def _tells(self, text: str) -> bool:
        if self._sentences is None:
            self._sentences = [_said(one) for one in _END.split(self._text) if one and len(one) > 8]
        one = _said(text)
        least = _SHARED * len(one.words)
        return bool(one.words) and any(
            len(one.words & other.words) >= min(least, _SHARED * len(other.words)) > 1
            and partial_ratio(one.text, other.text) >= ALIKE
            for other in self._sentences
        )


def _said(text: str) -> _Said:
    plain = " ".join(text[:_LONGEST].lower().split())
    return _Said(plain, frozenset(_WORD.findall(plain)))


def _letters(text: str) -> str:
    """Words and numbers in one spelling: `load_rates` and `loadRates` alike, `84,102` and `84102`."""
    joined = re.sub(r"(?<=\d),(?=\d)|_", "", text).lower()
    return " ".join(["", *_NAME.findall(joined), ""])
