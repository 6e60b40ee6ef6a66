"""edit_file and write_file: a file is replaced completely or not at all, and keeps its mode.

The new content is written to a temporary file next to it, which is then renamed. A reader sees either the old or the
new text, never a mixture. A link is followed inside the workspace and stays a link; a hard link elsewhere keeps the old
text.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from uuid import uuid4

from inspector.agent.tools.common import (
    Location,
    Question,
    ToolError,
    ToolLimits,
    Workspace,
    kind,
    regular,
    shown,
)


class _Opcode(NamedTuple):
    """An opcode of difflib: what becomes of some old lines."""

    kind: str
    old_start: int
    old_end: int
    new_start: int
    new_end: int


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before (None if there is no file) and after a change."""

    path: str
    before: bytes | None
    after: bytes


def plan_edit(workspace: Workspace, limits: ToolLimits, arguments: Mapping[str, Any]) -> Change:
    """Return what edit_file would change. Raises ToolError unless the old text occurs exactly once."""
    with workspace.place(arguments["path"]) as place:
        _writable(place)
        data = _content(place, limits)
        old = arguments["old_text"].encode("utf-8", "replace")
        new = arguments["new_text"].encode("utf-8", "replace")
        if not old:
            raise ToolError(
                "old_text is empty; give the exact text to be replaced, or use write_file."
            )
        if old == new:
            raise ToolError("old_text and new_text are the same; nothing would change.")
        if old not in data and b"\r\n" in data and b"\r" not in old:
            old = old.replace(b"\n", b"\r\n")
            new = new.replace(b"\n", b"\r\n")
        times = _times(data, old)
        if times == 0:
            raise ToolError(
                f"{place.shown}: old_text does not occur; read the file and give it exactly as it stands."
            )
        if times > 1:
            raise ToolError(
                f"{place.shown}: old_text occurs {times:,} times; give more of its surroundings."
            )
        return _check_result_size(Change(place.shown, data, data.replace(old, new, 1)), limits)


def plan_write(workspace: Workspace, limits: ToolLimits, arguments: Mapping[str, Any]) -> Change:
    """Return what write_file would change. Raises ToolError."""
    after = arguments["content"].encode("utf-8", "replace")
    with workspace.place(arguments["path"]) as place:
        _writable(place)
        before = None if place.found is None else _content(place, limits)
        return _check_result_size(Change(place.shown, before, after), limits)


def put(workspace: Workspace, path: str, change: Change) -> None:
    """Make the change. Raises ToolError if the file has changed since the change was planned."""
    with workspace.place(path) as place:
        _writable(place)
        folder = _made_folders(place)
        try:
            mode = None if place.found is None else stat.S_IMODE(place.found.st_mode) & 0o777
            if change.before != (None if place.found is None else _read_all_bytes(place)):
                raise ToolError(
                    f"{place.shown} was changed by somebody else meanwhile; read it again."
                )
            _replace(folder, place.name, change.after, mode)
        finally:
            os.close(folder)


def _times(data: bytes, part: bytes) -> int:
    """Count the occurrences of `part` in `data`, including overlapping ones, up to 1,000."""
    count = 0
    position = data.find(part)
    while position >= 0 and count < 1_000:
        count += 1
        position = data.find(part, position + 1)
    return count


def _writable(place: Location) -> None:
    if place.is_folder:
        raise ToolError(f"{place.shown} is a folder, not a file.")
    if ".git" in place.shown.lower().split("/"):
        raise ToolError(f"{place.shown}: only git changes what is in .git.")
    if place.found is None:
        return
    if what := kind(place.found.st_mode):
        raise ToolError(f"{place.shown} is {what}, not a file that can be changed.")
    if not place.found.st_mode & 0o222:
        raise ToolError(f"{place.shown} is read-only.")


def _content(place: Location, limits: ToolLimits) -> bytes:
    if place.found is not None and place.found.st_size > limits.edit_bytes:
        raise ToolError(
            f"{place.shown} is larger than {limits.edit_bytes:,} bytes; only smaller files are changed."
        )
    return _read_all_bytes(place)


