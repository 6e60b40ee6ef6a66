"""A database read without SQLite: what is read is what SQLite reads, whatever state the files are in."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.core.errors import NothingToRead
from inspector.transcripts import database
from inspector.transcripts.database import Torn, open_snapshot

VALUES = (
    st.none()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    | st.binary()
    | st.integers(0, 9000).map(lambda n: "word " * n)
)
ROWS = st.lists(st.tuples(st.sampled_from("abc"), VALUES, VALUES), max_size=40)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test writes and looks within a moment; that moment has a test of its own."""
    monkeypatch.setattr(database, "_SETTLED_NS", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def begin(writer: sqlite3.Connection, mode: str = "wal", page: int = 4096) -> None:
    writer.execute(f"pragma page_size = {page}")
    writer.execute(f"pragma journal_mode = {mode}")
    writer.execute(
        "create table thing (name text, `one` text, [two] blob, constraint x check (name <> ''))"
    )
    writer.execute("create index by_name on thing (name, one)")


def read(path: Path, *names: str) -> list[tuple[Any, ...]]:
    with open_snapshot(path) as connection:
        return asked(connection, *names)


def asked(by: Any, *names: str) -> list[tuple[Any, ...]]:
    which = f"where name in ({','.join('?' * len(names))})" if names else ""
    found: list[tuple[Any, ...]] = by.execute(
        f"select rowid, * from thing {which} order by rowid", names
    ).fetchall()
    return found


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(ROWS, min_size=1, max_size=4),
    mode=st.sampled_from(["wal", "delete", "persist", "truncate"]),
    page=st.sampled_from([512, 1024, 4096, 65536]),
    seed=st.integers(0, 1000),
)
def test_what_sqlite_reads(
    tmp_path: Path, steps: list[Any], mode: str, page: int, seed: int
) -> None:
    path, chance = Path(mkdtemp(dir=tmp_path)) / "some.db", random.Random(seed)
    writer = sqlite3.connect(path, isolation_level=None)
    begin(writer, mode, page)
    for rows in steps:
        writer.executemany("insert into thing values (?, ?, ?)", rows)
        if chance.random() < 0.5:
            writer.execute("delete from thing where rowid % 3 = ?", (chance.randrange(3),))
            writer.execute("update thing set two = 'changed' where rowid % 5 = 1")
        if chance.random() < 0.4:
            writer.execute(
                chance.choice(
                    ["pragma wal_checkpoint(truncate)", "pragma wal_checkpoint", "vacuum"]
                )
            )
        assert read(path) == asked(writer)
        assert read(path, "a", "c") == asked(writer, "a", "c")
    writer.close()
    assert read(path) == read(path)


def test_many_rows_and_deep_trees(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer, page=512)
    rows = [("abcdefghij"[n % 10], f"{n}" * (n % 90), n) for n in range(6000)]
    writer.execute("begin")
    writer.executemany("insert into thing values (?, ?, ?)", rows)
    assert read(path) == []  # what is not committed is not there
    writer.execute("commit")
    assert read(path) == asked(writer)
    assert read(path, "d") == asked(writer, "d")
    writer.execute("drop index by_name")
    assert read(path, "d", "j") == asked(writer, "d", "j")


def files_in(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        found.name: (found.stat().st_mtime_ns, sha256(found.read_bytes()).hexdigest())
        for found in folder.iterdir()
    }


@pytest.mark.parametrize("left", [True, False], ids=["its writer is there", "its writer is gone"])
def test_nothing_is_written(path: Path, writer: sqlite3.Connection, left: bool) -> None:
    begin(writer)
    writer.execute("insert into thing values ('a', 'x', 1)")
    if not left:
        writer.close()  # the log goes with it; nobody makes one anew
    before = files_in(path.parent)
    assert len(before) == (3 if left else 1)
    assert read(path) == [(1, "a", "x", 1)]
    with pytest.raises(Torn), open_snapshot(path) as connection:
        connection.execute("insert into thing values ('b', 'y', 2)")
    assert files_in(path.parent) == before


