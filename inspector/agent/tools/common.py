"""What all tools share: limits, refusals, questions to the user, and paths, which never leave the workspace.

A path is walked step by step from the workspace's own descriptor, without following links. A link is read and its
target is walked in the same way, so that it cannot be swapped between check and use. `..` leads back to the previous
folder, and never above the workspace.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from inspector.core.errors import InspectorError


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """All limits of all tools. A result says what was left out because of a limit."""

    read_lines: int = 2_000
    """Maximum number of lines of one read, unless the call asks for fewer."""
    read_bytes: int = 100_000
    line_bytes: int = 10_000
    """Maximum number of bytes of a line; a longer line is cut."""
    scan_bytes: int = 64_000_000
    """Number of bytes from the beginning of a file that a read or a search examines."""
    edit_bytes: int = 8_000_000
    """Largest size in bytes of a file that is edited or written."""
    listed: int = 1_000
    matches: int = 100
    match_chars: int = 300
    search_bytes: int = 256_000_000
    """Maximum number of bytes that one search reads from all files together."""
    look_s: float = 20.0
    """Maximum number of seconds that a listing or a search takes."""
    command_s: float = 30.0
    command_most_s: float = 600.0
    output_bytes: int = 30_000
    """Maximum number of bytes of a command's output: half from its beginning, half from its end."""


class ToolError(Exception):
    """The call is refused. `str(error)` is the result that the model reads."""


_SAID = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "it may not be read or written by this user",
    errno.EPERM: "the system does not permit it",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "its links lead in a circle, or were changed meanwhile",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "too many files are open; try again",
}


def refusal(path: str, why: OSError) -> ToolError:
    """Return an error of the system as a refusal with a sentence."""
    return ToolError(f"{path}: {_SAID.get(why.errno or 0, why.strerror or str(why))}.")


def plain(text: str) -> str:
    """Return the text in a form that every provider accepts: without surrogates and NUL."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def shown(path: str | bytes) -> str:
    """Return a path on one line, with unprintable characters escaped."""
    text = plain(os.fsdecode(path))
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the user. `says` and `covers` are the product's words; `exact` is what will be run or written,
    verbatim.

    A display must keep the two apart, because a command may contain a sentence that looks like the product's.
    """

    says: str
    exact: str
    covers: str = ""
    is_diff: bool = False


LONGEST, DEEPEST, LINKS = 4_096, 200, 40
_STEP = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(slots=True)
class Location:
    """The end of a path: `name` in `folder`; empty if it is `folder` itself. `found` is None if nothing exists
    there.
    """

    folder: int
    """A descriptor, which is closed together with the location."""
    name: str
    shown: str
    """The real path relative to the workspace, with links resolved, for people."""
    found: os.stat_result | None
    missing: tuple[str, ...] = ()
    """Folders between `folder` and `name` that do not exist."""

    @property
    def is_folder(self) -> bool:
        return not self.name


class Workspace:
    """A folder and its contents. Close it when done."""

    def __init__(self, folder: Path) -> None:
        try:
            self.folder = folder.resolve(strict=True)
            self.root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError, RuntimeError):
            raise InspectorError(f"{folder} is not a folder that an agent can work in.") from None
        self._tops = tuple({str(self.folder), os.path.abspath(folder)})

    def close(self) -> None:
        """Close the workspace's descriptor. May be called twice."""
        root = self.root
        self.root = -1
        if root >= 0:
            os.close(root)

    @contextmanager
    def place(self, path: str) -> Iterator[Location]:
        """Find the end of `path` (relative to the workspace, or absolute and inside it). Raises ToolError."""
        walk = _Walk(path, self._tops)
        try:
            walk.stack.append(os.dup(self.root))
            yield walk.run(self._parts(path))
        except OSError as why:
            raise refusal(shown(path), why) from None
        finally:
            walk.close()

    def _parts(self, path: str) -> list[str]:
        if "\0" in path or len(path) > LONGEST:
            raise ToolError(
                f"{shown(path[:80])}: a path has at most {LONGEST:,} characters and no NUL among them."
            )
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise ToolError(f"{shown(path)}: the file system cannot spell this name.") from None
        return _split(path, self._tops, shown(path))


