"""Is a fact said again: word for word, or in other words? The one judge of what compactions lost and of pins.

A sentence is said word for word, white space and end signs aside; or in other words, where a sentence of a summary, a
user or an answer says nearly the same. That is found by letters, not by sense; docs/pins.md says how `NEARLY` and
`WITHIN` were found. A name is said in other words where only its spelling differs, or a path's file is named.
"""

import re
from collections.abc import Iterable
from functools import cached_property

from rapidfuzz import fuzz, process

from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.reading import texts
from inspector.core.facts.rules import constrains, may_bind, word_list
from inspector.core.facts.sentences import LONGEST as CUT
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message, Opaque, Text

NEARLY = 72
"""Least rapidfuzz ratio (0 to 100) of two sentences in small letters, their words in alphabetical order."""
WITHIN = 90
"""Least ratio of a sentence, or the clause that is most of it, and the place in a longer one that is most like it."""
SHORTEST = 24
"""Bytes (UTF-8) of a text that can be told in other words: fewer say too little."""
LONGEST = 600
"""Letters of a sentence that may be a paraphrase."""
_ENDS = " .!,:;\"'`*_>-\u3002\uff01\uff1b\uff0c\uff1a\u201c\u201d"
_WORD = re.compile(r"\w+")
_FRAME = frozenset(["a", "an", "the", "to", "please", "user", "wants", "wanted", "asks", "asked", "said", "says", "us"])
"""Words that a summary puts around what the user said, or leaves out of it."""
_CLAUSE = re.compile(r"(?<=[,;:])\s|[\uff0c\uff1b\uff1a]")
_LETTER = re.compile(r"\w", re.ASCII)
"""Chinese has no spaces: there a word begins anywhere."""
_FILE = re.compile(r"[\w-][\w.-]*\.[a-z]\w*", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_NAME = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")


def plain(text: str) -> str:
    """One line, one blank between words."""
    return " ".join(text.split())


class Saying:
    """A sentence that is looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = plain(text).strip(_ENDS) or plain(text)

    @cached_property
    def ordered(self) -> str:
        """Its words in alphabetical order."""
        return _in_order(self.bare)

    @cached_property
    def core(self) -> str:
        """The clause that is most of it, if one is: what others quote of it. Of what forbids the one that does."""
        longest = max(_CLAUSE.split(self.bare), key=len).strip(_ENDS)
        enough = 2 * len(longest) >= len(self.bare) and len(longest.encode()) >= SHORTEST
        return longest if enough and (not self.binds or may_bind(longest)) else self.bare

    @cached_property
    def exact(self) -> frozenset[str]:
        """Its numbers and names of files: nobody says the same with others."""
        return _exact(self.core)

    @cached_property
    def binds(self) -> bool:
        """Does it forbid or demand?"""
        return constrains(self.text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        begins = re.escape(self.bare[:1])
        if self.bare[:1].isalpha():  # a summary may begin before it
            begins = f"(?i:{begins})"
        first = (r"\b" if _LETTER.match(self.bare) else "") + begins
        last = r"\b" if _LETTER.match(self.bare[-1:]) and len(self.text) < CUT else ""  # else half a word, maybe
        return re.compile(first + r"\s+".join(map(re.escape, self.bare[1:].split(" "))) + last, re.ASCII)

    def stands_in(self, text: str) -> bool:
        """Does the text say it word for word? O(text)."""
        return bool(self.bare) and self._pattern.search(text) is not None


class Speech:
    """What messages say, sentence by sentence, each message read once. For one thread of execution."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, tuple[str, ...], tuple[str, ...]]] = {}
        """By identity of the message, which is kept so that nothing else can get it."""

    def paraphrase(self, saying: Saying, message: Message) -> tuple[float, str] | None:
        """How like it the most similar sentence of the message is, and the sentence; None where none is."""
        mine = saying.bare
        said, ordered = self._said(message)
        if len(mine.encode()) < SHORTEST or not said:
            return None
        if saying.exact:
            pairs = [pair for pair in zip(said, ordered, strict=True) if saying.exact <= _exact(pair[0])]
            said, ordered = tuple(one for one, _ in pairs), tuple(one for _, one in pairs)
        best = process.extractOne(saying.ordered, ordered, scorer=fuzz.ratio, score_cutoff=NEARLY)
        if best is None and (message.summary or message.role == "user"):
            core = saying.core
            longer = [one.lower() if len(one) > len(core) else "" for one in said]
            best = process.extractOne(core.lower(), longer, scorer=fuzz.partial_ratio, score_cutoff=WITHIN)
        if best is None or (saying.binds and not may_bind(said[best[2]])):
            return None
        return best[1], said[best[2]]

    def _said(self, message: Message) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The sentences of a message, and their words in order; none of what tools print and clients attach."""
        known = self._known.get(id(message))
        if known is None:
            parts = message.parts if message.summary or not message.mark else ()
            said = (part.text for part in parts if isinstance(part, Text | Opaque))
            found = [plain(one) for text in said for one in sentences(text)]
            kept = tuple(
                one for one in dict.fromkeys(found) if 3 * len(one.encode()) >= 2 * SHORTEST and len(one) <= LONGEST
            )
            known = self._known[id(message)] = message, kept, tuple(map(_in_order, kept))
        return known[1:]


def _exact(text: str) -> frozenset[str]:
    return frozenset((*_NUMBER.findall(re.sub(r"(?<=\d),(?=\d)", "", text)), *_FILE.findall(text)))


def _in_order(text: str) -> str:
    return " ".join(sorted(word for word in _WORD.findall(text.lower()) if word not in _FRAME))


class Retelling:
    """What a buffer says in other words than before. `came`: those of its messages that are new, mostly a summary;
    `speech`: what is known of messages already."""

    def __init__(self, buffer: Iterable[Message], came: Iterable[Message], speech: Speech | None = None) -> None:
        self._buffer, self._speech = tuple(buffer), speech or Speech()
        told = [message for message in came if message.role != "tool" and not message.calls]
        self._text = "\n".join(text for message in told for text in texts(message))
        self._files = frozenset(_FILE.findall(self._text))

    @cached_property
    def _letters(self) -> str:
        return _letters(self._text)

    def says(self, fact: Fact) -> bool:
        """The sentence told anew; of a name, in what is new: the file, the address, the identifier spelt otherwise."""
        if fact.kind in SENTENCES:
            saying = Saying(fact.text)
            return any(self._speech.paraphrase(saying, message) for message in self._buffer)
        if fact.kind == "path":
            file = fact.text.rpartition("/")[2]
            there = file in self._files or (not file.isascii() and file in self._text)  # 看模块4.py
            return there and file.lower() not in word_list("everywhere")
        if fact.kind == "url":
            return bool(self._text) and fact.text.partition("://")[2].rstrip("/") in self._text
        said = _letters(fact.text).strip()
        return len(said) >= (8 if fact.kind == "identifier" else 4) and f" {said} " in self._letters


def _letters(text: str) -> str:
    """Words and numbers in one spelling: `load_rates` and `loadRates` alike, `84,102` and `84102`."""
    joined = re.sub(r"(?<=\d),(?=\d)|_", "", text).lower()
    return " ".join(["", *_NAME.findall(joined), ""])
