"""opencode 2: a row a message in tables of its own; beside the frozen ones of before, found, opened and followed."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from inspector.core.formats.opencode import FORMAT
from inspector.core.message import Image, Thinking
from inspector.core.session import Session
from inspector.transcripts import database, stores
from inspector.transcripts.database import session_path
from inspector.transcripts.discover import found_sessions
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import check, deep, laid_out, spoilt
from tests.core.formats.opencode_rows import rows
from tests.transcripts.opencode_made import made, put

SCHEMA = """
create table session_v2 (id text primary key, project_id text not null, parent_id text, fork_session_id text,
    directory text not null, title text, version text not null, revert text, time_created integer not null,
    time_updated integer not null, time_archived integer);
create table session_message (id text primary key, session_id text not null, type text not null, seq integer not null,
    time_created integer not null, time_updated integer not null, data text not null);
"""
AT = 1_790_000_000_000
_PICTURE = {"uri": "data:image/png;base64,AAAA", "mime": "image/png", "name": "a.png"}


def answer(*content: dict[str, Any], prompt: int = 0, **more: Any) -> tuple[str, dict[str, Any]]:
    tokens = {"input": prompt - 60, "output": 9, "reasoning": 4, "cache": {"read": 50, "write": 10}}
    about = {
        "agent": "build",
        "model": {"id": "oak-2", "providerID": "acorn"},
        "content": list(content),
    }
    return "assistant", about | ({"tokens": tokens, "finish": "stop"} if prompt else {}) | more


def words(told: str) -> dict[str, Any]:
    return {"type": "text", "id": "p", "text": told}


def tool(name: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    told = {
        "status": status,
        "input": {"path": "a.py"},
        "content": [{"type": "text", "text": "print(1)"}],
        **state,
    }
    return {"type": "tool", "id": name, "name": "read", "state": told, "time": {"created": AT}}


THOUGHT = {
    "type": "reasoning",
    "id": "r",
    "text": "Hm.",
    "providerMetadata": {"anthropic": {"signature": "c2ln"}},
}
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("agent-switched", {"agent": "build"}),
    ("user", {"text": "Look.", "files": [_PICTURE]}),
    answer(
        THOUGHT,
        words("I look."),
        tool("c1"),
        tool("c2", "error", content=[], error={"message": "no"}),
        prompt=100,
    ),
    ("shell", {"command": "pwd", "output": "/w"}),
    ("system", {"text": "It is Monday."}),
    answer(error={"type": "unknown", "message": "429"}),
    answer(words("It prints."), prompt=200),
    ("compaction", {"status": "running", "reason": "auto", "summary": "half"}),
    (
        "compaction",
        {
            "status": "completed",
            "reason": "auto",
            "summary": "It was looked at.",
            "recent": "It prints.",
        },
    ),
    ("synthetic", {"text": "Go on."}),
    ("idle", {}),
    answer(words("Done."), prompt=90),
]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(database, "_SETTLED_NS", 0)
    monkeypatch.setattr(stores, "_SHARE", 0)
    return tmp_path / ".local" / "share" / "opencode" / "opencode.db"


@pytest.fixture
def writer(path: Path) -> sqlite3.Connection:
    """With the tables of before, which hold a session of before."""
    found = made(path)
    put(found, name="ses_0")
    found.executescript(SCHEMA)
    return found


def begin(writer: sqlite3.Connection, name: str, parent: str | None = None, at: int = AT) -> None:
    told = (name, "p", parent, None, "/w", f"title of {name}", "2.0.12", None, at, at, None)
    writer.execute(f"insert into session_v2 values ({', '.join('?' * 11)})", told)


def write(
    writer: sqlite3.Connection, name: str, *told: tuple[str, dict[str, Any]], start: int = 0
) -> None:
    for seq, (kind, data) in enumerate(told, start):
        row = (f"msg_{name}_{seq}", name, kind, seq, AT + seq, AT + seq, json.dumps(data))
        writer.execute("insert or replace into session_message values (?, ?, ?, ?, ?, ?, ?)", row)


def buffers(session: Session) -> list[list[str]]:
    return [[said(message) for message in request.view] for request in session.main.requests]


def said(message: Any) -> str:
    return f"{message.role}: {message.result.content if message.result else message.text}"


def test_what_is_sent_of_each_message(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer, "ses_1")
    write(writer, "ses_1", *ROWS)
    session = open_transcript(path)
    check(session)
    assert (session.format, session.id, session.client) == ("opencode", "ses_1", "opencode 2.0.12")
    first = ["user: Look."]
    second = [*first, "assistant: I look.", "tool: print(1)", "tool: no", "user: Shell command: pwd\n\n/w",
              "system: It is Monday."]  # fmt: skip
    *told, third = buffers(session)
    assert told == [first, second]
    assert [one.partition("\n")[0] for one in third] == [
        "user: <conversation-checkpoint>",
        "user: Go on.",
    ]
    assert "<summary>\nIt was looked at.\n</summary>" in third[0]
    used = [request.usage for request in session.main.requests]
    assert [(one.prompt, one.cache_read, one.output) if one else None for one in used] == [
        (100, 50, 9), (200, 50, 9), (90, 50, 9)
    ]  # fmt: skip
    assert [(made.before_request, made.trigger) for made in session.main.compactions] == [
        (2, "auto")
    ]
    asked, answered, *_ = session.main.messages
    assert asked.parts[1] == Image("image/png", "AAAA")
    assert answered.parts[0] == Thinking("Hm.", "c2ln")
    assert session.main.model == "oak-2"


def test_the_tables_of_before_count_where_there_are_no_others(
    path: Path, writer: sqlite3.Connection
) -> None:
    assert open_transcript(path).id == "ses_0"
    begin(writer, "ses_1")
    write(writer, "ses_1", *ROWS[:2])
    session = open_transcript(path)
    assert (session.id, session.held) == ("ses_1", ())
    assert [
        (one.path, one.format, one.project, one.title) for one in found_sessions(path.parents[3])
    ] == [(session_path(path, "ses_1"), "opencode", "/w", "title of ses_1")]


def test_a_message_is_written_over_until_it_is_complete(
    path: Path, writer: sqlite3.Connection
) -> None:
    begin(writer, "ses_1")
    write(writer, "ses_1", ROWS[1], answer(words("I"), tool("c1", "running", content=[])))
    seen: list[Session] = []
    follower = Follower(path, seen.append)
    follower.look()
    write(writer, "ses_1", answer(words("I look."), tool("c1"), prompt=100), ROWS[6], start=1)
    follower.look()
    assert [len(session.main.requests) for session in seen] == [1, 2]
    assert [request.usage is None for request in seen[0].main.requests] == [True]
    assert buffers(seen[-1])[1] == ["user: Look.", "assistant: I look.", "tool: print(1)"]
    assert laid_out(seen[-1]) == laid_out(open_transcript(path))
    writer.execute("delete from session_message where seq > 0")
    follower.look()
    assert [said(message) for message in seen[-1].main.end] == ["user: Look."]


def test_sub_agents_are_threads(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer, "ses_1")
    write(
        writer,
        "ses_1",
        ROWS[1],
        answer(tool("task-1", structured={"sessionID": "ses_2"}), prompt=100),
    )
    begin(writer, "ses_2", "ses_1")
    write(writer, "ses_2", ("user", {"text": "Find it."}), answer(words("Found."), prompt=70))
    session = open_transcript(path)
    threads = [(one.id, one.parent, one.parent_call, len(one.requests)) for one in session.threads]
    assert threads == [("main", "", "", 1), ("ses_2", "main", "task-1", 1)]


@pytest.mark.parametrize("bad", [None, 7, "x", [], {}, [None], {"a": 1}, 1e300, True, deep(150)])
def test_spoilt_values_never_raise(bad: Any) -> None:
    about: dict[str, Any] = {"id": "ses_1", "parent_id": None, "revert": {}, "version": "2"}
    values: list[tuple[int, Any]] = [
        (0, {"table": "opencode2.database", "row": {"session": "ses_1", "held": []}})
    ]
    values.append((0, {"table": "opencode2.session_v2", "row": about}))
    for seq, (kind, data) in enumerate(ROWS):
        row = {
            "id": f"m{seq}",
            "session_id": "ses_1",
            "type": kind,
            "seq": seq,
            "time_created": AT,
            "data": data,
        }
        values.append((0, {"table": "opencode2.session_message", "row": row}))
    for told in spoilt(values, bad, 5):
        reader = FORMAT.start()
        for line, value in told:
            reader.feed(line, value)
        check(reader.session())


def test_rows_of_before_are_read_as_ever() -> None:
    reader = FORMAT.start()
    for row in rows(name="ses_0"):
        reader.feed(0, row)
    assert reader.session().id == "ses_0"
