"""Compute the cost of model calls in US dollars, by the price catalogue. An unknown model has no price."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from inspector.core.identity import SameObject
from inspector.core.session import Request, SideCall, Thread
from inspector.core.tokens.catalogue import priced_model
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage, cache_written, without

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice


@dataclass(frozen=True, slots=True)
class Bill:
    """US dollars by kind of token: the cost of one call or of several, or the price of one token of each kind."""

    input: Decimal = Decimal(0)
    """For tokens neither read from the cache nor written to it."""
    cache_read: Decimal = Decimal(0)
    cache_write_5m: Decimal = Decimal(0)
    cache_write_1h: Decimal = Decimal(0)
    output: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        """Return the sum over the kinds of tokens."""
        return (
            self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h + self.output
        )

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(*(getattr(self, name) + getattr(other, name) for name in BILL_KINDS))

    def times(self, usage: Usage) -> "Bill":
        """Return the cost of a usage at these prices per token."""
        return Bill(
            self.input * usage.input,
            cache_read=self.cache_read * usage.cache_read,
            cache_write_5m=self.cache_write_5m * usage.cache_write_5m,
            cache_write_1h=self.cache_write_1h * usage.cache_write_1h,
            output=self.output * usage.output,
        )

    def written(self, ttl_s: int) -> Decimal:
        """Return the amount for writes to the cache that are kept for `ttl_s` seconds."""
        return self.cache_write_1h if ttl_s == HOUR_S else self.cache_write_5m

    def rounded(self, places: int = 6) -> "Bill":
        """Return rounded amounts that sum to the rounded total; the difference goes to the largest amount."""
        amounts = {name: round(getattr(self, name), places) for name in BILL_KINDS}
        largest = max(amounts, key=lambda name: amounts[name])
        amounts[largest] += round(self.total, places) - sum(amounts.values(), Decimal(0))
        return Bill(**amounts)


BILL_KINDS = tuple(field.name for field in fields(Bill))


def billed(model: str, usage: Usage, time: str = "") -> Bill | None:
    """Return the cost of one call at the prices of its time (ISO 8601; empty: today). None if there is no price.

    Reads from the cache, writes to it, and writes for an hour have separate prices. The usage of other models inside
    the call is billed at their prices.
    """
    if usage.by_others:
        return _bill_apart(model, usage, time)
    counts = (
        usage.input,
        usage.cache_read,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.output,
    )
    if not any(counts):
        return Bill()
    price = _price(model, time)
    if price is None or min(counts) < 0:  # negative numbers are errors of the file
        return None
    each = _rates(price, _size(price, usage.input + usage.cache_read + usage.cache_write))
    return each.times(usage) if each is not None else _shared_out(price.held, usage)


def _bill_apart(model: str, usage: Usage, time: str) -> Bill | None:
    """Return the cost of one call in which several models took part, each at its own prices."""
    own = usage
    bill = Bill()
    for other, used in usage.by_others:
        own = without(own, used)
        priced = billed(other, used, time)
        if priced is None:
            return None
        bill += priced
    rest = billed(model, replace(own, by_others=()), time)
    return None if rest is None else bill + rest


def call_cost(model: str, usage: Usage, time: str = "") -> Decimal | None:
    """Return the total cost of one call; None if there is no price."""
    bill = billed(model, usage, time)
    return None if bill is None else bill.total


def rates(model: str, prompt: int, time: str = "") -> Bill | None:
    """Return the prices per token for a prompt of `prompt` tokens at a time. None if one kind of token has no price."""
    price = _price(model, time)
    return None if price is None else _rates(price, _size(price, max(0, prompt)))


def _price(model: str, time: str) -> SameObject | None:
    priced = priced_model(model) if model else None
    return None if priced is None else SameObject(priced[1].get_prices(_moment(time)))


def _moment(time: str) -> datetime:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return datetime.now(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _size(same: SameObject, prompt: int) -> int:
    """Return a rounded prompt size with the same prices per token, because prices may depend on the size."""
    starts = _starts(same)
    at = bisect_left(starts, prompt)
    below = starts[at - 1] if at else 0
    size = below // 1000 * 1000 + 1000
    return size if at == len(starts) or size <= starts[at] else prompt


@cache
def _starts(same: SameObject) -> tuple[int, ...]:
    """Return the prompt sizes above which another price applies, in ascending order."""
    from genai_prices.types import TieredPrices

    tiered = [prices for prices in vars(same.held).values() if isinstance(prices, TieredPrices)]
    return tuple(sorted({tier.start for prices in tiered for tier in prices.tiers}))


@cache
def _rates(same: SameObject, size: int) -> Bill | None:
    """Return the prices per token at a prompt size that is a multiple of 1,000. None if one kind has no constant price.

    Cached by size: the catalogue takes 0.15 ms for each, and a session may have tens of thousands of calls.
    """
    if size % 1000:
        return None
    plain = _asked(same.held, Usage(input=size))
    read = _asked(same.held, Usage(cache_read=size))
    write = _asked(same.held, cache_written(size, FIVE_MINUTES_S))
    write_1h = _asked(same.held, cache_written(size, HOUR_S))
    answered = _asked(same.held, Usage(input=size, output=1000))
    if plain is None or read is None or write is None or write_1h is None or answered is None:
        return None
    return Bill(
        plain / size,
        cache_read=read / size,
        cache_write_5m=write / size,
        cache_write_1h=write_1h / size,
        output=(answered - plain) / 1000,
    )


def _asked(price: "ModelPrice", usage: Usage) -> Decimal | None:
    from genai_prices import Usage as Priced

    try:
        calls = Priced(
            input_tokens=usage.input
            + usage.cache_read
            + usage.cache_write,  # this package includes the cache
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            cache_write_1h_tokens=usage.cache_write_1h,
            output_tokens=usage.output,
        )
        return price.calc_price(calls)["total_price"]
    except ValueError:  # impossible numbers, or a kind of token without a price
        return None


def _shared_out(price: "ModelPrice", usage: Usage) -> Bill | None:
    """Return the cost of a call, divided among the kinds of tokens in proportion to the cost of each kind alone.

    Used if a kind of token has no separate price, or its price depends on the call.
    """
    whole = _asked(price, usage)
    if whole is None:
        return None
    kinds = (
        Usage(input=usage.input),
        Usage(cache_read=usage.cache_read),
        cache_written(usage.cache_write_5m, FIVE_MINUTES_S),
        cache_written(usage.cache_write_1h, HOUR_S),
        Usage(output=usage.output),
    )
    alone = [_asked(price, kind) or Decimal(0) for kind in kinds]
    together = sum(alone, Decimal(0)) or Decimal(1)
    others = [whole * price_alone / together for price_alone in alone[1:]]
    return Bill(whole - sum(others, Decimal(0)), *others)


def named_models(thread: Thread, start: int = 0) -> Iterator[tuple[Request, str]]:
    """Yield (request, model) from request `start` on; the model is that of the previous request if none is recorded."""
    requests = thread.requests
    earlier = (requests[at].model for at in range(start - 1, -1, -1))
    model = next(filter(None, earlier), thread.model)
    for request in requests[start:] if start else requests:
        model = request.model or model
        yield request, model


def side_model(call: SideCall, thread: Thread) -> str:
    """Return the model of a side call, or that of the request before it if none is recorded."""
    if call.model:
        return call.model
    for request in reversed(thread.requests[: call.before_request]):
        if request.model:
            return request.model
    return thread.model


def sum_prices(prices: Iterable[Decimal | None]) -> Decimal | None:
    """Return the sum; None if one price is not known."""
    total = Decimal(0)
    for price in prices:
        if price is None:
            return None
        total += price
    return total


def price_resent(
    usage: Usage, model: str, time: str, tokens: int
) -> tuple[Decimal | None, Decimal | None]:
    """Return (cost of `tokens` not read from the cache, what reading them would have saved), in US dollars."""
    bill = billed(model, usage, time)
    read = billed(model, Usage(cache_read=usage.prompt), time)
    uncached = usage.input + usage.cache_write
    if bill is None or read is None:
        return None, None
    if not uncached or not usage.prompt:
        return Decimal(0), Decimal(0)
    usd = (bill.input + bill.cache_write_5m + bill.cache_write_1h) * tokens / uncached
    return usd, usd - read.total * tokens / usage.prompt
