"""A bundle (`.ctx`): a zip file with the records of one session and a user's note, pins and steps.

`bundle.json` names the format of the records and holds the note, pins and steps. `records.jsonl` has a line for each
record, as it was fed to its reader. Other members are ignored. Nothing is unpacked to disk.
"""

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from inspector.core.errors import NothingToRead
from inspector.core.jsontext import dumps
from inspector.core.session import SharedWork
from inspector.core.untyped import text_of
from inspector.transcripts.archive_members import MemberSource, open_archive, read_json_member
from inspector.transcripts.binary_values import unmark_bytes
from inspector.transcripts.feeder import Feeder, Value
from inspector.transcripts.transcript_file import ReadProgress, TranscriptFile

KIND, VERSION = "context-inspector bundle", 1
SUFFIX = ".ctx"
MANIFEST, RECORDS = "bundle.json", "records.jsonl"
_TIME = (1980, 1, 1, 0, 0, 0)
"""Time of all members, fixed so that the same content gives the same bytes."""


class BundleRecord(NamedTuple):
    """A value that was fed to a reader: its line, its file, and the value as JSON."""

    line: int
    file: str
    written: str


def is_bundle(path: Path) -> bool:
    """Is the zip file a bundle? Raises NothingToRead if it is damaged."""
    with open_archive(path) as archive:
        names = archive.namelist()
    return MANIFEST in names and RECORDS in names


def write_bundle(manifest: Mapping[str, Any], records: Iterable[BundleRecord]) -> bytes:
    """Return the bytes of a bundle."""
    whole = {"kind": KIND, "version": VERSION, **manifest}
    lines = [
        f'{{"line":{line},"file":{dumps(file)},"value":{written}}}\n'
        for line, file, written in records
    ]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ((MANIFEST, dumps(whole)), (RECORDS, "".join(lines))):
            member = zipfile.ZipInfo(name, _TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, text.encode("utf-8", "surrogatepass"))
    return buffer.getvalue()


class BundleFile(TranscriptFile):
    """Reads a bundle: its records are fed as if they came from their original files."""

    def __init__(self, path: Path, progress: ReadProgress, growing: bool) -> None:
        """Read the manifest. Raises NothingToRead if the bundle is damaged or was written by a later version."""
        with open_archive(path) as archive:
            manifest = read_json_member(path, archive, MANIFEST)
        if not isinstance(manifest, Mapping) or manifest.get("kind") != KIND:
            raise NothingToRead(f"{path} is not a bundle of this program")
        if manifest.get("version") != VERSION:
            raise NothingToRead(
                f"{path} was written by a later version of this program; update it to open the bundle"
            )
        self.format = text_of(manifest.get("format"))
        self.session_id = text_of(manifest.get("session"))
        note = text_of(manifest.get("note"))
        pins = tuple(text for text in _list_of(manifest.get("pins")) if isinstance(text, str))
        steps = tuple(_list_of(manifest.get("steps")))
        self.shared = SharedWork(note, pins, steps)
        source = partial(MemberSource, path, RECORDS)
        super().__init__(path, progress, growing=growing, source=source)

    def read_as_text(self) -> None:
        """Do nothing: if the original transcript is plain text, each record already holds one line of it."""

    def expect_repeated(self, path: Sequence[str]) -> None:
        """Expect many records whose values hold a list under these names."""
        super().expect_repeated(("value", *path))

    def lines(self) -> Iterator[Value]:
        """Yield (line, value) of all records of the session's own file."""
        feeder = Feeder()
        source = MemberSource(self.path, RECORDS)
        for chunk in source.chunks():
            feeder.longest = source.longest
            yield from map(_unwrap, feeder.read(chunk))

    def _take(self, values: Iterable[Value]) -> None:
        feed = self._reader.feed
        for line_and_record in values:
            line, value = _unwrap(line_and_record)
            record = line_and_record[1]
            feed(line, value, text_of(record.get("file")) if isinstance(record, Mapping) else "")


def _unwrap(line_and_record: Value) -> Value:
    """Return the line and the value of a record; (0, None) if it is not a record."""
    _, record = line_and_record
    if not isinstance(record, Mapping):
        return 0, None
    line = record.get("line")
    return line if isinstance(line, int) else 0, unmark_bytes(record.get("value"))


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
