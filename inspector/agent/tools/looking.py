"""read_file, list_files, search_files: the tools that change nothing.

Everything below a folder is visited in order of names; no link is followed, and only files and folders are opened.
Files are opened here, inside the workspace; patterns are matched in a separate process (`matcher`), which is ended when
the time is over. (A library with a time limit would not be enough: compiling a pattern of 22 characters can use all
memory.)
"""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from time import monotonic
from typing import IO, Any

from inspector.agent.tools.common import (
    Location,
    ToolError,
    ToolLimits,
    Workspace,
    kind,
    open_file,
    plain,
    regular,
    shown,
)
from inspector.core.jsontext import dumps, loads

SNIFFED = 8_192


def read_file(workspace: Workspace, limits: ToolLimits, arguments: Mapping[str, Any]) -> str:
    """Return the lines from line `offset` (1-based). Raises ToolError."""
    first = arguments.get("offset") or 1
    count = min(arguments.get("limit") or limits.read_lines, limits.read_lines)
    with workspace.place(arguments["path"]) as place, os.fdopen(regular(place), "rb") as file:
        head = file.read(SNIFFED)
        if b"\0" in head:
            size = os.fstat(file.fileno()).st_size
            raise ToolError(
                f"{place.shown} is a binary file of {size:,} bytes; only text can be read."
            )
        file.seek(0)
        lines, more = _take(file, first, count, limits)
    if not head:
        return f"({place.shown} is empty)"
    if not lines:
        raise ToolError(
            f"{place.shown}: {more or f'there is no line {first:,}; the file ends before it'}."
        )
    if arguments.get("numbers"):
        lines = [f"{first + index:>6}\t{line}" for index, line in enumerate(lines)]
    text = "".join(lines)
    if more:
        end = "" if text.endswith("\n") else "\n"
        text += f"{end}… lines {first:,} to {first + len(lines) - 1:,}; {more} …"
    return plain(text)


def _take(file: IO[bytes], first: int, count: int, limits: ToolLimits) -> tuple[list[str], str]:
    """Return the lines, and why they end before the file does; empty if they do not."""
    lines = list[str]()
    size = 0
    for number, line in enumerate(_lines(file, limits), 1):
        if file.tell() > limits.scan_bytes:
            return lines, f"only the first {limits.scan_bytes:,} bytes of a file are looked at"
        if number < first:
            continue
        size += len(line)
        if len(lines) == count or (size > limits.read_bytes and lines):
            return lines, f"continue with offset={number}"
        lines.append(line.decode("utf-8", "replace"))
    return lines, ""


def _lines(file: IO[bytes], limits: ToolLimits) -> Iterator[bytes]:
    """Yield the lines with their ends. A line that is too long is cut, with a note."""
    while line := file.readline(limits.line_bytes):
        if len(line) == limits.line_bytes and not line.endswith(b"\n"):
            left = 0
            while (more := file.readline(65_536)) and file.tell() <= limits.scan_bytes:
                left += len(more)
                if more.endswith(b"\n"):
                    break
            line += f" … {left:,} bytes of this line left out …\n".encode() if left else b""
        yield line


DEEPEST = 100
SKIPPED = frozenset(
    (
        *(
            ".git",
            ".hg",
            ".svn",
            ".jj",
            "node_modules",
            "__pycache__",
            ".venv",
            "venv",
            ".tox",
            ".nox",
            ".direnv",
        ),
        *(
            ".mypy_cache",
            ".pytest_cache",
            ".ruff_cache",
            ".hypothesis",
            ".cache",
            ".idea",
            ".gradle",
            ".terraform",
        ),
    )
)
"""Folders whose contents were downloaded or generated, not written by the user."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file or folder below the listed folder. `folder` is open only until the next entry is requested."""

    folder: int
    name: str
    path: str
    """Path relative to the workspace, for people; a folder's path ends in a slash."""
    mode: int
    size: int
    skipped: bool = False
    """True for a folder whose contents are not visited."""


