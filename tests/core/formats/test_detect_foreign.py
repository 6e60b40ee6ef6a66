"""Detection of what cannot be read: each is refused by its name, in one sentence."""

from typing import Any

import pytest

from inspector.core.errors import UnknownFormat
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from tests.core.formats.detect_samples import CLAUDE, FOREIGN, USER
from tests.core.formats.heads import head_of

PRINTED_RESULT = {
    "type": "result",
    "subtype": "success",
    "session_id": "s",
    "num_turns": 2,
    "result": "done",
}


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
