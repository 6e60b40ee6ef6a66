"""What model calls cost, by the price catalogue. An unknown model has no price, never a guessed one."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from inspector.core.identity import SameObject
from inspector.core.session import Request, SideCall, Thread
from inspector.core.tokens.catalogue import priced_model
from inspector.core.usage import HOUR, MINUTES, Usage, cache_written

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice


def cost(model: str, usage: Usage, time: str = "") -> Decimal | None:
    """US dollars of one call at the prices of its time (ISO 8601; empty = today's). None where there is no price.

    Reads from and writes to the cache have prices of their own, and so has what is written for an hour.
    """
    if not (usage.input or usage.cache_read or usage.cache_write or usage.output):
        return Decimal(0)
    found = priced_model(model) if model else None
    if found is None:
        return None
    _, known = found
    price = known.get_prices(_moment(time) or datetime.now(UTC))
    prompt = usage.input + usage.cache_read + usage.cache_write
    counts = (usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output)
    if min(counts) < 0:
        return None  # numbers that no provider can have meant
    same = SameObject(price)
    priced = _rates(same, _size(same, prompt))
    if priced is None:
        return _asked(price, usage)
    return sum((rate * count for rate, count in zip(priced, counts, strict=True)), Decimal(0))


class Rates(NamedTuple):
    """US dollars a token."""

    fresh: Decimal = Decimal(0)
    """Neither read from the cache nor written to it."""
    read: Decimal = Decimal(0)
    write: Decimal = Decimal(0)
    """For five minutes."""
    write_1h: Decimal = Decimal(0)
    output: Decimal = Decimal(0)

    def written(self, ttl_s: int) -> Decimal:
        """Into the cache, to live so long."""
        return self.write_1h if ttl_s == HOUR else self.write


def rates(model: str, prompt: int, time: str = "") -> Rates | None:
    """What a token more of a prompt of that size costs at that time. None where `cost` knows no price either, and where
    one kind of token has none."""
    found = priced_model(model) if model else None
    if found is None:
        return None
    same = SameObject(found[1].get_prices(_moment(time) or datetime.now(UTC)))
    return _rates(same, _size(same, max(0, prompt)))


def _size(same: SameObject, prompt: int) -> int:
    """A prompt of round size that costs as much a token as this one: prices may change with its size."""
    starts = _starts(same)
    at = bisect_left(starts, prompt)
    below = starts[at - 1] if at else 0
    size = below // 1000 * 1000 + 1000
    return size if at == len(starts) or size <= starts[at] else prompt


@cache
def _starts(same: SameObject) -> tuple[int, ...]:
    """Sizes of the prompt above which another price holds, ascending."""
    from genai_prices.types import TieredPrices

    tiered = [one for one in vars(same.held).values() if isinstance(one, TieredPrices)]
    return tuple(sorted({tier.start for one in tiered for tier in one.tiers}))


@cache
def _rates(same: SameObject, size: int) -> Rates | None:
    """At that size of the prompt. Exact where the size is round.

    The catalogue is asked for each once: that takes 0.15 ms, and a session has tens of thousands of calls. None where
    one of them has no price: then it depends on the call.
    """
    if size % 1000:
        return None
    fresh, more = Usage(input=size), Usage(input=size, output=1000)
    calls = (fresh, Usage(cache_read=size), cache_written(size, MINUTES), cache_written(size, HOUR), more)
    asked = [_asked(same.held, one) for one in calls]
    found = [one for one in asked if one is not None]
    if len(found) < len(asked):
        return None
    plain, read, write, write_1h, answered = found
    return Rates(plain / size, read / size, write / size, write_1h / size, (answered - plain) / 1000)


def _asked(price: "ModelPrice", usage: Usage) -> Decimal | None:
    from genai_prices import Usage as Priced

    try:
        calls = Priced(
            input_tokens=usage.input + usage.cache_read + usage.cache_write,  # theirs includes the cache
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            cache_write_1h_tokens=usage.cache_write_1h,
            output_tokens=usage.output,
        )
        return price.calc_price(calls)["total_price"]
    except ValueError:  # numbers that no provider can have meant, or a kind of use without a price
        return None


def parts(model: str, usage: Usage, time: str = "") -> Rates | None:
    """What each kind of token of a call cost: US dollars, of the call and not of a token; they add up to `cost`."""
    kinds = (
        Usage(input=usage.input),
        Usage(cache_read=usage.cache_read),
        cache_written(usage.cache_write_5m, MINUTES),
        cache_written(usage.cache_write_1h, HOUR),
        Usage(output=usage.output),
    )
    whole = cost(model, usage, time)
    if whole is None:
        return None
    prompt = usage.input + usage.cache_read + usage.cache_write
    if (price := rates(model, prompt, time)) is not None:
        counts = (usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output)
        fresh, read, write, write_1h, output = (rate * count for rate, count in zip(price, counts, strict=True))
        return Rates(fresh, read, write, write_1h, output)
    return _shared_out(whole, [cost(model, one, time) for one in kinds])


def _shared_out(whole: Decimal, each: Sequence[Decimal | None]) -> Rates:
    """Where a kind of token has no price of its own, or the price depends on the call: in the same proportion."""
    known = [one or Decimal(0) for one in each]
    together = sum(known, Decimal(0)) or Decimal(1)
    found = [whole * one / together for one in known]
    found[0] += whole - sum(found, Decimal(0))
    fresh, read, write, write_1h, output = found
    return Rates(fresh, read, write, write_1h, output)


def _moment(time: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def named_models(thread: Thread) -> Iterator[tuple[Request, str]]:
    """Each request with its model: where it names none, that of the one before."""
    model = thread.model
    for request in thread.requests:
        model = request.model or model
        yield request, model


def side_model(call: SideCall, thread: Thread) -> str:
    """The model of a call beside a thread: where it names none, that of the request before it."""
    if call.model:
        return call.model
    before = range(min(call.before_request, len(thread.requests)) - 1, -1, -1)
    return next((model for n in before if (model := thread.requests[n].model)), thread.model)


def sum_prices(prices: Iterable[Decimal | None]) -> Decimal | None:
    """Together; None where one is not known."""
    listed = list(prices)
    known = [price for price in listed if price is not None]
    return sum(known, Decimal(0)) if len(known) == len(listed) else None
