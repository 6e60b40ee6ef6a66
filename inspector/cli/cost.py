"""`context-inspector cost FILE`: what a session cost, its cache misses, and which compactions paid for themselves."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from inspector.cli.output import CellColumn, listing, picked, plain, write_answer
from inspector.cli.replay import ECONOMICS
from inspector.cli.select import add_selection, select
from inspector.core.findings.spending import SessionCost, Subtotal, session_cost, subtotal_words
from inspector.core.replay.economics import paid_words
from inspector.core.replay.report import Compacted
from inspector.core.session import Session, Thread
from inspector.core.tokens.prices import BILL_KINDS
from inspector.core.words import dollars, plural

_MOST = 40
"""Maximum number of cache misses in the table, which lists the most expensive; JSON has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.set_defaults(thread=None)


def run(arguments: argparse.Namespace) -> None:
    """Print the costs. Raises InspectorError."""
    only_thread = arguments.thread
    arguments.thread = only_thread or "main"
    chosen = select(arguments)
    write_answer(
        describe(chosen.session, chosen.thread if only_thread else None), arguments.json, cost_lines
    )


def describe(session: Session, thread: Thread | None = None) -> dict[str, Any]:
    """Return the document of cli.md's `cost`, for all threads or for one.

    Amounts are in dollars, rounded to 6 places, null if a price is unknown. The parts add up to the total.
    """
    cost = session_cost(session, thread)
    bill = None if cost.bill is None else cost.bill.rounded()
    has_usage = any(bill.used for bill in cost.bills)
    miss = "thread request tokens missed usd:6 avoidable_usd:6 cause inferred evidence message place diff pause_s"
    return {
        "currency": "USD",
        "catalogue": f"genai-prices {version('genai-prices')}",
        "thread": None if thread is None else thread.id,
        **picked(bill if has_usage else None, _BILL_FIELDS),
        **_subtotals(cost, has_usage),
        **picked(cost, "output_is_final calls_beside_usd=beside:6 estimated_usd=estimated:6"),
        "breaks": [picked(item, miss) for item in cost.breaks],
        **picked(cost, "breaks_usd:6 avoidable_usd=avoidable:6"),
        "compared_usd": {costs.thread.id: _round_dollars(costs.compared) for costs in cost.threads},
        "compactions": [
            _compaction(costs.thread, step) for costs in cost.threads for step in costs.compactions
        ],
        "what_if": [picked(item, "name usd:6 saved_usd:6") for item in cost.what_ifs],
        "thrash": [_thrash(costs.thread, run) for costs in cost.threads for run in costs.thrash],
    }


_BILL_FIELDS = " ".join(f"{kind}:6" for kind in ("total", *BILL_KINDS))


def _subtotals(cost: SessionCost, has_usage: bool) -> dict[str, Any]:
    bills = [bill for bill in cost.bills if bill.used]
    return {
        "known_usd": _round_dollars(cost.subtotal.usd) if has_usage else None,
        "unpriced_calls": cost.subtotal.unpriced,
        "by_thread": [{"thread": bill.thread.id, **_subtotal(bill.subtotal)} for bill in bills],
        "by_model": [
            {"model": model, **_subtotal(subtotal)} for model, subtotal in cost.by_model.items()
        ],
    }


def _subtotal(subtotal: Subtotal) -> dict[str, Any]:
    return {"usd": _round_dollars(subtotal.usd), "unpriced_calls": subtotal.unpriced}


def _thrash(thread: Thread, run: object) -> dict[str, Any]:
    return {"thread": thread.id, **picked(run, "from=first to=last compactions")}


def _round_dollars(amount: Decimal | None) -> float | None:
    return None if amount is None else float(round(amount, 6))


def _compaction(thread: Thread, step: Compacted) -> dict[str, Any]:
    return {
        "thread": thread.id,
        **picked(
            step, "before_request=at.before_request trigger=at.tier kind tokens_before tokens_after"
        ),
        **picked(step.economics, ECONOMICS),
        "estimated": step.is_estimated,
    }


