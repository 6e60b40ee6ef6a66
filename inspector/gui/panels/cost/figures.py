"""What the cost panel shows of a thread, worked out off the GUI thread: a long session has a bill for each of 100,000
requests."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from inspector.core.findings.advice import Advice
from inspector.core.findings.breaks import NO_WASTE, BreakCause, Rebilling, avoidable
from inspector.core.findings.spending import SessionCost, Subtotal, ThreadCost, subtotal_words
from inspector.core.replay.report import Compacted
from inspector.core.tokens.prices import BILL_KINDS, Bill, sum_prices
from inspector.core.words import plural
from inspector.gui.look.number_formats import dollars, grouped

MOST_BARS = 4_000
"""More requests than this are drawn in groups, each as the dearest of its requests."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """A cache miss, a compaction, or the sum of a group of them, as people read it."""

    request: int | None
    """None: the sum of the rows below it."""
    what: str
    tokens: str
    cost: str
    saved: str
    evidence: str
    message: str = ""
    diff: tuple[str, ...] = ()


CAUSE_NAMES: Mapping[BreakCause, str] = {
    "expired": "cache expired",
    "prefix-changed": "prompt changed",
    "model-changed": "model changed",
    "tools-changed": "tools changed",
    "compaction": "compaction",
    "restart": "client restarted",
    "other-cache": "another cache",
    "unknown": "unknown",
}
"""Causes of cache misses, as a column shows them."""


def cost_rows(cost: ThreadCost) -> list[CostRow]:
    """Return cache misses grouped by cause, the most expensive cause first, and after them the compactions.

    A group of several begins with its sum. Within a group the rows have the order of the requests.
    """
    by_cause = defaultdict[BreakCause, list[Rebilling]](list)
    for miss in cost.breaks:
        by_cause[miss.cause].append(miss)
    groups = sorted(by_cause.values(), key=_sum_of_misses, reverse=True)
    rows = [row for misses in groups for row in _group_misses(misses)]
    return rows + [_compaction(step) for step in cost.compactions]


def _sum_of_misses(misses: Sequence[Rebilling]) -> tuple[Decimal, int]:
    """Return (dollars, tokens) of a group, by which groups are ordered."""
    usd = sum((miss.usd for miss in misses if miss.usd is not None), Decimal(0))
    return usd, sum(miss.tokens for miss in misses)


def _group_misses(misses: Sequence[Rebilling]) -> Iterator[CostRow]:
    cause = misses[0].cause
    if len(misses) > 1:
        saved = "" if cause in NO_WASTE else _dollars(sum_prices(miss.avoidable_usd for miss in misses))
        cost = _dollars(sum_prices(miss.usd for miss in misses))
        tokens = grouped(sum(miss.tokens for miss in misses))
        what = f"{CAUSE_NAMES[cause]}: {len(misses):,} misses"
        yield CostRow(None, what, tokens, cost, saved, "The sum of the rows below.")
    yield from map(_miss, misses)


def _miss(miss: Rebilling) -> CostRow:
    saved = "" if miss.cause in NO_WASTE else _dollars(miss.avoidable_usd)
    cost, tokens = _dollars(miss.usd), grouped(miss.tokens)
    return CostRow(miss.request, CAUSE_NAMES[miss.cause], tokens, cost, saved, miss.evidence, miss.message, miss.diff)


def _compaction(compaction: Compacted) -> CostRow:
    money = compaction.economics
    each = "" if money.saved_per_request_usd is None else f"{dollars(money.saved_per_request_usd)} each"
    sizes = f"{grouped(compaction.tokens_before)} → {grouped(compaction.tokens_after)}"
    return CostRow(
        compaction.at.before_request,
        f"{compaction.at.tier} compaction: {_paid(compaction)}",
        sizes,
        _dollars(money.cost_usd),
        each,
        _told(compaction),
    )


def _paid(compaction: Compacted) -> str:
    words: dict[bool | None, str] = {None: "no price", True: "paid", False: "did not pay"}
    return words[compaction.economics.paid]


def _told(compaction: Compacted) -> str:
    money = compaction.economics
    if money.cost_usd is None:
        return "A model has no price."
    summary = (
        f"the summary{' (estimated)' if compaction.is_estimated else ''} and " if compaction.kind == "summary" else ""
    )
    what = f"Cost: {summary}the cache that was written again."
    if money.paid_after_requests is None:
        return f"{what} It never paid: {plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}."
    when = f"after {plural(money.paid_after_requests, 'request')}" if money.paid_after_requests else "at once"
    return f"{what} Paid {when}; {plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}."


def _dollars_known(subtotal: Subtotal) -> str:
    return subtotal_words(subtotal.usd, subtotal.unpriced)


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
    running: list[float]
    """Dollars of each request and all before it."""
    advice: tuple[Advice, ...] = ()


def cost_figures(whole: SessionCost, cost: ThreadCost, advice: tuple[Advice, ...] = ()) -> CostFigures:
    """O(requests of the session)."""
    bills = [bill or Bill() for bill in cost.bills]
    kinds = frozenset(kind for bill in bills for kind in BILL_KINDS if getattr(bill, kind))
    words = ". ".join(cost_words(whole, cost)) + "."
    running = list(accumulate(float(bill.total) for bill in bills))
    return CostFigures(cost, cost_rows(cost), words, kinds, *stacked(bills), running, advice)


def stacked(bills: Sequence[Bill]) -> tuple[list[float], list[list[float]]]:
    """(edges of the bars, heights of the sums by kind, each with the kinds below it)."""
    group = len(bills) // MOST_BARS + 1
    chosen = [max(bills[n : n + group], key=lambda bill: bill.total) for n in range(0, len(bills), group)]
    sums = [_sum_kinds(bill) for bill in chosen]
    edges = [place * group - 0.5 for place in range(len(chosen) + 1)]
    tops = [list(heights) for heights in zip(*sums, strict=True)]
    return edges, tops or [[] for _ in BILL_KINDS]


def _sum_kinds(bill: Bill) -> list[float]:
    """Return the dollars of each kind of token together with all kinds before it."""
    return list(accumulate(float(getattr(bill, kind)) for kind in BILL_KINDS))


def cost_words(whole: SessionCost, thread_cost: ThreadCost) -> Iterator[str]:
    """The sums, sentence by sentence, without full stops."""
    bill = thread_cost.bill
    part, everything = (
        subtotal_words(cost.subtotal.usd, cost.subtotal.unpriced, output_is_final=cost.output_is_final)
        for cost in (thread_cost, whole)
    )
    others = len(whole.threads) > 1 or whole.nobodys is not None
    yield f"This thread {part} of {everything} for the whole session" if others else part[0].upper() + part[1:]
    by_model = [f"{model or 'unknown model'} {_dollars_known(subtotal)}" for model, subtotal in whole.by_model.items()]
    if len(by_model) > 1:
        yield f"By model: {', '.join(by_model)}"
    if thread_cost.estimated:
        yield f"About {dollars(thread_cost.estimated)} more (estimated) for calls whose usage the file does not hold"
    if bill is not None and thread_cost.compared is not None and dollars(thread_cost.compared) != dollars(bill.total):
        estimate = " with that estimate" if thread_cost.estimated else ""
        shown = dollars(thread_cost.compared)
        yield f"Compare shows {shown}: requests and summaries{estimate}, without titles and the like"
    if thread_cost.breaks:
        again, saved = (
            _dollars(sum_prices(miss.usd for miss in thread_cost.breaks)),
            _dollars(avoidable(thread_cost.breaks)),
        )
        tokens = grouped(sum(miss.tokens for miss in thread_cost.breaks))
        money = f" for {again}, {saved} avoidable" if bill is not None else ""
        by_compactions = sum(miss.cause == "compaction" for miss in thread_cost.breaks)
        by = f", {by_compactions:,} of them after compactions" if 0 < by_compactions < len(thread_cost.breaks) else ""
        misses = plural(len(thread_cost.breaks), "cache miss", "cache misses")
        yield f"{misses} of this thread{by}: {tokens} tokens re-sent{money}"
    if thread_cost.compactions:
        judged = [
            compaction.economics.paid for compaction in thread_cost.compactions if compaction.economics.paid is not None
        ]
        if judged:
            themselves = "itself" if len(judged) == 1 else "themselves"
            yield f"{sum(judged)} of {plural(len(judged), 'compaction')} of this thread paid for {themselves}"
    for run in thread_cost.thrash:
        yield f"Thrash: {run.compactions} compactions in a row, {run.first} to {run.last}, did not pay"
    for what_if in whole.what_ifs:
        if what_if.saved_usd > 0:
            yield f"{what_if.name} would have saved {dollars(what_if.saved_usd)} in the session"
