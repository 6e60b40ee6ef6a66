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
from inspector.core.formats.traces.span import read_time
from inspector.core.message import Text, ToolCall, ToolResult
from inspector.core.tokens.estimators import estimator
from inspector.core.tokens.fit import calibration_report
from inspector.core.usage import Usage
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import DATA, check, deep, laid_out, numbered, spoilt, told
from tests.core.formats.heads import head_of, read
from tests.core.formats.spans import TOKENS, TURN, by_name, span, texts, words
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
    return (
        [json.loads(line) for line in text.splitlines()]
        if path.suffix == ".jsonl"
        else [json.loads(text)]
    )


def test_a_number_of_any_length(tmp_path: Path) -> None:
    """OTLP writes numbers as strings; Python reads none of thousands of digits."""
    path = tmp_path / "otel.jsonl"
    text = (DATA / "traces" / "otel.jsonl").read_text()
    path.write_text(
        re.sub(r'("intValue": ?)"(\d+)"', lambda found: f'{found[1]}"{found[2] * 5_000}"', text)
    )
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
    assert [request.usage for request in main.requests] == [
        Usage(100, output=12),
        Usage(66, 64, output=9),
    ]
    assert all(request.model == "gpt-5-mini" and request.time for request in main.requests)
    assert all(request.prompt.system == "You are a clerk." for request in main.requests)
    assert [[tool.name for tool in request.prompt.tools or ()] for request in main.requests] == [
        ["look_up"]
    ] * 2
    assert main.requests[0].view.stretch is main.requests[1].view.stretch, (
        "they share their messages"
    )
    assert not session.problems


@pytest.mark.parametrize(
    "path", [path for path in OWN if path.stem != SINGLE], ids=lambda path: path.stem
)
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

    place = Conversations.add_step
    monkeypatch.setattr(Conversations, "add_step", take)
    reader, said = by_name("otel").start(), list[Any]()
    for n in range(30):
        said += [words("user", f"question {n}"), words("assistant", f"answer {n}")]
        reader.feed(n + 1, span(n, said[:-1]))
        assert len(reader.session().main.requests) == n + 1
    assert len(taken) == 30


def as_jaeger(value: dict[str, Any]) -> dict[str, Any]:
    trace, own = value["context"]["trace_id"], value["context"]["span_id"]
    above = (
        [{"refType": "CHILD_OF", "traceID": trace, "spanID": value["parent_id"]}]
        if value["parent_id"]
        else []
    )
    tags = [
        {"key": key, "type": "string", "value": one} for key, one in value["attributes"].items()
    ]
    start = read_time(value["start_time"])[0] // 1_000
    told = {"startTime": start, "duration": 500_000, "tags": tags, "logs": []}
    return {
        "traceID": trace,
        "spanID": own,
        "operationName": value["name"],
        "references": above,
        **told,
    }


def as_zipkin(value: dict[str, Any]) -> dict[str, Any]:
    start = read_time(value["start_time"])[0] // 1_000
    parent = {"parentId": value["parent_id"]} if value["parent_id"] else {}
    about = {
        "traceId": value["context"]["trace_id"],
        "id": value["context"]["span_id"],
        "name": value["name"],
    }
    return {**about, **parent, "timestamp": start, "duration": 500_000, "tags": value["attributes"]}


def test_what_collectors_give_out_is_the_same_trace() -> None:
    """Jaeger's JSON, Zipkin's, Tempo's batches."""
    agent = span(1, [], **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "scout"})
    values = [
        agent,
        *(span(n + 2, TURN[:n], parent="0x1", **{TOKENS: str(50 * n)}) for n in (1, 3)),
    ]
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
        assert (
            [one.title for one in session.threads]
            == [one.title for one in first.threads]
            == ["scout"]
        )
        assert laid_out(session) == laid_out(first)
        assert [one.elapsed_ms for one in session.main.requests] == [500.0, 500.0]


def test_pages_of_langfuse_and_trees_of_langsmith() -> None:
    asked = [{"role": "user", "content": "hello"}]
    observed = {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": "2026-01-01T00:00:01Z",
        "input": asked,
    }
    used = {
        "input_tokens": 50,
        "output_tokens": 5,
        "total_tokens": 55,
        "input_token_details": {"cache_read": 40},
    }
    inner = {
        "id": "r",
        "run_type": "llm",
        "start_time": "2026-01-01T00:00:01Z",
        "inputs": {"messages": asked},
    }
    outer = {"id": "q", "run_type": "chain", "name": "c", "inputs": {}, "outputs": {}}
    bare = inner | {
        "start_time": 1_767_225_601_000,
        "inputs": {"prompts": ["hello"]},
        "child_runs": [],
    }
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


def test_platforms_tell_when_the_answer_began() -> None:
    begun, first, ended = (f"2026-01-01T00:00:0{second}.000Z" for second in (1, 3, 6))
    asked = [{"role": "user", "content": "hello"}]
    observed = {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": begun,
        "endTime": ended,
        "input": asked,
    }
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


@pytest.mark.parametrize(
    "bad", [None, [], {}, "x", 7, -1, 1.5, True, ["x"], {"a": [1]}, deep(150), "{", "[1"]
)
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_a_spoilt_value_is_never_fatal(path: Path, bad: Any) -> None:
    for values in spoilt(numbered(values_of(path)), bad):
        for thread in told(by_name(path.stem), values).threads:
            assert all(
                len(request.view) == len(request.view.messages()) for request in thread.requests
            )
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
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | NAMES
    | st.sampled_from(["chat", "user", "[]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=14,
)


@given(st.lists(VALUES, max_size=5), st.sampled_from(FORMATS))
def test_nothing_raises_whatever_the_values(values: list[Any], format_: Any) -> None:
    told(format_, numbered(values))
    assert 0 <= format_.sniff(Head(values)) < 1


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


FOLDERS = (
    "otel-json",
    "openinference",
    "langfuse",
    "langsmith",
    "openai-agents-trace",
    "vscode-chatreplay",
)
REAL = [path for folder in FOLDERS for path in transcripts(f"{folder}/**/*") if path.is_file()]
REBUILT = {"beeai": 0.999, "pydantic": 0.99, "spec.chatreplay": 0.999, "pxi_turn_trace": 0.96}
"""R2 that a line must have where three or more calls tell their tokens: in the last file all texts were replaced."""


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_every_real_one(path: Path) -> None:
    session = open_transcript(path)
    assert session.format in {one.name for one in FORMATS}
    assert session.main.requests or session.notes
    assert laid_out(session) == laid_out(open_transcript(path))
    if least := next(
        (least for name, least in REBUILT.items() if path.name.startswith(name)), None
    ):
        fits = calibration_report(
            session.main, [estimator(name) for name in ("roku", "chars4", "tiktoken")]
        )
        assert max(fit.r2 or 0 for fit in fits) > least


def test_each_is_sure_of_its_own_only() -> None:
    for path in OWN:
        values = values_of(path)
        head = head_of(*values)
        assert detect(head).name == path.stem
