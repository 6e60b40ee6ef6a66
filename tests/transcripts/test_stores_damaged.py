"""Databases whose columns hold values of another kind than their schema says."""

import json
import sqlite3
from pathlib import Path

import pytest

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
