"""Pi's size of the context, its estimate and its trigger."""

from collections.abc import Sequence
from typing import Literal

import pytest

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.errors import InspectorError
from inspector.core.message import Image, Message, Text, ToolResult
from inspector.core.needs import drive
from inspector.core.policies.catalogue import POLICIES
from inspector.core.policies.context import PolicyContext
from inspector.core.policies.pi import POLICY
from inspector.core.policies.pi.compaction import judge_trigger
from inspector.core.policies.pi.context_size import (
    calculate_tokens,
    dynamic_reserve,
    estimate_message,
    estimate_messages,
    is_compaction_cheaper,
    is_over_limit,
    measure_context,
    tokens_before,
)
from inspector.core.policies.pi.settings import PiSettings, PiState, optimal_config
from inspector.core.policies.verdict import CallReport, PolicyInput
from inspector.core.usage import Usage
from tests.core.policies.build import Script, assistant, buffer, plain, result, user

SEED, UPSTREAM = PiSettings(), PiSettings(profile="upstream")


def said(message: Message, prompt: int, output: int = 0, finish: str = "stop") -> CallReport:
    return CallReport(message.id, Usage(input=prompt, output=output), finish)


def filled(messages: Sequence[Message], *reports: CallReport, settings: PiSettings = SEED) -> int:
    context = PolicyContext(buffer(*messages), settings, PiState(), PolicyInput(reports=reports))
    return measure_context(context).tokens


# --- usage


def test_context_tokens_when_usage_is_reported_are_those_of_the_last_answer() -> None:
    messages = [user("Hello"), assistant("Hi there!"), user("How are you?"), assistant("I am fine")]
    reports = said(messages[1], 1000, 50), said(messages[3], 1100, 30)
    assert filled(messages, *reports) == 1100


def test_context_tokens_when_results_follow_count_them_only_upstream() -> None:
    messages = [user("go"), assistant("", ("c", "read", {})), result("c", "x" * 40_000)]
    assert filled(messages, said(messages[1], 1000, 50)) == 1000
    assert filled(messages, said(messages[1], 1000, 50), settings=UPSTREAM) == 1050 + 10_000


ZERO_COUNTS = [("seed", 0 + 100), ("upstream", 0 + 100), ("newest", 1_050 + 10 + 100)]


@pytest.mark.parametrize(("profile", "tokens"), ZERO_COUNTS)
def test_tokens_before_when_the_last_usage_is_all_zero_is_by_the_usage_before_it_for_the_newest(
    profile: Literal["seed", "upstream", "newest"], tokens: int
) -> None:
    messages = [user("go"), assistant("a" * 40), assistant("b" * 40), user("x" * 400)]
    reports = said(messages[1], 1_000, 50), said(messages[2], 0)
    context = PolicyContext(
        buffer(*messages), PiSettings(profile=profile), PiState(), PolicyInput(reports=reports)
    )
    assert tokens_before(context) == tokens


def test_tokens_before_when_the_last_compaction_kept_the_last_usage_is_by_that_usage() -> None:
    """Upstream looks at all that the model would read; its trigger passes over what is older than the compaction."""
    start = plain(6)
    moment = PolicyInput(reports=(said(start.messages[-1], 190_000),))
    settings = POLICY.settings([("keep_recent_tokens", "200")])
    (done,) = drive(POLICY.run_due(PolicyContext(start, settings, PiState(), moment)), Script("S"))
    again = Buffer((*done.buffer.messages, user("x" * 400)))
    context = PolicyContext(again, settings, done.running, moment)
    assert not judge_trigger(context).over
    assert tokens_before(context) == 190_000 + 100


def test_context_tokens_when_nothing_is_reported_are_estimated() -> None:
    assert filled([user("Hello")]) == 12


def test_context_tokens_when_there_are_no_messages_count_prompt_and_tools() -> None:
    assert filled([]) == 0
    prompt = Prompt("x" * 8, (Tool("read", {"a": 1}),))
    context = PolicyContext(Buffer((), prompt), SEED, PiState(), PolicyInput(reports=()))
    assert measure_context(context).tokens == 2 + 3  # ceil(len('[{"a":1}]') / 4)


def test_context_tokens_when_estimated_add_an_overhead_a_message() -> None:
    messages = [user("x" * 400), assistant("y" * 401)]
    assert filled(messages) == 110 + 111


def test_context_tokens_when_the_last_answer_was_aborted_skip_it_only_upstream() -> None:
    messages = [user("a"), assistant("b"), user("c"), assistant("d")]
    reports = said(messages[1], 1000), said(messages[3], 5, finish="aborted")
    assert filled(messages, *reports) == 5
    assert filled(messages, *reports, settings=UPSTREAM) == 1002
    assert filled(messages, reports[1], settings=UPSTREAM) == 4


