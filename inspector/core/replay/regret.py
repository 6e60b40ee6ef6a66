"""Loss and regret: what a policy threw away, and what of it the recorded session came to need.

The recording goes on after each compaction of the policy, so the future is known. A fact that stood in what was
removed is gone when it stands nowhere in the buffer after: *paraphrased* where what came in its place says it in other
words, else *lost*. It is *regretted* when a later answer, tool call or user message refers to it while it is gone. A
file that is read again although the buffer held it before is a regret that was repaired: its price is the tokens of
reading it again. See docs/regret.md for where this errs.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from inspector.core.calls import path_of, read_by, writes
from inspector.core.facts.fact import SENTENCES, Fact, distinct
from inspector.core.facts.index import BufferFacts, FactIndex, WordRun, key_run, word_runs
from inspector.core.facts.names import names
from inspector.core.facts.reading import call_text, used
from inspector.core.facts.wording import NOT_CARRIED, Echo, Retelling, Speech, plain
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolCall

_DEFINES = re.compile(
    r"\b(?:def|func|function|class|const|let|var|type|interface|struct|fn|enum)\s+(?:\([^)\n]*\)\s*)?$"
)
_IS_SET = re.compile(r"(?:, ?\w+)* *(?::=|=(?!=))")


def _is_used(text: str, fact: Fact) -> bool:
    """Does the text name the fact, as a whole? A name that it gives to something of its own is not used."""
    at, length, found = text.find(fact.text), len(fact.text), False
    while at >= 0:
        before, after = text[max(0, at - 60) : at], text[at + length : at + length + 40]
        if fact.kind == "identifier" and (_DEFINES.search(before) or _IS_SET.match(after)):
            return False
        goes_on = _DIGITS_GO_ON if fact.kind == "number" else _GOES_ON
        found = found or not (goes_on.match(after) or (before and _BEGAN.search(before)))
        at = text.find(fact.text, at + length)
    return found


_GOES_ON = re.compile(r"\w|[./-]\w|/$", re.ASCII)
_DIGITS_GO_ON = re.compile(r"\w|[.-]\d", re.ASCII)
_BEGAN = re.compile(r"[\w.@-]\Z", re.ASCII)


How: TypeAlias = Literal["answer", "call", "user"]


@dataclass(frozen=True, slots=True)
class At:
    """A step of a policy: its tier, and the request that it came before."""

    before_request: int
    tier: str
    is_readable: bool = True
    """False: what came in place of the messages cannot be read, so nobody knows what the agent had to do without."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A fact that stands nowhere any more."""

    fact: Fact
    at: At
    message: str
    """Id of the message that it stood in last."""
    echo: Echo = NOT_CARRIED
    """Whether what came in its place says it in other words."""

    @property
    def paraphrased(self) -> bool:
        """Is it carried in other words?"""
        return self.echo.verdict == "carried"


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
    """Tokens of what came back: the answer to the call that refers to it."""
    result: str = ""
    """Id of the message with that answer; empty where nothing came back."""


@dataclass(frozen=True)
class Losses:
    """All of a replay. `facts` = `kept` + `paraphrased` + `lost`: distinct facts that stood in what a step removed."""

    facts: int = 0
    paraphrased: int = 0
    """Whenever they were gone, what came in their place said them in other words."""
    lost: int = 0
    needed_later: int = 0
    """Distinct facts among the regrets, lost or paraphrased."""
    regrets: tuple[Regret, ...] = ()
    losses: tuple[Loss, ...] = ()
    """In order. A fact that came back and was lost again is there twice."""

    @property
    def kept(self) -> int:
        return self.facts - self.paraphrased - self.lost

    @cached_property
    def is_readable(self) -> bool:
        """False: what came in place of the lost cannot be read everywhere. `lost` is the most that it can be then,
        `needed_later` the least."""
        return all(loss.at.is_readable for loss in self.losses)

    @property
    def needs_are_known(self) -> bool:
        """False: nobody knows of anything that was needed, nor that nothing was."""
        return self.is_readable or self.needed_later > 0

    @property
    def lost_words(self) -> str:
        """`lost`, as people read it."""
        return f"{self.lost:,}" if self.is_readable else f"at most {self.lost:,}"

    @property
    def needed_words(self) -> str:
        """`needed_later`, as people read it."""
        if not self.needs_are_known:
            return "unknown"
        return f"{self.needed_later:,}" if self.is_readable else f"at least {self.needed_later:,}"

    @property
    def rereads(self) -> int:
        return sum(regret.repaired for regret in self.regrets)

    @property
    def reread_tokens(self) -> int:
        return sum(regret.price for regret in self.regrets if regret.repaired)


