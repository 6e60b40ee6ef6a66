"""One file on its way in: its head, for detection, then all of it into a reader."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspector.core.errors import Cancelled, NothingToRead
from inspector.core.formats.format import Head, Reader
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import Problem, Session
from inspector.transcripts.feeder import Feed, Feeder
from inspector.transcripts.unpack import Source

_HEAD_VALUES, _HEAD_BYTES, _HEAD_LINES = 60, 1 << 16, 2000
_FIRST_PICTURE = 200_000
"""Unpacked bytes after which the first picture is shown; asked again at twice as many while there is nothing in it."""


@dataclass(slots=True)
class Watch:
    """Who wants to know how far it is, and may stop it."""

    progress: Callable[[int, int], None] | None = None
    first: Callable[[Session], None] | None = None
    cancelled: Callable[[], bool] | None = None
    total: int = 0
    done: int = 0
    """Bytes of the files that are finished."""

    def step(self, source: Source) -> None:
        """Called for every chunk. Raises Cancelled."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled(f"opening {source.path} was cancelled")
        if self.progress is not None:
            done = self.done + source.done
            self.progress(done, max(self.total, self.done + source.size, done))


class Opening:
    """One file on its way in: first its head, then, with a reader for it, all of it."""

    def __init__(self, path: Path, watch: Watch, file: str = "") -> None:
        self._watch = watch
        self._source = Source(path)
        self._chunks = self._source.chunks()
        self._kept: list[tuple[int, Any]] = []
        self._data = b""
        self._feeder = Feeder(_into(self._kept), file)
        self._document: Any = None
        self._read_all = False
        self._unpacked = 0
        self._file = file

    def _next(self) -> bool:
        """Feed the next chunk; False at the end."""
        chunk = next(self._chunks, None)
        self._watch.step(self._source)
        if chunk is None:
            self._read_all = True
            self._feeder.finish()
            return False
        self._unpacked += len(chunk)
        if len(self._data) < _HEAD_BYTES:
            self._data += chunk[: _HEAD_BYTES - len(self._data)]
        self._feeder.longest = self._source.longest
        self._feeder.feed_bytes(chunk)
        return True

    def head(self) -> Head:
        """The beginning of the file, as far as it needs to be known. Raises NothingToRead."""
        self._read_head()
        if self._feeder.opens and not self._read_document():
            self._feeder.opens = False
            self._read_head()
            if not any(isinstance(value, Mapping) for _, value in self._kept):
                raise NothingToRead(f"{self._source.path} begins as one JSON value, but it is torn or damaged")
        if self._read_all and len(self._kept) == 1 and not self._feeder.problems:
            self._document = self._kept[0][1]
        if not self._kept and not self._data.strip(b" \t\r\n\0"):
            why = "; ".join(problem.what for problem in self._source.problems)
            raise NothingToRead(f"{self._source.path} holds nothing but blanks" + (f": {why}" if why else ""))
        if not self._kept and self._feeder.problems and self._data.lstrip(b" \t\r\n")[:1] in (b"{", b"["):
            first = self._feeder.problems[0]
            raise NothingToRead(f"{self._source.path} holds no line that is JSON; line {first.line}: {first.what}")
        values = [value for _, value in self._kept[:_HEAD_VALUES]]
        return Head(values, self._document, self._data)

    def _read_head(self) -> None:
        while not self._known() and self._next():
            pass

    def _known(self) -> bool:
        if self._feeder.opens or len(self._kept) >= _HEAD_VALUES:
            return True
        if self._kept or len(self._data) < _HEAD_BYTES:
            return False
        return self._feeder.line >= _HEAD_LINES or not _may_be_json(self._data)

    def _read_document(self) -> bool:
        """Read the whole file as one JSON value; False where it is none, and stays a file of lines."""
        source = Source(self._source.path)
        data = bytearray()
        for chunk in source.chunks():
            self._watch.step(source)
            data += chunk
            if len(data) > source.longest:
                raise NothingToRead(f"{source.path} is one JSON value of more than {source.longest >> 20:,} MB")
        odd: list[str] = []
        try:
            document = loads(data, odd)
        except NotJson as why:
            if str(why).startswith("nested"):
                raise NothingToRead(f"{source.path} is one JSON value, {why}") from None
            return False
        source.problems += [Problem(0, what) for what in odd]
        self._chunks.close()
        self._source, self._read_all, self._document, self._kept = source, True, document, [(1, document)]
        self._feeder = Feeder(_into(self._kept), self._file)
        return True

    def feed(self, reader: Reader, first: Callable[[Session], None] | None = None) -> None:
        """Feed all of the file to the reader. Raises NothingToRead where it holds no value."""
        for line, value in self._kept:
            reader.feed(line, value, self._file)
        self._kept.clear()
        self._feeder.feed = reader.feed
        due = _FIRST_PICTURE if first else 0
        while not self._read_all and self._next():
            if due and first and self._unpacked >= due:
                session = reader.session()
                due = 0 if session.main.messages else 2 * self._unpacked
                if not due:
                    first(session)
        if not self._feeder.values and self._document is None:
            raise NothingToRead(f"{self._source.path} holds no line that is JSON")
        self._watch.done += self._source.done

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._source.size

    @property
    def problems(self) -> list[Problem]:
        """What the file itself made difficult, under its name."""
        return [*(replace(one, file=self._file) for one in self._source.problems), *self._feeder.problems]


def _may_be_json(data: bytes) -> bool:
    """Does any line begin as an object or a list?"""
    return any(line.lstrip(b" \t\r\0")[:1] in (b"{", b"[") for line in data.split(b"\n"))


def _into(kept: list[tuple[int, Any]]) -> Feed:
    return lambda line, value, file: kept.append((line, value))
