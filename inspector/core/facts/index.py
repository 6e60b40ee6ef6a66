"""Which facts stand in a buffer, and which were lost between two.

A fact stands where its text stands, in whatever message, as whole words, and a sentence also where its lines are broken
otherwise or its end signs differ (`wording.Saying`); it is lost where it stands nowhere. The facts of a message are
read when it goes, its words when something is looked for in it: once for any number of buffers made of them. Facts are
looked for by words among the messages of one buffer, never among all messages of a session: what a compaction takes
is worked out in time proportional to the messages that it took and left.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from inspector.core.facts.fact import SENTENCES, Fact
from inspector.core.facts.names import unescaped
from inspector.core.facts.reading import facts, retold_rules, texts, wishes
from inspector.core.facts.sentences import LONGEST
from inspector.core.facts.wording import Saying, plain
from inspector.core.message import Message

_WORD = re.compile(r"\w+", re.ASCII)
"""Chinese has no spaces: what has no other words is looked for everywhere."""


def words(text: str) -> set[str]:
    """Return the words of a text, by which facts are looked up."""
    return set(_WORD.findall(text))


WordRun: TypeAlias = tuple[str, ...]
"""Up to three words in a row, by which a fact is known to be named in a text."""


def word_runs(text: str) -> set[WordRun]:
    """Return every run of one, two and three words of a text, and the empty run. O(text)."""
    found = _WORD.findall(text)
    runs: set[WordRun] = {(), *zip(found, strict=True)}
    runs.update(pairwise(found))
    runs.update(zip(found, found[1:], found[2:], strict=False))
    return runs


def key_run(found: WordRun) -> WordRun:
    """Return the words of a fact around the longest of them: a text that names the fact has them in a row."""
    if len(found) < 4:
        return found
    longest = max(range(len(found)), key=lambda at: len(found[at]))
    begin = min(max(0, longest - 1), len(found) - 3)
    return found[begin : begin + 3]


def _distinct_wishes(message: Message) -> dict[Fact, None]:
    return dict.fromkeys(retold_rules(message) if message.summary else wishes(message))


class FactIndex:
    """Facts and messages by number. Messages are told apart by identity: an edited one is another. Grows as it is used;
    for one thread of execution only."""

    def __init__(self, wishes_only: bool = False) -> None:
        """Begin without a message. `wishes_only`: know no facts but what the user asked for."""
        self._read_facts: Callable[[Message], Iterable[Fact]] = _distinct_wishes if wishes_only else facts
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
        """Of the facts that are sentences."""

    def number(self, message: Message) -> int:
        """Its number."""
        found = self.number_by_id.get(id(message))
        if found is None:
            found = self.number_by_id[id(message)] = len(self.messages)
            self.messages.append(message)
        return found

    def _id(self, fact: Fact) -> int:
        found = self._ids.get(fact)
        if found is None:
            found = self._ids[fact] = len(self.facts)
            self.facts.append(fact)
            if fact.kind in SENTENCES:
                self._sayings[found] = Saying(fact.text)
            cut = len(fact.text) == LONGEST  # its last word may be half of one
            begins = fact.kind in SENTENCES and fact.text[0].isalpha()  # in a summary its first letter may be small
            self._fact_words.append(tuple(_WORD.findall(fact.text)[1 if begins else 0 : -1 if cut else None]))
        return found

    def facts_of(self, number: int) -> tuple[int, ...]:
        """The facts of a message, by number, each once. O(text) the first time."""
        found = self._of.get(number)
        if found is None:
            found = self._of[number] = tuple(map(self._id, self._read_facts(self.messages[number])))
        return found

    def words_in(self, fact: int) -> tuple[str, ...]:
        """The words of a fact; none of one that is all Chinese."""
        return self._fact_words[fact]

    def saying(self, fact: int) -> Saying | None:
        """Of one that is a sentence: what it is looked for by."""
        return self._sayings.get(fact)

    def text(self, number: int) -> str:
        """Return the text of a message in which facts are looked for. O(text) the first time."""
        found = self._texts.get(number)
        if found is None:
            found = self._texts[number] = unescaped("\n".join(texts(self.messages[number])))
        return found

    def line(self, number: int) -> str:
        """Return that text as one line, in which sentences are looked for. O(text) the first time."""
        found = self._lines.get(number)
        if found is None:
            found = self._lines[number] = plain(self.text(number))
        return found

    def forget(self, number: int) -> None:
        """Drop the text of a message that is no longer in the buffer; it can be asked for again."""
        self._texts.pop(number, None)
        self._lines.pop(number, None)

    def says(self, number: int, fact: int) -> bool:
        """Does the text of the message hold that of the fact? O(text)."""
        saying = self._sayings.get(fact)
        if saying is not None:
            return saying.stands_in_line(self.line(number))
        return self.facts[fact].text in self.text(number)


class BufferFacts:
    """The messages of one buffer, by number, and what stands in them."""

    def __init__(self, index: FactIndex) -> None:
        self._index = index
        self._numbers = set[int]()
        self._identities = set[int]()
        self._unread = set[int]()
        self._by_word = defaultdict[str, set[int]](set)
        """Messages that were read, by word."""

    def __contains__(self, number: object) -> bool:
        return number in self._numbers

    def add(self, number: int) -> None:
        """One more."""
        self._numbers.add(number)
        self._unread.add(number)
        self._identities.add(id(self._index.messages[number]))

    def remove(self, number: int) -> None:
        """One less."""
        self._numbers.discard(number)
        self._identities.discard(id(self._index.messages[number]))
        if number in self._unread:
            self._unread.remove(number)
            return
        for word in words(self._index.text(number)):
            self._by_word[word].discard(number)
        self._index.forget(number)

    def changes(self, messages: Iterable[Message]) -> tuple[list[int], list[int]]:
        """(numbers that are gone, numbers that came) if these stood now; each in order. O(messages), but quick: of
        thousands few have changed, and only those are looked at."""
        listed = tuple(messages)
        now = set(map(id, listed))  # the index holds its messages, so no identity can be another's
        came = now - self._identities
        new = [self._index.number(message) for message in listed if id(message) in came] if came else []
        return sorted(self._index.number_by_id[one] for one in self._identities - now), new

    def holds(self, fact: int) -> bool:
        """Does the fact stand in one of the messages?"""
        self._read()
        listed = [self._by_word.get(word, _NONE) for word in self._index.words_in(fact)]
        likely = min(listed, key=len, default=self._numbers)
        return any(self._index.says(number, fact) for number in likely)

    def _read(self) -> None:
        for number in self._unread:
            for word in words(self._index.text(number)):
                self._by_word[word].add(number)
        self._unread.clear()


_NONE: frozenset[int] = frozenset()


def lost(before: Sequence[Message], after: Sequence[Message]) -> dict[Fact, str]:
    """Facts of messages that were changed or are gone, whose text stands nowhere in `after`, each with the id of the
    message in which it stood first. By rank, then place."""
    kept = {id(message) for message in after}
    gone = [message for message in before if id(message) not in kept]
    if not gone:
        return {}
    index = FactIndex()
    there = BufferFacts(index)
    for message in after:
        there.add(index.number(message))
    found: dict[int, str] = {}
    for message in gone:
        for fact in index.facts_of(index.number(message)):
            found.setdefault(fact, message.id)
    listed = [(index.facts[fact], message) for fact, message in found.items() if not there.holds(fact)]
    return dict(sorted(listed, key=lambda one: one[0].rank))
