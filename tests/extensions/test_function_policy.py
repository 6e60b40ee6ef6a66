"""A function as a policy: unchanged messages keep their ids, and its summaries are asked for like any other."""

from typing import Any

import pytest

import inspector
from inspector.api import Shape
from inspector.core.needs import Answer, Need, ProviderFailure, Summarize
from inspector.core.outcome import fates

BODY = {
    "messages": [
        {"role": "user", "content": "read a.py and b.py"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "one", "name": "Read", "input": {"path": "a.py"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "one", "content": "x = 1\n" * 500}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "x is one", "signature": "s"},
                {"type": "text", "text": "It assigns x."},
            ],
        },
        {"role": "user", "content": "and now?"},
    ]
}
SHAPES: tuple[Shape, ...] = ("anthropic", "openai-chat", "openai-responses", "gemini")


def change_nothing(items: Any, ask: Any) -> Any:
    return items


def summarise_the_start(items: Any, ask: Any) -> Any:
    return [{"role": "user", "content": ask("what was read")}, *items[-2:]]


def shorten_results(items: Any, ask: Any) -> Any:
    return [
        item | {"content": item["content"][:20]} if item["role"] == "tool" else item
        for item in items
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_function_that_changes_nothing_leaves_the_same_messages(shape: Shape) -> None:
    buffer = inspector.read_request(BODY, "anthropic")
    result = inspector.policy_from(change_nothing, shape).compact(buffer)
    assert result.buffer.messages == buffer.messages
    forced = inspector.policy_from(change_nothing, shape).compact(buffer, "compact")
    assert forced.buffer.messages == buffer.messages


def test_function_that_asks_for_a_summary_gets_the_answer_of_the_caller() -> None:
    buffer = inspector.read_request(BODY, "anthropic")
    asked: list[Need] = []

    def answer(need: Need) -> Answer:
        asked.append(need)
        return Answer(text="a.py was read")

    result = inspector.policy_from(summarise_the_start, "openai-chat").compact(
        buffer, answer=answer
    )
    assert [need.text for need in asked if isinstance(need, Summarize)] == ["what was read"]
    first, *kept = result.buffer.messages
    assert (first.text, first.summary) == ("a.py was read", True)
    assert kept == list(buffer.messages[-2:])
    gone = [fate.name for fate in fates(buffer, result.outcomes[0]) if fate.after is None]
    assert gone == ["summarised"] * 3


def test_summary_that_fails_leaves_the_buffer_and_says_why() -> None:
    buffer = inspector.read_request(BODY, "anthropic")

    def refuse(need: Need) -> Answer:
        raise ProviderFailure("no key")

    result = inspector.policy_from(summarise_the_start, "openai-chat").compact(
        buffer, answer=refuse
    )
    assert not result.succeeded
    assert "no key" in result.outcomes[0].error
    assert result.buffer.messages == buffer.messages


def test_shortened_result_keeps_the_id_of_its_message() -> None:
    buffer = inspector.read_request(BODY, "anthropic")
    result = inspector.policy_from(shorten_results, "openai-chat").compact(buffer)
    assert [message.id for message in result.buffer.messages] == [
        message.id for message in buffer.messages
    ]
    named = {fate.id: fate.name for fate in fates(buffer, result.outcomes[0])}
    assert [id_ for id_, name in named.items() if name == "replaced"] == [buffer.messages[2].id]


def test_error_in_the_function_reaches_the_caller() -> None:
    def fail(items: Any, ask: Any) -> Any:
        raise ZeroDivisionError("in the function")

    with pytest.raises(ZeroDivisionError, match="in the function"):
        inspector.policy_from(fail).compact(inspector.read_request(BODY, "anthropic"))
