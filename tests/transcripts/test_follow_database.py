"""opencode's database: opened, followed while it is written, several sessions in it; never written, never locked."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from inspector.core.errors import InspectorError, NothingToRead
from inspector.core.session import Session
from inspector.transcripts import database, discover, stores
from inspector.transcripts import follow as following
from inspector.transcripts.database import database_of, session_path, split_session_path
from inspector.transcripts.discover import NewestSession, found_sessions, project_folder
from inspector.transcripts.files import open_transcript
from inspector.transcripts.follow import Follower, follow
from inspector.transcripts.saving import save_text
from tests.core.formats.feeding import laid_out
from tests.core.formats.opencode_rows import assistant, tool, user
from tests.transcripts.opencode_made import made, put

ASKED = user("m1", 10, "look around")
CALLED = assistant("m2", 20, 100, "I look.", tool("a"))
SAID = assistant("m3", 30, 120, "Done.")

SETTLED = database._SETTLED_NS


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_SETTLED_NS", 0)
    monkeypatch.setattr(stores, "_SHARE", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "share" / "opencode" / "opencode.db"


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    connection = made(path)
    yield connection
    connection.close()


def told_of(path: Path) -> tuple[list[Session], Follower]:
    told: list[Session] = []
    follower = Follower(path, told.append)
    follower.look()
    return told, follower


def test_what_is_written_is_told(path: Path, writer: sqlite3.Connection) -> None:
    put(writer, ASKED, CALLED)
    told, follower = told_of(path)
    assert [len(session.main.requests) for session in told] == [1]
    follower.look()
    assert len(told) == 1  # nothing new: nothing told
    put(writer, SAID)
    follower.look()
    assert [len(session.main.requests) for session in told] == [1, 2]
    put(writer, user("m4", 40, "more"))
    follower.look()
    assert told[2].main.requests[0] is told[1].main.requests[0]  # what was known is not laid anew
    assert laid_out(told[-1]) == laid_out(open_transcript(path))
    assert told[-1].path == str(path)


def test_a_row_that_is_completed(path: Path, writer: sqlite3.Connection) -> None:
    put(writer, ASKED, assistant("m2", 20, 0, "I", tool("a", "running"), done=False))
    told, follower = told_of(path)
    assert told[0].main.requests[0].usage is None
    put(writer, CALLED)
    follower.look()
    usage = told[1].main.requests[0].usage
    assert usage
    assert usage.prompt == 100


@pytest.mark.parametrize("how", ["passive", "full", "restart", "truncate"])
def test_over_checkpoints(path: Path, writer: sqlite3.Connection, how: str) -> None:
    put(writer, ASKED)
    told, follower = told_of(path)
    for n in range(12):
        put(writer, assistant(f"n{n:02}", 100 + n, 100 + n, "x" * 5000 * n))
        if n % 3 == 1:
            writer.execute(f"pragma wal_checkpoint({how})")
        if n % 4 != 2:  # now and then much happens between two looks
            follower.look()
    follower.look()
    assert len(told[-1].main.requests) == 12
    assert laid_out(told[-1]) == laid_out(open_transcript(path))


def test_turns_that_are_taken_back(path: Path, writer: sqlite3.Connection) -> None:
    put(writer, ASKED, CALLED, SAID)
    told, follower = told_of(path)
    writer.execute("begin")
    writer.execute("delete from part where message_id = 'm3'")
    writer.execute("delete from message where id = 'm3'")
    writer.execute("commit")
    follower.look()
    assert [len(session.main.requests) for session in told] == [2, 1]


def test_a_new_sub_agent(path: Path, writer: sqlite3.Connection) -> None:
    put(writer, ASKED, assistant("m2", 20, 100, tool("t", metadata={"sessionId": "ses_2"})))
    told, follower = told_of(path)
    put(
        writer,
        user("c1", 21, "help"),
        assistant("c2", 22, 7, "ok"),
        name="ses_2",
        parent_id="ses_1",
        at=2,
    )
    follower.look()
    agent = told[-1].threads[1]
    assert (agent.id, agent.parent_call, len(agent.requests)) == ("ses_2", "t", 1)
    assert laid_out(told[-1]) == laid_out(open_transcript(path))


def test_several_sessions(path: Path, writer: sqlite3.Connection) -> None:
    put(writer, ASKED, at=5)
    put(writer, user("o1", 1, "older"), name="ses_0", at=1)
    assert open_transcript(path).id == "ses_1"
    older = open_transcript(session_path(path, "ses_0"))
    assert [message.text for message in older.main.messages] == ["older"]
    assert [(one.id, one.title) for one in older.held] == [
        ("ses_1", "title of ses_1"),
        ("ses_0", "title of ses_0"),
    ]
    assert open_transcript(older.held[0].path).id == "ses_1"
    assert open_transcript(session_path(path, "1")).id == "ses_0"
    assert older.path == f"{path}#ses_0"
    with pytest.raises(NothingToRead, match="no session 'ses_9'"):
        open_transcript(session_path(path, "ses_9"))
    told, follower = told_of(path)
    kept, follower_of_one = told_of(session_path(path, "ses_1"))
    put(writer, user("n1", 9, "newer"), name="ses_2", at=9)
    follower.look()
    follower_of_one.look()
    assert [session.id for session in told] == ["ses_1", "ses_2"]
    assert [session.id for session in kept] == ["ses_1"]


def test_one_that_holds_no_session_yet(
    path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, follower = told_of(path)
    put(writer, ASKED)
    follower.look()
    assert [len(session.main.messages) for session in told] == [1]
    writer.execute("delete from session")
    with pytest.raises(NothingToRead, match="no session yet"):
        open_transcript(path)
    monkeypatch.setattr(following, "PATIENCE", 0.0)
    with pytest.raises(NothingToRead, match="no session yet"):
        told_of(path)


def test_no_database_of_opencode(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "logs.db") as other:
        other.execute("create table responses (id text)")
    with pytest.raises(
        InspectorError,
        match=r"an unknown program.*can be read: opencode, Crush, OpenClaw$",
    ):
        open_transcript(tmp_path / "logs.db")
    assert database_of(tmp_path / "nothing.db#x") is None
    assert split_session_path(tmp_path / "logs.db#x") == (tmp_path / "logs.db", "x")


def test_a_file_whose_name_looks_like_a_session(tmp_path: Path) -> None:
    odd = tmp_path / "notes#1.jsonl"
    odd.write_bytes(b'{"type":"session","version":3,"id":"a","cwd":"/x"}\n')
    assert open_transcript(odd).format == "pi"


def test_the_database_is_never_written_over(path: Path, writer: sqlite3.Connection) -> None:
    put(writer, ASKED)
    for source in (path, session_path(path, "ses_1")):
        with pytest.raises(InspectorError, match="never overwritten"):
            save_text("x", str(path), True, str(source))


def test_found_on_this_machine_and_followed_by_project(
    path: Path, writer: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setattr(discover, "_OFTEN", -1.0)
    put(writer, ASKED, at=5_000)
    put(writer, user("o1", 1, "else"), name="ses_0", at=6_000, directory="/home/dev/other")
    put(writer, user("c1", 1, "help"), name="ses_c", at=7_000, parent_id="ses_1")
    found = found_sessions()
    assert [(one.path, one.format, one.project, one.title) for one in found] == [
        (session_path(path, "ses_0"), "opencode", "/home/dev/other", "title of ses_0"),
        (session_path(path, "ses_1"), "opencode", "/home/dev/project", "title of ses_1"),
    ]
    assert found[0].modified.timestamp() == 6.0
    looker = NewestSession(Path("/home/dev/project"))
    assert looker.look() == session_path(path, "ses_1")
    looker._due = 0
    assert looker.look() is None
    put(writer, user("n1", 1, "new"), name="ses_2", at=8_000)
    looker._due = 0
    assert looker.look() == session_path(path, "ses_2")
    assert project_folder(session_path(path, "ses_0")) == "/home/dev/other"


WRITER = """
import sys, time, sqlite3
sys.path.insert(0, sys.argv[2])
from tests.core.formats.opencode_rows import assistant
from tests.transcripts.opencode_made import put
writer = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
writer.execute("pragma wal_autocheckpoint = 100")
for n in range(60):
    put(writer, assistant(f"n{n:03}", 100 + n, 100 + n, "x" * 4000), at=100 + n)
    time.sleep(0.01)
