"""Following: what is told while a file grows is what opening it tells, whatever pieces the bytes come in."""

import gzip
import json
import os
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.core.errors import NothingToRead, UnknownFormat
from inspector.core.session import Session
from inspector.transcripts import follow as following
from inspector.transcripts.files import TranscriptReading, open_transcript
from inspector.transcripts.follow import Follower, FollowNews, PackedFile, follow
from tests.shared import transcripts
from tests.transcripts.made import lines_of, record, write


class Told(list[Session]):
    """What a follower has told."""

    @property
    def requests(self) -> int:
        """Requests of the main thread, by the last word."""
        return len(self[-1].main.requests)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def told_of(path: Path, **how: Any) -> tuple[Told, Follower]:
    told = Told()
    follower = Follower(path, told.append, **how)
    follower.look()
    return told, follower


def picture(session: Session) -> object:
    """All that a session says, without identity."""
    return [
        (
            thread.id,
            thread.title,
            thread.parent,
            [
                (
                    r.index,
                    r.line,
                    r.time,
                    r.usage,
                    r.model,
                    r.finish,
                    [m.id for m in r.view.messages()],
                )
                for r in thread.requests
            ],
            [message.id for message in thread.end.messages()],
            [(c.before_request, c.kind, c.tokens_before, c.kept) for c in thread.compactions],
        )
        for thread in session.threads
    ]


def test_an_appended_line_is_told_once(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    told, follower = told_of(path)
    assert told.requests == 2
    follower.look()
    assert len(told) == 1  # nothing new: nothing told
    append(path, record(4) + record(5))
    follower.look()
    assert (len(told), told.requests) == (2, 3)
    assert told[-1].path == str(path)
    assert told[0].main.requests[0] is told[1].main.requests[0]  # what was known is not read anew
    assert len(told[0].main.requests) == 2  # a picture stays what it was


def test_what_was_opened_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening hands its reader over; what came between the two is not lost, a sub-agent's file goes on, too."""
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    agent = write(folder, [record(n, sidechain="a1") for n in range(2)], "agent-a1.jsonl")
    path = write(tmp_path, [*lines_of(40), record(40)[:70]])
    kept: list[TranscriptReading] = []
    session = open_transcript(path, keep=kept.append)
    assert picture(session) == picture(open_transcript(path))
    assert [problem.what for problem in session.problems] == [
        p.what for p in open_transcript(path).problems
    ]
    append(path, record(40)[70:] + record(41))
    append(agent, record(2, sidechain="a1") + record(3, sidechain="a1"))
    read = 0
    real = os.read

    def counting(handle: int, size: int) -> bytes:
        nonlocal read
        data = real(handle, size)
        read += len(data)
        return data

    monkeypatch.setattr(os, "read", counting)
    told, follower = told_of(path, opened=kept[0])
    assert (len(told), told.requests, len(told[-1].threads[1].requests)) == (1, 21, 2)
    assert told[-1].main.requests[0] is session.main.requests[0]
    assert not told[-1].problems
    assert read < path.stat().st_size / 2
    follower.look()
    assert len(told) == 1
    path.write_bytes(b"".join(lines_of(2)))
    follower.look()
    assert told.requests == 1
    assert picture(told[-1]) == picture(open_transcript(path))


def test_a_torn_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    told, follower = told_of(path)
    line = record(5)
    append(path, record(4))
    for at in range(0, len(line), 37):
        append(path, line[at : at + 37])
        follower.look()
        follower.look()
    assert told.requests == 3
    assert not told[-1].problems
    assert told[-1].main.requests[-1].line == 6


def test_a_last_line_without_its_end_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    told, follower = told_of(path)
    append(path, record(4) + record(5).rstrip(b"\n"))
    follower.look()
    follower.look()
    assert told.requests == 3
    append(path, b"\n")
    follower.look()
    append(path, record(6) + record(7))
    follower.look()
    assert told.requests == 4
    assert told[-1].main.requests[-1].line == 8
    assert not told[-1].problems


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cuts=st.lists(st.integers(0, 8000), max_size=12),
    ends=st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
)
def test_any_pieces_make_the_same_session(tmp_path: Path, cuts: list[int], ends: bytes) -> None:
    data = b"".join(line.rstrip(b"\n") + ends for line in lines_of(16))
    path = write(tmp_path, [data[: min(cuts, default=0)]])
    told = Told()
    follower = Follower(path, told.append)
    at = path.stat().st_size
    for cut in [*sorted(cuts), len(data)]:
        append(path, data[at:cut])
        at = max(at, cut)
        follower.look()
        follower.look()
    assert picture(told[-1]) == picture(open_transcript(path))
    assert not told[-1].problems


