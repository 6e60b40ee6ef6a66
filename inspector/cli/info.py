"""`context-inspector info FILE`: print what the transcript holds."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from inspector.cli.changes import drop_document, sizes_document
from inspector.cli.output import CellColumn, listing, number, pairs, picked, plain, write_answer
from inspector.cli.select import Selection, add_options, add_selection, chosen_policy, select
from inspector.core.drops import Drop, session_drops
from inspector.core.findings.advice import Advice, session_advice
from inspector.core.findings.answers import short_answers
from inspector.core.findings.growth import Jump, find_largest_jump
from inspector.core.findings.spending import (
    ThreadBill,
    session_bills,
    session_cost,
    subtotal_words,
    sum_bills,
    sum_known,
)
from inspector.core.findings.triggers import ClientTrigger, client_trigger, observed_triggers
from inspector.core.policies.catalogue import DEFAULT_POLICY, POLICIES
from inspector.core.policies.harness import Policy
from inspector.core.policies.place import believed_at, own_pairs, settings_for
from inspector.core.policies.settings import SettingPairs
from inspector.core.session import Compaction, Request, Session, SideCall, Thread
from inspector.core.tokens.believing import OwnCounts, known_counts
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.prices import billed, side_model
from inspector.core.words import dollars
from inspector.transcripts.saving import save_har


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.add_argument(
        "--har", metavar="FILE", help="write the exchanges of a recording of the proxy as HAR 1.2"
    )
    add_options(parser, "--force")


def run(arguments: argparse.Namespace) -> None:
    """Print what the transcript holds. Raises InspectorError."""
    policy = chosen_policy(arguments)
    chosen = select(arguments)
    if arguments.har:
        save_har(chosen.session, arguments.har, arguments.force)
    document = describe(chosen, arguments.window, policy, tuple(arguments.set or ()))
    write_answer(document, arguments.json, info_lines)


def describe(
    chosen: Selection,
    window: int | None = None,
    policy: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
    pairs: SettingPairs = (),
) -> dict[str, Any]:
    """Return the document of cli.md's `info`. Numbers that are not recorded are null, texts empty.

    Args:
        chosen: The session, thread and request.
        window: The user's window in tokens; None uses the model's.
        policy: The policy whose own count is shown.
        pairs: Settings; those that the policy has are used.
    """
    session = chosen.session
    thread = chosen.thread
    model_window = chosen.window(window)
    pressures = known_pressures(thread)
    cost = session_cost(session)

    def window_at(at: int | None) -> int | None:
        return replace(chosen, at=len(thread.requests) if at is None else at).window(window).tokens

    settings = settings_for(policy, own_pairs(policy, pairs), model_window, session.client)
    own_counts = [
        believed_at(policy, settings, thread, at=request)
        for request in range(len(thread.requests) + 1)
    ]
    advice = session_advice(session, thread, cost, window=model_window.tokens)
    return {
        **picked(session, "format path client session=id"),
        "sessions": [picked(held, "id title path") for held in session.held],
        "notes": list(session.notes),
        "summary": [answer.text for answer in short_answers(session, thread, window_at)],
        "advice": [_advice(piece) for piece in advice],
        "largest_jump": _describe_jump(find_largest_jump(thread)),
        "model": _model(thread),
        "window": asdict(model_window) | {"warnings": list(model_window.warnings)},
        "threads": [_thread(thread) for thread in session.threads],
        **_describe_requests(thread, pressures, own_counts),
        **_describe_triggers(session, thread, pressures, window=model_window.tokens),
        **_describe_calls(session),
        "problems": [asdict(problem) for problem in session.problems],
    }


def _describe_requests(
    thread: Thread, pressures: Pressures, own_counts: Sequence[int]
) -> dict[str, Any]:
    counts = known_counts(thread, estimator(DEFAULT_ESTIMATOR))
    counted = zip(thread.requests, own_counts, strict=False)  # the last count is that of the end
    return {
        "thread": thread.id,
        "requests": [
            _request(request, pressures, counts, own_count) for request, own_count in counted
        ],
        "end": _pressure(pressures, counts, None, own_counts[-1]) | {"messages": len(thread.end)},
        "compactions": [
            _compaction(thread, pressures, compaction) for compaction in thread.compactions
        ],
    }


def _describe_triggers(
    session: Session, thread: Thread, pressures: Pressures, window: int | None
) -> dict[str, Any]:
    return {
        "observed_triggers": [
            asdict(trigger) for trigger in observed_triggers(thread, pressures, window)
        ],
        "client_trigger": _client_trigger(client_trigger(session, thread, pressures, window)),
        "drops": [_drop(session.thread(drop.thread), drop) for drop in session_drops(session)],
    }


def _describe_calls(session: Session) -> dict[str, Any]:
    threads = {thread.id: thread for thread in session.threads}
    bills = session_bills(session)
    return {
        "side_calls": [
            _side_call(call, threads.get(call.thread, session.main)) for call in session.side_calls
        ],
        "totals": _totals(bills),
        "totals_by_thread": {bill.thread.id: _totals([bill]) for bill in bills[:-1]},
    }


def _advice(piece: Advice) -> dict[str, Any]:
    return picked(piece, "kind finding action evidence tokens usd:6 request thread")


def _describe_jump(jump: Jump | None) -> dict[str, Any] | None:
    return None if jump is None else picked(jump, "request tokens subject")


def _model(thread: Thread) -> str:
    used = (request.model for request in reversed(thread.requests) if request.model)
    return next(used, "") or thread.model


def _thread(thread: Thread) -> dict[str, Any]:
    return {
        "id": thread.id,
        "requests": len(thread.requests),
        "messages": len(thread.messages),
        "model": _model(thread),
        **picked(thread, "title parent parent_call"),
        "compactions": len(thread.compactions),
    }


def _pressure(
    pressures: Pressures, counts: OwnCounts, at: int | None, believed: int
) -> dict[str, Any]:
    pressure = pressures.at(at)
    scale = pressures.scale(at)
    return {
        **picked(pressure, "tokens kind reported"),
        **picked(counts.at(at), "estimated calibrated"),
        "predicted": pressure.predicted.tokens if pressure.predicted else None,
        "band": pressure.band,
        "believed": believed,
        "unseen": scale.unseen,
        "not_in_file": scale.unseen if pressure.kind in ("reported", "predicted") else None,
    }


def _request(
    request: Request, pressures: Pressures, counts: OwnCounts, believed: int
) -> dict[str, Any]:
    return {
        "index": request.index,
        **_pressure(pressures, counts, request.index, believed),
        **picked(
            request.usage, "input output output_is_final cache_read cache_write cache_write_1h"
        ),
        "messages": request.view.length,
        **picked(request, "model time finish line"),
    }


def _compaction(thread: Thread, pressures: Pressures, compaction: Compaction) -> dict[str, Any]:
    sizes = compaction_sizes(thread, pressures, compaction)
    return {
        **picked(compaction, "before_request trigger kind"),
        **sizes_document(sizes),
        **picked(
            compaction,
            "tokens_before_recorded=tokens_before tokens_after_recorded=tokens_after kept",
        ),
        "cleared": len(compaction.cleared),
        "inferred": bool(compaction.evidence),
        "evidence": compaction.evidence,
        "summary_chars": len(compaction.summary.text) if compaction.summary else 0,
        **picked(compaction, "line time"),
    }


def _drop(thread: Thread, drop: Drop) -> dict[str, Any]:
    return drop_document(thread, known_pressures(thread), drop)


def _client_trigger(trigger: ClientTrigger | None) -> dict[str, Any] | None:
    if trigger is None:
        return None
    return {
        **picked(trigger, "client version observed"),
        "tokens": list(trigger.tokens),
        "words": trigger.words,
    }


def _side_call(call: SideCall, thread: Thread) -> dict[str, Any]:
    """Return a side call as a document. The cost is null if nothing was reported or the model has no price."""
    bill = billed(side_model(call, thread), call.usage, call.time) if call.usage else None
    return {
        **picked(call, "kind thread before_request compaction=made what model status"),
        **picked(call.usage, "input cache_read cache_write cache_write_1h output"),
        **picked(bill, "cost_usd=total:6"),
        **picked(call, "line time"),
    }


def _totals(bills: Sequence[ThreadBill]) -> dict[str, Any]:
    """Return the sums over all calls, counting each once. The cost is null if one price is unknown."""
    used = [usage for bill in bills for usage in bill.used]
    bill = sum_bills(bill.bill for bill in bills)
    subtotal = sum_known(
        priced for of_thread in bills for priced in (*of_thread.bills, *of_thread.beside)
    )
    totals = {"calls": len(used)}
    for name in (
        "input",
        "cache_read",
        "cache_write",
        "cache_write_5m",
        "cache_write_1h",
        "output",
    ):
        totals[name] = sum(getattr(usage, name) for usage in used)
    return {
        **totals,
        "output_is_final": all(bill.output_is_final for bill in bills),
        **picked(bill if used else None, "cost_usd=total:6"),
        "known_usd": float(round(subtotal.usd, 6)) if used else None,
        "unpriced_calls": subtotal.unpriced,
    }


_LISTED, _CUT = 60, ("sessions", "threads", "changes of the buffer", "side calls")
"""Number of rows that are printed in each of these sections; JSON has all."""
_COLUMNS: dict[str, tuple[CellColumn, ...]] = {
    "sessions": (">session", "id/60", "title/60"),
    "threads": ("id/40=thread", ">requests", ">messages", "model/32", "title/50"),
    "requests": (
        ">index=request",
        ">reported",
        ">predicted",
        ">believed",
        ">estimated",
        ">output",
        ">cache_read",
        ">cache_write",
        ">messages",
        "finish",
        ("time", lambda request: request["time"][:19]),
    ),
    "compactions": (
        "kind",
        "trigger?",
        ">before_request",
        ">tokens_before",
        ">tokens_after",
        ">kept",
        ">summary_chars",
    ),
    "changes of the buffer": (
        "thread/24",
        ">request",
        "kind",
        ("loss", lambda drop: "yes" if drop["loss"] else "no"),
        ">lost",
        ">changed",
        ">tokens_before",
        ">tokens_after",
        "marker/60=evidence",
    ),
    "side calls": (
        "kind",
        "thread/24?",
        ">before_request",
        "model/32",
        ">input",
        ">cache_read",
        ">output",
        (">cost", lambda call: "-" if call["cost_usd"] is None else dollars(call["cost_usd"])),
        ">status",
        "what/60",
    ),
    "problems": ("file/40", ">line", "what/60", "excerpt/60"),
}


def info_lines(document: dict[str, Any]) -> list[str]:
    """Return the document as text."""
    lines = [plain(sentence) for sentence in document["summary"]]
    for piece in document["advice"]:
        lines += ["", f"Advice: {plain(piece['finding'])}"]
        lines += [f"  {plain(piece[part])}" for part in ("action", "evidence")]
    lines += ["", *_head(document)]
    rows: dict[str, Sequence[dict[str, Any]]] = {
        "sessions": [
            {"session": index, **session} for index, session in enumerate(document["sessions"])
        ],
        "threads": _put_largest_first(document["threads"]),
        "requests": document["requests"],
        "compactions": document["compactions"],
        "changes of the buffer": document["drops"],
        "side calls": document["side_calls"],
        "problems": document["problems"],
    }
    for section, documents in rows.items():
        title = f"requests of {plain(document['thread'])}" if section == "requests" else section
        lines += _section(title, documents, _COLUMNS[section], _LISTED if section in _CUT else None)
    return lines


def _section(
    title: str, documents: Sequence[dict[str, Any]], columns: Sequence[CellColumn], most: int | None
) -> list[str]:
    """Return a table under its title, with at most `most` rows (None: all); empty if there are no rows."""
    if not documents:
        return []
    rows = listing(documents[:most], *columns)
    if most is not None and len(documents) > most:
        rows.append(f"and {len(documents) - most:,} more (all with --json)")
    return ["", f"{title}:", *(f"  {row}" for row in rows)]


def _put_largest_first(threads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the threads with those to be printed in front: the first ones, and the largest of the others."""
    first = _LISTED // 2
    others = sorted(
        threads[first:], key=lambda thread: (thread["requests"], thread["messages"]), reverse=True
    )
    printed = {id(thread) for thread in (*threads[:first], *others[: _LISTED - first])}
    return sorted(threads, key=lambda thread: id(thread) not in printed)


