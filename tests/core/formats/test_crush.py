"""Crush sessions: one point of usage, summaries, answers being written, sub-agents; its database; any values."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.errors import NothingToRead
from inspector.core.findings.answers import describe_cost
from inspector.core.findings.spending import session_cost
from inspector.core.formats.crush import FORMAT
from inspector.core.message import Image, Thinking, ToolCall, ToolResult
from inspector.core.session import Session
from inspector.transcripts import database, stores
from inspector.transcripts.database import session_path
from inspector.transcripts.discover import found_sessions
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower
from tests.core.formats.feeding import check, deep, laid_out, numbered, spoilt, told
from tests.shared import ARE_REAL, transcripts

SCHEMA = """
create table goose_db_version (id integer primary key);
create table files (id text primary key, session_id text, content text);
create table sessions (id text primary key, parent_session_id text, title text not null, message_count integer,
    prompt_tokens integer, completion_tokens integer, cost real, updated_at integer, created_at integer,
    summary_message_id text);
create table messages (id text primary key, session_id text, role text, parts text, model text, created_at integer,
    updated_at integer, finished_at integer, provider text);
"""


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def row(
    name: str, role: str, *parts: dict[str, Any], session: str = "s1", done: str = ""
) -> dict[str, Any]:
    finish = [part("finish", reason=done, time=1)] if done else []
    about = {
        "id": name,
        "session_id": session,
        "role": role,
        "model": "oak-2" if role == "assistant" else "",
    }
    return {
        "table": "crush.messages",
        "row": {**about, "parts": [*parts, *finish], "created_at": 1_754_740_840},
    }


def stored(name: str = "s1", tokens: int = 0, answer: int = 0, **more: Any) -> dict[str, Any]:
    about = {
        "id": name,
        "parent_session_id": None,
        "title": f"title of {name}",
        "summary_message_id": None,
        "cost": 0.5,
    }
    return {
        "table": "crush.sessions",
        "row": {**about, "prompt_tokens": tokens, "completion_tokens": answer, **more},
    }


def call(name: str) -> dict[str, Any]:
    return part("tool_call", id=name, name="view", input='{"path": "x"}', finished=True)


def result(name: str, text: str, **more: Any) -> dict[str, Any]:
    return part(
        "tool_result",
        tool_call_id=name,
        name="",
        content=text,
        metadata="x" * 900,
        is_error=False,
        **more,
    )


ROWS = [
    {"table": "crush.database", "row": {"session": "s1", "held": [{"id": "s1", "title": "one"}]}},
    stored(tokens=900, answer=300),
    row(
        "u1",
        "user",
        part("text", text="look"),
        part("binary", Path="a.png", MIMEType="image/png", Data="aaaa"),
    ),
    row(
        "a1",
        "assistant",
        part("reasoning", thinking="hm", signature="sig"),
        call("c1"),
        call("c2"),
        done="tool_use",
    ),
    row("t1", "tool", result("c1", "one"), result("c2", "two")),
    row("e1", "assistant", done="error"),
    row("u2", "user", part("text", text="go on")),
    row("a2", "assistant", part("text", text="Done."), done="end_turn"),
]


def buffers(session: Session) -> list[list[str]]:
    return [[message.id for message in request.view] for request in session.main.requests]


def prompts(session: Session) -> list[int | None]:
    return [request.usage.prompt if request.usage else None for request in session.main.requests]


def test_an_answer_is_a_call_but_for_a_bare_error() -> None:
    session = told(FORMAT, numbered(ROWS))
    check(session)
    assert buffers(session) == [["u1"], ["u1", "a1", "t1", "t1.1", "u2"]]
    first, second, third, *_ = session.main.messages
    assert first.parts[1] == Image("image/png", "aaaa", "a.png")
    assert second.parts == (
        Thinking("hm", "sig"),
        ToolCall("c1", "view", {"path": "x"}),
        ToolCall("c2", "view", {"path": "x"}),
    )
    assert third.result == ToolResult("c1", "one")
    assert (first.time, session.main.title, session.main.model) == (
        "2025-08-09T12:00:40.000+00:00",
        "title of s1",
        "oak-2",
    )


def test_the_sum_stands_at_the_last_call() -> None:
    session = told(FORMAT, numbered(ROWS))
    assert prompts(session) == [None, 1_200]
    assert any("one sum" in note for note in session.notes)
    assert any("$0.50" in note for note in session.notes)
    assert prompts(told(FORMAT, numbered([stored(), *ROWS[2:]]))) == [None, None]


def test_what_it_cost_is_told_of_the_calls_that_tell_it() -> None:
    priced = [
        {**one, "row": {**one["row"], "model": "gpt-5"}} if one["row"].get("model") else one
        for one in ROWS
    ]
    answer = describe_cost(session_cost(told(FORMAT, numbered(priced))))
    assert "Usage is recorded for 1 of 2 requests." in answer.text


def test_after_a_summary() -> None:
    said = row("a3", "assistant", part("text", text="They looked."), done="end_turn")
    after = [
        row("u3", "user", part("text", text="more")),
        row("a4", "assistant", call("c3"), done="tool_use"),
    ]
    fed = [*ROWS, said, stored(tokens=0, answer=40, summary_message_id="a3")]
    fresh = told(FORMAT, numbered(fed))
    check(fresh)
    assert prompts(fresh) == [None, None]  # the sum is that of the summary's own call
    assert [message.id for message in fresh.main.end] == ["a3"]
    session = told(
        FORMAT, numbered([*fed, *after, stored(tokens=70, answer=40, summary_message_id="a3")])
    )
    check(session)
    assert buffers(session)[2:] == [["a3", "u3"]]
    assert prompts(session) == [None, None, 110]
    (one,) = session.main.compactions
    assert (one.before_request, one.summary and one.summary.role) == (2, "user")
    assert [(side.kind, side.made) for side in session.side_calls] == [("compaction", 0)]


def test_an_answer_that_is_being_written() -> None:
    reader = FORMAT.start()
    seen: list[tuple[Session, Any]] = []
    fed = [
        *ROWS[:3],
        row("a1", "assistant", part("text", text="I")),
        row("a1", "assistant", part("text", text="I l")),
    ]
    for line, value in numbered([*fed, *ROWS[3:]]):
        reader.feed(line, value)
        seen.append((reader.session(), laid_out(reader.session())))
    assert all(laid_out(session) == then for session, then in seen)
    assert seen[-1][1] == laid_out(told(FORMAT, numbered(ROWS)))
    assert [message.text for message in seen[3][0].main.end][1:] == ["I"]


def test_sub_agents_are_threads() -> None:
    agent = [
        stored("c1", parent_session_id="s1"),
        row("x1", "user", part("text", text="find"), session="c1"),
        row("x2", "assistant", part("text", text="Found."), session="c1", done="end_turn"),
    ]
    session = told(FORMAT, numbered([*ROWS, *agent]))
    check(session)
    assert [(thread.id, thread.parent, thread.parent_call) for thread in session.threads[1:]] == [
        ("c1", "main", "c1")
    ]


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sqlite3.Connection:
    monkeypatch.setattr(database, "_SETTLED_NS", 0)
    monkeypatch.setattr(stores, "_SHARE", 0)
    (tmp_path / "project" / ".crush").mkdir(parents=True)
    made = sqlite3.connect(tmp_path / "project" / ".crush" / "crush.db", isolation_level=None)
    made.execute("pragma journal_mode = wal")
    made.executescript(SCHEMA)
    return made


def put(writer: sqlite3.Connection, *values: dict[str, Any], at: int = 1_754_740_840) -> None:
    for value in values:
        about = {"created_at": at, "updated_at": at} | value["row"]
        if "parts" in about:
            about["parts"] = json.dumps(about["parts"])
        table, names = value["table"].removeprefix("crush."), ", ".join(about)
        marks = ", ".join("?" * len(about))
        writer.execute(
            f"insert or replace into {table} ({names}) values ({marks})", tuple(about.values())
        )


def test_its_database_is_found_opened_and_followed(
    writer: sqlite3.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "project" / ".crush" / "crush.db"
    listed = {
        "projects": [
            {"path": str(tmp_path / "project"), "data_dir": ".crush"},
            {"path": "/gone", "data_dir": 7},
        ]
    }
    (tmp_path / ".local/share/crush").mkdir(parents=True)
    (tmp_path / ".local/share/crush/projects.json").write_text(json.dumps(listed), encoding="utf-8")
    put(writer, *ROWS[1:-1])
    put(
        writer,
        stored("s0"),
        row("o1", "user", part("text", text="else"), session="s0"),
        at=1_754_740_000,
    )
    seen: list[Session] = []
    follower = Follower(path, seen.append)
    follower.look()
    put(writer, ROWS[-1])
    follower.look()
    assert [len(session.main.requests) for session in seen] == [1, 2]
    assert laid_out(seen[-1]) == laid_out(open_transcript(path))
    assert prompts(seen[-1]) == [None, 1_200]
    found = found_sessions(tmp_path)
    assert [(one.path, one.format, one.project, one.title) for one in found] == [
        (session_path(path, "s1"), "crush", str(tmp_path / "project"), "title of s1"),
        (session_path(path, "s0"), "crush", str(tmp_path / "project"), "title of s0"),
    ]
    assert found[0].modified.timestamp() == 1_754_740_840
    assert [one.id for one in seen[-1].held] == ["s1", "s0"]


def test_a_database_without_its_log_says_so(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "crush.db") as made:
        made.execute("create table x (y)")
        made.execute("drop table x")
    with pytest.raises(NothingToRead, match="-wal"):
        open_transcript(tmp_path / "crush.db")


def test_spoilt_rows_never_raise() -> None:
    for bad in (None, 7, "x", [], {}, [None], {"data": 1}):
        for changed in spoilt(numbered(ROWS), bad):
            check(told(FORMAT, changed))
    check(
        told(FORMAT, numbered([row("u", "user", deep()), row("v", "user", part("odd", x=deep()))]))
    )


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*ROWS[2], *ROWS[2]["row"], "type", "data"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=8))
def test_any_values(values: list[Any]) -> None:
    check(told(FORMAT, numbered([*ROWS[:4], *values])))


@pytest.mark.parametrize(
    "path", tuple(transcripts("crush/[am]*/.crush/crush.db")), ids=lambda path: path.name
)
def test_real_ones(path: Path) -> None:
    for number in range(2 if ARE_REAL else 1):
        session = open_transcript(session_path(path, str(number)))
        check(session)
        assert session.problems == ()
        assert prompts(session)[-1] is not None
        assert all(prompt is None for prompt in prompts(session)[:-1])
