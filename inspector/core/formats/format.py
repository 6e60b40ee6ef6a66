"""Define what a transcript format is: a name, a rating of files, and a reader that is fed values one by one.

A reader never parses JSON, opens a file or knows where the file ends. It is fed parsed values with their line numbers
and can return the session so far at any time. So the same reader opens a file, previews it and follows it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias

from inspector.core.formats.reading import ProblemList
from inspector.core.session import Session


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, from which its format is detected."""

    values: Sequence[Any]
    """The first lines (60 at most) that parsed as JSON, in order."""
    document: Any = None
    """The parsed file if the whole file is one JSON value; else None."""
    data: bytes = b""
    """The first bytes (64 KB at most), decompressed if the file is compressed."""

    @property
    def rows(self) -> Sequence[Any]:
        """The parsed file as the only value if the file is one JSON value, else the first lines."""
        return self.values if self.document is None else [self.document]


class Reader(Protocol):
    """Collects the values of one transcript into a session."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one parsed value. Malformed values become problems and never raise.

        Args:
            line: Line number, from 1. A document is fed once, with line 1.
            value: The parsed value of the line, or the document.
            file: Name of the companion file; empty for the transcript itself.
        """
        ...

    def session(self) -> Session:
        """Return the session so far. Cheap enough to call after every line, because it shares the reader's lists."""
        ...


class BuiltReader:
    """A `Reader` that builds its session from all values on demand.

    For documents and for small files that the agent rewrites.
    """

    def __init__(self) -> None:
        self._problems = ProblemList()
        self._built: Session | None = None

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take one value. Malformed values become problems and never raise."""
        self._built = None
        self._take(line, value, file)

    def _take(self, line: int, value: Any, file: str) -> None:
        raise NotImplementedError

    def session(self) -> Session:
        """Return the session so far. O(all values) on the first call after `feed`, else O(1)."""
        if self._built is None:
            self._built = self._build()
        return self._built

    def _build(self) -> Session:
        raise NotImplementedError


FedValues: TypeAlias = Sequence[tuple[int, Any, str]]
"""Everything that a reader was fed, in order: line, value, file."""


class DocumentReader(BuiltReader):
    """A `Reader` of documents. `read` builds the session from everything fed and never raises for malformed values."""

    def __init__(self, read: Callable[[FedValues], Session]) -> None:
        super().__init__()
        self._read = read
        self._fed: list[tuple[int, Any, str]] = []

    def _take(self, line: int, value: Any, file: str) -> None:
        self._fed.append((line, value, file))

    def _build(self) -> Session:
        return self._read(self._fed)


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """A folder in which an agent stores its sessions."""

    pattern: str
    """Glob of the session files, relative to `under`."""
    under: str
    """A folder under the user's home."""
    variable: str = ""
    """Environment variable that may name another folder to use in place of `under`."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What files of a format record besides messages: `yes`, `no`, or when. A row of docs/formats.md."""

    tokens: str = "no"
    """Does the file record the usage of each call?"""
    system: str = "no"
    """Does the file record the system prompt?"""
    tools: str = "no"
    """Does the file record the tool definitions?"""
    more: str = ""
    """Addition to the format's title, such as its file names."""


@dataclass(frozen=True, slots=True)
class Format:
    """A transcript format: how to recognise it, how to read it, and where its files are."""

    name: str
    """Name in `--format` and in JSON, such as `claude-code`."""
    title: str
    """Title on screen, such as `Claude Code session`."""
    sniff: Callable[[Head], float]
    """Returns how sure it is that a file has this format, from 0 to 1, by content. The surest format reads the file."""
    start: Callable[..., Reader]
    """Returns a new reader. With `is_many` it takes the session to read as its argument (see `many.find_place`)."""
    companions: Callable[[PurePath], Sequence[str]] = lambda path: ()
    """Glob patterns, relative to the file's folder, of files that may hold further threads of this session."""
    is_companion: Callable[[Head, Session], bool] = lambda head, session: False
    """Does a file that matched a pattern belong to this session?"""
    is_many: bool = False
    """True if a file may hold many sessions."""
    grows: bool = False
    """True if the agent appends to the file, or rewrites it, while it works."""
    folders: Sequence[AgentFolder] = ()
    """Folders in which `sessions` searches for files of this format."""
    contents: Contents = Contents()
    of_folder: tuple[str, ...] = ()
    """For a session that is a folder: the name of the file that opens the session, then globs of files beside or below
    that file that are no sessions themselves."""
    repeated: Sequence[str] = ()
    """Path of keys to a list that begins as it did in the previous line and that may be very long."""
    is_text: bool = False
    """True if files are not JSON: the reader is fed each line as a `str` without its line end."""
