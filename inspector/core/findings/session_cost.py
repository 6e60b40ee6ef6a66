"""What a session cost, and what of it was avoidable: the bill, its cache breaks, its compactions, its pauses."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from inspector.core.findings.breaks import Rebilling, avoidable, cache_breaks
from inspector.core.findings.spending import Bill, WhatIf, beside_bills, calls_beside, sum_bills, thread_bills, what_ifs
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import Thrash, thrash
from inspector.core.replay.report import Compacted, recorded
from inspector.core.session import Session, SideCall, Thread
from inspector.core.tokens.prices import sum_prices


@dataclass(frozen=True, slots=True)
class ThreadCost:
    """Of one thread."""

    thread: Thread
    bills: tuple[Bill | None, ...]
    """Of each request; None where its model has no price."""
    beside: tuple[Bill | None, ...]
    """Of each call beside them that reports what it used: a title, a recorded call for a summary."""
    breaks: tuple[Rebilling, ...]
    compactions: tuple[Compacted, ...]
    thrash: tuple[Thrash, ...]
    estimated: Decimal | None
    """About what those calls cost besides that no usage tells of: requests, and calls for summaries."""

    @property
    def bill(self) -> Bill | None:
        """Of all calls that report what they used; None where one has no price."""
        return sum_bills((*self.bills, *self.beside))

    @property
    def output_is_final(self) -> bool:
        """Does no usage stand for an answer that was still being written?"""
        return all(request.usage.output_is_final for request in self.thread.requests if request.usage)


@dataclass(frozen=True, slots=True)
class SessionCost:
    """Of some threads of a session. US dollars."""

    threads: tuple[ThreadCost, ...]
    nobodys: tuple[Bill | None, ...]
    """Of calls beside them, of which nothing tells for whom they were made."""
    bill: Bill | None
    """Of all calls that report what they used; None where one has no price."""
    what_ifs: tuple[WhatIf, ...]

    @property
    def beside(self) -> Decimal | None:
        """Of the bill, for the calls beside the conversation."""
        found = sum_bills((*self.nobodys, *(one for thread in self.threads for one in thread.beside)))
        return None if found is None else found.total

    @property
    def estimated(self) -> Decimal | None:
        """Of all threads."""
        return sum_prices(one.estimated for one in self.threads)

    @property
    def output_is_final(self) -> bool:
        """As of a thread."""
        return all(one.output_is_final for one in self.threads)

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


def session_cost(session: Session, threads: Sequence[Thread] | None = None) -> SessionCost:
    """Of these threads; default all. O(messages)."""
    chosen = session.threads if threads is None else tuple(threads)
    beside = calls_beside(session)
    found = tuple(_thread_cost(session, thread, beside.get(thread.id, ())) for thread in chosen)
    nobodys = beside_bills(beside[""], session.main) if threads is None else ()
    bill = sum_bills((*nobodys, *(one.bill for one in found)))
    return SessionCost(found, nobodys, bill, () if bill is None else what_ifs(chosen, bill))


def _thread_cost(session: Session, thread: Thread, calls: Sequence[SideCall]) -> ThreadCost:
    made: tuple[Compacted, ...] = ()
    estimated: Decimal | None = Decimal(0)
    if thread.requests and (thread.compactions or any(request.usage is None for request in thread.requests)):
        happened = recorded(Ground(thread, pins=None), calls=calls, losses=False)
        made, estimated = happened.compactions, happened.spent.estimated_usd
    runs = thrash([(one.at.before_request, one.economics) for one in made])
    beside = beside_bills(calls, thread)
    return ThreadCost(thread, thread_bills(thread), beside, cache_breaks(thread, session), made, runs, estimated)
