"""Helpers for readers: the position and time of a record, and the list of problems."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from inspector.core.jsontext import dumps
from inspector.core.message import Mark, Message, Opaque, Part, Role, Thinking
from inspector.core.session import Problem
from inspector.core.usage import ABSURD, is_absurd


def excerpt(value: Any) -> str:
    """Return the keys of an object, the beginning of a text, or the type name of another value.

    At most about 350 characters.
    """
    if isinstance(value, dict):
        return ", ".join(key[:40] for key in list(value)[:8])
    return str(value)[:80] if isinstance(value, str | int | float) else type(value).__name__


class ProblemList(list[Problem]):
    """The problems of a transcript: what could not be read, in the order of reading."""

    def note(self, line: int, what: str, value: Any = "", file: str = "") -> None:
        """Add a problem with a short excerpt of the value."""
        self.append(Problem(line, what, excerpt(value), file))

    def note_absurd(self, counts: Any, line: int, value: Any, file: str = "") -> None:
        """Add a problem if one of the counts is impossible as a number of tokens."""
        if is_absurd(counts):
            self.note(line, ABSURD, value, file)


def note_shared_ids(count: int, what: str = "messages") -> list[str]:
    """Return the note that `count` records share the id of an earlier record; an empty list for 0."""
    if not count:
        return []
    return [
        f"Ids occur more than once in this file ({what}: {count:,}), so these are identified by their position."
    ]


class RecordPosition(NamedTuple):
    """The position of a record: its id, line and time."""

    id: str
    line: int
    time: str

    def message(
        self, role: Role, parts: Iterable[Part], mark: Mark = "", *, summary: bool = False
    ) -> Message:
        """Return a message at this position."""
        return Message(
            self.id,
            role,
            parts=tuple(parts),
            summary=summary,
            mark=mark,
            line=self.line,
            time=self.time,
        )


def iso_time(since: Any, unit: float = 1000) -> str:
    """Return a time since 1970 as ISO 8601 in UTC; empty if the value is no time.

    Args:
        since: Time since 1970 in units.
        unit: Units per second: 1000 for milliseconds, 1 for seconds.
    """
    if type(since) not in (int, float) or not 0 < since < 1 << 53:
        return ""
    try:
        return datetime.fromtimestamp(since / unit, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return ""


def opaque_part(kind: Any, value: Any) -> Opaque:
    """Return a part of an unknown kind. Its size is the size of its JSON in bytes."""
    return Opaque(str(kind), value, len(dumps(value).encode("utf-8", errors="replace")))


def with_reasoning(parts: Sequence[Part], tokens: int) -> tuple[Part, ...]:
    """Set the reported reasoning tokens on the thoughts. Several thoughts have one sum: the first gets all of it."""
    counted: list[Part] = []
    for part in parts:
        if type(part) is Thinking:
            part, tokens = replace(part, tokens=tokens), 0
        counted.append(part)
    return tuple(counted)
