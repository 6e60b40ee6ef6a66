"""Did a compaction pay? What it cost once (the call for the summary, the cache written anew) and what each later
request saved by sending less.

Compared with the same requests on the buffer that was not compacted, as if the window had no end: what was freed would
have been read from the cache by each of them, or written anew where the cache was lost anyway. A saving ends at the
next summary: that would have taken the same messages. Prices are those of each request's model, day and size. US
dollars throughout.
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
from inspector.core.usage import MINUTES
from inspector.core.words import plural

THRASH = 3
"""So many compactions in a row that did not pay are a warning."""


class CompactionStep(NamedTuple):
    """A compaction, recorded or simulated."""

    before_request: int
    ends: bool
    """A summary: what earlier compactions saved ends here."""
    freed: int
    """Tokens."""
    summary_usd: Decimal | None
    """Of the calls made for it; None where a price is not known."""
    inside: int = 0
    """Tokens before, of one that the provider made inside the call after it, whose price is among that call's."""
    inside_output: int = 0
    """Tokens of its summary."""


@dataclass(frozen=True, slots=True)
class Economics:
    """Of one compaction. None where a price is not known."""

    cost_usd: Decimal | None = None
    """Once: the calls for the summary, and what the next request paid more than it would have."""
    saved_per_request_usd: Decimal | None = None
    """By each later request, on average; where there is none, what one would have."""
    saved_usd: Decimal | None = None
    """By all of them."""
    paid_after_requests: int | None = None
    """Later requests until the savings reached the cost; None where they never did."""
    requests: int = 0
    """Later requests that could save."""

    @property
    def paid(self) -> bool | None:
        """Did it pay while the session lasted? None where nobody knows."""
        return None if self.cost_usd is None else self.paid_after_requests is not None


UNKNOWN = Economics()


def paid_words(after: int | None) -> str:
    """`paid after 16 requests`, `paid at once`, `never paid`."""
    if after is None:
        return "never paid"
    return f"paid after {plural(after, 'request')}" if after else "paid at once"


@dataclass(frozen=True, slots=True)
class Thrash:
    """Compactions in a row, none of which paid."""

    first: int
    """The request after the first of them."""
    last: int
    compactions: int


class _RequestPrice(NamedTuple):
    rates: Bill
    write: Decimal
    """A token that is not read from the cache."""
    lost: bool
    """What was sent before is not in the cache any more."""

    @property
    def gain(self) -> Decimal:
        """What it saves to send a token less."""
        return self.write if self.lost else self.rates.cache_read


def economics(
    thread: Thread, cache: Sequence[CacheFacts], spent: Sequence[Spending], steps: Sequence[CompactionStep]
) -> tuple[Economics, ...]:
    """Of each step, in their order. `spent`: what each request used. O(requests + steps x log requests)."""
    prices = _prices(thread, cache, spent) if steps else None
    if prices is None or not prices:
        return (UNKNOWN,) * len(steps)
    gains = [Decimal(0), *accumulate(price.gain for price in prices)]
    ends = sorted({step.before_request for step in steps if step.ends} | {len(spent)})
    together = dict[int, list[CompactionStep]]()
    for one in steps:
        together.setdefault(one.before_request, []).append(one)
    anew = {at: _written_anew(at, found, spent, prices) for at, found in together.items()}
    return tuple(_economics(step, together[step.before_request], anew, gains, ends, prices) for step in steps)


def _economics(
    step: CompactionStep,
    beside: Sequence[CompactionStep],
    anew: dict[int, Decimal],
    gains: Sequence[Decimal],
    ends: Sequence[int],
    prices: Sequence[_RequestPrice],
) -> Economics:
    if step.summary_usd is None:
        return UNKNOWN
    at, freed = step.before_request, max(0, step.freed)
    whole = sum(max(0, one.freed) for one in beside)
    share = Decimal(freed) / whole if whole else Decimal(1) / len(beside)
    once = step.summary_usd + anew[at] * share
    start, end = min(at + 1, len(prices)), next((one for one in ends if one > at), len(prices))
    later = max(0, end - start)
    saved = freed * (gains[end] - gains[start]) if later else Decimal(0)
    each = saved / later if later else freed * prices[min(at, len(prices) - 1)].rates.cache_read
    after = None
    if once <= 0:
        after = 0
    elif saved >= once:
        after = bisect_left(gains, gains[start] + once / freed, start, end) - start
    return Economics(max(Decimal(0), once), each, saved + max(Decimal(0), -once), after, later)


def _written_anew(
    at: int, steps: Sequence[CompactionStep], spent: Sequence[Spending], prices: Sequence[_RequestPrice]
) -> Decimal:
    """What the prompt of the request after it cost more than the one that was not compacted would have."""
    inside = max(step.inside for step in steps)
    if at >= len(spent) or not (at or inside):
        return Decimal(0)
    price, one = prices[at], spent[at]
    would = inside or one.prompt + max(0, sum(step.freed for step in steps))
    stood = min(spent[at - 1].prompt, would) if at else 0
    uncached = would if price.lost else would - stood
    summary, read = price.rates.output * max(step.inside_output for step in steps), price.rates.cache_read
    return summary + _prompt_usd(one, price.rates) - uncached * price.write - (would - uncached) * read


def _prompt_usd(one: Spending, price: Bill) -> Decimal:
    written = one.cache_write - one.cache_write_1h
    return (
        one.input * price.input
        + one.cache_read * price.cache_read
        + written * price.cache_write_5m
        + one.cache_write_1h * price.cache_write_1h
    )


def _prices(thread: Thread, cache: Sequence[CacheFacts], spent: Sequence[Spending]) -> list[_RequestPrice] | None:
    """At each request; None where one has no price."""
    found = list[_RequestPrice]()
    time, ttl_s = "", MINUTES
    for (request, model), known, one in zip(named_models(thread), cache, spent, strict=True):
        priced = rates(model, one.prompt, request.time)
        if priced is None and one.prompt:
            return None
        priced = priced or Bill()
        pause = seconds_between(time, request.time)
        lost = known.most is not None or not known.caches or (pause is not None and pause > ttl_s)
        write = priced.input if not known.caches else priced.written(known.ttl_s)
        found.append(_RequestPrice(priced, write, lost))
        time, ttl_s = request.time or time, known.ttl_s
    return found


def thrash(compactions: Sequence[tuple[int, Economics]]) -> tuple[Thrash, ...]:
    """Runs of at least `THRASH` compactions that did not pay, by (request after it, its economics). Those before one
    request count as one, and paid if one of them did."""
    places = dict[int, bool | None]()
    for at, one in compactions:
        places[at] = places.get(at, False) or one.paid
    found, run = list[Thrash](), list[int]()
    for at, paid in [*places.items(), (-1, None)]:
        if paid is False:
            run.append(at)
            continue
        if len(run) >= THRASH:
            found.append(Thrash(run[0], run[-1], len(run)))
        run = []
    return tuple(found)
