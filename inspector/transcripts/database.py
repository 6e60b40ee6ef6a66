"""An SQLite database that somebody else is writing: read without a lock, nothing ever written to it or beside it.

SQLite's own ways cannot do that: a read-only connection (`mode=ro`) to a database in WAL mode takes locks, writes into
the `-shm` file and is in the way of the writer's checkpoint; `immutable=1` does not see the write-ahead log. So SQLite
gets files here that are opened for reading only and whose locks do nothing, and keeps its index of the log in
memory.
Whether all that was read is of one moment is checked afterwards.
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
"""A file that was written less long ago may be written again at the same time of its clock: that ticks every 10 ms."""
_KINDS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_SETTINGS = (
    "pragma locking_mode = exclusive; pragma temp_store = memory; pragma trusted_schema = off"
)
"""Exclusive: the index of the log is in our own memory instead of the `-shm` file that its writers share."""


class Torn(Exception):
    """It changed while it was read: what was read does not belong together. Look again."""


class DamagedDatabase(Torn):
    """What was read makes no sense, though nothing changed meanwhile: another look will find the same."""


class _UnlockedFile(apsw.VFSFile):
    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False


class _ReadOnlyFiles(apsw.VFS):
    """The system's own files, opened for reading only. A log that is not there is an empty one."""

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

    Raises NothingToRead if it is no database, and Torn if it changed meanwhile (checked on entry and again on exit).
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
        raise NothingToRead(f"{path} is not the database that it should be: {why}") from None
    except (
        apsw.ReadOnlyError
    ):  # a journal beside it says that a change of the file itself is under way
        raise Torn(f"{path} is being written") from None
    except (apsw.CorruptError, UnicodeDecodeError) as why:
        raise DamagedDatabase(f"{path} is damaged: {why}") from None
    except apsw.Error as why:
        raise Torn(f"{path} cannot be read: {why}") from None
    finally:
        if _moment(path) != before:
            raise Torn(
                f"{path} changed while it was read"
            )  # whatever else was found meanwhile does not count


def _moment(path: Path) -> tuple[FileStat, bytes]:
    """The same before and after: all that lay between is of one moment.

    The log only grows until a checkpoint has moved it into the main file; the next one has another header.
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
    """The file on disk, and the session in it that is wanted (empty = whichever comes first).

    Of a folder it is one of its files that a name means.
    """
    text = at = str(path)
    while SIGN in at and not os.path.exists(path):
        at = at.rpartition(SIGN)[0]
        file, session = Path(at), text[len(at) + 1 :]
        if at and session and os.path.isdir(file) and os.path.exists(file / session):
            return file / session, ""
        if at and os.path.isfile(file):
            return file, session
    return path, ""


def database_of(path: Path) -> tuple[Path, str] | None:
    """The database and the session that a path names (empty = the newest one); None where it names no database."""
    file, session = split_session_path(path)
    return (file, session) if begins_with(file, MAGIC) else None


def begins_with(path: Path, magic: bytes) -> bool:
    """Is it a file with these first bytes?"""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb", buffering=0) as file:
            return file.read(len(magic)) == magic
    except (OSError, ValueError):  # whoever reads it says why
        return False


def session_path(path: Path, session: str) -> Path:
    """The name of a session in a file of many."""
    return Path(f"{path}{SIGN}{session}")


def transcript_stat(path: Path) -> FileStat | None:
    """Return `file_stat` of whatever the path names: what a database's writer appends is in its log."""
    path = split_session_path(path)[0]
    now = file_stat(path)
    if now is None or (log := file_stat(_log_of(path))) is None:
        return now
    return now._replace(size=now.size + log.size, changed_ns=max(now.changed_ns, log.changed_ns))