class LookEnded(Exception):
    """The time is over, or the user has stopped the tool. `str(error)` says which."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a listing or search must end."""

    until: float
    cancelled: Callable[[], bool]

    def check(self) -> None:
        """Return if there is time left and the user has not stopped the tool. Raises LookEnded."""
        if self.cancelled():
            raise LookEnded("it was stopped")
        if monotonic() > self.until:
            raise LookEnded("the time was over")


def tree(
    folder: int, prefix: str, everything: bool, deep: bool, deadline: Deadline, depth: int = 0
) -> Iterator[TreeEntry]:
    """Yield everything below the open folder `folder`, with paths that begin with `prefix`.

    Raises LookEnded, and OSError if this folder itself cannot be listed.
    """
    for name in sorted(os.listdir(folder), key=os.fsencode):
        deadline.check()
        try:
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:  # removed since it was listed
            continue
        is_folder = stat.S_ISDIR(facts.st_mode)
        path = f"{prefix}{shown(name)}{'/' * is_folder}"
        skipped = is_folder and deep and not everything and name in SKIPPED
        yield TreeEntry(folder, name, path, facts.st_mode, facts.st_size, skipped)
        if is_folder and deep and not skipped and depth < DEEPEST:
            with suppress(OSError):  # a folder that cannot be read
                below = os.open(
                    name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder
                )
                try:
                    yield from tree(
                        below,
                        prefix=path,
                        everything=everything,
                        deep=deep,
                        deadline=deadline,
                        depth=depth + 1,
                    )
                finally:
                    os.close(below)


def prefix_of(location: Location) -> str:
    """Return the beginning of all paths below a folder."""
    return "" if location.shown == "." else f"{location.shown}/"


def list_files(
    workspace: Workspace,
    limits: ToolLimits,
    arguments: Mapping[str, Any],
    cancelled: Callable[[], bool],
) -> str:
    """Return one line for each file or folder. Raises ToolError."""
    most = min(arguments.get("limit") or limits.listed, limits.listed)
    deadline = Deadline(monotonic() + limits.look_s, cancelled)
    lines: list[str] = []
    with workspace.place(arguments.get("path") or ".") as place:
        if place.found is None:
            raise ToolError(f"{place.shown}: there is no such folder.")
        if not place.is_folder:
            status = place.found
            return _line(
                TreeEntry(
                    place.folder,
                    place.name,
                    path=place.shown,
                    mode=status.st_mode,
                    size=status.st_size,
                )
            )
        deep = arguments.get("recursive", True)
        try:
            for entry in tree(
                place.folder,
                prefix_of(place),
                everything=bool(arguments.get("all")),
                deep=deep,
                deadline=deadline,
            ):
                if len(lines) == most:
                    lines.append(
                        f"… and more: only the first {most:,} are shown. List a folder further in."
                    )
                    break
                lines.append(_line(entry))
        except LookEnded as why:
            lines.append(f"… {why} before all was listed. List a folder further in.")
        return "\n".join(lines) or f"{place.shown} is empty."


def _line(entry: TreeEntry) -> str:
    if stat.S_ISREG(entry.mode):
        return f"{entry.path}  {entry.size:,} bytes"
    if stat.S_ISDIR(entry.mode):
        return (
            f"{entry.path}  (not looked into; ask with all=true)" if entry.skipped else entry.path
        )
    if stat.S_ISLNK(entry.mode):
        return f"{entry.path} -> {_target(entry)}"
    return f"{entry.path}  ({kind(entry.mode)})"


def _target(entry: TreeEntry) -> str:
    try:
        return shown(os.readlink(entry.name, dir_fd=entry.folder))
    except OSError:
        return "?"


_MATCHER = Path(__file__).with_name("matcher.py")
BEAT_S = 0.05


