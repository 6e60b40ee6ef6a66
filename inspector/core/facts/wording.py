"""Judge whether a text repeats a fact, word for word or paraphrased. Lost facts and pins are both judged here.

Word for word means: apart from white space and punctuation at the ends. A sentence is carried (paraphrased) if two
neighbouring sentences of a summary, a user or an answer contain most of its content words (`coverage`), and the same
numbers and files. It is gone if hardly any of these words occurs; between the two, only a model could decide. A name is
carried if only its spelling differs, or if the file name of a path occurs. docs/lost.md says how often that is right.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
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
"""A sentence is gone if less than the share `GONE` of its content words occurs, and carried from the share `CARRIED`.
It is also gone if it has more than `_FEW` content words and fewer than two of them occur."""
NEARLY = 72
"""Least rapidfuzz ratio (0 to 100) at which two sentences count as alike, in lower case with their words sorted."""
WITHIN = 90
"""Least rapidfuzz partial ratio (0 to 100) at which a longer sentence counts as containing a sentence or its main
clause."""
SHORTEST = 24
"""Shortest text, in bytes of UTF-8, that can be recognised in a paraphrase: shorter texts have too few words."""
LONGEST = 600
"""Longest sentence, in characters, that may be a paraphrase."""
_FEW = 2
"""A sentence of at most this many content words cannot be recognised by them."""
_SOME, _OF_SOME = 4, 0.75
"""A sentence of at most `_SOME` content words is carried if at least the share `_OF_SOME` of them occurs."""
_NEAREST = 300
"""Characters that are kept of the nearest sentence."""
EchoVerdict: TypeAlias = Literal["gone", "unsure", "carried"]


class Echo(NamedTuple):
    """Whether a buffer paraphrases a fact that it does not contain word for word."""

    verdict: EchoVerdict = "gone"
    nearest: str = ""
    """The sentence of the buffer that contains most of the fact's words; empty if no sentence contains any."""
    share: float = 0.0
    """Share of the fact's content words in the nearest sentence and its neighbour."""


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
"""Words that summaries add or leave out when they repeat the user. They are ignored in comparisons."""
_CLAUSE = re.compile(r"(?<=[,;:])\s|[\uff0c\uff1b\uff1a]")
_SHOUTED_HEAD = re.compile(r"^[^\w]*[A-Z][A-Z ]{3,30}:\s+")
_LETTER = re.compile(r"\w", re.ASCII)
"""ASCII only: Chinese has no spaces, so a word may begin at any character."""
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
        """Return the words of the sentence in alphabetical order."""
        return _in_order(self.bare)

    @cached_property
    def core(self) -> str:
        """Return the main clause: the longest, if it is at least half of the sentence and keeps its demand.

        Return the whole sentence if it has no such clause.
        """
        longest = max(_CLAUSE.split(self.bare), key=len).strip(_ENDS)
        is_main = 2 * len(longest) >= len(self.bare) and len(longest.encode()) >= SHORTEST
        keeps_demand = not self.binds or may_bind(longest)
        return longest if is_main and keeps_demand else self.bare

    @cached_property
    def exact(self) -> frozenset[str]:
        """Return the numbers and file names of the sentence, which a paraphrase must repeat."""
        return _exact(self.core)

    @cached_property
    def content(self) -> frozenset[str]:
        """Return the content words of the sentence, without a head such as `IMPORTANT:`."""
        return content_words(_SHOUTED_HEAD.sub("", self.bare)) or content_words(self.bare)

    @cached_property
    def binds(self) -> bool:
        """Does the sentence forbid or demand something?"""
        return constrains(self.text)

    def is_in(self, text: str) -> bool:
        """Does the text contain the sentence word for word? O(text)."""
        return self.is_in_line(join_lines(text))

    def is_in_line(self, line: str) -> bool:
        """Does a line, with one blank between words, contain the sentence word for word? O(text)."""
        bare = self.bare
        if not bare:
            return False
        first = bare[:1]
        rest = bare[1:]
        has_edge = _LETTER.match(first) is not None
        # A cut sentence may end within a word.
        has_end = _LETTER.match(bare[-1:]) is not None and len(self.text) < CUT
        # A summary may change the case of the first letter.
        begins = {first.lower(), first.upper(), first} if first.isalpha() else {first}
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
    """Judge whether the passages paraphrase a saying that they lack word for word. O(occurrences of its words)."""
    if not saying.content:
        return Echo("unsure")
    cover = passages.best(saying.content)
    nearest = cover.sentence[:_NEAREST]
    if _is_gone(cover, saying.content):
        # Words of another language cannot be compared.
        is_translated = is_chinese(saying.text) != passages.is_in_chinese
        if not cover.share:
            nearest = ""
        return Echo("unsure" if is_translated else "gone", nearest, cover.share)
    for window in (cover, *passages.covering(saying.content, _least_share(saying))):
        if _is_carried(saying, window):
            return Echo("carried", window.sentence[:_NEAREST], window.share)
    return Echo("unsure", nearest, cover.share)


