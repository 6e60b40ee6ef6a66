"""Open a transcript: unpack it, read it line by line, read its companions, report progress, allow cancelling.

Files are only read, never locked. Unreadable parts become Problems of the session. If nothing can be read, the
exception (NothingToRead, UnknownFormat) holds one sentence.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePath

from inspector.core.errors import NothingToRead, UnknownFormat
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Format
from inspector.core.formats.many import find_place
from inspector.core.formats.proxy.whole import WholeExchange, WholeExchanges
from inspector.core.message import Opaque
from inspector.core.session import HeldSession, Problem, Session
from inspector.extensions.formats import all_formats
from inspector.transcripts.archive import (
    ZippedFile,
    first_in_folder,
    open_source,
    sessions_in_folder,
)
from inspector.transcripts.bundle import BundleFile, is_bundle
from inspector.transcripts.choosing import choose_formats, is_read, refuse_unread
from inspector.transcripts.database import begins_with, session_path, split_session_path
from inspector.transcripts.feeder import Feeder, Value
from inspector.transcripts.stores import DatabaseSession
from inspector.transcripts.transcript_file import ReadProgress, TranscriptFile
from inspector.transcripts.unpack import ZIP, FileStat, Source, file_stat, find_files

_MOST_IDS = 10
"""Maximum number of sessions that an error message names."""


class TranscriptReading:
    """A transcript with its companions, as far as it was read. If it is `growing`, more can be read later."""

    def __init__(
        self,
        path: Path,
        format: str | None,  # noqa: A002
        progress: ReadProgress,
        growing: bool,
        chosen: Format | None = None,
    ) -> None:
        """`chosen`: a format of `choices` to use instead of the first. Raises NothingToRead, UnknownFormat,
        Cancelled.
        """
        is_folder = os.path.isdir(path)
        self._folder = sessions_in_folder(path) if is_folder else []
        self.path = first_in_folder(path, self._folder) if is_folder else path
        self._opened = path
        self.progress = progress
        self._growing = growing
        main = open_source(self.path, progress, growing)
        self.shared = main.shared if isinstance(main, BundleFile) else None
        self.choices, self.head = choose_formats(
            main, main.format if isinstance(main, BundleFile) else format
        )
        """The formats that may read the file, the surest first, and what they were chosen by."""
        self.format = chosen or self.choices[0]
        self.reader = self.format.start()
        self._file, self._wanted = split_session_path(self.path)
        self.inner = ""
        """The session that is read in a file of several; empty for the first."""
        if isinstance(main, TranscriptFile):
            if self.format.is_text:
                main.read_as_text()
            if self.format.repeated:
                main.expect_repeated(self.format.repeated)
            self.inner = _inner_session(main, self._wanted)
            if self.inner:
                if not self.format.is_many:
                    raise NothingToRead(f"{self._file} holds one session, and no {self.inner!r}")
                self.reader = self.format.start(self.inner)
        self.files: list[TranscriptFile | DatabaseSession] = [main]
        self._passed: dict[Path, FileStat | None] = {}
        """Files that are not companions (None), or that held nothing yet in the recorded state."""
        self._session_id = ""
        self._is_id_known = False
        """True if nothing was fed since the session's id was checked."""

    def by_other_formats(self) -> Iterator["TranscriptReading"]:
        """Yield a new reading of the same file for each of the other formats that may read it."""
        for other in self.choices[1:]:
            self.progress.done = 0
            yield TranscriptReading(
                self._opened,
                format=None,
                progress=self.progress,
                growing=self._growing,
                chosen=other,
            )

    def understands(self) -> bool:
        """Did the reader find requests in what it was fed?"""
        return is_read(self.reader.session(), self.files[0].records)

    def read_main(self, first: Callable[[Session], None] | None = None) -> None:
        """Feed the main file. Raises NothingToRead, Cancelled."""
        self._is_id_known = False
        self.files[0].feed(self.reader, first)
        if self._wanted and not (session := self.reader.session()).threads:
            ids = [held.id for held in session.held]
            names = ", ".join(ids[:_MOST_IDS]) + (", ..." if len(ids) > _MOST_IDS else "")
            raise NothingToRead(
                f"{self._file} holds no session {self._wanted!r}; it has {names or 'one only'}"
            )

    def read_more(self) -> bool:
        """Feed what was appended to the files. Return whether there was anything. Raises Rewritten."""
        fed = [file.read_more() for file in self.files]
        self._is_id_known &= not any(fed)
        return any(fed)

    def new_companions(self) -> list[tuple[Path, str]]:
        """Return (path, name) of the files that may belong to the session and were not checked yet."""
        if not self._is_id_known:
            self._look_at_id()
        main = self.files[0]
        if isinstance(main, BundleFile):
            return []
        if isinstance(main, ZippedFile):
            beside = main.beside(self.format.companions(PurePath(main.member)))
            return [(path, name) for path, name in beside if self._is_new(path)]
        return self._new_files_beside()

    def _look_at_id(self) -> None:
        """Forget which files were rejected as companions if the session's id has changed: they may belong to the new
        session.
        """
        self._is_id_known = True
        session_id = self.reader.session().id if self._growing else ""
        if session_id != self._session_id:
            self._session_id, self._passed = session_id, {file.path: None for file in self.files}

    def _new_files_beside(self) -> list[tuple[Path, str]]:
        folder = self._file.parent
        matching: list[Path] = []
        for pattern in self.format.companions(self._file):
            matching += [path for path in sorted(find_files(folder, pattern)) if self._is_new(path)]
        known_paths = {file.path.resolve() for file in self.files} if matching else set()
        companions: list[tuple[Path, str]] = []
        for path in matching:
            if path.is_file() and (real := path.resolve()) not in known_paths:
                known_paths.add(real)
                companions.append((path, path.relative_to(folder).as_posix()))
        return companions

    def _is_new(self, path: Path) -> bool:
        if path not in self._passed:
            return True
        then = self._passed[path]
        return then is not None and then != file_stat(path)

    def read_companion(self, path: Path, name: str, session: Session) -> bool:
        """Feed a file if it is a companion of the session. Return whether it is one. Raises NothingToRead,
        Cancelled.
        """
        self._passed[path] = file_stat(path) if self._growing else None
        main = self.files[0]
        zipped = main.companion(name) if isinstance(main, ZippedFile) else None
        companion = zipped or TranscriptFile(path, self.progress, file=name, growing=self._growing)
        head = companion.head()
        if not head.values or not self.format.is_companion(head, session):
            self._passed[path] = None if head.values else self._passed[path]
            self.progress.done += companion.size
            return False
        self._is_id_known = False
        companion.feed(self.reader)
        self._passed[path] = None
        self.files.append(companion)
        return True

    def session(self, *more: Problem) -> Session:
        """Return the session so far, with the problems of its files."""
        session = self.reader.session()
        notes = list(all_formats()[1])
        held = self._held_sessions(session)
        if held:
            notes.append(
                f"This is one of {len(held):,} sessions in the file: choose another in Sessions, or with --session."
            )
        problems = [*session.problems, *more]
        for file in self.files:
            problems += file.problems
        problems.sort(key=lambda problem: (problem.file, problem.line))
        if self.shared is not None and self.shared.note:
            notes.append(f"The sender of the bundle says: {self.shared.note}")
        all_notes = (*session.notes, *notes)
        return replace(
            session,
            path=str(self.path),
            problems=tuple(problems),
            notes=all_notes,
            held=tuple(held),
            shared=self.shared,
        )

    def _held_sessions(self, session: Session) -> list[HeldSession]:
        """Return the sessions of the folder, archive or file with their paths; empty if it holds only one."""
        main = self.files[0]
        file = self._file
        listed = self._folder or self.files[0].held
        if isinstance(main, ZippedFile) and session.held and (self._wanted or not listed):
            file = session_path(file, main.member)
            listed = []
        held = [
            replace(session, path=session.path or str(session_path(file, session.id)))
            for session in listed or session.held
        ]
        return held if len(held) > 1 else []


