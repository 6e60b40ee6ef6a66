"""Detection by content: every format is known by its signs, and what cannot be read is refused by its name."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.errors import UnknownFormat
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Format, Head
from tests.core.formats.detect_samples import CLAUDE, FOREIGN, PI_MESSAGE, USER
from tests.core.formats.heads import head_of

USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]}
CODEX = {"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "cwd": "/"}}
COPILOT = {
    "type": "session.start",
    "data": {"producer": "copilot-agent"},
    "id": "i",
    "parentId": None,
}
SNAPSHOT = {"type": "custom", "customType": "model-snapshot", "id": "c", "parentId": None}
QWEN = {
    "uuid": "a",
    "parentUuid": None,
    "type": "user",
    "message": {"role": "user", "parts": [{"text": "hi"}]},
}
QWEN_EVENT = {
    "uuid": "a",
    "parentUuid": None,
    "subtype": "custom_title",
    "systemPayload": {"customTitle": "t"},
}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {}}}
ASKED = {
    "request": {"method": "POST", "url": "https://h/v1/messages", "headers": {}},
    "response": {"status": 200},
}
LOGGED = {"ts": 1, "dur": 0, "sid": "s", "type": "turn_start", "spanId": "t", "attrs": {}}
CALL_ITEM = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}

KNOWN: list[tuple[str, str, tuple[Any, ...]]] = [
    ("claude-code", "records", (CLAUDE, CLAUDE)),
    (
        "claude-code",
        "a summary first",
        ({"type": "summary", "summary": "t", "leafUuid": "l"}, CLAUDE),
    ),
    ("codex", "rollout", (CODEX, {"type": "response_item", "payload": {"type": "message"}})),
    ("codex", "header only", (CODEX,)),
    ("pi", "v1", ({"type": "session", "id": "a", "cwd": "/", "timestamp": "t"},)),
    (
        "gemini-cli",
        "document",
        ({"sessionId": "s", "projectHash": "p", "messages": [{"type": "user"}]},),
    ),
    (
        "gemini-cli",
        "log",
        ({"sessionId": "s", "projectHash": "p", "kind": "main"}, {"$set": {"messages": []}}),
    ),
    ("qwen-code", "lines", (QWEN, {**QWEN, "type": "assistant"})),
    ("qwen-code", "an event first", ({**QWEN_EVENT, "type": "system"}, QWEN)),
    ("opencode", "export", ({"info": {"id": "ses_1"}, "messages": []},)),
    (
        "opencode",
        "rows",
        ({"table": "session", "row": {"id": "ses_1"}}, {"table": "message", "row": {}}),
    ),
    ("openclaw", "session", ({"type": "session", "version": 3, "id": "a", "cwd": "/"}, SNAPSHOT)),
    ("openclaw", "without its header", (PI_MESSAGE, PI_MESSAGE, SNAPSHOT)),
    (
        "openclaw-trajectory",
        "events",
        ({"traceSchema": "openclaw-trajectory", "type": "session.started", "data": {}},),
    ),
    ("cline", "history", ([{**USER, "modelInfo": {"modelId": "m"}}],)),
    ("cline", "log", ([{"ts": 1, "type": "say", "say": "text"}],)),
    (
        "vscode-chat",
        "export",
        ({"requests": [], "responderUsername": "c", "requesterUsername": "u"},),
    ),
    (
        "vscode-chat",
        "log",
        ({"kind": 0, "v": {"requests": [], "initialLocation": "panel"}}, {"kind": 1, "k": ["a"]}),
    ),
    ("vibe", "messages", ({**USER, "message_id": "m"}, {**USER, "message_id": "n"})),
    (
        "vibe",
        "beside them",
        ({"session_id": "s", "environment": {}, "stats": {"session_prompt_tokens": 1}},),
    ),
    (
        "crush",
        "rows",
        ({"table": "crush.database", "row": {}}, {"table": "crush.messages", "row": {}}),
    ),
    ("copilot-cli", "events", (COPILOT, {**COPILOT, "type": "system.message"})),
    ("copilot-cli", "from the middle", ({**COPILOT, "type": "assistant.turn_start"},)),
    (
        "pi",
        "v3",
        ({"type": "session", "version": 3, "id": "a", "cwd": "/"}, {"type": "message", "id": "b"}),
    ),
    (
        "mini-swe-agent",
        "document",
        ({"messages": [USER], "trajectory_format": "mini-swe-agent-1.1"},),
    ),
    ("swe-agent", "document", ({"trajectory": [], "history": [USER], "info": {}},)),
    ("inspect", "document", ({"eval": {"task": "t"}, "status": "success", "samples": []},)),
    ("openhands", "list", ([{"id": 0, "source": "agent", "action": "run", "args": {}}],)),
    (
        "openhands-v1",
        "lines",
        ({"kind": "MessageEvent", "source": "user"}, {"kind": "ActionEvent", "source": "agent"}),
    ),
    ("openhands-log", "document", ({"messages": [USER], "response": {}, "cost": 0, "kwargs": {}},)),
    ("tau-bench", "list", ([{"task_id": 0, "reward": 1.0, "traj": [USER]}],)),
    ("atif", "document", ({"schema_version": "ATIF-v1.5", "steps": []},)),
    ("atif-traces", "list", ([{"conversations": [USER], "episode": "episode-0"}],)),
    ("anthropic", "body", ({"model": "m", "max_tokens": 5, "messages": [USER]},)),
    ("anthropic", "system in front", ({"model": "m", "system": "s", "messages": [USER]},)),
    ("anthropic", "blocks", ({"messages": [USER, USED]},)),
    ("anthropic", "list", ([USER, USED],)),
    ("anthropic", "a message a line", (USER, USED)),
    (
        "anthropic",
        "exchange",
        ({"request": {"model": "m", "max_tokens": 5, "messages": [USER]}, "response": {}},),
    ),
    (
        "anthropic",
        "response",
        ({"type": "message", "role": "assistant", "content": [], "usage": {}},),
    ),
    (
        "anthropic",
        "bodies",
        tuple({"model": "claude-x", "max_tokens": 5, "messages": [USER]} for _ in range(3)),
    ),
    ("openai-chat", "body", ({"model": "m", "messages": [USER]},)),
    (
        "openai-chat",
        "with max_tokens",
        ({"model": "m", "max_tokens": 5, "messages": [USER], "tools": [FUNCTION]},),
    ),
    (
        "openai-chat",
        "claude by another door",
        ({"model": "claude-x", "messages": [USER], "tools": [FUNCTION]},),
    ),
    (
        "openai-chat",
        "roles",
        ({"messages": [USER, {"role": "tool", "tool_call_id": "c", "content": ""}]},),
    ),
    ("openai-chat", "plain list", ([USER],)),
    ("openai-chat", "response", ({"object": "chat.completion", "choices": [{"message": USER}]},)),
    ("openai-responses", "body", ({"model": "m", "input": "hi"},)),
    ("openai-responses", "items", ({"model": "m", "instructions": "i", "input": [USER]},)),
    (
        "openai-responses",
        "frame",
        ({"type": "response.create", "model": "m", "input": [], "generate": False},),
    ),
    ("openai-responses", "list", ([{**USER, "type": "message"}, CALL_ITEM],)),
    (
        "openai-responses",
        "response",
        ({"object": "response", "id": "r", "output": [], "usage": {}},),
    ),
    (
        "openai-responses",
        "event",
        ({"type": "response.completed", "response": {"object": "response", "output": []}},),
    ),
    ("otel", "OTLP", ({"resourceSpans": []},)),
    (
        "otel",
        "the SDK's",
        ({"name": "n", "context": {"trace_id": "t", "span_id": "s"}, "attributes": {}},),
    ),
    (
        "otel",
        "the SDK's in JavaScript",
        ({"_spanContext": {"traceId": "t", "spanId": "s"}, "attributes": {}},),
    ),
    (
        "openinference",
        "spans",
        ([{"context": {"span_id": "s"}, "span_kind": "LLM", "attributes": {}}],),
    ),
    (
        "langfuse",
        "trace",
        ({"trace": {}, "observations": [{"id": "o", "type": "SPAN", "startTime": "t"}]},),
    ),
    ("langsmith", "runs", ({"runs": [{"id": "r", "run_type": "llm", "parent_run_id": None}]},)),
    (
        "openai-agents",
        "spans a line",
        ({"object": "trace.span", "id": "s"}, {"object": "trace.span", "id": "u"}),
    ),
    ("vscode-replay", "prompts", ({"exportedAt": "t", "prompts": []},)),
    ("vscode-debug-log", "lines", (LOGGED, {**LOGGED, "v": 1, "status": "ok"})),
    ("frames", "a line each", ({"ts": 1, "dir": "c2u", "size": 3, "text": "{}"},)),
    ("exchange-log", "lines", (ASKED, ASKED)),
    ("exchange-log", "packets", ({"session": "s", "agent": "a", "task": "t", "packets": [ASKED]},)),
    ("har", "entries", ({"log": {"entries": [{**ASKED, "startedDateTime": "t"}]}},)),
    ("cassette", "interactions", ({"interactions": [ASKED], "version": 1},)),
]


@pytest.mark.parametrize(
    ("name", "values"), [(r[0], r[2]) for r in KNOWN], ids=[f"{r[0]}: {r[1]}" for r in KNOWN]
)
def test_known(name: str, values: tuple[Any, ...]) -> None:
    assert detect(head_of(*values)).name == name


def test_a_format_of_somebody_else_may_be_surer() -> None:
    lhar = Format("lhar", "LHAR capture", lambda head: 0.95, FORMATS[0].start)
    value = {"type": "session", "trace_id": "t", "tool": "x"}
    assert detect(head_of(value), None, (*FORMATS, lhar)) is lhar


def test_names_are_unique_and_plain() -> None:
    names = [one.name for one in FORMATS]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name for name in names)


@pytest.mark.parametrize("odd", [[], {}, None, 7, "x"])
def test_odd_types_are_nothing(odd: Any) -> None:
    """Whatever stands where a word is expected, a body stays a body."""
    messages = [
        {"role": "user", "type": odd, "content": [{"type": odd}, odd]},
        {"role": odd, "content": odd},
    ]
    body = {
        "model": odd,
        "max_tokens": odd,
        "messages": messages,
        "tools": [odd, {"function": odd}],
        "system": odd,
    }
    assert detect(head_of({**body, "messages": [USER]})).name == "anthropic"
    reader = detect(head_of(body), "anthropic").start()
    reader.feed(1, body)
    reader.session()
    for one in FORMATS:
        assert 0 <= one.sniff(head_of(body)) <= 1


TEXTS = st.text(max_size=8)
WORDS = st.sampled_from(
    sorted(
        {
            key
            for _, values in FOREIGN
            for value in values
            if isinstance(value, Mapping)
            for key in value
        }
        | {*CLAUDE, *USER}
    )
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(VALUES, max_size=4), st.binary(max_size=40))
def test_any_json_is_detected_or_told_apart(values: list[Any], data: bytes) -> None:
    head = Head(values, values[0] if len(values) == 1 else None, data)
    try:
        chosen = detect(head)
    except UnknownFormat:
        return
    reader = chosen.start()
    for line, value in enumerate(values, 1):
        reader.feed(line, value)
    reader.session()