def test_truncated_and_written_anew(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(8))
    told, follower = told_of(path)
    path.write_bytes(b"")
    follower.look()
    assert told.requests == 4  # what was shown stays until there is something else
    append(path, record(0) + record(1))
    follower.look()
    assert told.requests == 1


def test_rewritten_longer_in_place(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    told, follower = told_of(path)
    with path.open("r+b") as file:  # the same file, another content, never shorter
        file.write(b"".join(record(n, session="other") for n in range(6)))
    follower.look()
    assert (told.requests, told[-1].id) == (3, "other")


def test_rewritten_in_place_with_the_same_beginning(tmp_path: Path) -> None:
    """The same file, longer than before, the same first kilobytes: its last bytes tell."""
    path = write(tmp_path, lines_of(20))
    told, follower = told_of(path)
    with path.open("r+b") as file:
        file.write(b"".join([*lines_of(10), *(record(n, 90) for n in range(10, 24))]))
    follower.look()
    assert told.requests == 12
    assert picture(told[-1]) == picture(open_transcript(path))
    assert [message.text for message in told[-1].main.messages] == [
        message.text for message in open_transcript(path).main.messages
    ]
    assert not told[-1].problems


def test_rewritten_in_place_with_the_same_end(tmp_path: Path) -> None:
    """The same file, longer than before, and where it was read to stand the same bytes: its first ones tell."""
    path = write(tmp_path, lines_of(8))
    told, follower = told_of(path)
    with path.open("r+b") as file:
        file.write(record(0).replace(b"user 0", b"user x"))
        file.seek(0, os.SEEK_END)
        file.write(record(8) + record(9))
    follower.look()
    assert told.requests == 5
    assert next(iter(told[-1].main.messages)).text.startswith("user x")


def test_rotated(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(8))
    told, follower = told_of(path)
    os.replace(path, tmp_path / "old.jsonl")
    follower.look()
    follower.look()
    assert told.requests == 4
    write(tmp_path, [record(n, session="next") for n in range(40)])
    follower.look()
    assert (told.requests, told[-1].id) == (20, "next")
    append(path, record(40) + record(41))
    follower.look()
    assert told.requests == 21


def test_replaced_by_a_longer_one_with_the_same_beginning(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(60))
    told, follower = told_of(path)
    write(tmp_path, [*lines_of(30), *(record(n, 80) for n in range(30, 70))], "new.jsonl")
    os.replace(tmp_path / "new.jsonl", path)
    follower.look()
    assert picture(told[-1]) == picture(open_transcript(path))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("truncated", "was truncated: the file was read again from the beginning."),
        ("rewritten", "was rewritten: the file was read again from the beginning."),
        ("replaced", "was replaced by another file: the file was read again from the beginning."),
    ],
)
def test_follower_when_a_file_is_exchanged_says_so_once(
    tmp_path: Path, how: str, sentence: str
) -> None:
    path, news = write(tmp_path, lines_of(8)), list[FollowNews]()
    told, follower = told_of(path, tell=news.append)
    if how == "truncated":
        path.write_bytes(record(0) + record(1))
    elif how == "rewritten":
        path.write_bytes(b"".join(record(n, session="other") for n in range(12)))
    else:
        write(tmp_path, lines_of(4), "new.jsonl")
        os.replace(tmp_path / "new.jsonl", path)
    for _ in range(3):
        follower.look()
    assert told.requests != 4
    assert news == [FollowNews(f"{path} {sentence}")]