def _inner_session(main: TranscriptFile, wanted: str) -> str:
    """Return the session to read in a file of several; empty for the first."""
    if isinstance(main, ZippedFile):
        return main.inner
    if isinstance(main, BundleFile):
        return wanted or main.session_id
    return wanted


def open_transcript(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002
    progress: Callable[[int, int], None] | None = None,
    first: Callable[[Session], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    keep: Callable[[TranscriptReading], None] | None = None,
) -> Session:
    """Open a transcript and return its session, with the threads of its companions.

    Args:
        path: The transcript; `FILE#SESSION` names a session in a file of several.
        format: Name of the format; None detects it.
        progress: Called with (bytes done, bytes in total).
        first: Called with the beginning of a long session as soon as it can be shown.
        cancelled: Asked for every chunk.
        keep: Called with the reading, which a follower can continue (`follow.Follower`).

    Raises:
        NothingToRead, UnknownFormat, Cancelled: each with one sentence.
    """
    path = Path(path)
    about = ReadProgress(progress, cancelled)
    with no_collection():
        try:
            transcript = TranscriptReading(path, format, about, growing=keep is not None)
        except UnknownFormat as error:
            raise UnknownFormat(f"{path}: {error}") from None
        lost = read_whole(transcript, first)
        if format is not None:
            refuse_empty(transcript)
        else:
            transcript, lost = read_with_other_format(transcript, lost)
        if keep is not None:
            keep(transcript)
    return transcript.session(
        *lost, *(problem for file in transcript.files for problem in file.torn())
    )


def whole_exchanges(path: Path | str) -> Iterator[WholeExchange]:
    """Yield every exchange of a recording in the order in which they ended; exchanges without an answer come last.

    Raises NothingToRead.
    """
    whole = WholeExchanges()
    for line, value in _recorded_lines(Path(path)):
        yield from whole.take(line, value)
    yield from whole.rest()


def _recorded_lines(path: Path) -> Iterator[Value]:
    """Yield the lines of a recording, which may be in a bundle."""
    if begins_with(path, ZIP) and is_bundle(path):
        yield from BundleFile(path, ReadProgress(), growing=False).lines()
        return
    feeder = Feeder()
    source = Source(path)
    for chunk in source.chunks():
        feeder.longest = source.longest
        yield from feeder.read(chunk)


def find_exchange(path: Path | str, line: int) -> WholeExchange | None:
    """Return the exchange whose request is on `line`; None if there is none. O(file)."""
    return next((exchange for exchange in whole_exchanges(path) if exchange.line == line), None)


def find_session_path(path: Path, session: str) -> Path:
    """Return the path of a session, given by id or number, in a file or folder of several. Raises NothingToRead."""
    if not os.path.isdir(path):
        return session_path(path, session)
    held = sessions_in_folder(path)
    place = find_place(held, session)
    if place is None:
        raise NothingToRead(f"{path} holds no file {session!r}")
    return Path(held[place].path)


def read_whole(
    transcript: TranscriptReading, first: Callable[[Session], None] | None = None
) -> list[Problem]:
    """Feed the main file and its companions. Return the problems of companions that cannot be read."""
    companions = transcript.new_companions()
    sizes = (file_stat(companion) for companion, _ in companions)
    transcript.progress.total = transcript.files[0].size + sum(
        stat.size for stat in sizes if stat is not None
    )
    transcript.read_main(first)
    return _read_companions(transcript, companions)


def read_with_other_format(
    transcript: TranscriptReading, lost: list[Problem]
) -> tuple[TranscriptReading, list[Problem]]:
    """Return the first reading that understands the file, and its problems: this one, or one by another format.

    If no reading does, return this one. Raises UnknownFormat if it found nothing in the file.
    """
    is_sure = transcript.shared is not None and bool(transcript.reader.session().threads)
    if is_sure or transcript.understands():
        return transcript, lost
    for attempt in transcript.by_other_formats():
        with suppress(NothingToRead):
            attempt_lost = read_whole(attempt)
            if attempt.understands():
                return attempt, attempt_lost
    try:
        refuse_unread(
            transcript.reader.session(),
            transcript.head,
            chosen=transcript.format,
            records=transcript.files[0].records,
        )
    except UnknownFormat as refusal:
        raise UnknownFormat(f"{transcript.path}: {refusal}") from None
    return transcript, lost


def _read_companions(
    transcript: TranscriptReading, companions: list[tuple[Path, str]]
) -> list[Problem]:
    """Feed the files that are companions. Return the problems of those that cannot be read."""
    lost = list[Problem]()
    session = transcript.reader.session()
    for path, name in companions:
        try:
            transcript.read_companion(path, name, session)
        except NothingToRead as error:
            lost.append(
                Problem(line=0, what=f"{error}; the thread in this file is not shown", file=name)
            )
    return lost


def refuse_empty(transcript: TranscriptReading) -> None:
    """Raise UnknownFormat if the format that the user named found nothing in the file."""
    messages = (
        message for thread in transcript.reader.session().threads for message in thread.messages
    )
    if any(not isinstance(part, Opaque) for message in messages for part in message.parts):
        return
    chosen = transcript.format
    head = open_source(transcript.path).head()
    if chosen.sniff(head) > 0:
        return
    try:
        better = f"it looks like {detect(head, formats=all_formats()[0]).title}"
    except UnknownFormat:
        better = "it matches no known format"
    raise UnknownFormat(f"{transcript.path}: nothing in it can be read as {chosen.title}; {better}")


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the garbage collector off while reading, where it would visit a million new objects for nothing.

    Nothing that is read here forms reference cycles. All objects are frozen at the end, so later collections skip them
    too; they are still freed when the last reference goes away.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()
