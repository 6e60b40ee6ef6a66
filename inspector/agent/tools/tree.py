"""Everything below a folder, in order of names: no link is followed, nothing that is not a file or folder is opened."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from inspector.agent.tools.refused import shown

DEEPEST = 100
SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".direnv"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache", ".idea", ".gradle", ".terraform"),
    )
)
"""Folders that hold what was fetched or made, not what was written."""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing below the folder. `folder` is open only until the next one is asked for."""

    folder: int
    name: str
    path: str
    """From the workspace on, for people; a folder's ends in a slash."""
    mode: int
    size: int
    skipped: bool = False
    """A folder that is not looked into."""


class Stopped(Exception):
    """The time is over, or somebody has stopped it. `str(stopped)` says which."""


@dataclass(frozen=True, slots=True)
class Clock:
    """When looking has to end."""

    until: float
    cancelled: Callable[[], bool]

    def check(self) -> None:
        """Raises Stopped."""
        if self.cancelled():
            raise Stopped("it was stopped")
        if monotonic() > self.until:
            raise Stopped("the time was over")


def tree(folder: int, told: str, everything: bool, deep: bool, clock: Clock) -> Iterator[Found]:
    """All that lies below the open folder `folder`, which is called `told`. Raises Stopped, OSError (its own only)."""
    prefix = "" if told == "." else f"{told}/"
    levels = [_Level(os.dup(folder), prefix, iter(_names(folder)))]
    try:
        while levels:
            clock.check()
            level = levels[-1]
            name = next(level.names, None)
            if name is None:
                os.close(levels.pop().folder)
                continue
            if (found := _found(level, name, everything or not deep)) is None:
                continue
            yield found
            if stat.S_ISDIR(found.mode) and deep and not found.skipped and len(levels) < DEEPEST:
                levels += _opened(level, name, found.path)
    finally:
        for level in levels:
            os.close(level.folder)


@dataclass(frozen=True, slots=True)
class _Level:
    folder: int
    prefix: str
    names: Iterator[str]


def _names(folder: int) -> list[str]:
    return sorted(os.listdir(folder), key=os.fsencode)


def _found(level: _Level, name: str, everything: bool) -> Found | None:
    try:
        facts = os.stat(name, dir_fd=level.folder, follow_symlinks=False)
    except OSError:  # gone since it was listed
        return None
    is_folder = stat.S_ISDIR(facts.st_mode)
    path = f"{level.prefix}{shown(name)}{'/' * is_folder}"
    return Found(
        level.folder, name, path, facts.st_mode, facts.st_size, is_folder and not everything and name in SKIPPED
    )


def _opened(level: _Level, name: str, path: str) -> list[_Level]:
    """The folder below, to go on in; none where it cannot be read."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=level.folder)
    except OSError:
        return []
    try:
        return [_Level(handle, path, iter(_names(handle)))]
    except OSError:
        os.close(handle)
        return []
