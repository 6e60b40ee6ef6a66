"""The messages that each request adds to the buffer, and the thread as it was right before a change of its buffer."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from inspector.core.buffer import Stretch, View, is_prefix, shared
from inspector.core.changes import align_messages
from inspector.core.heavy import KnownByThread
from inspector.core.message import Message
from inspector.core.session import Request, Thread, first_place

_OURS = ("assistant", "tool")


@dataclass(frozen=True, slots=True)
class Arrival:
    """The differences between the buffer of a request and that of the previous request."""

    answer: tuple[Message, ...] = ()
    """The answer to the previous request, and the results of the tools that it called."""
    new: tuple[Message, ...] = ()
    """All other new messages: those that the user typed or the client added."""
    swapped: Mapping[str, Message] = field(default_factory=dict)
    """The changed messages by id, if the content of some changed without a compaction."""
    gone: frozenset[str] = frozenset()
    """Ids of messages that are no longer sent although nothing was compacted."""
    compacted: bool = False
    """True if the recorded harness compacted before this request, so that a policy's buffer may differ from here on."""
    grown: bool = True
    """True if the recorded buffer is the previous one with messages appended."""


_KNOWN = KnownByThread[tuple[Arrival, ...]]()


def arrivals(thread: Thread) -> tuple[Arrival, ...]:
    """Return the arrival of each request, and of the buffer after the last request. Cached for the last few threads.

    O(messages) once, plus O(buffer) for each request whose buffer was not merely appended to.
    """
    return _KNOWN.get(thread, "", lambda former: _find_arrivals(thread))


def _find_arrivals(thread: Thread) -> tuple[Arrival, ...]:
    finder = _ArrivalFinder(thread)
    views = [*(request.view for request in thread.requests), thread.end]
    return tuple(finder.advance(index, view) for index, view in enumerate(views))


class _ArrivalFinder:
    """Goes through the buffers of a thread in order and finds the new messages of each."""

    def __init__(self, thread: Thread) -> None:
        compactions = [compaction for compaction in thread.compactions if compaction.before_request]
        self._compacted_at = {compaction.before_request for compaction in compactions}
        self._summarised_at = {
            compaction.before_request for compaction in compactions if compaction.kind == "summary"
        }
        self._recording = thread.messages
        self._place_of_id = {message.id: place for place, message in enumerate(thread.messages)}
        self._seen_ids = set[str]()
        self._last_place = -1
        """Index in the recording of the last message that any buffer held so far."""
        self._last_view: View | None = None

    def advance(self, index: int, view: View) -> Arrival:
        """Return the differences between the previous buffer and `view`, the buffer of request `index`."""
        last = self._last_view
        self._last_view = view
        is_compacted = index in self._compacted_at
        is_grown = last is not None and is_prefix(last, view)
        messages = view.tail(len(last)) if last is not None and is_grown else view.messages()
        new = self._take_new(messages, is_summarised=index in self._summarised_at)
        if index:
            new = [message for message in new if not message.summary]
        answer_end = _count_ours(new) if index else 0
        swapped: Mapping[str, Message] = {}
        gone = frozenset[str]()
        if last is not None and not is_grown and not is_compacted:
            swapped, gone = _find_edits(last, messages)
        is_growth = is_grown or last is None
        return Arrival(
            tuple(new[:answer_end]),
            new=tuple(new[answer_end:]),
            swapped=swapped,
            gone=gone,
            compacted=is_compacted,
            grown=is_growth,
        )

    def _take_new(self, messages: Sequence[Message], *, is_summarised: bool) -> list[Message]:
        """Return the messages that no earlier buffer held, and mark them as seen."""
        new = [message for message in messages if message.id not in self._seen_ids]
        self._seen_ids.update(message.id for message in new)
        if is_summarised:
            new = [*self._take_unsent(new), *(message for message in new if not message.mark)]
        places = [self._place_of_id.get(message.id, -1) for message in new]
        self._last_place = max([self._last_place, *places])
        return new

    def _take_unsent(self, new: Sequence[Message]) -> list[Message]:
        """Return the recorded messages before `new` that no request ever sent because a summary replaced them."""
        start = self._last_place + 1
        places = [
            self._place_of_id[message.id] for message in new if message.id in self._place_of_id
        ]
        end = min(places) if places else start + _count_answer(self._recording[start:])
        unsent = [
            message for message in self._recording[start:end] if message.id not in self._seen_ids
        ]
        self._seen_ids.update(message.id for message in unsent)
        return unsent


