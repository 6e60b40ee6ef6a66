"""Transcripts in folders and zip files, and evaluation logs that are zip files: which sessions they hold, and one of
them read.

Nothing is unpacked to disk. Of an evaluation log only the wanted sample is read.
"""

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from inspector.core.errors import InspectorError, NothingToRead
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.formats.many import place_of
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import HeldSession, Problem
from inspector.core.untyped import digits_of, objects_of
from inspector.extensions.formats import all_formats
from inspector.transcripts.database import MAGIC, SIGN, begins_with, database_of, named, session_path
from inspector.transcripts.stores import DatabaseSession
from inspector.transcripts.transcript_file import ReadProgress, TranscriptFile
from inspector.transcripts.unpack import LONGEST_PACKED, ZIP, Source

try:
    from lzma import LZMAError
except ImportError:  # a Python without it says so by RuntimeError
    LZMAError = zlib.error  # type: ignore[misc,assignment]

_SUFFIXES = frozenset(
    (
        ".jsonl",
        ".json",
        ".traj",
        ".gz",
        ".zst",
        ".eval",
        ".ndjson",
        ".db",
        ".sqlite",
        ".har",
        ".csv",
        ".yaml",
        ".yml",
        ".history",
    )
)
_LOG = ".eval"
_NOTE = ".meta.json"
"""How notes beside a transcript are called."""
_MOST, _LOOKED = 10_000, 200_000
"""Files that are listed of a folder, and names that are looked at for them."""
_TRIED = 50
"""Files of which a head is read, to find the first transcript."""
_CHUNK = 1 << 18
_BAD = (zipfile.BadZipFile, zlib.error, LZMAError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
"""What unpacking may raise: damaged (its names, too), packed in a way that is unknown here, or with a password."""


def sessions_in_folder(folder: Path) -> list[HeldSession]:
    """Its files that may be transcripts, in it or below, the one that was changed last first."""
    found: list[tuple[float, str]] = []
    below = (Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
    for n, path in enumerate(below):
        if n == _LOOKED or len(found) == _MOST:
            break
        try:
            about = path.stat()
            if path.suffix in _SUFFIXES and path.is_file() and about.st_size:
                found.append((-about.st_mtime, str(path.relative_to(folder))))
        except OSError:  # it went away, or is not for us to see
            continue
    return [HeldSession(name, path=str(folder / name)) for name in _sessions([name for _, name in sorted(found)])]


def _sessions(names: Sequence[str]) -> list[str]:
    """Those that are no mere part of a session which is a folder."""
    main = {part: one.of_folder[0] for one in all_formats()[0] for part in one.of_folder[1:]}
    listed = set(map(PurePath, names))
    parts = {
        str(one)
        for one in listed
        for part, opened in main.items()
        if one.match(part) and one.parents[part.count("/")] / opened in listed
    }
    return [name for name in names if str(PurePath(name)) not in parts and not name.endswith(_NOTE)]


def first_in_folder(folder: Path, held: Sequence[HeldSession]) -> Path:
    """The first of them that a format knows. Raises NothingToRead."""
    for one in held[:_TRIED]:
        if _is_known(partial(source_of, Path(one.path))):
            return Path(one.path)
    raise NothingToRead(f"{folder} is a folder without a transcript; name a file in it")


def _is_known(file: Callable[[], TranscriptFile | DatabaseSession]) -> bool:
    try:
        detect(file().head(), None, all_formats()[0])
    except InspectorError:
        return False
    return True


@contextmanager
def _opened(path: Path, member: str = "") -> Iterator[zipfile.ZipFile]:
    """The archive, or the one that is a file of it. Raises NothingToRead for whatever is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            if not member:
                yield archive
            elif archive.getinfo(member).file_size > LONGEST_PACKED:
                raise NothingToRead(f"{path}: {member} unpacks to more than {LONGEST_PACKED >> 20:,} MB")
            else:
                with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
                    yield inner
    except _BAD as error:
        raise NothingToRead(f"{path} cannot be unpacked: {error}") from None


class MemberSource(Source):
    """One file of an archive."""

    def __init__(self, path: Path, member: str) -> None:
        super().__init__(path)
        self._member, self.longest = member, LONGEST_PACKED

    def chunks(self) -> Generator[bytes, None, None]:
        with _opened(self.path) as archive:
            self.size = archive.getinfo(self._member).compress_size
            with archive.open(self._member) as file:
                yield from self._of(self._pieces(file))
        self.done = self.size

    def _pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        try:
            while chunk := file.read(_CHUNK):
                yield chunk
        except _BAD as error:
            self.problems.append(Problem(0, f"the packed data is damaged ({error}); shown is what could be unpacked"))


class ZippedFile(TranscriptFile):
    """A transcript in a zip file: the one that is wanted (`MEMBER`, `MEMBER#SESSION` of one that holds many), else the
    first that a format knows."""

    def __init__(self, path: Path, wanted: str, progress: ReadProgress, growing: bool) -> None:
        with _opened(path) as archive:
            self._names = [one.filename for one in archive.infolist() if _may_be_transcript(one)]
        held = [HeldSession(name) for name in _sessions(self._names)]
        wanted, self.inner = self._parted(wanted)
        place = place_of(held, wanted) if wanted else _first_known(path, held)
        if place is None and wanted not in self._names:
            stored = any(name.endswith(".db") for name in self._names)
            nothing = "is a zip archive without a transcript" + (": unpack it to read its databases" if stored else "")
            raise NothingToRead(f"{path} " + (f"holds no file {wanted!r}" if wanted else nothing))
        self.held = held if len(held) > 1 else []
        self.member = wanted if place is None else held[place].id
        self._folder = PurePosixPath(self.member).parent
        super().__init__(path, progress, growing=growing, source=partial(MemberSource, path, self.member))

    def _parted(self, wanted: str) -> tuple[str, str]:
        """The member, and the session in it."""
        member = wanted
        while member and member not in self._names:
            member = member.rpartition(SIGN)[0]
        return (member, wanted[len(member) + 1 :]) if member else (wanted, "")

    def head(self) -> Head:
        if self.member.endswith(_LOG) and is_eval_log(self.path, self.member):
            return self.is_one(_document(self.path, self.member, self.inner))
        found = super().head()
        for magic, what in ((MAGIC, "a database"), (ZIP, "an archive of its own")):
            if found.data.startswith(magic):
                raise NothingToRead(f"{self.path}: {self.member} is {what}; unpack it to open it")
        return found

    def beside(self, patterns: Sequence[str]) -> list[tuple[Path, str]]:
        """The other files of the archive that these patterns find: path, and name as of a file beside this one."""
        names = [PurePosixPath(one) for one in self._names if one != self.member]
        own = [one.relative_to(self._folder) for one in names if one.is_relative_to(self._folder)]
        return [
            (session_path(self.path, str(self._folder / name)), str(name))
            for name in sorted(own)
            if any(name.match(one) and len(name.parts) == one.count("/") + 1 for one in patterns)
        ]

    def companion(self, name: str) -> TranscriptFile:
        """One of them."""
        source = partial(MemberSource, self.path, str(self._folder / name))
        return TranscriptFile(self.path, self._progress, name, self._growing, source)


def _may_be_transcript(one: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(one.filename)
    return name.suffix in _SUFFIXES and bool(one.file_size) and "__MACOSX" not in name.parts


def _first_known(path: Path, held: Sequence[HeldSession]) -> int | None:
    for n, one in enumerate(held[:_TRIED]):
        with suppress(NothingToRead):  # a damaged log
            if one.id.endswith(_LOG) and is_eval_log(path, one.id):
                return n
        if _is_known(partial(TranscriptFile, path, source=partial(MemberSource, path, one.id))):
            return n
    return None


# ---- Inspect's logs --------------------------------------------------------------------------------------------------


def is_eval_log(path: Path, member: str = "") -> bool:
    """Is the zip file, or one that is a file of it, an evaluation log?"""
    with _opened(path, member) as archive:
        names = archive.namelist()
    return "header.json" in names or "_journal/start.json" in names


class EvalLog(TranscriptFile):
    """An evaluation log: its head, the samples by name, and the wanted one whole. As the document of a `.json` log."""

    def __init__(self, path: Path, wanted: str, progress: ReadProgress, growing: bool) -> None:
        super().__init__(path, progress, growing=growing)
        self._wanted = wanted

    def head(self) -> Head:
        return self.is_one(self._document or _document(self.path, "", self._wanted))


def _document(path: Path, member: str, wanted: str) -> Any:
    with _opened(path, member) as archive:
        names, read = archive.namelist(), partial(_json, path, archive)
        told = read("header.json" if "header.json" in names else "_journal/start.json")
        samples: list[Any] = [_named(name) for name in names if name.startswith("samples/") and name.endswith(".json")]
        samples.sort(key=lambda one: (_number(one["id"]), one["id"], one["epoch"]))
        with suppress(NothingToRead):  # what samples are about is told once more, for lists of them
            told_of = objects_of(read("summaries.json") if "summaries.json" in names else [])
            inputs = {(str(one.get("id")), str(one.get("epoch"))): one.get("input") for one in told_of}
            samples = [{**one, "input": inputs.get((one["id"], one["epoch"]))} for one in samples]
        place = place_of([HeldSession(f"{one['id']}_epoch_{one['epoch']}") for one in samples], wanted)
        if place is not None:
            samples[place] = read(samples[place]["member"])
    return {**(told if isinstance(told, dict) else {}), "samples": samples}


def _json(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > LONGEST_PACKED:
        raise NothingToRead(f"{path}: {name} unpacks to more than {LONGEST_PACKED >> 20:,} MB")
    try:
        return loads(archive.read(name))
    except NotJson as why:
        raise NothingToRead(f"{path}: {name} is not JSON: {why}") from None


def _named(member: str) -> dict[str, Any]:
    name, _, epoch = PurePosixPath(member).stem.rpartition("_epoch_")
    return {"id": name, "epoch": epoch, "member": member}


def _number(text: str) -> int:
    """Samples 1, 2, ... 10 in this order; those with names before them."""
    number = digits_of(text)
    return -1 if number is None else number


# ---- whatever a path names -------------------------------------------------------------------------------------------


def source_of(
    path: Path, progress: ReadProgress | None = None, growing: bool = False
) -> TranscriptFile | DatabaseSession:
    """Whatever the path names, to be read; `growing` = it will be followed. Raises NothingToRead."""
    progress = progress or ReadProgress()
    if found := database_of(path):
        return DatabaseSession(*found, progress)
    file, wanted = named(path)
    if begins_with(file, ZIP):
        return (EvalLog if is_eval_log(file) else ZippedFile)(file, wanted, progress, growing)
    return TranscriptFile(file, progress, growing=growing)
