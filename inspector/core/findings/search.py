"""Find a text in a session: the first request that holds it, and the first request that no longer does.

Each message is searched once, regardless of how many requests sent it. The requests at which it entered and left the
buffer follow from the differences between the views of consecutive requests.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inspector.core.buffer import EMPTY_VIEW, View, shared
from inspector.core.heavy import checkpoint
from inspector.core.message import Message, part_text
from inspector.core.session import Thread


@dataclass(frozen=True, slots=True)
class Stay:
    """The requests whose buffers hold a message. The number of requests means the buffer after the last record."""

    first: int
    """The first request that holds the message."""
    left: int | None
    """The first request that no longer holds the message; None if the last buffer holds it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that holds the text."""

    message: Message
    part: int
    """Index of the first part that holds the text."""
    start: int
    """Index of the first character of the text in `part_text` of that part."""
    stay: Stay | None
    """The requests that hold the message; None if no buffer ever held it."""


def find_text(thread: Thread, text: str, case: bool = False) -> tuple[Hit, ...]:
    """Return the messages that hold `text`, in the order in which they entered the buffer; those that never did last.

    Each version of an edited message is searched. An empty text yields no hits. `case`: True compares upper and lower
    case.
    """
    if not text:
        return ()
    find = _finder(text, case)
    stays = message_stays(thread)
    elsewhere = ((message, None) for message in thread.messages if id(message) not in stays)
    hits = []
    searched = (*stays.values(), *elsewhere)
    for place, (message, stay) in enumerate(searched):
        checkpoint(place, len(searched))
        for part_place, part in enumerate(message.parts):
            start = find(part_text(part))
            if start >= 0:
                hits.append(Hit(message, part_place, start, stay))
                break
    never = len(thread.requests) + 1
    return tuple(sorted(hits, key=lambda hit: hit.stay.first if hit.stay else never))


def _finder(text: str, case: bool) -> Callable[[str], int]:
    """Return a function that returns the index of `text` in a longer text, or -1."""
    if case:
        return lambda longer: longer.find(text)
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    piece = max(_CASELESS_PARTNERS.split(text.lower()), key=len).encode() if text.isascii() else b""

    def find(longer: str) -> int:
        if piece and piece not in longer.encode("utf-8", "surrogatepass").lower():
            return -1  # found out in a third of the time that the pattern takes
        match = pattern.search(longer)
        return match.start() if match is not None else -1

    return find


_CASELESS_PARTNERS = re.compile("[iks]")
"""The ASCII letters that equal letters outside ASCII if case is ignored, such as the Kelvin sign."""


def message_stays(thread: Thread) -> dict[int, tuple[Message, Stay]]:
    """Return every message that was in a buffer and its stay, by `id()` of the object. O(messages + changes)."""
    entries: dict[int, tuple[Message, int]] = {}
    left: dict[int, int] = {}
    former = EMPTY_VIEW
    for at, view in enumerate((*(request.view for request in thread.requests), thread.end)):
        gone, new = _between(former, view)
        former = view
        for message in gone:
            left[id(message)] = at
        for message in new:
            entries.setdefault(id(message), (message, at))
            left.pop(id(message), None)
    return {key: (message, Stay(at, left.get(key))) for key, (message, at) in entries.items()}


def _between(former: View, view: View) -> tuple[Iterable[Message], Iterable[Message]]:
    """Return (messages that left, messages that entered) from one buffer to the next."""
    rewritten = view.rewritten_since(former)
    if rewritten is None:
        same = shared(former, view)
        return former.tail(same), view.tail(same)
    gone, new = zip(*rewritten.values(), strict=True) if rewritten else ((), ())
    return gone, (*new, *view.tail(former.length))
