"""One file of a transcript: read its head for detection, then all of it into a reader, then what is appended.

The file is opened for reading only, only while there is something to read, and is never locked. Its beginning and the
last bytes that were read are remembered. If they change, the file was truncated, replaced or rewritten (Rewritten).
"""

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from inspector.core.errors import Cancelled, NothingToRead
from inspector.core.formats.format import Head, Reader
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import HeldSession, Problem, Session
from inspector.transcripts.feeder import Feeder, RepeatedList, Value, values_of
from inspector.transcripts.unpack import LONGEST, PACKED, ZIP, Source, file_stat

_HEAD_VALUES, _HEAD_BYTES, _HEAD_LINES = 60, 1 << 16, 2000
_FIRST_PICTURE = 200_000
"""Unpacked bytes after which the first picture is shown; if it would be empty, the next try is at twice as many."""
_START, _TAIL, _CHUNK = 1024, 256, 1 << 18
"""Bytes of the beginning and of the end that are remembered, and bytes that are read at once of what was appended."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


_CASSETTE = re.compile(
    rb"(?:#.*\n|---.*\n|\w+:[^\n]*\n|[ \t]*\r?\n){0,20}?(?:http_)?interactions:[ \t]*\r?\n"
)
"""Matches the beginning of a cassette, the only kind of transcript that is YAML."""
_TABLE = re.compile(rb'(?:\xef\xbb\xbf)?"?\w+"?(?:,"?[\w.]+"?){3,}\r?\n')
"""Matches the beginning of a table (CSV): the names of its columns."""


class Rewritten(Exception):
    """The file no longer begins with what was read, so it must be read again from the beginning.

    The message says which file and how it changed; it is empty for files that are rewritten with every change
    (documents, databases).
    """


@dataclass(slots=True)
class ReadProgress:
    """Reports how far reading has come, and can cancel it."""

    progress: Callable[[int, int], None] | None = None
    cancelled: Callable[[], bool] | None = None
    total: int = 0
    done: int = 0
    """Bytes of the files that are completely read."""

    def step(self, path: Path, done: int = 0, size: int = 0) -> None:
        """Report that `done` bytes of the current file were read. Raises Cancelled."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled(f"opening {path} was cancelled")
        if self.progress is not None:
            done += self.done
            self.progress(done, max(self.total, self.done + size, done))


