"""Read transcripts in folders and zip files, including evaluation logs, which are zip files.

Lists the sessions that they hold and reads one of them. Nothing is unpacked to disk. Of an evaluation log only the
wanted sample is read.
"""

import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from inspector.core.errors import InspectorError, NothingToRead
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Head
from inspector.core.formats.many import find_place
from inspector.core.session import HeldSession
from inspector.core.untyped import digits_of, objects_of
from inspector.extensions.formats import all_formats
from inspector.transcripts.archive_members import MemberSource, open_archive, read_json_member
from inspector.transcripts.bundle import BundleFile, is_bundle
from inspector.transcripts.database import (
    MAGIC,
    SIGN,
    begins_with,
    database_of,
    session_path,
    split_session_path,
)
from inspector.transcripts.stores import DatabaseSession
from inspector.transcripts.transcript_file import ReadProgress, TranscriptFile
from inspector.transcripts.unpack import ZIP

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
"""Suffix of the files with notes that some clients write beside a transcript."""
_MOST, _LOOKED = 10_000, 200_000
"""Maximum number of files that are listed for a folder, and the maximum number of names that are checked to find
them.
"""
_TRIED = 50
"""Maximum number of files whose head is read to find the first transcript."""


def sessions_in_folder(folder: Path) -> list[HeldSession]:
    """Return the files in a folder and below it that may be transcripts, most recently changed first."""
    times_and_names: list[tuple[float, str]] = []
    below = (
        Path(place, name)
        for place, folders, files in os.walk(folder)
        for name in (*folders, *files)
    )
    for index, path in enumerate(below):
        if index == _LOOKED or len(times_and_names) == _MOST:
            break
        try:
            about = path.stat()
            if path.suffix in _SUFFIXES and path.is_file() and about.st_size:
                times_and_names.append((-about.st_mtime, str(path.relative_to(folder))))
        except OSError:  # it was removed in the meantime, or we may not read it
            continue
    names = [name for _, name in sorted(times_and_names)]
    return [HeldSession(name, path=str(folder / name)) for name in _sessions(names)]


def _sessions(names: Sequence[str]) -> list[str]:
    """Return the names of whole sessions: without parts of a session that is a folder, and without notes."""
    listed = set(map(PurePath, names))
    return [
        name for name in names if not _is_part(PurePath(name), listed) and not name.endswith(_NOTE)
    ]


def _is_part(path: PurePath, listed: set[PurePath]) -> bool:
    """Is the file a part of a session whose main file is also listed?"""
    for format_ in all_formats()[0]:
        if not format_.of_folder:
            continue
        main, *parts = format_.of_folder
        for part in parts:
            if path.match(part) and path.parents[part.count("/")] / main in listed:
                return True
    return False


def first_in_folder(folder: Path, held: Sequence[HeldSession]) -> Path:
    """Return the path of the first session that a format recognises. Raises NothingToRead."""
    for session in held[:_TRIED]:
        if _is_known(partial(open_source, Path(session.path))):
            return Path(session.path)
    raise NothingToRead(f"{folder} is a folder without a transcript; name a file in it")


def _is_known(file: Callable[[], TranscriptFile | DatabaseSession]) -> bool:
    try:
        detect(file().head(), formats=all_formats()[0])
    except InspectorError:
        return False
    return True


class ZippedFile(TranscriptFile):
    """A transcript in a zip file: the wanted one, or else the first that a format recognises.

    The wanted one is named `MEMBER`, or `MEMBER#SESSION` if the member holds several sessions.
    """

    def __init__(self, path: Path, session: str, progress: ReadProgress, growing: bool) -> None:
        with open_archive(path) as archive:
            self._names = [
                member.filename for member in archive.infolist() if _may_be_transcript(member)
            ]
        held = [HeldSession(name) for name in _sessions(self._names)]
        session, self.inner = self._split_session(session)
        place = find_place(held, session) if session else _first_known(path, held)
        if place is None and session not in self._names:
            raise NothingToRead(f"{path} {self._missing_words(session)}")
        self.held = held if len(held) > 1 else []
        self.member = session if place is None else held[place].id
        self._folder = PurePosixPath(self.member).parent
        super().__init__(
            path, progress, growing=growing, source=partial(MemberSource, path, self.member)
        )

    def _missing_words(self, session: str) -> str:
        """Say what the archive lacks: the wanted session, or any transcript if `session` is empty."""
        if session:
            return f"holds no file {session!r}"
        if any(name.endswith(".db") for name in self._names):
            return "is a zip archive without a transcript: unpack it to read its databases"
        return "is a zip archive without a transcript"

    def _split_session(self, session: str) -> tuple[str, str]:
        """Split the wanted name into the archive's member and the session in it."""
        member = session
        while member and member not in self._names:
            member = member.rpartition(SIGN)[0]
        return (member, session[len(member) + 1 :]) if member else (session, "")

    def head(self) -> Head:
        if self.member.endswith(_LOG) and is_eval_log(self.path, self.member):
            return self.is_one(_document(self.path, self.member, self.inner))
        whole = super().head()
        for magic, what in ((MAGIC, "a database"), (ZIP, "another archive")):
            if whole.data.startswith(magic):
                raise NothingToRead(f"{self.path}: {self.member} is {what}; unpack it to open it")
        return whole

    def beside(self, patterns: Sequence[str]) -> list[tuple[Path, str]]:
        """Return (path, name relative to this file) of the archive's other files that match a pattern."""
        others = [PurePosixPath(name) for name in self._names if name != self.member]
        names = sorted(
            other.relative_to(self._folder)
            for other in others
            if other.is_relative_to(self._folder)
        )
        matching = [name for name in names if _matches_any(name, patterns)]
        return [(session_path(self.path, str(self._folder / name)), str(name)) for name in matching]

    def companion(self, name: str) -> TranscriptFile:
        """Open one of the files that `beside` returned."""
        source = partial(MemberSource, self.path, str(self._folder / name))
        return TranscriptFile(
            self.path, self._progress, file=name, growing=self._growing, source=source
        )


