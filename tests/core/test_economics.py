"""Whether a compaction paid, worked out by hand."""

from decimal import Decimal

import pytest

from inspector.core.answering import offline
from inspector.core.policies.catalogue import POLICIES
from inspector.core.replay.costs import CacheFacts, Spending
from inspector.core.replay.driver import Ground
from inspector.core.replay.economics import CompactionStep, Economics, Thrash, economics, thrash
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import replay_report
from inspector.core.session import Request, Thread
from inspector.core.usage import HOUR_S
from tests.core.sessions import MODEL, compacted, said

MILLION = Decimal(1_000_000)
# Of claude-opus-4-5: $6.25, $10, $0.50.
WRITE, WRITE_1H, READ = (25 / (4 * MILLION), 10 / MILLION, 1 / (2 * MILLION))


def thread(*minutes: float, model: str = MODEL) -> Thread:
    times = [f"2026-01-01T{int(m) // 60:02}:{int(m) % 60:02}:00Z" for m in minutes]
    view = Thread("main").end
    return Thread(
        "main", model=model, requests=[Request(n, view, time=at) for n, at in enumerate(times)]
    )


def reads(prompt: int, written: int, hourly: bool = False) -> Spending:
    return Spending(
        cache_read=prompt - written, cache_write=written, cache_write_1h=written if hourly else 0
    )


BEFORE, AFTER = reads(100_000, 1_000), reads(20_000, 15_000)


def step(
    at: int, freed: int = 80_000, summary: str | None = "0.10", *, ends: bool = True
) -> CompactionStep:
    return CompactionStep(at, ends, freed, None if summary is None else Decimal(summary))


def of(
    minutes: list[float], spent: list[Spending], *steps: CompactionStep, ttl_s: int = 300
) -> tuple[Economics, ...]:
    return economics(thread(*minutes), [CacheFacts(ttl_s=ttl_s)] * len(spent), spent, steps)


def test_it_costs_the_summary_and_the_cache_written_anew_and_saves_reads() -> None:
    (found,) = of([0, 1, 2, 3, 4, 5, 6], [BEFORE, AFTER, *[reads(21_000, 1_000)] * 5], step(1))
    # not compacted, the second call would have read its 100,000 tokens
    once = Decimal("0.10") + 15_000 * WRITE + 5_000 * READ - 100_000 * READ
    assert found.cost_usd == once
    assert (found.saved_per_request_usd, found.saved_usd) == (80_000 * READ, 5 * 80_000 * READ)
    assert once / (80_000 * READ) > 3
    assert (found.paid_after_requests, found.requests, found.paid) == (4, 5, True)


def test_one_that_the_session_ended_too_soon_for_never_paid() -> None:
    (found,) = of([0, 1, 2, 3], [BEFORE, AFTER, *[reads(21_000, 1_000)] * 2], step(1))
    assert (found.paid_after_requests, found.paid, found.requests) == (None, False, 2)


def test_where_the_cache_had_expired_the_compaction_saved_at_once() -> None:
    (found,) = of([0, 10, 11], [BEFORE, reads(20_000, 20_000), reads(21_000, 1_000)], step(1))
    assert (found.cost_usd, found.paid_after_requests) == (Decimal(0), 0)
    assert found.saved_usd == 80_000 * WRITE - Decimal("0.10") + 80_000 * READ


def test_a_later_pause_saves_writes_by_the_life_that_was_written() -> None:
    spent = [BEFORE, AFTER, reads(21_000, 21_000)]
    assert of([0, 1, 20], spent, step(1))[0].saved_usd == 80_000 * WRITE
    assert of([0, 1, 20], spent, step(1), ttl_s=HOUR_S)[0].saved_usd == 80_000 * READ
    assert of([0, 1, 80], spent, step(1), ttl_s=HOUR_S)[0].saved_usd == 80_000 * WRITE_1H


def test_a_saving_ends_at_the_next_summary_and_goes_on_after_a_micro_compaction() -> None:
    spent = [BEFORE, AFTER, *[reads(21_000, 1_000)] * 6]
    minutes = [float(n) for n in range(8)]
    assert of(minutes, spent, step(1), step(4))[0].requests == 2
    assert of(minutes, spent, step(1), step(4, ends=False))[0].requests == 6


def test_two_before_one_request_share_what_was_written_anew_by_what_they_freed() -> None:
    big, small = of(
        [0, 1, 2], [BEFORE, AFTER, AFTER], step(1, 60_000, "0"), step(1, 20_000, "0", ends=False)
    )
    assert big.cost_usd is not None
    assert small.cost_usd is not None
    assert big.cost_usd == 3 * small.cost_usd
    (whole,) = of([0, 1, 2], [BEFORE, AFTER, AFTER], step(1, 80_000, "0"))
    assert big.cost_usd + small.cost_usd == whole.cost_usd


def test_what_frees_nothing_never_pays_and_what_has_no_price_is_unknown() -> None:
    assert of([0, 1, 2], [BEFORE, BEFORE, BEFORE], step(1, -500))[0].paid is False
    assert of([0, 1, 2], [BEFORE, AFTER, AFTER], step(1, summary=None))[0] == Economics()
    nameless = economics(
        thread(0, 1, model="nobody's"), [CacheFacts()] * 2, [BEFORE, AFTER], [step(1)]
    )
    assert nameless[0].paid is None


def test_after_the_last_request_only_the_summary_costs() -> None:
    (found,) = of([0, 1], [BEFORE, BEFORE], step(2))
    assert (found.cost_usd, found.saved_per_request_usd, found.paid) == (
        Decimal("0.10"),
        80_000 * READ,
        False,
    )


def test_three_in_a_row_that_did_not_pay_are_thrash() -> None:
    no, yes = Economics(Decimal(1)), Economics(Decimal(1), paid_after_requests=2)
    assert thrash([(3, no), (9, no), (12, no), (20, yes), (30, no), (33, no)]) == (
        Thrash(3, 12, 3),
    )
    assert thrash([(3, no), (3, yes), (9, no), (12, no), (20, Economics())]) == ()
    assert thrash([(3, no), (3, no), (9, no)]) == ()


@pytest.mark.parametrize("name", ["recorded", "roku"])
def test_reports_tell_it_of_every_compaction(name: str) -> None:
    long = said(
        ("user", "go"),
        *[("read", f"src/f{n}.py {'word ' * 900}") for n in range(30)],
        ("answer", "done"),
    )
    ground = Ground(compacted(8, 8) if name == "recorded" else long, 40_000)
    policy = POLICIES["roku"]
    found = (
        recorded(ground)
        if name == "recorded"
        else replay_report(ground, policy, policy.settings((), 40_000), offline)
    )
    assert found.compactions
    assert all(one.economics.paid is not None for one in found.compactions)
    summaries = sum(one.summary_usd or 0 for one in found.compactions)
    assert summaries == found.spent.summaries_usd
    without = recorded(ground, losses=False)
    assert name != "recorded" or without.compactions == found.compactions
