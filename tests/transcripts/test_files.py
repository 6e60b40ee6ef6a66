"""Opening a transcript: progress, first picture, cancel, companions, packed files, problems with their lines."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from inspector.core.errors import Cancelled, InspectorError, UnknownFormat
from inspector.core.jsontext import dumps
from inspector.core.session import Session
from inspector.transcripts.files import open_transcript
from tests.core.formats.feeding import DATA
from tests.transcripts.made import lines_of, record, write


def same(one: Session, other: Session) -> bool:
    """Do both hold the same threads, requests and buffers?"""

    def told(session: Session) -> list[object]:
        return [
            [thread.id, list(thread.messages), thread.end.messages(), list(thread.compactions)]
            + [(r.index, r.usage, r.finish, r.view.messages(), r.prompt) for r in thread.requests]
            for thread in session.threads
        ]

    return told(one) == told(other)


def test_every_line_is_read(tmp_path: Path) -> None:
    session = open_transcript(write(tmp_path, lines_of(40)))
    assert (session.format, len(session.main.requests), list(session.problems)) == (
        "claude-code",
        20,
        [],
    )
    assert session.path == str(tmp_path / "session.jsonl")


def test_the_name_may_be_a_string(tmp_path: Path) -> None:
    assert open_transcript(str(write(tmp_path, lines_of(4)))).main.requests


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(400, 3000))
    told: list[tuple[int, int]] = []
    open_transcript(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told == sorted(told)
    assert told[-1] == (size, size)
    assert len(told) > 3


def test_the_first_picture_comes_early_and_once(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(1000, 3000))
    order: list[Any] = []
    session = open_transcript(
        path, first=order.append, progress=lambda done, total: order.append(done)
    )
    (picture,) = [one for one in order if isinstance(one, Session)]
    assert 20 <= len(picture.main.requests) < len(session.main.requests) == 500
    assert order[order.index(picture) - 1] < path.stat().st_size / 3
    assert list(picture.main.messages) == list(session.main.messages)[: len(picture.main.messages)]


def test_a_short_file_needs_no_first_picture(tmp_path: Path) -> None:
    pictures: list[Session] = []
    open_transcript(write(tmp_path, lines_of(4)), first=pictures.append)
    assert not pictures


def test_cancel(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(1000, 3000))
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 4

    with pytest.raises(Cancelled):
        open_transcript(path, cancelled=cancelled)
    assert len(asked) == 5


def test_a_format_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    assert open_transcript(path, format="claude-code").main.requests
    with pytest.raises(UnknownFormat, match="choose one of"):
        open_transcript(path, format="nothing")


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_packed_files_open_as_they_are(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path, lines_of(40))
    data = path.read_bytes()
    packed = tmp_path / "packed"
    packed.write_bytes(compress(data))
    assert same(open_transcript(packed), open_transcript(path))
    half = data.index(b"\n", len(data) // 2)
    packed.write_bytes(compress(data[:half]) + compress(data[half:]) + bytes(512))
    assert same(open_transcript(packed), open_transcript(path))


@pytest.mark.parametrize(
    "compress", [partial(gzip.compress, compresslevel=1), partial(zstandard.compress, level=-5)]
)
def test_a_torn_packed_file_keeps_what_was_readable(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    data = b"".join(lines_of(4000, 500))
    packed = compress(data)
    (tmp_path / "torn.gz").write_bytes(packed[: len(packed) // 2])
    session = open_transcript(tmp_path / "torn.gz")
    assert 10 < len(session.main.requests) < 2000
    whats = [problem.what for problem in session.problems]
    assert "the packed file ends in the middle; shown is what could be unpacked" in whats
    assert any(what.startswith("torn last line") for what in whats)


@pytest.mark.parametrize(
    "compress", [partial(gzip.compress, compresslevel=1), partial(zstandard.compress, level=-5)]
)
def test_a_damaged_packed_file_keeps_what_was_readable(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    packed = bytearray(compress(b"".join(lines_of(4000, 500))))
    packed[len(packed) * 3 // 4 :] = b"\xff" * (len(packed) // 4)
    (tmp_path / "damaged.gz").write_bytes(packed)
    session = open_transcript(tmp_path / "damaged.gz")
    assert session.main.requests
    assert any("damaged" in problem.what for problem in session.problems)


def test_companions_bring_their_threads(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(6))
    agent = [record(n, sidechain="a1") for n in range(4)]
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    write(folder, [*agent[:3], b"{bad\n", agent[3]], "agent-a1.jsonl")
    write(folder, [record(0, session="another", sidechain="b")], "agent-b.jsonl")
    (folder / "agent-empty.jsonl").write_bytes(b"")
    session = open_transcript(path)
    assert [thread.id for thread in session.threads] == ["main", "a1"]
    files = {(problem.file, problem.line) for problem in session.problems}
    assert files == {
        ("session/subagents/agent-a1.jsonl", 4),
        ("session/subagents/agent-empty.jsonl", 0),
    }


def test_progress_counts_companions(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(6))
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    other = write(folder, [record(n, sidechain="a1") for n in range(4)], "agent-a1.jsonl")
    told: list[tuple[int, int]] = []
    open_transcript(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size + other.stat().st_size
    assert told[-1] == (size, size)


def respaced(lines: Sequence[bytes]) -> list[bytes]:
    """The same JSON with other white space and every character escaped."""
    return [
        json.dumps(json.loads(line), separators=(" ,  ", " : ")).encode() + b" \r\n"
        for line in lines
    ]


def test_spacing_changes_nothing(tmp_path: Path) -> None:
    lines = lines_of(40)
    one, other = write(tmp_path, lines), write(tmp_path, respaced(lines), "other.jsonl")
    assert other.read_bytes() != one.read_bytes()
    assert same(open_transcript(one), open_transcript(other))


def test_a_document_may_be_laid_out(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": 'hi {\n"x": 1}'}] * 3,
    }
    sessions = []
    for n, text in enumerate(
        (
            dumps(body),
            json.dumps(body, indent=1),
            json.dumps(body, indent="\t").replace("\n", "\r\n"),
        )
    ):
        (tmp_path / f"{n}.json").write_text(text, encoding="utf-8", newline="")
        sessions.append(open_transcript(tmp_path / f"{n}.json"))
    assert len(sessions[0].main.end) == 3
    assert same(sessions[0], sessions[1])
    assert same(sessions[0], sessions[2])


def test_real_files_respaced_are_the_same(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "clients").glob("*.jsonl")):
        if path.name.startswith("gemini"):
            continue
        other = write(tmp_path, respaced(path.read_bytes().splitlines(keepends=True)), path.name)
        assert same(open_transcript(path), open_transcript(other))


def test_the_wrong_format_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    for name in ("codex", "pi", "gemini-cli", "opencode", "openai-chat", "anthropic"):
        with pytest.raises(
            UnknownFormat,
            match=r"nothing in it can be read as .*; it looks like Claude Code session",
        ):
            open_transcript(path, format=name)
    header = write(
        tmp_path, [b'{"type":"session","version":3,"id":"a","cwd":"/x"}\n'], "begun.jsonl"
    )
    assert not open_transcript(header, format="pi").main.messages  # a session that has just begun


def read_all() -> int:
    """All the samples, let go at once; how many threads they had."""
    known = 0
    for path in sorted(path for path in DATA.rglob("*") if path.is_file()):
        with suppress(InspectorError):
            known += len(open_transcript(path).threads)
    return known


def test_what_was_read_is_freed_when_it_is_let_go() -> None:
    """What is frozen (`files.no_collection`) is never looked at again: a circle in it would stay for ever.

    In a process of its own: what other tests leave behind is none of it.
    """
    program = """
import gc
from tests.transcripts.test_files import read_all
read_all()  # what the first time leaves behind is the libraries'
gc.unfreeze()
gc.collect()
known = read_all()
gc.unfreeze()
print(known > 50, gc.collect())
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["True", "0"]
