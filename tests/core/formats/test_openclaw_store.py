"""OpenClaw's database: the lines of its sessions as rows; found, opened, followed, one of many."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from inspector.core.session import Session
from inspector.transcripts import database, stores
from inspector.transcripts.database import session_path
from inspector.transcripts.discover import found_sessions
from inspector.transcripts.files import find_session_path, open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import laid_out
from tests.core.formats.test_openclaw import HEAD, LINES, answered, entry, usage

SCHEMA = """
create table session_windows (session_id text not null primary key, session_key text not null,
    previous_session_id text, reason text, created_at integer not null, updated_at integer not null,
    parent_session_key text, display_name text) strict;
create table transcript_events (session_id text not null, seq integer not null, event_json text not null,
    created_at integer not null, primary key (session_id, seq)) strict;
create table session_transcript_archives (session_id text, content blob);
"""
STARTED = 1_784_883_610_000


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(database, "_SETTLED_NS", 0)
    monkeypatch.setattr(stores, "_SHARE", 0)
    folder = tmp_path / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    return folder / "openclaw-agent.sqlite"


@pytest.fixture
def writer(path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(path, isolation_level=None)
    made.execute("pragma journal_mode = wal")
    made.executescript(SCHEMA)
    return made


def begin(
    writer: sqlite3.Connection, name: str, key: str, at: int = STARTED, parent: str | None = None
) -> None:
    told = (name, key, None, "initial", at, at, parent, None)
    writer.execute("insert into session_windows values (?, ?, ?, ?, ?, ?, ?, ?)", told)


def put(writer: sqlite3.Connection, name: str, *events: Any, start: int = 0) -> None:
    rows = [
        (name, seq, json.dumps(event), STARTED + seq) for seq, event in enumerate(events, start)
    ]
    writer.executemany("insert into transcript_events values (?, ?, ?, ?)", rows)


def test_its_rows_are_the_lines_of_a_session(
    path: Path, writer: sqlite3.Connection, tmp_path: Path
) -> None:
    begin(writer, "5f5e", "agent:main:main")
    put(writer, "5f5e", *LINES)
    begin(writer, "0a0b", "agent:main:chat", STARTED - 1_000)
    put(
        writer, "0a0b", {**HEAD, "id": "0a0b"}, entry("x", "", {"role": "user", "content": "other"})
    )
    begin(writer, "9c9d", "agent:main:subagent:1", STARTED + 1_000, "agent:main:main")
    put(
        writer,
        "9c9d",
        {**HEAD, "id": "9c9d"},
        entry("y", "", {"role": "user", "content": "[Subagent Context]"}),
    )
    lines = tmp_path / "5f5e.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    session = open_transcript(path)
    assert (session.format, session.client, session.id) == ("openclaw", "OpenClaw", "5f5e")
    assert laid_out(session) == laid_out(open_transcript(lines))
    assert [one.id for one in session.held] == ["5f5e", "0a0b"]
    assert open_transcript(find_session_path(path, "0a0b")).main.messages[0].text == "other"
    assert (
        open_transcript(find_session_path(path, "9c9d")).main.messages[0].text
        == "[Subagent Context]"
    )
    assert [(one.path, one.format, one.title) for one in found_sessions(tmp_path)] == [
        (session_path(path, "5f5e"), "openclaw", "agent:main:main"),
        (session_path(path, "0a0b"), "openclaw", "agent:main:chat"),
    ]


def test_it_is_followed_and_read_anew_where_a_row_is_another(
    path: Path, writer: sqlite3.Connection
) -> None:
    begin(writer, "5f5e", "agent:main:main")
    put(writer, "5f5e", *LINES[:-1])
    seen: list[Session] = []
    follower = Follower(path, seen.append)
    follower.look()
    put(writer, "5f5e", LINES[-1], start=len(LINES) - 1)
    follower.look()
    assert [len(session.main.requests) for session in seen] == [1, 2]
    assert laid_out(seen[-1]) == laid_out(open_transcript(path))
    other = json.dumps(entry("e", "d", answered("No.", usage(200, 10, 900)), 15))
    writer.execute(
        "update transcript_events set event_json = ? where seq = ?", (other, len(LINES) - 1)
    )
    follower.look()
    assert seen[-1].main.end.messages()[-1].text == "No."
    begin(writer, "9c9d", "agent:main:subagent:1", STARTED + 1_000, "agent:main:main")
    put(writer, "9c9d", {**HEAD, "id": "9c9d"})
    follower.look()
    assert seen[-1].id == "5f5e"
