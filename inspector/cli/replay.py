"""`context-inspector replay FILE`: policies over a whole session, and a sweep over the settings of one."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from inspector.cli import replay_tables as tables
from inspector.cli.output import write_json, write_lines
from inspector.cli.select import Selection, add_selection, select
from inspector.core.answering import Answerer, offline
from inspector.core.errors import InspectorError
from inspector.core.policies.harness import Policy
from inspector.core.policies.settings import UnknownSetting, said
from inspector.core.replay.driver import Ground
from inspector.core.replay.regret import Losses
from inspector.core.replay.report import Compacted, ReplayReport, RequestRow, recorded, report
from inspector.core.session import Thread
from inspector.core.tokens.windows import find_window
from inspector.extensions.policies import find_policy
from inspector.extensions.windows import user_windows
from inspector.providers.answerers import answerer
from inspector.providers.summary_cache import Cached
from inspector.sweep import Sweep, sweep
from inspector.transcripts.saving import save_text

DEFAULT = "roku"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    add_selection(parser)
    parser.add_argument("more", metavar="FILE", nargs="*", help="further sessions, for --sweep")
    parser.add_argument("--mode", choices=("faithful", "safe"), default="faithful", help="default: faithful")
    parser.add_argument("--remote", action="store_true", help="the provider can compact remotely")
    parser.add_argument("--answerer", metavar="WHO", default="offline", help="offline, anthropic, openai, or a URL")
    parser.add_argument("--model", metavar="NAME", default="", help="the model that answers (default: the session's)")
    parser.add_argument("--no-cache", action="store_true", help="ask the model anew, whatever it answered before")
    parser.add_argument("--regrets", action="store_true", help="list every regret (they are always in the JSON)")
    parser.add_argument(
        "--sweep",
        metavar="KEY=V1,V2,...",
        action="append",
        type=_axis,
        help="try every value of a setting; repeatable: every combination, in parallel, with the offline answerer",
    )
    parser.add_argument("--jobs", metavar="N", type=_count, help="processes of a sweep (default: one a core)")
    parser.add_argument("--dask", metavar="ADDRESS", help="run a sweep on this Dask scheduler (tcp://...)")
    parser.add_argument("--csv", action="store_true", help="print a sweep as CSV")
    parser.add_argument("--heatmap", metavar="FILE", help="also draw a sweep: cost beside regret, as SVG")


def _axis(text: str) -> tuple[str, tuple[str, ...]]:
    key, equals, values = text.partition("=")
    listed = tuple(value.strip() for value in values.split(",") if value.strip())
    if not (key and equals and listed):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=V1,V2,...")
    return key, listed


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def run(arguments: argparse.Namespace) -> None:
    """Do it and print it. Raises InspectorError."""
    if arguments.sweep:
        _sweep(arguments)
        return
    if arguments.more or arguments.csv or arguments.dask:
        raise InspectorError("replay takes one file; several files, --csv and --dask are for --sweep KEY=V1,V2,...")
    chosen = select(arguments)
    thread = chosen.thread if arguments.at is None else until(chosen.thread, chosen.at)
    window = find_window(chosen.session, thread, None, arguments.window, user_windows()).tokens
    policies = [find_policy(name) for name in dict.fromkeys(arguments.policy or [DEFAULT])]
    pairs = [*said(arguments.window), *(arguments.set or ()), ("mode", arguments.mode)]
    settings = settings_for(policies, pairs, window)
    with _answering(chosen, arguments) as answer:
        ground = Ground(thread, window)
        happened = recorded(ground, calls=chosen.session.side_calls)
        reports = [happened, *_reports(ground, policies, settings, answer, arguments)]
    if arguments.json:
        write_json({"window": window, "policies": [describe(one) for one in reports]})
    else:
        write_lines(tables.policies_lines(reports, window))
        if arguments.regrets:
            write_lines(tables.regrets_lines(reports))


def until(thread: Thread, at: int) -> Thread:
    """The thread up to request `at` and its answer."""
    if at + 1 >= len(thread.requests):
        return thread
    return replace(thread, requests=thread.requests[: at + 1], end=thread.requests[at + 1].view)


def settings_for(
    policies: Sequence[Policy[Any, Any]], pairs: Sequence[tuple[str, str]], window: int | None
) -> list[Any]:
    """The settings of each policy: those of `pairs` that it has. Raises InspectorError for one that none has."""
    found, unknown = [], Counter[tuple[str, str]]()
    why: UnknownSetting | None = None
    for policy in policies:
        own = []
        for pair in pairs:
            try:
                policy.settings([pair], window)
            except UnknownSetting as failure:
                unknown[pair] += 1
                why = failure
            except InspectorError:
                own.append(pair)  # wrong by itself, maybe right with the others: judged below
            else:
                own.append(pair)
        found.append(policy.settings(own, window))
    if why is not None and len(policies) in unknown.values():
        raise why
    return found


@contextmanager
def _answering(chosen: Selection, arguments: argparse.Namespace) -> Iterator[Answerer]:
    if arguments.answerer == "offline":
        yield offline
        return
    model = arguments.model or chosen.thread.model
    with answerer(arguments.answerer, model, chosen.buffer.prompt) as real:
        yield real if arguments.no_cache else Cached(real, arguments.answerer, model)


def _reports(
    ground: Ground,
    policies: Sequence[Policy[Any, Any]],
    settings: Sequence[Any],
    answer: Answerer,
    arguments: argparse.Namespace,
) -> list[ReplayReport]:
    show = _progress()
    reports = []
    for policy, chosen in zip(policies, settings, strict=True):
        reports.append(
            report(
                ground,
                policy,
                chosen,
                answer,
                remote=arguments.remote,
                summary_model=arguments.model,
                progress=partial(show, policy.name),
            )
        )
    show("", 0, 0)
    return reports


def _progress() -> Callable[[str, int, int], None]:
    """A line on stderr where somebody watches."""
    watched = sys.stderr.isatty()

    def show(what: str, done: int, total: int) -> None:
        if watched and (not total or done % 20 == 0 or done == total):
            sys.stderr.write(f"\r\x1b[K{what} {done:,} of {total:,}" if total else "\r\x1b[K")
            sys.stderr.flush()

    return show


def _sweep(arguments: argparse.Namespace) -> None:
    names = arguments.policy or [DEFAULT]
    if len(names) > 1:
        raise InspectorError("a sweep varies the settings of one policy.")
    if arguments.answerer != "offline":
        raise InspectorError("a sweep answers offline: with a model every point of the grid would cost its calls.")
    wanted = Sweep(
        (arguments.file, *arguments.more),
        names[0],
        tuple(arguments.sweep),
        (*said(arguments.window), *(arguments.set or ()), ("mode", arguments.mode)),
        arguments.thread,
        arguments.format,
        arguments.window,
        arguments.remote,
    )
    show = _progress()
    cells = sweep(wanted, workers=arguments.jobs, dask=arguments.dask, progress=partial(show, "sweep"))
    show("", 0, 0)
    if all(cell.error for cell in cells):
        raise InspectorError(cells[0].error)
    if arguments.heatmap:
        save_text(tables.sweep_heatmap(wanted, cells), arguments.heatmap, force=False)
    if arguments.json:
        write_json(tables.sweep_document(wanted, cells))
    elif arguments.csv:
        write_lines(tables.sweep_csv(wanted, cells))
    else:
        write_lines(tables.sweep_lines(wanted, cells))


def describe(found: ReplayReport) -> dict[str, Any]:
    """One of the `policies` of cli.md's `replay`."""
    regretted = Counter((one.at.before_request, one.at.tier) for one in found.losses.regrets)
    return {
        "policy": found.policy,
        "settings": dict(found.settings),
        "requests": [_row(row) for row in found.rows],
        "compactions": [
            _compaction(one) | {"regret": regretted[one.at.before_request, one.at.tier]} for one in found.compactions
        ],
        "totals": _totals(found),
        "loss": _loss(found.losses),
    }


