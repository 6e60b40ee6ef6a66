"""Whose request is it, and what for? Tables: by what real clients send along."""

import json
from typing import Any

import pytest

from inspector.core.dialects.catalogue import endpoint
from inspector.core.formats.proxy.keys import ClientKey, key_of, name_client, read_headers
from inspector.core.formats.proxy.side import RequestSigns, plain_kind, side_kind

USER = json.dumps({"device_id": "d", "account_uuid": "", "session_id": "5e55-1"})
OLD_USER = "user_abc_account__session_5e55aaaa-0001"
TURN = {"request_kind": "turn", "thread_id": "t-1", "session_id": "t-1"}
SPAWNED = {"request_kind": "turn", "thread_id": "t-2", "thread_source": "subagent"}


@pytest.mark.parametrize(
    ("headers", "body", "tag", "key"),
    [
        ({"x-claude-code-session-id": "s"}, {}, "", ClientKey("claude-code", "s", strong=True)),
        (
            {
                "x-claude-code-session-id": "s",
                "x-claude-code-agent-id": "a",
                "x-claude-code-parent-agent-id": "b",
            },
            {},
            "tag",
            ClientKey("claude-code", "s", "a", "b", strong=True, sub=True),
        ),
        (
            {"user-agent": "claude-cli/2.1.330 (external, sdk-cli)"},
            {"metadata": {"user_id": USER}},
            "",
            ClientKey("claude-code", "5e55-1", strong=True),
        ),
        (
            {},
            {"metadata": {"user_id": OLD_USER}},
            "",
            ClientKey("claude-code", "5e55aaaa-0001", strong=True),
        ),
        ({}, {"metadata": {"user_id": "somebody"}}, "", ClientKey()),
        (
            {"session-id": "t-1", "thread-id": "t-1", "user-agent": "codex_exec/0.169.0"},
            {"prompt_cache_key": "t-1"},
            "",
            ClientKey("codex", "t-1", strong=True),
        ),
        (
            {"session-id": "t-1", "thread-id": "t-2", "x-openai-subagent": "collab_spawn"},
            {"prompt_cache_key": "t-1"},
            "",
            ClientKey("codex", "t-1", "t-2", strong=True, sub=True),
        ),
        (
            {"session-id": "t-1", "thread-id": "t-3", "x-codex-parent-thread-id": "t-2"},
            {},
            "",
            ClientKey("codex", "t-1", "t-3", "t-2", strong=True, sub=True),
        ),
        (
            {"session-id": "t-1", "x-codex-turn-metadata": json.dumps(SPAWNED)},
            {},
            "",
            ClientKey("codex", "t-1", "t-2", strong=True, sub=True),
        ),
        (
            {"x-codex-turn-metadata": json.dumps(TURN)},
            {},
            "",
            ClientKey("codex", "t-1", strong=True),
        ),
        (
            {"user-agent": "codex_cli_rs/0.98.0", "conversation_id": "c-1"},
            {"prompt_cache_key": "c-1"},
            "",
            ClientKey("codex", "c-1", strong=True),
        ),
        (
            {},
            {"client_metadata": {"x-codex-turn-metadata": json.dumps(TURN)}},
            "",
            ClientKey("codex", "t-1", strong=True),
        ),
        (
            {"x-session-id": "ses_1", "x-session-affinity": "ses_1"},
            {},
            "",
            ClientKey("opencode", "ses_1", strong=True),
        ),
        (
            {
                "x-session-id": "ses_2",
                "x-parent-session-id": "ses_1",
                "user-agent": "opencode/1.18",
            },
            {},
            "",
            ClientKey("opencode", "ses_1", "ses_2", strong=True, sub=True),
        ),
        (
            {"session_id": "p-1", "user-agent": "pi/0.87.1"},
            {"prompt_cache_key": "p-1"},
            "",
            ClientKey("pi", "p-1", strong=True),
        ),
        (
            {"user-agent": "OpenAI/Python 2.1"},
            {"prompt_cache_key": "shared"},
            "x",
            ClientKey("OpenAI", "shared"),
        ),
        ({"user-agent": "litellm/1.106"}, {}, "launch-1", ClientKey("litellm", "tag launch-1")),
        ({}, {}, "", ClientKey()),
        ({}, {"metadata": 3, "prompt_cache_key": 4, "client_metadata": [1]}, "", ClientKey()),
    ],
)
def test_keys(headers: dict[str, str], body: dict[str, Any], tag: str, key: ClientKey) -> None:
    assert key_of(headers, body, tag) == key


