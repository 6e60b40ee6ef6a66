"""Files that hold values beyond all bounds: each opens, or ends in a sentence; nothing takes the memory or for ever."""

import gzip
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from inspector.cli import main as cli
from inspector.core.errors import NothingToRead
from inspector.core.formats import opencode
from inspector.core.formats.detect import FORMATS
from inspector.core.formats.format import Format
from inspector.core.formats.journal import FORMAT as JOURNAL
from inspector.core.session import Session
from inspector.core.usage import ABSURD
from inspector.transcripts import unpack
from inspector.transcripts.files import open_transcript
from tests.core.formats import opencode_rows
from tests.core.formats.recordings import Recording, body, said, text, user
from tests.core.formats.test_gemini_cli import FIRST
from tests.transcripts.made import lines_of, write

LINES = lines_of(8)
USED = b'"input_tokens":'


def problems(session: Session) -> list[tuple[int, str]]:
    return [(problem.line, problem.what) for problem in session.problems]


def opened(folder: Path, *lines: bytes) -> Session:
    return open_transcript(write(folder, lines))


def fed(form: Format, *values: Any) -> Session:
    reader = form.start()
    for line, value in enumerate(values, 1):
        reader.feed(line, value)
    return reader.session()


def counting(number: str) -> list[bytes]:
    """A session whose second answer reports so many tokens."""
    lines = list(LINES)
    value = json.loads(lines[3])
    value["message"]["usage"]["input_tokens"] = 4711
    lines[3] = json.dumps(value).replace("4711", number).encode() + b"\n"
    return lines


@pytest.mark.parametrize(
    "number", ["1000000000001", "1e13", "1e30", "1" + "0" * 300, "1" + "0" * 309, "1e400", "-1e400"]
)
def test_a_count_that_there_cannot_be_is_a_problem_and_no_count(
    tmp_path: Path, number: str
) -> None:
    session = opened(tmp_path, *counting(number))
    assert (4, ABSURD) in problems(session)
    assert {line for line, _ in problems(session)} == {4}
    requests = session.main.requests
    assert [request.usage is None for request in requests] == [False, True, False, False]
    assert len(session.main.messages) == 8


@pytest.mark.parametrize("number", ["0", "1000000000000"])
def test_the_largest_count_is_one(tmp_path: Path, number: str) -> None:
    session = opened(tmp_path, *counting(number))
    assert not problems(session)
    usage = session.main.requests[1].usage
    assert usage is not None
    assert usage.input == int(number)


@pytest.mark.parametrize("word", ["NaN", "-Infinity"])
def test_what_is_no_number_is_told_and_the_line_is_read(tmp_path: Path, word: str) -> None:
    session = opened(tmp_path, *counting(word))
    assert problems(session) == [(4, f"{word} is no number in JSON; it was read as null")]
    assert len(session.main.messages) == 8


def test_a_document_on_one_line_may_hold_what_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    message = {
        "id": "1",
        "type": "user",
        "timestamp": "t",
        "content": "hello",
        "score": float("nan"),
    }
    path.write_text(
        json.dumps({"sessionId": "1", "projectHash": "", "startTime": "", "messages": [message]})
    )
    session = open_transcript(path)
    assert (session.format, len(session.main.messages)) == ("gemini-cli", 1)


@pytest.mark.parametrize("levels", [201, 500, 990, 5_000])
def test_a_line_that_is_nested_too_deeply_is_left_out(tmp_path: Path, levels: int) -> None:
    for key in ("type", "uuid", "message", "version", "x"):
        deep = b'{"%s":' % key.encode() + b"[" * levels + b"]" * levels + b"}\n"
        session = opened(tmp_path, *LINES[:4], deep, *LINES[4:])
        assert problems(session) == [
            (5, "not JSON: nested deeper than 200 levels; the line was left out")
        ]
        assert len(session.main.messages) == 8


def test_a_document_that_is_nested_too_deeply_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    for indent in (None, 1):
        value = {
            "sessionId": "1",
            "messages": [{"id": "1", "type": json.loads("[" * 500 + "]" * 500)}],
        }
        path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
        with pytest.raises(NothingToRead, match="nested deeper than 200 levels"):
            open_transcript(path)


def test_every_reader_tells_absurd_counts() -> None:
    called = opencode_rows.assistant("m2", 20, 10**13, "said")
    recording = Recording()
    recording.reply(recording.ask(body([user("hi")])), said(text("yes"), tokens=10**13))
    answer = {
        "text": "",
        "messages": [{"id": "a", "role": "assistant", "parts": []}],
        "usage": {"input": 10**13},
    }
    journal = [
        {"type": "journal", "id": "1"},
        {"type": "request", "thread": "main"},
        {"type": "answer", "thread": "main", "answer": answer},
    ]
    gemini = [
        {**value, "tokens": {"input": 10**13}} if "tokens" in value else value for value in FIRST
    ]
    sessions = {
        "opencode": fed(
            opencode.FORMAT, opencode_rows.export(opencode_rows.user("m1", 1, "x"), called)
        ),
        "proxy": recording.session(),
        "journal": fed(JOURNAL, *journal),
        "gemini-cli": _told("gemini-cli", *gemini),
        "codex": _told("codex", *_CODEX),
        "pi": _told("pi", *_PI),
        "anthropic": _told(
            "anthropic", {"request": body([user("hi")]), "response": said(tokens=10**13)}
        ),
    }
    for name, session in sessions.items():
        assert ABSURD in [what for _, what in problems(session)], name
        assert all(request.usage is None for request in session.main.requests), name