def _is_gone(cover: Coverage, words: frozenset[str]) -> bool:
    """Does the best window contain hardly any of the words, or fewer than two of several?"""
    return cover.share < GONE or (len(words) > _FEW and cover.share * len(words) < 2)


def _least_share(saying: Saying) -> float:
    """Return the share of a saying's content words that a window must contain to carry it."""
    return CARRIED if len(saying.content) > _SOME else _OF_SOME


def _is_carried(saying: Saying, cover: Coverage) -> bool:
    """Does a window repeat the saying: its numbers and files, its demand, and most of its words?"""
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
    """Judge whether the passages mention an error, by the name of a test or file in it near a word such as "fail".

    Line numbers, counts, durations and folders of the error are ignored.
    """
    bare = _FOLDERS.sub("", text)
    words = frozenset(word for word in content_words(bare) if not word[0].isdigit())
    if not words:
        return Echo("unsure")
    names = content_words(" ".join(_INNER_CAPITAL.findall(bare)))
    named = passages.best(names) if names else None
    if named is not None and named.share == 1 and _FAILURE.search(named.window):
        return Echo("carried", named.sentence[:_NEAREST], share=1.0)
    cover = passages.best(words)
    nearest = cover.sentence[:_NEAREST]
    if len(words) > _FEW and cover.share >= CARRIED:
        return Echo("carried", nearest, cover.share)
    if _is_gone(cover, words):
        if not cover.share:
            nearest = ""
        return Echo("gone", nearest, cover.share)
    return Echo("unsure", nearest, cover.share)


_FOLDERS = re.compile(r"(?:[\w.@~-]*/)+")
_INNER_CAPITAL = re.compile(r"\b[A-Za-z]\w*(?:_|[a-z0-9][A-Z])\w*")
_FAILURE = re.compile(
    r"(?i)\b(?:fail|error|conflict|reject|broke|crash|exception|panic|fix|resolv)|失败|错误|报错|冲突|修复"
)


def _is_alike(saying: Saying, sentence: str) -> bool:
    """Does a sentence, or a part of it, have nearly the same letters as the saying?"""
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
    """A cache of the sentences of messages. Each message is read once. Not thread-safe."""

    def __init__(self) -> None:
        self._read: dict[int, _ReadMessage] = {}
        """By `id()` of the message, which is kept alive so that its id is not reused."""

    def paraphrase(self, saying: Saying, message: Message) -> tuple[float, str] | None:
        """Return (share, sentence) of the best paraphrase of a saying in a message; None if there is none."""
        if len(saying.bare.encode()) < SHORTEST:
            return None
        read = self._read_message(message)
        if not read.sentences:
            return None
        if saying.exact and not saying.exact <= read.exact:
            return None  # no window repeats them, so none is a paraphrase
        echo = judge(saying, read.passages)
        return (echo.share, echo.nearest) if echo.verdict == "carried" else None

    def passages(self, messages: Iterable[Message]) -> Passages:
        """Return the sentences of all these messages as passages. O(text); a message's text is read only once."""
        return merged(map(self.sentences_of, messages))

    def words(self, message: Message) -> frozenset[str]:
        """Return the content words of a message. O(text) the first time, then O(words)."""
        return frozenset[str]().union(*(words for _, words in self.sentences_of(message)))

    def sentences_of(self, message: Message) -> SpokenSentences:
        """Return the sentences of a message, without tool output and text that the client attached."""
        return self._read_message(message).sentences

    def _read_message(self, message: Message) -> "_ReadMessage":
        read = self._read.get(id(message))
        if read is None:
            read = self._read[id(message)] = _ReadMessage(message)
        return read


