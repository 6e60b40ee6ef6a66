"""Traces: one conversation as six tracers write it, what makes their files treacherous, and every real one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.traces import FORMATS
from inspector.core.formats.traces.otel import otlp_of
from inspector.core.formats.traces.span import moment
from inspector.core.message import Text, ToolCall, ToolResult
from inspector.core.session import Session
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.fit import calibration_report
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import DATA, check, deep, laid_out, numbered, spoilt, told
from tests.core.formats.heads import head_of, read
from tests.shared import transcripts

OWN = sorted((DATA / "traces").glob("*"))
CALL = ToolCall("call_1", "look_up", {"task": "Find parcel 7 in the book."})
SAID = [
    ("user", (Text("Where is parcel 7?"),)),
    ("assistant", (CALL,)),
    ("tool", (ToolResult("call_1", "In Ghent."),)),
    ("assistant", (Text("Parcel 7 is in Ghent."),)),
]
SINGLE = "vscode-replay"
"""Holds one agent only."""


def values_of(path: Path) -> list[Any]:
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def by_name(name: str) -> Any:
    return next(one for one in FORMATS if one.name == name)


def test_a_number_of_any_length(tmp_path: Path) -> None:
    """OTLP writes numbers as strings; Python reads none of thousands of digits."""
    path = tmp_path / "otel.jsonl"
    text = (DATA / "traces" / "otel.jsonl").read_text()
    path.write_text(re.sub(r'("intValue": ?)"(\d+)"', lambda found: f'{found[1]}"{found[2] * 5_000}"', text))
    assert path.read_text() != text
    assert [one.usage for one in open_transcript(path).main.requests] == [None, None]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_each_tracer_tells_the_same_conversation(path: Path) -> None:
    session = open_transcript(path)
    check(session)
    main = session.main
    assert session.format == path.stem
    assert [(one.role, one.parts) for one in main.end] == SAID
    assert [[one.parts for one in request.view] for request in main.requests] == [
        [parts for _, parts in SAID[:1]],
        [parts for _, parts in SAID[:3]],
    ]
    assert [request.usage for request in main.requests] == [Usage(100, output=12), Usage(66, 64, output=9)]
    assert all(request.model == "gpt-5-mini" and request.time for request in main.requests)
    assert all(request.prompt.system == "You are a clerk." for request in main.requests)
    assert [[tool.name for tool in request.prompt.tools or ()] for request in main.requests] == [["look_up"]] * 2
    assert main.requests[0].view.stretch is main.requests[1].view.stretch, "they share their messages"
    assert not session.problems


@pytest.mark.parametrize("path", [path for path in OWN if path.stem != SINGLE], ids=lambda path: path.stem)
def test_an_agent_under_a_tool_is_a_thread_of_its_own(path: Path) -> None:
    session = open_transcript(path)
    main, finder = session.threads
    assert (finder.parent, finder.parent_call) == (main.id, "call_1")
    assert [one.text for one in finder.end] == ["Find parcel 7 in the book.", "In Ghent."]
    assert [request.usage for request in finder.requests] == [Usage(40, output=4)]
    assert finder.prompt.system == "You find things."


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_order_of_the_spans_means_nothing(path: Path) -> None:
    """Backwards, and followed: after every value, the session is what it would be had nothing been asked before."""
    format_, values = by_name(path.stem), values_of(path)
    whole = laid_out(told(format_, numbered(values)))
    reader = format_.start()
    for line, value in numbered(values):
        reader.feed(line, value)
        assert laid_out(reader.session()) == laid_out(told(format_, numbered(values[:line])))
    assert laid_out(reader.session()) == whole
    backwards = told(format_, reversed(numbered(values)))
    assert [[one.parts for one in thread.end] for thread in backwards.threads] == [
        [one.parts for one in messages] for *_, messages in whole
    ]


def test_a_trace_that_is_followed_costs_what_was_added(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[int]()

    def take(self: Conversations, one: Exchange, known: Conversation | None) -> Conversation:
        taken.append(1)
        return place(self, one, known)

    place = Conversations.place
    monkeypatch.setattr(Conversations, "place", take)
    reader, said = by_name("otel").start(), list[Any]()
    for n in range(30):
        said += [words("user", f"question {n}"), words("assistant", f"answer {n}")]
        reader.feed(n + 1, span(n, said[:-1]))
        assert len(reader.session().main.requests) == n + 1
    assert len(taken) == 30


def span(number: int, said: list[Any], **more: Any) -> dict[str, Any]:
    """A call as the Python SDK writes it."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)} if said else {}
    return {
        "name": "chat",
        "context": {"trace_id": "0xa", "span_id": f"0x{number}"},
        "parent_id": more.pop("parent", None),
        "start_time": f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z",
        "end_time": more.pop("end", "2026-01-01T00:01:00Z"),
        "attributes": {**attributes, **more},
    }


