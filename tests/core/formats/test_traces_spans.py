"""Traces, span by span: which are calls and whose, what they tell, where a conversation goes on, what they cost."""

import json
from typing import Any

import pytest

from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.message import ToolCall, ToolResult
from inspector.core.usage import Usage
from tests.core.formats.feeding import numbered, told
from tests.core.formats.heads import read
from tests.core.formats.spans import TOKENS, TURN, by_name, span, texts, words


def test_a_span_that_is_written_twice_counts_once_and_the_finished_one_counts() -> None:
    begun = span(1, TURN[:1], end=None)
    for rows in (
        [begun, span(1, TURN[:1], **{TOKENS: 50})],
        [span(1, TURN[:1], **{TOKENS: 50}), begun],
    ):
        (request,) = read(*rows).main.requests
        assert request.usage == Usage(50)


def test_spans_without_ids_are_each_their_own() -> None:
    values = [span(n, [words("user", f"question {n}")]) for n in range(3)]
    for value in values[1:]:
        value["context"]["span_id"] = ""
    otlp = [
        {"traceId": "", "spanId": "", **{key: value[key] for key in ("name", "attributes")}}
        for value in values
    ]
    for rows in (values, otlp):
        assert sum(len(thread.requests) for thread in read(*rows).threads) == 3


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("gen_ai.response.time_to_first_chunk", 0.25),
        ("gen_ai.server.time_to_first_token", 0.25),
        ("ai.response.msToFirstChunk", 250),
        ("langfuse.observation.completion_start_time", '"2026-01-01T00:00:01.250Z"'),
    ],
)
def test_when_the_answer_began(key: str, told: Any) -> None:
    for end, first in (("01.900", 250.0), ("01.100", None)):  # it cannot begin after it ended
        (request,) = read(
            span(1, [words("user", "hello")], end=f"2026-01-01T00:00:{end}Z", **{key: told})
        ).main.requests
        assert request.first_byte_ms == first


def test_what_wraps_a_call_is_no_call_and_tells_what_the_call_leaves_out() -> None:
    outer = span(
        1,
        [],
        **{
            "gen_ai.operation.name": "chat",
            TOKENS: 14,
            "gen_ai.tool.definitions": '[{"name": "t"}]',
        },
    )
    session = read(outer, span(2, TURN[:1], parent="0x1", **{TOKENS: 62}))
    (request,) = session.main.requests
    assert (request.usage, [tool.name for tool in request.prompt.tools or ()]) == (Usage(62), ["t"])
    assert any("a call inside them: 1" in note for note in session.notes)
    bare = span(2, TURN[:1], parent="0x1")
    assert read(outer, bare).main.requests[0].usage == Usage(14), "the innermost that has any"


def test_the_configuration_of_a_request_holds_its_tools() -> None:
    """Latitude's."""
    given = {
        "gen_ai.request.configuration": json.dumps(
            {"tools": [{"type": "function", "function": {"name": "look"}}]}
        )
    }
    counts = {TOKENS: 90, "gen_ai.usage.cached_tokens": 64, "gen_ai.usage.reasoning_tokens": 3}
    (request,) = read(span(1, TURN[:1], **given, **counts)).main.requests
    assert request.usage == Usage(26, 64, reasoning=3)
    assert [tool.name for tool in request.prompt.tools or ()] == ["look"]


def test_the_sum_on_an_agent_is_no_call() -> None:
    agent = span(
        1, [], **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", TOKENS: 346}
    )
    session = read(
        agent,
        span(2, TURN[:1], parent="0x1", **{TOKENS: 145}),
        span(3, TURN, parent="0x1", **{TOKENS: 201}),
    )
    assert [request.usage for request in session.main.requests] == [Usage(145), Usage(201)]
    assert (session.main.title, texts(session, 1)) == ("a", ["one", "two", "three"])


def test_a_call_belongs_to_the_conversation_of_its_agent() -> None:
    """Asked again in the next trace, an agent goes on; in another conversation it begins anew."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    for others, counts in (("c", [2]), ("d", [1, 1])):
        rows = [
            span(1, [], **agent, **{"gen_ai.conversation.id": "c"}),
            span(2, TURN[:1], parent="0x1"),
        ]
        rows += [
            span(3, [], **agent, **{"gen_ai.conversation.id": others}),
            span(4, TURN, parent="0x3"),
        ]
        session = read(*rows)
        assert (session.id, [len(thread.requests) for thread in session.threads]) == ("c", counts)


def test_calls_beside_their_agent_are_its_own() -> None:
    """The agent's span and its calls have the same parent."""
    rows = []
    for number, name in ((10, "a"), (20, "b")):
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        rows += [span(number, []), span(number + 1, [], parent=f"0x{number}", **agent)]
        rows.append(span(number + 2, [words("user", name)], parent=f"0x{number}", **{TOKENS: 20}))
    assert [(thread.title, len(thread.requests)) for thread in read(*rows).threads] == [
        ("a", 1),
        ("b", 1),
    ]


