"""What a recorded session brings, request by request: the answers, the results, what the user typed.

Each message comes once. Summaries that the recorded harness wrote stay out, and so does what its client attached anew
behind one: a policy that is driven over the session makes its own. (One that the file begins with stays: what it
stands for is not there.) Answers that a recorded compaction swallowed before
any request showed them are there. A rewind or an edit in the recording is passed on, a recorded compaction is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inspector.core.buffer import View
from inspector.core.message import Message
from inspector.core.session import Request, Thread
from inspector.core.tokens.pressure import is_prefix

_OURS = ("assistant", "tool")


@dataclass(frozen=True, slots=True)
class Arrival:
    """What comes between a request and the one before it."""

    answer: tuple[Message, ...] = ()
    """The answer of the call before and the results of its tools."""
    new: tuple[Message, ...] = ()
    """All else: what the user typed, what the client added."""
    swapped: Mapping[str, Message] = field(default_factory=dict)
    """Messages by id that read otherwise from here on, though nothing was compacted."""
    gone: frozenset[str] = frozenset()
    """Ids of messages that are not sent any more, though nothing was compacted."""
    compacted: bool = False
    """The recorded harness compacted here: its buffer and a policy's go different ways."""
    grown: bool = True
    """The recorded buffer is the one before with more at its end."""


def arrivals(thread: Thread) -> tuple[Arrival, ...]:
    """One a request, and one for what came after the last. O(messages), and a walk over the buffer where it was not
    merely appended to."""
    reader = _Reader(thread)
    views = [*(request.view for request in thread.requests), thread.end]
    return tuple(reader.next(index, view) for index, view in enumerate(views))


class _Reader:
    def __init__(self, thread: Thread) -> None:
        self._order = thread.messages
        self._place = {message.id: at for at, message in enumerate(thread.messages)}
        at = {(one.before_request, one.kind) for one in thread.compactions if one.before_request}
        self._compacted = {request for request, _ in at}
        self._rewritten = {request for request, kind in at if kind == "summary"}
        self._seen = set[str]()
        self._upto = -1
        """Place of the last message that came."""
        self._last: View | None = None

    def next(self, index: int, view: View) -> Arrival:
        last, self._last = self._last, view
        compacted = index in self._compacted
        grown = last is not None and is_prefix(last, view)
        seen = view.tail(len(last)) if grown and last is not None else view.messages()
        fresh = [message for message in seen if message.id not in self._seen]
        self._seen.update(message.id for message in fresh)
        if index in self._rewritten:
            fresh = [*self._swallowed(fresh), *(message for message in fresh if not message.mark)]
        came = [message for message in fresh if not message.summary] if index else fresh
        self._upto = max([self._upto, *(self._place.get(message.id, -1) for message in fresh)])
        swapped, gone = ({}, frozenset[str]()) if grown or compacted or last is None else _edits(last, seen)
        at = _answer_ends(came) if index else 0
        return Arrival(tuple(came[:at]), tuple(came[at:]), swapped, gone, compacted, grown or last is None)

    def _swallowed(self, fresh: Sequence[Message]) -> list[Message]:
        """Messages of the recording that came before the summary and were never sent."""
        places = [self._place[message.id] for message in fresh if message.id in self._place]
        border = min(places) if places else self._upto + 1 + _one_answer(self._order[self._upto + 1 :])
        lost = [message for message in self._order[self._upto + 1 : border] if message.id not in self._seen]
        self._seen.update(message.id for message in lost)
        return lost


def _one_answer(messages: Sequence[Message]) -> int:
    """Length of one answer with its results: what comes before the next answer or anybody else's word."""
    results = False
    for at, message in enumerate(messages):
        if message.role not in _OURS or (results and message.role == "assistant"):
            return at
        results = results or message.role == "tool"
    return len(messages)


def _answer_ends(came: Sequence[Message]) -> int:
    return next((at for at, message in enumerate(came) if message.role not in _OURS), len(came))


def _edits(last: View, now: Sequence[Message]) -> tuple[dict[str, Message], frozenset[str]]:
    standing = {message.id: message for message in now}
    before = last.messages()
    swapped = {m.id: new for m in before if (new := standing.get(m.id)) is not None and new is not m and new != m}
    return swapped, frozenset(message.id for message in before if message.id not in standing)


def additions(requests: Sequence[Request]) -> Iterator[tuple[Message, ...]]:
    """The messages that each request brings, each message once, recorded summaries left out. O(messages) in all,
    but for a walk over the buffer where a stretch begins."""
    seen: set[str] = set()
    last = None
    for request in requests:
        view = request.view
        if last is not None and view.stretch is last.stretch and view.length >= last.length:
            new = view.tail(last.length)
        else:
            new = view.messages()
        last = view
        fresh = tuple(message for message in new if message.id not in seen and not message.summary)
        seen.update(message.id for message in fresh)
        yield fresh
