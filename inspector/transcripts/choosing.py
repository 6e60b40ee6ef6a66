"""Choose the format that reads a file: by how the file looks, and by whether the format's reader finds anything.

If a reader finds no request, or mostly problems, the next possible format is tried. If none is left, the file is
refused, and the error names the format that it looks like.
"""

from collections.abc import Sequence

from inspector.core.errors import UnknownFormat
from inspector.core.formats.detect import SURE, UNRECOGNISED, candidates
from inspector.core.formats.foreign import chat_sentence, foreign_format
from inspector.core.formats.format import Format, Head
from inspector.core.session import Session
from inspector.extensions.formats import all_formats
from inspector.transcripts.stores import DatabaseSession
from inspector.transcripts.transcript_file import TranscriptFile

_WEAK = 0.5
"""How sure a foreign format can be if only the kind of file (a database, an archive) suggests it."""


def choose_formats(
    main: TranscriptFile | DatabaseSession, format_name: str | None
) -> tuple[list[Format], Head]:
    """Return the formats that may read a file, the surest first, and the head that they were chosen by.

    If no format recognises the file and it is a list of objects, its items are taken as lines.

    Raises UnknownFormat, NothingToRead.
    """
    formats = all_formats()[0]
    head = main.head()
    try:
        return candidates(head, format_name, formats), head
    except UnknownFormat as refusal:
        spread = main.spread() if isinstance(main, TranscriptFile) else None
        if spread is None:
            raise
        try:
            return candidates(spread, format_name, formats), spread
        except UnknownFormat as second:
            raise (second if str(refusal) == UNRECOGNISED else refusal) from None


def is_read(session: Session, records: int) -> bool:
    """Did the reader understand the file? `records` is the number of values that it was fed."""
    return _count_requests(session) > 0 and not _is_mostly_problems(session, records)


def refuse_unread(session: Session, head: Head, chosen: Format, records: int) -> None:
    """Refuse a file in which no reader found a request, unless `chosen` is sure of it and part of it could be read.

    Raises UnknownFormat.
    """
    foreign = foreign_format(head)
    if foreign is not None and foreign.sure > _WEAK:
        raise UnknownFormat(foreign.sentence)
    if _count_requests(session) > 0:
        return
    if _is_mostly_problems(session, records):
        problem = session.problems[0]
        raise UnknownFormat(
            f"this looks like {_with_article(chosen.title)}, but its records cannot be read as such"
            f" (line {problem.line}: {problem.what})"
        )
    has_messages = any(thread.messages for thread in session.threads)
    if not has_messages and chosen.sniff(head) < SURE:
        raise UnknownFormat(chat_sentence(head) or UNRECOGNISED)


def _count_requests(session: Session) -> int:
    return sum(len(thread.requests) for thread in session.threads) + len(session.side_calls)


def _is_mostly_problems(session: Session, records: int) -> bool:
    problems = len(session.problems)
    messages: Sequence[int] = [len(thread.messages) for thread in session.threads]
    return 2 * problems > max(records, problems + sum(messages))


def _with_article(title: str) -> str:
    return f"{'an' if title[0] in 'AEIOaeiou' else 'a'} {title}"
