"""The usage (tokens) that the provider reported for one model call, and cache misses."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.quick import quick

MOST = 10**12
"""Tokens. No call, window or session has more, so a larger recorded count is an error."""
ABSURD = f"a count of more than {MOST:,} tokens cannot be right; the reported usage was left out"


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `input` is the uncached part only; `output` includes reasoning."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    output_is_final: bool = True
    """False if the transcript holds only the number from the start of the stream: `output` is then a lower bound."""
    context: int | None = None
    """The prompt size, if it is not the sum (a call with several iterations costs more than its context)."""
    cache_write_1h: int = 0
    """The part of `cache_write` that is kept for an hour; the remaining part is kept for five minutes."""
    compacted: int = 0
    """Tokens that the provider itself replaced by a summary inside the call, before the answer; 0 if it did not."""
    summary_output: int = 0
    """The part of `output` that this summary took."""
    by_others: tuple[tuple[str, "Usage"], ...] = ()
    """(model, usage) of other models inside the call, such as an advisor. The counts above include theirs."""

    @property
    def prompt(self) -> int:
        """Return the true prompt size: `context` if it is set, else input + cache read + cache write."""
        if self.context is not None:
            return self.context
        return self.input + self.cache_read + self.cache_write

    @property
    def cached(self) -> int:
        """Return the tokens of the prompt that the provider's cache holds after the call.

        These are the tokens read and written; all of the prompt if the provider caches automatically and reports no
        writes.
        """
        if not self.cache_write:
            return self.prompt
        return min(self.prompt, self.cache_read + self.cache_write)

    @property
    def cache_write_5m(self) -> int:
        """Return the part of `cache_write` that is kept for five minutes."""
        return self.cache_write - self.cache_write_1h


def without(usage: Usage, part: Usage) -> Usage:
    """Return the counts of a call minus those of a part of the call, none below zero."""
    names = ("input", "cache_read", "cache_write", "cache_write_1h", "output")
    left = {name: max(0, getattr(usage, name) - getattr(part, name)) for name in names}
    return replace(usage, **left)


MISSED, MISSED_SHARE = 5_000, 0.10


def cache_missed(before: Usage, now: Usage) -> int:
    """Return the tokens that the previous call left in the cache and this call did not read.

    0 unless they are a cache miss: more than 5,000, and more than a tenth of the cached tokens.
    """
    missed = before.cached - now.cache_read
    return missed if missed > MISSED and missed > MISSED_SHARE * before.cached else 0


def is_absurd(counts: Any) -> bool:
    """Does an object of counts (or one in it) hold a number that can be no count of tokens?"""
    if not isinstance(counts, dict | list):
        return False
    for value in counts.values() if isinstance(counts, dict) else counts:
        kind = type(value)
        if kind is int or kind is float:
            if not -MOST <= value <= MOST:
                return True
        elif (kind is dict or kind is list) and is_absurd(value):
            return True
    return False


def cache_written(tokens: int, ttl_s: int) -> Usage:
    """Return the usage of a call that writes `tokens` to the cache.

    They count as `cache_write_1h` only if `ttl_s` is an hour.
    """
    return Usage(cache_write=tokens, cache_write_1h=tokens if ttl_s == HOUR_S else 0)


FIVE_MINUTES_S, HOUR_S = 300, 3_600
"""Seconds after its last use at which an entry of a provider's cache expires."""


def cache_ttl(newest_first: Iterable[Usage | None]) -> int:
    """Return the seconds after which a session's cache entries expire, by the newest call that wrote any.

    Five minutes if no call did.
    """
    for usage in newest_first:
        if usage is not None and usage.cache_write:
            return HOUR_S if usage.cache_write_1h > usage.cache_write_5m else FIVE_MINUTES_S
    return FIVE_MINUTES_S
