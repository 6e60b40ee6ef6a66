"""Compute the cost of a session in US dollars.

The bill is by call and kind of token, at the prices of each call's day. It comes with the cache misses, the
compactions, and the cost that another cache lifetime would have had.
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
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import Compacted
from inspector.core.session import Request, Session, SideCall, Thread, seconds_between
from inspector.core.tokens.prices import (
    BILL_KINDS,
    Bill,
    billed,
    named_models,
    side_model,
    sum_prices,
)
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage, cache_written
from inspector.core.words import dollars, plural


class Subtotal(NamedTuple):
    """The sum of the calls with a price, and the number of calls without one."""

    usd: Decimal
    unpriced: int
    """Calls that report usage and have no price."""


@dataclass(frozen=True, slots=True)
class ThreadBill:
    """The cost of the calls of a thread."""

    thread: Thread
    bills: tuple[Bill | None, ...]
    """The bill of each request; None if its model has no price."""
    calls: tuple[SideCall, ...]
    """The side calls that report usage: a title, a recorded call for a summary."""
    beside: tuple[Bill | None, ...]
    """The bill of each side call."""

    @property
    def bill(self) -> Bill | None:
        """Return the sum of all calls that report usage; None if one of them has no price."""
        return sum_bills((*self.bills, *self.beside))

    @property
    def subtotal(self) -> Subtotal:
        """Return the sum of the calls that have a price."""
        return sum_known((*self.bills, *self.beside))

    @property
    def used(self) -> list[Usage]:
        """Return the usage of each call that reports it."""
        reported = (
            *(request.usage for request in self.thread.requests),
            *(call.usage for call in self.calls),
        )
        return [usage for usage in reported if usage]

    @property
    def output_is_final(self) -> bool:
        """Was every usage recorded after the answer was complete?"""
        return all(usage.output_is_final for usage in self.used)


@dataclass(frozen=True, slots=True)
class ThreadCost(ThreadBill):
    """The cost of a thread, with its cache misses and compactions."""

    breaks: tuple[Rebilling, ...]
    compactions: tuple[Compacted, ...]
    thrash: tuple[Thrash, ...]
    estimated: Decimal | None
    """Estimated cost of the requests and summary calls that report no usage; not part of the bill."""
    compared: Decimal | None
    """The cost of the recorded thread in comparisons of policies: its requests and summary calls, estimated ones
    included, without titles and other side calls."""


@dataclass(frozen=True, slots=True)
class SessionCost:
    """The cost of some threads of a session. US dollars."""

    threads: tuple[ThreadCost, ...]
    unassigned: ThreadBill | None
    """The bill of side calls whose thread is not recorded; None if there are none."""
    bill: Bill | None
    """The sum of all calls that report usage; None if one of them has no price."""
    what_ifs: tuple["WhatIf", ...]

    @property
    def bills(self) -> tuple[ThreadBill, ...]:
        """Return the bills that `bill` is the sum of."""
        return self.threads if self.unassigned is None else (*self.threads, self.unassigned)

    @property
    def beside(self) -> Decimal | None:
        """Return the part of the bill for the side calls; None if one of them has no price."""
        bill = sum_bills(side_bill for thread in self.bills for side_bill in thread.beside)
        return None if bill is None else bill.total

    @property
    def estimated(self) -> Decimal | None:
        """Return the estimated cost of the calls of all threads that report no usage."""
        return sum_prices(thread.estimated for thread in self.threads)

    @property
    def subtotal(self) -> Subtotal:
        """Return the sum of the calls of all threads that have a price."""
        return sum_known(priced for bill in self.bills for priced in (*bill.bills, *bill.beside))

    @property
    def by_model(self) -> Mapping[str, Subtotal]:
        """Return the subtotal of each model, the most expensive first. Calls without usage are left out."""
        bills = defaultdict[str, list[Bill | None]](list)
        for of_thread in self.bills:
            for (request, model), bill in zip(
                named_models(of_thread.thread), of_thread.bills, strict=True
            ):
                if request.usage is not None:
                    bills[model].append(bill)
            for call, bill in zip(of_thread.calls, of_thread.beside, strict=True):
                bills[side_model(call, of_thread.thread)].append(bill)
        subtotals = {model: sum_known(of_model) for model, of_model in bills.items()}
        most_expensive_first = sorted(subtotals, key=lambda model: -subtotals[model].usd)
        return {model: subtotals[model] for model in most_expensive_first}

    @property
    def output_is_final(self) -> bool:
        """Was every usage recorded after the answer was complete?"""
        return all(bill.output_is_final for bill in self.bills)

    @property
    def breaks(self) -> tuple[Rebilling, ...]:
        """Return the cache misses of all threads."""
        return tuple(miss for thread in self.threads for miss in thread.breaks)

    @property
    def breaks_usd(self) -> Decimal | None:
        """Return the cost of the tokens that cache misses re-sent."""
        return sum_prices(miss.usd for miss in self.breaks)

    @property
    def avoidable(self) -> Decimal | None:
        """Return the part of `breaks_usd` that was avoidable."""
        return avoidable(self.breaks)


def session_cost(session: Session, of: Thread | None = None) -> SessionCost:
    """Return the cost of a thread of a session; `of` None: of all threads. O(messages).

    The cost of all threads is cached for the last session.
    """
    return _whole_cost(SameObject(session)) if of is None else _find_cost(session, of)


@lru_cache(maxsize=1)
def _whole_cost(same: SameObject) -> SessionCost:
    return _find_cost(same.held, of=None)


def _find_cost(session: Session, of: Thread | None) -> SessionCost:
    *bills, unassigned = session_bills(session)
    costs = tuple(_thread_cost(session, bill) for bill in bills if of is None or bill.thread is of)
    is_counted = of is None and bool(unassigned.calls)
    cost = SessionCost(costs, unassigned=unassigned if is_counted else None, bill=None, what_ifs=())
    total = sum_bills(bill.bill for bill in cost.bills)
    if total is None:
        return cost
    threads = [thread_cost.thread for thread_cost in costs]
    return replace(cost, bill=total, what_ifs=what_ifs(threads, total))


def _thread_cost(session: Session, of: ThreadBill) -> ThreadCost:
    thread = of.thread
    compactions: tuple[Compacted, ...] = ()
    estimated: Decimal | None = Decimal(0)
    requests = sum_bills(of.bills)
    compared = None if requests is None else requests.total
    if thread.requests and (
        thread.compactions or any(request.usage is None for request in thread.requests)
    ):
        happened = recorded(Ground(thread, pins=None, calls=of.calls), losses=False)
        compactions = happened.compactions
        estimated = happened.spent.estimated_usd
        compared = happened.spent.cost_usd
    runs = thrash([(compacted.at.before_request, compacted.economics) for compacted in compactions])
    misses = cache_breaks(thread, session)
    return ThreadCost(
        thread,
        of.bills,
        of.calls,
        of.beside,
        breaks=misses,
        compactions=compactions,
        thrash=runs,
        estimated=estimated,
        compared=compared,
    )


def session_bills(session: Session) -> tuple[ThreadBill, ...]:
    """Return the bill of each thread, then that of the calls whose thread is not recorded. O(calls + threads)."""
    names = ["", *(thread.id for thread in session.threads)]
    calls: dict[str, list[SideCall]] = {name: [] for name in names}
    for call in session.side_calls:
        if call.usage:
            calls[call.thread if call.thread in calls else ""].append(call)
    bills = [_bill(thread, thread, calls[thread.id]) for thread in session.threads]
    return *bills, _bill(Thread(""), session.main, calls[""])


def _bill(thread: Thread, near: Thread, calls: Sequence[SideCall]) -> ThreadBill:
    """Return the bill of a thread. `near`: the thread whose model is assumed for calls that name none."""
    priced = (billed(side_model(call, near), call.usage, call.time) for call in calls if call.usage)
    return ThreadBill(thread, thread_bills(thread), calls=tuple(calls), beside=tuple(priced))


def thread_bills(thread: Thread) -> tuple[Bill | None, ...]:
    """Return the bill of each request; None without a price."""
    return tuple(
        billed(model, request.usage, request.time) if request.usage else Bill()
        for request, model in named_models(thread)
    )


def sum_bills(bills: Iterable[Bill | None]) -> Bill | None:
    """Return the sum of the bills; None if one has no price."""
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
        unpriced: number of calls without a price.
        output_is_final: False if the usage of an answer was recorded before the answer was complete.
    """
    if not unpriced:
        return dollars(usd) if output_is_final else f"at least {dollars(usd)}"
    lacking = f"{plural(unpriced, 'request')} without a price"
    return f"at least {dollars(usd)}, {lacking}" if usd else f"unknown: {lacking}"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The cost of the whole session with another cache lifetime."""

    name: str
    ttl_s: int
    """The lifetime of all cache entries, in seconds."""
    usd: Decimal
    """What the session would have cost."""
    saved_usd: Decimal
    """What the session would have cost less than it did; negative if it would have cost more."""


def what_ifs(threads: Iterable[Thread], whole: Bill) -> tuple[WhatIf, ...]:
    """Return the cost of the session if all cache entries were kept for an hour, and if all were kept for five minutes.

    An entry expires when its lifetime has passed since its last use. By the recorded pauses, tokens that a longer
    lifetime would have kept are read instead of written, and tokens that a shorter lifetime loses are written instead
    of read.

    Args:
        threads: The threads of the session.
        whole: The actual bill of the session.

    Returns:
        The two choices; empty if no cache was written, or a price is not known.
    """
    listed = list(threads)
    if not any(
        request.usage and request.usage.cache_write
        for thread in listed
        for request in thread.requests
    ):
        return ()
    spent = sum_bills(bill for thread in listed for bill in thread_bills(thread))
    if spent is None:
        return ()
    choices = []
    for name, ttl_s in (("1h cache writes", HOUR_S), ("5m cache writes", FIVE_MINUTES_S)):
        other = sum_bills(
            billed(model, usage, request.time)
            for thread in listed
            for request, model, usage in _with_ttl(thread, ttl_s)
        )
        if other is not None:
            saved = spent.total - other.total
            choices.append(WhatIf(name, ttl_s, usd=whole.total - saved, saved_usd=saved))
    return tuple(choices)


def _with_ttl(thread: Thread, ttl_s: int) -> Iterator[tuple[Request, str, Usage]]:
    """Yield (request, model, usage) of every request with usage, as if all writes were kept for `ttl_s` seconds.

    Tokens that the first request read from the cache stay cached: they were there before this session, so other
    sessions keep them there.
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
            if pause is not None and pause > FIVE_MINUTES_S:
                was_kept = pause <= last_written_ttl(thread, before.index)
                if was_kept and pause > ttl_s:
                    read = min(read, shared)
                elif not was_kept and pause <= ttl_s:
                    read = max(read, min(sent_before, read + usage.cache_write))
        written = usage.cache_write + usage.cache_read - read
        new = cache_written(written, ttl_s)
        yield (
            request,
            model,
            replace(usage, cache_read=read, cache_write=written, cache_write_1h=new.cache_write_1h),
        )
        before = request
