"""Silent drops: the requests at which a thread's buffer shrank or changed other than by appending, their kind, the
evidence.

Pure, for a session of any format, O(messages): buffers that only grow are not compared, and others only from their
first difference on. Evidence: the fates of the messages, the records, the provider's counts.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from inspector.core.arrivals import Arrival, arrivals, thread_before
from inspector.core.buffer import View, shared
from inspector.core.changes import (
    Change,
    MessageChanges,
    align_messages,
    classify_change,
    compare_messages,
)
from inspector.core.drops.causes import (
    Cause,
    DropKind,
    explain_changes,
    explain_counts,
    explain_record,
)
from inspector.core.heavy import KnownByThread, checkpoint
from inspector.core.message import Message
from inspector.core.outcome import FateName
from inspector.core.session import Compaction, Request, Session, Thread
from inspector.core.tokens.change_sizes import UNKNOWN_SIZE, BufferSize, ChangeSizes, change_sizes
from inspector.core.tokens.pressure import Pressures


@dataclass(frozen=True, slots=True)
class Drop:
    """One change, with the evidence."""

    thread: str
    request: int
    """Index of the first request that shows it."""
    kind: DropKind
    loss: bool
    """Does the model read less of what was said?"""
    why: str
    """A sentence."""
    marker: str
    """What tells so: a record, a placeholder, the provider's own word, the counts."""
    fates: Mapping[str, FateName] = field(default_factory=dict)
    """Fate by id, of the messages of the buffer before that did not stay as they were."""
    kept: int = 0
    """Messages of the buffer before that stayed word for word."""
    parent_tokens: int | None = None
    """Of a sub-agent that begins: what the provider counted last of its parent's buffer."""
    compaction: int | None = None
    """Index of the recorded compaction."""
    line: int = 0
    time: str = ""

    @property
    def lost(self) -> tuple[str, ...]:
        """Ids of the messages that are gone."""
        return tuple(id_ for id_, fate in self.fates.items() if fate in GONE)

    @property
    def changed(self) -> tuple[str, ...]:
        """Ids of the messages whose content changed."""
        return tuple(id_ for id_, fate in self.fates.items() if fate not in GONE)


GONE: tuple[FateName, ...] = ("summarised", "dropped")
"""Fates of messages that are not in the buffer after the change."""


@dataclass(frozen=True, slots=True)
class Drops:
    """Of one thread as far as it was looked at."""

    thread: str
    found: tuple[Drop, ...] = ()
    last: tuple[Request, ...] = ()
    """The last two requests that were looked at, as far as there were any."""
    count: int = 0
    compactions: tuple[Compaction, ...] = ()


def session_drops(session: Session) -> tuple[Drop, ...]:
    """Of all threads, in their order."""
    parents = _Parents(session)
    return tuple(
        drop for thread in session.threads for drop in _known_drops(thread, parents, None).found
    )


def thread_drops(
    thread: Thread, session: Session | None = None, former: Drops | None = None
) -> Drops:
    """Return the drops of one thread; remembered for the last few threads.

    Args:
        thread: What was recorded of one agent.
        session: Knows its parent.
        former: The drops when the thread was shorter.
    """
    return _known_drops(thread, _Parents(session) if session else None, former)


_KNOWN = KnownByThread[Drops]()


def _known_drops(thread: Thread, parents: "_Parents | None", former: Drops | None) -> Drops:
    name = "born of a parent" if thread.parent and parents else ""
    return _KNOWN.get(thread, name, lambda shorter: _find_drops(thread, parents, former or shorter))


def _find_drops(thread: Thread, parents: "_Parents | None", former: Drops | None) -> Drops:
    requests = thread.requests
    start = _count_settled(former, thread) if former is not None else 0
    finder = _ChangeFinder(thread)
    if former is not None and start:
        drops = [drop for drop in former.found if drop.request < start]
    else:
        drops = _describe_birth(thread, parents) + finder.find_at_start()
    for at in range(max(1, start), len(requests)):
        checkpoint(at, len(requests))
        drop = finder.find_between(requests[at - 1], requests[at])
        if drop is not None:
            drops.append(drop)
    last = tuple(requests[max(0, len(requests) - 2) :])
    return Drops(thread.id, tuple(drops), last, len(requests), tuple(thread.compactions))


