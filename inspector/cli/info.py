"""`context-inspector info FILE`: what the transcript holds."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from inspector.cli.info_tables import info_lines
from inspector.cli.output import write_json, write_lines
from inspector.cli.select import Selection, add_selection, select
from inspector.core.drops import session_drops
from inspector.core.policies.catalogue import policy
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import UnknownSetting, said
from inspector.core.policies.start import believed_at
from inspector.core.session import Compaction, Request, SideCall, Thread, compaction_sizes
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.pressure import Pressures, known_pressures
from inspector.core.tokens.prices import cost, thread_cost
from inspector.core.tokens.windows import find_window
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_selection(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print it. Raises InspectorError."""
    by = find_policy(arguments.policy[0]) if arguments.policy else policy("roku")
    document = describe(select(arguments), arguments.window, by, arguments.set or ())
    if arguments.json:
        write_json(document)
    else:
        write_lines(info_lines(document))


def describe(
    chosen: Selection,
    window: int | None = None,
    by: Policy[Any, Any] | None = None,
    values: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """The document of cli.md's `info`. Numbers that the file does not hold are null, texts empty.

    `by` with its settings is the policy that believes; default Roku.
    """
    session, thread = chosen.session, chosen.thread
    at = None if chosen.is_end else chosen.at
    found = find_window(session, thread, at, window, user_windows())
    pressures = known_pressures(thread, estimator("roku"))
    by = by or policy("roku")
    settings = by.settings((*said(window), *_known(by, values, found.tokens)), found.tokens)
    believed = [believed_at(by, settings, thread, n) for n in range(len(thread.requests) + 1)]
    return {
        "format": session.format,
        "path": session.path,
        "client": session.client,
        "session": session.id,
        "notes": list(session.notes),
        "model": _model(thread),
        "window": asdict(found) | {"warnings": list(found.warnings)},
        "threads": [_thread(one) for one in session.threads],
        "thread": thread.id,
        "requests": [_request(request, pressures, believed[n]) for n, request in enumerate(thread.requests)],
        "end": _pressure(pressures, None, believed[-1]) | {"messages": len(thread.end)},
        "compactions": [_compaction(thread, compaction) for compaction in thread.compactions],
        "drops": [asdict(drop) for drop in session_drops(session)],
        "side_calls": [_side_call(call) for call in session.side_calls],
        "totals": _totals(session.threads),
        "totals_by_thread": {one.id: _totals([one]) for one in session.threads},
        "problems": [
            {"line": problem.line, "what": problem.what, "excerpt": problem.excerpt, "file": problem.file}
            for problem in session.problems
        ],
    }


def _known(by: Policy[Any, Any], values: Iterable[tuple[str, str]], window: int | None) -> Iterator[tuple[str, str]]:
    """The settings that the policy has: the others are meant for somebody else."""
    for pair in values:
        with suppress(UnknownSetting):
            by.settings([pair], window)
            yield pair


def _model(thread: Thread) -> str:
    used = (request.model for request in reversed(thread.requests) if request.model)
    return next(used, "") or thread.model


def _thread(thread: Thread) -> dict[str, Any]:
    return {
        "id": thread.id,
        "requests": len(thread.requests),
        "messages": len(thread.messages),
        "model": _model(thread),
        "title": thread.title,
        "parent": thread.parent,
        "parent_call": thread.parent_call,
        "compactions": len(thread.compactions),
    }


def _pressure(pressures: Pressures, at: int | None, believed: int) -> dict[str, Any]:
    pressure = pressures.at(at)
    scale = pressures.scale(at)
    return {
        "tokens": pressure.tokens,
        "kind": pressure.kind,
        "reported": pressure.reported,
        "estimated": pressure.estimated,
        "calibrated": pressure.calibrated,
        "predicted": pressure.predicted.tokens if pressure.predicted else None,
        "band": pressure.band,
        "believed": believed,
        "unseen": scale.unseen,
        "not_in_file": scale.unseen if pressure.kind in ("reported", "predicted") else None,
    }


def _request(request: Request, pressures: Pressures, believed: int) -> dict[str, Any]:
    usage = request.usage
    return {
        "index": request.index,
        **_pressure(pressures, request.index, believed),
        "input": usage.input if usage else None,
        "output": usage.output if usage else None,
        "output_is_final": usage.output_is_final if usage else None,
        "cache_read": usage.cache_read if usage else None,
        "cache_write": usage.cache_write if usage else None,
        "cache_write_1h": usage.cache_write_1h if usage else None,
        "messages": request.view.length,
        "model": request.model,
        "time": request.time,
        "finish": request.finish,
        "line": request.line,
    }


def _compaction(thread: Thread, compaction: Compaction) -> dict[str, Any]:
    before, after = compaction_sizes(thread, compaction)
    return {
        "before_request": compaction.before_request,
        "trigger": compaction.trigger,
        "kind": compaction.kind,
        "tokens_before": before,
        "tokens_after": after,
        "tokens_before_recorded": compaction.tokens_before,
        "tokens_after_recorded": compaction.tokens_after,
        "kept": compaction.kept,
        "cleared": len(compaction.cleared),
        "inferred": bool(compaction.evidence),
        "evidence": compaction.evidence,
        "summary_chars": len(compaction.summary.text) if compaction.summary else 0,
        "line": compaction.line,
        "time": compaction.time,
    }


def _side_call(call: SideCall) -> dict[str, Any]:
    """The cost is null where nothing was told or the model has no price."""
    usage = call.usage
    price = cost(call.model, usage, call.time) if usage else None
    return {
        "kind": call.kind,
        "thread": call.thread,
        "before_request": call.before_request,
        "compaction": call.made,
        "what": call.what,
        "model": call.model,
        "status": call.status,
        "input": usage.input if usage else None,
        "cache_read": usage.cache_read if usage else None,
        "cache_write": usage.cache_write if usage else None,
        "cache_write_1h": usage.cache_write_1h if usage else None,
        "output": usage.output if usage else None,
        "cost_usd": None if price is None else float(round(price, 6)),
        "line": call.line,
        "time": call.time,
    }


def _totals(threads: Iterable[Thread]) -> dict[str, Any]:
    """Sums over the model calls of all given threads, each once. The cost is null if one price is unknown."""
    threads = list(threads)
    used = [request.usage for thread in threads for request in thread.requests if request.usage]
    costs = [thread_cost(thread) for thread in threads]
    known = [cost for cost in costs if cost is not None]
    return {
        "calls": len(used),
        "input": sum(usage.input for usage in used),
        "cache_read": sum(usage.cache_read for usage in used),
        "cache_write": sum(usage.cache_write for usage in used),
        "cache_write_5m": sum(usage.cache_write_5m for usage in used),
        "cache_write_1h": sum(usage.cache_write_1h for usage in used),
        "output": sum(usage.output for usage in used),
        "output_is_final": all(usage.output_is_final for usage in used),
        "cost_usd": float(round(sum(known, Decimal()), 6)) if used and len(known) == len(costs) else None,
    }
