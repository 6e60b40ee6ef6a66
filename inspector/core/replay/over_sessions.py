"""Compare policies over several sessions by the means of their figures, with intervals."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from inspector.core.replay.ranking import Interval, Standing, estimate_mean
from inspector.core.replay.report import RECORDED
from inspector.core.words import per_cent, plural

FEW = 10
"""With fewer sessions than this, policies with similar figures cannot be distinguished."""
FIGURES_NOTE = "Cost: relative to the recorded cost of each session. Needed again: facts per 1,000 tokens freed."


class PolicySummary(NamedTuple):
    """Figures of one policy over several sessions. Costs are shares of the recorded cost of the same session."""

    policy: str
    sessions: int
    infeasible: int
    """Number of sessions in which a request would not have fitted into the window."""
    cost: Interval | None
    """Mean cost; None if no session is feasible and has a price."""
    needed_per_1000: Interval | None
    in_front: int
    """Number of sessions in which no other policy was better on both cost and facts needed again."""


def summarise_standings(sessions: Iterable[Sequence[Standing]]) -> list[PolicySummary]:
    """Summarise the standings of policies over several sessions. Infeasible standings enter no mean."""
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
    infeasible_count = len(entries) - len(feasible)
    return PolicySummary(
        policy,
        sessions=len(entries),
        infeasible=infeasible_count,
        cost=estimate_mean(costs) if costs else None,
        needed_per_1000=estimate_mean(needed) if needed else None,
        in_front=sum(standing.in_front for standing, _ in entries),
    )


def spell_cost(interval: Interval | None) -> tuple[str, str]:
    """Return the mean cost as a share of the recorded cost, and its interval."""
    return _spell(interval, lambda value: per_cent(value, places=1))


def spell_needed(interval: Interval | None) -> tuple[str, str]:
    """Return the mean number of facts needed again per 1,000 tokens freed, and its interval."""
    return _spell(interval, lambda value: f"{value:.2f}")


def _spell(interval: Interval | None, spell: Callable[[float], str]) -> tuple[str, str]:
    if interval is None:
        return "-", "-"
    return spell(interval.mean), f"{spell(interval.low)} to {spell(interval.high)}"


def few_sessions_words(summaries: Sequence[PolicySummary]) -> str:
    """Return a warning that too few sessions were compared; empty if there are enough."""
    if not summaries or summaries[0].sessions >= FEW:
        return ""
    return (
        f"{plural(summaries[0].sessions, 'session')} cannot separate policies with similar results: see the "
        "intervals."
    )