def words(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


TURN = [words("user", "one"), words("assistant", "two"), words("user", "three")]
TOKENS = "gen_ai.usage.input_tokens"


def texts(session: Session, at: int) -> list[str]:
    return [one.text for one in session.main.requests[at].view]


def test_a_span_that_is_written_twice_counts_once_and_the_finished_one_counts() -> None:
    begun = span(1, TURN[:1], end=None)
    for rows in ([begun, span(1, TURN[:1], **{TOKENS: 50})], [span(1, TURN[:1], **{TOKENS: 50}), begun]):
        (request,) = read(*rows).main.requests
        assert request.usage == Usage(50)


def as_jaeger(value: dict[str, Any]) -> dict[str, Any]:
    trace, own = value["context"]["trace_id"], value["context"]["span_id"]
    above = [{"refType": "CHILD_OF", "traceID": trace, "spanID": value["parent_id"]}] if value["parent_id"] else []
    tags = [{"key": key, "type": "string", "value": one} for key, one in value["attributes"].items()]
    start = moment(value["start_time"])[0] // 1_000
    told = {"startTime": start, "duration": 500_000, "tags": tags, "logs": []}
    return {"traceID": trace, "spanID": own, "operationName": value["name"], "references": above, **told}


def as_zipkin(value: dict[str, Any]) -> dict[str, Any]:
    start = moment(value["start_time"])[0] // 1_000
    parent = {"parentId": value["parent_id"]} if value["parent_id"] else {}
    about = {"traceId": value["context"]["trace_id"], "id": value["context"]["span_id"], "name": value["name"]}
    return {**about, **parent, "timestamp": start, "duration": 500_000, "tags": value["attributes"]}


def test_what_collectors_give_out_is_the_same_trace() -> None:
    """Jaeger's JSON, Zipkin's, Tempo's batches."""
    agent = span(1, [], **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "scout"})
    values = [agent, *(span(n + 2, TURN[:n], parent="0x1", **{TOKENS: str(50 * n)}) for n in (1, 3))]
    otlp = [otlp_of(as_jaeger(value)) for value in values]
    batches = [{"resource": {}, "scopeSpans": [{"spans": otlp}]}]
    first = read({"resourceSpans": batches})
    for given_out in (
        {"data": [{"traceID": "a", "spans": list(map(as_jaeger, values)), "processes": {}}]},
        list(map(as_zipkin, values)),
        {"batches": batches},
        {"trace": {"resourceSpans": batches}},
    ):
        session = read(given_out)
        assert session.format == "otel"
        assert [one.title for one in session.threads] == [one.title for one in first.threads] == ["scout"]
        assert laid_out(session) == laid_out(first)
        assert [one.elapsed_ms for one in session.main.requests] == [500.0, 500.0]