def _split(path: str, tops: Sequence[str], label: str) -> list[str]:
    """Return the steps of a path, relative to the workspace."""
    if path.startswith("/"):
        top = next(
            (top for top in tops if path == top or path.startswith(top.rstrip("/") + "/")), None
        )
        if top is None:
            raise ToolError(f"{label} lies outside the workspace.")
        path = path[len(top) :]
    return path.split("/")


@dataclass(slots=True)
class _Walk:
    """One walk along a path: the descriptors of the folders on the way, and their names."""

    path: str
    tops: Sequence[str]
    stack: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    links: int = 0

    def run(self, parts: Sequence[str]) -> Location:
        """Walk to the end of the path, whose last parts need not exist. Raises ToolError, OSError."""
        todo = deque(parts)
        while todo:
            part = todo.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                self._enter_parent()
                continue
            rest = [step for step in todo if step not in ("", ".")]
            try:
                status = os.stat(part, dir_fd=self.stack[-1], follow_symlinks=False)
            except FileNotFoundError:
                return self._missing_location([part, *rest])
            if stat.S_ISLNK(status.st_mode):
                todo.extendleft(reversed(self._target(part)))
            elif stat.S_ISDIR(status.st_mode):
                self._enter(part)
            elif rest:
                raise ToolError(f"{shown(self.path)}: {self._label(part)} is no folder.")
            else:
                return Location(self.stack[-1], name=part, shown=self._label(part), found=status)
        return Location(
            self.stack[-1], name="", shown=self._label() or ".", found=os.fstat(self.stack[-1])
        )

    def _missing_location(self, parts: list[str]) -> Location:
        if ".." in parts:
            raise ToolError(f"{shown(self.path)}: there is no such file or folder.")
        if len(self.names) + len(parts) > DEEPEST:
            raise self._too_deep()
        return Location(
            self.stack[-1],
            name=parts[-1],
            shown=self._label(*parts),
            found=None,
            missing=tuple(parts[:-1]),
        )

    def _enter_parent(self) -> None:
        if not self.names:
            raise ToolError(f"{shown(self.path)} leads out of the workspace.")
        self.names.pop()
        os.close(self.stack.pop())

    def _enter(self, part: str) -> None:
        if len(self.names) >= DEEPEST:
            raise self._too_deep()
        self.stack.append(os.open(part, _STEP | os.O_RDONLY, dir_fd=self.stack[-1]))
        self.names.append(part)

    def _target(self, part: str) -> list[str]:
        self.links += 1
        if self.links > LINKS:
            raise ToolError(f"{shown(self.path)}: its links lead in a circle.")
        target = os.readlink(part, dir_fd=self.stack[-1])
        if target.startswith("/"):
            label = (
                f"{shown(self.path)}: the link {self._label(part)} leads to {shown(target)}, which"
            )
            steps = _split(target, self.tops, label)
            while self.names:
                self._enter_parent()
            return steps
        return target.split("/")

    def _label(self, *parts: str) -> str:
        return shown("/".join((*self.names, *parts)))

    def _too_deep(self) -> ToolError:
        return ToolError(f"{shown(self.path)}: deeper than {DEEPEST} folders.")

    def close(self) -> None:
        while self.stack:
            os.close(self.stack.pop())


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISLNK, "a link"),
)


def kind(mode: int) -> str:
    """Return the kind of a file that is not regular: `a folder`, `a link`; empty for a regular file."""
    return next(
        (name for test, name in _KINDS if test(mode)),
        "" if stat.S_ISREG(mode) else "no regular file",
    )


def open_file(folder: int, name: str, label: str) -> int:
    """Open a regular file for reading and return its descriptor. Nothing else is ever opened. Raises ToolError,
    OSError.
    """
    if what := kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise ToolError(f"{label} is {what}, not a file that can be read.")
    handle = os.open(name, _READ, dir_fd=folder)
    if what := kind(os.fstat(handle).st_mode):  # it was replaced in the meantime
        os.close(handle)
        raise ToolError(f"{label} is {what}, not a file that can be read.")
    return handle


def regular(place: Location) -> int:
    """Open the regular file at a location and return its descriptor. Raises ToolError, OSError."""
    if place.is_folder:
        raise ToolError(f"{place.shown} is a folder; list_files shows what it holds.")
    if place.found is None:
        raise ToolError(f"{place.shown}: there is no such file.")
    return open_file(place.folder, place.name, place.shown)
