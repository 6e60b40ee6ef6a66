"""The three answers: they speak about the crisis of a session, agree with the other findings, and never claim more."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.facts.fact import Fact
from inspector.core.findings.answers import (
    NO_CALLS,
    NO_COMPACTION,
    NO_MESSAGES,
    NO_USAGE,
    cost_answer,
    describe_losses,
    filled_answer,
    lost_answer,
    short_answers,
)
from inspector.core.findings.breakdown import break_down, tool_calls
from inspector.core.findings.breaks import Rebilling, cause_sentence
from inspector.core.findings.composition import LARGEST_PROMPT, not_recorded_words
from inspector.core.findings.forgetting import Forgetting, GotBack
from inspector.core.findings.lost import CompactionLoss, lost_by_compactions
from inspector.core.findings.lost_rows import LostRow
from inspector.core.findings.spending import session_cost
from inspector.core.message import Message, Text
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.tokens.pressure import known_pressures
from inspector.core.tokens.sizing import sizer
from inspector.core.usage import Usage
from inspector.core.words import dollars, duration, per_cent, times
from inspector.resources import resource
from inspector.transcripts.files import open_transcript

MODEL = "claude-opus-4-5"


def window_at(at: int | None) -> int | None:
    return 200_000


def grown(*usages: Usage | None, minutes: Sequence[int] = (), model: str = MODEL) -> Thread:
    """A thread whose buffer grows by one message a request."""
    stretch = Stretch(own=[Message("m0", "user", (Text("Fix the importer, please. " * 20),))])
    requests = []
    for n, usage in enumerate(usages):
        time = f"2026-01-01T{10 + (minutes[n] if minutes else n) // 60:02}:{(minutes[n] if minutes else n) % 60:02}:00Z"
        requests.append(Request(n, stretch.view(), usage=usage, model=model, time=time))
        stretch.append(Message(f"m{n + 1}", "assistant", (Text(f"Step {n}. " * 20),)))
    return Thread("main", "", model, requests, stretch.own, stretch.view())


def session(*threads: Thread) -> Session:
    return Session("test", threads, path="made.jsonl")


def loss(request: int = 5, tokens: int = 0, kind: str = "summary") -> CompactionLoss:
    """A compaction that made the agent read a file of so many tokens again, a tenth of a cent each."""
    again = (
        (GotBack("file", "a.py", request, "a0", 0, tokens, Decimal(tokens) / 1000),)
        if tokens
        else ()
    )
    row = LostRow(Fact("path", "src/a.py"), "m0")
    return CompactionLoss(
        0,
        "main",
        request,
        kind,
        "auto",
        9_000,
        900,
        rows=(row,),
        forgetting=Forgetting(request, again),
    )


# -- what filled it


def test_filled_answer_of_sample_agrees_with_breakdown_of_fullest_request() -> None:
    sample = open_transcript(resource("sample.jsonl"))
    answer = filled_answer(sample, sample.main, window_at)
    pressures = known_pressures(sample.main)
    size = sizer(pressures, 78)
    tree = break_down(
        size, size.pressure, sample.main.place(78).buffer(), tool_calls(sample, sample.main)
    ).tree
    shares = {child.name: per_cent(child.tokens / tree.tokens) for child in tree.children}
    assert answer.request == 78
    assert answer.headline == "Request 78 was the fullest: 152,241 tokens (76.1%)."
    assert answer.strong == "152,241 tokens (76.1%)"
    assert answer.detail.startswith(
        f"{shares['tool results']} were tool results and {shares['tool calls']} tool calls"
    )
    assert max(pressure.tokens or 0 for pressure in pressures) == 152_241


def test_filled_answer_when_session_shrank_names_the_fullest_request_not_the_last() -> None:
    thread = grown(Usage(1_000), Usage(90_000), Usage(50_000))
    assert filled_answer(session(thread), thread, window_at).headline == (
        "Request 1 was the fullest: 90,000 tokens (45.0%)."
    )


def test_filled_answer_when_last_request_is_fullest_says_so() -> None:
    thread = grown(Usage(1_000), Usage(90_000))
    assert (
        "Request 1, the last, was the fullest"
        in filled_answer(session(thread), thread, window_at).text
    )


def test_filled_answer_of_one_request_says_that_there_is_one() -> None:
    thread = grown(Usage(120))
    headline = filled_answer(session(thread), thread, window_at).headline
    assert headline == "There is one request: 120 tokens (less than 0.1%)."


def test_filled_answer_without_usage_says_about() -> None:
    thread = grown(None, None)
    answer = filled_answer(session(thread), thread, lambda at: None)
    assert answer.strong.startswith("about ")
    assert "%" not in answer.headline, "no share of a window that is unknown"


def test_filled_answer_without_requests_speaks_about_the_messages() -> None:
    messages = (Message("m0", "user", (Text("Please look. " * 30),)),)
    thread = Thread("main", messages=messages, end=Stretch(own=messages).view())
    answer = filled_answer(session(thread), thread, window_at)
    assert answer.headline.startswith("No model call is recorded. The messages have about ")
    assert answer.request is None


def test_filled_answer_of_nothing_says_that_nothing_is_recorded() -> None:
    thread = Thread("main")
    assert filled_answer(session(thread), thread, window_at).text == (
        "The file records no messages and no token counts."
    )


def test_not_recorded_part_is_explained_by_what_the_file_lacks() -> None:
    bare = grown(Usage(9_000), Usage(9_500))
    assert not_recorded_words(bare, 0, 8_000) == "system prompt, tool definitions"
    held = replace(bare.requests[0], prompt=Prompt("Be kind.", (Tool("Read", {}),)))
    assert (
        not_recorded_words(replace(bare, requests=[held]), 0, 8_000)
        == "text that the client or the provider adds"
    )
    compacted = replace(bare, compactions=(Compaction(1, "auto"),))
    assert not_recorded_words(compacted, 0, 8_000) == "system prompt, tool definitions"
    assert (
        not_recorded_words(compacted, 1, 8_000)
        == "system prompt, tool definitions, re-attached files"
    )
    assert (
        not_recorded_words(bare, 0, LARGEST_PROMPT + 1)
        == "system prompt, tool definitions, earlier messages"
    )
    answer = filled_answer(session(bare), bare, window_at)
    assert "is not recorded in this file (system prompt, tool definitions)" in answer.detail


def test_filled_answer_when_the_provider_counts_less_than_is_recorded_names_no_share_above_all() -> (
    None
):
    stretch = Stretch(own=[Message("m", "user", (Text('{"a": 1}' * 250),))])
    request = Request(0, stretch.view(), prompt=Prompt("", ()), usage=Usage(1_000), model=MODEL)
    thread = Thread("main", "", MODEL, (request,), stretch.own, stretch.view())
    answer = filled_answer(session(thread), thread, window_at)
    assert answer.detail.startswith("100% were user messages")


# -- what was lost


def test_lost_answer_of_sample_agrees_with_the_loss_of_its_compaction() -> None:
    sample = open_transcript(resource("sample.jsonl"))
    (found,) = lost_by_compactions(sample, sample.main)
    answer = lost_answer(sample, sample.main)
    assert answer.headline == found.forgetting.sentence
    assert found.forgetting.calls == 2
    wishes = [
        row for row in found.rows if row.is_open and row.fact.kind in ("instruction", "constraint")
    ]
    assert {row.verdict for row in wishes} == {"unsure"}
    assert answer.detail.startswith(f"{len(wishes)} open instructions of the user may be gone: ")
    assert wishes[0].fact.text[:40] in answer.detail
    assert answer.request == 79


def test_lost_answer_without_compaction_says_that_everything_is_still_in_context() -> None:
    thread = grown(Usage(1_000))
    assert lost_answer(session(thread), thread).text == NO_COMPACTION


def test_lost_answer_when_only_another_thread_compacted_says_so() -> None:
    main = grown(Usage(1_000))
    other = replace(
        grown(Usage(1_000), Usage(500)), id="agent", compactions=(Compaction(1, "auto"),)
    )
    answer = lost_answer(session(main, other), main)
    assert (
        answer.headline
        == "No compaction in this thread: its whole conversation is still in context."
    )
    assert answer.detail == "Other threads have 1 compaction."


def test_lost_answer_without_messages_says_that_it_is_unknown() -> None:
    assert lost_answer(session(Thread("main")), Thread("main")).text == NO_MESSAGES


def test_lost_answer_of_several_compactions_is_about_the_one_that_was_dearest_to_repair() -> None:
    losses = [loss(5), loss(20, tokens=400), loss(30, tokens=100)]
    answer = describe_losses(losses)
    assert (
        answer.headline
        == "After request 19 the agent spent 1 call, 400 tokens, $0.40 to get back what it had."
    )
    assert answer.detail.startswith(
        "That was the worst of 3 compactions; together 2 calls, 500 tokens, $0.50."
    )
    assert (answer.request, answer.strong) == (20, "1 call, 400 tokens, $0.40")


def test_lost_answer_of_several_compactions_without_a_cost_calls_none_the_worst() -> None:
    answer = describe_losses([loss(5), loss(20), loss(30)])
    assert answer.detail.startswith("The same is true after each of the 3 compactions.")


def test_lost_answer_of_a_good_compaction_says_that_nothing_was_lost() -> None:
    answer = describe_losses([replace(loss(5), rows=())])
    assert answer.text == (
        "After request 4 nothing had to be read or said again. No open instruction of the user was lost."
    )


def test_lost_answer_counts_what_is_gone_and_what_may_be() -> None:
    rows = (
        LostRow(Fact("constraint", "Never push."), "m0", "gone"),
        LostRow(Fact("instruction", "Keep it small."), "m0", "unsure"),
        LostRow(Fact("instruction", "Commit it."), "m0", "done"),
    )
    answer = describe_losses([replace(loss(5), rows=rows)])
    assert answer.detail == "1 open instruction of the user is gone, 1 may be: “Never push.”."


@pytest.mark.parametrize(
    ("kind", "noun"), [("drop", "silent drops"), ("micro", "micro-compactions")]
)
def test_lost_answer_names_the_kind_of_event(kind: str, noun: str) -> None:
    answer = describe_losses([loss(kind=kind), loss(9, kind=kind)])
    assert f"The same is true after each of the 2 {noun}." in answer.detail


# -- what it cost


def test_cost_answer_of_sample_agrees_with_the_cost_of_the_session() -> None:
    sample = open_transcript(resource("sample.jsonl"))
    found, answer = session_cost(sample), cost_answer(sample)
    misses = [miss for miss in found.breaks if miss.cause != "compaction"]
    costliest = max(misses, key=lambda miss: miss.usd or Decimal(0))
    assert found.bill is not None
    assert costliest.usd is not None
    assert (answer.request, answer.thread) == (costliest.request, "main")
    assert answer.headline == (
        f"The most expensive cache miss was request {costliest.request}: {dollars(costliest.usd)} of "
        f"{dollars(found.bill.total)}."
    )
    assert (
        "40,513 tokens were re-sent: the pause was 7 min 32 s and the cache expires after 5 min."
        in answer.detail
    )
    assert (
        "2 cache misses outside compactions: 78,698 tokens, $0.45 of it avoidable." in answer.detail
    )


def test_cost_answer_without_usage_says_that_the_cost_is_unknown() -> None:
    assert cost_answer(session(grown(None, None))).text == NO_USAGE


def test_cost_answer_without_model_calls_says_so() -> None:
    assert cost_answer(session(Thread("main"))).text == NO_CALLS


def test_cost_answer_without_cache_miss_says_so() -> None:
    used = (Usage(10, 0, 30_000, 100), Usage(10, 30_000, 500, 100))
    answer = cost_answer(session(grown(*used)))
    assert answer.headline.startswith("The session cost $0.")
    assert answer.detail == "No cache miss was recorded."


def test_cost_answer_without_cache_says_that_none_was_used() -> None:
    answer = cost_answer(session(grown(Usage(3_000, output=10), Usage(4_000, output=10))))
    assert answer.detail == "No use of a prompt cache is recorded."


def test_cost_answer_when_only_another_thread_compacted_says_that_it_did() -> None:
    used = (Usage(10, 0, 30_000, 100), Usage(10, 30_000, 500, 100))
    main, other = (
        grown(*used),
        replace(grown(*used), id="agent", compactions=(Compaction(1, "auto"),)),
    )
    whole = session(main, other)
    assert lost_answer(whole, main).headline.startswith("No compaction in this thread")
    assert "The compaction of another thread " in cost_answer(whole, main).detail
    assert "The compaction did not pay" in cost_answer(whole, other).detail


def test_cost_answer_of_an_unpriced_model_names_it_and_gives_tokens() -> None:
    used = (Usage(10, 0, 30_000, 100), Usage(10, 0, 31_000, 100))
    answer = cost_answer(session(grown(*used, model="our-own-7b")))
    assert answer.headline == "The largest cache miss was request 1: 30,000 tokens were re-sent."
    plain = cost_answer(session(grown(Usage(3_000), Usage(4_000), model="our-own-7b")))
    assert plain.headline == "The price of our-own-7b is unknown."


def test_cost_answer_after_a_long_pause_names_pause_and_lifetime() -> None:
    used = (Usage(10, 0, 30_000, 100), Usage(10, 0, 31_000, 100))
    detail = cost_answer(session(grown(*used, minutes=(0, 72)))).detail
    assert "the pause was 1 h 12 min and the cache expires after 5 min." in detail


@pytest.mark.parametrize(
    "cause", ["prefix-changed", "model-changed", "tools-changed", "restart", "unknown", "expired"]
)
def test_cause_sentence_of_every_cause_is_a_clause(cause: str) -> None:
    miss = Rebilling("main", 3, 10, 10, None, None, cause, "")  # type: ignore[arg-type]
    words = cause_sentence(miss)
    assert words
    assert not words.endswith(".")


def test_cost_answer_when_the_dearest_miss_is_in_another_thread_names_that_thread() -> None:
    used = (Usage(10, 0, 30_000, 100), Usage(10, 0, 31_000, 100))
    main, other = grown(Usage(500, output=10)), replace(grown(*used), id="agent-7")
    answer = cost_answer(session(main, other))
    assert answer.headline.startswith("The most expensive cache miss was request 1 of agent-7: $")
    assert (answer.request, answer.thread) == (1, "agent-7")
    assert cost_answer(session(main, other), other).headline.startswith(
        "The most expensive cache miss was request 1: $"
    )


# -- words


def test_durations_are_spelled_with_two_units_at_most() -> None:
    spelled = {
        12: "12 s",
        119.6: "2 min",
        452: "7 min 32 s",
        3_600: "1 h",
        8_640: "2 h 24 min",
        260_000: "3 days",
    }
    assert {seconds: duration(seconds) for seconds in spelled} == spelled


def test_times_are_spelled_as_people_say_them() -> None:
    assert [times(number) for number in (1, 2, 5, 1_200)] == [
        "once",
        "twice",
        "5 times",
        "1,200 times",
    ]


def test_all_answers_come_in_the_order_of_the_questions() -> None:
    sample = open_transcript(resource("sample.jsonl"))
    answers = short_answers(sample, sample.main, window_at)
    assert [answer.question for answer in answers] == ["filled", "lost", "cost"]
    assert all(answer.text.endswith(".") and answer.strong in answer.headline for answer in answers)
