"""Detection by content: every format is known by its signs, and what cannot be read is refused by its name."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.errors import UnknownFormat
from inspector.core.formats.detect import FORMATS, detect
from inspector.core.formats.format import Format, Head
from tests.core.formats.heads import head_of

USER = {"role": "user", "content": "hi"}
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]}
CLAUDE = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": USER}
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
PI_MESSAGE = {
    "type": "message",
    "id": "m",
    "parentId": None,
    "message": {"role": "user", "content": "hi"},
}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {}}}
ASKED = {
    "request": {"method": "POST", "url": "https://h/v1/messages", "headers": {}},
    "response": {"status": 200},
}
LOGGED = {"ts": 1, "dur": 0, "sid": "s", "type": "turn_start", "spanId": "t", "attrs": {}}
PRINTED_RESULT = {
    "type": "result",
    "subtype": "success",
    "session_id": "s",
    "num_turns": 2,
    "result": "done",
}
CURSOR_ANSWER = {
    "role": "assistant",
    "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {}}]},
}
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


FOREIGN: list[tuple[str, tuple[Any, ...]]] = [
    ("a claude-tap capture", ({"session": "s", "agent": "claude", "task": "t", "packets": []},)),
    ("a HAR web capture", ({"log": {"version": "1.2", "entries": []}},)),
    ("an LHAR capture", ({"type": "session", "trace_id": "t", "tool": "x"},)),
    (
        "a proxy log",
        ({"request": {"method": "POST", "path": "/", "body": {}}, "response": {"status": 200}},),
    ),
    (
        "a list of captured turns",
        ([{"turn": 1, "timestamp": "t", "messages": [USER], "response": {}}],),
    ),
    ("an export of claude.ai's chats", ([{"uuid": "c", "name": "n", "chat_messages": []}],)),
    ("an export of ChatGPT's chats", ([{"title": "t", "mapping": {}, "current_node": "b"}],)),
    (
        "a Cursor chat",
        ({"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}, CURSOR_ANSWER),
    ),
    (
        "an Amp thread",
        ({"v": 12, "id": "T-1", "created": 1, "messages": [{"role": "user", "messageId": 0}]},),
    ),
    (
        "a goose session",
        ({"working_dir": "/w", "description": "x", "message_count": 2}, {**USER, "created": 1}),
    ),
    (
        "a Kimi session",
        (USER, {"role": "_checkpoint", "id": 0}, {"role": "_usage", "token_count": 5}),
    ),
    (
        "a Kimi session",
        ({"message": {"type": "TurnBegin", "payload": {"user_input": []}}, "timestamp": 1.5},),
    ),
    ("a Continue chat", ({"sessionId": "s", "history": [{"message": USER, "contextItems": []}]},)),
    ("a Kiro chat", ({"sessionId": "s", "workspacePath": "/w", "history": [{"message": USER}]},)),
    (
        "a chat of Amazon Q",
        ({"conversation_id": "c", "history": [], "valid_history_range": [0, 1]},),
    ),
    (
        "a Factory Droid session",
        ({"type": "session_start", "id": "s"}, {**PI_MESSAGE, "parentId": "s"}),
    ),
    ("a DeepSeek Harness session", ({"type": "session", "version": 0, "id": "x", "createdAt": 1},)),
    (
        "a session of Google's Agent Development Kit",
        ({"app_name": "a", "user_id": "u", "events": []},),
    ),
    ("a state of AutoGen", ({"type": "TeamState", "version": "1.0.0", "agent_states": {}},)),
    ("messages of LangChain", ([{"type": "human", "data": {"content": "hi"}}],)),
    ("messages of Pydantic AI", ([{"parts": [{"part_kind": "user-prompt"}], "kind": "request"}],)),
    (
        "messages of the Vercel AI SDK",
        ([{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],),
    ),
    ("a data set of conversations", ({"conversations": [{"from": "human", "value": "hi"}]},)),
    (
        "a transcript of Windsurf",
        ({"status": "done", "type": "user_input", "user_input": {"user_response": "hi"}},),
    ),
    (
        "a transcript of Antigravity",
        ({"source": "USER_EXPLICIT", "type": "USER_INPUT", "content": "hi"},),
    ),
    (
        "an Augment session",
        ({"sessionId": "s", "chatHistory": [{"exchange": {"request_message": "hi"}}]},),
    ),
    ("a Junie session", ({"kind": "UserPromptEvent", "prompt": "hi", "timestampMs": 1},)),
    (
        "a gptme conversation",
        ({"role": "system", "content": "act", "timestamp": "t", "pinned": True}, USER),
    ),
    (
        "a nanobot session",
        ({"_type": "metadata", "created_at": "t", "metadata": {}}, {**USER, "timestamp": "t"}),
    ),
    (
        "a Rovo Dev session",
        ({"id": "s", "message_history": [{"parts": [], "kind": "request"}], "usage": {}},),
    ),
    (
        "a Codebuff chat",
        ([{"id": "user-1", "variant": "user", "content": "hi", "timestamp": "1:00 PM"}],),
    ),
    (
        "a trajectory of Trae Agent",
        ({"task": "t", "model": "m", "llm_interactions": [], "agent_steps": []},),
    ),
    ("a ForgeCode conversation", ({"conversation": {"id": "c", "context": {"messages": []}}},)),
    (
        "messages of Mastra",
        ([{"id": "m", "role": "user", "type": "v2", "content": {"format": 2, "parts": []}}],),
    ),
    (
        "a chat history of Semantic Kernel",
        ([{"Role": {"Label": "user"}, "Items": [{"Text": "hi"}]}],),
    ),
    (
        "an export of DeepSeek's chats",
        ([{"id": "c", "title": "t", "inserted_at": "t", "mapping": {}}],),
    ),
    (
        "an export of Grok's chats",
        ({"conversations": [{"conversation": {"id": "c"}, "responses": []}]},),
    ),
    (
        "an export of LobeChat",
        ({"exportType": "sessions", "state": {"messages": []}, "version": 7},),
    ),
    (
        "a big-AGI chat",
        ({"id": "c", "messages": [{"role": "user", "fragments": [{"ft": "content"}]}]},),
    ),
    ("a PostHog event", ({"event": "$ai_generation", "properties": {"$ai_input": [USER]}},)),
    (
        "events of OpenAI's Realtime API",
        ({"type": "session.created", "session": {"id": "s", "model": "m"}},),
    ),
    (
        "a log of OpenAI Evals",
        ({"spec": {"eval_name": "x", "run_id": "r"}}, {"type": "sampling", "data": {}}),
    ),
    ("a chat of Google AI Studio", ({"runSettings": {}, "chunkedPrompt": {"chunks": []}},)),
]


@pytest.mark.parametrize(
    ("name", "values"), FOREIGN, ids=[f"{n}-{row[0]}" for n, row in enumerate(FOREIGN)]
)
def test_detect_of_a_foreign_format_refuses_it_by_name_in_one_sentence(
    name: str, values: tuple[Any, ...]
) -> None:
    with pytest.raises(
        UnknownFormat, match=f"^this looks like {name}.*, which cannot be read yet$"
    ) as caught:
        detect(head_of(*values))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("reason", "values"),
    [
        ("it does not hold what was sent", (PRINTED_RESULT,)),
        ("it does not hold what was sent", ({"session_id": "s", "response": "done", "stats": {"models": {}}},)),
        ("it does not hold what was sent", ({"type": "thread.started", "thread_id": "t"},)),
        ("it does not hold what was sent", ({"type": "step_start", "timestamp": 1, "sessionID": "ses_1", "part": {}},)),
        ("it does not hold what was sent", ({"type": "init", "session_id": "s", "model": "m"},)),
        ("must begin with `ATIF-`", ({"schema_version": "1.5", "steps": [{"step_id": 1, "source": "user"}]},)),
        ("under ~/.claude/projects", ({"display": "hi", "pastedContents": {}, "timestamp": 1},)),
        ("what was sent to the model", ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}},)),
        ("what was sent to the model", ({"version": 2, "width": 80, "height": 24}, [0.2, "o", "hi"])),
        ("the sessions lie beside it", ({"version": 1, "entries": [{"sessionId": "s", "fullPath": "/s.jsonl"}]},)),
        ("under ~/.claude/projects", ({"numStartups": 3, "projects": {"/w": {"lastSessionId": "s"}}},)),
        ("under ~/.claude/projects", ([{"content": "do it", "status": "pending", "activeForm": "Doing it"}],)),
        ("under ~/.codex/sessions", ({"id": "s", "thread_name": "x", "updated_at": "t"},)),
        ("`--format openai-chat`", ({"session_id": "s", "platform": "cli", "session_start": "t", "messages": [USER]},)),
        ("under ~/.cline", ({"type": "message", "role": "user", "text": "hi"},) * 2),
    ],
)  # fmt: skip
def test_detect_of_a_foreign_format_says_what_to_do_when_that_is_known(
    reason: str, values: tuple[Any, ...]
) -> None:
    with pytest.raises(UnknownFormat, match=reason):
        detect(head_of(*values))


KEPT_CHATS: list[Any] = [
    {"id": "c1", "title": "A chat", "messages": [USER, {"role": "assistant", "content": "hello"}]},
    {"createdAt": "2026-01-01", "messages": [USER, {"role": "assistant", "content": "hello"}]},
    {"metadata": {"session_id": "s"}, "messages": [USER, {"role": "assistant", "content": "hello"}]},
    [{**USER, "timestamp": "2026-01-01"}, {"role": "assistant", "content": "hello", "timestamp": "2026-01-01"}],
    [{"id": 1, **USER}, {"id": 2, "role": "assistant", "content": "hello"}],
    {"messages": [{"sender": "human", "text": "hi"}, {"sender": "bot", "text": "hello"}]},
    {"chat": [{"author": "user", "body": "hi"}, {"author": "assistant", "body": "hello"}]},
    [USER, {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "look"}]},
     {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "result": 1}]}],
    [{**USER, "type": "message"}, {"role": "assistant", "type": "code", "format": "python", "content": "print(1)"},
     {"role": "computer", "type": "console", "format": "output", "content": "1"}],
    [{"role": "user", "content": {"text": "hi"}}, {"role": "assistant", "content": {"text": "hello"}}],
    [{"role": "user", "content": [{"text": "hi"}]}, {"role": "assistant", "content": [{"toolUse": {"name": "look"}}]},
     {"role": "user", "content": [{"toolResult": {"content": []}}]}],
]  # fmt: skip
"""Chats as programs keep them that nobody here knows: none is a body of an API."""


@pytest.mark.parametrize("value", KEPT_CHATS)
def test_detect_of_a_chat_of_an_unknown_program_refuses_it_as_one(value: Any) -> None:
    with pytest.raises(UnknownFormat, match="this looks like a chat of an unknown program"):
        detect(head_of(value))


@pytest.mark.parametrize("value", KEPT_CHATS[3:5])
def test_detect_of_a_chat_of_an_unknown_program_a_line_each_refuses_it_as_one(
    value: list[Any],
) -> None:
    with pytest.raises(UnknownFormat, match="this looks like a chat of an unknown program"):
        detect(head_of(*value))


def test_detect_of_anything_else_is_one_plain_sentence() -> None:
    with pytest.raises(UnknownFormat) as caught:
        detect(head_of({"hello": "world"}))
    assert (
        str(caught.value)
        == "unrecognised file format. The formats that can be read are listed in docs/formats.md"
    )


@pytest.mark.parametrize(
    ("title", "data"),
    [
        ("an Inspect .eval log", b"PK\x03\x04\x14\x00header.json"),
        ("a zip archive", b"PK\x03\x04\x14\x00word/document.xml"),
        ("an SQLite database", b"SQLite format 3\x00\x10"),
        ("the write-ahead log of a database", b"\x37\x7f\x06\x82" + bytes(40)),
        ("a VCR cassette", b"interactions:\n- request:\n"),
        ("a VCR cassette", b"# made by a test\ninteractions:\n"),
        ("an Aider chat log", b"\n# aider chat started at 2025-01-01\n\n#### hello\n"),
        (
            "the stream of an answer alone",
            b'event: message_start\ndata: {"type":"message_start"}\n\n',
        ),
        (
            "the stream of an answer alone",
            b': ping\r\n\r\ndata: {"object":"chat.completion.chunk"}\r\n\r\n',
        ),
        (
            "the stream of an answer alone",
            b'event: response.created\nid: 1\ndata:{"type":"response.created"}\n',
        ),
        ("a Cursor chat", b"user:\n<user_query>\nhi\n</user_query>\n\nassistant:\nhello\n"),
    ],
)
def test_detect_of_a_text_or_binary_file_refuses_it_by_its_first_bytes(
    title: str, data: bytes
) -> None:
    with pytest.raises(UnknownFormat, match=f"this looks like {title}"):
        detect(Head((), None, data))


def test_aiders_log_is_known_by_its_first_lines() -> None:
    begin = b"TO LLM 2025-01-31T11:21:36\n-------\nSYSTEM Act.\n"
    assert detect(Head((), None, begin)).name == "aider"
    for other in (
        b"I sent it TO LLM 2025-01-31T11:21:36\n-------\n",
        b"data: nothing that is JSON\n",
    ):
        with pytest.raises(UnknownFormat, match="unrecognised file format"):
            detect(Head((), None, other))


def test_by_name() -> None:
    assert detect(head_of({"hello": "world"}), "codex").name == "codex"
    with pytest.raises(UnknownFormat, match="openai-chat"):
        detect(head_of(CLAUDE), "word")


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
