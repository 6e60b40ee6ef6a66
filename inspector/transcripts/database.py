"""Read an SQLite database that another program is writing, without locks and without writing anything.

SQLite's own modes cannot do that. A read-only connection (`mode=ro`) to a database in WAL mode takes locks, writes into
the `-shm` file and blocks the writer's checkpoint; `immutable=1` ignores the write-ahead log. This module therefore
gives SQLite files that are opened for reading only and whose locks do nothing, and keeps SQLite's index of the log in
memory. Afterwards it checks that the database did not change during the reading.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from inspector.core.errors import NothingToRead
from inspector.transcripts.unpack import FileStat, file_stat

MAGIC = b"SQLite format 3\x00"
SIGN = "#"
_LOG_HEADER = 32
_SETTLED_NS = 12_000_000
"""Age of a file, in ns, below which a later write might get the same timestamp: the file clock ticks every 10 ms."""
_KINDS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_SETTINGS = (
    "pragma locking_mode = exclusive; pragma temp_store = memory; pragma trusted_schema = off"
)
"""Exclusive mode keeps the index of the log in this process instead of the `-shm` file that the writers share."""


class Torn(Exception):
    """The database changed while it was read, so the result is inconsistent. Try again."""


class DamagedDatabase(Torn):
    """The content is invalid although nothing changed in the meantime: another try will find the same."""


class _UnlockedFile(apsw.VFSFile):
    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False


class _ReadOnlyFiles(apsw.VFS):
    """The system's own files, opened for reading only. A missing log is treated as an empty one."""

    def __init__(self) -> None:
        self.name = "context-inspector"
        super().__init__(self.name, "")

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> _UnlockedFile:
        if flags[0] & apsw.SQLITE_OPEN_WAL and not os.path.exists(str(name)):
            name = os.devnull
        flags[:] = [flags[0] & _KINDS | apsw.SQLITE_OPEN_READONLY, apsw.SQLITE_OPEN_READONLY]
        return _UnlockedFile("", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        pass


_FILES = _ReadOnlyFiles()


@contextmanager
def open_snapshot(path: Path) -> Iterator[apsw.Connection]:
    """Open the database read-only for queries.

    Raises NothingToRead if it is not a database, and Torn if it changed in the meantime (checked on entry and on exit).
    """
    before = _moment(path)
    if 0 <= time.time_ns() - before[0].changed_ns < _SETTLED_NS:
        raise Torn(f"{path} is being written")
    try:
        connection = apsw.Connection(
            os.path.realpath(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=_FILES.name
        )
        try:
            connection.execute(_SETTINGS)
            yield connection
        finally:
            connection.close()
    except (apsw.NotADBError, apsw.SQLError) as why:
        raise NothingToRead(f"{path} is not a database of the expected kind: {why}") from None
    except apsw.ReadOnlyError:  # a journal beside it means that the file itself is being changed
        raise Torn(f"{path} is being written") from None
    except (apsw.CorruptError, UnicodeDecodeError) as why:
        raise DamagedDatabase(f"{path} is damaged: {why}") from None
    except apsw.Error as why:
        raise Torn(f"{path} cannot be read: {why}") from None
    finally:
        if _moment(path) != before:
            # This replaces any other error, which may be a consequence.
            raise Torn(f"{path} changed while it was read")


def _moment(path: Path) -> tuple[FileStat, bytes]:
    """Return the state of a database. If it is the same before and after reading, the result is consistent.

    The log only grows until a checkpoint has moved it into the main file; the next log has another header.
    """
    try:
        about = file_stat(path)
        with _log_of(path).open("rb", buffering=0) as log:
            header = log.read(_LOG_HEADER)
    except FileNotFoundError:
        header = b""
    except (NothingToRead, OSError) as error:
        raise Torn(f"{path} cannot be read: {error}") from error
    if about is None:
        raise Torn(f"there is no file {path}")
    return about, header


def _log_of(path: Path) -> Path:
    return Path(f"{os.path.realpath(path)}-wal")


# ---- the name of a session in a file of many: `opencode.db` is the newest one in it, `opencode.db#ID` that one ------


def split_session_path(path: Path) -> tuple[Path, str]:
    """Split a path into the file on disk and the wanted session in it (empty: the first one).

    If the file is a folder, the session is the name of a file in it, and the path of that file is returned.
    """
    text = at = str(path)
    while SIGN in at and not os.path.exists(path):
        at = at.rpartition(SIGN)[0]
        file = Path(at)
        session = text[len(at) + 1 :]
        if at and session and os.path.isdir(file) and os.path.exists(file / session):
            return file / session, ""
        if at and os.path.isfile(file):
            return file, session
    return path, ""


def database_of(path: Path) -> tuple[Path, str] | None:
    """Return the database and the session (empty: the newest) that a path names; None if it names no database."""
    file, session = split_session_path(path)
    return (file, session) if begins_with(file, MAGIC) else None


def begins_with(path: Path, magic: bytes) -> bool:
    """Is it a regular file that begins with these bytes?"""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb", buffering=0) as file:
            return file.read(len(magic)) == magic
    except (OSError, ValueError):  # reading the file will report the error
        return False


def session_path(path: Path, session: str) -> Path:
    """Return the path that names a session in a file of several."""
    return Path(f"{path}{SIGN}{session}")


def transcript_stat(path: Path) -> FileStat | None:
    """Return `file_stat` of the file that the path names. For a database, its log is included, to which writers
    append.
    """
    path = split_session_path(path)[0]
    now = file_stat(path)
    if now is None or (log := file_stat(_log_of(path))) is None:
        return now
    return now._replace(size=now.size + log.size, changed_ns=max(now.changed_ns, log.changed_ns))
