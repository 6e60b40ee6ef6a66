"""Loss and regret: what a policy threw away, and what of it the recorded session came to need.

The recording goes on after each compaction of the policy, so the future is known. A fact that stood in what was
removed is *lost* when it stands nowhere in the buffer after. It is *regretted* when a later answer, tool call or user
message refers to it while it is still gone. A file that is read again although the buffer held it before is a regret
that was repaired: its price is the tokens of reading it again. See docs/regret.md for where this errs.

The facts and the words of a session's messages are read once for any number of buffers made of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from inspector.core.facts import Fact, facts, texts
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolCall

PATH_KEYS = ("file_path", "path", "filename", "file", "notebook_path", "target_file", "absolute_path", "url", "uri")
_COMMAND_KEYS = ("command", "cmd", "script")
_WRITERS = ("edit", "write", "patch", "create", "replace", "insert", "delete", "move")
_READERS = ("cat", "head", "tail", "sed", "nl", "less", "more", "bat", "type", "get-content")
_WRAPPERS = ("bash", "sh", "zsh", "-c", "-lc", "-l")


def writes(call: ToolCall) -> bool:
    """Does its name say that it changes something?"""
    name = call.name.lower()
    return any(word in name for word in _WRITERS)


def path_of(call: ToolCall) -> str:
    """The path or address among its arguments; empty where there is none."""
    if not isinstance(call.arguments, Mapping):
        return ""
    return next((v for key in PATH_KEYS if isinstance(v := call.arguments.get(key), str) and v), "")


def read_by(call: ToolCall) -> str:
    """What a reading call wants to see: its path, or the command that prints a file; empty where it does not read."""
    if writes(call):
        return ""
    return path_of(call) or _printed(call)


def command_of(call: ToolCall) -> str:
    """What a call runs in a shell, without the shell; empty where it runs nothing."""
    if not isinstance(call.arguments, Mapping):
        return ""
    command = next((v for key in _COMMAND_KEYS if (v := call.arguments.get(key))), "")
    words = [word for word in (command if isinstance(command, list) else [command]) if isinstance(word, str)]
    if words and words[0] not in _WRAPPERS:
        return " ".join(words)
    return next((word for word in words if word not in _WRAPPERS), "")


def _printed(call: ToolCall) -> str:
    """`cat a.py`, where the call runs it; a command that prints and does more than that counts as well."""
    text = command_of(call)
    first = text.split(None, 1)[0].lower() if text.strip() else ""
    return text if first in _READERS and " -i" not in text else ""


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


class BufferFacts:
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

    def changes(self, messages: Iterable[Message]) -> tuple[list[int], list[int]]:
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


How: TypeAlias = Literal["answer", "call", "user"]


@dataclass(frozen=True, slots=True)
class At:
    """A step of a policy: its tier, and the request that it came before."""

    before_request: int
    tier: str


@dataclass(frozen=True, slots=True)
class Loss:
    """A fact that stands nowhere any more."""

    fact: Fact
    at: At
    message: str
    """Id of the message that it stood in last."""


@dataclass(frozen=True, slots=True)
class Regret:
    """A fact that was needed when it was gone."""

    fact: Fact
    at: At
    """The step that lost it."""
    needed_by: int
    """The request whose answer, or the user's word before it, refers to the fact."""
    message: str
    """Id of the message that does."""
    how: How
    repaired: bool = False
    """The call reads again what was removed; then the fact itself may still have stood."""
    price: int = 0
    """Tokens of what was read again."""


@dataclass(frozen=True, slots=True)
class Losses:
    """All of a replay. `facts` = `kept` + `lost`: distinct facts that stood in something a step removed."""

    facts: int = 0
    lost: int = 0
    needed_later: int = 0
    """Distinct lost facts among the regrets."""
    regrets: tuple[Regret, ...] = ()
    losses: tuple[Loss, ...] = ()
    """In order. A fact that came back and was lost again is there twice."""

    @property
    def kept(self) -> int:
        return self.facts - self.lost

    @property
    def rereads(self) -> int:
        return sum(one.repaired for one in self.regrets)

    @property
    def reread_tokens(self) -> int:
        return sum(one.price for one in self.regrets)