def _may_be_transcript(member: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(member.filename)
    return name.suffix in _SUFFIXES and bool(member.file_size) and "__MACOSX" not in name.parts


def _matches_any(name: PurePosixPath, patterns: Sequence[str]) -> bool:
    """Does a pattern match the whole name?"""
    depth = len(name.parts)
    as_deep = (pattern for pattern in patterns if pattern.count("/") + 1 == depth)
    return any(name.match(pattern) for pattern in as_deep)


def _first_known(path: Path, held: Sequence[HeldSession]) -> int | None:
    for index, session in enumerate(held[:_TRIED]):
        with suppress(NothingToRead):  # a damaged log
            if session.id.endswith(_LOG) and is_eval_log(path, session.id):
                return index
        if _is_known(partial(TranscriptFile, path, source=partial(MemberSource, path, session.id))):
            return index
    return None


# ---- Inspect's logs --------------------------------------------------------------------------------------------------


def is_eval_log(path: Path, member: str = "") -> bool:
    """Is the zip file, or a zip file that is its member, an evaluation log?"""
    with open_archive(path, member) as archive:
        names = archive.namelist()
    return "header.json" in names or "_journal/start.json" in names


class EvalLog(TranscriptFile):
    """An evaluation log: its header, the names of its samples, and the wanted sample in full.

    It is read as the document that a `.json` log would hold.
    """

    def __init__(self, path: Path, session: str, progress: ReadProgress, growing: bool) -> None:
        super().__init__(path, progress, growing=growing)
        self._wanted = session

    def head(self) -> Head:
        return self.is_one(self._document or _document(self.path, "", self._wanted))


def _document(path: Path, member: str, session: str) -> Any:
    """Return an evaluation log as the document that a `.json` log would hold, with only one sample in full."""
    with open_archive(path, member) as archive:
        names = archive.namelist()
        read = partial(read_json_member, path, archive)
        header = read("header.json" if "header.json" in names else "_journal/start.json")
        samples: list[Any] = [
            _named(name) for name in names if name.startswith("samples/") and name.endswith(".json")
        ]
        samples.sort(key=lambda sample: (_number(sample["id"]), sample["id"], sample["epoch"]))
        # The summaries repeat the inputs, so that samples can be listed.
        with suppress(NothingToRead):
            summaries = objects_of(read("summaries.json") if "summaries.json" in names else [])
            inputs = {
                (str(row.get("id")), str(row.get("epoch"))): row.get("input") for row in summaries
            }
            samples = [
                {**sample, "input": inputs.get((sample["id"], sample["epoch"]))}
                for sample in samples
            ]
        held = [HeldSession(f"{sample['id']}_epoch_{sample['epoch']}") for sample in samples]
        place = find_place(held, session)
        if place is not None:
            samples[place] = read(samples[place]["member"])
    return {**(header if isinstance(header, dict) else {}), "samples": samples}


def _named(member: str) -> dict[str, Any]:
    name, _, epoch = PurePosixPath(member).stem.rpartition("_epoch_")
    return {"id": name, "epoch": epoch, "member": member}


def _number(text: str) -> int:
    """Return the number of a sample for sorting; -1 for a sample whose id is not a number."""
    number = digits_of(text)
    return -1 if number is None else number


# ---- any path -------------------------------------------------------------------------------------------------------


def open_source(
    path: Path, progress: ReadProgress | None = None, growing: bool = False
) -> TranscriptFile | DatabaseSession:
    """Open whatever a path names for reading. `growing`: it will be followed. Raises NothingToRead."""
    progress = progress or ReadProgress()
    if database := database_of(path):
        return DatabaseSession(*database, progress)
    file, session = split_session_path(path)
    if begins_with(file, ZIP) and is_bundle(file):
        return BundleFile(file, progress, growing)
    if begins_with(file, ZIP):
        return (EvalLog if is_eval_log(file) else ZippedFile)(file, session, progress, growing)
    return TranscriptFile(file, progress, growing=growing)