def _read_all_bytes(place: Location) -> bytes:
    with os.fdopen(regular(place), "rb") as file:
        return file.read()


def _check_result_size(change: Change, limits: ToolLimits) -> Change:
    if len(change.after) > limits.edit_bytes:
        raise ToolError(f"{change.path} would be larger than {limits.edit_bytes:,} bytes.")
    return change


def _made_folders(place: Location) -> int:
    """Return a descriptor of the file's folder; missing folders are created."""
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


def summary(change: Change) -> str:
    """Describe the change that was made, in a line."""
    size = f"{len(change.after):,} bytes"
    if change.before is None:
        return f"Wrote {shown(change.path)}: a new file of {size}."
    line = _same_lines(_lines(change.before), _lines(change.after)) + 1
    return f"Changed {shown(change.path)} from line {line:,} on; it has {size} now (before: {len(change.before):,})."


_LARGEST = 200_000
"""Largest number of characters for which a line-by-line diff is computed: it takes more than linear time."""
_AROUND = 2
"""Lines that are shown before and after a difference."""
OPEN_END = "\\ no line end at the end of the file"


def about_change(tool: str, change: Change) -> Question:
    """Return a question that shows the diff."""
    always = f"Always: {tool} may change any file in this workspace until this run ends."
    if change.before is None:
        what = "Write the new file" if change.after else "Write the new, empty file"
    else:
        what = (
            "Change the file"
            if change.after != change.before
            else "Write the file again without a change:"
        )
    return Question(
        f"{what} {change.path}",
        difference(change.before or b"", change.after),
        always,
        is_diff=True,
    )


def difference(before: bytes, after: bytes) -> str:
    """Return a diff: removed lines (-), added lines (+) and the lines around them.

    No line is cut; only unchanged lines are left out.
    """
    return "\n".join(_diff(_lines(before), _lines(after)))


def _diff(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    first = _same_lines(before, after)
    last = _same_lines(before[first:][::-1], after[first:][::-1])
    old = before[first : len(before) - last]
    new = after[first : len(after) - last]
    if not old and not new:
        return
    changed_size = sum(map(len, old)) + sum(map(len, new))
    if changed_size > _LARGEST:
        whole = _Opcode("replace", first, len(before) - last, first, len(after) - last)
        groups = [[whole]]
    else:
        start = max(0, first - _AROUND)
        tail = max(0, last - _AROUND)
        old_part = before[start : len(before) - tail]
        new_part = after[start : len(after) - tail]
        matcher = SequenceMatcher(None, old_part, new_part)
        groups = [_shift_opcodes(group, start) for group in matcher.get_grouped_opcodes(_AROUND)]
    for group in groups:
        old_range = _range(group[0].old_start, group[-1].old_end)
        new_range = _range(group[0].new_start, group[-1].new_end)
        yield f"@@ -{old_range} +{new_range} @@"
        for opcode in group:
            old_lines = before[opcode.old_start : opcode.old_end]
            if opcode.kind == "equal":
                yield from _rows(" ", old_lines)
            else:
                yield from _rows("-", old_lines)
                yield from _rows("+", after[opcode.new_start : opcode.new_end])


def _shift_opcodes(group: Iterable[tuple[str, int, int, int, int]], start: int) -> list[_Opcode]:
    """Return the opcodes of difflib for texts that begin `start` lines earlier."""
    shifted = []
    for change, *lines in group:
        shifted.append(_Opcode(change, *(line + start for line in lines)))
    return shifted


def _lines(data: bytes) -> list[str]:
    """Return the lines with their ends. Bytes that are not UTF-8 are escaped."""
    pieces = data.decode("utf-8", "backslashreplace").split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _same_lines(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many lines are the same from the beginning."""
    least = min(len(first), len(second))
    return next((index for index in range(least) if first[index] != second[index]), least)


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _rows(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield OPEN_END
