"""A replay in figures: sums, cache, summaries, prices."""

from dataclasses import fields
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import AnsweredNeed, offline
from inspector.core.buffer import Buffer, Prompt
from inspector.core.errors import Cancelled
from inspector.core.needs import Answer, ProviderFailure, RemoteCompact, SaveText, Summarize
from inspector.core.policies.catalogue import POLICIES
from inspector.core.prefix import common_length
from inspector.core.replay.costs import Meter, Sizes, Spending, total
from inspector.core.replay.driver import Ground
from inspector.core.replay.report import ReplayReport, replay_report
from inspector.core.session import Thread
from inspector.core.tokens.prices import call_cost
from inspector.core.usage import Usage
from tests.core.policies.build import assistant, user
from tests.core.sessions import MODEL, compacted, said, thread

LONG = said(
    ("user", "go"),
    *[("read", f"src/f{n}.py {'word ' * 900}") for n in range(30)],
    ("answer", "done"),
)


def made(
    recorded: Thread, name: str, window: int | None = 20_000, **values: object
) -> ReplayReport:
    policy = POLICIES[name]
    settings = policy.settings([(key, str(value)) for key, value in values.items()], window)
    return replay_report(Ground(recorded, window), policy, settings, offline)


@pytest.mark.parametrize("name", list(POLICIES))
def test_totals_are_the_sums_over_requests(name: str) -> None:
    found = made(LONG, name)
    assert len(found.rows) == len(LONG.requests)
    for one in fields(Spending):
        values = [getattr(row.spent, one.name) for row in found.rows]
        assert getattr(found.spent, one.name) == (None if None in values else sum(values))
    unlimited = found.spent.summariser_calls and name in ("codex", "opencode")
    assert (found.spent.most_usd is None) == bool(unlimited), "these set no limit to the answer"
    if found.spent.most_usd is not None:
        assert found.spent.most_usd >= (found.spent.cost_usd or 0)
    assert found.peak == max(row.tokens for row in found.rows)
    assert all(row.spent.prompt == row.tokens for row in found.rows)
    assert found.spent.cost_usd
    assert {step.at.tier for step in found.compactions} <= {
        tier for row in found.rows for tier in row.fired
    }
    assert len(found.losses.regrets) >= found.losses.needed_later


@pytest.mark.parametrize("name", list(POLICIES))
def test_a_policy_that_never_fires_equals_the_recording(name: str) -> None:
    recorded = said(("user", "go"), ("read", "a.py x"), ("read", "b.py y"), ("answer", "done"))
    found = made(recorded, name, 200_000)
    assert [row.tokens for row in found.rows] == [
        one.usage.prompt for one in recorded.requests if one.usage
    ]
    assert {row.kind for row in found.rows} == {"reported"}
    assert (found.compactions, found.losses.facts, found.overflows) == ((), 0, 0)
    assert found.spent.output == 30


def test_without_compaction_all_but_the_new_is_read_from_the_cache() -> None:
    found = made(LONG, "none", None)
    tokens = [row.tokens for row in found.rows]
    assert [row.spent.cache_read for row in found.rows] == [0, *tokens[:-1]]
    assert found.spent.cache_write == tokens[-1]
    one = found.rows[5]
    request = LONG.requests[5]
    usage = Usage(cache_read=one.spent.cache_read, cache_write=one.spent.cache_write, output=10)
    assert one.spent.cost_usd == call_cost(MODEL, usage, request.time)


def test_a_changed_prefix_is_written_anew() -> None:
    found = made(LONG, "codex", 20_000)
    steps = {step.at.before_request for step in found.compactions if step.kind == "summary"}
    assert steps
    for row in found.rows[1:]:
        last = found.rows[row.index - 1].tokens
        assert row.spent.cache_read <= min(last, row.tokens)
        if row.index in steps:
            assert row.spent.cache_read < last / 2


def test_a_buffer_beyond_the_window_is_an_overflow() -> None:
    found = made(LONG, "none", 20_000)
    over = [row for row in found.rows if row.tokens > 20_000]
    assert (found.overflows, found.over) == (len(over), len(over))
    assert over
    saved = made(LONG, "codex", 20_000, auto_limit=9_999_999)
    assert saved.over == 0


