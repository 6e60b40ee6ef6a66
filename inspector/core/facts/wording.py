"""Judge whether a fact is said again, word for word or in other words. The one judge of lost facts and of pins.

Word for word means: white space and end signs aside. A sentence is carried in other words if a sentence of a summary, a
user or an answer, with the next one, has most of its content words (`coverage`), and the same numbers and files. It is
gone if hardly one of these words is said; between the two only a model could decide. A name is carried if only its
spelling differs, or a path's file is named. docs/lost.md says how often that is right.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from rapidfuzz import fuzz

from inspector.core.facts.coverage import Coverage, Passages, content_words, merged
from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.reading import texts
from inspector.core.facts.rules import constrains, is_chinese, may_bind, word_list
from inspector.core.facts.sentences import LONGEST as CUT
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message, Opaque, Text

GONE, CARRIED = 0.3, 0.6
"""Share of the content words of a sentence below which it is gone, and from which it is carried. It is gone, too, if
only one of more than `_FEW` words is said."""
NEARLY = 72
"""Least rapidfuzz ratio (0 to 100) of two sentences in small letters, their words in alphabetical order."""
WITHIN = 90
"""Least ratio of a sentence, or the clause that is most of it, and the place in a longer one that is most like it."""
SHORTEST = 24
"""Bytes (UTF-8) of the shortest text that is searched in other words: shorter ones have too few words."""
LONGEST = 600
"""Letters of a sentence that may be a paraphrase."""
_FEW = 2
"""A sentence of at most this many content words cannot be recognised by them."""
_SOME, _OF_SOME = 4, 0.75
"""Of at most `_SOME` content words the share `_OF_SOME` must be said."""
_NEAREST = 300
"""Characters that are kept of the nearest sentence."""
EchoVerdict: TypeAlias = Literal["gone", "unsure", "carried"]


class Echo(NamedTuple):
    """Does a buffer say in other words what it does not say word for word?"""

    verdict: EchoVerdict = "gone"
    nearest: str = ""
    """The sentence that says most of it; empty if none does."""
    share: float = 0.0
    """Share of its content words in that sentence and the one beside it."""


NOT_CARRIED = Echo()


_ENDS = " .!,:;\"'`*_>-\u3002\uff01\uff1b\uff0c\uff1a\u201c\u201d"
_WORD = re.compile(r"\w+")
_FRAME = frozenset(
    [
        "a",
        "an",
        "the",
        "to",
        "please",
        "user",
        "wants",
        "wanted",
        "asks",
        "asked",
        "said",
        "says",
        "us",
    ]
)
"""Words that a summary adds to what the user said, or leaves out of it."""
_CLAUSE = re.compile(r"(?<=[,;:])\s|[\uff0c\uff1b\uff1a]")
_SHOUTED_HEAD = re.compile(r"^[^\w]*[A-Z][A-Z ]{3,30}:\s+")
_LETTER = re.compile(r"\w", re.ASCII)
"""Chinese has no spaces: there a word begins anywhere."""
_FILE = re.compile(r"[\w-][\w.-]*\.[a-z]\w*", re.ASCII | re.IGNORECASE)
_FOLDER = re.compile(r"[\w.-]+/(?![\w.*-])", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_NAME = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")


def join_lines(text: str) -> str:
    """Return the text as one line, with one blank between words."""
    return " ".join(text.split())


class Saying:
    """A sentence that is searched for in other texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = join_lines(text).strip(_ENDS) or join_lines(text)

    @cached_property
    def ordered(self) -> str:
        """Return its words in alphabetical order."""
        return _in_order(self.bare)

    @cached_property
    def core(self) -> str:
        """Return the clause that others would quote: the one that is most of the sentence, if it keeps its demand."""
        longest = max(_CLAUSE.split(self.bare), key=len).strip(_ENDS)
        enough = 2 * len(longest) >= len(self.bare) and len(longest.encode()) >= SHORTEST
        return longest if enough and (not self.binds or may_bind(longest)) else self.bare

    @cached_property
    def exact(self) -> frozenset[str]:
        """Return its numbers and file names, which every paraphrase repeats."""
        return _exact(self.core)

    @cached_property
    def content(self) -> frozenset[str]:
        """Return its content words, without a head such as `IMPORTANT:`."""
        return content_words(_SHOUTED_HEAD.sub("", self.bare)) or content_words(self.bare)

    @cached_property
    def binds(self) -> bool:
        """Does the sentence forbid or demand something?"""
        return constrains(self.text)

    def is_in(self, text: str) -> bool:
        """Does the text say it word for word? O(text)."""
        return self.is_in_line(join_lines(text))

    def is_in_line(self, line: str) -> bool:
        """Does a text of one line, with one blank between words, say it word for word? O(text)."""
        bare = self.bare
        if not bare:
            return False
        first, rest = bare[:1], bare[1:]
        has_edge = _LETTER.match(first) is not None
        has_end = (
            _LETTER.match(bare[-1:]) is not None and len(self.text) < CUT
        )  # else half a word, maybe
        begins = (
            {first.lower(), first.upper(), first} if first.isalpha() else {first}
        )  # a summary may begin before it
        for begin in begins:
            at = line.find(begin + rest)
            while at >= 0:
                end = at + len(bare)
                starts_word = not (has_edge and at and _LETTER.match(line[at - 1]))
                if starts_word and not (has_end and end < len(line) and _LETTER.match(line[end])):
                    return True
                at = line.find(begin + rest, at + 1)
        return False


