"""`context-inspector info FILE`: what the transcript holds."""

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
from inspector.core.session import Compaction, Request, SideCall, Thread
from inspector.core.tokens.change_sizes import compaction_sizes
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.prices import billed, side_model
from inspector.core.words import dollars
from inspector.transcripts.saving import save_har


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_selection(parser)
    parser.add_argument("--har", metavar="FILE", help="write the exchanges of a recording of the proxy as HAR 1.2")
    add_options(parser, "--force")


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises InspectorError."""
    by, chosen = chosen_policy(arguments), select(arguments)
    if arguments.har:
        save_har(chosen.session, arguments.har, arguments.force)
    document = describe(chosen, arguments.window, by, tuple(arguments.set or ()))
    write_answer(document, arguments.json, info_lines)


def describe(
    chosen: Selection,
    window: int | None = None,
    by: Policy[Any, Any] = POLICIES[DEFAULT_POLICY],
    pairs: SettingPairs = (),
) -> dict[str, Any]:
    """The document of cli.md's `info`. Numbers that the file does not hold are null, texts empty.

    `by` with those of `pairs` that it has is the policy that believes.
    """
    session, thread = chosen.session, chosen.thread
    found = chosen.window(window)
    by_default = estimator(DEFAULT_ESTIMATOR)
    pressures, cost = known_pressures(thread, by_default), session_cost(session)

    def window_at(at: int | None) -> int | None:
        return replace(chosen, at=len(thread.requests) if at is None else at).window(window).tokens

    settings = settings_for(by, own_pairs(by, pairs), found, session.client)
    believed = [believed_at(by, settings, thread, n) for n in range(len(thread.requests) + 1)]
    threads, bills = {thread.id: thread for thread in session.threads}, session_bills(session)
    return {
        **picked(session, "format path client session=id"),
        "sessions": [picked(one, "id title path") for one in session.held],
        "notes": list(session.notes),
        "summary": [answer.text for answer in short_answers(session, thread, by_default, window_at)],
        "advice": [_advice(piece) for piece in session_advice(session, thread, by_default, cost, found.tokens)],
        "largest_jump": _describe_jump(find_largest_jump(thread)),
        "model": _model(thread),
        "window": asdict(found) | {"warnings": list(found.warnings)},
        "threads": [_thread(thread) for thread in session.threads],
        "thread": thread.id,
        "requests": [_request(request, pressures, believed[n]) for n, request in enumerate(thread.requests)],
        "end": _pressure(pressures, None, believed[-1]) | {"messages": len(thread.end)},
        "compactions": [_compaction(thread, pressures, compaction) for compaction in thread.compactions],
        "observed_triggers": [asdict(trigger) for trigger in observed_triggers(thread, pressures, found.tokens)],
        "client_trigger": _client_trigger(client_trigger(session, thread, pressures, found.tokens)),
        "drops": [_drop(session.thread(drop.thread), drop) for drop in session_drops(session)],
        "side_calls": [_side_call(call, threads.get(call.thread, session.main)) for call in session.side_calls],
        "totals": _totals(bills),
        "totals_by_thread": {bill.thread.id: _totals([bill]) for bill in bills[:-1]},
        "problems": [asdict(problem) for problem in session.problems],
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


def _pressure(pressures: Pressures, at: int | None, believed: int) -> dict[str, Any]:
    pressure = pressures.at(at)
    scale = pressures.scale(at)
    return {
        **picked(pressure, "tokens kind reported estimated calibrated"),
        "predicted": pressure.predicted.tokens if pressure.predicted else None,
        "band": pressure.band,
        "believed": believed,
        "unseen": scale.unseen,
        "not_in_file": scale.unseen if pressure.kind in ("reported", "predicted") else None,
    }


def _request(request: Request, pressures: Pressures, believed: int) -> dict[str, Any]:
    return {
        "index": request.index,
        **_pressure(pressures, request.index, believed),
        **picked(request.usage, "input output output_is_final cache_read cache_write cache_write_1h"),
        "messages": request.view.length,
        **picked(request, "model time finish line"),
    }


def _compaction(thread: Thread, pressures: Pressures, compaction: Compaction) -> dict[str, Any]:
    sizes = compaction_sizes(thread, pressures, compaction)
    return {
        **picked(compaction, "before_request trigger kind"),
        **sizes_document(sizes),
        **picked(compaction, "tokens_before_recorded=tokens_before tokens_after_recorded=tokens_after kept"),
        "cleared": len(compaction.cleared),
        "inferred": bool(compaction.evidence),
        "evidence": compaction.evidence,
        "summary_chars": len(compaction.summary.text) if compaction.summary else 0,
        **picked(compaction, "line time"),
    }


def _drop(thread: Thread, drop: Drop) -> dict[str, Any]:
    return drop_document(thread, known_pressures(thread, estimator(DEFAULT_ESTIMATOR)), drop)


def _client_trigger(trigger: ClientTrigger | None) -> dict[str, Any] | None:
    if trigger is None:
        return None
    return {**picked(trigger, "client version observed"), "tokens": list(trigger.tokens), "words": trigger.words}


def _side_call(call: SideCall, of: Thread) -> dict[str, Any]:
    """The cost is null where nothing was reported or the model has no price."""
    bill = billed(side_model(call, of), call.usage, call.time) if call.usage else None
    return {
        **picked(call, "kind thread before_request compaction=made what model status"),
        **picked(call.usage, "input cache_read cache_write cache_write_1h output"),
        **picked(bill, "cost_usd=total:6"),
        **picked(call, "line time"),
    }


def _totals(bills: Sequence[ThreadBill]) -> dict[str, Any]:
    """Sums over all calls, each once. The cost is null if one price is unknown."""
    used = [usage for bill in bills for usage in bill.used]
    bill = sum_bills(bill.bill for bill in bills)
    known = sum_known(priced for of_thread in bills for priced in (*of_thread.bills, *of_thread.beside))
    counts = ("input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "output")
    return {
        "calls": len(used),
        **{name: sum(getattr(usage, name) for usage in used) for name in counts},
        "output_is_final": all(bill.output_is_final for bill in bills),
        **picked(bill if used else None, "cost_usd=total:6"),
        "known_usd": float(round(known.usd, 6)) if used else None,
        "unpriced_calls": known.unpriced,
    }


_LISTED, _CUT = 60, ("sessions", "threads", "changes of the buffer", "side calls")
"""So many, of each of these, are shown to people; in JSON all are."""


def info_lines(document: dict[str, Any]) -> list[str]:
    """The whole document."""
    sessions = [{"session": n, **one} for n, one in enumerate(document["sessions"])]
    counts = ("reported", "predicted", "believed", "estimated", "output", "cache_read", "cache_write", "messages")
    sizes = (">before_request", ">tokens_before", ">tokens_after")
    time = ("time", lambda one: one["time"][:19])
    loss = ("loss", lambda one: "yes" if one["loss"] else "no")
    cost = (">cost", lambda one: "-" if one["cost_usd"] is None else dollars(one["cost_usd"]))
    named = ("kind", "thread/24?", ">before_request", "model/32")
    sections: dict[str, tuple[Sequence[dict[str, Any]], Sequence[CellColumn]]] = {
        "sessions": (sessions, (">session", "id/60", "title/60")),
        "threads": (_largest(document["threads"]), ("id/40=thread", ">requests", ">messages", "model/32", "title/50")),
        f"requests of {plain(document['thread'])}": (
            document["requests"],
            (">index=request", *(f">{name}" for name in counts), "finish", time),
        ),
        "compactions": (document["compactions"], ("kind", "trigger?", *sizes, ">kept", ">summary_chars")),
        "changes of the buffer": (
            document["drops"],
            ("thread/24", ">request", "kind", loss, ">lost", ">changed", *sizes[1:], "marker/60=evidence"),
        ),
        "side calls": (
            document["side_calls"],
            (*named, ">input", ">cache_read", ">output", cost, ">status", "what/60"),
        ),
        "problems": (document["problems"], ("file/40", ">line", "what/60", "excerpt/60")),
    }
    lines = [plain(sentence) for sentence in document["summary"]]
    for piece in document["advice"]:
        lines += ["", f"Advice: {plain(piece['finding'])}"]
        lines += [f"  {plain(piece[part])}" for part in ("action", "evidence")]
    lines += ["", *_head(document)]
    for title, (documents, columns) in sections.items():
        most = _LISTED if title in _CUT else len(documents)
        rows = listing(documents[:most], *columns) if documents else []
        if len(documents) > most:
            rows.append(f"and {len(documents) - most:,} more (all with --json)")
        lines += ["", f"{title}:", *(f"  {row}" for row in rows)] if rows else []
    return lines


def _largest(threads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are shown in front: of many the first, and of the others the largest."""
    first = _LISTED // 2
    others = sorted(threads[first:], key=lambda one: (one["requests"], one["messages"]), reverse=True)
    shown = {id(one) for one in (*threads[:first], *others[: _LISTED - first])}
    return sorted(threads, key=lambda one: id(one) not in shown)