def _count_settled(former: Drops, thread: Thread) -> int:
    """Return how many of the first requests are as they were when the thread was shorter, with all that is recorded in
    front of them. The last one may have changed meanwhile: it may have been on its way."""
    requests = thread.requests
    if former.thread != thread.id or not former.count <= len(requests):
        return 0
    settled = former.count
    for request in reversed(former.last):
        if settled > 0 and requests[settled - 1] is request:
            break
        settled -= 1
    else:
        return 0
    old = [compaction for compaction in former.compactions if compaction.before_request < settled]
    new = [compaction for compaction in thread.compactions if compaction.before_request < settled]
    return settled if old == new else 0


_Announced = tuple[int, Compaction]


def _index_compactions(compactions: Sequence[Compaction]) -> Mapping[int, _Announced]:
    """Return compactions by request: of several in front of one, a summary says more than a clean-up."""
    compaction_at: dict[int, _Announced] = {}
    for n, compaction in enumerate(compactions):
        if compaction.kind == "summary" or compaction.before_request not in compaction_at:
            compaction_at[compaction.before_request] = n, compaction
    return compaction_at


def silent_losses(thread: Thread) -> dict[int, Drop]:
    """Return the changes that took something and that no record announces, by the request that shows them."""
    return {
        drop.request: drop
        for drop in thread_drops(thread).found
        if drop.loss and drop.compaction is None
    }


class _Parents:
    """What threads were counted at when a sub-agent of theirs began: each is gone through once, for all of them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._threads: dict[str, Thread] | None = None
        self._counted: dict[str, tuple[list[str], list[int | None]]] = {}
        """By request: the latest time so far, and what was counted last."""

    def count_before(self, name: str, first: Request) -> int | None:
        """Return what the provider counted for the thread's last request before the sub-agent's first one."""
        if self._threads is None:
            self._threads = {thread.id: thread for thread in reversed(self._session.threads)}
        if name not in self._counted:
            requests = self._threads[name].requests if name in self._threads else ()
            reported: Iterable[int | None] = (
                request.usage.prompt if request.usage else None for request in requests
            )
            counts: Iterable[int | None] = accumulate(
                reported, lambda last, count: last if count is None else count
            )
            self._counted[name] = (
                list(accumulate((request.time for request in requests), max)),
                list(counts),
            )
        latest, prompts = self._counted[name]
        at = bisect_right(latest, first.time) if first.time else len(latest)
        return prompts[at - 1] if at else None


def _describe_birth(thread: Thread, parents: _Parents | None) -> list[Drop]:
    """Return the beginning of a sub-agent's buffer: on the wire it looks as if the conversation had shrunk."""
    if not thread.parent or not thread.requests:
        return []
    first = thread.requests[0]
    why = f"A sub-agent of {thread.parent} begins with a new buffer; the parent's continues unchanged."
    marker = f"call {thread.parent_call}" if thread.parent_call else "a new thread"
    parent_tokens = parents.count_before(thread.parent, first) if parents else None
    return [
        Drop(
            thread.id,
            0,
            "sub-agent",
            False,
            why,
            marker,
            parent_tokens=parent_tokens,
            line=first.line,
            time=first.time,
        )
    ]