class TranscriptFile:
    """Reads a file: first its head, then, with a reader, all of it. If it is `growing`, `read_more` continues."""

    held: Sequence[HeldSession] = ()
    """The files of the archive that holds this file."""

    def __init__(
        self,
        path: Path,
        progress: ReadProgress | None = None,
        file: str = "",
        growing: bool = False,
        source: Callable[[], Source] | None = None,
    ) -> None:
        """`source`: opens the bytes, if they are not those of the file on disk."""
        self.path = path
        self._file = file
        self._growing = growing
        self._new_source = source or partial(Source, path)
        self._progress = progress or ReadProgress()
        self._stat = file_stat(path) if growing else None
        self._source = self._new_source()
        self._chunks = self._source.chunks()
        self._kept: list[Value] = []
        self._data = b""
        self._feeder = Feeder(file)
        self._document: Any = None
        self._is_document = False
        self._read_all = False
        self._unpacked = 0
        self._quiet = False
        """True if the last line was checked since the file was last written."""
        self._first = b""
        self._last = b""
        self._done = 0
        """The remembered first and last bytes of the part that was read, and the length of that part."""

    def _next(self) -> Iterable[Value]:
        """Return the values of the next chunk; at the end of the file, those of the last line."""
        chunk = next(self._chunks, None)
        self._progress.step(self.path, self._source.done, self._source.size)
        if chunk is None:
            self._read_all = True
            return self._feeder.read_early() if self._growing else self._feeder.finish()
        self._unpacked += len(chunk)
        if len(self._data) < _HEAD_BYTES:
            self._data += chunk[: _HEAD_BYTES - len(self._data)]
        self._feeder.longest = self._source.longest
        return self._feeder.read(chunk)

    def head(self) -> Head:
        """Return the beginning of the file, as much as detection needs. Raises NothingToRead."""
        self._read_head()
        if _CASSETTE.match(self._data):
            self._read_as("YAML", _yaml)
        elif _TABLE.match(self._data):
            self._read_as("a table", _table)
        elif self._feeder.opens and not self._read_document():
            self._feeder.opens = False
            self._read_head()
            if not any(isinstance(value, Mapping) for _, value in self._kept):
                raise NothingToRead(
                    f"{self.path} begins as one JSON value, but it is torn or damaged"
                )
        lines = {line for line, _ in self._kept} | {
            problem.line for problem in self._feeder.problems
        }
        if self._read_all and len(self._kept) == len(lines) == 1:
            self._document = self._kept[0][1]
        if not self._kept:
            self._check_empty()
        values = [value for _, value in self._kept[:_HEAD_VALUES]]
        return Head(values, self._document, self._data)

    def _check_empty(self) -> None:
        """Raise NothingToRead if a file without values is blank or consists of damaged JSON lines."""
        if not self._data.strip(b" \t\r\n\0"):
            why = "; ".join(problem.what for problem in self._source.problems)
            raise NothingToRead(f"{self.path} holds only white space" + (f": {why}" if why else ""))
        is_json = self._data.lstrip(b" \t\r\n")[:1] in (b"{", b"[")
        if self._feeder.problems and is_json:
            first = self._feeder.problems[0]
            raise NothingToRead(
                f"{self.path} holds no line that is JSON; line {first.line}: {first.what}"
            )

    def is_one(self, document: Any) -> Head:
        """Replace the file's content by one value, and return its head."""
        self._document = document
        self._is_read(self._source, [(1, document)])
        return Head([document], document)

    def spread(self) -> Head | None:
        """Return the items of a file that is one list of objects, as if each were a line; None if it is no such
        list.
        """
        items = self._document
        if (
            not isinstance(items, list)
            or not items
            or not all(isinstance(item, Mapping) for item in items)
        ):
            return None
        self._document, self._kept, self._feeder.values = (
            None,
            list(enumerate(items, 1)),
            len(items),
        )
        return Head(items[:_HEAD_VALUES], data=self._data)

    def _read_head(self) -> None:
        while not self._read_all and not self._has_enough_values():
            self._kept += self._next()

    def _has_enough_values(self) -> bool:
        if self._feeder.opens or len(self._kept) >= _HEAD_VALUES:
            return True
        if self._kept or len(self._data) < _HEAD_BYTES:
            return False
        lines = (line.lstrip(b" \t\r\0") for line in self._data.split(b"\n"))
        return self._feeder.line >= _HEAD_LINES or not any(
            line.startswith((b"{", b"[")) for line in lines
        )

    def _read_document(self) -> bool:
        """Read the whole file as one JSON value, or as several that span lines. Return False if it consists of JSON
        lines.
        """
        source, data = self._read_whole()
        odd: list[str] = []
        try:
            document = loads(data, odd)
        except NotJson as why:
            if str(why).startswith("nested"):
                raise NothingToRead(f"{self.path} is one JSON value, {why}") from None
            has_more_values = "xtra data" in str(why)  # "Extra data" or "extra data"
            if not has_more_values:
                return False
            values = values_of(data.decode("utf-8", "replace"))
            if not values:
                return False
        else:
            self._document = document
            values = [(1, document)]
        source.problems += [Problem(line=0, what=what) for what in odd]
        self._is_read(source, values)
        return True

    def _read_as(self, what: str, parse: Callable[[bytes], Any]) -> None:
        """Parse the whole file as one value. Raises NothingToRead."""
        source, data = self._read_whole()
        try:
            self._document = parse(bytes(data))
        except (ValueError, csv.Error) as why:
            raise NothingToRead(
                f"{self.path} looks like {what} that cannot be read: {why}"
            ) from None
        self._is_read(source, [(1, self._document)])

    def _read_whole(self) -> tuple[Source, bytearray]:
        source = self._new_source()
        data = bytearray()
        for chunk in source.chunks():
            self._progress.step(self.path, source.done, source.size)
            data += chunk
            if len(data) > source.longest:
                raise NothingToRead(
                    f"{self.path} is one JSON value of more than {source.longest >> 20:,} MB"
                )
        return source, data

    def _is_read(self, source: Source, values: list[tuple[int, Any]]) -> None:
        self._chunks.close()
        self._source = source
        self._read_all = True
        self._is_document = True
        self._kept = values
        self._feeder = Feeder(self._file)
        self._feeder.values = len(values)

    def expect_repeated(self, path: Sequence[str]) -> None:
        """Expect many lines that hold a list under these names and repeat it whole each time it has grown."""
        self._feeder.parse = RepeatedList(path).parse

    def read_as_text(self) -> None:
        """Start again, and feed the lines as unparsed text."""
        self._chunks.close()
        self._source = self._new_source()
        self._chunks = self._source.chunks()
        self._kept = []
        self._read_all = False
        self._is_document = False
        self._unpacked = 0
        self._feeder = Feeder(self._file, is_text=True)

    def feed(self, reader: Reader, first: Callable[[Session], None] | None = None) -> None:
        """Feed the whole file to the reader. Raises NothingToRead if it holds no value."""
        self._reader = reader
        self._take(self._kept)
        self._kept.clear()
        due = _FIRST_PICTURE if first else 0
        while not self._read_all:
            self._take(self._next())
            if due and first and self._unpacked >= due and not self._read_all:
                session = reader.session()
                due = 0 if session.main.messages or session.main.requests else 2 * self._unpacked
                if not due:
                    first(session)
        if not self._feeder.values:
            raise NothingToRead(f"{self.path} holds no line that is JSON")
        self._progress.done += self._source.done
        if self._growing:
            self._remember()

    def _take(self, values: Iterable[Value]) -> None:
        feed = self._reader.feed
        file = self._file
        for line, value in values:
            feed(line, value, file)

    @property
    def records(self) -> int:
        """Return the number of values that were read."""
        return self._feeder.values

    @property
    def size(self) -> int:
        """Size of the file on disk, in bytes."""
        return self._source.size

    @property
    def problems(self) -> list[Problem]:
        """Return the problems of the file itself, under its name."""
        return [
            *(replace(problem, file=self._file) for problem in self._source.problems),
            *self._feeder.problems,
        ]

    # ---- appended content -------------------------------------------------------------------------------------------

    def torn(self) -> list[Problem]:
        """Return the last line as a problem if it is incomplete."""
        return self._feeder.torn()

    def _remember(self) -> None:
        """Remember the first and last bytes of the part that was fed."""
        self._done = self._source.done
        try:
            with self.path.open("rb", buffering=0) as file:
                self._first = file.read(min(_START, self._done))
                self._last = self._before(file.fileno())
        except OSError as error:
            raise NothingToRead(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _before(self, handle: int) -> bytes:
        os.lseek(handle, max(0, self._done - _TAIL), os.SEEK_SET)
        return os.read(handle, min(_TAIL, self._done))

    @property
    def _is_read_whole(self) -> bool:
        """Must the file be read again as a whole after every change?

        True for a single JSON document and for bytes that cannot be read from the middle. A transcript with only one
        value may be such a document; reading it again costs little.
        """
        is_single = not self._file and self._feeder.values <= 1
        return is_single or self._is_document or self._first.startswith((*_UTF16, *PACKED, ZIP))

    def read_more(self) -> bool:
        """Feed what was appended. Return whether there was anything. O(appended bytes). Raises Rewritten."""
        now = file_stat(self.path)
        if now == self._stat or now is None:
            return self._rest_of_line()
        former = self._stat
        self._stat = now
        self._quiet = False
        if self._is_read_whole:
            raise Rewritten
        if former is not None and (now.device, now.inode) != (former.device, former.inode):
            raise Rewritten(f"{self.path} was replaced by another file")
        if now.size < self._done:
            raise Rewritten(f"{self.path} was truncated")
        try:
            with self.path.open("rb", buffering=0) as file:
                if (
                    file.read(len(self._first)) != self._first
                    or self._before(file.fileno()) != self._last
                ):
                    raise Rewritten(f"{self.path} was rewritten")
                return self._feed_new_lines(file.fileno())
        except OSError as error:  # the file was removed just now, or we may no longer read it
            raise Rewritten from error

    def _feed_new_lines(self, handle: int) -> bool:
        before = self._feeder.line
        os.lseek(handle, self._done, os.SEEK_SET)
        while chunk := os.read(handle, _CHUNK):
            self._done += len(chunk)
            self._take(self._feeder.read(chunk))
        if len(self._first) < min(_START, self._done):
            os.lseek(handle, 0, os.SEEK_SET)
            self._first = os.read(handle, min(_START, self._done))
        self._last = self._before(handle)
        return self._feeder.line > before

    def _rest_of_line(self) -> bool:
        """Read the last line early, because nothing was written for a while and it may be complete without a
        newline.
        """
        if self._quiet or self._is_read_whole:
            return False
        self._quiet = True
        before = self._feeder.line
        self._take(self._feeder.read_early())
        return self._feeder.line > before


def _yaml(data: bytes) -> Any:
    # Few files are YAML, and its library would be loaded at every start.
    from inspector.transcripts import yamltext

    return yamltext.parse_yaml(data)


def _table(data: bytes) -> Any:
    """Return the rows of a table (CSV) as objects with text fields."""
    csv.field_size_limit(LONGEST)
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    return [_without_empty(row) for row in rows]


def _without_empty(row: Mapping[str | Any, str | Any]) -> dict[str, str]:
    """Return the fields of a row that have a name and a value."""
    return {key: field for key, field in row.items() if key and field}
