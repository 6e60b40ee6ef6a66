"""edit_file and write_file: a file is replaced whole or not at all, and keeps its mode.

What is written goes to a file beside it, which then takes its name; who reads meanwhile sees the old or the new text,
never half of one. A link is followed inside the workspace and stays a link; a hard link elsewhere keeps the old text.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from inspector.agent.tools.inside import Place, Workspace, kind, regular
from inspector.agent.tools.limits import Limits
from inspector.agent.tools.refused import Refused, shown

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Change:
    """A file before (None = there is none) and after."""

    told: str
    before: bytes | None
    after: bytes


def edited(workspace: Workspace, limits: Limits, arguments: Mapping[str, Any]) -> Change:
    """What edit_file would make of the file. Raises Refused where the old text does not stand there exactly once."""
    with workspace.place(arguments["path"]) as place:
        _writable(place)
        data = _content(place, limits)
        old, new = arguments["old_text"].encode("utf-8", "replace"), arguments["new_text"].encode("utf-8", "replace")
        if not old:
            raise Refused("old_text is empty; give the exact text to be replaced, or use write_file.")
        if old == new:
            raise Refused("old_text and new_text are the same; nothing would change.")
        if old not in data and b"\r\n" in data and b"\r" not in old:
            old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n")
        times = _times(data, old)
        if times == 0:
            raise Refused(f"{place.shown}: old_text does not occur; read the file and give it exactly as it stands.")
        if times > 1:
            raise Refused(f"{place.shown}: old_text occurs {times:,} times; give more of its surroundings.")
        return _small(Change(place.shown, data, data.replace(old, new, 1)), limits)


def written(workspace: Workspace, limits: Limits, arguments: Mapping[str, Any]) -> Change:
    """What write_file would make. Raises Refused."""
    after = arguments["content"].encode("utf-8", "replace")
    with workspace.place(arguments["path"]) as place:
        _writable(place)
        before = None if place.found is None else _content(place, limits)
        return _small(Change(place.shown, before, after), limits)


def put(workspace: Workspace, path: str, change: Change) -> None:
    """Make the change. Raises Refused where the file is no longer as it was."""
    with workspace.place(path) as place:
        _writable(place)
        folder = _made_folders(place)
        try:
            mode = None if place.found is None else stat.S_IMODE(place.found.st_mode) & 0o777
            if change.before != (None if place.found is None else _all(place)):
                raise Refused(f"{place.shown} was changed by somebody else meanwhile; read it again.")
            _replace(folder, place.name, change.after, mode)
        finally:
            os.close(folder)


def _times(data: bytes, part: bytes) -> int:
    """How often `part` begins in `data`; places that overlap count, too."""
    found, at = 0, data.find(part)
    while at >= 0 and found < 1_000:
        found, at = found + 1, data.find(part, at + 1)
    return found


def _writable(place: Place) -> None:
    if place.is_folder:
        raise Refused(f"{place.shown} is a folder, not a file.")
    if ".git" in place.shown.lower().split("/"):
        raise Refused(f"{place.shown}: what lies in .git is changed by git only.")
    if place.found is None:
        return
    if what := kind(place.found.st_mode):
        raise Refused(f"{place.shown} is {what}, not a file that can be changed.")
    if not place.found.st_mode & 0o222:
        raise Refused(f"{place.shown} is read-only.")


def _content(place: Place, limits: Limits) -> bytes:
    if place.found is not None and place.found.st_size > limits.edit_bytes:
        raise Refused(f"{place.shown} is larger than {limits.edit_bytes:,} bytes; only smaller files are changed.")
    return _all(place)


def _all(place: Place) -> bytes:
    with os.fdopen(regular(place), "rb") as file:
        return file.read()


def _small(change: Change, limits: Limits) -> Change:
    if len(change.after) > limits.edit_bytes:
        raise Refused(f"{change.told} would be larger than {limits.edit_bytes:,} bytes.")
    return change


def _made_folders(place: Place) -> int:
    """A descriptor of the folder that the file lies in; folders that are missing are made."""
    folder = os.dup(place.folder)
    for name in place.missing:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            below = os.open(name, _STEP, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    draft = f".{uuid4().hex}.draft"
    handle = os.open(draft, _NEW, 0o666, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def told(change: Change) -> str:
    """What was done, in a line."""
    size = f"{len(change.after):,} bytes"
    if change.before is None:
        return f"Wrote {shown(change.told)}: a new file of {size}."
    at = change.before[: _same(change.before, change.after)].count(b"\n") + 1
    return f"Changed {shown(change.told)} from line {at:,} on; it has {size} now (before: {len(change.before):,})."


def _same(one: bytes, other: bytes) -> int:
    """Length of the common beginning. O(log n) comparisons."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