def _row(row: RequestRow) -> dict[str, Any]:
    spent = row.spent
    return {
        "index": row.index,
        "tokens": row.tokens,
        "kind": row.kind,
        "messages": row.messages,
        "fired": list(row.fired),
        "refused": row.refused or None,
        "input": spent.input,
        "cache_read": spent.cache_read,
        "cache_write": spent.cache_write,
        "cache_write_1h": spent.cache_write_1h,
        "output": spent.output,
        "summariser_input": spent.summariser_input,
        "summariser_output": spent.summariser_output,
        "cost_usd": None if spent.cost_usd is None else float(spent.cost_usd),
    }


def _compaction(one: Compacted) -> dict[str, Any]:
    return {
        "before_request": one.at.before_request,
        "tier": one.at.tier,
        "kind": one.kind,
        "tokens_before": one.tokens_before,
        "tokens_after": one.tokens_after,
        "messages_before": one.messages_before,
        "messages_after": one.messages_after,
    }


def _totals(found: ReplayReport) -> dict[str, Any]:
    spent = found.spent
    return {
        "compactions": len(found.compactions),
        "micro": sum(one.kind == "micro" for one in found.compactions),
        "failures": found.failures,
        "peak": found.peak,
        "overflows": found.overflows,
        "over": found.over,
        "input": spent.input,
        "cache_read": spent.cache_read,
        "cache_write": spent.cache_write,
        "cache_write_1h": spent.cache_write_1h,
        "output": spent.output,
        "summariser_calls": spent.summariser_calls,
        "summariser_input": spent.summariser_input,
        "summariser_output": spent.summariser_output,
        "cost_usd": None if spent.cost_usd is None else float(spent.cost_usd),
    }


def _loss(losses: Losses) -> dict[str, Any]:
    return {
        "facts": losses.facts,
        "kept": losses.kept,
        "lost": losses.lost,
        "needed_later": losses.needed_later,
        "regret": len(losses.regrets),
        "rereads": losses.rereads,
        "reread_tokens": losses.reread_tokens,
        "regrets": [
            {
                "kind": one.fact.kind,
                "text": one.fact.text,
                "before_request": one.at.before_request,
                "tier": one.at.tier,
                "needed_by": one.needed_by,
                "message": one.message,
                "how": one.how,
                "repaired": one.repaired,
                "tokens": one.price,
            }
            for one in losses.regrets
        ],
    }