def _told(name: str, *values: Any) -> Session:
    return fed(next(one for one in FORMATS if one.name == name), *values)


_LAST = {"input_tokens": 10**13, "output_tokens": 1}
_CODEX = (
    {"type": "session_meta", "payload": {"id": "1"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
    {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": _LAST}}},
)
_SAID = {
    "role": "assistant",
    "content": [{"type": "text", "text": "x"}],
    "usage": {"input": 10**13},
}
_PI = (
    {"type": "session", "id": "1", "version": 3},
    {"type": "message", "id": "2", "parentId": None, "message": {"role": "user", "content": "x"}},
    {"type": "message", "id": "3", "parentId": "2", "message": _SAID},
)


def test_fates_of_any_kind_in_a_journal() -> None:
    tier = {
        "type": "tier",
        "thread": "main",
        "tier": "L1",
        "buffer": {"parts": []},
        "fates": {"a": {"b": []}, "c": ["cleared"]},
    }
    session = fed(JOURNAL, {"type": "journal", "id": "1"}, tier)
    assert [one.cleared for one in session.main.compactions] == [()]


# packed


def packed(path: Path, *pieces: bytes) -> Path:
    data = b"".join(pieces)
    path.write_bytes(
        zstandard.compress(data) if path.suffix == ".zst" else gzip.compress(data, compresslevel=9)
    )
    return path


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_packed_line_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(unpack, "LONGEST_PACKED", 1 << 20)
    bomb = b'{"x":"' + b"y" * 3_000_000 + b'"}\n'
    session = open_transcript(packed(tmp_path / f"s.jsonl.{suffix}", *LINES[:4], bomb, *LINES[4:]))
    assert len(session.main.requests) == 4
    ((line, what),) = problems(session)
    assert (line, what[:30]) == (5, "the line is longer than 1 MB (")
    document = packed(
        tmp_path / f"s.json.{suffix}", b'{\n"model":"m","messages":["' + b"y" * 3_000_000 + b'"]}'
    )
    with pytest.raises(NothingToRead, match="one JSON value of more than 1 MB"):
        open_transcript(document)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_file_that_unpacks_without_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(unpack, "_PLENTY", 1 << 22)
    monkeypatch.setattr(unpack, "LONGEST_PACKED", 1 << 20)
    path = packed(
        tmp_path / f"s.jsonl.{suffix}",
        *LINES,
        *[b'{"type":"x","y":"' + b"y" * 500_000 + b'"}\n'] * 100,
    )
    session = open_transcript(path)
    assert len(session.main.requests) == 4
    (what,) = [what for line, what in problems(session) if line == 0]
    stopped = re.fullmatch(
        r"reading stopped after (\d+) MB: the file unpacks to more than 200 times its size; .*",
        what,
    )
    assert stopped is not None
    assert 4 <= int(stopped[1]) < 21


def test_four_times_the_agents_take_four_times_as_long(tmp_path: Path) -> None:
    """That the time grows as the number does, not as its square: four times as many are far from sixteen times."""

    def took(count: int) -> float:
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in _agents(count)))
        begun = time.process_time()
        assert cli.main(["info", "--json", str(path)]) == 0
        return time.process_time() - begun

    took(10)  # what is imported only once
    few, many = min(took(1000), took(1000)), took(4000)
    assert many < 9 * few


def _agents(count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for n in range(count):
        base: dict[str, Any] = {
            "sessionId": "s",
            "version": "2.1.0",
            "timestamp": f"2026-01-01T{n:08}",
        }
        call = {
            "type": "tool_use",
            "id": f"t{n}",
            "name": "Task",
            "input": {"prompt": "the same words"},
        }
        answer = {
            "id": f"m{n}",
            "role": "assistant",
            "model": "c",
            "usage": {"input_tokens": n + 1},
            "content": [call],
        }
        before = f"u{n - 1}" if n else None
        found.append(
            {**base, "type": "assistant", "uuid": f"u{n}", "parentUuid": before, "message": answer}
        )
        side = {**base, "isSidechain": True, "agentId": f"a{n}"}
        words = {"role": "user", "content": "the same words"}
        found.append(
            {**side, "type": "user", "uuid": f"s{n}", "parentUuid": None, "message": words}
        )
        done = {**answer, "id": f"n{n}", "content": [{"type": "text", "text": "done"}]}
        found.append(
            {**side, "type": "assistant", "uuid": f"d{n}", "parentUuid": f"s{n}", "message": done}
        )
    return found
