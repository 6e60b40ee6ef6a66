"""`context-inspector cost FILE`: what a session cost, why its cache broke, which compactions paid."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from inspector.cli.output import listing, picked, plain, write_answer
from inspector.cli.replay import ECONOMICS
from inspector.cli.select import add_selection, select
from inspector.core.findings.spending import Subtotal, session_cost, subtotal_words
from inspector.core.replay.economics import paid_words
from inspector.core.replay.report import Compacted
from inspector.core.session import Session, Thread
from inspector.core.tokens.prices import BILL_KINDS
from inspector.core.words import dollars

_MOST = 40
"""Breaks that the table shows: the dearest. The JSON holds all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_selection(parser)
    parser.set_defaults(thread=None)


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises InspectorError."""
    one = arguments.thread
    arguments.thread = one or "main"
    chosen = select(arguments)
    write_answer(describe(chosen.session, chosen.thread if one else None), arguments.json, cost_lines)


def describe(session: Session, thread: Thread | None = None) -> dict[str, Any]:
    """The document of cli.md's `cost`, of all threads or of one. Dollars to a ten-thousandth of a cent; null where a
    price is not known. The parts add up to the total."""
    found = session_cost(session, thread)
    bill = found.bill.rounded() if found.bill is not None else None
    used = any(one.used for one in found.bills)
    known = found.subtotal
    breaks = "thread request tokens missed usd:6 avoidable_usd:6 cause inferred evidence message place diff pause_s"
    return {
        "currency": "USD",
        "catalogue": f"genai-prices {version('genai-prices')}",
        "thread": None if thread is None else thread.id,
        **picked(bill if used else None, f"total:6 {' '.join(f'{kind}:6' for kind in BILL_KINDS)}"),
        "known_usd": _rounded(known.usd) if used else None,
        "unpriced_calls": known.unpriced,
        "by_thread": [{"thread": bill.thread.id, **_subtotal(bill.subtotal)} for bill in found.bills if bill.used],
        "by_model": [{"model": model, **_subtotal(of_model)} for model, of_model in found.by_model.items()],
        **picked(found, "output_is_final calls_beside_usd=beside:6 estimated_usd=estimated:6"),
        "breaks": [picked(one, breaks) for one in found.breaks],
        **picked(found, "breaks_usd:6 avoidable_usd=avoidable:6"),
        "compared_usd": {one.thread.id: _rounded(one.compared) for one in found.threads},
        "compactions": [_compaction(one.thread, step) for one in found.threads for step in one.compactions],
        "what_if": [picked(one, "name usd:6 saved_usd:6") for one in found.what_ifs],
        "thrash": [
            {"thread": one.thread.id, **picked(run, "from=first to=last compactions")}
            for one in found.threads
            for run in one.thrash
        ],
    }


def _subtotal(known: Subtotal) -> dict[str, Any]:
    return {"usd": _rounded(known.usd), "unpriced_calls": known.unpriced}


def _rounded(amount: Decimal | None) -> float | None:
    return None if amount is None else float(round(amount, 6))


def _compaction(thread: Thread, step: Compacted) -> dict[str, Any]:
    return {
        "thread": thread.id,
        **picked(step, "before_request=at.before_request trigger=at.tier kind tokens_before tokens_after"),
        **picked(step.economics, ECONOMICS),
        "estimated": step.is_estimated,
    }


def cost_lines(document: dict[str, Any]) -> Iterator[str]:
    """The whole document, the dearest breaks only."""
    least = "" if document["output_is_final"] else "at least "
    if document["known_usd"] is None:
        yield "total  unknown: the file records no token usage"
    elif document["total"] is None:
        yield f"total  {subtotal_words(document['known_usd'], document['unpriced_calls'])}"
    else:
        parts = [
            (kind.replace("_", " "), document[kind], least if kind == "output" else "")
            for kind in BILL_KINDS
            if document[kind]
        ]
        words = ", ".join(f"{least}{_dollars(usd)} {name}" for name, usd, least in parts)
        yield f"total  {least}{_dollars(document['total'])}" + (f" = {words}" if words else "")
    yield from _subtotal_lines("thread", document["by_thread"])
    yield from _subtotal_lines("model", document["by_model"])
    if beside := document["calls_beside_usd"]:
        yield f"       of it {_dollars(beside)} for calls beside the conversation: titles, summaries"
    if more := document["estimated_usd"]:
        besides = "" if document["total"] is None else " more"
        yield f"       about {_dollars(more)}{besides} (estimated): calls whose usage the file does not hold"
    for one in document["what_if"]:
        saved = one["saved_usd"]
        if not saved:
            continue
        verb = "saved" if saved >= 0 else "cost"
        more = "" if saved >= 0 else " more"
        yield f"       {one['name']} throughout would have {verb} {_dollars(abs(saved))}{more}: {_dollars(one['usd'])}"
    yield from _break_lines(document)
    yield from _compaction_lines(document)


def _subtotal_lines(name: str, subtotals: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One line for each thread or model, the most expensive first; none if there is only one."""
    if len(subtotals) < 2:
        return
    ordered = sorted(subtotals, key=lambda subtotal: -subtotal["usd"])
    for subtotal in ordered[:_MOST]:
        words = subtotal_words(subtotal["usd"], subtotal["unpriced_calls"])
        yield f"       {name} {plain(subtotal[name]) or 'not recorded'}: {words}"
    if len(ordered) > _MOST:
        yield f"       and {len(ordered) - _MOST:,} more (all with --json)"


def _break_lines(document: dict[str, Any]) -> Iterator[str]:
    breaks = document["breaks"]
    if not breaks:
        return
    tokens = sum(one["tokens"] for one in breaks)
    yield ""
    yield f"cache misses: {len(breaks)}; {tokens:,} tokens re-sent, {_dollars(document['breaks_usd'])}:"
    shown = sorted(breaks, key=lambda one: -(one["usd"] or one["tokens"] / 1e6))[:_MOST]
    rows = sorted(shown, key=breaks.index)
    named = ("thread/16", ">request", ">tokens", (">again", lambda one: _dollars(one["usd"])), "cause", "evidence/150")
    for line in listing(rows, *named):
        yield f"  {line}"
    if len(breaks) > _MOST:
        yield f"  and {len(breaks) - _MOST} cheaper ones; --json has them all, with the whole evidence"


def _compaction_lines(document: dict[str, Any]) -> Iterator[str]:
    if document["compactions"]:
        yield ""
        yield "compactions:"
        money = (
            (">cost", lambda one: _dollars(one["cost_usd"])),
            (">saved a request", lambda one: _dollars(one["saved_per_request_usd"])),
            ("paid", _paid),
        )
        named = ("thread/16", ">before_request", "trigger/20", ">tokens_before", ">tokens_after=after")
        for line in listing(document["compactions"], *named, *money):
            yield f"  {line}"
    for run in document["thrash"]:
        yield f"  thrash: {run['compactions']} compactions in a row, {run['from']} to {run['to']}, did not pay"


def _dollars(amount: float | None) -> str:
    return "no price" if amount is None else dollars(amount)


def _paid(one: Mapping[str, Any]) -> str:
    words = paid_words(one["paid_after_requests"])
    return "no price" if one["paid"] is None else words.replace("paid", "").strip()
