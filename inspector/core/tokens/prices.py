"""What model calls cost, by the price catalogue. An unknown model has no price, never a guessed one."""

from datetime import UTC, datetime
from decimal import Decimal

from inspector.core.session import Thread
from inspector.core.tokens.catalogue import priced_model
from inspector.core.usage import Usage


def cost(model: str, usage: Usage, time: str = "") -> Decimal | None:
    """US dollars of one call at the prices of its time (ISO 8601; empty = today's). None where there is no price.

    Reads from and writes to the cache have prices of their own; cache writes are taken as the short-lived kind.
    """
    if not (usage.input or usage.cache_read or usage.cache_write or usage.output):
        return Decimal(0)
    found = priced_model(model) if model else None
    if found is None:
        return None
    from genai_prices import Usage as Priced

    provider, known = found
    try:
        calls = Priced(
            input_tokens=usage.input + usage.cache_read + usage.cache_write,  # theirs includes the cache
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            output_tokens=usage.output,
        )
        price = known.calc_price(calls, provider, genai_request_timestamp=_moment(time))
    except ValueError:  # numbers that no provider can have meant, or a kind of use without a price
        return None
    return price.total_price


def _moment(time: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def thread_cost(thread: Thread) -> Decimal | None:
    """US dollars of all calls of a thread, each once. None where one of them has no price."""
    total, model = Decimal(0), thread.model
    for request in thread.requests:
        model = request.model or model
        if request.usage is None:
            continue
        price = cost(model, request.usage, request.time)
        if price is None:
            return None
        total += price
    return total
