"""`context-inspector replay FILE`: run policies over a whole session, or sweep over the settings of one policy."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from inspector.cli.output import number, picked, plain, table, write_json, write_lines
from inspector.cli.replay_sessions import describe_sessions, sessions_lines
from inspector.cli.select import (
    Selection,
    add_options,
    add_selection,
    chosen_pairs,
    positive,
    select,
    with_settings,
)
from inspector.cli.sweep import compared_cost, sweep_command
from inspector.core.answering import Answerer, offline
from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, harness_of
from inspector.core.replay.driver import Ground
from inspector.core.replay.over_sessions import summarise_standings
from inspector.core.replay.pins import pins_kept
from inspector.core.replay.ranking import Standing, describe_ranking, rank_policies
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.regret import Losses, Regret
from inspector.core.replay.report import RECORDED, Compacted, ReplayReport, replay_report
from inspector.core.session import Thread
from inspector.core.words import plural, priced_words
from inspector.extensions.policies import find_policy
from inspector.providers.answerers import answerer
from inspector.providers.summary_cache import Cached


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_selection(parser)
    parser.add_argument(
        "more", metavar="FILE", nargs="*", help="further sessions, to compare over all of them"
    )
    add_options(parser, "--mode", "--remote", "--answerer", "--model")
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="ask the model again instead of using cached answers",
    )
    parser.add_argument(
        "--regrets",
        action="store_true",
        help="list every fact that was needed again (always in the JSON)",
    )
    parser.add_argument(
        "--sweep",
        metavar="KEY=V1,V2,...",
        action="append",
        type=_axis,
        help=(
            "try every value of a setting, in parallel and with offline summaries; repeat the option to try "
            "every combination"
        ),
    )
    add_options(parser, "--pin")
    parser.add_argument(
        "--keep-pins",
        action="store_true",
        help="show only the settings of a sweep that keep every pin",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=positive, help="processes of a sweep (default: one per core)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run a sweep on this Dask scheduler (tcp://...)"
    )
    parser.add_argument("--csv", action="store_true", help="print a sweep as CSV")
    parser.add_argument(
        "--heatmap", metavar="FILE", help="also draw a sweep as SVG: cost beside facts needed again"
    )


def _axis(text: str) -> tuple[str, tuple[str, ...]]:
    key, equals, values = text.partition("=")
    listed = tuple(value.strip() for value in values.split(",") if value.strip())
    if not (key and equals and listed):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=V1,V2,...")
    return key, listed


def run(arguments: argparse.Namespace) -> None:
    """Replay the session and print the comparison. Raises InspectorError."""
    if arguments.sweep:
        sweep_command(arguments, _progress())
        return
    if arguments.csv or arguments.dask or arguments.keep_pins:
        raise InspectorError("--csv, --dask and --keep-pins need --sweep KEY=V1,V2,...")
    if arguments.more:
        _compare_sessions(arguments)
        return
    chosen = select(arguments)
    window, reports = _replay(chosen, arguments)
    if arguments.json:
        policies = [describe(replayed) for replayed in reports]
        ranking = [picked(standing, _STANDING) for standing in rank_policies(reports)]
        notes = list(chosen.session.notes)
        write_json({"window": window, "policies": policies, "ranking": ranking, "notes": notes})
        return
    write_lines(policies_lines(reports, window))
    if arguments.regrets:
        write_lines(regrets_lines(reports))
    write_lines(_limit_lines(chosen, reports))


def _replay(
    chosen: Selection, arguments: argparse.Namespace
) -> tuple[int | None, list[ReplayReport]]:
    """Return the window, and the reports of the recording and of each policy."""
    thread = chosen.thread if arguments.at is None else until(chosen.thread, chosen.at)
    window = replace(chosen, thread=thread, at=len(thread.requests)).window(arguments.window)
    names = dict.fromkeys(arguments.policy or [DEFAULT_POLICY, harness_of(chosen.session)])
    chosen_policies = [find_policy(name) for name in names]
    pairs = chosen_pairs(arguments, *chosen_policies)
    policies = with_settings(chosen_policies, pairs, window, chosen.session.client)
    show = _progress()
    with _open_answerer(chosen, arguments) as answer:
        ground = Ground(
            thread, window=window.tokens, pins=arguments.pin, calls=chosen.session.side_calls
        )
        run_one = partial(
            replay_report,
            ground,
            answer=answer,
            remote=arguments.remote,
            summary_model=arguments.model,
        )
        reports = [recorded(ground)]
        reports += [run_one(by, own, progress=partial(show, by.name)) for by, own in policies]
    show("", 0, 0)
    return window.tokens, reports


_STANDING = "policy cost_usd needed_per_1000 too_large in_front"


def _limit_lines(chosen: Selection, reports: Sequence[ReplayReport]) -> list[str]:
    """Say which policies are feasible, and what limits the comparison."""
    lines = ["", *describe_ranking(reports)]
    usages = [request.usage for request in chosen.thread.requests]
    if not all(usage.output_is_final for usage in usages if usage is not None):
        lines.append(
            "Every cost is a minimum: for some answers the file records only the first tokens."
        )
    return [*lines, *(f"note: {plain(sentence)}" for sentence in chosen.session.notes)]


def _compare_sessions(arguments: argparse.Namespace) -> None:
    """Replay the same policies over several files and print their common results.

    A file that cannot be read is left out and named.
    """
    standings = list[Sequence[Standing]]()
    errors = dict[str, str]()
    for file in (arguments.file, *arguments.more):
        arguments.file = file
        try:
            _, reports = _replay(select(arguments), arguments)
        except InspectorError as error:
            errors[file] = str(error)
        else:
            standings.append(rank_policies(reports))
    if not standings:
        raise InspectorError(f"None of the files can be compared: {'; '.join(errors.values())}")
    summaries = summarise_standings(standings)
    if arguments.json:
        write_json(describe_sessions(summaries, errors))
    else:
        write_lines(sessions_lines(summaries, errors))


def until(thread: Thread, at: int) -> Thread:
    """Return the thread up to request `at` and its answer."""
    if at + 1 >= len(thread.requests):
        return thread
    return replace(thread, requests=thread.requests[: at + 1], end=thread.requests[at + 1].view)


@contextmanager
def _open_answerer(chosen: Selection, arguments: argparse.Namespace) -> Iterator[Answerer]:
    if arguments.answerer == "offline":
        yield offline
        return
    model = arguments.model or chosen.thread.model
    with answerer(arguments.answerer, model, chosen.buffer.prompt) as real:
        yield real if arguments.no_cache else Cached(real, arguments.answerer, model)


def _progress() -> Callable[[str, int, int], None]:
    """Return a function that shows the progress on stderr, if that is a terminal."""
    is_terminal = sys.stderr.isatty()

    def show(what: str, done: int, total: int) -> None:
        if is_terminal and (not total or done % 20 == 0 or done == total):
            sys.stderr.write(f"\r\x1b[K{what} {done:,} of {total:,}" if total else "\r\x1b[K")
            sys.stderr.flush()

    return show


_COUNTS = "input cache_read cache_write cache_write_1h output"
ECONOMICS = "cost_usd:6 saved_per_request_usd:6 saved_usd:6 paid_after_requests paid"
"""Fields of cli.md's `cost` that say whether a compaction paid for itself, in dollars rounded to 6 places."""


