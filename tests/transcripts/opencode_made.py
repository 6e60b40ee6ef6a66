"""A database as opencode keeps it: the columns that matter, its indexes, write-ahead log."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.core.formats.opencode_rows import rows

SCHEMA = """
create table session (id text primary key, project_id text not null, parent_id text, directory text not null,
    title text not null, version text not null, revert text, model text, time_created integer not null,
    time_updated integer not null, time_archived integer);
create table message (id text primary key, session_id text not null, time_created integer not null,
    time_updated integer not null, data text not null);
create table part (id text primary key, message_id text not null, session_id text not null,
    time_created integer not null, time_updated integer not null, data text not null);
create index message_session_time_created_id_idx on message (session_id, time_created, id);
create index part_message_id_id_idx on part (message_id, id);
create index part_session_idx on part (session_id);
"""
_ROW = ("session_id", "time_created", "time_updated", "data")
_ABOUT = (
    "project_id",
    "parent_id",
    "directory",
    "title",
    "version",
    "revert",
    "model",
    "time_created",
    "time_updated",
)
COLUMNS = {
    "session": ("id", *_ABOUT),
    "message": ("id", *_ROW),
    "part": ("id", "message_id", *_ROW),
}
_JSON = ("data", "revert", "model")


def made(path: Path) -> sqlite3.Connection:
    """A fresh database in WAL mode. Every statement is a transaction of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("pragma journal_mode = wal")
    writer.executescript(SCHEMA)
    return writer


def put(
    writer: sqlite3.Connection,
    *messages: dict[str, Any],
    at: int = 1,
    name: str = "ses_1",
    **more: Any,
) -> None:
    """Write messages of a session, and the session itself; what is there is written over, as opencode does."""
    for value in rows(*messages, name=name, **more):
        table = value["table"]
        row = {"project_id": "p", "time_created": at, "time_updated": at, **value["row"]}
        told = [
            json.dumps(row[key]) if key in _JSON and key in row else row.get(key)
            for key in COLUMNS[table]
        ]
        marks = ", ".join("?" * len(told))
        named = ", ".join(COLUMNS[table])
        writer.execute(f"insert or replace into {table} ({named}) values ({marks})", told)
