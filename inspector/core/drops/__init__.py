"""Find silent drops: requests at which a thread's buffer shrank or changed other than by appending.

Each drop has a kind and its evidence: the fates of the messages, the records of the file, the provider's counts. The
functions are pure and work for any format. O(messages): buffers that only grow are not compared, and other buffers
are compared from their first difference on.
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
    """One change of a thread's buffer other than by appending, with the evidence."""

    thread: str
    request: int
    """Index of the first request that shows the change."""
    kind: DropKind
    loss: bool
    """True if part of the conversation is no longer sent to the model."""
    why: str
    """The explanation, one sentence."""
    marker: str
    """The evidence: a record, a placeholder, the provider's statement or the token counts."""
    fates: Mapping[str, FateName] = field(default_factory=dict)
    """Fate by id of each message of the previous buffer that changed or was removed."""
    kept: int = 0
    """Number of messages of the previous buffer that are unchanged."""
    parent_tokens: int | None = None
    """For the start of a sub-agent: the provider's last token count of the parent's buffer; None if not reported."""
    compaction: int | None = None
    """Index of the recorded compaction; None if the file records none for this change."""
    line: int = 0
    time: str = ""

    @property
    def lost(self) -> tuple[str, ...]:
        """Ids of the removed messages."""
        return tuple(id_ for id_, fate in self.fates.items() if fate in GONE)

    @property
    def changed(self) -> tuple[str, ...]:
        """Ids of the messages whose content changed."""
        return tuple(id_ for id_, fate in self.fates.items() if fate not in GONE)


GONE: tuple[FateName, ...] = ("summarised", "dropped")
"""Fates of messages that are no longer in the buffer after the change."""


@dataclass(frozen=True, slots=True)
class Drops:
    """The drops of one thread up to its last request that was examined."""

    thread: str
    found: tuple[Drop, ...] = ()
    last: tuple[Request, ...] = ()
    """The last two requests that were examined; fewer if there were fewer."""
    count: int = 0
    compactions: tuple[Compaction, ...] = ()


def session_drops(session: Session) -> tuple[Drop, ...]:
    """Return the silent drops of every thread, in thread order."""
    parents = _Parents(session)
    return tuple(
        drop
        for thread in session.threads
        for drop in _known_drops(thread, parents, former=None).found
    )


def thread_drops(
    thread: Thread, session: Session | None = None, former: Drops | None = None
) -> Drops:
    """Return the drops of one thread. The results of the last few threads are cached.

    Args:
        thread: The thread of one agent.
        session: The session of the thread, in which the parent of a sub-agent is found.
        former: The drops that were found when the thread was shorter; None to search all requests.
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
    return Drops(
        thread.id,
        found=tuple(drops),
        last=last,
        count=len(requests),
        compactions=tuple(thread.compactions),
    )


def _count_settled(former: Drops, thread: Thread) -> int:
    """Return how many requests at the beginning are unchanged since the thread was shorter, with their compactions.

    The last request of the shorter thread may have changed, because it may have been in progress.
    """
    requests = thread.requests
    if former.thread != thread.id or former.count > len(requests):
        return 0
    settled = _count_same(former, requests)
    old = [compaction for compaction in former.compactions if compaction.before_request < settled]
    new = [compaction for compaction in thread.compactions if compaction.before_request < settled]
    return settled if old == new else 0


def _count_same(former: Drops, requests: Sequence[Request]) -> int:
    """Return the number of requests up to the newest of the last known ones that is still the same; 0 if none is."""
    count = former.count
    for request in reversed(former.last):
        if count > 0 and requests[count - 1] is request:
            return count
        count -= 1
    return 0


_Announced = tuple[int, Compaction]


def _index_compactions(compactions: Sequence[Compaction]) -> Mapping[int, _Announced]:
    """Return compactions by request. Of several before one request, a summary takes precedence over a clean-up."""
    compaction_at: dict[int, _Announced] = {}
    for number, compaction in enumerate(compactions):
        if compaction.kind == "summary" or compaction.before_request not in compaction_at:
            compaction_at[compaction.before_request] = number, compaction
    return compaction_at


def silent_losses(thread: Thread) -> dict[int, Drop]:
    """Return the changes with a loss that no record announces, by the index of the request that shows them."""
    return {
        drop.request: drop
        for drop in thread_drops(thread).found
        if drop.loss and drop.compaction is None
    }


class _Parents:
    """Token counts of parent threads at the start of their sub-agents. Each parent is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._threads: dict[str, Thread] | None = None
        self._counted: dict[str, tuple[list[str], list[int | None]]] = {}
        """By thread id: for each request, the latest time so far and the provider's last prompt count so far."""

    def count_before(self, name: str, first: Request) -> int | None:
        """Return the provider's last prompt count, in tokens, of thread `name` before a sub-agent's first request."""
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
    """Describe the start of a sub-agent as a drop: on the wire it looks as if the conversation had shrunk."""
    if not thread.parent or not thread.requests:
        return []
    first = thread.requests[0]
    why = f"A sub-agent of {thread.parent} begins with a new buffer; the parent's buffer is unchanged."
    marker = f"call {thread.parent_call}" if thread.parent_call else "a new thread"
    parent_tokens = parents.count_before(thread.parent, first) if parents else None
    return [
        Drop(
            thread.id,
            request=0,
            kind="sub-agent",
            loss=False,
            why=why,
            marker=marker,
            parent_tokens=parent_tokens,
            line=first.line,
            time=first.time,
        )
    ]


