"""What a transcript format is: a name, how sure it is of a file, and a reader that is fed one value after another.

A reader never parses JSON, opens a file or knows where the end is: it is fed parsed values with their line numbers and
can say at any time which session it has seen so far. So the same reader serves opening, first picture, and following.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias

from inspector.core.formats.reading import ProblemList
from inspector.core.session import Session


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, as far as detection needs it."""

    values: Sequence[Any]
    """The first lines (60 at most) that parsed as JSON, in order."""
    document: Any = None
    """The parsed file, where the whole file is one JSON value; else None."""
    data: bytes = b""
    """The first bytes (64 KB at most), unpacked where the file was packed."""

    @property
    def rows(self) -> Sequence[Any]:
        """The parsed file as the only value, else the first lines."""
        return self.values if self.document is None else [self.document]


class Reader(Protocol):
    """Collects the values of one transcript into a session."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take the value on `line` (1-based) of `file` (empty: the transcript, else a companion's name).

        A whole-file format is fed once, with line 1 and the document. Never raises for what the value holds: what
        cannot be understood becomes a Problem.
        """
        ...

    def session(self) -> Session:
        """The session so far, cheap enough to ask for after every line: it shares what the reader holds."""
        ...


class BuiltReader:
    """A `Reader` that builds its session from all values on demand: for documents, and for small files that are
    rewritten."""

    def __init__(self) -> None:
        self._problems = ProblemList()
        self._built: Session | None = None

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a value. Never raises for what it holds."""
        self._built = None
        self._take(line, value, file)

    def _take(self, line: int, value: Any, file: str) -> None:
        raise NotImplementedError

    def session(self) -> Session:
        """The session so far. O(all of it) once."""
        if self._built is None:
            self._built = self._build()
        return self._built

    def _build(self) -> Session:
        raise NotImplementedError


FedValues: TypeAlias = Sequence[tuple[int, Any, str]]
"""All that was fed, in order: line, value, file."""


class DocumentReader(BuiltReader):
    """A `Reader` of documents: `read` makes the session of all that was fed, and never raises for what it holds."""

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
    """Where an agent keeps its sessions."""

    pattern: str
    """Glob of its files, relative to `under`."""
    under: str
    """A folder under the user's home."""
    variable: str = ""
    """Of the environment: it names another folder than `under`."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What files of a format tell beside the messages: `yes`, `no`, or when. A row of docs/formats.md."""

    tokens: str = "no"
    """What the provider reported for each call."""
    system: str = "no"
    tools: str = "no"
    more: str = ""
    """What the format is, beyond its title."""


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a transcript."""

    name: str
    """As in `--format` and in JSON: `claude-code`."""
    title: str
    """For people: `Claude Code session`."""
    sniff: Callable[[Head], float]
    """0 = surely not, 1 = surely; by content, never by name. The surest format reads the file."""
    start: Callable[..., Reader]
    """A fresh reader; where `is_many`, of the session that is wanted (see `many.place_of`)."""
    companions: Callable[[PurePath], Sequence[str]] = lambda path: ()
    """Glob patterns, relative to the file's folder, of files that may hold further threads of this session."""
    is_companion: Callable[[Head, Session], bool] = lambda head, session: False
    """Does a file that matched a pattern belong to this session?"""
    is_many: bool = False
    """Its files may hold many sessions."""
    grows: bool = False
    """Its agent appends to the file, or rewrites it, while it works."""
    folders: Sequence[AgentFolder] = ()
    """Where `sessions` looks for it."""
    contents: Contents = Contents()
    of_folder: tuple[str, ...] = ()
    """Where a session is a folder: the file that it is opened by, then those beside or below it (as globs), which are
    no sessions."""
    repeated: Sequence[str] = ()
    """The names under which a line holds a list that begins as it did in the line before, and may be very long."""
    is_text: bool = False
    """Its files are no JSON: the reader is fed line after line, each a `str` without its end."""
