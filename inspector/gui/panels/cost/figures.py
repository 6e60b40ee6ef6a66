"""What the cost panel shows of a thread, worked out off the GUI thread: a long session has a bill for each of 100,000
requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from inspector.core.findings.breaks import NO_WASTE, Rebilling, avoidable
from inspector.core.findings.spending import SessionCost, ThreadCost, subtotal_words
from inspector.core.replay.report import Compacted
from inspector.core.tokens.prices import BILL_KINDS, Bill, sum_prices
from inspector.core.words import plural
from inspector.gui.look.number_formats import dollars, grouped

MOST_BARS = 4_000
"""More requests than this are drawn in groups, each as the dearest of its requests."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """A break or a compaction, as people read it."""

    request: int
    what: str
    tokens: str
    cost: str
    saved: str
    evidence: str
    message: str = ""
    diff: tuple[str, ...] = ()


def cost_rows(found: ThreadCost) -> list[CostRow]:
    """Breaks and compactions in the order of the requests."""
    rows = [_break(one) for one in found.breaks] + [_compaction(one) for one in found.compactions]
    return sorted(rows, key=lambda one: one.request)


def _break(one: Rebilling) -> CostRow:
    saved = "" if one.cause in NO_WASTE else _dollars(one.avoidable_usd)
    return CostRow(
        one.request, one.cause, grouped(one.tokens), _dollars(one.usd), saved, one.evidence, one.message, one.diff
    )


def _compaction(one: Compacted) -> CostRow:
    money = one.economics
    each = "" if money.saved_per_request_usd is None else f"{dollars(money.saved_per_request_usd)} each"
    sizes = f"{grouped(one.tokens_before)} → {grouped(one.tokens_after)}"
    return CostRow(
        one.at.before_request, f"{one.at.tier}: {_paid(one)}", sizes, _dollars(money.cost_usd), each, _told(one)
    )


def _paid(one: Compacted) -> str:
    words: dict[bool | None, str] = {None: "no price", True: "paid", False: "did not pay"}
    return words[one.economics.paid]


def _told(one: Compacted) -> str:
    money = one.economics
    if money.cost_usd is None:
        return "A model has no price."
    summary = f"the summary{' (estimated)' if one.is_estimated else ''} and " if one.kind == "summary" else ""
    what = f"Cost: {summary}the cache written anew."
    if money.paid_after_requests is None:
        return f"{what} It never paid: {plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}."
    when = f"after {plural(money.paid_after_requests, 'request')}" if money.paid_after_requests else "at once"
    return f"{what} Paid {when}; {plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}."


def _dollars(amount: Decimal | None) -> str:
    return "no price" if amount is None else dollars(amount)


@dataclass(frozen=True, slots=True)
class CostFigures:
    """Of one thread."""

    found: ThreadCost
    rows: list[CostRow]
    says: str
    """The sums in words."""
    kinds: frozenset[str]
    """Kinds of tokens that any request paid for."""
    edges: list[float]
    """Of the bars."""
    tops: list[list[float]]
    """Heights of the sums by kind, each with the kinds below it."""


def cost_figures(whole: SessionCost, found: ThreadCost) -> CostFigures:
    """O(requests of the session)."""
    bills = [bill or Bill() for bill in found.bills]
    kinds = frozenset(kind for kind in BILL_KINDS if any(getattr(bill, kind) for bill in bills))
    return CostFigures(found, cost_rows(found), ". ".join(cost_words(whole, found)) + ".", kinds, *stacked(bills))


def stacked(bills: Sequence[Bill]) -> tuple[list[float], list[list[float]]]:
    """(edges of the bars, heights of the sums by kind, each with the kinds below it)."""
    group = len(bills) // MOST_BARS + 1
    chosen = [max(bills[n : n + group], key=lambda bill: bill.total) for n in range(0, len(bills), group)]
    sums = [list(accumulate(float(getattr(bill, kind)) for kind in BILL_KINDS)) for bill in chosen]
    return [n * group - 0.5 for n in range(len(chosen) + 1)], [[one[n] for one in sums] for n in range(len(BILL_KINDS))]


def cost_words(whole: SessionCost, found: ThreadCost) -> Iterator[str]:
    """The sums, sentence by sentence, without full stops."""
    bill = found.bill
    part, everything = (
        subtotal_words(cost.subtotal.usd, cost.subtotal.unpriced, output_is_final=cost.output_is_final)
        for cost in (found, whole)
    )
    others = len(whole.threads) > 1 or whole.nobodys is not None
    yield f"This thread {part} of {everything} for the whole session" if others else part[0].upper() + part[1:]
    if found.estimated:
        yield f"About {dollars(found.estimated)} more (estimated) for calls whose usage the file does not hold"
    if bill is not None and found.compared is not None and dollars(found.compared) != dollars(bill.total):
        estimate = " with that estimate" if found.estimated else ""
        yield f"Compare shows {dollars(found.compared)}: requests and summaries{estimate}, without titles and the like"
    if found.breaks:
        again, saved = (
            _dollars(money) for money in (sum_prices(one.usd for one in found.breaks), avoidable(found.breaks))
        )
        tokens = grouped(sum(one.tokens for one in found.breaks))
        money = f" for {again}, {saved} avoidable" if bill is not None else ""
        made = sum(one.cause == "compaction" for one in found.breaks)
        by = f", {made:,} of them after compactions" if 0 < made < len(found.breaks) else ""
        misses = plural(len(found.breaks), "cache miss", "cache misses")
        yield f"{misses} of this thread{by}: {tokens} tokens re-sent{money}"
    if found.compactions:
        known = [one.economics.paid for one in found.compactions if one.economics.paid is not None]
        if known:
            themselves = "itself" if len(known) == 1 else "themselves"
            yield f"{sum(known)} of {plural(len(known), 'compaction')} of this thread paid for {themselves}"
    for run in found.thrash:
        yield f"Thrash: {run.compactions} compactions in a row, {run.first} to {run.last}, did not pay"
    for one in whole.what_ifs:
        if one.saved_usd > 0:
            yield f"{one.name} would have saved {dollars(one.saved_usd)} in the session"
