"""The facts and the words of a session's messages, read once for any number of buffers made of them.

And which messages of one buffer hold a fact: where it is extracted, or where its text stands as whole words. The words
only say which messages are worth a look.
"""

import re
from collections import Counter
from collections.abc import Iterable

from inspector.core.facts import Fact, facts, texts
from inspector.core.message import Message

_WORD = re.compile(r"\w+")


class FactIndex:
    """Facts and messages by number. Messages are told apart by identity: an edited one is another. Grows as it is used;
    for one thread of execution only."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.facts: list[Fact] = []
        self._numbers: dict[int, int] = {}
        self._ids: dict[Fact, int] = {}
        self._of: list[tuple[int, ...]] = []
        self._texts: list[str] = []
        self._words: list[tuple[str, ...]] = []
        """Of each message, each once."""
        self._fact_words: list[tuple[str, ...]] = []
        self._spelt: dict[str, str] = {}
        """Every word once, so that thousands of messages share it."""

    def number(self, message: Message) -> int:
        """Its number; a new message is read now. O(text) the first time."""
        found = self._numbers.get(id(message))
        if found is None:
            found = self._numbers[id(message)] = len(self.messages)
            self.messages.append(message)
            text = "\n".join(texts(message))
            self._texts.append(text)
            self._words.append(tuple(self._spelt.setdefault(word, word) for word in set(_WORD.findall(text))))
            self._of.append(tuple(n for fact in facts(message) if (n := self._id(fact)) >= 0))
        return found

    def number_of(self, identity: int) -> int:
        """The number of a message that has one, by its `id()`."""
        return self._numbers[identity]

    def _id(self, fact: Fact) -> int:
        found = self._ids.get(fact)
        if found is None:
            words = tuple(_WORD.findall(fact.text))
            if not words:
                found = -1  # punctuation only: nothing that could be found again
            else:
                found = len(self.facts)
                self.facts.append(fact)
                self._fact_words.append(words)
            self._ids[fact] = found
        return found

    def facts_of(self, number: int) -> tuple[int, ...]:
        """The facts of a message, by number, each once."""
        return self._of[number]

    def words_of(self, number: int) -> tuple[str, ...]:
        """The words of a message, each once, in no order."""
        return self._words[number]

    def words_in(self, fact: int) -> tuple[str, ...]:
        """The words of a fact; never none."""
        return self._fact_words[fact]

    def holds(self, number: int, fact: int) -> bool:
        """Does the text of the message hold the fact's text?"""
        return self.facts[fact].text in self._texts[number]


class Standing:
    """The messages of one buffer, by number, and what stands in them."""

    def __init__(self, index: FactIndex) -> None:
        self._index = index
        self._numbers = set[int]()
        self._identities = set[int]()
        self._counts = Counter[int]()
        """Messages by fact."""
        self._by_word: dict[str, set[int]] = {}

    def __contains__(self, number: object) -> bool:
        return number in self._numbers

    def add(self, number: int) -> None:
        """One more. O(its words)."""
        self._numbers.add(number)
        self._identities.add(id(self._index.messages[number]))
        self._counts.update(self._index.facts_of(number))
        for word in self._index.words_of(number):
            self._by_word.setdefault(word, set()).add(number)

    def remove(self, number: int) -> None:
        """One less."""
        self._numbers.discard(number)
        self._identities.discard(id(self._index.messages[number]))
        self._counts.subtract(self._index.facts_of(number))
        for word in self._index.words_of(number):
            self._by_word[word].discard(number)

    def against(self, messages: Iterable[Message]) -> tuple[list[int], list[int]]:
        """(numbers that are gone, numbers that came) if these stood now; each in order. O(messages), but quick: of
        thousands few have changed, and only those are looked at."""
        listed = tuple(messages)
        now = set(map(id, listed))  # the index holds its messages, so no identity can be another's
        came = now - self._identities
        new = [self._index.number(message) for message in listed if id(message) in came] if came else []
        return sorted(self._index.number_of(one) for one in self._identities - now), new

    def holds(self, fact: int) -> bool:
        """Does the fact stand in one of the messages?"""
        if self._counts[fact] > 0:
            return True
        places = min((self._by_word.get(word, ()) for word in self._index.words_in(fact)), key=len)
        return any(self._index.holds(number, fact) for number in places)
