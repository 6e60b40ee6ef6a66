"""The newest session of a folder: which it is, and that only one that starts later takes its place."""

import json
import os
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread

import pytest
import zstandard

from inspector.core.session import Session
from inspector.transcripts import discover
from inspector.transcripts.discover import NewestSession, project_folder
from inspector.transcripts.follow import follow_newest
from tests.transcripts.made import lines_of, record, write

PROJECT = Path("/home/dev/project")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(discover, "_OFTEN", -1.0)
    return tmp_path


def claude(home: Path, name: str, lines: list[bytes], when: float = 0) -> Path:
    folder = home / ".claude" / "projects" / "-home-dev-project"
    folder.mkdir(parents=True, exist_ok=True)
    path = write(folder, lines, name)
    if when:
        os.utime(path, (when, when))
    return path


def codex(home: Path, name: str, **payload: object) -> Path:
    folder = home / ".codex" / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True, exist_ok=True)
    value = {
        "timestamp": "2026-01-02T00:00:00Z",
        "type": "session_meta",
        "payload": {"id": name, **payload},
    }
    return write(folder, [json.dumps(value).encode() + b"\n"], f"rollout-{name}.jsonl")


def looked(looker: NewestSession) -> Path | None:
    looker._due = 0.0
    return looker.look()


def test_the_last_changed_then_only_new_ones(home: Path) -> None:
    old = claude(home, "old.jsonl", lines_of(2), 1e9)
    last = claude(home, "last.jsonl", lines_of(2), 2e9)
    claude(
        home,
        "else.jsonl",
        [line.replace(b"dev/project", b"dev/other") for line in lines_of(2)],
        3e9,
    )
    looker = NewestSession(PROJECT, home)
    assert looked(looker) == last
    os.utime(old, (4e9, 4e9))  # an older one is touched: that is no new session
    assert looked(looker) is None
    new = codex(home, "one", cwd=str(PROJECT))
    assert looked(looker) == new
    assert looked(looker) is None


def test_one_that_does_not_tell_its_folder_yet(home: Path) -> None:
    looker = NewestSession(PROJECT, home)
    assert looked(looker) is None
    path = claude(home, "new.jsonl", [b'{"type":"summary","leafUuid":"x","summary":"s"}\n'])
    assert looked(looker) is None
    with path.open("ab") as file:
        file.write(record(0))
    assert looked(looker) == path


def test_a_packed_one_is_not_followed(home: Path) -> None:
    own = claude(home, "own.jsonl", lines_of(2), 1e9)
    rested = codex(home, "rested", cwd=str(PROJECT))
    rested.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(rested.read_bytes()))
    rested.unlink()
    assert looked(NewestSession(PROJECT, home)) == own


def test_sub_agents_are_no_sessions(home: Path) -> None:
    own = claude(home, "own.jsonl", lines_of(2), 1e9)
    claude(home, "agent-a1.jsonl", [record(0, sidechain="a1")], 2e9)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "one"}}}
    codex(home, "two", cwd=str(PROJECT), source=spawned)
    assert looked(NewestSession(PROJECT, home)) == own


def test_gemini_names_its_folder_by_a_hash(home: Path) -> None:
    folder = home / ".gemini" / "tmp" / "ws" / "chats"
    folder.mkdir(parents=True)
    hashed = sha256(str(PROJECT).encode()).hexdigest()

    def session(name: str, **more: object) -> Path:
        header = {"sessionId": name, "projectHash": hashed, "startTime": "t", **more}
        return write(folder, [json.dumps(header).encode() + b"\n"], f"session-1-{name}.jsonl")

    own = session("own")
    session("other", projectHash="ab")
    session("agent", kind="subagent")
    looker = NewestSession(PROJECT, home)
    assert looked(looker) == own
    new = session("new")
    assert looked(looker) == new


def test_the_folder_of_a_transcript(home: Path) -> None:
    assert project_folder(claude(home, "own.jsonl", lines_of(2))) == str(PROJECT)


def test_following_goes_over_to_the_next(home: Path) -> None:
    claude(home, "one.jsonl", lines_of(4), 1e9)
    stop, seen = Event(), Event()
    told: list[Session] = []

    def tell(session: Session) -> None:
        told.append(session)
        if len(told) == 1:
            claude(home, "two.jsonl", [record(n, session="s2") for n in range(2)])
        else:
            seen.set()

    thread = Thread(target=follow_newest, args=(PROJECT, tell, stop.wait), kwargs={"home": home})
    thread.start()
    assert seen.wait(60)
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    assert [Path(session.path).name for session in told] == ["one.jsonl", "two.jsonl"]