def cost_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the document as text, with the most expensive cache misses."""
    yield f"total  {_total_words(document)}"
    yield from _subtotal_lines("thread", document["by_thread"])
    yield from _subtotal_lines("model", document["by_model"])
    if beside := document["calls_beside_usd"]:
        yield f"       {_dollars(beside)} of it for calls beside the conversation (titles, summaries)"
    if estimated := document["estimated_usd"]:
        more = "" if document["total"] is None else " more"
        yield f"       about {_dollars(estimated)}{more} (estimated): calls whose usage is not recorded"
    for what_if in document["what_if"]:
        if what_if["saved_usd"]:
            yield f"       {_what_if_words(what_if)}"
    yield from _miss_lines(document)
    yield from _compaction_lines(document)


def _total_words(document: Mapping[str, Any]) -> str:
    """Return the total and its parts, such as `at least $1.20 = $0.80 input, at least $0.40 output`.

    Return the known part if some calls have no price, and why the total is unknown if no usage is recorded.
    """
    if document["known_usd"] is None:
        return "unknown: the file records no token usage"
    if document["total"] is None:
        return subtotal_words(document["known_usd"], document["unpriced_calls"])
    at_least = "" if document["output_is_final"] else "at least "
    parts = []
    for kind in BILL_KINDS:
        if document[kind]:
            prefix = at_least if kind == "output" else ""
            parts.append(f"{prefix}{_dollars(document[kind])} {kind.replace('_', ' ')}")
    total = f"{at_least}{_dollars(document['total'])}"
    return f"{total} = {', '.join(parts)}" if parts else total


def _subtotal_lines(name: str, subtotals: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each thread or model, the most expensive first; none if there is only one."""
    if len(subtotals) < 2:
        return
    ordered = sorted(subtotals, key=lambda subtotal: -subtotal["usd"])
    for subtotal in ordered[:_MOST]:
        words = subtotal_words(subtotal["usd"], subtotal["unpriced_calls"])
        yield f"       {name} {plain(subtotal[name]) or 'not recorded'}: {words}"
    if len(ordered) > _MOST:
        yield f"       and {len(ordered) - _MOST:,} more (all with --json)"


def _what_if_words(what_if: Mapping[str, Any]) -> str:
    amount = _dollars(abs(what_if["saved_usd"]))
    effect = f"saved {amount}" if what_if["saved_usd"] >= 0 else f"cost {amount} more"
    return f"{what_if['name']} throughout would have {effect}: {_dollars(what_if['usd'])}"


_MISS_COLUMNS: tuple[CellColumn, ...] = (
    "thread/16",
    ">request",
    ">tokens",
    (">again", lambda miss: _dollars(miss["usd"])),
    "cause",
    "evidence/150",
)


def _miss_lines(document: dict[str, Any]) -> Iterator[str]:
    misses = document["breaks"]
    if not misses:
        return
    tokens = sum(miss["tokens"] for miss in misses)
    yield ""
    count = plural(len(misses), "cache miss", "cache misses")
    yield f"{count} re-sent {plural(tokens, 'token')}, {_dollars(document['breaks_usd'])}:"
    costliest = sorted(misses, key=lambda miss: -(miss["usd"] or miss["tokens"] / 1e6))[:_MOST]
    for line in listing(sorted(costliest, key=misses.index), *_MISS_COLUMNS):
        yield f"  {line}"
    if len(misses) > _MOST:
        yield f"  and {len(misses) - _MOST:,} cheaper misses (all with --json, with the full evidence)"


def _compaction_lines(document: dict[str, Any]) -> Iterator[str]:
    if document["compactions"]:
        yield ""
        yield "compactions:"
        money = (
            (">cost", lambda compaction: _dollars(compaction["cost_usd"])),
            (">saved a request", lambda compaction: _dollars(compaction["saved_per_request_usd"])),
            ("paid", _payback_words),
        )
        named = (
            "thread/16",
            ">before_request",
            "trigger/20",
            ">tokens_before",
            ">tokens_after=after",
        )
        for line in listing(document["compactions"], *named, *money):
            yield f"  {line}"
    for run in document["thrash"]:
        count = plural(run["compactions"], "compaction")
        yield f"  thrash: {count} in a row, {run['from']} to {run['to']}, did not pay for themselves"


def _dollars(amount: float | None) -> str:
    return "no price" if amount is None else dollars(amount)


def _payback_words(compaction: Mapping[str, Any]) -> str:
    words = paid_words(compaction["paid_after_requests"])
    return "no price" if compaction["paid"] is None else words.replace("paid", "").strip()