def _head(document: dict[str, Any]) -> list[str]:
    window, totals = document["window"], document["totals"]
    is_final = totals["output_is_final"]
    at_least = "" if is_final else " at least"
    hourly = f" ({number(totals['cache_write_1h'])} for an hour)" if totals["cache_write_1h"] else ""
    spent = (
        f"{number(totals['input'])} input, {number(totals['cache_read'])} cache read, "
        f"{number(totals['cache_write'])} cache write{hourly},{at_least} {number(totals['output'])} output"
    )
    price = ""
    if totals["known_usd"] is not None:
        price = f"; {subtotal_words(totals['known_usd'], totals['unpriced_calls'], output_is_final=is_final)}"
    known = ": ".join(word for word in (window["source"], window["basis"]) if word)
    trigger = document["client_trigger"]
    rows = [
        ("file", plain(document["path"])),
        ("format", document["format"] + (f" ({plain(document['client'])})" if document["client"] else "")),
        ("model", plain(document["model"]) or "not recorded"),
        ("window", f"{number(window['tokens'])} tokens ({known})" if window["tokens"] else "unknown"),
        *((("trigger", _trigger_words(trigger)),) if trigger else ()),
        *(("warning", plain(warning)) for warning in window["warnings"]),
        *(("note", plain(sentence)) for sentence in document["notes"]),
        *((("jump", _jump_words(jump)),) if (jump := document["largest_jump"]) else ()),
        ("tokens", f"{spent}{price}" if totals["calls"] else "no usage recorded"),
    ]
    return pairs(rows)


def _jump_words(jump: dict[str, Any]) -> str:
    """Return `request 105 grew by 21,744 tokens (Read data/rates.csv)`."""
    what = f" ({plain(jump['subject'])})" if jump["subject"] else ""
    return f"request {jump['request']} grew by {number(jump['tokens'])} tokens{what}"


def _trigger_words(trigger: dict[str, Any]) -> str:
    """`Claude Code compacts at 77.6%, observed twice (155,144 and 156,611 tokens)`."""
    sizes = [number(tokens) for tokens in trigger["tokens"]]
    listed = " and ".join(sizes) if len(sizes) < 3 else f"{sizes[0]} to {sizes[-1]}"
    return f"{plain(trigger['words'])} ({listed} tokens)"
