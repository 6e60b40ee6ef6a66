"""How large a held request is, before its provider says so: by what was reported and what has changed since.

A body holds all that the model reads, system prompt and tools too: all of it is counted, by a tokenizer, and nothing is
unseen. What another tokenizer makes of the same text is a factor (`core.tokens.prediction`), learned from what requests
have grown by; so the number reported last and the factor times the change of the count give the next one, be it larger
or, after a cut, much smaller. What a row that goes had weighed is known from the report that it came with.

The size of a held request is recorded with it (`predicted` of the Request): whoever reads the recording shows this one.
"""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import Any

from inspector.core.buffer import Buffer, Prompt
from inspector.core.tokens.estimators import estimator, weight
from inspector.core.tokens.prediction import Addition, Learner, Prediction, prior
from inspector.core.tokens.tokenizer import TokenizerRefused
from inspector.core.usage import Usage

_COUNTER = estimator("tiktoken")
_KEPT = 50_000
"""Messages whose count is remembered."""
_KNOWN = 3
"""Growths from which on they tell more than the whole of a body."""
_LEAST = 16
"""Tokens of growth below which a report says nothing of what has come."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A buffer by the tokenizer; `marks` stand for the prompt and each message, by what they say."""

    tokens: int
    marks: tuple[bytes, ...]
    sizes: tuple[int, ...]

    def extends(self, other: "TokenCount") -> bool:
        """Does it begin with all of the other?"""
        return self.marks[: len(other.marks)] == other.marks

    def goes_on_with(self, other: "TokenCount", answer: "TokenCount") -> bool:
        """Does the answer follow where the other ends, which it extends?"""
        said, at = answer.marks[1:], len(other.marks)
        return bool(said) and self.marks[at : at + len(said)] == said


NOTHING = TokenCount(0, (), ())


class TokenCounter:
    """Counts buffers, from any thread. What was counted once is known by what it says."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def __call__(self, buffer: Buffer) -> TokenCount:
        """System prompt, tools and messages."""
        prompt = buffer.prompt
        marks = [_mark((prompt.system, prompt.tools)), *(_mark((one.role, one.parts)) for one in buffer.messages)]
        with self._lock:
            known = {mark: self._known[mark] for mark in marks if mark in self._known}
        told = zip(marks[1:], buffer.messages, strict=True)
        new = {mark: weight(_COUNTER, one) for mark, one in told if mark not in known}
        if marks[0] not in known:
            new[marks[0]] = _prompt(prompt)
        with self._lock:
            self._known |= new
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        known |= new
        sizes = tuple(_COUNTER.tokens(known[mark]) for mark in marks)
        return TokenCount(sum(sizes), tuple(marks), sizes)


def _prompt(prompt: Prompt) -> int:
    try:
        return _COUNTER.weigh_prompt(prompt)
    except TokenizerRefused:
        return (len(prompt.system or "") + len(repr(prompt.tools))) // 4


def _mark(said: Any) -> bytes:
    return blake2b(repr(said).encode("utf-8", "replace"), digest_size=16).digest()


class SizeLearner:
    """What one conversation's provider has said so far. Changed on the proxy's loop only."""

    def __init__(self) -> None:
        self._last: TokenCount | None = None
        """The last request that was answered ..."""
        self._answer = NOTHING
        """... and what was said to it."""
        self._reported = 0
        self._model = ""
        self._learner = Learner(_COUNTER.name)
        self._grown = 0
        """So many reports outgrew the one before them."""
        self._factors: dict[bytes, float] = {}
        """Of rows of the last request, by the report that each came with."""

    def take(self, counted: TokenCount, usage: Usage, model: str, answer: TokenCount) -> None:
        """A request was answered, and its size reported."""
        if model != self._model:  # another tokenizer
            self._learner, self._last, self._grown = Learner(_COUNTER.name), None, 0
            self._factors = {}
        added = self._added(counted)
        self._grown += added.extends and self._last is not None and counted.tokens > self._last.tokens
        self._weigh(counted, usage.prompt)
        output = usage.output if usage.output_is_final else 0
        self._learner.report(added, usage.prompt, output, model, fresh=not added.extends)
        if counted.tokens:
            self._learner.expect(usage.prompt / counted.tokens)
        self._last, self._answer, self._reported, self._model = counted, answer, usage.prompt, model

    def _weigh(self, counted: TokenCount, reported: int) -> None:
        """What has come since the last report weighs what that has grown by. The first report says nothing of single
        rows: what no body holds (a provider's own words around tools) is in it.
        """
        last = self._last
        grown = 0 if last is None or not counted.extends(last) else counted.tokens - last.tokens
        factor = (reported - self._reported) / grown if grown >= _LEAST else 0.0
        if last is not None and 0.3 < factor / self.slope() < 3:  # else something came or went that is not in the body
            self._factors |= dict.fromkeys(counted.marks[len(last.marks) :], factor)
        self._factors = {mark: self._factors[mark] for mark in counted.marks if mark in self._factors}

    def _weighed(self, counted: TokenCount) -> float:
        """Tokens of the provider, as the rows that are known have weighed."""
        slope, known = self.slope(), self._factors
        return sum(size * known.get(mark, slope) for mark, size in zip(counted.marks, counted.sizes, strict=True))

    def goes_on_in(self, counted: TokenCount) -> bool:
        """Does that one begin with the last one that was answered?"""
        return self._last is not None and counted.extends(self._last)

    def slope(self) -> float:
        """Tokens of the provider for one of ours: by growth, else by the whole of the last request."""
        if self._last is None or not self._last.tokens or self._grown:
            return self._learner.slope()
        return self._reported / self._last.tokens

    def predict(self, counted: TokenCount, model: str, known: float | None = None) -> Prediction:
        """What the provider will report. `known`: its factor, as other conversations with the model have it.

        Before it has said anything what is counted is all there is; how far it may be from that, the family tells.
        """
        last = self._last if self._model == model else None
        if last is None:
            tokens = round((known or 1.0) * counted.tokens)
            family = tokens if known else round(prior(_COUNTER.name, model) * counted.tokens)
            return Prediction(tokens, min(tokens, family), max(tokens, family))
        added = self._added(counted)
        found = self._learner.predict(added) if added.extends and self._grown >= _KNOWN else None
        if found is not None:
            return found
        change = self._weighed(counted) - self._weighed(last)
        tokens, room = max(0, round(self._reported + change)), round(abs(change) * self._learner.spread())
        return Prediction(tokens, max(0, tokens - room), tokens + room)

    def _added(self, counted: TokenCount) -> Addition:
        if self._last is None or not counted.extends(self._last):
            return Addition(counted.tokens, False)
        is_told = counted.goes_on_with(self._last, self._answer)
        return Addition(counted.tokens, True, self._answer.tokens if is_told else 0)
