"""list_files: what lies in a folder, with sizes. Everything below it is walked in order of names.

No link is followed, nothing that is not a file or folder is opened.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from inspector.agent.tools.common import ToolError, ToolLimits, shown
from inspector.agent.tools.inside import Location, Workspace, kind

DEEPEST = 100
SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".direnv"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".cache", ".idea", ".gradle", ".terraform"),
    )
)
"""Folders that hold what was fetched or made, not what was written."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One thing below the folder. `folder` is open only until the next one is asked for."""

    folder: int
    name: str
    path: str
    """From the workspace on, for people; a folder's ends in a slash."""
    mode: int
    size: int
    skipped: bool = False
    """A folder that is not looked into."""


class LookEnded(Exception):
    """The time is over, or somebody has stopped it. `str(stopped)` says which."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When looking has to end."""

    until: float
    cancelled: Callable[[], bool]

    def check(self) -> None:
        """Raises LookEnded."""
        if self.cancelled():
            raise LookEnded("it was stopped")
        if monotonic() > self.until:
            raise LookEnded("the time was over")


def tree(
    folder: int, prefix: str, everything: bool, deep: bool, deadline: Deadline, depth: int = 0
) -> Iterator[TreeEntry]:
    """All that lies below the open folder `folder`; their paths begin with `prefix`. Raises LookEnded, OSError (of
    this folder only)."""
    for name in sorted(os.listdir(folder), key=os.fsencode):
        deadline.check()
        try:
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:  # gone since it was listed
            continue
        is_folder = stat.S_ISDIR(facts.st_mode)
        path, skipped = (
            f"{prefix}{shown(name)}{'/' * is_folder}",
            is_folder and deep and not everything and name in SKIPPED,
        )
        yield TreeEntry(folder, name, path, facts.st_mode, facts.st_size, skipped)
        if is_folder and deep and not skipped and depth < DEEPEST:
            with suppress(OSError):  # one that cannot be read
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    yield from tree(below, path, everything, deep, deadline, depth + 1)
                finally:
                    os.close(below)


def prefix_of(location: Location) -> str:
    """What the paths below a folder begin with."""
    return "" if location.shown == "." else f"{location.shown}/"


def list_files(
    workspace: Workspace, limits: ToolLimits, arguments: Mapping[str, Any], cancelled: Callable[[], bool]
) -> str:
    """One line a file or folder. Raises ToolError."""
    most = min(arguments.get("limit") or limits.listed, limits.listed)
    deadline = Deadline(monotonic() + limits.look_s, cancelled)
    lines: list[str] = []
    with workspace.place(arguments.get("path") or ".") as place:
        if place.found is None:
            raise ToolError(f"{place.shown}: there is no such folder.")
        if not place.is_folder:
            found = place.found
            return _line(TreeEntry(place.folder, place.name, place.shown, found.st_mode, found.st_size))
        deep = arguments.get("recursive", True)
        try:
            for one in tree(place.folder, prefix_of(place), bool(arguments.get("all")), deep, deadline):
                if len(lines) == most:
                    lines.append(f"… and more: only the first {most:,} are shown. List a folder further in.")
                    break
                lines.append(_line(one))
        except LookEnded as why:
            lines.append(f"… {why} before all was listed. List a folder further in.")
        return "\n".join(lines) or f"{place.shown} is empty."


def _line(found: TreeEntry) -> str:
    if stat.S_ISREG(found.mode):
        return f"{found.path}  {found.size:,} bytes"
    if stat.S_ISDIR(found.mode):
        return f"{found.path}  (not looked into; ask with all=true)" if found.skipped else found.path
    if stat.S_ISLNK(found.mode):
        return f"{found.path} -> {_target(found)}"
    return f"{found.path}  ({kind(found.mode)})"


def _target(found: TreeEntry) -> str:
    try:
        return shown(os.readlink(found.name, dir_fd=found.folder))
    except OSError:
        return "?"