NOTHING_LOST = Losses()


class LossLedger:
    """Follows one replay. Tell it everything in order; ask for `losses` at the end."""

    def __init__(self, index: FactIndex, price: Callable[[Message], int]) -> None:
        self._index, self._price = index, price
        self._standing, self._speech = BufferFacts(index), Speech()
        self._removed: dict[int, At] = {}
        self._lost: dict[int, Loss] = {}
        """Facts that are gone; what came back is known when it is referred to, or goes again."""
        self._unsaid = set[int]()
        """Of these, the sentences."""
        self._by_run: dict[WordRun, set[int]] = {}
        """Of the facts that are gone, by the words that a text with them has in a row."""
        self._touched = set[int]()
        self._quoted = set[int]()
        """Sentences of removed messages that others hold still: a summary that cites the user."""
        self._ever_lost = set[int]()
        self._losses: list[Loss] = []
        self._regrets: list[Regret] = []
        self._reads = _Reads()

    def arrive(self, messages: Iterable[Message], request: int) -> None:
        """Messages of the recording that come into the buffer, before or after the call `request`."""
        for message in messages:
            number = self._index.number(message)
            if number in self._standing:
                continue
            self._refer(message, request)
            self._standing.add(number)
            self._follow(message, number, request)

    def change(self, after: Sequence[Message], at: At | None) -> None:
        """The buffer is another now. `at`: the policy's step that made it so; None = the recording did. O(buffer)."""
        removed, came = self._standing.changes(after)
        self._came_back(removed)
        for number in came:
            self._standing.add(number)
        for number in removed:
            self._standing.remove(number)
        known = len(self._losses)
        if at is not None:
            self._removed.update(dict.fromkeys(removed, at))
            for number in removed:
                self._lose(number, at)
        for fact in [one for one in self._quoted if not self._standing.holds(one)]:
            self._quoted.remove(fact)
            last = next((number for number in removed if self._index.says(number, fact)), None)
            if at is not None and fact not in self._lost and last is not None:
                self._gone(fact, at, self._index.messages[last].id)
        if len(self._losses) > known:
            told = Retelling(after, [self._index.messages[number] for number in came], self._speech)
            self._losses[known:] = [replace(loss, echo=told.judge(loss.fact)) for loss in self._losses[known:]]

    def losses(self) -> Losses:
        """What was found so far."""
        known = self._index.facts
        needed = {regret.fact for regret in self._regrets}
        gone = distinct(dict.fromkeys((*(known[n] for n in self._ever_lost), *needed)))
        kept = len({known[n] for n in self._touched - self._ever_lost} - needed)
        again = sum(not needed.isdisjoint(names) for _, names in gone)
        carried = self._carried()
        told = sum(_is_carried(carried, names) for _, names in gone)
        lost = len(gone) - told
        return Losses(kept + len(gone), told, lost, again, tuple(self._regrets), tuple(self._losses))

    def _carried(self) -> Mapping[Fact, Mapping[At, bool]]:
        """Of each fact that was gone, by the step: is it carried in other words, or by its name alone?"""
        found = defaultdict[Fact, dict[At, bool]](dict)
        for loss in self._losses:
            found[loss.fact][loss.at] = loss.paraphrased
        for regret in self._regrets:
            found[regret.fact].setdefault(regret.at, True)  # its content had gone, its name had not
        return found

    def _lose(self, number: int, at: At) -> None:
        """What was lost with this message. Of a summary only what stood in the recording before counts."""
        message = self._index.messages[number]
        for fact in self._index.facts_of(number):
            is_rule = self._index.facts[fact].kind == "constraint"
            if message.summary and fact not in self._touched and not is_rule:
                continue
            self._touched.add(fact)
            if fact in self._lost:
                continue
            if not self._standing.holds(fact):
                self._gone(fact, at, message.id)
            elif self._index.facts[fact].kind in SENTENCES:
                self._quoted.add(fact)

    def _gone(self, fact: int, at: At, message: str) -> None:
        loss = self._lost[fact] = Loss(self._index.facts[fact], at, message)
        self._by_run.setdefault(self._key(fact), set()).add(fact)
        self._ever_lost.add(fact)
        if loss.fact.kind in SENTENCES:
            self._unsaid.add(fact)
        self._losses.append(loss)

    def _found_again(self, facts: Iterable[int]) -> None:
        for fact in facts:
            if fact in self._lost:
                del self._lost[fact]
                self._unsaid.discard(fact)
                self._by_run[self._key(fact)].discard(fact)

    def _came_back(self, removed: Sequence[int]) -> None:
        """What was gone and stood again, as these messages, which go now, had brought it back or cited it."""
        if not self._lost or not removed:
            return
        self._found_again({fact for number in removed for fact in self._index.facts_of(number)})
        if self._unsaid:
            cited = set[int]()
            for number in self._prose(removed):
                cited |= {fact for fact in self._named_in(self._index.text(number)) if fact in self._unsaid}
                self._index.forget(number)
            self._found_again(cited)
            self._quoted |= cited

    def _prose(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield the messages that are not results of tools: those cite nothing that anybody said."""
        return (number for number in numbers if self._index.messages[number].role != "tool")

    def _key(self, fact: int) -> WordRun:
        return key_run(self._index.words_in(fact))

    def _named_in(self, text: str) -> set[int]:
        """Return the facts that are gone and that the text names. O(text)."""
        named, line = set[int](), plain(text)
        for run in self._by_run.keys() & word_runs(line):
            for fact in self._by_run[run]:
                saying = self._index.saying(fact)
                if _is_used(text, self._index.facts[fact]) if saying is None else saying.stands_in_line(line):
                    named.add(fact)
        return named

    def _refer(self, message: Message, request: int) -> None:
        """Lost facts that this message names: regretted, unless their text still stood somewhere after all."""
        said = used(message) if self._by_run else ""
        if not said:
            return
        named = self._named_in(said)
        calls = [(call, call_text(call)) for call in message.calls] if named else []
        for fact in sorted(named):
            loss = self._lost[fact]
            if loss.at.is_readable and not self._standing.holds(fact):
                by = next((call for call, text in calls if loss.fact.text in text), None)
                how: How = "call" if by is not None else "answer"
                if message.role == "user":
                    how = "user"
                if by is not None and not writes(by):
                    self._reads.expect(by.id, len(self._regrets))
                self._regrets.append(Regret(loss.fact, loss.at, request, message.id, how))
        self._found_again(named)

    def _follow(self, message: Message, number: int, request: int) -> None:
        """Calls that read what was there before, and what they cost."""
        for call in message.calls:
            former = self._reads.call(call)
            if former is not None and former not in self._standing and former in self._removed:
                self._reads.expect(call.id, self._reread(call, self._removed[former], message, request))
        result = message.result
        if result is not None:
            for regret in self._reads.answered(result.call_id, number, result.is_error):
                self._regrets[regret] = replace(self._regrets[regret], price=self._price(message), result=message.id)

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
        fact = next((one for one in names(target) if one.kind in ("path", "url")), Fact("path", target))
        self._regrets.append(Regret(fact, at, request, message.id, "call", True))
        return len(self._regrets) - 1


def _is_carried(carried: Mapping[Fact, Mapping[At, bool]], names: Iterable[Fact]) -> bool:
    """Of a fact under several names: at each step that took it, one of them was carried."""
    by_step = defaultdict[At, list[bool]](list)
    for name in names:
        for at, is_carried in carried[name].items():
            by_step[at].append(is_carried)
    return all(map(any, by_step.values()))


class _Reads:
    """Which result answered which reading call last. A file that was written since is not read again for its loss."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._keys: dict[str, set[str]] = {}
        self._waiting: dict[str, str] = {}
        self._expected: dict[str, list[int]] = {}

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
        self._expected.setdefault(call_id, []).append(regret)

    def answered(self, call_id: str, number: int, is_error: bool) -> Sequence[int]:
        """A result came. Returns the regrets that it is the price of."""
        key = self._waiting.pop(call_id, None)
        if key is not None and not is_error:
            self._last[key] = number
        return self._expected.pop(call_id, ())
