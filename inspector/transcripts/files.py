"""Opens a transcript: unpacking, line by line, companions, progress, cancel.

Files are only ever read, never locked. Whatever cannot be read is a Problem of the session; where nothing can be read,
one sentence (NothingToRead, UnknownFormat).
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.core.errors import NothingToRead, UnknownFormat
from inspector.core.formats.detect import detect
from inspector.core.formats.format import Format, Reader
from inspector.core.session import Problem, Session
from inspector.extensions.formats import all_formats
from inspector.transcripts.database.opening import Database, growing, opening
from inspector.transcripts.growing import Growing
from inspector.transcripts.opening import Opening, Watch


@dataclass(frozen=True, slots=True)
class Opened:
    """What opening leaves for whoever goes on reading: the reader, and the files as far as they were read."""

    path: Path
    chosen: Format
    reader: Reader
    files: list[Opening | Database]


def open_transcript(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002
    progress: Callable[[int, int], None] | None = None,
    first: Callable[[Session], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    keep: Callable[[Opened], None] | None = None,
) -> Session:
    """The session that a transcript holds, with the threads of its companions.

    `progress` is told (bytes done, bytes in all); `first` gets the beginning of a long session as soon as it can be
    shown; `cancelled` is asked for every chunk; `keep` gets what a follower goes on with (`follow.Follower`). Raises
    NothingToRead, UnknownFormat, Cancelled, each with a sentence.
    """
    watch = Watch(progress, first, cancelled)
    path = Path(path)
    with no_collection():
        formats, notes = all_formats()
        main = opening(path, watch) if keep is None else growing(path, watch)
        try:
            chosen = detect(main.head(), format, formats)
        except UnknownFormat as error:
            raise UnknownFormat(f"{path}: {error}") from None
        opened = Opened(path, chosen, chosen.start(), [main])
        session, problems = _read(opened, watch)
        if format is not None:
            refuse_nothing(path, chosen, session, formats)
        if keep is not None:
            keep(opened)
    merged = sorted([*session.problems, *problems], key=lambda problem: (problem.file, problem.line))
    return replace(session, path=str(path), problems=tuple(merged), notes=(*session.notes, *notes))


def refuse_nothing(path: Path, chosen: Format, session: Session, formats: Sequence[Format]) -> None:
    """A format that was asked for by name, and found nothing at all in the file, was the wrong one: UnknownFormat."""
    if any(thread.messages or thread.requests for thread in session.threads):
        return
    head = opening(path, Watch()).head()
    if chosen.sniff(head) > 0:
        return
    try:
        better = f"it looks like {detect(head, None, formats).title}"
    except UnknownFormat:
        better = "it looks like none that is known here"
    raise UnknownFormat(f"{path}: nothing in it can be read as {chosen.title}; {better}")


def _read(opened: Opened, watch: Watch) -> tuple[Session, list[Problem]]:
    """Everything, with the companions. The problems are those of the files, not of the reader."""
    reader, (main,) = opened.reader, opened.files
    companions = list(_companions(opened.chosen, opened.path))
    watch.total = main.size + sum(size for _, _, size in companions)
    main.feed(reader, watch.first)
    problems, session = _settled(main), reader.session()
    for companion, name, _ in companions:
        problems += _feed_companion(opened, session, companion, name, watch)
    return (reader.session() if companions else session), problems


def _settled(one: Opening | Database) -> list[Problem]:
    """The problems of a file that has been read; it may be followed from now on."""
    if isinstance(one, Growing):
        one.settle()
        return [*one.problems, *one.torn()]
    return one.problems


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


def _companions(chosen: Format, path: Path) -> Iterator[tuple[Path, str, int]]:
    """Path, name and size of the files that may belong to the session."""
    seen = {path.resolve()}
    for pattern in chosen.companions(path):
        for found in sorted(path.parent.glob(pattern)):
            if found.is_file() and (real := found.resolve()) not in seen:
                seen.add(real)
                yield found, found.relative_to(path.parent).as_posix(), found.stat().st_size


def _feed_companion(opened: Opened, session: Session, path: Path, name: str, watch: Watch) -> list[Problem]:
    """Feed one companion, if it is one. That it cannot be read is a problem of the session."""
    one = (Growing if isinstance(opened.files[0], Growing) else Opening)(path, watch, name)
    try:
        if not opened.chosen.is_companion(one.head(), session):
            watch.done += one.size
            return []
        one.feed(opened.reader)
        problems = _settled(one)
    except NothingToRead as error:
        return [Problem(0, f"{error}; the thread in it is not shown", "", name)]
    opened.files.append(one)
    return problems
