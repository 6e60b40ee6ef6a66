"""A reader that makes nothing of a file gives it back: to the next format, in the end to a refusal by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.core.errors import UnknownFormat
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.detect_samples import FOREIGN
from tests.shared import TRANSCRIPTS

READ = {
    "claude-stream.jsonl": "claude-code",
    "helicone.json": "openai-chat",
    "litellm-spend.json": "openai-chat",
    "qwen.jsonl": "qwen-code",
}
"""Of the files in foreign shapes, those that hold what was sent and what came back."""
SHAPES = {
    path.name: path.read_bytes() for path in sorted(TRANSCRIPTS.parent.glob("broken/shapes/*"))
} or {
    f"{number}-{name}.jsonl": b"".join(json.dumps(value).encode() + b"\n" for value in values)
    for number, (name, values) in enumerate(FOREIGN)
}
"""Files in foreign shapes: those that lie beside the real transcripts, else made-up ones."""


def put(folder: Path, *values: Any) -> Path:
    path = folder / "file.jsonl"
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UnknownFormat) as caught:
        open_transcript(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    return sentence.removeprefix(f"{path}: ")


USED = {"input_tokens": 90, "output_tokens": 4}
ANSWER = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "oak",
    "content": [],
    "usage": USED,
}


def test_a_file_whose_surest_reader_finds_nothing_is_read_by_the_next_one(tmp_path: Path) -> None:
    """One stray line has the mark of Claude Code; all the others are exchanges with a model."""
    body = {"model": "claude-oak", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    exchange = {"request": body, "response": ANSWER}
    session = open_transcript(
        put(tmp_path, {"type": "custom-title", "title": "t"}, exchange, exchange, exchange)
    )
    assert session.format == "anthropic"
    assert sum(len(thread.requests) for thread in session.threads) == 3


def test_a_file_that_no_reader_understands_is_refused_with_the_first_problem(
    tmp_path: Path,
) -> None:
    odd = {
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s",
        "type": "user",
        "message": {"role": "user", "words": []},
    }
    sentence = refusal(put(tmp_path, odd, {**odd, "uuid": "b"}))
    assert sentence.startswith(
        "this looks like a Claude Code session, but its records cannot be read as such"
    )
    assert "line 1: user record without content" in sentence


def test_a_file_that_no_reader_understands_is_refused_by_its_foreign_name(tmp_path: Path) -> None:
    """The head of pi's sessions, with `cwd`, before the records of another harness."""
    head = {"type": "session", "version": 3, "id": "x", "createdAt": 1, "cwd": "/w"}
    record = {"type": "permission/preset", "seq": 0, "data": {}}
    assert refusal(put(tmp_path, head, record, record)).startswith(
        "this looks like a DeepSeek Harness session"
    )


def test_a_session_that_has_only_begun_stays_open(tmp_path: Path) -> None:
    """A head without a call, or a prompt without an answer, is no mistake."""
    meta = {"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "cwd": "/"}}
    assert open_transcript(put(tmp_path, meta)).format == "codex"
    pi = {"type": "session", "version": 3, "id": "x", "timestamp": "t", "cwd": "/w"}
    assert open_transcript(put(tmp_path, pi)).format == "pi"


def test_following_gives_a_file_back_as_opening_does(tmp_path: Path) -> None:
    body = {"model": "claude-oak", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    exchange = {"request": body, "response": ANSWER}
    path = put(tmp_path, {"type": "custom-title", "title": "t"}, exchange, exchange)
    seen: list[Session] = []
    Follower(path, seen.append).look()
    assert [session.format for session in seen] == ["anthropic"]


def test_a_chat_of_an_unknown_program_opens_when_its_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    path.write_text(json.dumps({"id": "c", "title": "A chat", "messages": messages}))
    assert "`--format openai-chat`" in refusal(path)
    assert [message.text for message in open_transcript(path, format="openai-chat").main.end] == [
        "hi",
        "hello",
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_in_a_foreign_shape_is_read_rightly_or_refused_by_name(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(SHAPES[name])
    if name in READ:
        session = open_transcript(path)
        assert session.format == READ[name]
        assert all(request.usage for request in session.main.requests)
    else:
        assert refusal(path).startswith("this looks like ")
