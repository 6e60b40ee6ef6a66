"""Which policy is better: infeasible ones apart, a front of cost against what was needed again, and intervals."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from inspector.cli.replay_sessions import describe_sessions, sessions_lines
from inspector.core.facts.fact import Fact
from inspector.core.replay.costs import Spending
from inspector.core.replay.over_sessions import summarise_standings
from inspector.core.replay.ranking import (
    FORGOTTEN,
    ONE_SESSION,
    Standing,
    describe_ranking,
    estimate_mean,
    rank_policies,
)
from inspector.core.replay.regret import At, Loss, Losses
from inspector.core.replay.report import Compacted, ReplayReport, RequestRow


def report(
    policy: str,
    cost: str | None,
    needed: int,
    freed: Sequence[int] = (10_000,),
    largest: int = 100_000,
) -> ReplayReport:
    """A replay with these totals in a window of 200,000 tokens."""
    spent = Spending(cost_usd=None if cost is None else Decimal(cost))
    row = RequestRow(0, largest, "predicted", 1, (), 0, spent)
    steps = tuple(
        Compacted(At(n, "L0"), "micro", 50_000 + size, 50_000, 9, 9) for n, size in enumerate(freed)
    )
    losses = Losses(needed_later=needed)
    return ReplayReport(policy, policy, {}, 200_000, (row,), steps, losses, 0, spent)


def names_in_front(*reports: ReplayReport) -> list[str]:
    return [standing.policy for standing in rank_policies(reports) if standing.in_front]


def test_policy_when_a_request_overflows_is_infeasible_and_never_in_front() -> None:
    cheap, sound = report("cheap", "1.00", 0, largest=200_001), report("sound", "9.00", 50)
    assert names_in_front(cheap, sound) == ["sound"]
    assert describe_ranking((cheap, sound))[0] == (
        "Infeasible, because requests would not have fitted into the window: cheap (1 request too large)."
    )


def test_front_when_two_policies_trade_cost_for_needs_has_both_and_not_the_dominated() -> None:
    cheap, careful, worse = (
        report("cheap", "5.00", 9),
        report("careful", "7.00", 1),
        report("worse", "8.00", 9),
    )
    assert names_in_front(cheap, careful, worse) == ["cheap", "careful"]
    assert "cheap ($5.00, 0.90), careful ($7.00, 0.10)." in " ".join(
        describe_ranking((worse, careful, cheap))
    )


def test_front_when_one_policy_wins_on_both_names_it_alone() -> None:
    sentences = describe_ranking((report("good", "5.00", 1), report("bad", "6.00", 2)))
    assert sentences[0] == "Best on cost and on facts needed again: good ($5.00, 0.10)."


def test_policy_when_its_needs_are_unknown_is_not_ranked_and_beats_none() -> None:
    hidden = report("recorded", "1.00", 0)
    place = At(0, "L0", is_readable=False)
    unread = Loss(Fact("path", "src/a.py"), place, "m")
    hidden = replace(hidden, losses=replace(hidden.losses, losses=(unread,)))
    known, worse = report("known", "5.00", 1), report("worse", "6.00", 2)
    assert names_in_front(hidden, known, worse) == ["known"]
    sentences = describe_ranking((hidden, known, worse))
    assert sentences[0] == ("Not ranked, because a summary is not readable in this file: recorded.")
    assert sentences[1].startswith("Best on cost")
    assert not [text for text in describe_ranking((hidden, known)) if text.startswith("Best")]


def test_ranking_of_one_session_always_says_what_limits_it() -> None:
    assert describe_ranking((report("a", "1.00", 1),))[-2:] == [ONE_SESSION, FORGOTTEN]


def test_policy_when_it_compacts_often_for_little_is_named() -> None:
    often = report("often", "5.00", 1, freed=[470] * 42)
    assert any(
        sentence.startswith("often compacted 42 times and freed 470 tokens each (median)")
        for sentence in describe_ranking((often,))
    )
    assert not any(
        "compacted" in sentence
        for sentence in describe_ranking((replace(often, policy="recorded"),))
    )


def test_policy_without_a_price_is_not_in_front() -> None:
    assert names_in_front(report("unpriced", None, 0), report("priced", "2.00", 1)) == ["priced"]


def test_mean_of_equal_values_has_no_width_and_of_none_raises() -> None:
    assert estimate_mean([2.0, 2.0, 2.0]) == (2.0, 2.0, 2.0)
    assert estimate_mean([3.0]) == (3.0, 3.0, 3.0)
    with pytest.raises(ValueError, match="no values"):
        estimate_mean([])


def test_mean_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    interval = estimate_mean([1.0, 2.0, 3.0, 10.0])
    assert interval.low < interval.mean < interval.high
    assert interval == estimate_mean([1.0, 2.0, 3.0, 10.0])


def standings(**policies: Any) -> tuple[Standing, ...]:
    """(cost, needed, too large) by policy."""
    return tuple(
        Standing(name, Decimal(str(values[0])), values[1], values[2])
        for name, values in policies.items()
    )


def test_sessions_when_a_policy_is_infeasible_in_one_leave_that_out_of_its_mean() -> None:
    first = standings(recorded=(10, 0.5, 0), pi=(12, 0.2, 0))
    second = standings(recorded=(20, 0.5, 0), pi=(10, 0.0, 3))
    recorded, pi = summarise_standings([first, second])
    assert (recorded.cost, recorded.infeasible) == ((1.0, 1.0, 1.0), 0)
    assert pi.cost is not None
    assert (pi.cost.mean, pi.sessions, pi.infeasible) == (1.2, 2, 1)
    document = describe_sessions([recorded, pi], {"bad.jsonl": "is empty"})
    assert document["policies"][1]["cost"] == {"mean": 1.2, "low": 1.2, "high": 1.2}
    lines = sessions_lines([recorded, pi], {"bad.jsonl": "is empty"})
    assert any(line.startswith("pi ") and "120.0%" in line for line in lines)
    assert "2 sessions cannot separate policies with similar results: see the intervals." in lines
    assert lines[-1] == "left out: bad.jsonl: is empty"