def test_nobody_is_in_the_way_of_the_writer(path: Path, writer: sqlite3.Connection) -> None:
    """SQLite's own reader would be: its checkpoint says "busy" then, and leaves the log as it is."""
    begin(writer)
    writer.executemany(
        "insert into thing values ('a', 'x', ?)", [(b"y" * 3000,) for n in range(500)]
    )
    rows = 0

    def checkpoint_meanwhile() -> None:
        nonlocal rows
        with open_snapshot(path) as connection:
            for _ in connection.execute("select * from thing"):
                if not rows:
                    busy, *_ = writer.execute("pragma wal_checkpoint(truncate)").fetchone()
                    assert not busy
                    writer.execute("insert into thing values ('b', 'y', 2)")
                rows += 1

    with pytest.raises(Torn):
        checkpoint_meanwhile()
    assert rows
    assert read(path) == asked(writer)


def test_a_link_to_a_database(path: Path, writer: sqlite3.Connection, tmp_path: Path) -> None:
    begin(writer)
    writer.execute("insert into thing values ('a', 'x', 1)")
    other = tmp_path / "folder" / "link.db"
    other.parent.mkdir()
    other.symlink_to(path)
    assert read(other) == asked(writer)
    assert [found.name for found in other.parent.iterdir()] == ["link.db"]


def test_a_log_that_its_writer_left_behind(path: Path) -> None:
    code = (
        "import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('pragma journal_mode = wal'); c.execute('create table thing (name text)');"
        "c.execute(\"insert into thing values ('here')\"); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    path.with_name("some.db-shm").unlink()
    assert [row[1] for row in read(path)] == ["here"]
    assert sorted(found.name for found in path.parent.iterdir()) == ["some.db", "some.db-wal"]


def test_a_torn_log_is_read_up_to_its_last_whole_commit(
    path: Path, writer: sqlite3.Connection, tmp_path: Path
) -> None:
    begin(writer)
    writer.executemany("insert into thing values ('a', ?, 1)", [(f"{n}",) for n in range(30)])
    log = path.with_name("some.db-wal").read_bytes()
    wanted = {row[2] for row in asked(writer)}
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    seen = set()
    for cut in range(32 + 4 * 4120, len(log), 997):
        torn = bytearray(log)
        torn[cut:] = b"\0" * (len(log) - cut) if cut % 2 else b""
        (tmp_path / "copy.db-wal").write_bytes(torn)
        found = {row[2] for row in read(copy)}
        assert found <= wanted
        seen.add(len(found))
    assert len(seen) > 20


def test_one_that_is_being_written_is_refused(
    path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(writer, "delete")
    monkeypatch.setattr(database, "_SETTLED_NS", 1 << 60)
    with pytest.raises(Torn, match="being written"):
        read(path)
    monkeypatch.setattr(database, "_SETTLED_NS", 0)
    writer.execute("pragma cache_size = 1")
    writer.execute("begin")
    writer.executemany("insert into thing values ('a', ?, 1)", [("x" * 4000,) for n in range(50)])
    with pytest.raises(Torn, match="being written"):
        read(path)
    writer.execute("commit")
    assert len(read(path)) == 50


def test_damaged_bytes_never_do_more_than_raise(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer, "delete", 512)
    writer.executemany(
        "insert into thing values (?, ?, ?)", [("ab"[n % 2], "x" * n, n) for n in range(300)]
    )
    whole = path.read_bytes()
    chance = random.Random(7)
    writer.close()
    for _ in range(400):
        broken = bytearray(whole)
        for _ in range(chance.randrange(1, 12)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        for names in ((), ("a",)):
            try:
                read(path, *names)
            except (Torn, NothingToRead):
                continue


def test_a_column_that_was_added_later(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer)
    writer.execute("insert into thing values ('a', 'x', 1)")
    writer.execute("alter table thing add column three text")
    assert read(path) == [(1, "a", "x", 1, None)]


def test_no_database(tmp_path: Path) -> None:
    for name, data in (("empty.db", b""), ("text.db", b"no database" * 99)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(NothingToRead):
            read(tmp_path / name)
    with pytest.raises(Torn):
        read(tmp_path / "none.db")
    assert os.listdir(tmp_path)
