"""What happened, as the base line of a replay; and what a session tells of the provider's cache."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from inspector.core.answering import offline
from inspector.core.buffer import Buffer, Stretch, View
from inspector.core.errors import Cancelled
from inspector.core.findings.spending import session_cost
from inspector.core.message import Message, Text
from inspector.core.policies.catalogue import POLICIES
from inspector.core.replay.costs import CacheFacts, Meter, Sizes, cache_facts
from inspector.core.replay.driver import Ground
from inspector.core.replay.recorded_report import recorded
from inspector.core.replay.report import ReplayReport, replay_report
from inspector.core.replay.summary_calls import TYPICAL_OUTPUT
from inspector.core.session import Compaction, Request, Session, SideCall, Thread
from inspector.core.tokens.prices import call_cost
from inspector.core.usage import FIVE_MINUTES_S, HOUR_S, Usage
from tests.core.policies.build import assistant, user
from tests.core.sessions import MODEL, compacted, said, thread, thread_cost

LONG = said(
    ("user", "go"),
    *[("read", f"src/f{n}.py {'word ' * 900}") for n in range(30)],
    ("answer", "done"),
)


def driven(one: Thread, name: str, window: int | None = 200_000) -> ReplayReport:
    return replay_report(
        Ground(one, window), POLICIES[name], POLICIES[name].settings((), window), offline
    )


def used(*usages: Usage | None, times: tuple[str, ...] = ()) -> Thread:
    """A session whose calls used that much, each buffer with a message more."""
    stretch, requests = Stretch(), list[Request]()
    for n, usage in enumerate(usages):
        stretch.append(user("x" * 4_000))
        time = times[n] if times else f"2026-01-01T00:{n:02}:00Z"
        requests.append(Request(n, stretch.view(), usage=usage, model=MODEL, time=time))
        stretch.append(assistant("y" * 400))
    return Thread("main", model=MODEL, requests=requests, end=stretch.view(), messages=stretch.own)


# -- what happened


def test_it_is_what_was_reported() -> None:
    one = used(
        Usage(5, 0, 1_000, 10, cache_write_1h=1_000), Usage(6, 1_000, 1_100, 20, cache_write_1h=900)
    )
    found = recorded(Ground(one, 200_000))
    assert (found.policy, found.settings, found.failures) == ("recorded", {}, 0)
    assert [(row.tokens, row.kind, row.fired, row.refused) for row in found.rows] == [
        (1_005, "reported", (), 0),
        (2_106, "reported", (), 0),
    ]
    spent = found.spent
    assert (spent.input, spent.cache_read, spent.cache_write, spent.cache_write_1h, spent.output) == (
        11, 1_000, 2_100, 1_900, 30,
    )  # fmt: skip
    assert spent.cost_usd == thread_cost(one)
    assert (found.compactions, found.losses.facts, found.overflows, found.over) == ((), 0, 0, 0)


def test_a_call_that_reports_nothing_is_worked_out() -> None:
    whole = used(Usage(0, 0, 5_000, 10), Usage(0, 5_000, 1_100, 10), Usage(0, 6_100, 1_100, 10))
    gap = replace(
        whole,
        requests=[replace(one, usage=None) if one.index == 1 else one for one in whole.requests],
    )
    row = recorded(Ground(gap, None)).rows[1]
    assert row.kind == "predicted"
    assert row.spent.cache_read == 5_000
    assert row.spent.prompt == row.tokens > 5_000
    silent = replace(whole, requests=[replace(one, usage=None) for one in whole.requests])
    assert {one.kind for one in recorded(Ground(silent, None)).rows} == {"counted"}
    assert recorded(Ground(silent, None)).spent.cache_read > 0


@pytest.mark.parametrize("name", list(POLICIES))
def test_a_policy_that_never_fires_costs_what_happened(name: str) -> None:
    """To the cent: also where the provider's cache did what no simulation would."""
    one = used(
        Usage(5, 0, 9_000, 10),
        Usage(9_700, 0, 900, 20),
        Usage(0, 10, 11_500, 5, cache_write_1h=11_500),
    )
    found, happened = driven(one, name), recorded(Ground(one, 200_000))
    assert found.spent == happened.spent
    assert [row.spent for row in found.rows] == [row.spent for row in happened.rows]