def judge(saying: Saying, passages: Passages) -> Echo:
    """Say whether these sentences carry a saying that they do not have word for word. O(places of its words)."""
    if not saying.content:
        return Echo("unsure")
    cover = passages.best(saying.content)
    nearest = cover.sentence[:_NEAREST]
    if _is_gone(cover, saying.content):
        is_translated = (
            is_chinese(saying.text) != passages.is_in_chinese
        )  # words of another language cover nothing
        return Echo(
            "unsure" if is_translated else "gone", nearest if cover.share else "", cover.share
        )
    for window in (cover, *passages.covering(saying.content, _least_share(saying))):
        if _is_carried(saying, window):
            return Echo("carried", window.sentence[:_NEAREST], window.share)
    return Echo("unsure", nearest, cover.share)


def _is_gone(cover: Coverage, words: frozenset[str]) -> bool:
    """Has the best window hardly any of the words, or only one of several?"""
    return cover.share < GONE or (len(words) > _FEW and cover.share * len(words) < 2)


def _least_share(saying: Saying) -> float:
    """Return the share of its content words that a window must hold to carry a saying."""
    return CARRIED if len(saying.content) > _SOME else _OF_SOME


def _is_carried(saying: Saying, cover: Coverage) -> bool:
    """Does a window say the same: its numbers and files, its demand, and most of its words?"""
    if not saying.exact <= _exact(cover.window):
        return False
    if saying.binds and not may_bind(cover.window):
        return False
    if len(saying.bare.encode()) < SHORTEST:
        return False
    if _is_alike(saying, cover.sentence):
        return True
    return len(saying.content) > _FEW and cover.share >= _least_share(saying)


def judge_error(text: str, passages: Passages) -> Echo:
    """Say whether these sentences mention an error: a name in it, of a test or a file, near a word of failure.

    Its lines, counts, durations and folders do not matter.
    """
    bare = _FOLDERS.sub("", text)
    words = frozenset(word for word in content_words(bare) if not word[0].isdigit())
    if not words:
        return Echo("unsure")
    names = content_words(" ".join(_INNER_CAPITAL.findall(bare)))
    named = passages.best(names) if names else None
    if named is not None and named.share == 1 and _FAILURE.search(named.window):
        return Echo("carried", named.sentence[:_NEAREST], 1.0)
    cover = passages.best(words)
    nearest = cover.sentence[:_NEAREST]
    if len(words) > _FEW and cover.share >= CARRIED:
        return Echo("carried", nearest, cover.share)
    if _is_gone(cover, words):
        return Echo("gone", nearest if cover.share else "", cover.share)
    return Echo("unsure", nearest, cover.share)


_FOLDERS = re.compile(r"(?:[\w.@~-]*/)+")
_INNER_CAPITAL = re.compile(r"\b[A-Za-z]\w*(?:_|[a-z0-9][A-Z])\w*")
_FAILURE = re.compile(
    r"(?i)\b(?:fail|error|conflict|reject|broke|crash|exception|panic|fix|resolv)|失败|错误|报错|冲突|修复"
)


def _is_alike(saying: Saying, sentence: str) -> bool:
    """Has a sentence, or a place in it, nearly the same letters?"""
    if fuzz.ratio(saying.ordered, _in_order(sentence), score_cutoff=NEARLY):
        return True
    core = saying.core.lower()
    return (
        len(sentence) > len(core)
        and fuzz.partial_ratio(core, sentence.lower(), score_cutoff=WITHIN) > 0
    )