def test_follower_when_a_document_is_written_anew_says_nothing(tmp_path: Path) -> None:
    path, news = tmp_path / "body.json", list[FollowNews]()
    body = '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"%s"}]}'
    path.write_text(body % "hello")
    told, follower = told_of(path, tell=news.append)
    path.write_text(body % "hello again")
    follower.look()
    assert len(told) == 2
    assert news == []


def test_follower_when_a_file_is_gone_and_comes_back_says_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "PATIENCE", 0.0)
    path, news = write(tmp_path, lines_of(8)), list[FollowNews]()
    told, follower = told_of(path, tell=news.append)
    data = path.read_bytes()
    path.unlink()
    for _ in range(3):
        follower.look()
    (lost,) = news
    assert lost.is_lost
    assert lost.sentence.startswith(f"{path} no longer exists. ")
    path.write_bytes(data)
    for _ in range(3):
        follower.look()
    assert news[1:] == [FollowNews(f"{path} is back and is followed again.")]
    append(path, record(8) + record(9))
    follower.look()
    assert told.requests == 5
    assert len(news) == 2


def test_an_empty_file_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path, [])
    told, follower = told_of(path)
    append(path, record(0)[:50])
    follower.look()
    assert not told
    append(path, record(0)[50:] + record(1))
    follower.look()
    assert told.requests == 1


def test_a_new_sub_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_COMPANIONS", 0.0)
    path = write(tmp_path, lines_of(4))
    told, follower = told_of(path)
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    agent = write(folder, [record(0, sidechain="a1")], "agent-a1.jsonl")
    write(
        folder, [record(n, sidechain="b2", session="another") for n in range(2)], "agent-b2.jsonl"
    )
    follower._due = 0.0
    follower.look()
    append(agent, record(1, sidechain="a1"))
    follower.look()
    append(agent, record(2, sidechain="a1") + record(3, sidechain="a1")[:90])
    append(path, record(4) + record(5))
    follower.look()
    append(agent, record(3, sidechain="a1")[90:])
    follower.look()
    assert [(thread.id, len(thread.requests)) for thread in told[-1].threads] == [
        ("main", 3),
        ("a1", 2),
    ]
    assert picture(told[-1]) == picture(open_transcript(path))


def test_a_document_that_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "body.json"

    def rewrite(count: int, indent: int | None) -> None:
        said = [{"role": "user", "content": f"word {n}"} for n in range(count)]
        path.write_text(
            json.dumps(
                {"model": "claude-opus-4-5", "max_tokens": 9, "messages": said}, indent=indent
            )
        )

    rewrite(1, 2)
    told, follower = told_of(path)
    for count, indent in ((2, 2), (3, None), (4, None), (5, 2)):
        rewrite(count, indent)
        follower.look()
        assert len(told[-1].main.messages) == count
    whole = path.read_bytes()
    path.write_bytes(whole[:60])  # being rewritten: the last picture stays
    follower.look()
    path.write_bytes(whole)
    follower.look()
    assert len(told[-1].main.messages) == 5