def with_summary(prompt: int, time: str = "2026-01-01T00:03:00Z") -> Thread:
    """Two calls, a summary, one call."""
    before, first = (
        used(Usage(0, 0, 5_000, 10), Usage(0, 5_000, prompt - 5_000, 10)),
        "path/to/lost.py",
    )
    summary = Message("s", "user", (Text("S" * 400),), summary=True)
    after = Stretch(None, [summary, user("go on")])
    last = Request(
        2, after.view(), usage=Usage(0, 0, 3_000, 10), model=MODEL, time="2026-01-01T00:04:00Z"
    )
    compaction = Compaction(2, "auto", summary=summary, tokens_before=prompt + 50, time=time)
    spoken = replace(before.requests[0].view.messages()[0], parts=(Text(first),))
    messages = [spoken, *before.messages[1:], *after.own]
    requests = [*before.requests, last]
    return Thread("main", "", MODEL, requests, messages, after.view(), compactions=(compaction,))


@pytest.mark.parametrize(
    ("model", "lives_s"), [("gpt-5.5", 24 * HOUR_S), ("gpt-5.6-sol", HOUR_S // 2), ("gpt-5.1", 300)]
)
def test_a_cache_that_the_provider_keeps_by_itself_lives_as_its_maker_says(
    model: str, lives_s: int
) -> None:
    one = used(Usage(5_000, 0, 0, 10), Usage(1_100, 5_000, 0, 10))
    one = replace(one, model=model, requests=[replace(each, model=model) for each in one.requests])
    assert {known.ttl_s for known in cache_facts(one)} == {lives_s}
    known, buffer = CacheFacts(ttl_s=lives_s), Buffer(one.end.messages())
    meter = Meter(Sizes(one), model)
    first = meter.request(buffer, 9_000, 0, (), time="2026-01-01T00:00:00Z", cache=known)
    assert (first.cache_write, first.cache_write_1h) == (9_000, 0)
    for pause, read in ((lives_s // 60, 9_000), (2 * lives_s // 60 + 1, 0)):
        time = f"{datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=pause):%Y-%m-%dT%H:%M:%SZ}"
        assert meter.request(buffer, 9_000, 0, (), time=time, cache=known).cache_read == read


def test_a_recorded_compaction_is_a_step_and_its_call_costs() -> None:
    one = with_summary(20_000)
    found = recorded(Ground(one, 200_000))
    (step,) = found.compactions
    assert (step.at.before_request, step.at.tier, step.kind) == (2, "auto", "summary")
    assert (step.tokens_before, step.tokens_after) == (20_050, 3_000)
    assert (step.messages_before, step.messages_after) == (3, 2)
    assert [row.fired for row in found.rows] == [(), (), ("auto",)]
    output = found.spent.summariser_output
    assert (found.spent.summariser_calls, found.spent.summariser_input) == (1, 20_050)
    call = call_cost(MODEL, Usage(50, 20_000, 0, output))
    assert output > 0
    assert found.spent.cost_usd == (thread_cost(one) or 0) + (call or 0)


def test_the_call_for_a_summary_reads_nothing_after_a_long_pause() -> None:
    one = with_summary(20_000, "2026-01-01T00:07:00Z")  # six minutes after the call before
    found = recorded(Ground(one, 200_000))
    assert found.spent.cost_usd == (thread_cost(one) or 0) + (
        call_cost(MODEL, Usage(20_050, 0, 0, found.spent.summariser_output)) or 0
    )


def test_call_for_a_summary_that_is_not_in_the_file_writes_as_much_as_others() -> None:
    one = with_summary(20_000)
    (made,) = one.compactions
    hidden = (
        recorded(Ground(replace(one, compactions=(replace(made, summary=None),)))).rows[2].spent
    )
    assert (hidden.summariser_calls, hidden.summariser_input, hidden.summariser_output) == (
        1,
        20_050,
        TYPICAL_OUTPUT,
    )


def test_a_call_for_a_summary_that_the_file_holds_costs_what_it_did() -> None:
    one = with_summary(20_000)
    own = Usage(7, 19_000, 500, 300)
    calls = [
        SideCall("compaction", "main", 2, 0, usage=own),
        SideCall("title", "main", 2, usage=Usage(9)),
    ]
    found = recorded(Ground(one, 200_000, calls=calls))
    assert (found.spent.summariser_input, found.spent.summariser_output) == (19_507, 300)
    assert found.spent.cost_usd == (thread_cost(one) or 0) + (call_cost(MODEL, own) or 0)
    assert found.spent.estimated_usd == 0
    assert not found.compactions[0].is_estimated
    assert recorded(Ground(one, 200_000)).compactions[0].is_estimated
    twice = recorded(Ground(one, 200_000, calls=[calls[0], *calls]))
    assert (twice.spent.summariser_calls, twice.spent.summariser_input) == (2, 2 * 19_507)
    silent = recorded(Ground(one, 200_000, calls=[replace(calls[0], usage=None)]))
    assert silent.spent == recorded(Ground(one, 200_000)).spent
    other = [replace(call, thread="agent") for call in calls]
    assert recorded(Ground(one, 200_000, calls=other)).spent == recorded(Ground(one, 200_000)).spent


def test_what_no_usage_tells_is_estimated_and_without_it_the_cost_is_the_bill() -> None:
    one = with_summary(20_000)
    calls = (
        SideCall("compaction", "main", 2, 0, usage=Usage(7, 19_000, 500, 300)),
        SideCall("title", "main", 2, usage=Usage(9), model=MODEL),
        SideCall("probe", "", 0, usage=Usage(90), model=MODEL),
    )
    for side, without in (((), ()), ((), (1,)), (calls, ()), (calls, (0, 1))):
        requests = [
            replace(each, usage=None) if each.index in without else each for each in one.requests
        ]
        gap = replace(one, requests=requests)
        spent = recorded(Ground(gap, 200_000, calls=side)).spent
        found = session_cost(Session("made", (gap,), side_calls=side))
        assert spent.cost_usd is not None
        assert spent.estimated_usd == found.estimated
        assert (found.estimated or 0) > 0 or (bool(side) and not without)
        assert found.bill is not None
        others = sum(call_cost(MODEL, call.usage) or 0 for call in side[1:] if call.usage)
        assert spent.cost_usd - (spent.estimated_usd or 0) == found.bill.total - others
        assert found.bill.total == (thread_cost(gap) or 0) + (found.beside or 0)


def test_a_compaction_behind_the_last_request_counts() -> None:
    one = with_summary(20_000)
    cut = replace(one, requests=one.requests[:2])
    found = recorded(Ground(cut, 200_000))
    assert [step.at.before_request for step in found.compactions] == [2]
    assert found.spent.summariser_calls == 1
    assert found.spent == found.rows[0].spent.__class__(
        **{
            n: getattr(found.rows[0].spent, n) + getattr(found.rows[1].spent, n)
            for n in found.spent.__slots__
        }
    )


def test_what_was_compacted_before_the_file_begins_is_everybodys() -> None:
    one = with_summary(20_000)
    late = Thread(
        "main", "", MODEL, [replace(one.requests[2], index=0)], one.messages[-2:], one.end
    )
    late = replace(late, compactions=(replace(one.compactions[0], before_request=0),))
    found = recorded(Ground(late, 200_000))
    assert (found.compactions, found.spent.summariser_calls, found.losses.facts) == ((), 0, 0)


def test_what_it_lost_is_told_as_of_any_policy() -> None:
    read = said(
        ("user", "go"),
        ("read", "src/a.py see lib/deep/c.py"),
        ("answer", "read"),
        ("user", "and src/a.py ?"),
    )
    summary = Message("s", "user", (Text("was done"),), summary=True)
    after = Stretch(None, [summary, read.messages[-1]])
    requests = [*read.requests, Request(2, after.view(), usage=Usage(100), model=MODEL)]
    compaction = Compaction(2, "auto", summary=summary)
    one = replace(
        read,
        requests=requests,
        end=after.view(),
        messages=[*read.messages, summary],
        compactions=(compaction,),
    )
    found = recorded(Ground(one, None))
    assert found.losses.lost > 0
    assert {loss.at.tier for loss in found.losses.losses} == {"auto"}


def test_recorded_compactions_of_many_kinds() -> None:
    found = recorded(Ground(compacted(5, 5, kept=2), None))
    assert [step.at.tier for step in found.compactions] == ["auto"]
    plain = thread(3, "x" * 400)
    edits = [Compaction(1, "", "edit", cleared=("a",)), Compaction(1, "", "edit", cleared=("b",))]
    both = recorded(
        Ground(replace(plain, compactions=[*edits, Compaction(2, "micro", "micro")]), None)
    )
    assert [(step.at.before_request, step.at.tier, step.kind) for step in both.compactions] == [
        (1, "edit", "micro"),
        (2, "micro", "micro"),
    ]


def test_it_can_be_watched_and_stopped() -> None:
    seen: list[tuple[int, int]] = []
    recorded(Ground(LONG, None), progress=lambda done, count: seen.append((done, count)))
    assert seen == [(n, 31) for n in range(1, 32)]
    with pytest.raises(Cancelled):
        recorded(Ground(LONG, None), cancelled=lambda: True)


@pytest.mark.parametrize("usage", [Usage(2_000, output=9), None])
def test_a_session_in_one_buffer_is_not_laid_out_for_every_request(
    usage: Usage | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, laid_out, tail = used(*[usage] * 400), list[int](), View.tail

    def counted(view: View, start: int) -> tuple[Message, ...]:
        laid_out.append(len(view) - start)
        return tail(view, start)

    monkeypatch.setattr(View, "tail", counted)
    assert len(recorded(Ground(whole)).rows) == 400
    assert sum(laid_out) < 10 * len(whole.messages)


# -- the cache


def told(*usages: Usage | None) -> list[tuple[bool, int, int | None]]:
    return [(one.caches, one.ttl_s, one.most) for one in cache_facts(used(*usages))]


def test_entries_live_as_long_as_the_session_wrote() -> None:
    short, hour, read = Usage(0, 0, 900), Usage(0, 0, 900, cache_write_1h=900), Usage(1, 900)
    assert [one[1] for one in told(hour, read, short, None, read)] == [
        HOUR_S,
        HOUR_S,
        FIVE_MINUTES_S,
        FIVE_MINUTES_S,
        FIVE_MINUTES_S,
    ]
    assert [one[1] for one in told(None, read, hour, read)] == [HOUR_S, HOUR_S, HOUR_S, HOUR_S]
    assert [one[1] for one in told(None, read)] == [FIVE_MINUTES_S, FIVE_MINUTES_S]


def test_a_session_without_a_cache_has_none_under_a_policy() -> None:
    bare = used(*(Usage(5_000 + 4_000 * n) for n in range(12)))
    assert {one.caches for one in cache_facts(bare)} == {False}
    found = driven(bare, "codex", 30_000)
    assert found.compactions
    assert found.spent.input == found.spent.prompt
    assert cache_facts(thread(3, "x"))[0].caches  # nothing was reported: as if there were one


def test_what_broke_the_cache_of_the_session_breaks_a_policys() -> None:
    whole, broken = Usage(0, 50_000, 1_000), Usage(0, 9_000, 43_000)
    assert [one[2] for one in told(Usage(0, 0, 50_000), whole, broken, Usage(0, 52_000, 100))] == [
        None, None, 9_000, None,
    ]  # fmt: skip
    almost = Usage(0, 48_100, 3_000)
    assert told(Usage(0, 0, 50_000), almost)[1][2] is None  # a block that was not cached
    meter = Meter(Sizes(LONG), MODEL)
    messages = LONG.requests[9].view.messages()
    meter.request(Buffer(messages[:-1]), 40_000, 0, ())
    assert (
        meter.request(Buffer(messages), 41_000, 0, (), cache=CacheFacts(most=9_000)).cache_read
        == 9_000
    )


@pytest.mark.parametrize(
    ("pause", "ttl_s", "read"),
    [
        (299, FIVE_MINUTES_S, 40_000),
        (300, FIVE_MINUTES_S, 40_000),
        (301, FIVE_MINUTES_S, 0),
        (3_600, HOUR_S, 40_000),
        (3_601, HOUR_S, 0),
    ],
)
def test_the_cache_expires_by_the_recorded_pause(pause: int, ttl_s: int, read: int) -> None:
    meter, messages = Meter(Sizes(LONG), MODEL), LONG.requests[9].view.messages()
    known = CacheFacts(ttl_s=ttl_s)
    meter.request(Buffer(messages[:-1]), 40_000, 0, (), "", "2026-01-01T00:00:00Z", known)
    later = f"2026-01-01T0{pause // 3600}:{pause // 60 % 60:02}:{pause % 60:02}Z"
    spent = meter.request(Buffer(messages), 41_000, 0, (), "", later, known)
    assert (spent.cache_read, spent.cache_write) == (read, 41_000 - read)
    assert spent.cache_write_1h == (spent.cache_write if ttl_s == HOUR_S else 0)
    assert spent.cost_usd == call_cost(
        MODEL, Usage(0, read, 41_000 - read, cache_write_1h=spent.cache_write_1h)
    )


def test_without_times_nothing_expires() -> None:
    meter, messages = Meter(Sizes(LONG), MODEL), LONG.requests[9].view.messages()
    meter.request(Buffer(messages[:-1]), 40_000, 0, (), "", "2026-01-01T00:00:00Z")
    assert meter.request(Buffer(messages), 41_000, 0, ()).cache_read == 40_000


def test_a_pause_costs_every_policy_the_same_write() -> None:
    """A session that paused for ten minutes: what a policy had made of it is written anew, too."""
    times = tuple(f"2026-01-01T{n // 6:02}:{n % 6 * 10:02}:00Z" for n in range(12))
    usages = [Usage(0, 0, 5_000 + 4_000 * n) for n in range(12)]
    found = driven(used(*usages, times=times), "codex", 30_000)
    assert found.compactions
    assert found.spent.cache_read == 0
    assert found.spent.cost_usd
    assert found.spent.cost_usd > Decimal(0)
