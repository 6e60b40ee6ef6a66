"""The rows of a search: a message that holds the text, when it came, when it left and what took it away."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.core.errors import Cancelled
from inspector.core.message import part_text
from inspector.core.search import Hit, find
from inspector.core.session import Thread
from inspector.gui.bridge import Task
from inspector.gui.look.number_formats import grouped
from inspector.gui.widgets.rows import Column


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, where it was found."""

    thread: Thread
    hit: Hit

    @property
    def leaves(self) -> int | None:
        """The request that no longer holds it."""
        return self.hit.stay.left if self.hit.stay else None


COLUMNS: Sequence[Column[Found]] = (
    Column("role", lambda found: found.hit.message.role, 9),
    Column("message", lambda found: _excerpt(found.hit)),
    Column("appears", lambda found: _appears(found), 10, figures=True),
    Column("leaves", lambda found: _leaves(found), 9, figures=True),
    Column("by", lambda found: _by(found), 24),
    Column("thread", lambda found: found.thread.title or found.thread.id, 16),
)
LEAVES = 3
"""The column that leads to the request that no longer holds the message."""


def found_in(
    threads: Sequence[Thread], text: str, case: bool, only: frozenset[int] | None, task: Task
) -> tuple[Found, ...]:
    """The hits of all threads; `only`: ids of the message objects that count. Raises Cancelled between threads."""
    found: list[Found] = []
    for thread in threads:
        if task.cancelled():
            raise Cancelled("The search was stopped.")
        hits = find(thread, text, case)
        found += (Found(thread, hit) for hit in hits if only is None or id(hit.message) in only)
    return tuple(found)


def _excerpt(hit: Hit) -> str:
    text = part_text(hit.message.parts[hit.part])
    start = max(0, hit.start - 40)
    return ("…" if start else "") + text[start : hit.start + 200]


def _appears(found: Found) -> str:
    stay = found.hit.stay
    if stay is None:
        return "in no buffer"
    return _request(found.thread, stay.came)


def _leaves(found: Found) -> str:
    return "" if found.leaves is None else _request(found.thread, found.leaves)


def _request(thread: Thread, at: int) -> str:
    return "at the end" if at >= len(thread.requests) else grouped(at)


def _by(found: Found) -> str:
    """What took the message out of the buffer, as far as the transcript records it."""
    if found.leaves is None:
        return ""
    by = next((one for one in found.thread.compactions if one.before_request == found.leaves), None)
    if by is None:
        return "rewind or edit"
    return f"{by.trigger} compaction ({by.kind})" if by.trigger else f"compaction ({by.kind})"
