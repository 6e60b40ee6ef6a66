"""Compute whether a compaction paid for itself.

Its one-time cost (the summary call and the cache writes) is compared with the savings of every later request, which
sends fewer tokens.

The comparison is with the same requests on a buffer that was not compacted, as if the window had no limit: each request
would have read the freed tokens from the cache, or written them again if the cache had expired in any case. Savings end
at the next summary, which would have removed the same messages. Prices are those of each request's model, day and size.
All amounts are in US dollars.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

from inspector.core.replay.costs import CacheFacts, Spending
from inspector.core.session import Thread, seconds_between
from inspector.core.tokens.prices import Bill, named_models, rates
from inspector.core.usage import FIVE_MINUTES_S
from inspector.core.words import plural

THRASH = 3
"""A warning is shown from this many consecutive compactions on that did not pay for themselves."""


class CompactionStep(NamedTuple):
    """A compaction, recorded or simulated."""

    before_request: int
    ends: bool
    """True for a summary, which ends the savings of earlier compactions."""
    freed: int
    """Tokens freed by the compaction."""
    summary_usd: Decimal | None
    """Cost of the summary calls; None if a price is not known."""
    inside: int = 0
    """Tokens of the buffer before a compaction that the provider made during the next request, whose price includes the
    compaction; 0 for any other compaction."""
    inside_output: int = 0
    """Tokens of the summary that the provider made during the next request; 0 for any other compaction."""


@dataclass(frozen=True, slots=True)
class Economics:
    """The cost and the savings of one compaction. Amounts are None if a price is not known."""

    cost_usd: Decimal | None = None
    """The one-time cost: the summary calls, and the extra cost of the next request."""
    saved_per_request_usd: Decimal | None = None
    """Average saving of a later request; if there is no later request, what one would save."""
    saved_usd: Decimal | None = None
    """Savings of all later requests."""
    paid_after_requests: int | None = None
    """Number of later requests until the savings reached the cost; None if they never did."""
    requests: int = 0
    """Number of later requests, up to the next summary."""

    @property
    def paid(self) -> bool | None:
        """Did the compaction pay for itself in this session? None if a price is not known."""
        return None if self.cost_usd is None else self.paid_after_requests is not None


UNKNOWN = Economics()


def paid_words(after: int | None) -> str:
    """Describe when a compaction paid for itself: `paid after 16 requests`, `paid at once`, `never paid`."""
    if after is None:
        return "never paid"
    return f"paid after {plural(after, 'request')}" if after else "paid at once"


@dataclass(frozen=True, slots=True)
class Thrash:
    """Consecutive compactions of which none paid for itself."""

    first: int
    """Index of the request after the first of these compactions."""
    last: int
    compactions: int


class _RequestPrice(NamedTuple):
    rates: Bill
    write: Decimal
    """Price of a token that is not read from the cache, in US dollars."""
    lost: bool
    """True if the previous request is no longer in the cache."""

    @property
    def gain(self) -> Decimal:
        """Return the saving, in US dollars, of sending one token fewer."""
        return self.write if self.lost else self.rates.cache_read


def economics(
    thread: Thread,
    cache: Sequence[CacheFacts],
    spent: Sequence[Spending],
    steps: Sequence[CompactionStep],
) -> tuple[Economics, ...]:
    """Return the economics of each step, in the order of `steps`. O(requests + steps x log requests).

    Args:
        thread: The thread.
        cache: The provider's cache at each request.
        spent: Tokens and cost of each request.
        steps: The compactions.
    """
    prices = _prices(thread, cache, spent) if steps else None
    if prices is None or not prices:
        return (UNKNOWN,) * len(steps)
    gains = [Decimal(0), *accumulate(price.gain for price in prices)]
    ends = sorted({step.before_request for step in steps if step.ends} | {len(spent)})
    together = dict[int, list[CompactionStep]]()
    for step in steps:
        together.setdefault(step.before_request, []).append(step)
    extra = {
        at: _extra_cost(at, steps_there, spent, prices) for at, steps_there in together.items()
    }
    return tuple(
        _economics(
            step,
            beside=together[step.before_request],
            extra=extra,
            gains=gains,
            ends=ends,
            prices=prices,
        )
        for step in steps
    )


def _economics(
    step: CompactionStep,
    beside: Sequence[CompactionStep],
    extra: dict[int, Decimal],
    gains: Sequence[Decimal],
    ends: Sequence[int],
    prices: Sequence[_RequestPrice],
) -> Economics:
    """Return the economics of a step. `beside`: all steps before the same request; they share the extra cost."""
    if step.summary_usd is None:
        return UNKNOWN
    at = step.before_request
    freed = max(0, step.freed)
    freed_together = sum(max(0, other.freed) for other in beside)
    share = Decimal(freed) / freed_together if freed_together else Decimal(1) / len(beside)
    cost = step.summary_usd + extra[at] * share
    start = min(at + 1, len(prices))
    end = next((place for place in ends if place > at), len(prices))
    later_count = max(0, end - start)
    if later_count:
        saved = freed * (gains[end] - gains[start])
        saved_each = saved / later_count
    else:
        saved = Decimal(0)
        nearest_price = prices[min(at, len(prices) - 1)]
        saved_each = freed * nearest_price.rates.cache_read
    paid_after = None
    if cost <= 0:
        paid_after = 0
    elif saved >= cost:
        gain_at_break_even = gains[start] + cost / freed
        paid_after = bisect_left(gains, gain_at_break_even, start, end) - start
    return Economics(
        max(Decimal(0), cost),
        saved_per_request_usd=saved_each,
        saved_usd=saved + max(Decimal(0), -cost),
        paid_after_requests=paid_after,
        requests=later_count,
    )


def _extra_cost(
    at: int,
    steps: Sequence[CompactionStep],
    spent: Sequence[Spending],
    prices: Sequence[_RequestPrice],
) -> Decimal:
    """Return the extra cost of the next request's prompt, in US dollars, caused by the compactions before it."""
    inside = max(step.inside for step in steps)
    if at >= len(spent) or not (at or inside):
        return Decimal(0)
    price = prices[at]
    request = spent[at]
    freed = max(0, sum(step.freed for step in steps))
    uncompacted = inside or request.prompt + freed
    in_cache = min(spent[at - 1].prompt, uncompacted) if at else 0
    uncached = uncompacted if price.lost else uncompacted - in_cache
    summary = price.rates.output * max(step.inside_output for step in steps)
    without = uncached * price.write + (uncompacted - uncached) * price.rates.cache_read
    return summary + _prompt_usd(request, price.rates) - without