def _count_ours(messages: Sequence[Message]) -> int:
    """Count the leading messages that the model or its tools wrote."""
    return sum(1 for _ in takewhile(lambda message: message.role in _OURS, messages))


def _find_renamed(before: View, after: View) -> frozenset[str]:
    """Return the new ids of messages that the previous buffer holds under other ids, which are therefore not new."""
    if after.rewritten_since(before) is not None:
        return frozenset()
    same = shared(before, after)
    old = before.tail(same)
    new = after.tail(same)
    places = zip(old, align_messages(old, new), strict=True)
    return frozenset(
        new[place].id for message, place in places if place >= 0 and new[place].id != message.id
    )


def _count_answer(messages: Sequence[Message]) -> int:
    """Count the messages of an answer and its results.

    They end before the next answer, or before a message that neither the model nor a tool wrote.
    """
    has_results = False
    for place, message in enumerate(messages):
        if message.role not in _OURS or (has_results and message.role == "assistant"):
            return place
        has_results = has_results or message.role == "tool"
    return len(messages)


def _find_edits(last: View, now: Sequence[Message]) -> tuple[dict[str, Message], frozenset[str]]:
    """Return the messages with changed content by id, and the ids of the messages that are no longer sent."""
    now_by_id = {message.id: message for message in now}
    swapped: dict[str, Message] = {}
    gone: list[str] = []
    for message in last.messages():
        later = now_by_id.get(message.id)
        if later is None:
            gone.append(message.id)
        elif later is not message and later != message:
            swapped[message.id] = later
    return swapped, frozenset(gone)


def thread_before(thread: Thread, at: int, arrival: Arrival) -> Thread:
    """Return the thread as it was right before the change of its buffer that precedes request `at`."""
    request = thread.requests[at] if at < len(thread.requests) else None
    last = thread.requests[at - 1] if at else request
    earlier = bisect_left(thread.compactions, at, key=lambda compaction: compaction.before_request)
    end = _view_before(thread, at, arrival)
    prompt = last.prompt if last else thread.prompt
    model = (request.model if request else "") or thread.model
    requests = thread.requests[:at]
    compactions = thread.compactions[:earlier]
    return replace(
        thread,
        requests=requests,
        end=end,
        prompt=prompt,
        model=model,
        compactions=compactions,
        trailing=(),
    )


def _view_before(thread: Thread, at: int, arrival: Arrival) -> View:
    """Return the buffer right before the change: that of the previous request, with the messages that arrived since."""
    if at < len(thread.requests):
        request = thread.requests[at]
        # The client re-sends content that the provider cleared earlier.
        is_cleared_again = at > 0 and bool(request.edits)
        if request.asked is not None and not is_cleared_again:
            return request.asked
    last = thread.requests[at - 1].view
    renamed = frozenset[str]()
    if not arrival.grown and not arrival.compacted:
        renamed = _find_renamed(last, thread.place(at).view)
    new = [message for message in (*arrival.answer, *arrival.new) if message.id not in renamed]
    return Stretch(last, new).view() if new else last


def changed_places(thread: Thread, start: int = 0) -> list[int]:
    """Return the indexes, from `start` on, of the requests before which existing messages changed or were removed, or
    the provider's count fell.

    An index equal to the number of requests means the buffer after the last record. O(requests from `start` on,
    compactions).
    """
    first = max(start, first_place(thread))
    end = len(thread.requests)
    announced = {compaction.before_request for compaction in thread.compactions}
    return [at for at in range(first, end + 1) if at in announced or _is_changed(thread, at)]


def _is_changed(thread: Thread, at: int) -> bool:
    if not 0 < at < len(thread.requests):
        return False
    former = thread.requests[at - 1]
    request = thread.requests[at]
    if request.edits or not is_prefix(former.view, request.view):
        return True
    return _reported(request) < _reported(former)


def _reported(request: Request) -> int:
    return request.usage.prompt if request.usage else 0