print(writer.execute("pragma wal_checkpoint(truncate)").fetchone())
"""


def test_a_writer_in_another_process_is_never_in_the_way(
    path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for nobody (timeout 0): any lock of ours would be an error there."""
    monkeypatch.setattr(database, "_SETTLED_NS", SETTLED)
    put(writer, ASKED)
    writer.close()
    told: list[Session] = []
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", WRITER, str(path), str(root)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end, stop = monotonic() + 60, Event()

        def rest(seconds: float) -> bool:
            requests = told[-1].main.requests if told else ()
            ended = len(requests) == 60 and requests[-1].usage is not None
            return ended or monotonic() > end or stop.wait(seconds / 4)

        follow(path, told.append, rest)
        output, errors = process.communicate(timeout=60)
    assert not errors
    assert output.startswith("(0,")
    assert [request.usage and request.usage.prompt for request in told[-1].main.requests] == list(
        range(100, 160)
    )
    assert len(told) > 5  # it was followed, not read at the end
    assert laid_out(told[-1]) == laid_out(open_transcript(path))
    assert not [
        found
        for found in path.parent.iterdir()
        if found.name not in (path.name, f"{path.name}-wal", f"{path.name}-shm")
    ]


def test_one_that_is_torn_all_the_time_is_told(
    path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(writer, ASKED)
    monkeypatch.setattr(database, "_SETTLED_NS", 1 << 62)
    monkeypatch.setattr(stores, "_REST", 0.0)
    with pytest.raises(NothingToRead, match="being written"):
        open_transcript(path)