def _head(document: dict[str, Any]) -> list[str]:
    window = document["window"]
    client = f" ({plain(document['client'])})" if document["client"] else ""
    source = ": ".join(filter(None, (window["source"], window["basis"])))
    rows = [
        ("file", plain(document["path"])),
        ("format", f"{document['format']}{client}"),
        ("model", plain(document["model"]) or "not recorded"),
        (
            "window",
            f"{number(window['tokens'])} tokens ({source})" if window["tokens"] else "unknown",
        ),
    ]
    if document["client_trigger"]:
        rows.append(("trigger", _trigger_words(document["client_trigger"])))
    rows += [("warning", plain(warning)) for warning in window["warnings"]]
    rows += [("note", plain(sentence)) for sentence in document["notes"]]
    if document["largest_jump"]:
        rows.append(("jump", _jump_words(document["largest_jump"])))
    rows.append(("tokens", _totals_words(document["totals"])))
    return pairs(rows)


def _totals_words(totals: dict[str, Any]) -> str:
    """Return the totals in words: `5 input, 10 cache read, 3 cache write, at least 2 output; $0.12`."""
    if not totals["calls"]:
        return "no usage recorded"
    is_final = totals["output_is_final"]
    written = f"{number(totals['cache_write'])} cache write"
    if totals["cache_write_1h"]:
        written += f" ({number(totals['cache_write_1h'])} for an hour)"
    output = f"{'' if is_final else 'at least '}{number(totals['output'])} output"
    words = f"{number(totals['input'])} input, {number(totals['cache_read'])} cache read, {written}, {output}"
    if totals["known_usd"] is None:
        return words
    cost = subtotal_words(totals["known_usd"], totals["unpriced_calls"], output_is_final=is_final)
    return f"{words}; {cost}"


def _jump_words(jump: dict[str, Any]) -> str:
    """Return the largest jump in words: `request 105 grew by 21,744 tokens (Read data/rates.csv)`."""
    what = f" ({plain(jump['subject'])})" if jump["subject"] else ""
    return f"request {jump['request']} grew by {number(jump['tokens'])} tokens{what}"


def _trigger_words(trigger: dict[str, Any]) -> str:
    """Return a trigger in words: `Claude Code compacts at 77.6%, observed twice (155,144 and 156,611 tokens)`."""
    sizes = [number(tokens) for tokens in trigger["tokens"]]
    listed = " and ".join(sizes) if len(sizes) < 3 else f"{sizes[0]} to {sizes[-1]}"
    return f"{plain(trigger['words'])} ({listed} tokens)"
