"""Find the facts that a buffer contains, and the facts that were lost between two buffers.

A buffer contains a fact if one of its messages has the fact's text as whole words; in a sentence, line breaks and
punctuation at the end may differ (`wording.Saying`). A fact is lost if no message of the new buffer contains it. The
facts of a message are read when the message is removed, and its words when a fact is first searched in it; both are
cached for all buffers. Facts are searched by words among the messages of one buffer, never among all messages of a
session, so that a compaction takes time proportional to the messages that it removed and kept.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.names import unescaped
from inspector.core.facts.reading import facts, retold_rules, texts, wishes
from inspector.core.facts.run_index import WORD, WordRun
from inspector.core.facts.sentences import LONGEST
from inspector.core.facts.wording import Saying, join_lines
from inspector.core.message import Message


def find_words(text: str) -> set[str]:
    """Return the words of a text, by which facts are looked up."""
    return set(WORD.findall(text))


_NUMBERED = re.compile(r"/(?:pull|issues?|merge_requests)/(\d+)/?$", re.ASCII)
_COMMENT = re.compile(r"#[A-Za-z_-]*(\d{8,})$", re.ASCII)


def other_name(fact: Fact) -> tuple[WordRun, re.Pattern[str]] | None:
    """Return the other name of a fact: a pull request's or comment's number, or a long number inside a word.

    Returns:
        (consecutive words that a text with the other name contains, pattern that the text must then match); None if
        the fact has no other name.
    """
    if fact.kind == "url":
        return _other_name_of_url(fact.text)
    if fact.kind in ("number", "identifier") and fact.text.isdecimal() and len(fact.text) >= _LONG:
        return (fact.text,), re.compile(rf"(?<=[A-Za-z_]){fact.text}(?!\w)")
    return None


_BEFORE_NUMBER = (
    r"/(?:pulls?|issues?|merge_requests)/|#|\b(?:pr|mr|issue|pull request)(?: [a-z]+)? #?"
)
_LONG = 8
"""Fewest digits of a number that is recognised inside a word."""


def _other_name_of_url(url: str) -> tuple[WordRun, re.Pattern[str]] | None:
    request = _NUMBERED.search(url)
    if request is not None:
        number = request[1]
        return (number,), re.compile(rf"(?i)(?:{_BEFORE_NUMBER}){number}(?!\w)")
    comment = _COMMENT.search(url)
    if comment is not None:
        number = comment[1]
        return (number,), re.compile(rf"(?<!\d){number}(?!\w)")
    return None


def key_run(fact_words: WordRun) -> WordRun:
    """Return up to three consecutive words of a fact, around its longest: every text that names it contains them."""
    if len(fact_words) < 4:
        return fact_words
    longest = max(range(len(fact_words)), key=lambda at: len(fact_words[at]))
    last_begin = len(fact_words) - 3
    begin = min(max(0, longest - 1), last_begin)
    return fact_words[begin : begin + 3]


def _distinct_wishes(message: Message) -> dict[Fact, None]:
    return dict.fromkeys(retold_rules(message) if message.summary else wishes(message))


class FactIndex:
    """Number facts and messages, and cache the facts and the text of each message.

    Messages are distinguished by object identity: an edited message is a new message. Not thread-safe.
    """

    def __init__(self, wishes_only: bool = False) -> None:
        """Create an empty index. `wishes_only`: read only the user's instructions and constraints."""
        self._read_facts: Callable[[Message], Iterable[Fact]] = (
            _distinct_wishes if wishes_only else facts
        )
        self.messages: list[Message] = []
        self.facts: list[Fact] = []
        self.number_by_id: dict[int, int] = {}
        """The numbers of the messages, by `id()`."""
        self._ids: dict[Fact, int] = {}
        self._of: dict[int, tuple[int, ...]] = {}
        self._texts: dict[int, str] = {}
        self._lines: dict[int, str] = {}
        self._fact_words: list[tuple[str, ...]] = []
        self._sayings: dict[int, Saying] = {}
        """Sayings of the facts that are sentences, by number of the fact."""

    def number(self, message: Message) -> int:
        """Return the number of a message; a new message is added to the index."""
        number = self.number_by_id.get(id(message))
        if number is None:
            number = self.number_by_id[id(message)] = len(self.messages)
            self.messages.append(message)
        return number

    def _id(self, fact: Fact) -> int:
        """Return the number of a fact; a new fact is added to the index."""
        number = self._ids.get(fact)
        if number is not None:
            return number
        number = self._ids[fact] = len(self.facts)
        self.facts.append(fact)
        fact_words = WORD.findall(fact.text)
        if fact.kind in SENTENCES:
            self._sayings[number] = Saying(fact.text)
            if fact.text[0].isalpha():  # a summary may change the case of the first letter
                fact_words = fact_words[1:]
        if len(fact.text) == LONGEST:  # the last word of the fact may be cut
            fact_words = fact_words[:-1]
        self._fact_words.append(tuple(fact_words))
        return number

    def facts_of(self, number: int) -> tuple[int, ...]:
        """Return the numbers of a message's facts, each once. O(text) the first time."""
        numbers = self._of.get(number)
        if numbers is None:
            numbers = self._of[number] = tuple(
                map(self._id, self._read_facts(self.messages[number]))
            )
        return numbers

    def words_in(self, fact: int) -> tuple[str, ...]:
        """Return the words by which a fact is looked up; empty for a fact in Chinese."""
        return self._fact_words[fact]

    def saying(self, fact: int) -> Saying | None:
        """Return the saying for a fact that is a sentence; None for other facts."""
        return self._sayings.get(fact)

    def text(self, number: int) -> str:
        """Return the text of a message in which facts are searched. O(text) the first time."""
        text = self._texts.get(number)
        if text is None:
            text = self._texts[number] = unescaped("\n".join(texts(self.messages[number])))
        return text

    def line(self, number: int) -> str:
        """Return the text of a message as one line, in which sentences are searched. O(text) the first time."""
        line = self._lines.get(number)
        if line is None:
            line = self._lines[number] = join_lines(self.text(number))
        return line

    def forget(self, number: int) -> None:
        """Free the cached text of a message that is no longer in the buffer."""
        self._texts.pop(number, None)
        self._lines.pop(number, None)

    def says(self, number: int, fact: int) -> bool:
        """Does the message contain the text of the fact? O(text)."""
        saying = self._sayings.get(fact)
        if saying is not None:
            return saying.is_in_line(self.line(number))
        return self.facts[fact].text in self.text(number)