def search_files(
    workspace: Workspace,
    limits: ToolLimits,
    arguments: Mapping[str, Any],
    cancelled: Callable[[], bool],
) -> str:
    """Return one line per match: `path:line: text`. Raises ToolError."""
    deadline = Deadline(monotonic() + limits.look_s, cancelled)
    most = min(arguments.get("limit") or limits.matches, limits.matches)
    query = {
        "pattern": arguments["pattern"],
        "ignore_case": bool(arguments.get("ignore_case")),
        "limit": most,
        "chars": limits.match_chars,
    }
    with (
        workspace.place(arguments.get("path") or ".") as place,
        _Matching(query, deadline) as matching,
    ):
        if place.found is None:
            raise ToolError(f"{place.shown}: there is no such file or folder.")
        try:
            for path, text in _texts(place, arguments.get("glob") or "", limits, deadline):
                if not matching.feed(path, text):
                    break
        except LookEnded as why:
            matching.ended = matching.ended or str(why)
    return plain(matching.report(most))


def _texts(
    place: Location, glob: str, limits: ToolLimits, deadline: Deadline
) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every text file to be searched."""
    if not place.is_folder:
        with os.fdopen(open_file(place.folder, place.name, place.shown), "rb") as file:
            yield place.shown, file.read(limits.scan_bytes).decode("utf-8", "replace")
        return
    left = limits.search_bytes
    for entry in tree(
        place.folder, prefix_of(place), everything=False, deep=True, deadline=deadline
    ):
        if not stat.S_ISREG(entry.mode) or (
            glob and not fnmatch(entry.path, glob) and not fnmatch(entry.name, glob)
        ):
            continue
        text = _text(entry, min(left, limits.scan_bytes))
        left -= len(text)
        yield entry.path, text
        if left <= 0:
            raise LookEnded(
                f"only the first {limits.search_bytes:,} bytes are searched; search a folder further in"
            )


def _text(entry: TreeEntry, most: int) -> str:
    """Return the text of a file; empty if it is binary or cannot be read."""
    with (
        suppress(OSError, ToolError),
        os.fdopen(open_file(entry.folder, entry.name, entry.path), "rb") as file,
    ):
        head = file.read(8_192)
        if b"\0" not in head:
            return (head + file.read(max(0, most - len(head)))).decode("utf-8", "replace")
    return ""


class _Matching:
    """The matcher's process. Texts are sent to it here, its results are read on a thread, and the deadline may end
    it.
    """

    def __init__(self, query: Mapping[str, Any], deadline: Deadline) -> None:
        self.ended = ""
        self._clock = deadline
        self._rows: list[Any] = []
        self._over = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_MATCHER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}, start_new_session=True,
        )  # fmt: skip
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._listen, self._guard)
        ]
        for thread in self._threads:
            thread.start()
        self._send(query)

    def feed(self, path: str, text: str) -> bool:
        """Search a file, too. Return False if no more files are needed."""
        return self._send({"path": path, "text": text})

    def _send(self, value: Mapping[str, Any]) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(dumps(value).encode("utf-8", "replace") + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as rows:
            self._rows += [loads(row) for row in rows if row.endswith(b"\n")]
        self._over.set()

    def _guard(self) -> None:
        while not self._over.wait(BEAT_S):
            try:
                self._clock.check()
            except LookEnded as why:
                self.ended = self.ended or str(why)
                self._process.kill()
                return

    def __enter__(self) -> "_Matching":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        if error[0] is not None:
            self._process.kill()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        for thread in self._threads:
            thread.join()
        self._process.wait()

    def report(self, most: int) -> str:
        """Return the matches, and why the list is incomplete. Raises ToolError if the pattern is invalid."""
        for row in self._rows:
            if "error" in row:
                raise ToolError(f"The pattern is no regular expression (Python's): {row['error']}.")
        lines = [
            f"{row['path']}:{row['line']}: {row['text']}" for row in self._rows if "line" in row
        ]
        if any("full" in row for row in self._rows):
            lines.append(f"… and more: only the first {most:,} matches are shown.")
        elif self.ended:
            lines.append(
                f"… {self.ended} before all was searched; try a simpler pattern or a deeper folder."
            )
        return "\n".join(lines) or "No line matches."
