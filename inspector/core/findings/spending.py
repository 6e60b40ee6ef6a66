"""What a session cost, request by request and by kind of token, at the prices of each call's day; and what it would
have cost if the cache had been written for another time. US dollars.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal

from inspector.core.session import Request, Session, SideCall, Thread, seconds_between
from inspector.core.tokens.prices import Rates, named_models, parts, side_model
from inspector.core.usage import HOUR, MINUTES, Usage, cache_written


@dataclass(frozen=True, slots=True)
class Bill:
    """Of one request or of many: US dollars by kind of token."""

    input: Decimal = Decimal(0)
    """Neither read from the cache nor written to it."""
    cache_read: Decimal = Decimal(0)
    cache_write_5m: Decimal = Decimal(0)
    cache_write_1h: Decimal = Decimal(0)
    output: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        """The sum of the parts."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h + self.output

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(*(getattr(self, name) + getattr(other, name) for name in BILL_KINDS))

    def rounded(self, places: int = 6) -> "Bill":
        """As the total rounds: what rounding leaves over is the largest part's."""
        found = {name: round(getattr(self, name), places) for name in BILL_KINDS}
        largest = max(found, key=lambda name: found[name])
        found[largest] += round(self.total, places) - sum(found.values(), Decimal(0))
        return Bill(**found)


BILL_KINDS = tuple(one.name for one in fields(Bill))


def billed(model: str, usage: Usage | None, time: str) -> Bill | None:
    """What a call cost; None where its model has no price."""
    found = Rates() if usage is None else parts(model, usage, time)
    return None if found is None else Bill(*found)


def thread_bills(thread: Thread) -> tuple[Bill | None, ...]:
    """Of each request."""
    return tuple(billed(model, request.usage, request.time) for request, model in named_models(thread))


def calls_beside(session: Session) -> Mapping[str, Sequence[SideCall]]:
    """The calls beside the threads that report what they used, by the id of the thread that they were made for; "" for
    those of which nothing tells. O(calls + threads)."""
    found: dict[str, list[SideCall]] = {name: [] for name in ("", *(one.id for one in session.threads))}
    for call in session.side_calls:
        if call.usage:
            found[call.thread if call.thread in found else ""].append(call)
    return found


def beside_bills(calls: Iterable[SideCall], thread: Thread) -> tuple[Bill | None, ...]:
    """Of calls beside a thread."""
    return tuple(billed(side_model(one, thread), one.usage, one.time) for one in calls)


def sum_bills(bills: Iterable[Bill | None]) -> Bill | None:
    """Together; None where one has no price."""
    whole = dict.fromkeys(BILL_KINDS, Decimal(0))
    for one in bills:
        if one is None:
            return None
        for name in BILL_KINDS:
            whole[name] += getattr(one, name)
    return Bill(**whole)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The whole session with another choice."""

    name: str
    usd: Decimal
    """What it would have cost."""
    saved_usd: Decimal
    """Below zero: it would have cost more."""


def what_ifs(threads: Iterable[Thread], whole: Bill) -> tuple[WhatIf, ...]:
    """The cache written for an hour, for five minutes; `whole`: the bill as it is. None where nothing was written to
    a cache, or a price is not known. By the recorded pauses: an entry lives for its time after its last use; what a
    longer life would have kept is read instead of written, what a shorter one loses is written instead of read."""
    listed = list(threads)
    if not any(request.usage and request.usage.cache_write for thread in listed for request in thread.requests):
        return ()
    spent = sum_bills(one for thread in listed for one in thread_bills(thread))
    if spent is None:
        return ()
    found = []
    for name, ttl_s in (("1h cache writes", HOUR), ("5m cache writes", MINUTES)):
        other = sum_bills(
            billed(model, usage, request.time)
            for thread in listed
            for request, model, usage in _with_ttl(thread, ttl_s)
        )
        if other is not None:
            saved = spent.total - other.total
            found.append(WhatIf(name, whole.total - saved, saved))
    return tuple(found)


def _with_ttl(thread: Thread, ttl_s: int) -> Iterator[tuple[Request, str, Usage]]:
    """Every request with usage, and what it would have used if all that is written lived that long."""
    before: Request | None = None
    for request, model in named_models(thread):
        usage = request.usage
        if usage is None:
            continue
        read = usage.cache_read
        if before is not None and before.usage is not None:
            pause = seconds_between(before.time, request.time)
            stood = min(before.usage.prompt, usage.prompt)
            if pause is not None and pause > MINUTES:
                lived = pause <= written_ttl(thread, before.index, max(stood - read, 1))
                if lived and pause > ttl_s:
                    read = 0
                elif not lived and pause <= ttl_s:
                    read = max(read, min(stood, read + usage.cache_write))
        written = usage.cache_write + usage.cache_read - read
        new = cache_written(written, ttl_s)
        yield request, model, replace(usage, cache_read=read, cache_write=written, cache_write_1h=new.cache_write_1h)
        before = request


def written_ttl(thread: Thread, index: int, tokens: int) -> int:
    """Seconds that the last so many tokens live that were written up to a request: by the newest writes that come to
    them, five minutes where more than half of them were written for that."""
    short = long = 0
    for at in range(index, -1, -1):
        usage = thread.requests[at].usage
        if usage is not None:
            short, long = short + usage.cache_write_5m, long + usage.cache_write_1h
        if short + long >= tokens:
            break
    return HOUR if long > short else MINUTES
