"""Is a fact said again: word for word, or in other words? The one judge of what compactions lost and of pins.

A sentence is said word for word, white space and end signs aside. In other words it is said if a sentence of a summary,
a user or an answer, with the next one, holds most of its content words (`coverage`), and the same numbers and files.
If hardly one of them is said it is gone, and between the two nobody can tell without a model. A name is said in other
words if only its spelling differs, or a path's file is named. docs/lost.md says how often that is right.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from rapidfuzz import fuzz

from inspector.core.facts.coverage import Passages, content_words, merged
from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.reading import texts
from inspector.core.facts.rules import constrains, is_chinese, may_bind, word_list
from inspector.core.facts.sentences import LONGEST as CUT
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message, Opaque, Text

GONE, CARRIED = 0.34, 0.6
"""Share of the content words of a sentence below which it is gone, and from which it is carried."""
NEARLY = 72
"""Least rapidfuzz ratio (0 to 100) of two sentences in small letters, their words in alphabetical order."""
WITHIN = 90
"""Least ratio of a sentence, or the clause that is most of it, and the place in a longer one that is most like it."""
SHORTEST = 24
"""Bytes (UTF-8) of a text that can be told in other words: fewer say too little."""
LONGEST = 600
"""Letters of a sentence that may be a paraphrase."""
_FEW = 2
"""Content words of a sentence that says too little to be known by them."""
_SOME, _OF_SOME = 4, 0.75
"""Of so few content words this share must be said."""
_NEAREST = 300
"""Characters that are kept of the nearest sentence."""
EchoVerdict: TypeAlias = Literal["gone", "unsure", "carried"]


class Echo(NamedTuple):
    """Whether a buffer still says something that stands nowhere in it word for word."""

    verdict: EchoVerdict = "gone"
    nearest: str = ""
    """The sentence that says most of it; empty if none does."""
    share: float = 0.0
    """Of its content words in that sentence and the one beside it."""


NOT_CARRIED = Echo()


_ENDS = " .!,:;\"'`*_>-\u3002\uff01\uff1b\uff0c\uff1a\u201c\u201d"
_WORD = re.compile(r"\w+")
_FRAME = frozenset(["a", "an", "the", "to", "please", "user", "wants", "wanted", "asks", "asked", "said", "says", "us"])
"""Words that a summary puts around what the user said, or leaves out of it."""
_CLAUSE = re.compile(r"(?<=[,;:])\s|[\uff0c\uff1b\uff1a]")
_LETTER = re.compile(r"\w", re.ASCII)
"""Chinese has no spaces: there a word begins anywhere."""
_FILE = re.compile(r"[\w-][\w.-]*\.[a-z]\w*", re.ASCII | re.IGNORECASE)
_FOLDER = re.compile(r"[\w.-]+/(?![\w.*-])", re.ASCII)
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
        """Its numbers and names of files: whoever says the same says these."""
        return _exact(self.core)

    @cached_property
    def content(self) -> frozenset[str]:
        """Its words that say something."""
        return content_words(self.bare)

    @cached_property
    def binds(self) -> bool:
        """Does it forbid or demand?"""
        return constrains(self.text)

    def stands_in(self, text: str) -> bool:
        """Does the text say it word for word? O(text)."""
        return self.stands_in_line(plain(text))

    def stands_in_line(self, line: str) -> bool:
        """Does a text of one line, with one blank between words, say it word for word? O(text)."""
        bare = self.bare
        if not bare:
            return False
        first, rest = bare[:1], bare[1:]
        has_edge = _LETTER.match(first) is not None
        has_end = _LETTER.match(bare[-1:]) is not None and len(self.text) < CUT  # else half a word, maybe
        begins = {first.lower(), first.upper(), first} if first.isalpha() else {first}  # a summary may begin before it
        for begin in begins:
            at = line.find(begin + rest)
            while at >= 0:
                end = at + len(bare)
                starts_word = not (has_edge and at and _LETTER.match(line[at - 1]))
                if starts_word and not (has_end and end < len(line) and _LETTER.match(line[end])):
                    return True
                at = line.find(begin + rest, at + 1)
        return False


def judge(saying: Saying, said: Passages) -> Echo:
    """Say whether these sentences carry one that stands nowhere word for word. O(places of its words)."""
    wanted = saying.content
    if not wanted:
        return Echo("unsure")
    cover = said.best(wanted)
    nearest = cover.sentence[:_NEAREST]
    if cover.share < GONE:
        is_translated = is_chinese(saying.text) != said.is_in_chinese  # words of another language cover nothing
        return Echo("unsure" if is_translated else "gone", nearest if cover.share else "", cover.share)
    if not saying.exact <= _exact(cover.window) or (saying.binds and not may_bind(cover.window)):
        return Echo("unsure", nearest, cover.share)
    needed = CARRIED if len(wanted) > _SOME else _OF_SOME
    is_long = len(saying.bare.encode()) >= SHORTEST
    if is_long and (_is_alike(saying, cover.sentence) or (len(wanted) > _FEW and cover.share >= needed)):
        return Echo("carried", nearest, cover.share)
    return Echo("unsure", nearest, cover.share)


def judge_error(text: str, said: Passages) -> Echo:
    """Say whether these sentences tell of an error: by its name, as a test's or a file's, beside a word of failure.

    Lines, counts, durations and folders of it do not matter.
    """
    bare = _FOLDERS.sub("", text)
    wanted = frozenset(word for word in content_words(bare) if not word[0].isdigit())
    if not wanted:
        return Echo("unsure")
    names = content_words(" ".join(_INNER_CAPITAL.findall(bare)))
    named = said.best(names) if names else None
    if named is not None and named.share == 1 and _FAILURE.search(named.window):
        return Echo("carried", named.sentence[:_NEAREST], 1.0)
    cover = said.best(wanted)
    nearest = cover.sentence[:_NEAREST]
    if len(wanted) > _FEW and cover.share >= CARRIED:
        return Echo("carried", nearest, cover.share)
    if cover.share < GONE:
        return Echo("gone", nearest if cover.share else "", cover.share)
    return Echo("unsure", nearest, cover.share)


_FOLDERS = re.compile(r"(?:[\w.@~-]*/)+")
_INNER_CAPITAL = re.compile(r"\b[A-Za-z]\w*(?:_|[a-z0-9][A-Z])\w*")
_FAILURE = re.compile(
    r"(?i)\b(?:fail|error|conflict|reject|broke|crash|exception|panic|fix|resolv)|失败|错误|报错|冲突|修复"
)


def _is_alike(saying: Saying, sentence: str) -> bool:
    """Is a sentence like another by its letters, or a place in it?"""
    if fuzz.ratio(saying.ordered, _in_order(sentence), score_cutoff=NEARLY):
        return True
    core = saying.core.lower()
    return len(sentence) > len(core) and fuzz.partial_ratio(core, sentence.lower(), score_cutoff=WITHIN) > 0


Said: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""Sentences with their content words."""


