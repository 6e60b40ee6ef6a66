"""What a call for a summary uses and costs: one rule, whoever asks."""

from decimal import Decimal

import pytest

from inspector.core.answering import AnsweredNeed, offline
from inspector.core.buffer import Prompt, Stretch, Tool
from inspector.core.message import Message, Text
from inspector.core.needs import Answer, Need, ProviderFailure, ReadFile, RemoteCompact, Summarize
from inspector.core.replay.summary_calls import (
    TYPICAL,
    ExpectedOutput,
    SentBuffer,
    calls_cost,
    expected_output,
    recorded_summary_call,
    sum_calls,
    summary_calls,
)
from inspector.core.session import Compaction, Request, SideCall, Thread
from inspector.core.tokens.pressure import thread_pressures
from inspector.core.tokens.prices import call_cost
from inspector.core.tokens.sizing import Sizer, sizer
from inspector.core.usage import Usage

MODEL = "claude-opus-4-5-20251101"
PROMPT = Prompt(
    "You are careful.", (Tool("read", {"name": "read", "description": "Reads a file. " * 40}),)
)
EXPECTED = ExpectedOutput(700, "in a test")


def said(id_: str, text: str) -> Message:
    return Message(id_, "user", (Text(text),))


MESSAGES = tuple(said(f"m{n}", f"message {n} " * 200) for n in range(6))


def measured() -> Sizer:
    """Of a thread whose first request was reported with 9,000 tokens: some of them are in no file."""
    view = Stretch(own=MESSAGES).view()
    thread = Thread(
        "main",
        model=MODEL,
        requests=[Request(0, view, PROMPT, Usage(9_000))],
        end=view,
        prompt=PROMPT,
    )
    return sizer(thread_pressures(thread), 0)


SIZE = measured()
SENT = SentBuffer(PROMPT, MESSAGES[:4], 6_000)


def answered(need: Need) -> AnsweredNeed:
    return AnsweredNeed(need, offline(need))


def whole(
    text: str = "Summarise.", messages: tuple[Message, ...] = MESSAGES, limit: int | None = 20_000
) -> Summarize:
    """As Claude Code asks: with its own prompt, on the buffer as it is."""
    return Summarize(PROMPT.system or "", text, messages, limit, source=messages)


def test_call_with_the_prompt_and_messages_that_were_sent_reads_them_from_the_cache() -> None:
    (call,) = summary_calls([answered(whole())], PROMPT, SIZE, EXPECTED, SENT)
    assert call.usage.cache_read == 6_000
    assert call.usage.prompt == 9_000 + SIZE.text("Summarise."), (
        "tools and what the file does not hold go along"
    )
    assert (call.usage.output, call.most_output) == (700, 20_000)


def test_call_whose_messages_part_from_those_that_were_sent_reads_up_to_there() -> None:
    parting = (*MESSAGES[:2], said("x", "other"), *MESSAGES[3:])
    (call,) = summary_calls([answered(whole(messages=parting))], PROMPT, SIZE, EXPECTED, SENT)
    assert call.usage.cache_read == 6_000 - SIZE.rows(MESSAGES[2:4])


@pytest.mark.parametrize(
    "need",
    [
        Summarize("Another prompt.", "Summarise.", MESSAGES),
        Summarize("Another prompt.", "all as text " * 300, source=MESSAGES),
        RemoteCompact("Another prompt.", MESSAGES),
    ],
    ids=["messages", "text", "remote"],
)
def test_call_with_another_prompt_reads_nothing_from_the_cache(
    need: Summarize | RemoteCompact,
) -> None:
    (call,) = summary_calls([answered(need)], PROMPT, SIZE, EXPECTED, SENT)
    text = need.text if isinstance(need, Summarize) else ""
    assert call.usage.cache_read == 0
    assert call.usage.input == SIZE.text("Another prompt.") + SIZE.rows(need.messages) + (
        SIZE.text(text) if text else 0
    )
    assert (call.usage.output, call.most_output) == (700, None)


