"""Opens a transcript: unpacking, line by line, companions, progress, cancel.

Files are only ever read, never locked. Whatever cannot be read is a Problem of the session; where nothing can be read,
one sentence (NothingToRead, UnknownFormat).
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from inspector.core.errors import NothingToRead, UnknownFormat
from inspector.core.formats.detect import detect
from inspector.core.session import Problem, Session
from inspector.extensions.formats import all_formats
from inspector.transcripts.opencode import DatabaseSession, source_of
from inspector.transcripts.transcript_file import ReadProgress, TranscriptFile
from inspector.transcripts.unpack import FileStat, file_stat


class TranscriptReading:
    """A transcript with its companions, as far as it was read; one that is `growing` can be read on."""

    def __init__(self, path: Path, format: str | None, progress: ReadProgress, growing: bool) -> None:  # noqa: A002
        """Raises NothingToRead, UnknownFormat, Cancelled."""
        self.path, self.progress, self._growing = path, progress, growing
        main = source_of(path, progress, growing)
        self.format = detect(main.head(), format, all_formats()[0])
        self.reader = self.format.start()
        self.files: list[TranscriptFile | DatabaseSession] = [main]
        self._passed: dict[Path, FileStat | None] = {}
        """Files that are no companions (None), or held nothing when they were as the value says."""
        self._session_id = ""

    def read_main(self, first: Callable[[Session], None] | None = None) -> None:
        """Feed the main file. Raises NothingToRead, Cancelled."""
        self.files[0].feed(self.reader, first)

    def read_more(self) -> bool:
        """Feed what was appended to the files; was there anything? Raises Rewritten."""
        fed = [one.read_more() for one in self.files]
        return any(fed)

    def new_companions(self) -> list[tuple[Path, str]]:
        """Path and name of the files that may belong to the session and were not looked at yet."""
        session_id = self.reader.session().id if self._growing else ""
        if session_id != self._session_id:  # what was no companion may be one of this session
            self._session_id, self._passed = session_id, {one.path: None for one in self.files}
        patterns = self.format.companions(self.path)
        new = [path for one in patterns for path in sorted(self.path.parent.glob(one)) if self._is_new(path)]
        known = {one.path.resolve() for one in self.files} if new else set()
        found: list[tuple[Path, str]] = []
        for path in new:
            if path.is_file() and (real := path.resolve()) not in known:
                known.add(real)
                found.append((path, path.relative_to(self.path.parent).as_posix()))
        return found

    def _is_new(self, path: Path) -> bool:
        if path not in self._passed:
            return True
        then = self._passed[path]
        return then is not None and then != file_stat(path)

    def read_companion(self, path: Path, name: str, session: Session) -> bool:
        """Feed that file, if it is a companion. Says whether it was. Raises NothingToRead, Cancelled."""
        self._passed[path] = file_stat(path) if self._growing else None
        one = TranscriptFile(path, self.progress, name, self._growing)
        head = one.head()
        if not head.values or not self.format.is_companion(head, session):
            self._passed[path] = None if head.values else self._passed[path]
            self.progress.done += one.size
            return False
        one.feed(self.reader)
        self._passed[path] = None
        self.files.append(one)
        return True

    def session(self, *more: Problem) -> Session:
        """The session so far, with the problems of its files."""
        session, notes = self.reader.session(), all_formats()[1]
        problems = [*more, *(problem for one in self.files for problem in one.problems)]
        merged = sorted([*session.problems, *problems], key=lambda problem: (problem.file, problem.line))
        return replace(session, path=str(self.path), problems=tuple(merged), notes=(*session.notes, *notes))


def open_transcript(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002
    progress: Callable[[int, int], None] | None = None,
    first: Callable[[Session], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    keep: Callable[[TranscriptReading], None] | None = None,
) -> Session:
    """The session that a transcript holds, with the threads of its companions.

    `progress` is called with (bytes done, bytes in all); `first` gets the beginning of a long session as soon as it can
    be shown; `cancelled` is asked for every chunk; `keep` gets what a follower continues (`follow.Follower`). Raises
    NothingToRead, UnknownFormat, Cancelled, each with a sentence.
    """
    path, about = Path(path), ReadProgress(progress, cancelled)
    with no_collection():
        try:
            transcript = TranscriptReading(path, format, about, growing=keep is not None)
        except UnknownFormat as error:
            raise UnknownFormat(f"{path}: {error}") from None
        companions = transcript.new_companions()
        about.total = transcript.files[0].size + sum(companion.stat().st_size for companion, _ in companions)
        transcript.read_main(first)
        lost = _read_companions(transcript, companions)
        if format is not None:
            refuse_nothing(transcript)
        if keep is not None:
            keep(transcript)
    return transcript.session(*lost, *(problem for one in transcript.files for problem in one.torn()))


def _read_companions(transcript: TranscriptReading, companions: list[tuple[Path, str]]) -> list[Problem]:
    """Feed those that are some. The problems are those of companions that cannot be read."""
    lost, session = list[Problem](), transcript.reader.session()
    for path, name in companions:
        try:
            transcript.read_companion(path, name, session)
        except NothingToRead as error:
            lost.append(Problem(0, f"{error}; the thread in it is not shown", "", name))
    return lost


def refuse_nothing(transcript: TranscriptReading) -> None:
    """A format that was asked for by name, and found nothing at all in the file, was the wrong one: UnknownFormat."""
    if any(thread.messages or thread.requests for thread in transcript.reader.session().threads):
        return
    chosen, head = transcript.format, source_of(transcript.path).head()
    if chosen.sniff(head) > 0:
        return
    try:
        better = f"it looks like {detect(head, None, all_formats()[0]).title}"
    except UnknownFormat:
        better = "it looks like none that is known here"
    raise UnknownFormat(f"{transcript.path}: nothing in it can be read as {chosen.title}; {better}")


@contextmanager
def no_collection() -> Iterator[None]:
    """Nothing that is read here makes circles: the collector would walk a million new objects for nothing.

    Not while reading, and not later either: what is there afterwards is frozen, and is freed when it is let go.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()
