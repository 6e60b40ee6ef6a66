"""How large a held request is, before its provider says so: by what was reported and what has changed since.

A body holds all that the model reads, system prompt and tools too: all of it is counted, by a tokenizer. What another
tokenizer makes of the same text is a factor, learned from what requests have grown by; so the number reported last and
the factor times the change of the count give the next one, be it larger or (after a cut) much smaller.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from hashlib import blake2b
from statistics import median
from threading import Lock
from typing import Any

from inspector.core.buffer import Buffer, Prompt
from inspector.core.tokens.estimators import estimator, weight
from inspector.core.tokens.tokenizer import TokenizerRefused

_COUNTER = estimator("tiktoken")
_KEPT = 50_000
"""Messages whose count is remembered."""
_RATIOS = 16
_LEAST = 16
"""Tokens of growth below which a ratio says nothing."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A buffer by the tokenizer; `marks` stand for the prompt and each message, by what they say."""

    tokens: int
    marks: tuple[bytes, ...]

    def extends(self, other: "Counted") -> bool:
        """Does it begin with all of the other?"""
        return self.marks[: len(other.marks)] == other.marks


class Counts:
    """Counts buffers, from any thread. What was counted once is known by what it says."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def __call__(self, buffer: Buffer) -> Counted:
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
        return Counted(_COUNTER.tokens(sum(known[mark] for mark in marks)), tuple(marks))


def _prompt(prompt: Prompt) -> int:
    try:
        return _COUNTER.weigh_prompt(prompt)
    except TokenizerRefused:
        return (len(prompt.system or "") + len(repr(prompt.tools))) // 4


def _mark(said: Any) -> bytes:
    return blake2b(repr(said).encode("utf-8", "replace"), digest_size=16).digest()


@dataclass(slots=True)
class Learned:
    """What one conversation's provider has said so far."""

    counted: Counted | None = None
    """The last request that was answered ..."""
    reported: int = 0
    """... and its size by the provider; 0 where it never said."""
    model: str = ""
    ratios: deque[float] = field(default_factory=lambda: deque(maxlen=_RATIOS))
    """Reported growth over counted growth, newest last."""

    def take(self, counted: Counted, reported: int, model: str) -> None:
        """A request was answered, and its size told."""
        last = self.counted
        if model != self.model:
            self.ratios.clear()
        elif last is not None and counted.extends(last) and counted.tokens - last.tokens >= _LEAST:
            self.ratios.append((reported - self.reported) / (counted.tokens - last.tokens))
        self.counted, self.reported, self.model = counted, reported, model

    def goes_on_in(self, counted: Counted) -> bool:
        """Does that one begin with the last one that was answered?"""
        return self.counted is not None and counted.extends(self.counted)

    def slope(self, prior: float = 1.0) -> float:
        """Tokens of the provider for one of ours: by growth, else by the whole of the last request."""
        if self.ratios:
            return median(self.ratios)
        if self.counted is not None and self.counted.tokens:
            return self.reported / self.counted.tokens
        return prior


def predicted_tokens(learned: Learned, counted: Counted, model: str, prior: float = 1.0) -> int:
    """What the provider will report. `prior`: its factor as other conversations with the model have it."""
    if learned.counted is None or learned.model != model:
        return round(prior * counted.tokens)
    changed = counted.tokens - learned.counted.tokens
    return max(0, round(learned.reported + learned.slope(prior) * changed))
