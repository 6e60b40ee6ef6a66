"""Rank policies by cost and by facts needed again. The result is a front (Pareto), never a single winner.

A policy is infeasible, and not ranked, if one of its requests would not have fitted into the window. The front consists
of the feasible policies that no other feasible policy beats on both figures: the cost of the session, and the number of
removed facts that were needed again per 1,000 tokens freed. One session cannot choose between them; over several
sessions each figure has an interval (percentile bootstrap of the mean, 95%).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import fmean, median
from typing import NamedTuple

from inspector.core.replay.report import RECORDED, ReplayReport
from inspector.core.words import dollars, plural

_RESAMPLES = 2_000
_MANY_STEPS, _SMALL_STEP = 20, 0.01
"""A policy with at least `_MANY_STEPS` compactions is mentioned if it frees less than the share `_SMALL_STEP` of the
window each time (median)."""
ONE_SESSION = "One session cannot choose a policy: name several files to compare over sessions."
FORGOTTEN = (
    "Facts that the recorded agent had already lost cannot be needed again, "
    "so every policy looks slightly too good."
)


class Interval(NamedTuple):
    """The mean of some values, and the bounds of its 95% confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Standing:
    """The two figures by which one policy is ranked on one session."""

    policy: str
    cost_usd: Decimal | None
    needed_per_1000: float | None
    """Removed facts that were needed again, per 1,000 tokens freed; None if nothing was freed or it is unknown."""
    too_large: int
    """Number of requests that would not have fitted into the window."""
    in_front: bool = False
    are_needs_known: bool = True
    """False if the file does not show what was lost, because a summary is not readable. Such a policy is not ranked."""

    @property
    def is_feasible(self) -> bool:
        """Would every request have fitted into the window?"""
        return not self.too_large


def rank_policies(reports: Sequence[ReplayReport]) -> tuple[Standing, ...]:
    """Return the standing of each policy on one session, in the order of the reports."""
    standings = [_measure_standing(report) for report in reports]
    return tuple(
        replace(standing, in_front=_is_in_front(standing, standings)) for standing in standings
    )


def _measure_standing(report: ReplayReport) -> Standing:
    freed = sum(max(0, step.tokens_before - step.tokens_after) for step in report.compactions)
    needed = None
    if freed and report.losses.needs_are_known:
        needed = report.losses.needed_later / (freed / 1_000)
    # Recorded requests did fit, whatever window is assumed.
    too_large = 0 if report.policy == RECORDED else report.over
    return Standing(
        report.policy,
        report.spent.cost_usd,
        needed,
        too_large,
        are_needs_known=report.losses.is_readable,
    )


def _is_in_front(standing: Standing, others: Sequence[Standing]) -> bool:
    """Is a policy feasible, and does no other feasible policy beat it?"""
    if not _is_ranked(standing):
        return False
    return not any(_beats(other, standing) for other in others if other is not standing)


def _is_ranked(standing: Standing) -> bool:
    """Is a policy feasible, and are both of its figures known?"""
    return standing.is_feasible and standing.cost_usd is not None and standing.are_needs_known


def _beats(other: Standing, standing: Standing) -> bool:
    if not _is_ranked(other) or other.cost_usd is None or standing.cost_usd is None:
        return False
    theirs = other.needed_per_1000 or 0.0
    ours = standing.needed_per_1000 or 0.0
    is_as_good = other.cost_usd <= standing.cost_usd and theirs <= ours
    return is_as_good and (other.cost_usd < standing.cost_usd or theirs < ours)


def describe_ranking(reports: Sequence[ReplayReport]) -> list[str]:
    """Return sentences about the infeasible policies, the front, and the limits of the comparison."""
    standings = rank_policies(reports)
    sentences = []
    infeasible = [standing for standing in standings if not standing.is_feasible]
    if infeasible:
        listed = ", ".join(
            f"{reported.policy} ({plural(reported.too_large, 'request')} too large)"
            for reported in infeasible
        )
        sentences.append(
            f"Infeasible, because requests would not have fitted into the window: {listed}."
        )
    unknown = [standing.policy for standing in standings if not standing.are_needs_known]
    if unknown:
        sentences.append(
            f"Not ranked, because a summary is not readable in this file: {', '.join(unknown)}."
        )
    front = sorted(
        (standing for standing in standings if standing.in_front),
        key=lambda standing: standing.cost_usd or Decimal(0),
    )
    if len(front) > 1:
        listed = ", ".join(map(_describe_standing, front))
        sentences.append(
            f"Not beaten on both cost and facts needed again per 1,000 tokens freed: {listed}."
        )
    elif front and sum(map(_is_ranked, standings)) > 1:
        sentences.append(f"Best on cost and on facts needed again: {_describe_standing(front[0])}.")
    sentences += _describe_small_steps(reports)
    return [*sentences, ONE_SESSION, FORGOTTEN]


def _describe_standing(standing: Standing) -> str:
    cost = "no price" if standing.cost_usd is None else dollars(standing.cost_usd)
    needed = (
        "nothing freed" if standing.needed_per_1000 is None else f"{standing.needed_per_1000:.2f}"
    )
    return f"{standing.policy} ({cost}, {needed})"


def _describe_small_steps(reports: Sequence[ReplayReport]) -> list[str]:
    """Return a sentence for each policy that compacts often but frees little, as each compaction rewrites the cache."""
    sentences = []
    for report in reports:
        freed = [step.tokens_before - step.tokens_after for step in report.compactions]
        if report.policy == RECORDED or len(freed) < _MANY_STEPS or not report.window:
            continue
        usual = round(median(freed))
        if usual < _SMALL_STEP * report.window:
            sentences.append(
                f"{report.policy} compacted {len(freed):,} times and freed {usual:,} tokens each (median); "
                "each time the prompt after that place had to be cached again."
            )
    return sentences


def estimate_mean(values: Sequence[float]) -> Interval:
    """Return the mean of `values` with its 95% interval, by a bootstrap with a fixed seed.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values")
    mean = fmean(values)
    if len(values) == 1:
        return Interval(mean, mean, mean)
    drawing = random.Random(0)
    means = sorted(fmean(drawing.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    cut = round(0.025 * _RESAMPLES)
    return Interval(mean, means[cut], means[-1 - cut])