def test_a_gemini_session_that_is_rewritten_or_appended_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older versions write the whole document again for every message, newer ones append to a log."""
    monkeypatch.setattr(following, "_COMPANIONS", 0.0)
    head = {"sessionId": "5f5e3e2d-1", "projectHash": "ab", "startTime": "t"}
    tokens = {"input": 10, "output": 1, "cached": 0, "thoughts": 0, "tool": 0, "total": 11}
    said = [
        {
            "id": f"{n}",
            "type": "gemini" if n % 2 else "user",
            "content": f"word {n}",
            "model": "gemini-x",
            "tokens": tokens,
        }
        for n in range(8)
    ]
    document, log = tmp_path / "session-1.json", tmp_path / "session-1-5f5e3e2d.jsonl"
    document.write_text(json.dumps({**head, "messages": said[:2]}, indent=2))
    log.write_text("".join(json.dumps(value) + "\n" for value in (head, *said[:2])))
    told, follower = told_of(document)
    logged, log_follower = told_of(log)
    for count in range(3, 9):
        draft = tmp_path / "draft"
        draft.write_text(json.dumps({**head, "messages": said[:count]}, indent=2))
        os.replace(draft, document)
        append(log, json.dumps(said[count - 1]).encode() + b"\n")
        follower.look()
        log_follower.look()
        assert told.requests == logged.requests == count // 2
    agent = tmp_path / "5f5e3e2d-1" / "helper.jsonl"
    agent.parent.mkdir()
    agent.write_text(json.dumps({**head, "sessionId": "helper", "kind": "subagent"}) + "\n")
    append(agent, json.dumps(said[0]).encode() + b"\n")
    log_follower._due = 0.0
    log_follower.look()
    append(agent, json.dumps(said[1]).encode() + b"\n")
    log_follower.look()
    assert [(thread.id, len(thread.requests)) for thread in logged[-1].threads] == [
        ("main", 4),
        ("helper", 1),
    ]


def test_a_line_that_is_no_json_is_a_problem_of_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    told, follower = told_of(path)
    append(path, b"oops\n" + record(4) + record(5))
    follower.look()
    assert [(problem.line, told.requests) for problem in told[-1].problems] == [(5, 3)]


def test_packed_missing_and_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "s.jsonl.gz"
    for compress in (gzip.compress, zstandard.compress):
        packed.write_bytes(compress(record(0)))
        with pytest.raises(PackedFile, match="packed"):
            Follower(packed, print).look()
    with pytest.raises(NothingToRead, match="no file"):
        Follower(tmp_path / "none.jsonl", print)
    monkeypatch.setattr(following, "PATIENCE", 0.0)
    with pytest.raises(NothingToRead, match="folder"):
        Follower(tmp_path, print).look()
    path = write(tmp_path, [b'{"a": 1}\n{"b": 2}\n'])
    with pytest.raises(UnknownFormat):
        Follower(path, print).look()
    with pytest.raises(UnknownFormat, match=r"^\S+: nothing in it can be read as Codex"):
        Follower(write(tmp_path, lines_of(4), "other.jsonl"), print, format="codex").look()


def test_it_stops_at_once_and_writes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, lines_of(4))
    before, stop, told = path.stat(), Event(), Event()
    thread = Thread(target=follow, args=(path, lambda session: told.set(), stop.wait))
    thread.start()
    assert told.wait(60)
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_twenty_thousand_lines_are_each_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, lines_of(2))
    told, follower = told_of(path)
    read = 0
    real = os.read

    def counting(handle: int, size: int) -> bytes:
        nonlocal read
        data = real(handle, size)
        read += len(data)
        return data

    monkeypatch.setattr(os, "read", counting)
    with path.open("ab", buffering=0) as file:
        for n in range(2, 20_002):
            file.write(record(n))
            if n % 20 == 0:
                follower.look()
    follower.look()
    assert told.requests == 10_001
    assert told[-1].main.requests[0] is told[0].main.requests[0] or len(told[0].main.requests) == 1
    assert read < 2 * path.stat().st_size


@pytest.mark.parametrize(
    "pattern", ["codex/*/*/*.jsonl", "pi/*/*/*.jsonl", "pi/*/*.jsonl", "clients/*.jsonl"]
)
def test_real_transcripts_line_by_line(tmp_path: Path, pattern: str) -> None:
    for source in list(transcripts(pattern))[:4]:
        lines = source.read_bytes().splitlines(keepends=True)[:400]
        path = write(tmp_path, lines[:1], source.name)
        told = Told()
        follower = Follower(path, told.append)
        follower.look()
        for line in lines[1:]:
            append(path, line)
            follower.look()
        assert picture(told[-1]) == picture(open_transcript(path))
        path.unlink()