class _ReadMessage:
    """What is known of one message; each value is computed when it is first used."""

    def __init__(self, message: Message) -> None:
        self._message = message

    @cached_property
    def sentences(self) -> SpokenSentences:
        """The sentences, without tool output and text that the client attached. O(text)."""
        message = self._message
        parts = message.parts if message.summary or not message.mark else ()
        spoken = (part.text for part in parts if isinstance(part, Text | Opaque))
        lines = dict.fromkeys(
            join_lines(sentence) for text in spoken for sentence in sentences(text)
        )
        return tuple((line, content_words(line)) for line in lines if len(line) <= LONGEST)

    @cached_property
    def passages(self) -> Passages:
        """An index of the sentences. O(text)."""
        return Passages(self.sentences)

    @cached_property
    def exact(self) -> frozenset[str]:
        """The numbers, files and folders of all windows of one or two sentences. O(text)."""
        lines = [line for line, _ in self.sentences]
        pairs = (f"{line} {following}" for line, following in pairwise(lines))
        return frozenset[str]().union(*map(_exact, lines), *map(_exact, pairs))


def _exact(text: str) -> frozenset[str]:
    """Return the numbers, files and folders of a text."""
    numbers = _NUMBER.findall(re.sub(r"(?<=\d),(?=\d)", "", text))
    return frozenset((*numbers, *_FILE.findall(text), *_FOLDER.findall(text)))


def _in_order(text: str) -> str:
    return " ".join(sorted(word for word in _WORD.findall(text.lower()) if word not in _FRAME))


class Retelling:
    """Judge which facts of the previous buffer the next buffer paraphrases."""

    def __init__(
        self, buffer: Iterable[Message], added: Iterable[Message], speech: Speech | None = None
    ) -> None:
        """Prepare to judge the buffer after a change.

        Args:
            buffer: All messages of the buffer.
            added: The new messages of the buffer, usually a summary.
            speech: A cache of the sentences of messages; None for a new cache.
        """
        self._buffer = tuple(buffer)
        self._speech = speech or Speech()
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
        """Judge whether the buffer carries a fact that it does not contain word for word."""
        if fact.kind in SENTENCES:
            if fact.kind == "error":
                return judge_error(fact.text, self._passages)
            return judge(Saying(fact.text), self._passages)
        return Echo("carried", fact.text, share=1.0) if self._is_named(fact) else Echo("gone")

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
        """Do the new messages name the file of the path or, if the path is a folder, something in it?"""
        name = path.rpartition("/")[2]
        if "." not in name:
            return bool(name) and f"/{name}/" in self._text
        is_named = name in self._files or (not name.isascii() and name in self._text)  # 看模块4.py
        return is_named and name.lower() not in word_list("everywhere")

    def _is_url_named(self, url: str) -> bool:
        """Do the new messages contain the URL without its scheme, or the number of its issue (`#12`, `ENT-12`)?"""
        issue = _ISSUE.search(url)
        ticket = _TICKET.search(url)
        if issue and re.search(rf"#{issue[1]}\b", self._text):
            return True
        if ticket and re.search(rf"\b{ticket[1]}\b", self._text):
            return True
        return bool(self._text) and url.partition("://")[2].rstrip("/") in self._text


_ISSUE = re.compile(r"/(?:pull|issues?|merge_requests)/(\d+)(?![\w/])")
_TICKET = re.compile(r"/([A-Z][A-Z0-9]{1,9}-\d{1,6})(?:/|$)")
_HASH = re.compile(r"(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_HASH_HEAD = 7
"""Characters of an abbreviated commit hash."""


def _in_one_spelling(text: str) -> str:
    """Normalise the spelling of words and numbers: `load_rates` equals `loadRates`, and `84,102` equals `84102`."""
    joined = re.sub(r"(?<=\d),(?=\d)|_", "", text).lower()
    return " ".join(["", *_NAME.findall(joined), ""])
