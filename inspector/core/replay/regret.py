"""Find losses and regrets: the facts that a policy removed, and the removed facts that the session needed again.

The recording continues after each compaction of the policy, so later needs are known. A fact of the removed messages is
gone if no message of the new buffer contains it: it is *paraphrased* if the replacement says it in other words, and
*lost* if not. It is *needed again* (a regret) if a later answer, tool call or user message refers to it while it is
gone. Reading a file again that the buffer contained before is a repaired regret, whose price is the tokens of the
second reading. docs/regret.md describes the errors of this method.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from inspector.core.calls import path_of, read_by, writes
from inspector.core.facts.fact import SENTENCES, Fact, distinct
from inspector.core.facts.index import (
    BufferFacts,
    FactIndex,
    key_run,
    other_name,
)
from inspector.core.facts.names import names
from inspector.core.facts.reading import call_text, used
from inspector.core.facts.run_index import RunIndex, WordRun
from inspector.core.facts.wording import NOT_CARRIED, Echo, Retelling, Speech, join_lines
from inspector.core.jsontext import dumps
from inspector.core.message import Message, ToolCall

_DEFINES = re.compile(
    r"\b(?:def|func|function|class|const|let|var|type|interface|struct|fn|enum)\s+(?:\([^)\n]*\)\s*)?$"
)
_IS_SET = re.compile(r"(?:, ?\w+)* *(?::=|=(?!=))")


def _is_used(text: str, fact: Fact) -> bool:
    """Does the text use the fact as a whole word? A name that the text itself defines or sets is not used."""
    at = text.find(fact.text)
    is_named = False
    while at >= 0:
        end = at + len(fact.text)
        before = text[max(0, at - 60) : at]
        after = text[end : end + 40]
        if fact.kind == "identifier" and (_DEFINES.search(before) or _IS_SET.match(after)):
            return False
        continuation = _DIGITS_CONTINUE if fact.kind == "number" else _NAME_CONTINUES
        is_part = continuation.match(after) or (before and _NAME_BEGAN.search(before))
        is_named = is_named or not is_part
        at = text.find(fact.text, end)
    if is_named:
        return True
    other = other_name(fact)
    if other is None:
        return False
    _, pattern = other
    return pattern.search(text) is not None


_NAME_CONTINUES = re.compile(r"\w|[./-]\w|/$", re.ASCII)
_DIGITS_CONTINUE = re.compile(r"\w|[.-]\d", re.ASCII)
_NAME_BEGAN = re.compile(r"[\w.@-]\Z", re.ASCII)


How: TypeAlias = Literal["answer", "call", "user"]


@dataclass(frozen=True, slots=True)
class At:
    """A compaction step: its tier, and the request after it."""

    before_request: int
    tier: str
    is_readable: bool = True
    """False if the replacement cannot be read, so that it is unknown which facts the model still had."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A fact that is no longer in the buffer."""

    fact: Fact
    at: At
    message: str
    """Id of the last message that contained the fact."""
    echo: Echo = NOT_CARRIED
    """Whether the replacement says the fact in other words."""

    @property
    def paraphrased(self) -> bool:
        """Does the replacement say the fact in other words?"""
        return self.echo.verdict == "carried"


@dataclass(frozen=True, slots=True)
class Regret:
    """A fact that was needed again after it was removed."""

    fact: Fact
    at: At
    """The step that removed the fact."""
    needed_by: int
    """Index of the request whose answer or user message refers to the fact."""
    message: str
    """Id of the message that refers to the fact."""
    how: How
    repaired: bool = False
    """True if a call reads the removed content again. The fact itself may then still have been in the buffer."""
    price: int = 0
    """Tokens of the result of the call that refers to the fact."""
    result: str = ""
    """Id of the message with that result; empty if there is none."""