def test_cached_tokens_are_part_of_the_prompt() -> None:
    messages = [user("a"), assistant("b")]
    report = CallReport(messages[1].id, Usage(input=5, cache_read=900, cache_write=95, output=50))
    assert filled(messages, report) == 1000
    assert filled(messages, report, settings=UPSTREAM) == 1050


def test_content_is_the_text_of_the_parts() -> None:
    """A call's arguments are not content; a result's text is; images are not."""
    answer = assistant("x" * 4, ("c", "read", {"path": "p" * 400}))
    image = Message("i", "tool", (ToolResult("c", "x" * 8), Image("image/png", "data")))
    assert filled([answer, image]) == 11 + 12


def test_a_tokenizer_counts_without_overhead() -> None:
    assert filled([user("hello world")], settings=PiSettings(estimator="tiktoken")) == 2


def test_the_moment_without_reports_speaks_of_the_newest_answer() -> None:
    messages = (user("a"), assistant("b"), user("c"))
    moment = PolicyInput(usage=Usage(input=150, output=10), finish="stop")
    found = judge_trigger(
        PolicyContext(Buffer(messages), PiSettings(context_window=1000), PiState(), moment)
    )
    assert (found.fill.tokens, found.fill.since) == (150, 1)


# --- the trigger


@pytest.mark.parametrize(
    ("name", "tokens", "reserve", "enabled", "expected"),
    [
        ("at the threshold", 183_616, 16_384, True, False),
        ("one above", 183_617, 16_384, True, True),
        ("above the limit of another reserve", 180_001, 20_000, True, True),
        ("on the limit of another reserve", 180_000, 20_000, True, False),
        ("disabled", 200_000, 16_384, False, False),
    ],
)
def test_the_formula(name: str, tokens: int, reserve: int, enabled: bool, expected: bool) -> None:
    assert is_over_limit(tokens, 200_000, reserve, enabled) is expected


@pytest.mark.parametrize(("mode", "expected"), [("faithful", True), ("safe", False)])
def test_trigger_when_the_window_is_zero_fires_but_not_in_safe_mode(
    mode: str, expected: bool
) -> None:
    settings = POLICY.settings([("contextWindow", "0"), ("mode", mode)])
    messages = (user("a"), assistant("b"))
    moment = PolicyInput(reports=(said(messages[1], 10),))
    assert (
        judge_trigger(PolicyContext(Buffer(messages), settings, PiState(), moment)).due is expected
    )
    assert POLICY.watermarks(settings) == ()


def test_reserve_when_set_to_zero_is_the_default() -> None:
    values = [("reserveTokens", "0"), ("keepRecentTokens", "0")]
    settings = POLICY.settings(values)
    assert (settings.reserve_tokens, settings.keep_recent_tokens) == (16_384, 20_000)
    assert POLICY.settings([*values[1:], ("mode", "safe")]).keep_recent_tokens == 0
    with pytest.raises(InspectorError, match="reserve_tokens"):
        POLICY.settings([*values, ("mode", "safe")])


@pytest.mark.parametrize(
    ("window", "expected"),
    [(200_000, (16_000, 20_000)), (1_000_000, (80_000, 100_000)), (128_000, (10_240, 12_800))],
)
def test_optimal_config_is_8_and_10_percent_of_the_window(
    window: int, expected: tuple[int, int]
) -> None:
    assert optimal_config(window) == expected
    settings = POLICY.settings([("optimal_config", "yes")], window)
    assert (settings.reserve_tokens, settings.keep_recent_tokens) == expected


@pytest.mark.parametrize(
    ("name", "tokens", "expected"),
    [
        ("mean exactly 2000", [2000] * 10, 16_384),
        ("mean 2000.1", [2000] * 9 + [2001], 32_768),
        ("mean 1000", [1000] * 10, 8_192),
        ("mean 1000.1", [1000] * 9 + [1001], 16_384),
        ("empty", [], 8_192),
        ("only the last ten", [100_000, *[1000] * 10], 8_192),
    ],
)
def test_dynamic_reserve_follows_the_mean_of_the_last_messages(
    name: str, tokens: list[int], expected: int
) -> None:
    assert dynamic_reserve(["x" * (4 * one) for one in tokens]) == expected


@pytest.mark.parametrize(
    ("tokens", "compaction", "going_on", "expected"),
    [(100, 4, 5, False), (101, 5, 5, False), (101, 4, 5, True)],
)
def test_cost_aware_trigger_when_costs_are_equal_does_not_fire(
    tokens: int, compaction: float, going_on: float, expected: bool
) -> None:
    assert is_compaction_cheaper(tokens, 100, compaction, going_on) is expected


