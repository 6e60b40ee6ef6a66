"""The records of a session as they are fed to its reader: the content of a bundle, whatever file they come from."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.core.formats.detect import candidates
from inspector.core.formats.format import Head, Reader
from inspector.core.jsontext import dumps, loads
from inspector.core.session import Session
from inspector.extensions.formats import all_formats
from inspector.transcripts.binary_values import mark_bytes, unmark_bytes
from inspector.transcripts.bundle import BundleRecord
from inspector.transcripts.files import TranscriptReading, no_collection, read_whole
from inspector.transcripts.transcript_file import ReadProgress


@dataclass(frozen=True, slots=True)
class SessionRecords:
    """All records of a session, and the format that reads them."""

    format: str
    inner: str
    """The session that was read in a file of several; empty for the first."""
    records: Sequence[BundleRecord]


class _RecordingReader:
    """Passes values on to a reader and keeps them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.records: list[BundleRecord] = []

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Keep a value and feed it to the reader."""
        self.records.append(BundleRecord(line, file, dumps(mark_bytes(value))))
        self._reader.feed(line, value, file)

    def session(self) -> Session:
        """Return the session so far."""
        return self._reader.session()


def read_records(session: Session, cancelled: Callable[[], bool] | None = None) -> SessionRecords:
    """Read a session again and return its records. O(file). Raises NothingToRead, Cancelled."""
    progress = ReadProgress(progress=None, cancelled=cancelled)
    with no_collection():
        reading = TranscriptReading(Path(session.path), session.format, progress, growing=False)
        recording = _RecordingReader(reading.reader)
        reading.reader = recording
        read_whole(reading)
    return SessionRecords(session.format, reading.inner, recording.records)


def build_session(format_name: str, inner: str, records: Iterable[BundleRecord]) -> Session:
    """Return the session that the records make up. O(records)."""
    (format_,) = candidates(Head([]), format_name, all_formats()[0])
    reader = format_.start(inner) if inner else format_.start()
    for line, file, written in records:
        reader.feed(line, unmark_bytes(loads(written.encode())), file)
    return reader.session()