def describe(replayed: ReplayReport) -> dict[str, Any]:
    """Return an entry of the `policies` of cli.md's `replay`."""
    regret_counts = Counter(
        (regret.at.before_request, regret.at.tier) for regret in replayed.losses.regrets
    )
    kept_pins, pin_count = pins_kept(replayed.pins)
    return {
        "policy": replayed.policy,
        "settings": dict(replayed.settings),
        "requests": [
            {
                **picked(row, "index tokens kind messages fired"),
                "refused": row.refused or None,
                **picked(row.spent, f"{_COUNTS} summariser_input summariser_output cost_usd"),
            }
            for row in replayed.rows
        ],
        "compactions": [
            _compaction(compaction)
            | {"regret": regret_counts[compaction.at.before_request, compaction.at.tier]}
            for compaction in replayed.compactions
        ],
        "totals": {
            "compactions": len(replayed.compactions),
            "micro": sum(compaction.kind == "micro" for compaction in replayed.compactions),
            **picked(replayed, "failures peak overflows over"),
            **picked(
                replayed.spent, f"{_COUNTS} summariser_calls summariser_input summariser_output"
            ),
            **picked(replayed.spent, "cost_usd estimated_usd most_usd summaries_usd"),
            **picked(replayed.expected, "expected_output=tokens expected_from=source"),
        },
        "loss": _loss(replayed.losses),
        "pins": {"kept": kept_pins, "of": pin_count},
    }


def _compaction(compaction: Compacted) -> dict[str, Any]:
    return {
        **picked(compaction, "before_request=at.before_request tier=at.tier"),
        **({} if compaction.at.is_readable else {"summary_readable": False}),
        **picked(compaction, "kind tokens_before tokens_after messages_before messages_after"),
        **picked(compaction.economics, ECONOMICS),
    }