class _ChangeFinder:
    """Finds the changes of one thread. Arrivals between requests are computed only when a change is found."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._announced = _index_compactions(thread.compactions)
        self._arrivals: Sequence[Arrival] = ()

    def find_at_start(self) -> list[Drop]:
        """Return the change of the first request, if a proxy forwarded another buffer than the client sent."""
        first = next(iter(self._thread.requests), None)
        if first is None or first.asked is None or 0 not in self._announced:
            return []
        drop = self.find_between(first, first)
        return [drop] if drop is not None else []

    def find_between(self, former: Request, request: Request) -> Drop | None:
        """Return the change between two consecutive requests; None if the buffer only grew."""
        number: int | None = None
        is_summary = False
        announced = self._announced.get(request.index)
        if announced is not None:
            number, compaction = announced
            is_summary = compaction.kind == "summary"
            cause: Cause | None = explain_record(compaction)
        else:
            cause = _explain_silent(former, request)
        if cause is None:
            return None
        before = thread_before(self._thread, request.index, self._arrival(request.index)).end
        fates = self._fates_at(former, request, before, summarised=is_summary)
        changed = {id_: fate for id_, fate in fates.items() if fate != "kept"}
        return Drop(
            self._thread.id,
            request.index,
            *cause,
            changed,
            len(before) - len(changed),
            compaction=number,
            line=request.line,
            time=request.time,
        )

    def _fates_at(
        self, former: Request, request: Request, before: View, summarised: bool
    ) -> Mapping[str, FateName]:
        """Return fates by message id. If only single messages were rewritten, only those are compared."""
        rewritten = None
        if before.length >= former.view.length:
            rewritten = request.view.rewritten_since(former.view)
        if rewritten is None or request.asked is not None:
            fates, _ = change_fates(before, request.view, summarised)
            return fates
        in_order = [rewritten[place] for place in sorted(rewritten)]
        old = [message for message, _ in in_order]
        new = [message for _, message in in_order]
        old += before.tail(former.view.length)
        new += request.view.tail(former.view.length)
        fates, _ = _find_fates(old, new, summarised)
        return fates

    def _arrival(self, at: int) -> Arrival:
        self._arrivals = self._arrivals or arrivals(self._thread)
        return self._arrivals[at]


def _explain_silent(former: Request, request: Request) -> Cause | None:
    """Return the cause of a change that no record announces; None if nothing changed."""
    same, changes = find_parting(former.view, request.view)
    cause = explain_changes(changes, same, former, request) if changes is not _NOTHING else None
    if cause is None or (cause.kind == "micro-compaction" and request.edits):
        cause = explain_counts(former, request) or cause
    return cause


_FATES: Mapping[Change, FateName] = {"cleared": "cleared", "shortened": "cut"}
"""Fate of a message by the kind of its change; any other change means that the message was replaced."""


def change_fates(
    before: View, after: View, summarised: bool
) -> tuple[dict[str, FateName], dict[str, str]]:
    """Find the fate of every message of the previous buffer. O(messages after the common beginning).

    Args:
        before: The buffer before the compaction.
        after: The buffer after the compaction.
        summarised: True if a summary replaced the removed messages, even if only the provider can read it.

    Returns:
        (fate by id of the messages after the common beginning, new id by old id of messages whose id changed).
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
            gone.append(message.id)  # a new summary is not an edited old summary
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
    """Return the fate of a message that is still in the buffer; None if the message is unchanged."""
    change = classify_change(message, later)
    if change is not None:
        return _FATES.get(change, "replaced")
    return "kept" if later != message else None


def drop_sizes(thread: Thread, pressures: Pressures, drop: Drop) -> ChangeSizes:
    """Return the sizes of the thread's buffer before and after a change.

    For the start of a sub-agent, the size before is that of its parent's buffer, which does not change.
    """
    sizes = change_sizes(thread, pressures, drop.request)
    if drop.kind != "sub-agent":
        return sizes
    if drop.parent_tokens is None:
        return replace(sizes, before=UNKNOWN_SIZE)
    return replace(sizes, before=BufferSize(drop.parent_tokens, "reported"))


def find_parting(former: View, view: View) -> tuple[int, MessageChanges]:
    """Return (number of messages before the first change, the changes from there on)."""
    rewritten = view.rewritten_since(former)
    if rewritten is None:
        same = shared(former, view)
        if same == former.length:
            return same, _NOTHING
        return same, compare_messages(former.tail(same), view.tail(same))
    if not rewritten:
        return former.length, _NOTHING
    in_order = [rewritten[place] for place in sorted(rewritten)]
    old = [message for message, _ in in_order]
    new = [message for _, message in in_order]
    changes = compare_messages(old, [*new, *view.tail(former.length)])
    first = min(rewritten)
    unchanged_count = former.length - first - len(rewritten)  # among the rewritten messages
    return first, replace(changes, kept=changes.kept + unchanged_count)


_NOTHING = MessageChanges((), faded=(), changed=(), kept=0, fresh=())