class LossLedger:
    """Follows one replay. Tell it everything in order; ask for `losses` at the end."""

    def __init__(self, index: FactIndex, price: Callable[[Message], int]) -> None:
        self._index, self._price = index, price
        self._standing = BufferFacts(index)
        self._removed: dict[int, At] = {}
        self._lost: dict[int, Loss] = {}
        """Facts that are gone now."""
        self._by_word: dict[str, set[int]] = {}
        self._touched = set[int]()
        self._ever_lost = set[int]()
        self._needed = set[int]()
        self._losses: list[Loss] = []
        self._regrets: list[Regret] = []
        self._reads = _Reads()

    def arrive(self, messages: Iterable[Message], request: int) -> None:
        """Messages of the recording that come into the buffer, before or after the call `request`."""
        for message in messages:
            number = self._index.number(message)
            if number in self._standing:
                continue
            if message.role == "assistant" or (message.role == "user" and not message.mark and not message.summary):
                self._refer(message, number, request)
            self._found_again(self._index.facts_of(number))
            self._standing.add(number)
            self._follow(message, number, request)

    def change(self, after: Sequence[Message], at: At | None) -> None:
        """The buffer is another now. `at`: the policy's step that made it so; None = the recording did. O(buffer)."""
        removed, came = self._standing.changes(after)
        for number in came:
            self._found_again(self._index.facts_of(number))
            self._standing.add(number)
        for number in removed:
            self._standing.remove(number)
        if at is not None:
            self._removed.update(dict.fromkeys(removed, at))
            for number in removed:
                self._lose(number, at)

    def losses(self) -> Losses:
        """What was found so far."""
        return Losses(
            len(self._touched), len(self._ever_lost), len(self._needed), tuple(self._regrets), tuple(self._losses)
        )

    def _lose(self, number: int, at: At) -> None:
        """What was lost with this message. Of a summary only what stood in the recording before counts."""
        message = self._index.messages[number]
        for fact in self._index.facts_of(number):
            if message.summary and fact not in self._touched:
                continue
            self._touched.add(fact)
            if fact in self._lost or self._standing.holds(fact):
                continue
            loss = self._lost[fact] = Loss(self._index.facts[fact], at, message.id)
            self._by_word.setdefault(self._key(fact), set()).add(fact)
            self._ever_lost.add(fact)
            self._losses.append(loss)

    def _found_again(self, facts: Iterable[int]) -> None:
        for fact in facts:
            if fact in self._lost:
                del self._lost[fact]
                self._by_word[self._key(fact)].discard(fact)

    def _key(self, fact: int) -> str:
        """The longest word of a fact: a text that refers to the fact holds it."""
        return max(self._index.words_in(fact), key=len)

    def _refer(self, message: Message, number: int, request: int) -> None:
        """Lost facts that this message names: regretted, unless their text still stood somewhere after all."""
        named = {fact for fact in self._index.facts_of(number) if fact in self._lost}
        if self._by_word:
            for word in self._index.words_of(number):
                named.update(f for f in self._by_word.get(word, ()) if self._index.holds(number, f))
        calls = "\n".join(f"{call.name} {dumps(call.arguments)}" for call in message.calls)
        for fact in sorted(named):
            if not self._standing.holds(fact):
                loss = self._lost[fact]
                how: How = "user" if message.role == "user" else "call" if loss.fact.text in calls else "answer"
                self._regrets.append(Regret(loss.fact, loss.at, request, message.id, how))
                self._needed.add(fact)
        self._found_again(named)

    def _follow(self, message: Message, number: int, request: int) -> None:
        """Calls that read what was there before, and what they cost."""
        for call in message.calls:
            former = self._reads.call(call)
            if former is not None and former not in self._standing and former in self._removed:
                self._reads.expect(call.id, self._reread(call, self._removed[former], message, request))
        result = message.result
        if result is not None:
            regret = self._reads.answered(result.call_id, number, result.is_error)
            if regret is not None:
                self._regrets[regret] = replace(self._regrets[regret], price=self._price(message))

    def _reread(self, call: ToolCall, at: At, message: Message, request: int) -> int:
        """Place of the regret: that of the path, where it was lost, too; else one of its own."""
        target = read_by(call)
        for place in range(len(self._regrets) - 1, -1, -1):
            one = self._regrets[place]
            if one.message != message.id:
                break
            if not one.repaired and one.fact.kind in ("path", "url") and one.fact.text in target:
                self._regrets[place] = replace(one, repaired=True)
                return place
        fact = Fact("url" if "://" in target else "path", target)
        self._regrets.append(Regret(fact, at, request, message.id, "call", True))
        return len(self._regrets) - 1


class _Reads:
    """Which result answered which reading call last. A file that was written since is not read again for its loss."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._keys: dict[str, set[str]] = {}
        self._waiting: dict[str, str] = {}
        self._expected: dict[str, int] = {}

    def call(self, call: ToolCall) -> int | None:
        """The message that answered the very same call last; None where none did."""
        if writes(call):
            for key in self._keys.pop(path_of(call), ()):
                self._last.pop(key, None)
            return None
        target = read_by(call)
        if not target:
            return None
        key = f"{call.name}\n{dumps(call.arguments)}"
        self._keys.setdefault(target, set()).add(key)
        self._waiting[call.id] = key
        return self._last.get(key)

    def expect(self, call_id: str, regret: int) -> None:
        """The answer to this call is the price of that regret."""
        self._expected[call_id] = regret

    def answered(self, call_id: str, number: int, is_error: bool) -> int | None:
        """A result came. Returns the regret that it is the price of."""
        key = self._waiting.pop(call_id, None)
        if key is not None and not is_error:
            self._last[key] = number
        return self._expected.pop(call_id, None)