def test_call_without_a_living_cache_reads_nothing() -> None:
    (call,) = summary_calls([answered(whole())], PROMPT, SIZE, EXPECTED)
    assert (call.usage.cache_read, call.usage.input) == (0, 9_000 + SIZE.text("Summarise."))


def test_second_call_on_what_the_first_sent_reads_that_from_the_cache() -> None:
    first, more = Summarize("Check.", "one", MESSAGES), (*MESSAGES, said("draft", "a draft"))
    second = Summarize("Check.", "two", more)
    one, two = summary_calls([answered(first), answered(second)], PROMPT, SIZE, EXPECTED, SENT)
    assert one.usage.cache_read == 0
    assert two.usage.cache_read == one.usage.prompt


def test_output_is_what_a_model_wrote_else_what_is_expected_within_the_limit() -> None:
    need = whole(limit=500)
    wrote = AnsweredNeed(need, Answer("what a person wrote " * 20, by="person"))
    reported = AnsweredNeed(need, Answer("...", usage=Usage(10, 20, 0, 321), by="anthropic"))
    failed = AnsweredNeed(need, ProviderFailure("no"))
    file = AnsweredNeed(ReadFile("a.py"), Answer("x"))
    short, person, model = summary_calls(
        [answered(need), failed, file, wrote, reported], PROMPT, SIZE, EXPECTED
    )
    assert (short.usage.output, short.most_output) == (500, 500)
    assert person.usage.output == person.most_output == SIZE.text("what a person wrote " * 20)
    assert (model.usage, model.most_output) == (Usage(10, 20, 0, 321), 321)


def test_costs_are_the_catalogues_with_the_upper_bound_by_the_limit() -> None:
    (call,) = summary_calls([answered(whole())], PROMPT, SIZE, EXPECTED, SENT)
    fresh = call.usage.prompt - 6_000
    assert call.cost(MODEL) == call_cost(MODEL, Usage(fresh, 6_000, 0, 700))
    assert call.most_cost(MODEL) == call_cost(MODEL, Usage(fresh, 6_000, 0, 20_000))
    assert calls_cost([call, call], MODEL) == 2 * (call.cost(MODEL) or 0)
    assert calls_cost([call], "a-model-without-a-price") is None
    (unlimited,) = summary_calls([answered(whole(limit=None))], PROMPT, SIZE, EXPECTED)
    assert unlimited.most_cost(MODEL) is None
    both = sum_calls([call, unlimited])
    assert (both.count, both.most_output, both.usage.output) == (2, None, 1_400)
    assert (sum_calls([]).count, sum_calls([]).cost(MODEL)) == (0, Decimal(0))


def thread(*summaries: str) -> Thread:
    made = [
        Compaction(n, "auto", summary=Message(f"s{n}", "user", (Text(text),)))
        for n, text in enumerate(summaries)
    ]
    return Thread("main", compactions=made)


def test_expected_output_is_the_median_of_what_the_session_records() -> None:
    texts = [f"word {n} " * (100 * n) for n in (1, 2, 9)]
    found = expected_output(thread(*texts), (), SIZE)
    assert found.tokens == SIZE.row(Message("", "user", (Text(texts[1]),)))
    assert found.source == "the median of 3 recorded summaries of this session"
    calls = [
        SideCall("compaction", "main", usage=Usage(output=4_000)),
        SideCall("title", "main", usage=Usage(output=9)),
    ]
    assert expected_output(thread(*texts), calls, SIZE) == ExpectedOutput(
        4_000, "the median of 1 recorded summary of this session"
    )
    assert expected_output(thread("", " "), (), SIZE) == TYPICAL, (
        "what cannot be read tells nothing"
    )


def test_recorded_summary_call_reads_the_request_before_as_far_as_it_is_cached() -> None:
    assert recorded_summary_call(20_050, 20_000, 300).usage == Usage(50, 20_000, 0, 300)
    assert recorded_summary_call(20_050, 0, 300).usage == Usage(20_050, 0, 0, 300)
    assert recorded_summary_call(900, 20_000, 300).usage == Usage(0, 900, 0, 300)