def test_a_subagent_without_a_name_of_its_own() -> None:
    key = key_of(
        {"x-claude-code-session-id": "s"},
        {},
        "",
        "x-anthropic-billing-header: cc_is_subagent=true;",
    )
    assert (key.strong, key.sub, key.thread) == (True, True, "")


def test_the_body_goes_before_the_headers_of_a_connection() -> None:
    """A WebSocket's headers tell of its first frame."""
    body = {"client_metadata": {"x-codex-turn-metadata": json.dumps({**TURN, "thread_id": "t-9"})}}
    assert (
        key_of({"x-codex-turn-metadata": json.dumps(TURN), "session-id": "t-1"}, body).session
        == "t-1"
    )


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude-cli/2.1.330 (external, cli)", "claude-code"),
        ("codex_cli_rs/0.169.0 (Linux)", "codex"),
        ("opencode/1.18.33", "opencode"),
        ("GeminiCLI/0.61.0/gemini-3 (linux)", "gemini-cli"),
        ("OpenAI/JS 5.0", "OpenAI"),
        ("pi/0.87.1 (linux)", "pi"),
        ("pipeline/3", "pipeline"),
        ("", ""),
    ],
)
def test_clients(agent: str, name: str) -> None:
    assert name_client({"user-agent": agent}) == name


def test_headers_that_were_not_recorded_are_absent() -> None:
    told = [
        ["X-A", "1"],
        ["x-a", "2"],
        ["Authorization", "(redacted)"],
        "torn",
        ["only"],
        [1, 2],
        None,
    ]
    assert read_headers(told) == {"x-a": "1"}
    assert read_headers({"x": "y"}) == {}


@pytest.mark.parametrize(
    ("method", "path", "purpose", "dialect", "model"),
    [
        ("POST", "/v1/messages?beta=true", "call", "anthropic", ""),
        ("POST", "/v1/messages/count_tokens?beta=true", "count", "anthropic", ""),
        ("POST", "/api/anthropic/v1/messages/", "call", "anthropic", ""),
        ("POST", "/v1/chat/completions", "call", "openai-chat", ""),
        ("POST", "/openai/deployments/x/chat/completions?api-version=1", "call", "openai-chat", ""),
        ("POST", "/v1/responses", "call", "openai-responses", ""),
        ("POST", "/backend-api/codex/responses", "call", "openai-responses", ""),
        ("POST", "/v1/responses/compact", "compact", "openai-responses", ""),
        ("POST", "/v1/responses/input_tokens", "count", "openai-responses", ""),
        (
            "POST",
            "/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
            "call",
            "gemini",
            "gemini-3",
        ),
        ("POST", "/v1beta/models/gemini-3:generateContent", "call", "gemini", "gemini-3"),
        ("POST", "/v1beta/models/gemini-3:countTokens", "count", "gemini", "gemini-3"),
        ("POST", "/v1internal:streamGenerateContent?alt=sse", "call", "gemini", ""),
        ("HEAD", "/v1/messages", "other", None, ""),
        ("DELETE", "/v1/responses", "other", None, ""),
        ("GET", "/v1/models", "other", None, ""),
        ("POST", "/v1/embeddings", "other", None, ""),
    ],
)
def test_endpoints(method: str, path: str, purpose: str, dialect: str | None, model: str) -> None:
    found = endpoint(method, path)
    assert (found.purpose, found.dialect.name if found.dialect else None, found.model) == (
        purpose,
        dialect,
        model,
    )


def schema(place: str, *names: str) -> dict[str, Any]:
    inner = {"type": "object", "properties": {key: {"type": "string"} for key in names}}
    found: dict[str, dict[str, Any]] = {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": inner}}},
        "responses": {"text": {"format": {"type": "json_schema", "schema": inner}}},
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"schema": inner}}},
        "gemini": {"generationConfig": {"responseJsonSchema": inner}},
    }
    return found[place]


