"""Databases whose columns hold values of another kind than their schema says."""

import json
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from time import sleep

import apsw
import pytest

from inspector.core.errors import NothingToRead
from inspector.transcripts import stores
from inspector.transcripts.database import open_snapshot
from inspector.transcripts.files import open_transcript
from tests.core.formats.test_openclaw import LINES

SCHEMA = """
create table session_windows (session_id text, session_key text, created_at integer, updated_at integer,
    parent_session_key text);
create table transcript_events (session_id text, seq integer, event_json text, created_at integer);
"""


@pytest.mark.parametrize("odd", ["nine", None, 1.5, b"\x09"])
def test_rows_ordered_by_values_of_several_types_are_read(odd: object, tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        database.execute("insert into session_windows values ('5f5e', 'agent:main', 1, 2, null)")
        rows = [("5f5e", seq, json.dumps(value), seq) for seq, value in enumerate(LINES)]
        database.executemany("insert into transcript_events values (?, ?, ?, ?)", rows)
        database.execute("insert into transcript_events values ('5f5e', ?, '{}', 9)", (odd,))
    database.close()
    session = open_transcript(path)
    assert session.format == "openclaw"
    assert len(session.main.requests) == 2
    assert [problem.what for problem in session.problems] == ["not a session record"]


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_database_when_it_is_damaged_is_read_twice_at_most(
    cut: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        database.execute("insert into session_windows values ('5f5e', 'agent:main', 1, 2, null)")
        text = json.dumps(LINES[-1]) + " " * 3_000
        database.executemany(
            "insert into transcript_events values ('5f5e', ?, ?, ?)",
            [(n, text, n) for n in range(200)],
        )
    database.close()
    whole = path.read_bytes()
    kept = round(len(whole) * cut) // 4096 * 4096
    path.write_bytes(whole[:kept] + b"\xff" * (len(whole) - kept))
    sleep(0.05)  # the clock of files ticks every 10 ms
    looks = list[Path]()

    def count_looks(read: Path) -> AbstractContextManager[apsw.Connection]:
        looks.append(read)
        return open_snapshot(read)

    monkeypatch.setattr(stores, "open_snapshot", count_looks)
    with pytest.raises(NothingToRead, match="damaged"):
        open_transcript(path)
    assert len(looks) <= 2
