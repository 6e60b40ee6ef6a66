"""The sentences of the command line, for 0, 1 and many."""

from typing import Any

import pytest

from inspector.cli.breakdown import duplicates_words
from inspector.cli.cost import cost_lines
from inspector.cli.pins import kept_words
from inspector.cli.step import step_call_words, step_size_words
from inspector.cli.sweep import compared_cost
from inspector.proxy.holds.compacting import Proposal, proposal_words
from tests.core.policies.build import assistant, buffer, user


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (0, "0 tokens are duplicates (free if only the newest copies are kept):"),
        (1, "1 token is a duplicate (free if only the newest copies are kept):"),
        (7_605, "7,605 tokens are duplicates (free if only the newest copies are kept):"),
    ],
)
def test_duplicates_words_when_there_are_0_1_or_many_agree_in_number(
    tokens: int, words: str
) -> None:
    assert duplicates_words(tokens) == words


@pytest.mark.parametrize(
    ("messages", "tokens", "words"),
    [
        (0, 0, "0 messages, 0 tokens estimated; roku's own count 12"),
        (1, 1, "1 message, 1 token estimated; roku's own count 12"),
        (206, 152_241, "206 messages, 152,241 tokens estimated; roku's own count 12"),
    ],
)
def test_size_words_when_there_are_0_1_or_many_agree_in_number(
    messages: int, tokens: int, words: str
) -> None:
    side = {"predicted": tokens, "kind": "estimated", "band": None, "calibrated": 12}
    assert step_size_words(messages, side, "roku") == words


def test_size_words_when_the_size_is_predicted_give_the_band() -> None:
    side = {
        "predicted": 41_200,
        "kind": "predicted",
        "band": (40_100, 42_300),
        "calibrated": 40_950,
    }
    assert (
        step_size_words(13, side, "pi")
        == "13 messages, 41,200 tokens predicted (40,100 to 42,300); pi's own count 40,950"
    )


def test_call_words_when_the_answer_has_no_limit_say_so() -> None:
    calls = {
        "count": 1,
        "input": 152_300,
        "cache_read": 151_900,
        "output": 2_600,
        "most_output": None,
        "cost_usd": None,
    }
    assert (
        step_call_words(calls)
        == "1: 152,300 tokens in, 151,900 of them cached; about 2,600 out (no limit)"
    )
    assert step_call_words(calls | {"most_output": 20_000}).endswith("(at most 20,000)")


@pytest.mark.parametrize(
    ("cost", "recorded", "words"), [(None, 2, "-"), (2.0, None, "$2.00"), (2.2, 2, "$2.20 (+10%)")]
)
def test_compared_cost_when_the_recorded_cost_is_known_gives_the_difference(
    cost: float | None, recorded: Any, words: str
) -> None:
    assert compared_cost(cost, recorded) == words


@pytest.mark.parametrize(
    ("requests", "words"), [(0, "0 requests. "), (1, "1 request. "), (1_200, "1,200 requests. ")]
)
def test_kept_words_when_there_are_0_1_or_many_requests_agree_in_number(
    requests: int, words: str
) -> None:
    assert kept_words({"recorded": ()}, requests).startswith(words)


def document_of_cost(**fields: Any) -> dict[str, Any]:
    """A `cost` document without anything, and with these fields."""
    bill = dict.fromkeys(("input", "cache_read", "cache_write_5m", "cache_write_1h", "output"), 0)
    nothing = dict.fromkeys(
        ("total", "known_usd", "calls_beside_usd", "estimated_usd", "breaks_usd")
    )
    lists: dict[str, Any] = {
        "what_if": [],
        "breaks": [],
        "compactions": [],
        "thrash": [],
        "by_thread": [],
        "by_model": [],
    }
    return {**bill, **nothing, **lists, "output_is_final": True, **fields}


def cost_miss(request: int) -> dict[str, Any]:
    return {
        "thread": "main",
        "request": request,
        "tokens": 1,
        "usd": 0.5,
        "cause": "expired",
        "evidence": "A pause.",
    }


def test_cost_lines_when_nothing_is_known_say_why() -> None:
    assert list(cost_lines(document_of_cost())) == [
        "total  unknown: the file records no token usage"
    ]


def test_cost_lines_when_the_output_may_be_larger_say_at_least() -> None:
    (line,) = cost_lines(
        document_of_cost(total=1.2, known_usd=1.2, input=0.8, output=0.4, output_is_final=False)
    )
    assert line == "total  at least $1.20 = $0.80 input, at least $0.40 output"


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 cache miss re-sent 1 token, $0.50:"), (2, "2 cache misses re-sent 2 tokens, $1.00:")],
)
def test_cost_lines_when_there_are_1_or_many_misses_agree_in_number(count: int, words: str) -> None:
    misses = [cost_miss(n) for n in range(count)]
    assert words in cost_lines(document_of_cost(breaks=misses, breaks_usd=0.5 * count))


def test_proposal_words_when_nothing_is_due_say_what_stays() -> None:
    before = buffer(user("x"))
    assert proposal_words(Proposal(before, 1, why="nothing is due"), None) == (
        "nothing is due; the request stays at 1 message, 1 token"
    )


def test_proposal_words_when_messages_are_removed_give_both_sizes() -> None:
    before, after = buffer(user("x"), assistant("y")), buffer(user("x"))
    proposal = Proposal(before, 90, after, 30, ("1 answer dropped",))
    assert proposal_words(proposal, 100) == (
        "2 messages, 90 tokens (90% of the window) -> 1 message, 30 tokens (30% of the window): 1 answer dropped"
    )