def test_parallel_agents_are_told_apart_and_one_that_is_asked_again_goes_on() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c"}
    more = {"gen_ai.conversation.id": "c"}
    rows = [
        span(1, [], **agent, **{"gen_ai.agent.name": "a"}),
        span(2, [], **agent, **{"gen_ai.agent.name": "b"}),
    ]
    rows += [
        span(3, TURN[:1], parent="0x1", **more),
        span(4, [words("user", "other")], parent="0x2", **more),
    ]
    rows += [
        span(5, [], **agent, **{"gen_ai.agent.name": "a"}),
        span(6, TURN, parent="0x5", **more),
    ]
    session = read(*rows)
    assert [(thread.title, len(thread.requests)) for thread in session.threads] == [
        ("a", 2),
        ("b", 1),
    ]
    assert session.id == "c"


def test_parallel_agents_of_one_name_with_the_same_words_are_told_apart() -> None:
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": "c",
        "gen_ai.agent.name": "a",
    }
    rows = [span(number, [], **agent) for number in (1, 2)]
    said = {"gen_ai.output.messages": json.dumps(TURN[1:2])}
    rows += [span(number, TURN[:1], parent=f"0x{number - 2}", **said) for number in (3, 4)]
    rows += [span(number, TURN, parent=f"0x{number - 4}") for number in (5, 6)]
    assert [[len(one.view) for one in thread.requests] for thread in read(*rows).threads] == [
        [1, 3],
        [1, 3],
    ]


def test_what_was_logged_as_new_only_goes_on_from_the_call_before() -> None:
    """By the figures: tokens grew by all that went before, though the second call logs one message."""
    answer = json.dumps([words("assistant", "x " * 200)])
    first = span(1, [words("user", "a " * 300)], **{TOKENS: 700, "gen_ai.usage.output_tokens": 200})
    first["attributes"]["gen_ai.output.messages"] = answer
    delta = span(2, [words("user", "go on")], **{TOKENS: 910})
    session = read(first, delta)
    assert [len(request.view) for request in session.main.requests] == [1, 3]
    assert any("1 of 2 calls" in note for note in session.notes)
    fresh = read(first, span(2, [words("user", "b " * 320)], **{TOKENS: 740}))
    assert [len(request.view) for thread in fresh.threads for request in thread.requests] == [1, 1]
    assert not fresh.notes


def test_a_prompt_smaller_than_its_text_is_no_measurement() -> None:
    rows = [span(n, [words("user", "word " * 400 * n)], **{TOKENS: 5}) for n in (1, 2)]
    session = read(*rows)
    assert [request.usage for thread in session.threads for request in thread.requests] == [
        None,
        None,
    ]
    assert any("2 of 2" in note for note in session.notes)


def test_without_content_there_are_tokens_and_a_note() -> None:
    session = read(span(1, [], **{"gen_ai.operation.name": "chat", TOKENS: 100}))
    assert (session.main.requests[0].usage, len(session.main.end)) == (Usage(100), 0)
    assert any("without messages: 1 of 1" in note for note in session.notes)


def test_spans_without_any_call_are_an_empty_thread_and_a_note() -> None:
    session = read(span(1, [], agent="a"))
    assert [(thread.id, len(thread.requests)) for thread in session.threads] == [("main", 0)]
    assert any("None of the 1 spans" in note for note in session.notes)


def test_tools_alone_are_shown_without_requests() -> None:
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.call.result": "done",
    }
    session = read(span(1, [], **tool, **{"gen_ai.tool.call.arguments": '{"a":1}'}))
    assert [one.parts[0] for one in session.main.end] == [
        ToolCall("tool-0", "t", {"a": 1}),
        ToolResult("tool-0", "done"),
    ]
    assert not session.main.requests
    assert any("no requests" in note for note in session.notes)


def test_former_words_are_read() -> None:
    """Numbered attributes, events a message, one event a side, an attribute of events."""
    said = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "one",
        "llm.request.type": "chat",
    }
    plain = span(
        1, [], **said, **{"gen_ai.usage.prompt_tokens": 9, "gen_ai.completion.0.content": "two"}
    )
    session = read(plain)
    assert (texts(session, 0), [one.text for one in session.main.end]) == (["one"], ["one", "two"])
    blocks = json.dumps([{"type": "text", "text": "one"}])
    assert texts(read(span(1, [], **{**said, "gen_ai.prompt.0.content": blocks})), 0) == ["one"]
    chat = {"gen_ai.operation.name": "chat"}
    choice = {"name": "gen_ai.choice", "attributes": {"message": '{"content": "two"}'}}
    each = [{"name": "gen_ai.user.message", "attributes": {"content": "one"}}, choice]
    asked = {
        "name": "gen_ai.content.prompt",
        "attributes": {"gen_ai.prompt": '[{"role": "user", "content": "one"}]'},
    }
    row = [
        {"event.name": "gen_ai.user.message", "content": "one"},
        {"event.name": "gen_ai.choice", "content": "two"},
    ]
    for told_by in (
        {**span(1, [], **chat), "events": each},
        span(1, [], **chat, events=json.dumps(row)),
    ):
        assert [one.text for one in read(told_by).main.end] == ["one", "two"]
    assert texts(read({**span(1, [], **chat), "events": [asked]}), 0) == ["one"]


