"""The facts of a session and where they stand, for many buffers of the same messages.

Every message is read once: its facts, and which words it holds. A fact stands in a buffer where one of its messages
holds the same fact, or holds its text. The words only say which messages are worth a look.
"""

import re
from collections.abc import Container

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
        self._places: dict[str, list[int]] = {}
        """Messages by word, in order."""
        self._words: list[tuple[str, ...]] = []
        """Of each fact."""

    def number(self, message: Message) -> int:
        """Its number; a new message is read now. O(text) the first time."""
        found = self._numbers.get(id(message))
        if found is None:
            found = self._numbers[id(message)] = len(self.messages)
            self.messages.append(message)
            text = "\n".join(texts(message))
            self._texts.append(text)
            for word in set(_WORD.findall(text)):
                self._places.setdefault(word, []).append(found)
            self._of.append(tuple(n for fact in facts(message) if (n := self._id(fact)) >= 0))
        return found

    def _id(self, fact: Fact) -> int:
        found = self._ids.get(fact)
        if found is None:
            words = tuple(_WORD.findall(fact.text))
            if not words:
                found = -1  # punctuation only: nothing that could be found again
            else:
                found = len(self.facts)
                self.facts.append(fact)
                self._words.append(words)
            self._ids[fact] = found
        return found

    def facts_of(self, number: int) -> tuple[int, ...]:
        """The facts of a message, by number, each once."""
        return self._of[number]

    def words_of(self, number: int) -> set[str]:
        """The words of a message. O(text)."""
        return set(_WORD.findall(self._texts[number]))

    def key_word(self, fact: int) -> str:
        """The longest word of a fact: a text that holds the fact holds this word."""
        return max(self._words[fact], key=len)

    def holds(self, number: int, fact: int) -> bool:
        """Does the text of the message hold the fact's text?"""
        return self.facts[fact].text in self._texts[number]

    def stands(self, fact: int, standing: Container[int]) -> bool:
        """Does the text of one of the `standing` messages hold the fact's text, as whole words?"""
        places = min((self._places.get(word, ()) for word in self._words[fact]), key=len)
        return any(number in standing and self.holds(number, fact) for number in places)
