"""The provider of the demonstration: what it would have counted and reported, cache reads and writes included.

Its tokenizer is not ours: it counts by o200k_base, then makes code, prose and Chinese denser or thinner, each message
a little differently, as a foreign tokenizer would look from here. So that estimators have something to learn.
"""

from collections.abc import Mapping
from typing import Any

from sample.dice import Dice

from inspector.core.tokens.counted import count_tokens

PROMPT = 18_236
"""System prompt and tools, which no transcript of this format holds."""
SHARED = 14_982
"""Of that, what other sessions had already put into the cache."""
DENSITY = {"code": 118, "prose": 109, "chinese": 96, "table": 121}
"""Percent of o200k_base."""
LEAST_WRITE = 3


def tokens_of(text: str, dice: Dice, kind: str = "") -> int:
    """Tokens of one message."""
    percent = DENSITY[kind or kind_of(text)] + dice.between(-4, 4)
    return count_tokens(text, "o200k_base") * percent // 100 + 6


def kind_of(text: str) -> str:
    """A rough kind by what the text is made of."""
    sample = text[:4_000]
    if sum(char > "\u2e80" for char in sample) * 8 > len(sample):
        return "chinese"
    if sum(char.isdigit() for char in sample) * 5 > len(sample):
        return "table"
    return "prose" if sum(char in "{}()=_→" for char in sample) * 50 < len(sample) else "code"


class Meter:
    """Context and cache of one agent's calls."""

    def __init__(self, prompt: int, shared: int) -> None:
        self._prompt, self._shared = prompt, shared
        self.context = prompt
        self._cached = shared
        self._new = prompt - shared

    def add(self, tokens: int) -> None:
        """Something new at the end of the buffer."""
        self.context += tokens
        self._new += tokens

    def forget(self) -> None:
        """The cache has run out."""
        self._cached, self._new = self._shared, self.context - self._shared

    def compact(self, kept: int) -> None:
        """The buffer is replaced by `kept` tokens."""
        self.context = self._prompt + kept
        self.forget()

    def call(self, output: int, dice: Dice) -> dict[str, Any]:
        """Usage of a call; what it wrote is in the cache from now on."""
        fresh = min(dice.between(LEAST_WRITE, 11), self._new)
        written = self._new - fresh
        usage = _usage(fresh, self._cached, written, output)
        self._cached, self._new = self.context - fresh, fresh
        return usage


def _usage(fresh: int, read: int, written: int, output: int) -> dict[str, Any]:
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def at_start(usage: Mapping[str, Any], output: int) -> dict[str, Any]:
    """Usage as it stands on the lines that were written before the answer was complete."""
    return {**usage, "output_tokens": min(output, usage["output_tokens"])}