class _ChangeFinder:
    """Finds the changes of one thread. What arrived between requests is worked out when a change is found."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._announced = _index_compactions(thread.compactions)
        self._arrivals: Sequence[Arrival] = ()

    def find_at_start(self) -> list[Drop]:
        """Return the change in front of the first request, where it was cut at the proxy already."""
        first = next(iter(self._thread.requests), None)
        if first is None or first.asked is None or 0 not in self._announced:
            return []
        drop = self.find_between(first, first)
        return [drop] if drop is not None else []

    def find_between(self, former: Request, request: Request) -> Drop | None:
        """Return what happened between two requests that follow one another; None where the buffer only grew."""
        announced = self._announced.get(request.index)
        cause = (
            explain_record(announced[1])
            if announced is not None
            else _explain_silent(former, request)
        )
        if cause is None:
            return None
        before = thread_before(self._thread, request.index, self._arrival(request.index)).end
        fates = self._fates_at(
            former, request, before, announced is not None and announced[1].kind == "summary"
        )
        changed = {id_: fate for id_, fate in fates.items() if fate != "kept"}
        return Drop(
            self._thread.id,
            request.index,
            *cause,
            changed,
            len(before) - len(changed),
            compaction=announced[0] if announced else None,
            line=request.line,
            time=request.time,
        )

    def _fates_at(
        self, former: Request, request: Request, before: View, summarised: bool
    ) -> Mapping[str, FateName]:
        """Fates by id. Where only single messages were rewritten, those alone are compared."""
        rewritten = (
            request.view.rewritten_since(former.view)
            if before.length >= former.view.length
            else None
        )
        if rewritten is None or request.asked is not None:
            return change_fates(before, request.view, summarised)[0]
        places = sorted(rewritten)
        old = [*(rewritten[at][0] for at in places), *before.tail(former.view.length)]
        new = [*(rewritten[at][1] for at in places), *request.view.tail(former.view.length)]
        return _find_fates(old, new, summarised)[0]

    def _arrival(self, at: int) -> Arrival:
        self._arrivals = self._arrivals or arrivals(self._thread)
        return self._arrivals[at]


def _explain_silent(former: Request, request: Request) -> Cause | None:
    """Return the cause of a change without a record; None if nothing changed."""
    same, changes = find_parting(former.view, request.view)
    cause = explain_changes(changes, same, former, request) if changes is not _NOTHING else None
    if cause is None or (cause.kind == "micro-compaction" and request.edits):
        cause = explain_counts(former, request) or cause
    return cause


_FATES: Mapping[Change, FateName] = {"cleared": "cleared", "shortened": "cut"}
"""Fates of messages by what changed in them; all other changes replace them."""


def change_fates(
    before: View, after: View, summarised: bool
) -> tuple[dict[str, FateName], dict[str, str]]:
    """Find the fate of every message of the buffer before. O(messages after the common beginning).

    Args:
        before: The buffer that was compacted.
        after: The buffer that was sent instead.
        summarised: Is there a summary of the removed messages, even if only the provider can read it?

    Returns:
        Fate by id of the messages after the common beginning, and id after by id before of messages whose id changed.
    """
    same = shared(before, after)
    return _find_fates(before.tail(same), after.tail(same), summarised)


def _find_fates(
    old: Sequence[Message], new: Sequence[Message], summarised: bool
) -> tuple[dict[str, FateName], dict[str, str]]:
    changed: dict[str, FateName] = {}
    renamed: dict[str, str] = {}
    gone: list[str] = []
    for message, place in zip(old, align_messages(old, new), strict=True):
        later = new[place] if place >= 0 else None
        if later is None or (later.id != message.id and message.summary):
            gone.append(message.id)  # a new summary is not the old one, edited
            continue
        if later.id != message.id:
            renamed[message.id] = later.id
        fate = _find_fate(message, later)
        if fate is not None:
            changed[message.id] = fate
    fate_of_gone: FateName = "summarised" if summarised or _has_new_summary(old, new) else "dropped"
    return {**changed, **dict.fromkeys(gone, fate_of_gone)}, renamed


def _has_new_summary(old: Sequence[Message], new: Sequence[Message]) -> bool:
    old_ids = {message.id for message in old}
    return any(message.summary and message.id not in old_ids for message in new)


def _find_fate(message: Message, later: Message) -> FateName | None:
    """Return the fate of a message that is still there; None if it is the same in all."""
    change = classify_change(message, later)
    if change is not None:
        return _FATES.get(change, "replaced")
    return "kept" if later != message else None


def drop_sizes(thread: Thread, pressures: Pressures, drop: Drop) -> ChangeSizes:
    """Return the sizes around a change of the thread's buffer.

    Where a sub-agent begins, the size before is that of its parent's buffer, which does not change.
    """
    sizes = change_sizes(thread, pressures, drop.request)
    if drop.kind != "sub-agent":
        return sizes
    return replace(
        sizes,
        before=UNKNOWN_SIZE
        if drop.parent_tokens is None
        else BufferSize(drop.parent_tokens, "reported"),
    )


def find_parting(former: View, view: View) -> tuple[int, MessageChanges]:
    """Return how many messages come before the first change, and what changed after it."""
    rewritten = view.rewritten_since(former)
    if rewritten is None:
        same = shared(former, view)
        return same, compare_messages(
            former.tail(same), view.tail(same)
        ) if same < former.length else _NOTHING
    if not rewritten:
        return former.length, _NOTHING
    places = sorted(rewritten)
    old = [rewritten[at][0] for at in places]
    new = [rewritten[at][1] for at in places]
    changes = compare_messages(old, [*new, *view.tail(former.length)])
    return places[0], replace(changes, kept=changes.kept + former.length - places[0] - len(places))


_NOTHING = MessageChanges((), (), (), 0, ())