def test_why_an_answer_ended_is_told_beside_it() -> None:
    """In the event of a choice; in what LangChain says of a generation, or of the message in it."""
    choice = {
        "name": "gen_ai.choice",
        "attributes": {"finish_reason": "length", "message": '{"content": "two"}'},
    }
    asked = {"name": "gen_ai.user.message", "attributes": {"content": "one"}}
    by_event = {**span(1, [], **{"gen_ai.operation.name": "chat"}), "events": [asked, choice]}
    assert [request.finish for request in read(by_event).main.requests] == ["length"]
    run = {
        "id": "a",
        "run_type": "llm",
        "trace_id": "a",
        "inputs": {"messages": [{"role": "user", "content": "one"}]},
    }
    told = {"role": "assistant", "content": "two"}
    for generation, why in (
        ({"message": told, "generation_info": {"finish_reason": "stop"}}, "stop"),
        ({"message": {**told, "response_metadata": {"stop_reason": "end_turn"}}}, "end_turn"),
        (
            {
                "message": {
                    "id": ["AIMessage"],
                    "kwargs": {**told, "response_metadata": {"finish_reason": "STOP"}},
                }
            },
            "STOP",
        ),
        ({"message": told}, ""),
    ):
        (request,) = read(run | {"outputs": {"generations": [[generation]]}}).main.requests
        assert request.finish == why


def test_a_tracer_counts_the_cache_in_one_way() -> None:
    """One call that read more from the cache than it reported as its prompt tells of the others of its model."""

    def told_by(*calls: tuple[str, int, int]) -> list[int]:
        spans = [
            {
                "name": "chat", "context": {"trace_id": f"t{n}", "span_id": f"s{n}"}, "start_time": 10**18 + n,
                "attributes": {
                    "gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.usage.input_tokens": prompt,
                    "gen_ai.usage.cache_read.input_tokens": read, "gen_ai.usage.output_tokens": 7,
                    "gen_ai.input.messages": json.dumps([{"role": "user", "content": f"Count to {n}, please."}]),
                },
            }
            for n, (model, prompt, read) in enumerate(calls)
        ]  # fmt: skip
        session = told(by_name("otel"), numbered(spans))
        requests = [request for thread in session.threads for request in thread.requests]
        return [request.usage.prompt for request in requests if request.usage is not None]

    assert told_by(("a", 12, 5000), ("a", 6000, 5000), ("b", 6000, 5000)) == [5012, 11_000, 6000]
    assert told_by(("a", 6000, 5000), ("a", 7000, 5000)) == [6000, 7000]


def test_chains_of_spans_cost_what_they_are_long() -> None:
    """A circle, and 20,000 in one another: each is looked at once."""
    circle = [span(1, TURN[:1], parent="0x2"), span(2, [], parent="0x1")]
    assert len(read(*circle).main.requests) == 1
    chain = [
        {**span(1, TURN[:1] if n % 2 else []), "context": {"trace_id": "a", "span_id": str(n)}}
        for n in range(20000)
    ]
    for n, one in enumerate(chain):
        one["parent_id"] = str(n + 1)
        if n and n % 2:
            one["attributes"] = {"gen_ai.operation.name": "execute_tool"}
    assert read(*chain).notes


def test_many_calls_that_go_on_nowhere_cost_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many threads only those are asked whether a call goes on there that ended where it does."""
    asked = 0

    def counted(self: Conversation, one: Exchange) -> bool:
        nonlocal asked
        asked += 1
        return is_prompted(self, one)

    is_prompted = Conversation.is_prompted
    monkeypatch.setattr(Conversation, "is_prompted", counted)
    alone = [span(n, [words("user", f"Parcel {n}?")]) for n in range(400)]
    first = read(*alone[:200])
    cost, asked = asked, 0
    session = read(*alone)
    assert (len(first.threads), len(session.threads)) == (200, 400)
    assert asked < cost + 400
    goes_on = span(
        400, [words("user", "Parcel 7?"), words("assistant", "Hm."), words("user", "And now?")]
    )
    grown = read(*alone, goes_on)
    assert [len(thread.requests) for thread in grown.threads if len(thread.requests) > 1] == [2]
    thread = next(thread for thread in grown.threads if len(thread.requests) > 1)
    assert [message.text for message in thread.requests[0].view] == ["Parcel 7?"]