def test_pages_of_langfuse_and_trees_of_langsmith() -> None:
    asked = [{"role": "user", "content": "hello"}]
    observed = {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:01Z", "input": asked}
    used = {"input_tokens": 50, "output_tokens": 5, "total_tokens": 55, "input_token_details": {"cache_read": 40}}
    inner = {"id": "r", "run_type": "llm", "start_time": "2026-01-01T00:00:01Z", "inputs": {"messages": asked}}
    outer = {"id": "q", "run_type": "chain", "name": "c", "inputs": {}, "outputs": {}}
    bare = inner | {"start_time": 1_767_225_601_000, "inputs": {"prompts": ["hello"]}, "child_runs": []}
    for value, told_usage in (
        ({"data": [observed], "meta": {"page": 1}}, None),
        ({"data": [{"id": "t", "observations": [observed]}], "meta": {"page": 1}}, None),
        (outer | {"child_runs": [inner | {"outputs": {"role": "assistant", "content": "hi", "usage_metadata": used}}]},
         Usage(10, 40, 0, 5)),
        (outer | {"child_runs": [bare]}, None),
    ):  # fmt: skip
        (request,) = read(value).main.requests
        assert ([one.text for one in request.view], request.usage) == (["hello"], told_usage)
        assert request.time.startswith("2026-01-01T00:00:01")


def test_spans_without_ids_are_each_their_own() -> None:
    values = [span(n, [words("user", f"question {n}")]) for n in range(3)]
    for value in values[1:]:
        value["context"]["span_id"] = ""
    otlp = [{"traceId": "", "spanId": "", **{key: value[key] for key in ("name", "attributes")}} for value in values]
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


def test_platforms_tell_when_the_answer_began() -> None:
    begun, first, ended = (f"2026-01-01T00:00:0{second}.000Z" for second in (1, 3, 6))
    asked = [{"role": "user", "content": "hello"}]
    observed = {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": begun, "endTime": ended, "input": asked}
    run = {"id": "r", "trace_id": "r", "run_type": "llm", "start_time": begun, "end_time": ended}
    about = {"startTime": begun, "endTime": ended, "timeToFirstToken": 2_000}
    logs = [{"kind": "request", "id": "q", "metadata": about, "requestMessages": asked}]
    for value in (
        {"trace": {"id": "t"}, "observations": [observed | {"completionStartTime": first}]},
        run | {"inputs": {"messages": asked}, "first_token_time": first},
        {"exportedAt": "", "prompts": [{"prompt": "hello", "logs": logs}]},
    ):
        (request,) = read(value).main.requests
        assert (request.first_byte_ms, request.elapsed_ms) == (2_000.0, 5_000.0), value


def test_what_wraps_a_call_is_no_call_and_tells_what_the_call_leaves_out() -> None:
    outer = span(1, [], **{"gen_ai.operation.name": "chat", TOKENS: 14, "gen_ai.tool.definitions": '[{"name": "t"}]'})
    session = read(outer, span(2, TURN[:1], parent="0x1", **{TOKENS: 62}))
    (request,) = session.main.requests
    assert (request.usage, [tool.name for tool in request.prompt.tools or ()]) == (Usage(62), ["t"])
    assert any("no calls: 1" in note for note in session.notes)
    bare = span(2, TURN[:1], parent="0x1")
    assert read(outer, bare).main.requests[0].usage == Usage(14), "the innermost that has any"


def test_the_configuration_of_a_request_holds_its_tools() -> None:
    """Latitude's."""
    given = {
        "gen_ai.request.configuration": json.dumps({"tools": [{"type": "function", "function": {"name": "look"}}]})
    }
    counts = {TOKENS: 90, "gen_ai.usage.cached_tokens": 64, "gen_ai.usage.reasoning_tokens": 3}
    (request,) = read(span(1, TURN[:1], **given, **counts)).main.requests
    assert request.usage == Usage(26, 64, reasoning=3)
    assert [tool.name for tool in request.prompt.tools or ()] == ["look"]


def test_the_sum_on_an_agent_is_no_call() -> None:
    agent = span(1, [], **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", TOKENS: 346})
    session = read(
        agent, span(2, TURN[:1], parent="0x1", **{TOKENS: 145}), span(3, TURN, parent="0x1", **{TOKENS: 201})
    )
    assert [request.usage for request in session.main.requests] == [Usage(145), Usage(201)]
    assert (session.main.title, texts(session, 1)) == ("a", ["one", "two", "three"])


def test_a_call_belongs_to_the_conversation_of_its_agent() -> None:
    """Asked again in the next trace, an agent goes on; in another conversation it begins anew."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    for others, counts in (("c", [2]), ("d", [1, 1])):
        rows = [span(1, [], **agent, **{"gen_ai.conversation.id": "c"}), span(2, TURN[:1], parent="0x1")]
        rows += [span(3, [], **agent, **{"gen_ai.conversation.id": others}), span(4, TURN, parent="0x3")]
        session = read(*rows)
        assert (session.id, [len(thread.requests) for thread in session.threads]) == ("c", counts)


def test_calls_beside_their_agent_are_its_own() -> None:
    """The agent's span and its calls have the same parent."""
    rows = []
    for number, name in ((10, "a"), (20, "b")):
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        rows += [span(number, []), span(number + 1, [], parent=f"0x{number}", **agent)]
        rows.append(span(number + 2, [words("user", name)], parent=f"0x{number}", **{TOKENS: 20}))
    assert [(thread.title, len(thread.requests)) for thread in read(*rows).threads] == [("a", 1), ("b", 1)]


def test_parallel_agents_are_told_apart_and_one_that_is_asked_again_goes_on() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c"}
    more = {"gen_ai.conversation.id": "c"}
    rows = [span(1, [], **agent, **{"gen_ai.agent.name": "a"}), span(2, [], **agent, **{"gen_ai.agent.name": "b"})]
    rows += [span(3, TURN[:1], parent="0x1", **more), span(4, [words("user", "other")], parent="0x2", **more)]
    rows += [span(5, [], **agent, **{"gen_ai.agent.name": "a"}), span(6, TURN, parent="0x5", **more)]
    session = read(*rows)
    assert [(thread.title, len(thread.requests)) for thread in session.threads] == [("a", 2), ("b", 1)]
    assert session.id == "c"


def test_parallel_agents_of_one_name_with_the_same_words_are_told_apart() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c", "gen_ai.agent.name": "a"}
    rows = [span(number, [], **agent) for number in (1, 2)]
    said = {"gen_ai.output.messages": json.dumps(TURN[1:2])}
    rows += [span(number, TURN[:1], parent=f"0x{number - 2}", **said) for number in (3, 4)]
    rows += [span(number, TURN, parent=f"0x{number - 4}") for number in (5, 6)]
    assert [[len(one.view) for one in thread.requests] for thread in read(*rows).threads] == [[1, 3], [1, 3]]


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
    assert [request.usage for thread in session.threads for request in thread.requests] == [None, None]
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
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.result": "done"}
    session = read(span(1, [], **tool, **{"gen_ai.tool.call.arguments": '{"a":1}'}))
    assert [one.parts[0] for one in session.main.end] == [
        ToolCall("tool-0", "t", {"a": 1}),
        ToolResult("tool-0", "done"),
    ]
    assert not session.main.requests
    assert any("no requests" in note for note in session.notes)


def test_former_words_are_read() -> None:
    """Numbered attributes, events a message, one event a side, an attribute of events."""
    said = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "one", "llm.request.type": "chat"}
    plain = span(1, [], **said, **{"gen_ai.usage.prompt_tokens": 9, "gen_ai.completion.0.content": "two"})
    session = read(plain)
    assert (texts(session, 0), [one.text for one in session.main.end]) == (["one"], ["one", "two"])
    blocks = json.dumps([{"type": "text", "text": "one"}])
    assert texts(read(span(1, [], **{**said, "gen_ai.prompt.0.content": blocks})), 0) == ["one"]
    chat = {"gen_ai.operation.name": "chat"}
    choice = {"name": "gen_ai.choice", "attributes": {"message": '{"content": "two"}'}}
    each = [{"name": "gen_ai.user.message", "attributes": {"content": "one"}}, choice]
    asked = {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": '[{"role": "user", "content": "one"}]'}}
    row = [{"event.name": "gen_ai.user.message", "content": "one"}, {"event.name": "gen_ai.choice", "content": "two"}]
    for told_by in ({**span(1, [], **chat), "events": each}, span(1, [], **chat, events=json.dumps(row))):
        assert [one.text for one in read(told_by).main.end] == ["one", "two"]
    assert texts(read({**span(1, [], **chat), "events": [asked]}), 0) == ["one"]


def test_why_an_answer_ended_is_told_beside_it() -> None:
    """In the event of a choice; in what LangChain says of a generation, or of the message in it."""
    choice = {"name": "gen_ai.choice", "attributes": {"finish_reason": "length", "message": '{"content": "two"}'}}
    asked = {"name": "gen_ai.user.message", "attributes": {"content": "one"}}
    by_event = {**span(1, [], **{"gen_ai.operation.name": "chat"}), "events": [asked, choice]}
    assert [request.finish for request in read(by_event).main.requests] == ["length"]
    run = {"id": "a", "run_type": "llm", "trace_id": "a", "inputs": {"messages": [{"role": "user", "content": "one"}]}}
    told = {"role": "assistant", "content": "two"}
    for generation, why in (
        ({"message": told, "generation_info": {"finish_reason": "stop"}}, "stop"),
        ({"message": {**told, "response_metadata": {"stop_reason": "end_turn"}}}, "end_turn"),
        (
            {"message": {"id": ["AIMessage"], "kwargs": {**told, "response_metadata": {"finish_reason": "STOP"}}}},
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


@pytest.mark.parametrize("bad", [None, [], {}, "x", 7, -1, 1.5, True, ["x"], {"a": [1]}, deep(150), "{", "[1"])
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_a_spoilt_value_is_never_fatal(path: Path, bad: Any) -> None:
    for values in spoilt(numbered(values_of(path)), bad):
        for thread in told(by_name(path.stem), values).threads:
            assert all(len(request.view) == len(request.view.messages()) for request in thread.requests)
        by_name(path.stem).sniff(Head([value for _, value in values]))


def _names() -> list[str]:
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.update(value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    for path in OWN:
        walk(values_of(path))
    return sorted(found)


NAMES = st.sampled_from(_names())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | NAMES | st.sampled_from(["chat", "user", "[]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=14,
)


@given(st.lists(VALUES, max_size=5), st.sampled_from(FORMATS))
def test_nothing_raises_whatever_the_values(values: list[Any], format_: Any) -> None:
    told(format_, numbered(values))
    assert 0 <= format_.sniff(Head(values)) < 1


def test_chains_of_spans_cost_what_they_are_long() -> None:
    """A circle, and 20,000 in one another: each is looked at once."""
    circle = [span(1, TURN[:1], parent="0x2"), span(2, [], parent="0x1")]
    assert len(read(*circle).main.requests) == 1
    chain = [
        {**span(1, TURN[:1] if n % 2 else []), "context": {"trace_id": "a", "span_id": str(n)}} for n in range(20000)
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
    goes_on = span(400, [words("user", "Parcel 7?"), words("assistant", "Hm."), words("user", "And now?")])
    grown = read(*alone, goes_on)
    assert [len(thread.requests) for thread in grown.threads if len(thread.requests) > 1] == [2]
    thread = next(thread for thread in grown.threads if len(thread.requests) > 1)
    assert [message.text for message in thread.requests[0].view] == ["Parcel 7?"]


def test_values_over_many_lines_are_read_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    rows = [span(1, TURN[:1], **{TOKENS: 50}), span(2, TURN, **{TOKENS: 90})]
    path.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
    session = open_transcript(path)
    assert [request.line for request in session.main.requests] == [
        1,
        1 + len(json.dumps(rows[0], indent=2).split("\n")),
    ]
    assert texts(session, 1) == ["one", "two", "three"]


FOLDERS = ("otel-json", "openinference", "langfuse", "langsmith", "openai-agents-trace", "vscode-chatreplay")
REAL = [path for folder in FOLDERS for path in transcripts(f"{folder}/**/*") if path.is_file()]
REBUILT = {"beeai": 0.999, "pydantic": 0.99, "spec.chatreplay": 0.999, "pxi_turn_trace": 0.96}
"""R2 that a line must have where three or more calls tell their tokens: in the last file all texts were replaced."""


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_every_real_one(path: Path) -> None:
    session = open_transcript(path)
    assert session.format in {one.name for one in FORMATS}
    assert session.main.requests or session.notes
    assert laid_out(session) == laid_out(open_transcript(path))
    if least := next((least for name, least in REBUILT.items() if path.name.startswith(name)), None):
        fits = calibration_report(session.main, [estimator(name) for name in ("roku", "chars4", "tiktoken")])
        assert max(fit.r2 or 0 for fit in fits) > least


def test_each_is_sure_of_its_own_only() -> None:
    for path in OWN:
        values = values_of(path)
        head = head_of(*values)
        assert detect(head).name == path.stem
