"""What a session cost, and what of it was avoidable: the bill, its cache breaks, its compactions, its pauses."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from inspector.core.findings.breaks import Rebilling, avoidable, cache_breaks
from inspector.core.findings.spending import Bill, WhatIf, sum_bills, thread_bills, what_ifs
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import Thrash, thrash
from inspector.core.replay.report import Compacted, recorded
from inspector.core.session import Session, Thread
from inspector.core.tokens.prices import cost, sum_prices


@dataclass(frozen=True, slots=True)
class ThreadCost:
    """Of one thread."""

    thread: Thread
    bills: tuple[Bill | None, ...]
    """Of each request; None where its model has no price."""
    breaks: tuple[Rebilling, ...]
    compactions: tuple[Compacted, ...]
    thrash: tuple[Thrash, ...]

    @property
    def output_is_final(self) -> bool:
        """Does no usage stand for an answer that was still being written?"""
        return all(request.usage.output_is_final for request in self.thread.requests if request.usage)


@dataclass(frozen=True, slots=True)
class SessionCost:
    """Of some threads of a session. US dollars."""

    threads: tuple[ThreadCost, ...]
    bill: Bill | None
    """Of all their requests; None where one has no price."""
    what_ifs: tuple[WhatIf, ...]
    beside: Decimal | None
    """Of the calls beside them (titles, recorded calls for a summary), which the bill leaves out."""

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
    names = {thread.id for thread in chosen}
    found = tuple(thread_cost_of(session, thread) for thread in chosen)
    calls = [one for one in session.side_calls if one.usage and (threads is None or one.thread in names)]
    beside = sum_prices(cost(one.model, one.usage, one.time) for one in calls if one.usage)
    return SessionCost(found, sum_bills(bill for one in found for bill in one.bills), what_ifs(chosen), beside)


def thread_cost_of(session: Session, thread: Thread) -> ThreadCost:
    """Of one thread."""
    made: tuple[Compacted, ...] = ()
    if thread.compactions and thread.requests:
        made = recorded(Ground(thread, pins=None), calls=session.side_calls, losses=False).compactions
    runs = thrash([(one.at.before_request, one.economics) for one in made])
    return ThreadCost(thread, thread_bills(thread), cache_breaks(thread, session), made, runs)
