"""Feeding a reader, and what holds for every session, whatever the transcript holds."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, View
from inspector.core.formats.format import Format
from inspector.core.jsontext import NotJson, loads
from inspector.core.session import Session, Thread

DATA = Path(__file__).resolve().parents[2] / "data"


def records(path: Path) -> list[tuple[int, Any]]:
    """The lines of a file that are JSON, with their numbers."""
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found.append((number, loads(line)))
        except NotJson:
            continue
    return found


def told(format_: Format, values: Iterable[tuple[int, Any]], file: str = "") -> Session:
    """The session of these records, all of one file."""
    reader = format_.start()
    for line, value in values:
        reader.feed(line, value, file)
    return reader.session()


def numbered(values: Iterable[Any]) -> list[tuple[int, Any]]:
    """The values on lines 1, 2, 3, ..."""
    return list(enumerate(values, 1))


def respaced(values: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """The same records written with other spaces and escapes, and read again."""
    return [(line, loads(json.dumps(value, indent=1).encode())) for line, value in values]


def check(session: Session) -> None:
    """What every session keeps."""
    assert session.threads
    check_threads(session)


def check_threads(session: Session) -> None:
    """The same of a session that may hold nothing: its threads have ids of their own."""
    names = [thread.id for thread in session.threads]
    assert len(names) == len(set(names))
    for thread in session.threads:
        check_thread(thread)


def check_thread(thread: Thread) -> None:
    """Requests are numbered, views are readable and hold messages of the thread, compactions point at requests."""
    ids = [message.id for message in thread.messages]
    assert len(ids) == len(set(ids))
    known = set(ids)
    for number, request in enumerate(thread.requests):
        assert request.index == number
        assert len(request.view) == len(request.view.messages())
        check_view(request.view, known)
    check_view(thread.end, known)
    for compaction in thread.compactions:
        assert 0 <= compaction.before_request <= len(thread.requests)
        assert compaction.summary is None or compaction.summary.summary


def check_view(view: View, known: set[str]) -> None:
    """A buffer holds messages of its thread, each once."""
    ids = [message.id for message in view]
    assert set(ids) <= known
    assert len(ids) == len(set(ids))


def laid_out(session: Session) -> list[tuple[Any, ...]]:
    """All that a session says, with its buffers laid out: views are equal only where they share memory."""
    return [
        (
            (
                thread.id,
                thread.title,
                thread.model,
                thread.parent,
                thread.parent_call,
                thread.prompt,
            ),
            list(thread.messages),
            [
                (replace(request, view=EMPTY_VIEW), request.view.messages())
                for request in thread.requests
            ],
            list(thread.compactions),
            thread.end.messages(),
        )
        for thread in session.threads
    ]


def spoilt(
    values: Sequence[tuple[int, Any]], bad: Any, depth: int = 3
) -> Iterator[list[tuple[int, Any]]]:
    """The records over and over, each time with `bad` in another place, down to so many levels."""
    for n, (line, value) in enumerate(values):
        for changed in _replaced(value, bad, depth):
            yield [*values[:n], (line, changed), *values[n + 1 :]]


def _replaced(value: Any, bad: Any, depth: int) -> Iterator[Any]:
    yield bad
    if depth and isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: changed} for changed in _replaced(inner, bad, depth - 1))
    elif depth and isinstance(value, list):
        for n, inner in enumerate(value):
            yield from (
                [*value[:n], changed, *value[n + 1 :]]
                for changed in _replaced(inner, bad, depth - 1)
            )


def deep(levels: int = 900) -> Any:
    """A value nested as deeply as a parser lets through."""
    value: Any = {}
    for _ in range(levels):
        value = [value]
    return value