SpokenSentences: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""Sentences with their content words."""


class Speech:
    """The sentences of messages, each message read once. Not safe for several threads of execution."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Message, SpokenSentences]] = {}
        """By identity of the message, which is held so that no other object can get it."""
        self._passages: dict[int, Passages] = {}

    def paraphrase(self, saying: Saying, message: Message) -> tuple[float, str] | None:
        """Return (share, sentence) of the sentence that carries most of a saying; None if the message does not."""
        if len(saying.bare.encode()) < SHORTEST:
            return None
        spoken = self.sentences_of(message)
        if not spoken:
            return None
        passages = self._passages.get(id(message))
        if passages is None:
            passages = self._passages[id(message)] = Passages(spoken)
        echo = judge(saying, passages)
        return (echo.share, echo.nearest) if echo.verdict == "carried" else None

    def passages(self, messages: Iterable[Message]) -> Passages:
        """Return the sentences of all these messages as passages. O(text), of a message only the first time."""
        return merged(map(self.sentences_of, messages))

    def words(self, message: Message) -> frozenset[str]:
        """Return the content words of all that the message says. O(text) the first time, then O(words)."""
        return frozenset[str]().union(*(words for _, words in self.sentences_of(message)))

    def sentences_of(self, message: Message) -> SpokenSentences:
        """Return the sentences of a message, without the output of tools and the client's attachments."""
        entry = self._read.get(id(message))
        if entry is None:
            parts = message.parts if message.summary or not message.mark else ()
            spoken = (part.text for part in parts if isinstance(part, Text | Opaque))
            lines = dict.fromkeys(
                join_lines(sentence) for text in spoken for sentence in sentences(text)
            )
            short = tuple((line, content_words(line)) for line in lines if len(line) <= LONGEST)
            entry = self._read[id(message)] = message, short
        return entry[1]


def _exact(text: str) -> frozenset[str]:
    """Return the numbers, files and folders of a text."""
    numbers = _NUMBER.findall(re.sub(r"(?<=\d),(?=\d)", "", text))
    return frozenset((*numbers, *_FILE.findall(text), *_FOLDER.findall(text)))


def _in_order(text: str) -> str:
    return " ".join(sorted(word for word in _WORD.findall(text.lower()) if word not in _FRAME))


class Retelling:
    """Judges what a buffer says in other words than the buffer before it."""

    def __init__(
        self, buffer: Iterable[Message], added: Iterable[Message], speech: Speech | None = None
    ) -> None:
        """Begin with the buffer after a change.

        Args:
            buffer: Its messages.
            added: Those of them that are new, mostly a summary.
            speech: The sentences of messages that were read already; None if none were.
        """
        self._buffer, self._speech = tuple(buffer), speech or Speech()
        speech_added = [
            message for message in added if message.role != "tool" and not message.calls
        ]
        self._text = "\n".join(text for message in speech_added for text in texts(message))
        self._files = frozenset(_FILE.findall(self._text))

    @cached_property
    def _passages(self) -> Passages:
        return self._speech.passages(self._buffer)

    @cached_property
    def _letters(self) -> str:
        return _in_one_spelling(self._text)

    @cached_property
    def _hashes(self) -> frozenset[str]:
        return frozenset(match[:_HASH_HEAD] for match in _HASH.findall(self._text))

    def judge(self, fact: Fact) -> Echo:
        """Say whether the buffer carries a fact that it does not have word for word."""
        if fact.kind in SENTENCES:
            if fact.kind == "error":
                return judge_error(fact.text, self._passages)
            return judge(Saying(fact.text), self._passages)
        return Echo("carried", fact.text, 1.0) if self._is_named(fact) else Echo("gone")

    def _is_named(self, fact: Fact) -> bool:
        """Do the new messages name a path, an address, an identifier or a number in another spelling?"""
        if fact.kind == "path":
            return self._is_path_named(fact.text)
        if fact.kind == "url":
            return self._is_url_named(fact.text)
        if _HASH.fullmatch(fact.text) and fact.text[:_HASH_HEAD] in self._hashes:
            return True
        name = _in_one_spelling(fact.text).strip()
        shortest = 8 if fact.kind == "identifier" else 4
        return len(name) >= shortest and f" {name} " in self._letters

    def _is_path_named(self, path: str) -> bool:
        """Is its file named, or, of a folder, something in it?"""
        name = path.rpartition("/")[2]
        if "." not in name:
            return bool(name) and f"/{name}/" in self._text
        is_named = name in self._files or (not name.isascii() and name in self._text)  # 看模块4.py
        return is_named and name.lower() not in word_list("everywhere")

    def _is_url_named(self, url: str) -> bool:
        """Is the address named, or its number (`#12`, `ENT-12`) if it is of an issue?"""
        issue, ticket = _ISSUE.search(url), _TICKET.search(url)
        if issue and re.search(rf"#{issue[1]}\b", self._text):
            return True
        if ticket and re.search(rf"\b{ticket[1]}\b", self._text):
            return True
        return bool(self._text) and url.partition("://")[2].rstrip("/") in self._text


_ISSUE = re.compile(r"/(?:pull|issues?|merge_requests)/(\d+)(?![\w/])")
_TICKET = re.compile(r"/([A-Z][A-Z0-9]{1,9}-\d{1,6})(?:/|$)")
_HASH = re.compile(r"(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_HASH_HEAD = 7
"""Characters by which people name a commit."""


def _in_one_spelling(text: str) -> str:
    """Return words and numbers in one spelling: the same for `load_rates` and `loadRates`, `84,102` and `84102`."""
    joined = re.sub(r"(?<=\d),(?=\d)|_", "", text).lower()
    return " ".join(["", *_NAME.findall(joined), ""])
