"""`context-inspector replay FILE FILE ...`: policies compared over several sessions, with intervals."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from inspector.cli.output import table
from inspector.core.replay.ranking import FORGOTTEN, Interval, Standing, estimate_mean
from inspector.core.replay.report import RECORDED
from inspector.core.words import per_cent, plural

_HEADS = (
    "policy",
    ">sessions",
    ">infeasible in",
    ">cost",
    ">95% interval",
    ">needed again",
    ">95% interval",
    ">in front",
)


class PolicySummary(NamedTuple):
    """One policy over several sessions. Costs are shares of the recorded cost of the same session."""

    policy: str
    sessions: int
    infeasible: int
    """Sessions in which a request would not have fitted into the window."""
    cost: Interval | None
    """None if no session has a price, or none is feasible."""
    needed_per_1000: Interval | None
    in_front: int
    """Sessions in which no other policy was better on both counts."""


def summarise_standings(sessions: Iterable[Sequence[Standing]]) -> list[PolicySummary]:
    """Put together the standings of the same policies on several sessions. Infeasible ones enter no mean."""
    by_policy = defaultdict[str, list[tuple[Standing, float | None]]](list)
    for standings in sessions:
        recorded = next(
            (listed.cost_usd for listed in standings if listed.policy == RECORDED), None
        )
        for standing in standings:
            share = None
            if recorded and standing.cost_usd is not None:
                share = float(standing.cost_usd / recorded)
            by_policy[standing.policy].append((standing, share))
    return [_summarise(policy, entries) for policy, entries in by_policy.items()]


def _summarise(policy: str, entries: Sequence[tuple[Standing, float | None]]) -> PolicySummary:
    feasible = [(standing, share) for standing, share in entries if standing.is_feasible]
    costs = [share for _, share in feasible if share is not None]
    needed = [
        standing.needed_per_1000 for standing, _ in feasible if standing.needed_per_1000 is not None
    ]
    return PolicySummary(
        policy,
        len(entries),
        len(entries) - len(feasible),
        estimate_mean(costs) if costs else None,
        estimate_mean(needed) if needed else None,
        sum(standing.in_front for standing, _ in entries),
    )


def describe_sessions(
    summaries: Sequence[PolicySummary], errors: Mapping[str, str]
) -> dict[str, Any]:
    """Return the JSON document. `errors`: why a file has no figures, by its name."""
    return {
        "policies": [summary._asdict() | _interval_documents(summary) for summary in summaries],
        "errors": dict(errors),
    }


def _interval_documents(summary: PolicySummary) -> dict[str, Any]:
    named = {"cost": summary.cost, "needed_per_1000": summary.needed_per_1000}
    return {
        name: None if interval is None else interval._asdict() for name, interval in named.items()
    }


def sessions_lines(summaries: Sequence[PolicySummary], errors: Mapping[str, str]) -> list[str]:
    """Return the table and the sentences below it."""
    lines = table(_HEADS, [_row(summary) for summary in summaries])
    lines += [
        "",
        "Cost: relative to the recorded cost of each session. Needed again: facts per 1,000 tokens freed.",
    ]
    if summaries and summaries[0].sessions < _FEW:
        lines.append(
            f"{plural(summaries[0].sessions, 'session')} cannot tell close policies apart: see the intervals."
        )
    lines.append(FORGOTTEN)
    return [*lines, *(f"left out: {file}: {why}" for file, why in errors.items())]


_FEW = 10


def _row(summary: PolicySummary) -> tuple[str, ...]:
    return (
        summary.policy,
        f"{summary.sessions:,}",
        f"{summary.infeasible:,}" if summary.infeasible else "0",
        *_interval_words(summary.cost, lambda value: per_cent(value, 1)),
        *_interval_words(summary.needed_per_1000, lambda value: f"{value:.2f}"),
        f"{summary.in_front:,}",
    )


def _interval_words(interval: Interval | None, spell: Callable[[float], str]) -> tuple[str, str]:
    if interval is None:
        return "-", "-"
    return spell(interval.mean), f"{spell(interval.low)} to {spell(interval.high)}"