def _prompt_usd(request: Spending, price: Bill) -> Decimal:
    written = request.cache_write - request.cache_write_1h
    return (
        request.input * price.input
        + request.cache_read * price.cache_read
        + written * price.cache_write_5m
        + request.cache_write_1h * price.cache_write_1h
    )


def _prices(
    thread: Thread, cache: Sequence[CacheFacts], spent: Sequence[Spending]
) -> list[_RequestPrice] | None:
    """Return the prices at each request; None if a request has no price."""
    prices = list[_RequestPrice]()
    time = ""
    ttl_s = FIVE_MINUTES_S
    for (request, model), facts, spending in zip(named_models(thread), cache, spent, strict=True):
        priced = rates(model, spending.prompt, request.time)
        if priced is None and spending.prompt:
            return None
        priced = priced or Bill()
        pause = seconds_between(time, request.time)
        is_expired = pause is not None and pause > ttl_s
        lost = facts.most is not None or not facts.caches or is_expired
        write = priced.input if not facts.caches else priced.written(facts.ttl_s)
        prices.append(_RequestPrice(priced, write, lost))
        time = request.time or time
        ttl_s = facts.ttl_s
    return prices


def thrash(compactions: Sequence[tuple[int, Economics]]) -> tuple[Thrash, ...]:
    """Find runs of at least `THRASH` compactions that did not pay for themselves.

    Compactions before the same request count as one, which paid if any of them did.

    Args:
        compactions: (request after the compaction, its economics), in order.
    """
    places = dict[int, bool | None]()
    for at, known_economics in compactions:
        places[at] = places.get(at, False) or known_economics.paid
    runs: list[list[int]] = [[]]
    for at, paid in places.items():
        if paid is False:
            runs[-1].append(at)
        else:
            runs.append([])
    return tuple(Thrash(run[0], run[-1], len(run)) for run in runs if len(run) >= THRASH)
