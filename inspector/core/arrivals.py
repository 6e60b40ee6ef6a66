"""What each request brings, and the thread as it stood right before its buffer was changed."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inspector.core.buffer import Stretch, View, is_prefix, shared
from inspector.core.changes import aligned
from inspector.core.message import Message
from inspector.core.session import Thread

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
    return tuple(_arrivals(thread))


def _arrivals(thread: Thread) -> Iterator[Arrival]:
    order, place = thread.messages, {message.id: at for at, message in enumerate(thread.messages)}
    made = [one for one in thread.compactions if one.before_request]
    compacted_at = {one.before_request for one in made}
    rewritten = {one.before_request for one in made if one.kind == "summary"}
    known = set[str]()
    upto = -1  # place of the last message that came
    last: View | None = None
    for index, view in enumerate([*(request.view for request in thread.requests), thread.end]):
        compacted = index in compacted_at
        grown = last is not None and is_prefix(last, view)
        seen = view.tail(len(last)) if grown and last is not None else view.messages()
        fresh = [message for message in seen if message.id not in known]
        known.update(message.id for message in fresh)
        if index in rewritten:  # what of the recording came before the summary was never sent
            places = [place[message.id] for message in fresh if message.id in place]
            border = min(places) if places else upto + 1 + _one_answer(order[upto + 1 :])
            swallowed = [message for message in order[upto + 1 : border] if message.id not in known]
            known.update(message.id for message in swallowed)
            fresh = [*swallowed, *(message for message in fresh if not message.mark)]
        came = [message for message in fresh if not message.summary] if index else fresh
        upto = max([upto, *(place.get(message.id, -1) for message in fresh)])
        swapped, gone = ({}, frozenset[str]()) if grown or compacted or last is None else _edits(last, seen)
        ours = [message.role in _OURS for message in came]
        at = [*ours, False].index(False) if index else 0
        yield Arrival(tuple(came[:at]), tuple(came[at:]), swapped, gone, compacted, grown or last is None)
        last = view


def _renamed(before: View, after: View) -> frozenset[str]:
    """Return the ids after of messages that stood in the buffer before under other ids: they did not arrive."""
    if after.rewritten_since(before) is not None:
        return frozenset()
    same = shared(before, after)
    old, new = before.tail(same), after.tail(same)
    places = zip(old, aligned(old, new), strict=True)
    return frozenset(new[place].id for message, place in places if place >= 0 and new[place].id != message.id)


def _one_answer(messages: Sequence[Message]) -> int:
    """Length of one answer with its results: what comes before the next answer or anybody else's word."""
    results = False
    for at, message in enumerate(messages):
        if message.role not in _OURS or (results and message.role == "assistant"):
            return at
        results = results or message.role == "tool"
    return len(messages)


def _edits(last: View, now: Sequence[Message]) -> tuple[dict[str, Message], frozenset[str]]:
    standing = {message.id: message for message in now}
    before = last.messages()
    swapped = {m.id: new for m in before if (new := standing.get(m.id)) is not None and new is not m and new != m}
    return swapped, frozenset(message.id for message in before if message.id not in standing)


def thread_before(thread: Thread, at: int, arrival: Arrival) -> Thread:
    """The thread as it stood right before its buffer was changed in front of request `at`."""
    request = thread.requests[at] if at < len(thread.requests) else None
    if request is not None and request.asked is not None and not (at and request.edits):
        end = request.asked  # the client sends again what the provider had cleared before
    else:
        standing = thread.requests[at - 1].view
        is_silent = not (arrival.grown or arrival.compacted)
        known = _renamed(standing, thread.place(at).view) if is_silent else frozenset()
        came = [message for message in (*arrival.answer, *arrival.new) if message.id not in known]
        end = Stretch(standing, came).view() if came else standing
    last = thread.requests[at - 1] if at else request
    earlier = bisect_left(thread.compactions, at, key=lambda one: one.before_request)
    return replace(
        thread,
        requests=thread.requests[:at],
        end=end,
        prompt=last.prompt if last else thread.prompt,
        model=(request.model if request else "") or thread.model,
        compactions=thread.compactions[:earlier],
        trailing=(),
    )