def _loss(losses: Losses) -> dict[str, Any]:
    regret = (
        "kind=fact.kind text=fact.text before_request=at.before_request tier=at.tier needed_by message how repaired "
        "tokens=price"
    )
    return {
        **({} if losses.is_readable else {"summary_readable": False}),
        **picked(losses, "facts kept paraphrased lost needed_later"),
        "regret": len(losses.regrets),
        **picked(losses, "rereads reread_tokens"),
        "regrets": [picked(regretted, regret) for regretted in losses.regrets],
    }


_HEADS = (
    "policy", ">compactions", ">fullest", ">overflows", ">sent", ">cache read", ">written", ">summaries", ">cost",
    ">lost", ">needed again", ">read again", ">pins kept",
)  # fmt: skip
LONGEST_FACT = 60


def policies_lines(reports: Sequence[ReplayReport], window: int | None) -> list[str]:
    """Return a table with a row for each policy, the recording first. Costs are compared with that of the recording."""
    recorded = next((replayed for replayed in reports if replayed.policy == RECORDED), None)
    recorded_cost = recorded.spent.cost_usd if recorded is not None else None
    estimated = recorded.spent.estimated_usd if recorded is not None else None
    count = len(reports[0].rows)
    lines = [f"{plural(count, 'request')}, window {number(window)}", ""]
    lines += table(_HEADS, [_policy_row(replayed, recorded_cost) for replayed in reports])
    if estimated:
        lines += [
            "",
            f"recorded: {compared_cost(estimated)} of its cost is estimated, for calls whose usage is not recorded.",
        ]
    lines += _summary_lines(reports)
    if any(replayed.over for replayed in reports):
        lines += [
            "",
            "The number after the slash counts overflows: requests that exceed the window even after the "
            "policy acted.",
        ]
    return lines


def _summary_lines(reports: Sequence[ReplayReport]) -> list[str]:
    """Say how much of the costs is for summaries that no model wrote, and which length was assumed for them."""
    priced = [
        replayed
        for replayed in reports
        if replayed.policy != RECORDED and replayed.spent.summaries_usd
    ]
    if not priced:
        return []
    expected = priced[0].expected
    costs = (
        f"{replayed.policy} {priced_words(replayed.spent.summaries_usd or 0, replayed.summaries_most_usd)}"
        for replayed in priced
    )
    counted = (
        f"An offline summary counts as {expected.tokens:,} tokens of output, {expected.source}."
    )
    return ["", f"Of the cost, for summaries: {', '.join(costs)}. {counted}"]


def _policy_row(replayed: ReplayReport, recorded_cost: Decimal | None) -> tuple[str, ...]:
    micro = sum(step.kind == "micro" for step in replayed.compactions)
    compactions = f"{len(replayed.compactions) - micro}"
    if micro:
        compactions += f" + {micro} micro"
    overflows = f"{replayed.overflows}"
    if replayed.over:
        overflows += f" / {replayed.over}"
    spent = replayed.spent
    losses = replayed.losses
    base_cost = None if replayed.policy == RECORDED else recorded_cost
    kept_pins, pin_count = pins_kept(replayed.pins)
    return (
        replayed.policy,
        compactions,
        number(replayed.peak),
        overflows,
        number(spent.prompt),
        number(spent.cache_read),
        number(spent.cache_write),
        number(spent.summariser_input + spent.summariser_output),
        compared_cost(spent.cost_usd, base_cost),
        f"{losses.lost_words} of {losses.facts:,}",
        losses.needed_words,
        f"{losses.rereads} / {losses.reread_tokens:,}" if losses.rereads else "0",
        f"{kept_pins} of {pin_count}",
    )


def regrets_lines(reports: Sequence[ReplayReport]) -> Iterator[str]:
    """Yield each fact that was needed again, with the step that lost it and the request that needed it."""
    for replayed in reports:
        losses = replayed.losses
        yield ""
        if not losses.needs_are_known:
            yield f"{replayed.policy}: a summary is not readable, so it is unknown what was needed again"
            continue
        yield f"{replayed.policy}: {losses.needed_words} facts needed again, {plural(len(losses.regrets), 'time')}"
        rows = [_regret_row(regret) for regret in losses.regrets]
        if rows:
            yield from table(("kind", "fact", "lost by", ">needed by", "in"), rows)


def _regret_row(regret: Regret) -> tuple[str, ...]:
    lost_by = f"{regret.at.tier} before {regret.at.before_request}"
    use: str = regret.how
    if regret.repaired:
        use += f", read again for {regret.price:,} tokens"
    return (
        regret.fact.kind,
        plain(regret.fact.text, LONGEST_FACT),
        lost_by,
        f"{regret.needed_by}",
        use,
    )