def test_the_recorded_compaction_does_not_count() -> None:
    found = made(compacted(4, 3, kept=2), "none", None)
    assert (found.compactions, found.losses.facts) == ((), 0)
    assert [row.messages for row in found.rows] == [1, 3, 5, 7, 10, 12, 14]


def test_no_price_no_cost() -> None:
    assert made(thread(3, "x", Usage(input=10)), "none").spent.cost_usd is None


def test_it_can_be_watched_and_stopped() -> None:
    seen: list[tuple[int, int]] = []
    policy = POLICIES["none"]
    ground = Ground(LONG, None)

    def stop() -> bool:
        return len(seen) == 3

    with pytest.raises(Cancelled):
        replay_report(
            ground,
            policy,
            policy.settings(),
            offline,
            progress=lambda *at: seen.append(at),
            cancelled=stop,
        )
    assert seen == [(1, 31), (2, 31), (3, 31)]


# -- the meter ---------------------------------------------------------------------------------------------------------


def asked(reply: Answer | ProviderFailure, need: Any = None) -> AnsweredNeed:
    return AnsweredNeed(need or Summarize("i" * 40, "t" * 400, (user("m" * 40),)), reply)


@pytest.mark.parametrize(
    ("one", "spent"),
    [
        (asked(Answer("s" * 200)), (224, 50, 1)),
        (asked(Answer("s", usage=Usage(5, 6, 7, 8))), (18, 8, 1)),
        (
            asked(
                Answer(messages=(assistant("s" * 80),)), RemoteCompact("i" * 40, (user("m" * 40),))
            ),
            (24, 24, 1),
        ),
        (asked(ProviderFailure("no")), (0, 0, 0)),
        (asked(Answer("path"), SaveText("x" * 4000)), (0, 0, 0)),
    ],
)
def test_summaries_are_counted_as_answered_or_estimated(
    one: AnsweredNeed, spent: tuple[int, int, int]
) -> None:
    meter = Meter(Sizes(Thread("main")), MODEL)
    found = meter.request(Buffer(()), 0, 0, [one])
    assert (found.summariser_input, found.summariser_output, found.summariser_calls) == spent


def test_a_summary_has_the_price_of_its_model() -> None:
    plain = Meter(Sizes(Thread("main")), MODEL).request(
        Buffer(()), 0, 0, [asked(Answer("s" * 200))]
    )
    cheap = Meter(Sizes(Thread("main")), MODEL, "claude-haiku-4-5").request(
        Buffer(()), 0, 0, [asked(Answer("s" * 200))]
    )
    assert plain.cost_usd == call_cost(MODEL, Usage(input=224, output=50))
    assert cheap.cost_usd
    assert cheap.cost_usd < (plain.cost_usd or 0)
    unknown = Meter(Sizes(Thread("main")), MODEL, "no-such-model").request(
        Buffer(()), 0, 0, [asked(Answer("s"))]
    )
    assert unknown.cost_usd is None


def test_another_prompt_reads_nothing_from_the_cache() -> None:
    meter = Meter(Sizes(Thread("main")), MODEL)
    message = user("x" * 400)
    assert meter.request(Buffer((message,), Prompt("a")), 100, 0, []).cache_read == 0
    assert meter.request(Buffer((message,), Prompt("a")), 100, 0, []).cache_read == 100
    assert meter.request(Buffer((message,), Prompt("b")), 100, 0, []).cache_read == 0


@given(st.lists(st.sampled_from("abcd"), max_size=6), st.lists(st.sampled_from("abcd"), max_size=6))
def test_common_prefix(before: list[str], after: list[str]) -> None:
    known = {name: user(name) for name in "abcd"}
    found = common_length(
        tuple(known[name] for name in before), tuple(known[name] for name in after)
    )
    assert before[:found] == after[:found]
    assert found == min(len(before), len(after)) or before[found] != after[found]


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=5))
def test_a_total_is_a_sum(rows: list[tuple[int, int, int, int]]) -> None:
    whole = total(Spending(a, b, c, cost_usd=Decimal(d)) for a, b, c, d in rows)
    assert whole.cost_usd == sum(row[3] for row in rows)
    assert whole.prompt == sum(sum(row[:3]) for row in rows)
    assert total([whole, Spending(cost_usd=None)]).cost_usd is None
