"""The figures and sentences of the cost panel, computed off the GUI thread: a long session has 100,000 bills."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from inspector.core.findings.advice import Advice
from inspector.core.findings.break_causes import BreakCause
from inspector.core.findings.breaks import NO_WASTE, Rebilling, avoidable
from inspector.core.findings.spending import SessionCost, Subtotal, ThreadCost, subtotal_words
from inspector.core.replay.report import Compacted
from inspector.core.tokens.prices import BILL_KINDS, Bill, sum_prices
from inspector.core.words import plural
from inspector.gui.look.number_formats import dollars, grouped

MOST_BARS = 4_000
"""Most requests that have a bar each. If there are more, each bar shows the most expensive request of a group."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """A row of the table: a cache miss, a compaction, or the sum of a group of cache misses."""

    request: int | None
    """None if the row is the sum of the rows below it."""
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
"""Names of the causes of cache misses in the table."""


def cost_rows(cost: ThreadCost) -> list[CostRow]:
    """Return cache misses grouped by cause, the most expensive cause first, and after them the compactions.

    A group of more than one miss begins with a row of its sum. Within a group, rows are in the order of the requests.
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
        saved = (
            "" if cause in NO_WASTE else _dollars(sum_prices(miss.avoidable_usd for miss in misses))
        )
        cost = _dollars(sum_prices(miss.usd for miss in misses))
        tokens = grouped(sum(miss.tokens for miss in misses))
        what = f"{CAUSE_NAMES[cause]}: {len(misses):,} misses"
        yield CostRow(
            request=None,
            what=what,
            tokens=tokens,
            cost=cost,
            saved=saved,
            evidence="The sum of the rows below.",
        )
    yield from map(_miss, misses)


def _miss(miss: Rebilling) -> CostRow:
    saved = "" if miss.cause in NO_WASTE else _dollars(miss.avoidable_usd)
    cost = _dollars(miss.usd)
    tokens = grouped(miss.tokens)
    return CostRow(
        miss.request,
        what=CAUSE_NAMES[miss.cause],
        tokens=tokens,
        cost=cost,
        saved=saved,
        evidence=miss.evidence,
        message=miss.message,
        diff=miss.diff,
    )


def _compaction(compaction: Compacted) -> CostRow:
    money = compaction.economics
    each = ""
    if money.saved_per_request_usd is not None:
        each = f"{dollars(money.saved_per_request_usd)} each"
    sizes = f"{grouped(compaction.tokens_before)} → {grouped(compaction.tokens_after)}"
    return CostRow(
        compaction.at.before_request,
        what=f"{compaction.at.tier} compaction: {_payback_verdict(compaction)}",
        tokens=sizes,
        cost=_dollars(money.cost_usd),
        saved=each,
        evidence=_payback_sentences(compaction),
    )


def _payback_verdict(compaction: Compacted) -> str:
    words: dict[bool | None, str] = {None: "no price", True: "paid", False: "did not pay"}
    return words[compaction.economics.paid]


def _payback_sentences(compaction: Compacted) -> str:
    """Say what a compaction cost, and after how many requests it had paid for itself."""
    money = compaction.economics
    if money.cost_usd is None:
        return "The cost is unknown: a model has no price."
    summary = ""
    if compaction.kind == "summary":
        summary = "the summary (estimated) and " if compaction.is_estimated else "the summary and "
    cost = f"Cost: {summary}the cache that was written again."
    saving = f"{plural(money.requests, 'later request')} saved {_dollars(money.saved_usd)}"
    if money.paid_after_requests is None:
        return f"{cost} The compaction never paid for itself: {saving}."
    when = "at once"
    if money.paid_after_requests:
        when = f"after {plural(money.paid_after_requests, 'request')}"
    return f"{cost} The compaction paid for itself {when}; {saving}."


def _subtotal_words(subtotal: Subtotal) -> str:
    return subtotal_words(subtotal.usd, subtotal.unpriced)


def _dollars(amount: Decimal | None) -> str:
    return "no price" if amount is None else dollars(amount)


@dataclass(frozen=True, slots=True)
class CostFigures:
    """The cost figures of one thread."""

    cost: ThreadCost
    rows: list[CostRow]
    title: str
    """What the thread cost, for the title of the page."""
    says: str
    """Sentences that give the other sums."""
    kinds: frozenset[str]
    """Kinds of tokens that were paid for."""
    edges: list[float]
    """Left edges of the bars and the right edge of the last bar, in requests."""
    tops: list[list[float]]
    """Upper ends of the bars in dollars for each kind of token, stacked on the kinds before it."""
    running: list[float]
    """Dollars of all requests up to each request."""
    advice: tuple[Advice, ...] = ()


