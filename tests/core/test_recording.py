"""Answers, failures and plain values: written as JSON and read back the same."""

from typing import Any

import pytest

from inspector.core.errors import InspectorError
from inspector.core.jsontext import dumps, loads
from inspector.core.message import Message, Opaque
from inspector.core.needs import Answer, ContextWindowExceeded, Failure, ProviderFailure, Timeout
from inspector.core.policies.verdict import PolicyInput
from inspector.core.recording import from_json, read_reply, to_json, write_reply
from inspector.core.usage import Usage


def through_json(value: Any) -> Any:
    return loads(dumps(value).encode())


ANSWERS = [
    Answer("a summary", by="person"),
    Answer(
        "文件",
        usage=Usage(10, 20, 30, 40, 5, False, 12),
        finish="end_turn",
        elapsed_ms=1234,
        by="anthropic",
    ),
    Answer(
        messages=(
            Message("x", "assistant", (Opaque("compaction", {"encrypted": "…"}, 9),), summary=True),
        )
    ),
    Answer(),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_comes_back_equal(answer: Answer) -> None:
    assert read_reply(through_json(write_reply(answer))) == answer


def late(failure: Failure) -> Failure:
    failure.elapsed_ms = 90_000
    return failure


FAILURES = [
    ContextWindowExceeded("prompt is too long"),
    late(Timeout("no answer in 90 s")),
    ProviderFailure("overloaded", 529, "http"),
    ProviderFailure("cut", None, "broken"),
    Failure("something else"),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_comes_back_as_it_was(failure: Failure) -> None:
    again = read_reply(through_json(write_reply(failure)))
    assert isinstance(again, Failure)
    assert (str(again), again.elapsed_ms) == (str(failure), failure.elapsed_ms)
    assert type(again) is type(failure) or type(failure) is Failure
    if isinstance(failure, ProviderFailure) and isinstance(again, ProviderFailure):
        assert (again.status, again.kind) == (failure.status, failure.kind)


@pytest.mark.parametrize("value", [None, [], {"error": "boredom"}, {"text": "x", "usage": 3}])
def test_what_is_no_answer_is_refused(value: Any) -> None:
    with pytest.raises(InspectorError):
        read_reply(value)


def test_values_leave_out_their_defaults_and_come_back_equal() -> None:
    moment = PolicyInput(3, "m", Usage(1, context=7), remote=True, idle_s=2, max_tokens=None)
    told = to_json(moment)
    assert told == {
        "step": 3,
        "model": "m",
        "usage": {"input": 1, "context": 7},
        "remote": True,
        "idle_s": 2,
    }
    assert from_json(PolicyInput, through_json(told)) == moment
    assert from_json(PolicyInput, {"step": 1, "of another version": 2}) == PolicyInput(1)


@pytest.mark.parametrize(
    "value", [{"step": "3"}, {"step": True}, {"remote": 1}, {"usage": []}, {"model": None}, 3]
)
def test_a_wrong_value_is_refused_with_a_sentence(value: Any) -> None:
    with pytest.raises(InspectorError):
        from_json(PolicyInput, value)
