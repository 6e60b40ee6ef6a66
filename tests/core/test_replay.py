"""A policy over a recorded session."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.answering import offline, rehearsed
from inspector.core.arrivals import arrivals
from inspector.core.buffer import NOT_IN_FILE, Stretch
from inspector.core.message import Message, Text, Thinking
from inspector.core.needs import Answer, ProviderFailure, ReadFile, SaveText, Summarize
from inspector.core.policies import anthropic_editing, codex, none
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.harness import Policy, SimpleSettings, SimpleState
from inspector.core.policies.roku import POLICY
from inspector.core.policies.turn import AllDone
from inspector.core.replay.costs import Sizes
from inspector.core.replay.driver import Ground, Replayed, replay_requests
from inspector.core.replay.files import RecordedFiles
from inspector.core.session import Request, Thread, additions
from inspector.core.usage import Usage
from tests.core.policies.build import build
from tests.core.sessions import OVERHEAD, compacted, said, thread


def run(
    recorded: Thread, policy: Policy[Any, Any], window: int | None = None, **values: object
) -> list[Replayed]:
    settings = policy.settings([(key, str(value)) for key, value in values.items()], window)
    return list(replay_requests(Ground(recorded, window), policy, settings, offline))


def ids(messages: Any) -> list[str]:
    return [message.id for message in messages]


def test_a_policy_that_never_fires_sends_what_was_recorded() -> None:
    recorded = thread(10, "x" * 400, Usage(input=700, output=3))
    for one, request in zip(
        run(recorded, POLICY, microcompact_retain_recent=99), recorded.requests, strict=True
    ):
        assert one.buffer.messages == request.view.messages()
        assert (one.tokens, one.kind, one.usage) == (700, "reported", request.usage)
        assert not one.fired


def test_tiers_fire_and_the_buffer_stays_below_the_window() -> None:
    done = run(thread(60, "x" * 2000), POLICY, 4000)
    assert {"L0", "L1"} <= {tier for one in done for tier in one.fired}
    assert (
        max(
            POLICY.measure(PolicyContext(one.buffer, POLICY.settings(), one.running))[1]
            for one in done
        )
        < 4000
    )
    assert [one.index for one in done] == list(range(60))


def test_after_a_call_stand_its_answer_and_its_results() -> None:
    recorded = thread(5, "x")
    done = run(recorded, none.POLICY)
    assert [len(one.answer) for one in done] == [2] * 5
    assert done[-1].answered.messages == recorded.end.messages()


# -- arrivals ----------------------------------------------------------------------------------------------------------


def test_a_recorded_compaction_is_not_the_policys() -> None:
    recorded = compacted(4, 3, kept=2)
    last = run(recorded, none.POLICY)[-1].answered
    assert ids(last.messages) == [m.id for m in recorded.messages if not m.summary and not m.mark]


@pytest.mark.parametrize("swallowed", [1, 2])
def test_an_answer_that_a_compaction_swallowed_is_there(swallowed: int) -> None:
    recorded = compacted(4, 3, swallowed=swallowed)
    arrival = arrivals(recorded)[4]
    assert arrival.compacted
    assert ids(arrival.answer) == [m.id for m in recorded.messages[7:9]]
    without_summary = replace(recorded, messages=[m for m in recorded.messages if not m.summary])
    assert ids(arrivals(without_summary)[4].answer) == ids(arrival.answer)


def test_a_summary_that_the_file_begins_with_stays() -> None:
    recorded = compacted(0, 3)
    assert ids(arrivals(recorded)[0].new)[0] == "summary"


def test_a_rewind_and_an_edit_are_passed_on() -> None:
    base = build(3, "r").messages
    first = Stretch(None, base)
    thinking = Message(base[1].id, "assistant", (Thinking("t"), *base[1].parts))
    second = Stretch(None, [base[0], thinking, *base[2:5], Message("n", "user", (Text("again"),))])
    requests = [Request(0, first.view(5)), Request(1, first.view()), Request(2, second.view())]
    recorded = Thread(
        "main", requests=requests, end=second.view(), messages=[*base, second.own[-1]]
    )
    _, _, edit, _ = arrivals(recorded)
    assert dict(edit.swapped) == {base[1].id: thinking}
    assert edit.gone == {base[5].id, base[6].id}
    for untouched in (
        run(recorded, none.POLICY),
        run(recorded, POLICY, microcompact_retain_recent=9),
    ):
        assert untouched[2].buffer.messages == second.view().messages()
    cleared = run(recorded, POLICY, microcompact_retain_recent=0)[2].buffer.messages
    assert ids(cleared) == ids(second.own)
    assert cleared[1] is thinking


def test_additions_skip_recorded_summaries_and_what_was_there() -> None:
    old = Stretch(None, build(2, "r").messages)
    summary = Message("s", "user", (Text("summary"),), summary=True)
    new = Stretch(None, [summary, old.own[-1], Message("n", "user", (Text("new"),))])
    requests = [Request(0, old.view(3)), Request(1, old.view()), Request(2, new.view())]
    assert [ids(added) for added in additions(requests)] == [
        ids(old.own[:3]),
        ids(old.own[3:]),
        ["n"],
    ]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 3), st.integers(0, 2))
def test_every_message_arrives_once(before: int, after: int, kept: int, swallowed: int) -> None:
    recorded = compacted(before, after, kept, swallowed)
    came = [message.id for one in arrivals(recorded) for message in (*one.answer, *one.new)]
    assert sorted(came) == sorted(m.id for m in recorded.messages if not m.summary and not m.mark)


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_a_size_is_the_reported_one_and_what_the_other_buffer_has_more_or_less() -> None:
    recorded = said(("user", "go " * 100), *[("read", f"f{n}.py {'x' * 4000}") for n in range(6)])
    sizes, last = Sizes(recorded), recorded.requests[-1]
    weight = sizes.weigh(last.view)
    assert last.usage
    assert sizes.size(5, weight, last.prompt, True) == (last.usage.prompt, "reported")
    assert sizes.size(5, weight, last.prompt, False) == (last.usage.prompt, "predicted")
    less, kind = sizes.size(5, weight - 1_000, last.prompt, False)
    assert kind == "predicted"
    assert last.usage.prompt - less == pytest.approx(1_000 * sizes.slope, abs=1)
    assert sizes.size(5, 0, last.prompt, False)[0] == pytest.approx(OVERHEAD, rel=0.1)


def test_a_size_is_never_negative_where_the_estimator_counts_too_much() -> None:
    stretch = Stretch(None, build(1, "x" * 4_000).messages)
    sizes = Sizes(
        Thread(
            "main",
            requests=[Request(0, stretch.view(), usage=Usage(input=100))],
            end=stretch.view(),
        )
    )
    whole = sizes.weigh(stretch.own)
    assert [sizes.size(0, weight, NOT_IN_FILE, False)[0] for weight in (whole, whole // 2, 0)] == [
        100,
        50,
        0,
    ]


def test_without_usage_a_size_is_the_estimate() -> None:
    recorded = thread(3, "x" * 400)
    assert [one.kind for one in run(recorded, none.POLICY)] == ["counted"] * 3
    assert [one.usage for one in run(recorded, none.POLICY)] == [None] * 3


@given(st.lists(st.integers(0, 5_000), min_size=2, max_size=8))
def test_a_larger_buffer_is_never_smaller(weights: list[int]) -> None:
    recorded = said(("user", "go"), *[("read", f"f{n}.py {'x' * 900}") for n in range(3)])
    sizes = Sizes(recorded)
    found = [sizes.size(2, weight, NOT_IN_FILE, False)[0] for weight in sorted(weights)]
    assert found == sorted(found)
    assert found[0] >= 0


# -- what the policy is told -------------------------------------------------------------------------------------------


def test_calibration_learns_from_the_size_it_would_have_had() -> None:
    recorded = said(("user", "go"), *[("read", f"f{n}.py {'x' * 4000}") for n in range(9)])
    done = run(recorded, POLICY)
    assert [len(one.running.calibration.samples) for one in done] == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert [one.kind for one in done] == ["reported"] * 4 + ["predicted"] * 5
    for one in done:
        assert one.usage
        assert one.running.calibration.samples[-1][1] == one.usage.prompt == one.tokens


class Telling(type(none.POLICY)):  # type: ignore[misc]
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def before_call(
        self, context: PolicyContext[SimpleSettings, SimpleState]
    ) -> AllDone[SimpleState]:
        self.told.append(context.moment)
        yield from ()
        return ()


def test_a_policy_is_told_of_the_call_before() -> None:
    recorded = said(("user", "go"), ("read", "a.py 1"), ("read", "b.py 2"), ("answer", "done"))
    policy = Telling()
    run(recorded, policy)
    first, second, third = policy.told
    assert (first.usage, first.finish, first.reports, first.idle_s) == (None, "", (), None)
    assert second.usage == recorded.requests[0].usage
    assert (second.finish, second.idle_s, second.step) == ("tool_use", 60.0, 1)
    (report,) = third.reports
    assert (report.upto, report.usage) == ("a2", recorded.requests[1].usage)


def test_a_buffer_beyond_the_window_is_refused_once() -> None:
    recorded = said(("user", "go"), *[("read", f"f{n}.py {'x' * 4000}") for n in range(9)])
    done = run(recorded, none.POLICY, 10_000)
    assert [one.refused for one in done] == [
        one.tokens if one.tokens > 10_000 else 0 for one in done
    ]
    assert done[-1].refused > 10_000
    policy = Telling()
    list(replay_requests(Ground(recorded, 10_000), policy, policy.settings((), 10_000), offline))
    assert [bool(moment.overflow) for moment in policy.told].count(True) == sum(
        one.refused > 0 for one in done
    )
    saved = run(recorded, codex.POLICY, 10_000, auto_limit=9_999_999, user_message_tokens=100)
    assert any(one.refused for one in saved) or any(one.fired for one in saved)
    assert max(one.tokens for one in saved) <= 10_000


def test_known_is_for_any_number_of_replays() -> None:
    recorded = said(("user", "go"), *[("read", f"f{n}.py {'x' * 4000}") for n in range(5)])
    ground = Ground(recorded)
    once = [one.tokens for one in replay_requests(ground, POLICY, POLICY.settings(), offline)]
    assert once == [
        one.tokens for one in replay_requests(ground, POLICY, POLICY.settings(), offline)
    ]


def test_the_world_reads_what_the_session_read_and_writes_nothing() -> None:
    asked: list[Any] = []

    def nobody(need: Any) -> Answer:
        asked.append(need)
        raise ProviderFailure("no")

    world = RecordedFiles(rehearsed(nobody))
    recorded = said(("read", "a.py first"), ("read", "a.py second"))
    world.see(recorded.messages)
    assert world(ReadFile("a.py", 3)).text == "sec"
    assert world(SaveText("x")).text
    with pytest.raises(ProviderFailure, match=r"does not hold the content of b\.py"):
        world(ReadFile("b.py"))
    with pytest.raises(ProviderFailure, match="no"):
        world(Summarize("", "text"))
    assert len(asked) == 1


# -- a file that begins in the middle ----------------------------------------------------------------------------------


def late(requests: int, tokens: int = 140_000) -> Thread:
    """A session of which the file holds the end only: each request reports so many tokens more than its messages."""
    made = thread(requests, "x" * 800)
    reported = [
        replace(request, usage=Usage(input=tokens + 250 * len(request.view)))
        for request in made.requests
    ]
    return replace(made, requests=reported, begins_late=True)


@pytest.mark.parametrize("late_at", [True, False], ids=["in the middle", "whole"])
def test_a_policy_when_the_file_begins_in_the_middle_summarises_what_came_before_once(
    late_at: bool,
) -> None:
    recorded = replace(late(40), begins_late=late_at)
    done = run(recorded, POLICY, 200_000)
    fired = [one.index for one in done if {"L1", "L2", "L3", "L4"} & set(one.fired)]
    assert (len(fired) == 1) is late_at
    after = [one.tokens for one in done if one.index > fired[0]]
    assert (max(after) < 60_000) is late_at


def test_a_policy_that_only_clears_when_the_file_begins_in_the_middle_leaves_what_came_before() -> (
    None
):
    done = run(late(20), anthropic_editing.POLICY, 200_000, trigger_value=1_000, keep=0)
    assert any(one.fired for one in done)
    assert all(one.tokens > 140_000 for one in done)