def cost_figures(
    whole: SessionCost, cost: ThreadCost, advice: tuple[Advice, ...] = ()
) -> CostFigures:
    """Return the figures of a thread. O(requests of the session)."""
    bills = [bill or Bill() for bill in cost.bills]
    kinds = frozenset(kind for bill in bills for kind in BILL_KINDS if getattr(bill, kind))
    title = _total_words(whole, cost)
    says = "".join(f"{sentence}. " for sentence in cost_words(whole, cost)).strip()
    running = list(accumulate(float(bill.total) for bill in bills))
    edges, tops = stack_bars(bills)
    return CostFigures(cost, cost_rows(cost), title, says, kinds, edges, tops, running, advice)


def stack_bars(bills: Sequence[Bill]) -> tuple[list[float], list[list[float]]]:
    """Return the bars of a thread, at most about MOST_BARS.

    Returns:
        The edges of the bars in requests, and for each kind of token the upper ends in dollars, stacked on the kinds
        before it.
    """
    group = len(bills) // MOST_BARS + 1
    chosen = [
        max(bills[start : start + group], key=lambda bill: bill.total)
        for start in range(0, len(bills), group)
    ]
    sums = [_sum_kinds(bill) for bill in chosen]
    edges = [place * group - 0.5 for place in range(len(chosen) + 1)]
    tops = [list(heights) for heights in zip(*sums, strict=True)]
    return edges, tops or [[] for _ in BILL_KINDS]


def _sum_kinds(bill: Bill) -> list[float]:
    """Return the dollars of each kind of token together with all kinds before it."""
    return list(accumulate(float(getattr(bill, kind)) for kind in BILL_KINDS))


def cost_words(whole: SessionCost, cost: ThreadCost) -> Iterator[str]:
    """Yield the sums of a thread besides its total, sentence by sentence, without full stops."""
    if cost.breaks:
        yield _misses_words(cost)
    yield from _payback_words(cost)
    for run in cost.thrash:
        yield f"Thrash: {run.compactions} compactions in a row, at requests {run.first} to {run.last}, did not pay off"
    for what_if in whole.what_ifs:
        if what_if.saved_usd > 0:
            yield f"{what_if.name} would have saved {dollars(what_if.saved_usd)} in the session"
    by_model = [
        f"{model or 'unknown model'} {_subtotal_words(part)}"
        for model, part in whole.by_model.items()
    ]
    if len(by_model) > 1:
        yield f"By model: {', '.join(by_model)}"
    if cost.estimated:
        yield f"About {dollars(cost.estimated)} more (estimated) for requests whose usage is not recorded"
    yield from _compared_words(cost)


def _total_words(whole: SessionCost, cost: ThreadCost) -> str:
    """Return what the thread cost and, if it is not the whole session, what the session cost."""
    part = subtotal_words(
        cost.subtotal.usd, cost.subtotal.unpriced, output_is_final=cost.output_is_final
    )
    if len(whole.threads) <= 1 and whole.unassigned is None:
        return f"Cost {part}" if part.startswith("unknown") else f"Cost of this session: {part}"
    session = subtotal_words(
        whole.subtotal.usd, whole.subtotal.unpriced, output_is_final=whole.output_is_final
    )
    return f"Cost of this thread: {part}; of the whole session: {session}"


def _compared_words(cost: ThreadCost) -> Iterator[str]:
    """Explain the amount that Compare shows, if it differs from that of the bill."""
    if cost.bill is None or cost.compared is None:
        return
    compared = dollars(cost.compared)
    if compared != dollars(cost.bill.total):
        estimate = " with that estimate" if cost.estimated else ""
        yield f"Compare shows {compared}: requests and summaries{estimate}, without titles and other side calls"


def _misses_words(cost: ThreadCost) -> str:
    """Return the number of cache misses, their tokens and, if there are prices, their dollars."""
    misses = cost.breaks
    count = plural(len(misses), "cache miss", "cache misses")
    after_compactions = sum(miss.cause == "compaction" for miss in misses)
    part = ""
    if 0 < after_compactions < len(misses):
        part = f", {after_compactions:,} of them after compactions"
    words = f"{count} of this thread{part}: {grouped(sum(miss.tokens for miss in misses))} tokens re-sent"
    if cost.bill is None:
        return words
    usd = _dollars(sum_prices(miss.usd for miss in misses))
    return f"{words} for {usd}, {_dollars(avoidable(misses))} avoidable"


def _payback_words(cost: ThreadCost) -> Iterator[str]:
    """Say how many of the compactions with a known price paid for themselves."""
    verdicts = [compaction.economics.paid for compaction in cost.compactions]
    judged = [paid for paid in verdicts if paid is not None]
    if judged:
        themselves = "itself" if len(judged) == 1 else "themselves"
        yield f"{sum(judged)} of {plural(len(judged), 'compaction')} of this thread paid for {themselves}"
