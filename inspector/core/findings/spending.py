"""What a session cost: the bill, call by call and by kind of token at the prices of each call's day; its cache breaks,
its compactions, and what the cache written for another time would have cost. US dollars.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from inspector.core.findings.breaks import Rebilling, avoidable, cache_breaks, last_written_ttl
from inspector.core.identity import SameObject
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import Thrash, thrash
from inspector.core.replay.report import Compacted, recorded
from inspector.core.session import Request, Session, SideCall, Thread, seconds_between
from inspector.core.tokens.prices import BILL_KINDS, Bill, billed, named_models, side_model, sum_prices
from inspector.core.usage import HOUR, MINUTES, Usage, cache_written
from inspector.core.words import dollars, plural


class Subtotal(NamedTuple):
    """The calls with a price together, and how many have none."""

    usd: Decimal
    unpriced: int
    """Calls that report usage and have no price."""


@dataclass(frozen=True, slots=True)
class ThreadBill:
    """What the calls of a thread cost."""

    thread: Thread
    bills: tuple[Bill | None, ...]
    """Of each request; None where its model has no price."""
    calls: tuple[SideCall, ...]
    """Beside them, that report what they used: a title, a recorded call for a summary."""
    beside: tuple[Bill | None, ...]
    """Of each of these."""

    @property
    def bill(self) -> Bill | None:
        """Of all calls that report what they used; None where one has no price."""
        return sum_bills((*self.bills, *self.beside))

    @property
    def subtotal(self) -> Subtotal:
        """What is known of the cost, whatever has a price."""
        return sum_known((*self.bills, *self.beside))

    @property
    def used(self) -> list[Usage]:
        """Of each call that reports it."""
        told = (*(request.usage for request in self.thread.requests), *(call.usage for call in self.calls))
        return [usage for usage in told if usage]

    @property
    def output_is_final(self) -> bool:
        """Does no usage stand for an answer that was still being written?"""
        return all(usage.output_is_final for usage in self.used)


@dataclass(frozen=True, slots=True)
class ThreadCost(ThreadBill):
    """With what of it was avoidable."""

    breaks: tuple[Rebilling, ...]
    compactions: tuple[Compacted, ...]
    thrash: tuple[Thrash, ...]
    estimated: Decimal | None
    """About what those calls cost besides that no usage tells of: requests, and calls for summaries."""
    compared: Decimal | None
    """What comparisons of policies count for the thread as recorded: its requests and the calls for its summaries, the
    estimated ones included, titles and other side calls left out."""


@dataclass(frozen=True, slots=True)
class SessionCost:
    """Of some threads of a session. US dollars."""

    threads: tuple[ThreadCost, ...]
    nobodys: ThreadBill | None
    """Calls beside them, of which nothing tells for whom they were made."""
    bill: Bill | None
    """Of all calls that report what they used; None where one has no price."""
    what_ifs: tuple["WhatIf", ...]

    @property
    def bills(self) -> tuple[ThreadBill, ...]:
        """All that the bill is made of."""
        return self.threads if self.nobodys is None else (*self.threads, self.nobodys)

    @property
    def beside(self) -> Decimal | None:
        """Of the bill, for the calls beside the conversation."""
        found = sum_bills(one for bill in self.bills for one in bill.beside)
        return None if found is None else found.total

    @property
    def estimated(self) -> Decimal | None:
        """Of all threads."""
        return sum_prices(thread.estimated for thread in self.threads)

    @property
    def subtotal(self) -> Subtotal:
        """What is known of the cost of all calls, whatever has a price."""
        return sum_known(priced for bill in self.bills for priced in (*bill.bills, *bill.beside))

    @property
    def by_model(self) -> Mapping[str, Subtotal]:
        """The same by model, the most expensive first. Calls without usage are left out."""
        bills = defaultdict[str, list[Bill | None]](list)
        for of_thread in self.bills:
            for (request, model), bill in zip(named_models(of_thread.thread), of_thread.bills, strict=True):
                if request.usage is not None:
                    bills[model].append(bill)
            for call, bill in zip(of_thread.calls, of_thread.beside, strict=True):
                bills[side_model(call, of_thread.thread)].append(bill)
        subtotals = {model: sum_known(of_model) for model, of_model in bills.items()}
        return dict(sorted(subtotals.items(), key=lambda pair: -pair[1].usd))

    @property
    def output_is_final(self) -> bool:
        """As of a thread."""
        return all(bill.output_is_final for bill in self.bills)

    @property
    def breaks(self) -> tuple[Rebilling, ...]:
        """Of all threads."""
        return tuple(one for thread in self.threads for one in thread.breaks)

    @property
    def breaks_usd(self) -> Decimal | None:
        """What was billed again."""
        return sum_prices(one.usd for one in self.breaks)

    @property
    def avoidable(self) -> Decimal | None:
        """Of what was billed again."""
        return avoidable(self.breaks)


def session_cost(session: Session, of: Thread | None = None) -> SessionCost:
    """Return what a thread cost; None = all threads. O(messages), once for the whole of the same session."""
    return _whole_cost(SameObject(session)) if of is None else _find_cost(session, of)


@lru_cache(maxsize=1)
def _whole_cost(same: SameObject) -> SessionCost:
    return _find_cost(same.held, None)


def _find_cost(session: Session, of: Thread | None) -> SessionCost:
    *bills, nobodys = session_bills(session)
    found = tuple(_thread_cost(session, one) for one in bills if of is None or one.thread is of)
    cost = SessionCost(found, nobodys if of is None and nobodys.calls else None, None, ())
    bill = sum_bills(one.bill for one in cost.bills)
    return replace(cost, bill=bill, what_ifs=() if bill is None else what_ifs([one.thread for one in found], bill))


def _thread_cost(session: Session, of: ThreadBill) -> ThreadCost:
    thread = of.thread
    made: tuple[Compacted, ...] = ()
    estimated: Decimal | None = Decimal(0)
    requests = sum_bills(of.bills)
    compared = None if requests is None else requests.total
    if thread.requests and (thread.compactions or any(request.usage is None for request in thread.requests)):
        happened = recorded(Ground(thread, pins=None, calls=of.calls), losses=False)
        made, estimated, compared = happened.compactions, happened.spent.estimated_usd, happened.spent.cost_usd
    runs = thrash([(one.at.before_request, one.economics) for one in made])
    misses = cache_breaks(thread, session)
    return ThreadCost(thread, of.bills, of.calls, of.beside, misses, made, runs, estimated, compared)


def session_bills(session: Session) -> tuple[ThreadBill, ...]:
    """Of each thread, and last of the calls of which nothing tells for whom they were made. O(calls + threads)."""
    names = ["", *(thread.id for thread in session.threads)]
    calls: dict[str, list[SideCall]] = {name: [] for name in names}
    for call in session.side_calls:
        if call.usage:
            calls[call.thread if call.thread in calls else ""].append(call)
    found = [_bill(thread, thread, calls[thread.id]) for thread in session.threads]
    return *found, _bill(Thread(""), session.main, calls[""])


def _bill(thread: Thread, near: Thread, calls: Sequence[SideCall]) -> ThreadBill:
    """`near`: the thread whose model it is where a call names none."""
    priced = (billed(side_model(call, near), call.usage, call.time) for call in calls if call.usage)
    return ThreadBill(thread, thread_bills(thread), tuple(calls), tuple(priced))


def thread_bills(thread: Thread) -> tuple[Bill | None, ...]:
    """Of each request."""
    requests = named_models(thread)
    return tuple(billed(model, one.usage, one.time) if one.usage else Bill() for one, model in requests)


def sum_bills(bills: Iterable[Bill | None]) -> Bill | None:
    """Together; None where one has no price."""
    whole = dict.fromkeys(BILL_KINDS, Decimal(0))
    for bill in bills:
        if bill is None:
            return None
        for name in BILL_KINDS:
            whole[name] += getattr(bill, name)
    return Bill(**whole)


def sum_known(bills: Iterable[Bill | None]) -> Subtotal:
    """Add up the bills that have a price."""
    listed = list(bills)
    usd = sum((bill.total for bill in listed if bill is not None), Decimal(0))
    return Subtotal(usd, listed.count(None))


def subtotal_words(usd: Decimal | float, unpriced: int, *, output_is_final: bool = True) -> str:
    """Return `$8.67`, `at least $8.67`, `at least $8.67, 9 requests without a price`, `unknown: 9 requests ...`.

    Args:
        usd: cost of the calls with a price.
        unpriced: calls without one.
        output_is_final: False if an answer was still being written when its usage was recorded.
    """
    if not unpriced:
        return dollars(usd) if output_is_final else f"at least {dollars(usd)}"
    lacking = f"{plural(unpriced, 'request')} without a price"
    return f"at least {dollars(usd)}, {lacking}" if usd else f"unknown: {lacking}"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The whole session with another choice."""

    name: str
    ttl_s: int
    """Seconds for which everything would have been kept in the cache."""
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
            found.append(WhatIf(name, ttl_s, whole.total - saved, saved))
    return tuple(found)


def _with_ttl(thread: Thread, ttl_s: int) -> Iterator[tuple[Request, str, Usage]]:
    """Yield (request, model, usage) of every request with usage as if all writes were kept for `ttl_s` seconds.

    Only what would have expired is billed again: what the first request read was in the cache without this session,
    so other sessions keep it there.
    """
    before: Request | None = None
    shared: int | None = None
    for request, model in named_models(thread):
        usage = request.usage
        if usage is None:
            continue
        read = usage.cache_read
        if shared is None:
            shared = read
        if before is not None and before.usage is not None:
            pause = seconds_between(before.time, request.time)
            sent_before = min(before.usage.prompt, usage.prompt)
            if pause is not None and pause > MINUTES:
                was_kept = pause <= last_written_ttl(thread, before.index)
                if was_kept and pause > ttl_s:
                    read = min(read, shared)
                elif not was_kept and pause <= ttl_s:
                    read = max(read, min(sent_before, read + usage.cache_write))
        written = usage.cache_write + usage.cache_read - read
        new = cache_written(written, ttl_s)
        yield request, model, replace(usage, cache_read=read, cache_write=written, cache_write_1h=new.cache_write_1h)
        before = request
