"""How a session inside a database is named: `opencode.db` is the newest one in it, `opencode.db#ID` a certain one."""

import stat
from pathlib import Path

from inspector.transcripts.database.pages import MAGIC
from inspector.transcripts.growing import Standing, standing

SIGN = "#"


def database_of(path: Path) -> tuple[Path, str] | None:
    """The database and the session that a path names (empty = the newest one); None where it names no database."""
    if (told := _is_database(path)) is not None:
        return (path, "") if told else None
    name, sign, session = path.name.rpartition(SIGN)
    if sign and name and _is_database(found := path.with_name(name)):
        return found, session
    return None


def _is_database(path: Path) -> bool | None:
    """By its first bytes; None where there is no such file. A pipe or a device is never opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb", buffering=0) as file:
            return file.read(len(MAGIC)) == MAGIC
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):  # whoever reads it tells why
        return False


def named(path: Path, session: str) -> Path:
    """The name of a session in a database."""
    return path.with_name(f"{path.name}{SIGN}{session}")


def file_of(path: Path) -> Path:
    """The file on disk behind the name of a transcript."""
    found = database_of(path)
    return found[0] if found else path


def stands(path: Path) -> Standing | None:
    """As `growing.standing`, of whatever the path names: what a database's writer appends stands in its log."""
    if (now := standing(path)) is None and SIGN in path.name and (found := database_of(path)):
        now = standing(path := found[0])
    if now is None or (log := standing(path.with_name(path.name + "-wal"))) is None:
        return now
    return now[0], now[1], now[2] + log[2], max(now[3], log[3])