TEXT_ONLY = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n"
    "Your task is to create a detailed summary of ..."
)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("", RequestSigns(tools=3, messages=1, last="Fix the parser.")),
        (
            "",
            RequestSigns(
                messages=4,
                last="Summarize this conversation for me please.",
                system="You are an assistant.",
            ),
        ),
        (
            "title",
            RequestSigns(
                schema("anthropic", "title"), messages=1, last="<session>\nfix\n</session>"
            ),
        ),
        ("title", RequestSigns(schema("responses", "title"), messages=2)),
        (
            "title",
            RequestSigns(
                messages=2, first="Generate a title for this conversation:\n", last="fix the parser"
            ),
        ),
        (
            "title",
            RequestSigns(
                messages=1, system="You are a title generator. You output ONLY a thread title."
            ),
        ),
        (
            "title",
            RequestSigns(
                headers={"x-codex-turn-metadata": '{"thread_source":"thread_title"}'}, messages=2
            ),
        ),
        ("", RequestSigns(schema("anthropic", "answer"), messages=3, last="x")),
        ("quota probe", RequestSigns({"max_tokens": 1}, messages=1, last="quota", first="quota")),
        ("", RequestSigns({"max_tokens": 1}, messages=7, last="yes or no?")),
        (
            "router",
            RequestSigns(schema("gemini", "complexity_reasoning", "complexity_score"), messages=3),
        ),
        ("next speaker", RequestSigns(schema("gemini", "reasoning", "next_speaker"), messages=9)),
        ("prewarm", RequestSigns({"generate": False}, tools=9)),
        (
            "prewarm",
            RequestSigns(headers={"x-codex-turn-metadata": '{"request_kind":"prewarm"}'}, tools=9),
        ),
        (
            "compaction",
            RequestSigns(
                headers={"x-codex-turn-metadata": '{"request_kind":"compaction"}'}, tools=9
            ),
        ),
        ("compaction", RequestSigns(tools=9, messages=40, trigger=True)),
        ("compaction", RequestSigns(tools=28, messages=60, last=TEXT_ONLY)),
        (
            "compaction",
            RequestSigns(
                messages=20, last="You are performing a CONTEXT CHECKPOINT COMPACTION. Create a ..."
            ),
        ),
        (
            "compaction",
            RequestSigns(
                messages=1,
                system="You are a context summarization assistant. Your task ...",
                last="<c>",
            ),
        ),
        ("compaction", RequestSigns(messages=1, last="Here is the conversation so far:\n...")),
        (
            "compaction",
            RequestSigns(
                messages=4, system="You are ... the entire history ... a <state_snapshot>. history"
            ),
        ),
        (
            "compaction",
            RequestSigns(
                messages=1,
                system="*Briefly* summarize this partial conversation about programming.",
            ),
        ),
        # the trap: what stands in the buffer after a compaction speaks of summaries, too
        (
            "",
            RequestSigns(
                tools=9,
                messages=2,
                last="This session is being continued from a previous conversation ...",
            ),
        ),
        (
            "",
            RequestSigns(
                messages=1,
                last="Another language model started to solve this problem and produced a summary",
            ),
        ),
        (
            "",
            RequestSigns(
                messages=1,
                last="The conversation history before this point was compacted into the following",
            ),
        ),
        (
            "",
            RequestSigns(
                tools=4, messages=3, last="Here is the conversation so far, it says. Now fix it."
            ),
        ),
        (
            "",
            RequestSigns(
                tools=4, messages=9, last="Look for CRITICAL: Respond with TEXT ONLY in the sources"
            ),
        ),
        ("warm-up", RequestSigns(messages=1, last="Warmup", first="Warmup", tools=3)),
    ],
)
def test_side_calls(kind: str, asked: RequestSigns) -> None:
    assert side_kind(asked) == kind


@pytest.mark.parametrize(
    ("purpose", "method", "path", "kind"),
    [
        ("count", "POST", "/v1/messages/count_tokens", "token count"),
        ("compact", "POST", "/v1/responses/compact", "compaction"),
        ("other", "GET", "/v1/models?client_version=1", "models"),
        ("other", "GET", "/v1beta/models/gemini-3", "models"),
        ("other", "HEAD", "/", "connection check"),
        ("other", "GET", "/v1/responses", "connection check"),
        ("other", "POST", "/api/event_logging/batch", "telemetry"),
        ("other", "POST", "/v1/embeddings", "other"),
    ],
)
def test_what_is_no_call_of_a_model(purpose: str, method: str, path: str, kind: str) -> None:
    assert plain_kind(purpose, method, path) == kind