class Speech:
    """What messages say, sentence by sentence, each message read once. For one thread of execution."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, Said]] = {}
        """By identity of the message, which is kept so that nothing else can get it."""
        self._passages: dict[int, Passages] = {}

    def paraphrase(self, saying: Saying, message: Message) -> tuple[float, str] | None:
        """How much of it the message says, and the sentence that says most of it; None if it does not carry it."""
        if len(saying.bare.encode()) < SHORTEST:
            return None
        said = self.said(message)
        if not said:
            return None
        passages = self._passages.get(id(message))
        if passages is None:
            passages = self._passages[id(message)] = Passages(said)
        found = judge(saying, passages)
        return (found.share, found.nearest) if found.verdict == "carried" else None

    def passages(self, messages: Iterable[Message]) -> Passages:
        """Return what all of these messages say. O(text), of a message only the first time."""
        return merged(map(self.said, messages))

    def words(self, message: Message) -> frozenset[str]:
        """Return the content words of all that the message says. O(text) the first time, O(words) after."""
        return frozenset[str]().union(*(words for _, words in self.said(message)))

    def said(self, message: Message) -> Said:
        """The sentences of a message; none of what tools print and clients attach."""
        known = self._known.get(id(message))
        if known is None:
            parts = message.parts if message.summary or not message.mark else ()
            texts_said = (part.text for part in parts if isinstance(part, Text | Opaque))
            found = dict.fromkeys(plain(one) for text in texts_said for one in sentences(text))
            kept = tuple((one, content_words(one)) for one in found if len(one) <= LONGEST)
            known = self._known[id(message)] = message, kept
        return known[1]


def _exact(text: str) -> frozenset[str]:
    """The numbers, files and folders of a text."""
    numbers = _NUMBER.findall(re.sub(r"(?<=\d),(?=\d)", "", text))
    return frozenset((*numbers, *_FILE.findall(text), *_FOLDER.findall(text)))


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
    def _passages(self) -> Passages:
        return self._speech.passages(self._buffer)

    @cached_property
    def _letters(self) -> str:
        return _letters(self._text)

    @cached_property
    def _hashes(self) -> frozenset[str]:
        return frozenset(match[:_HASH_HEAD] for match in _HASH.findall(self._text))

    def judge(self, fact: Fact) -> Echo:
        """Say whether the buffer carries a fact that stands nowhere in it word for word."""
        if fact.kind in SENTENCES:
            if fact.kind == "error":
                return judge_error(fact.text, self._passages)
            return judge(Saying(fact.text), self._passages)
        return Echo("carried", fact.text, 1.0) if self._names(fact) else Echo("gone")

    def _names(self, fact: Fact) -> bool:
        """Of a name, in what is new: the file, the address or its number, the identifier in another spelling."""
        if fact.kind == "path":
            file = fact.text.rpartition("/")[2]
            there = file in self._files or (not file.isascii() and file in self._text)  # 看模块4.py
            if "." not in file:  # a folder, by whatever is named in it
                return bool(file) and f"/{file}/" in self._text
            return there and file.lower() not in word_list("everywhere")
        if fact.kind == "url":
            numbered = _ISSUE.search(fact.text)
            if numbered and re.search(rf"#{numbered[1]}\b", self._text):
                return True
            return bool(self._text) and fact.text.partition("://")[2].rstrip("/") in self._text
        if _HASH.fullmatch(fact.text) and fact.text[:_HASH_HEAD] in self._hashes:
            return True
        said = _letters(fact.text).strip()
        return len(said) >= (8 if fact.kind == "identifier" else 4) and f" {said} " in self._letters


_ISSUE = re.compile(r"/(?:pull|issues?|merge_requests)/(\d+)(?![\w/])")
_HASH = re.compile(r"(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_HASH_HEAD = 7
"""Characters by which people name a commit."""


def _letters(text: str) -> str:
    """Words and numbers in one spelling: `load_rates` and `loadRates` alike, `84,102` and `84102`."""
    joined = re.sub(r"(?<=\d),(?=\d)|_", "", text).lower()
    return " ".join(["", *_NAME.findall(joined), ""])
