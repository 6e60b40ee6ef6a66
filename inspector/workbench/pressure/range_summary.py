"""Sums over a range of requests: growth of the buffer, new messages, cost and cache misses."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from inspector.core.buffer import EMPTY_VIEW, View, shared
from inspector.core.calls import CallIndex
from inspector.core.errors import Cancelled
from inspector.core.findings.breaks import Rebilling
from inspector.core.findings.composition import Category, segments, split
from inspector.core.findings.spending import session_bills, sum_bills, thread_bills
from inspector.core.message import Message
from inspector.core.session import Session, Thread
from inspector.core.tokens.pressure import Pressures
from inspector.core.tokens.prices import sum_prices
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.workbench.message_rows import message_row


@dataclass(frozen=True, slots=True)
class LargestGrowth:
    """The request whose buffer grew most, and the largest message that it added."""

    request: int
    tokens: int
    tool: str
    subject: str
    message_id: str


@dataclass(frozen=True, slots=True)
class RangeSummary:
    """The sums of requests `first` to `last`, both included."""

    first: int
    last: int
    growth: int | None
    """Tokens of the last request minus those of the request before the first; None if one of them is unknown."""
    cost: Decimal | None
    """Cost in US dollars; None if a model has no known price."""
    whole_cost: Decimal | None
    """Cost of the whole session in US dollars, with sub-agents and side calls."""
    misses: int
    missed_tokens: int
    missed_cost: Decimal | None
    """Cost of the cache misses in US dollars."""
    output: int
    """Tokens that the model wrote."""
    came_in: tuple[tuple[Category, int], ...]
    """Tokens of the new messages by category, largest first."""
    first_message: str
    """Id of the first new message; empty if there is none."""
    largest: LargestGrowth | None
    """The largest growth; None if nothing grew."""


def summarise_range(
    session: Session,
    thread: Thread,
    pressures: Pressures,
    misses: Sequence[Rebilling],
    first: int,
    last: int,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> RangeSummary:
    """Sum up requests `first` to `last`. O(requests + text of new messages). Raises Cancelled."""
    cost = sum_bills(thread_bills(thread)[first : last + 1])
    whole = sum_bills(bill.bill for bill in session_bills(session))
    inside = [miss for miss in misses if first <= miss.request <= last]
    usages = [request.usage for request in thread.requests[first : last + 1]]
    new = _sum_new_messages(thread, pressures, first, last, is_cancelled)
    missed_tokens = sum(miss.tokens for miss in inside)
    missed_cost = sum_prices(miss.usd for miss in inside)
    output = sum(usage.output for usage in usages if usage)
    by_category = tuple(
        (category, tokens) for category, tokens in new.tokens.most_common() if tokens
    )
    range_cost = cost.total if cost is not None else None
    whole_cost = whole.total if whole is not None else None
    return RangeSummary(
        first,
        last,
        _growth(pressures, first, last),
        range_cost,
        whole_cost,
        misses=len(inside),
        missed_tokens=missed_tokens,
        missed_cost=missed_cost,
        output=output,
        came_in=by_category,
        first_message=new.first_id,
        largest=_largest_growth(thread, pressures, first, last),
    )


class NewMessages(NamedTuple):
    """The messages that the requests of a range added."""

    tokens: Counter[Category]
    first_id: str
    """Id of the first new message; empty if there is none."""


def _sum_new_messages(
    thread: Thread, pressures: Pressures, first: int, last: int, is_cancelled: Callable[[], bool]
) -> NewMessages:
    """Sum up the new messages of a range. Raises Cancelled."""
    tokens = Counter[Category]()
    first_id = ""
    for request in range(first, last + 1):
        if is_cancelled():
            raise Cancelled("Another range was selected.")
        size = sizer(pressures, request)
        for message in _new_messages(thread, request):
            first_id = first_id or message.id
            tokens.update(_split_tokens(size, message))
    return NewMessages(tokens, first_id)


def _view(thread: Thread, at: int) -> View:
    return thread.requests[at].view if at >= 0 else EMPTY_VIEW


def _new_messages(thread: Thread, at: int) -> Iterator[Message]:
    """Yield the messages of a request that were not in the previous buffer. A message that was only rewritten is not
    new.
    """
    former = _view(thread, at - 1)
    view = _view(thread, at)
    same = shared(former, view)
    former_ids = {message.id for message in former.tail(same)}
    yield from (message for message in view.tail(same) if message.id not in former_ids)


def _split_tokens(size: Sizer, message: Message) -> dict[Category, int]:
    weights = split(size.estimator, message, segments(message))
    return {
        category: size.scale.rows(size.estimator.tokens(weight))
        for category, weight in weights.items()
    }


def _growth(pressures: Pressures, first: int, last: int) -> int | None:
    before = pressures.at(first - 1).tokens if first else 0
    after = pressures.at(last).tokens
    return None if before is None or after is None else after - before


def _largest_growth(
    thread: Thread, pressures: Pressures, first: int, last: int
) -> LargestGrowth | None:
    growths = {
        request: _growth(pressures, request, request) or 0 for request in range(first, last + 1)
    }
    # of two equal growths the later one
    request = max(growths, key=lambda request: (growths[request], request), default=first)
    tokens = growths.get(request, 0)
    if tokens <= 0:
        return None
    size = sizer(pressures, request)
    message = max(_new_messages(thread, request), key=size.row, default=None)
    if message is None:
        return LargestGrowth(request, tokens, tool="", subject="", message_id="")
    largest = message_row(message, CallIndex(thread.messages))
    return LargestGrowth(
        request,
        tokens,
        largest.tool,
        subject=largest.subject or largest.line,
        message_id=message.id,
    )
