"""A database read without SQLite: what is read is what SQLite reads, whatever state the files are in."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.core.errors import NothingToRead
from inspector.transcripts.database import pages
from inspector.transcripts.database.pages import Torn
from inspector.transcripts.database.records import column_names, columns, varint
from inspector.transcripts.database.tables import Tables

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
    monkeypatch.setattr(pages, "_SETTLED_NS", 0)


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
    writer.execute("create table thing (name text, `one` text, [two] blob, constraint x check (name <> ''))")
    writer.execute("create index by_name on thing (name, one)")


def read(tables: Tables, *names: str) -> list[tuple[Any, ...]]:
    with tables.pages.reading() as changed:
        tables.look(changed)
        found = tables.where("thing", "name", names) if names else tables.trees.rows(tables.table("thing").root)
        return [(number, *tables.read("thing", cell).values()) for number, cell in found]


def expected(writer: sqlite3.Connection, *names: str) -> list[tuple[Any, ...]]:
    which = f"where name in ({','.join('?' * len(names))})" if names else ""
    return writer.execute(f"select rowid, * from thing {which} order by rowid", names).fetchall()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(ROWS, min_size=1, max_size=4),
    mode=st.sampled_from(["wal", "delete", "persist", "truncate"]),
    page=st.sampled_from([512, 1024, 4096, 65536]),
    seed=st.integers(0, 1000),
)
def test_what_sqlite_reads(tmp_path: Path, steps: list[Any], mode: str, page: int, seed: int) -> None:
    path, chance = Path(mkdtemp(dir=tmp_path)) / "some.db", random.Random(seed)
    writer = sqlite3.connect(path, isolation_level=None)
    begin(writer, mode, page)
    tables = Tables(path)
    for rows in steps:
        writer.executemany("insert into thing values (?, ?, ?)", rows)
        if chance.random() < 0.5:
            writer.execute("delete from thing where rowid % 3 = ?", (chance.randrange(3),))
            writer.execute("update thing set two = 'changed' where rowid % 5 = 1")
        if chance.random() < 0.4:
            writer.execute(chance.choice(["pragma wal_checkpoint(truncate)", "pragma wal_checkpoint", "vacuum"]))
        assert read(tables) == expected(writer)
        assert read(tables, "a", "c") == expected(writer, "a", "c")
    writer.close()
    assert read(tables) == read(Tables(path))


def test_many_rows_and_deep_trees(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer, page=512)
    rows = [("abcdefghij"[n % 10], f"{n}" * (n % 90), n) for n in range(6000)]
    writer.execute("begin")
    writer.executemany("insert into thing values (?, ?, ?)", rows)
    tables = Tables(path)
    assert read_nothing_yet(tables) == []
    writer.execute("commit")
    assert read(tables) == expected(writer)
    assert read(tables, "d") == expected(writer, "d")
    writer.execute("drop index by_name")
    assert read(tables, "d", "j") == expected(writer, "d", "j")


def read_nothing_yet(tables: Tables) -> list[tuple[Any, ...]]:
    """What is not committed is not there."""
    return read(tables)


def test_a_look_costs_what_has_changed(path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(writer)
    writer.executemany("insert into thing values (?, ?, ?)", [("a", "x", b"y" * 3000) for n in range(2000)])
    writer.execute("pragma wal_checkpoint(truncate)")
    writer.execute("insert into thing values ('a', 'new', 0)")
    tables = Tables(path)
    read(tables, "a")
    taken = 0
    real = pages._read_at

    def counting(handle: int, size: int, at: int) -> bytes:
        nonlocal taken
        data = real(handle, size, at)
        taken += len(data)
        return data

    monkeypatch.setattr(pages, "_read_at", counting)
    for n in range(5):
        writer.execute("insert into thing values ('a', 'new', ?)", (n,))
        with tables.pages.reading() as changed:
            tables.look(changed)
            fresh = [cell for _, cell in tables.where("thing", "name", ["a"]) if cell.fresh]
            assert 0 < len(fresh) < 300
    assert taken < 5 * 12 * 4096


def test_nothing_is_written_or_locked(path: Path, writer: sqlite3.Connection, tmp_path: Path) -> None:
    begin(writer)
    writer.execute("insert into thing values ('a', 'x', 1)")
    tables = Tables(path)

    def files() -> dict[str, tuple[int, int]]:
        return {found.name: (found.stat().st_mtime_ns, found.stat().st_size) for found in tmp_path.iterdir()}

    before = files()
    with tables.pages.reading() as changed:
        tables.look(changed)
        assert files() == before

    def checkpoint_meanwhile() -> None:
        with tables.pages.reading():
            busy, *_ = writer.execute("pragma wal_checkpoint(truncate)").fetchone()
            assert not busy  # SQLite's own reader would have been in the way
            writer.execute("insert into thing values ('b', 'y', 2)")

    with pytest.raises(Torn):
        checkpoint_meanwhile()
    assert read(tables) == expected(writer)


def test_a_log_that_its_writer_left_behind(path: Path) -> None:
    code = (
        "import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('pragma journal_mode = wal'); c.execute('create table thing (name text)');"
        "c.execute(\"insert into thing values ('here')\"); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    path.with_name("some.db-shm").unlink()
    assert [row[1] for row in read(Tables(path))] == ["here"]
    assert sorted(found.name for found in path.parent.iterdir()) == ["some.db", "some.db-wal"]


def test_a_torn_log_is_read_up_to_its_last_whole_commit(path: Path, writer: sqlite3.Connection, tmp_path: Path) -> None:
    begin(writer)
    writer.executemany("insert into thing values ('a', ?, 1)", [(f"{n}",) for n in range(30)])
    log = path.with_name("some.db-wal").read_bytes()
    wanted = {row[2] for row in expected(writer)}
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    seen = set()
    for cut in range(32 + 4 * 4120, len(log), 997):
        torn = bytearray(log)
        torn[cut:] = b"\0" * (len(log) - cut) if cut % 2 else b""
        (tmp_path / "copy.db-wal").write_bytes(torn)
        found = {row[2] for row in read(Tables(copy))}
        assert found <= wanted
        seen.add(len(found))
    assert len(seen) > 20


def test_one_that_is_being_written_is_refused(
    path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(writer, "delete")
    monkeypatch.setattr(pages, "_SETTLED_NS", 1 << 60)
    with pytest.raises(Torn, match="being written"):
        read(Tables(path))
    monkeypatch.setattr(pages, "_SETTLED_NS", 0)
    writer.execute("pragma cache_size = 1")
    writer.execute("begin")
    writer.executemany("insert into thing values ('a', ?, 1)", [("x" * 4000,) for n in range(50)])
    with pytest.raises(Torn, match="being written"):
        read(Tables(path))
    writer.execute("commit")
    assert len(read(Tables(path))) == 50


def test_damaged_bytes_never_do_more_than_raise(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer, "delete", 512)
    writer.executemany("insert into thing values (?, ?, ?)", [("ab"[n % 2], "x" * n, n) for n in range(300)])
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
                read(Tables(path), *names)
            except (Torn, NothingToRead):
                continue


def test_the_columns_of_a_table() -> None:
    sql = """CREATE TABLE "a" ( `id` text PRIMARY KEY, "b,c" integer DEFAULT (1 + 2) NOT NULL, [d e] blob,
        f TEXT CHECK (f in ('x', ')')), "check" int, CONSTRAINT `z` FOREIGN KEY (`i`) REFERENCES `q`(`i`), UNIQUE(f))"""
    assert column_names(sql) == ["id", "b,c", "d e", "f", "check"]
    assert column_names("CREATE TABLE nothing") == column_names("") == column_names("x ('") == []


def test_a_column_that_was_added_later(path: Path, writer: sqlite3.Connection) -> None:
    begin(writer)
    writer.execute("insert into thing values ('a', 'x', 1)")
    writer.execute("alter table thing add column three text")
    assert read(Tables(path)) == [(1, "a", "x", 1, None)]


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_of_variable_length(value: int) -> None:
    if value >= 1 << 56:
        low = [0x80 | value >> 8 + 7 * n & 0x7F for n in range(7, -1, -1)]
        data = bytes([*low, value & 0xFF])
    else:
        data = bytes([value & 0x7F])
        while value >> 7 * len(data):
            data = bytes([0x80 | value >> 7 * len(data) & 0x7F]) + data
    assert varint(data, 0) == (value, len(data))


def test_a_record_that_is_cut_off() -> None:
    record = bytes([4, 23, 1, 13 + 2 * 5]) + b"hello" + bytes([7]) + b"world"
    assert columns(record, (0, 1, 2, 3)) == ["hello", 7, "world", None]
    assert columns(record[:10], (0, 1)) == ["hello", 7]
    with pytest.raises(IndexError):
        columns(record[:10], (2,))


def test_no_database(tmp_path: Path) -> None:
    for name, data in (("empty.db", b""), ("text.db", b"no database" * 99)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(NothingToRead):
            read(Tables(tmp_path / name))
    with pytest.raises(Torn):
        read(Tables(tmp_path / "none.db"))
    assert os.listdir(tmp_path)
