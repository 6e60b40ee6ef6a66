"""What readers share in reading one record: its position and time, and what is wrong with it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from inspector.core.jsontext import dumps
from inspector.core.message import Mark, Message, Opaque, Part, Role, Thinking
from inspector.core.session import Problem
from inspector.core.usage import ABSURD, is_absurd


def excerpt(value: Any) -> str:
    """The keys of an object, the beginning of a text, else the kind of value. One line, at most some 350 characters."""
    if isinstance(value, dict):
        return ", ".join(key[:40] for key in list(value)[:8])
    return str(value)[:80] if isinstance(value, str | int | float) else type(value).__name__


class ProblemList(list[Problem]):
    """What of a transcript could not be read, in the order in which it was found."""

    def note(self, line: int, what: str, value: Any = "", file: str = "") -> None:
        """With an excerpt of the value: enough to find it, never all of it."""
        self.append(Problem(line, what, excerpt(value), file))

    def note_absurd(self, counts: Any, line: int, value: Any, file: str = "") -> None:
        """Where there is a number among the counts that can be none of tokens."""
        if is_absurd(counts):
            self.note(line, ABSURD, value, file)


def note_shared_ids(count: int, what: str = "messages") -> list[str]:
    """Return the note of a session in which `count` records have the id of an earlier one; none for 0."""
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
        return Message(self.id, role, tuple(parts), "", summary, mark, self.line, self.time)


def iso_time(since: Any, unit: float = 1000) -> str:
    """Return a time since 1970 as ISO 8601 in UTC; empty if it is no time. `unit`: how many of its units are a
    second."""
    if type(since) not in (int, float) or not 0 < since < 1 << 53:
        return ""
    try:
        return datetime.fromtimestamp(since / unit, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return ""


def opaque_part(kind: Any, value: Any) -> Opaque:
    """A part of a kind that nothing here knows."""
    return Opaque(str(kind), value, len(dumps(value).encode("utf-8", errors="replace")))


def with_reasoning(parts: Sequence[Part], tokens: int) -> tuple[Part, ...]:
    """With the reported tokens on the thoughts: all on the first of several, as they are reported in one sum."""
    counted: list[Part] = []
    for part in parts:
        if type(part) is Thinking:
            part, tokens = replace(part, tokens=tokens), 0
        counted.append(part)
    return tuple(counted)