@dataclass(frozen=True)
class Losses:
    """The losses of a whole replay.

    `facts` = `kept` + `paraphrased` + `lost`: the distinct facts of all messages that a step removed.
    """

    facts: int = 0
    paraphrased: int = 0
    """Facts that every replacement says in other words."""
    lost: int = 0
    needed_later: int = 0
    """Number of distinct facts among the regrets, lost or paraphrased."""
    regrets: tuple[Regret, ...] = ()
    losses: tuple[Loss, ...] = ()
    """All losses in order. A fact that returned and was lost again is listed twice."""

    @property
    def kept(self) -> int:
        return self.facts - self.paraphrased - self.lost

    @cached_property
    def is_readable(self) -> bool:
        """Can every replacement be read? If not, `lost` is an upper bound and `needed_later` a lower bound."""
        return all(loss.at.is_readable for loss in self.losses)

    @property
    def needs_are_known(self) -> bool:
        """Is it known whether anything was needed again?"""
        return self.is_readable or self.needed_later > 0

    @property
    def lost_words(self) -> str:
        """Return `lost` as text: `12`, `at most 12`."""
        return f"{self.lost:,}" if self.is_readable else f"at most {self.lost:,}"

    @property
    def needed_words(self) -> str:
        """Return `needed_later` as text: `3`, `at least 3`, `unknown`."""
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
    """Follows the facts of one replay: call `arrive` and `change` in order, then `losses`."""

    def __init__(self, index: FactIndex, price: Callable[[Message], int]) -> None:
        self._index = index
        self._price = price
        self._buffer = BufferFacts(index)
        self._speech = Speech()
        self._removed: dict[int, At] = {}
        self._lost: dict[int, Loss] = {}
        """Losses of the facts that are gone, by fact. A returned fact is noticed when it is next used or removed."""
        self._lost_sentences = set[int]()
        """The lost facts that are sentences."""
        self._by_run = RunIndex()
        """The lost facts by a run of words that every text with the fact contains."""
        self._touched = set[int]()
        self._quoted = set[int]()
        """Sentences of removed messages that another message still contains, such as a summary that quotes the user."""
        self._ever_lost = set[int]()
        self._losses: list[Loss] = []
        self._regrets: list[Regret] = []
        self._reads = _Reads()

    def arrive(self, messages: Iterable[Message], request: int) -> None:
        """Add messages of the recording to the buffer, before or after request `request`."""
        for message in messages:
            number = self._index.number(message)
            if number in self._buffer:
                continue
            self._refer(message, request)
            self._buffer.add(number)
            self._follow(message, number, request)

    def change(self, after: Sequence[Message], at: At | None) -> None:
        """Replace the messages of the buffer. O(buffer).

        Args:
            after: The messages after the change.
            at: The policy's step that changed the buffer; None if the recording did.
        """
        removed, added = self._buffer.changes(after)
        self._forget_returned(removed)
        for number in added:
            self._buffer.add(number)
        for number in removed:
            self._buffer.remove(number)
        if at is None:
            self._drop_unquoted()
            return
        first_new = len(self._losses)
        self._removed.update(dict.fromkeys(removed, at))
        for number in removed:
            self._lose_message(number, at)
        for fact in self._drop_unquoted():
            last = next((number for number in removed if self._index.says(number, fact)), None)
            if fact not in self._lost and last is not None:
                self._lose(fact, at, self._index.messages[last].id)
        if len(self._losses) > first_new:
            retelling = Retelling(
                after, [self._index.messages[number] for number in added], self._speech
            )
            new = self._losses[first_new:]
            self._losses[first_new:] = [
                replace(loss, echo=retelling.judge(loss.fact)) for loss in new
            ]

    def _drop_unquoted(self) -> list[int]:
        """Remove from `_quoted`, and return, the sentences that the buffer no longer contains."""
        unquoted = [fact for fact in self._quoted if not self._buffer.holds(fact)]
        self._quoted.difference_update(unquoted)
        return unquoted

    def losses(self) -> Losses:
        """Return the losses and regrets so far."""
        facts = self._index.facts
        needed = {regret.fact for regret in self._regrets}
        ever_lost = [facts[number] for number in self._ever_lost]
        gone = distinct(dict.fromkeys((*ever_lost, *needed)))
        kept_facts = {facts[number] for number in self._touched - self._ever_lost} - needed
        needed_later = sum(not needed.isdisjoint(names) for _, names in gone)
        carried = self._carried()
        paraphrased = sum(_is_carried(carried, names) for _, names in gone)
        lost = len(gone) - paraphrased
        total = len(kept_facts) + len(gone)
        return Losses(
            total,
            paraphrased,
            lost,
            needed_later,
            regrets=tuple(self._regrets),
            losses=tuple(self._losses),
        )

    def _carried(self) -> Mapping[Fact, Mapping[At, bool]]:
        """Return, by fact and step, whether the replacement still had a lost fact, paraphrased or by name only."""
        carried = defaultdict[Fact, dict[At, bool]](dict)
        for loss in self._losses:
            carried[loss.fact][loss.at] = loss.paraphrased
        for regret in self._regrets:
            # The content was removed, but not the name.
            carried[regret.fact].setdefault(regret.at, True)
        return carried

    def _lose_message(self, number: int, at: At) -> None:
        """Record the facts that were lost with a message; of a summary, only constraints and facts removed before."""
        message = self._index.messages[number]
        for fact in self._index.facts_of(number):
            is_rule = self._index.facts[fact].kind == "constraint"
            if message.summary and fact not in self._touched and not is_rule:
                continue
            self._touched.add(fact)
            if fact in self._lost:
                continue
            if not self._buffer.holds(fact):
                self._lose(fact, at, message.id)
            elif self._index.facts[fact].kind in SENTENCES:
                self._quoted.add(fact)

    def _lose(self, fact: int, at: At, message: str) -> None:
        loss = self._lost[fact] = Loss(self._index.facts[fact], at, message)
        for run in self._keys(fact):
            self._by_run.add(run, fact)
        self._ever_lost.add(fact)
        if loss.fact.kind in SENTENCES:
            self._lost_sentences.add(fact)
        self._losses.append(loss)

    def _forget(self, facts: Iterable[int]) -> None:
        """Stop treating facts as lost, because they are in the buffer again."""
        for fact in facts:
            if fact in self._lost:
                del self._lost[fact]
                self._lost_sentences.discard(fact)
                for run in self._keys(fact):
                    self._by_run.remove(run, fact)

    def _forget_returned(self, removed: Sequence[int]) -> None:
        """Forget lost facts that messages being removed contain or quote, because these facts had returned."""
        if not self._lost or not removed:
            return
        self._forget({fact for number in removed for fact in self._index.facts_of(number)})
        if self._lost_sentences:
            cited = set[int]()
            for number in self._prose(removed):
                cited |= self._named_in(self._index.text(number)) & self._lost_sentences
                self._index.forget(number)
            self._forget(cited)
            self._quoted |= cited

    def _prose(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield the numbers of messages that are not tool results, because tool output does not quote anybody."""
        return (number for number in numbers if self._index.messages[number].role != "tool")

    def _keys(self, fact: int) -> tuple[WordRun, ...]:
        """Return the run of words by which a fact is searched, and that of its other name if it has one."""
        key = key_run(self._index.words_in(fact))
        other = other_name(self._index.facts[fact])
        return (key,) if other is None else (key, other[0])

    def _named_in(self, text: str) -> set[int]:
        """Return the lost facts that the text names. O(text)."""
        line = join_lines(text)
        return {fact for fact in self._by_run.find(line) if self._is_named(fact, text, line)}

    def _is_named(self, fact: int, text: str, line: str) -> bool:
        """Does a text name a fact? `line`: the text as one line."""
        saying = self._index.saying(fact)
        if saying is None:
            return _is_used(text, self._index.facts[fact])
        return saying.is_in_line(line)

    def _refer(self, message: Message, request: int) -> None:
        """Record a regret for each lost fact that a message names, unless its text is still in the buffer."""
        text = used(message) if self._by_run else ""
        if not text:
            return
        named = self._named_in(text)
        calls = [(call, call_text(call)) for call in message.calls] if named else []
        for fact in sorted(named):
            loss = self._lost[fact]
            if loss.at.is_readable and not self._buffer.holds(fact):
                callers = (call for call, arguments in calls if _is_used(arguments, loss.fact))
                self._regret(loss, message, request, next(callers, None))
        self._forget(named)

    def _regret(self, loss: Loss, message: Message, request: int, caller: ToolCall | None) -> None:
        """Record that a message needs a lost fact. `caller`: its tool call that names the fact; None if none does."""
        how: How = "answer" if caller is None else "call"
        if message.role != "assistant":
            how = "user"
        if caller is not None and not writes(caller):
            self._reads.expect(caller.id, len(self._regrets))
        self._regrets.append(
            Regret(loss.fact, loss.at, needed_by=request, message=message.id, how=how)
        )

    def _follow(self, message: Message, number: int, request: int) -> None:
        """Record calls of a message that read removed content again, and the price of awaited results."""
        for call in message.calls:
            former = self._reads.call(call)
            if former is not None and former not in self._buffer and former in self._removed:
                removed_at = self._removed[former]
                regret = self._reread(call, at=removed_at, message=message, request=request)
                self._reads.expect(call.id, regret)
        result = message.result
        if result is not None:
            for regret in self._reads.answered(result.call_id, number, result.is_error):
                self._regrets[regret] = replace(
                    self._regrets[regret], price=self._price(message), result=message.id
                )

    def _reread(self, call: ToolCall, at: At, message: Message, request: int) -> int:
        """Return the index of the regret for content that is read again: that of its lost path, or a new regret."""
        target = read_by(call)
        for place in range(len(self._regrets) - 1, -1, -1):
            regret = self._regrets[place]
            if regret.message != message.id:
                break
            is_place = regret.fact.kind in ("path", "url") and regret.fact.text in target
            if is_place and not regret.repaired:
                self._regrets[place] = replace(regret, repaired=True)
                return place
        files = (name for name in names(target) if name.kind in ("path", "url"))
        fact = next(files, Fact("path", target))
        self._regrets.append(
            Regret(fact, at, needed_by=request, message=message.id, how="call", repaired=True)
        )
        return len(self._regrets) - 1


def _is_carried(carried: Mapping[Fact, Mapping[At, bool]], names: Iterable[Fact]) -> bool:
    """Was a fact with several names carried under one of the names at each step that removed it?"""
    by_step = defaultdict[At, list[bool]](list)
    for name in names:
        for at, is_carried in carried[name].items():
            by_step[at].append(is_carried)
    return all(map(any, by_step.values()))


class _Reads:
    """The latest result of each reading call. Reading a file that was written since then is not a regret."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._keys: dict[str, set[str]] = {}
        self._waiting: dict[str, str] = {}
        self._expected: dict[str, list[int]] = {}

    def call(self, call: ToolCall) -> int | None:
        """Record a call. Return the number of the message that answered the same call before; None if none did."""
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
        """Register that the result of this call is the price of a regret."""
        self._expected.setdefault(call_id, []).append(regret)

    def answered(self, call_id: str, number: int, is_error: bool) -> Sequence[int]:
        """Record a result. Return the indices of the regrets whose price it is."""
        key = self._waiting.pop(call_id, None)
        if key is not None and not is_error:
            self._last[key] = number
        return self._expected.pop(call_id, ())