class BufferFacts:
    """The numbers of the messages of one buffer, with an index of their words."""

    def __init__(self, index: FactIndex) -> None:
        self._index = index
        self._numbers = set[int]()
        self._identities = set[int]()
        self._unread = set[int]()
        self._by_word = defaultdict[str, set[int]](set)
        """For each word, the numbers of the messages that contain it; only messages whose words were read."""

    def __contains__(self, number: object) -> bool:
        return number in self._numbers

    def add(self, number: int) -> None:
        """Add a message to the buffer."""
        self._numbers.add(number)
        self._unread.add(number)
        self._identities.add(id(self._index.messages[number]))

    def remove(self, number: int) -> None:
        """Remove a message from the buffer."""
        self._numbers.discard(number)
        self._identities.discard(id(self._index.messages[number]))
        if number in self._unread:
            self._unread.remove(number)
            return
        for word in find_words(self._index.text(number)):
            self._by_word[word].discard(number)
        self._index.forget(number)

    def changes(self, messages: Iterable[Message]) -> tuple[list[int], list[int]]:
        """Return (numbers removed, numbers added), both in order, for replacing the buffer with these messages.

        O(messages), but quick: only the few messages that changed are numbered.
        """
        listed = tuple(messages)
        now = set(map(id, listed))  # the index keeps its messages alive, so no id is reused
        ids_added = now - self._identities
        added = list[int]()
        if ids_added:
            added = [self._index.number(message) for message in listed if id(message) in ids_added]
        ids_removed = self._identities - now
        removed = sorted(self._index.number_by_id[identity] for identity in ids_removed)
        return removed, added

    def holds(self, fact: int) -> bool:
        """Does any message of the buffer contain the text of the fact?"""
        self._read()
        listed = [self._by_word.get(word, _NONE) for word in self._index.words_in(fact)]
        likely = min(listed, key=len, default=self._numbers)
        return any(self._index.says(number, fact) for number in likely)

    def _read(self) -> None:
        for number in self._unread:
            for word in find_words(self._index.text(number)):
                self._by_word[word].add(number)
        self._unread.clear()


_NONE: frozenset[int] = frozenset()


def lost(before: Sequence[Message], after: Sequence[Message]) -> dict[Fact, str]:
    """Return the facts of changed or removed messages that no message of `after` contains.

    Returns:
        Each lost fact with the id of the first message that contained it, ordered by rank, then by position.
    """
    ids_after = {id(message) for message in after}
    gone = [message for message in before if id(message) not in ids_after]
    if not gone:
        return {}
    index = FactIndex()
    buffer = BufferFacts(index)
    for message in after:
        buffer.add(index.number(message))
    candidates: dict[int, str] = {}
    for message in gone:
        for fact in index.facts_of(index.number(message)):
            candidates.setdefault(fact, message.id)
    listed = [
        (index.facts[fact], message)
        for fact, message in candidates.items()
        if not buffer.holds(fact)
    ]
    return dict(sorted(listed, key=lambda pair: pair[0].rank))