@pytest.mark.parametrize(("calls", "due"), [(0, False), (1, False), (2, True)])
def test_cost_aware_asks_how_long_it_goes_on(calls: int, due: bool) -> None:
    """185,000 tokens: compacting costs 195,000 input tokens, each further call 163,000 too many."""
    settings = POLICY.settings([("cost_aware", "yes"), ("expected_calls", str(calls))])
    messages = (user("a"), assistant("b"))
    moment = PolicyInput(reports=(said(messages[1], 185_000),))
    found = judge_trigger(PolicyContext(Buffer(messages), settings, PiState(), moment))
    assert (found.over, found.due) == (True, due)


def test_compaction_event_when_it_starts_holds_the_numbers_of_the_trigger() -> None:
    start = plain(4)
    moment = PolicyInput(reports=(said(start.messages[3], 185_000),))
    settings = POLICY.settings([("keepRecentTokens", "150")])
    (outcome,) = drive(
        POLICY.run_due(PolicyContext(start, settings, PiState(), moment)), Script("S")
    )
    fields = next(
        event.fields for event in outcome.events if event.name == "session_before_compact"
    )
    assert (fields["contextTokens"], fields["contextWindow"], fields["reserveTokens"]) == (
        185_000,
        200_000,
        16_384,
    )
    (found,) = POLICY.due(PolicyContext(start, settings, PiState(), moment))
    assert found.due
    assert found.why.startswith("185,000 > 183,616 (200,000 − 16,384): 1,384 over")


def test_dynamic_reserve_moves_the_limit() -> None:
    long = buffer(*(user("x" * 12_000) for _ in range(10)))
    assert (
        judge_trigger(PolicyContext(long, PiSettings(dynamic_reserve=True), PiState())).limit
        == 200_000 - 32_768
    )
    assert (
        judge_trigger(PolicyContext(plain(10), PiSettings(dynamic_reserve=True), PiState())).limit
        == 200_000 - 8_192
    )


def test_safe_mode_clamps_a_reserve_that_does_not_fit() -> None:
    values = [("reserveTokens", "5000")]
    faithful, safe = (
        POLICY.settings(values, 4_000),
        POLICY.settings([*values, ("mode", "safe")], 4_000),
    )
    assert judge_trigger(PolicyContext(plain(1), faithful, PiState())).due
    found = judge_trigger(PolicyContext(plain(1), safe, PiState()))
    assert (found.due, found.limit) == (False, 3_000)
    assert "quarter of the window" in POLICY.due(PolicyContext(plain(1), safe, PiState()))[0].why
    assert [line.tokens for line in POLICY.watermarks(safe)] == [3_000]


def test_the_watermark_is_window_minus_reserve() -> None:
    (line,) = POLICY.watermarks(POLICY.settings((), 200_000))
    assert (line.tokens, line.setting, line.label) == (183_616, "reserve_tokens", "91.8% compact")


def test_the_policy_is_in_the_catalogue() -> None:
    assert POLICIES["pi"] is POLICY


# --- upstream estimate


@pytest.mark.parametrize(
    ("name", "message", "expected"),
    [
        ("ascii", user("abcde"), 2),
        ("cjk", user("中文中文中"), 2),
        (
            "an image of the user",
            Message("m", "user", (Text("abcd"), Image("image/png", "data"))),
            1,
        ),
        (
            "an image in a result",
            Message("m", "tool", (ToolResult("c", ""), Image("image/png", "data"))),
            1200,
        ),
        ("a call", assistant("abcd", ("c", "read", {"path": "a"})), 5),
        ("astral", user("😀😀😀"), 2),
    ],
)
def test_estimate_of_a_message_counts_utf16_units(
    name: str, message: Message, expected: int
) -> None:
    assert estimate_message(message) == expected


def test_estimate_of_messages_is_the_sum() -> None:
    assert estimate_messages([user("x" * 400)]) == 100
    assert filled([user("x" * 400)], settings=UPSTREAM) == 100
    assert filled([], settings=UPSTREAM) == 0


def test_context_tokens_when_the_tail_was_not_reported_add_its_estimate() -> None:
    messages = [assistant("a"), user("x" * 40), assistant("")]
    reports = said(messages[0], 1000), said(messages[2], 7, finish="aborted")
    assert filled(messages, *reports, settings=UPSTREAM) == 1010


def test_calculated_tokens_when_a_total_is_given_are_that_total() -> None:
    usage = Usage(input=1000, output=500, cache_read=200, cache_write=100)
    assert calculate_tokens(usage) == calculate_tokens(usage, 0) == 1800
    assert calculate_tokens(Usage(1, 1, 1, 1), 5) == 5
