"""A transcript as it was read: threads of requests, recorded compactions, and what could not be read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from inspector.core.buffer import EMPTY_VIEW, NOT_IN_FILE, Buffer, Prompt, View
from inspector.core.exchange import ExchangePlace, ExchangeSummary
from inspector.core.identity import UniqueIds
from inspector.core.message import Message
from inspector.core.outcome import Event
from inspector.core.quick import quick
from inspector.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the transcript that could not be read as written. Listed, never fatal."""

    line: int
    """1-based; 0 = the file as a whole."""
    what: str
    excerpt: str = ""
    file: str = ""
    """Name of the companion file; empty = the transcript itself."""


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """One model call: the buffer sent (as a view), what the provider reported, how it ended."""

    index: int
    view: View
    prompt: Prompt = NOT_IN_FILE
    usage: Usage | None = None
    model: str = ""
    time: str = ""
    finish: str = ""
    """The provider's stop reason, in its own word; empty if not recorded."""
    line: int = 0
    window: int | None = None
    """Tokens of the model's window, if the file records it for this call."""
    edits: Sequence[Mapping[str, Any]] = ()
    """Parts of the buffer that the provider cleared before the model read it, as it reports them (`applied_edits`)."""
    asked: View | None = None
    """The buffer that the client sent, if a proxy forwarded `view` instead."""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that a proxy predicted for the request while it held it."""
    elapsed_ms: float | None = None
    """Time from sending the request to the end of the answer; None if not recorded."""
    first_byte_ms: float | None = None
    """Time from sending the request to the beginning of the answer; None if not recorded."""

    def buffer(self) -> Buffer:
        """Return the buffer that was sent. O(messages)."""
        return Buffer(self.view.messages(), self.prompt)


BEGINS_LATE = "The file begins in the middle: what came before is not in it."
SERVER_SIDE = "server-side"
"""Trigger of a compaction that the provider made inside a call. Its cost is part of the call's."""
CompactionKind: TypeAlias = Literal["summary", "micro", "edit"]
"""summary: history replaced by a summary; micro: old tool results cleared; edit: single messages edited or removed."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Tokens that a client adds to the buffer after its compaction without recording them: files that it reads again,
    and its reminders. Measured over other sessions of the same client versions."""

    usual: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction that the transcript records, or that is inferred because the recorded figures require one."""

    before_request: int
    """Index of the first request sent after the compaction; the number of requests if none was."""
    trigger: str
    """auto, manual, micro, ... in the harness's own word; empty if not recorded."""
    kind: CompactionKind = "summary"
    tokens_before: int | None = None
    """Size before, as the harness records it; None if it does not."""
    tokens_after: int | None = None
    """Size after, as the harness records it: seldom the context of the next call (see `tokens.change_sizes`)."""
    summary: Message | None = None
    kept: int = 0
    """Number of earlier messages that stay word for word."""
    cleared: tuple[str, ...] = ()
    """Message ids whose content was cleared (micro) or edited."""
    line: int = 0
    time: str = ""
    attached: Attached | None = None
    """What this client re-attaches without recording it; None if it records everything that it sends."""
    evidence: str = ""
    """For an inferred compaction, why it must have happened; empty for a recorded one."""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that this program predicted for the buffer before the compaction of a held request or of
    its own run; None in other recordings. No provider ever counted that buffer."""
    unrecorded: int = 0
    """Tokens of removed content that is not in the file, as the client estimated them; 0 if the file holds all
    content."""

    @property
    def name(self) -> str:
        """Return the harness's own word for the compaction, else its kind."""
        return self.trigger or self.kind

    @property
    def is_readable(self) -> bool:
        """Can the replacement of the messages be read? A summary may be encrypted, or not in the file."""
        return self.kind != "summary" or (
            self.summary is not None and bool(self.summary.text.strip())
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the file as its own harness reads it, if it is more or other than a message that was sent."""

    kind: str
    """The kind of the record in the harness's own word."""
    id: str = ""
    message: Message | None = None
    """The record's content; None for metadata, and for content that is in the buffer unchanged."""
    counted: int | None = None
    """UTF-16 units that the harness counts for the record, if they differ from those of the message."""
    first_kept: str = ""
    """For a compaction, the id of the first record that it keeps."""


@dataclass(frozen=True, slots=True)
class Filed:
    """The records of a file beside the messages of a buffer, for a harness whose own rules use them."""

    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """By message id: the records between the previous message and this one, then the message's own record."""
    trailing: Sequence[Record] = ()
    """The records after the last message."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """By id of a recorded summary: how many of the messages that follow the summary were written before it."""


NOTHING_FILED = Filed()


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event that a tier sent while the session ran, as the transcript records it."""

    before_request: int
    """Index of the first request after the event; the number of requests if none was sent."""
    tier: str
    event: Event
    line: int = 0


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The running state of the policy that ran an agent, as the transcript records it."""

    policy: str
    """The policy's name (`Policy.reference`)."""
    data: Mapping[str, Any]
    """The state, as `Policy.dump` writes it."""
    believed: int | None = None
    """The policy's own count of the buffer that was sent with this state."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The requests of one agent: the main one (id `main`), or a sub-agent."""

    id: str
    title: str = ""
    model: str = ""
    requests: Sequence[Request] = ()
    messages: Sequence[Message] = ()
    """Every message of the thread in file order, each once, whether or not a buffer still holds it."""
    end: View = EMPTY_VIEW
    """The buffer after the last record: what the next call would send."""
    prompt: Prompt = NOT_IN_FILE
    compactions: Sequence[Compaction] = ()
    parent: str = ""
    """Id of the thread that started this one; empty for `main`."""
    parent_call: str = ""
    """Id of the tool call that started the thread; empty if not known."""
    events: Sequence[RecordedEvent] = ()
    """Events of tiers that fired while the agent ran, failed ones included. Only this program's journals hold any."""
    window: int | None = None
    """Tokens of the next call's window, if the transcript records it before the call is made."""
    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """As in `Filed`. Most messages have no entry."""
    trailing: Sequence[Record] = ()
    """Records after the last message of `end`."""
    client: str = ""
    """The program that made the calls, if one transcript holds the calls of several programs."""
    keeps_instructions: bool = False
    """True if a proxy forwards the thread's requests. A policy then leaves the client's instructions among the messages
    in their places."""
    states: Sequence[PolicyState] = ()
    """The policy's state before each request, then after the last record. Only this program's journals hold any."""
    begins_late: bool = False
    """True if the file begins in the middle: messages were sent before its first record."""
    typed: Sequence[View] = ()
    """The user's messages up to each request, if the file records nothing else of the buffers; else empty."""

    def compactions_at(self, at: int) -> list[Compaction]:
        """Return the recorded compactions right before request `at`, in order."""
        return [compaction for compaction in self.compactions if compaction.before_request == at]

    def place(self, at: int | None) -> Request:
        """Return request `at`; for None, or an index after the last request, the request that would be sent next."""
        count = len(self.requests)
        if at is None or at >= count:
            return Request(count, self.end, self.prompt)
        return self.requests[at]


@dataclass(frozen=True, slots=True)
class SideCall:
    """A call beside the conversation, which is no request: a title, a token count, a summary, a refused call."""

    kind: str
    """In a word or two: title, quota probe, token count, router, compaction, prewarm, models, refused, ..."""
    thread: str = ""
    """Id of the thread that the call was made for; empty if not known."""
    before_request: int = 0
    """Index of that thread's first request after the call; the number of requests if there is none."""
    made: int | None = None
    """For a call that compacted: index of the resulting compaction in the thread."""
    what: str = ""
    """The address that was called, or why the call was refused."""
    model: str = ""
    usage: Usage | None = None
    status: int | None = None
    """HTTP status; None if there is no answer (yet)."""
    line: int = 0
    time: str = ""


SignKind: TypeAlias = Literal["restart", "tools", "settings"]


@dataclass(frozen=True, slots=True)
class Sign:
    """A recorded event after which a client may send other requests: a restart, or a change of tools or settings."""

    kind: SignKind
    what: str
    """A short sentence without its full stop."""
    line: int
    thread: str = "main"


@dataclass(frozen=True, slots=True)
class HeldSession:
    """One session of a file that holds many: a sample, a task, a trial, a file in an archive."""

    id: str
    title: str = ""
    path: str = ""
    """The path that opens the session: `FILE#ID`, or a separate file; empty if only the reader knows the session yet.
    """


@dataclass(frozen=True, slots=True)
class SharedWork:
    """The sender's work on a session that a bundle holds beside the session itself."""

    note: str = ""
    """The sender's comment."""
    pins: tuple[str, ...] = ()
    steps: tuple[Any, ...] = ()
    """Trees of steps, each a document as saved steps are."""


@dataclass(frozen=True, slots=True)
class Session:
    """Everything a transcript holds."""

    format: str
    threads: tuple[Thread, ...] = ()
    problems: Sequence[Problem] = ()
    path: str = ""
    client: str = ""
    """The program that wrote the transcript, with its version, as far as recorded."""
    policy: str = ""
    """The policy that the agent ran with. Only this program's journals record it."""
    id: str = ""
    notes: tuple[str, ...] = field(default=())
    """Sentences to show to the user: the file begins in the middle, a thread was redacted."""
    side_calls: Sequence[SideCall] = ()
    """Calls that are requests of no thread, in the order of the file."""
    signs: Sequence[Sign] = ()
    """Recorded restarts and changes of tools or settings, in the order of the file."""
    held: Sequence[HeldSession] = ()
    """All sessions of a file or folder that holds several, including this one; empty if it holds only one."""
    exchanges: Sequence[ExchangeSummary] = ()
    """The exchanges that passed a proxy, in order. Only recordings of a proxy and other captures hold any."""
    shared: SharedWork | None = None
    """Set for a session that was read from a bundle."""

    def __post_init__(self) -> None:
        """Make thread ids unique: a thread with the id of an earlier one gets a number added to its id."""
        if len({thread.id for thread in self.threads}) < len(self.threads):
            object.__setattr__(self, "threads", _with_own_ids(self.threads))

    @property
    def shared_pins(self) -> tuple[str, ...]:
        """Return the pins that the sender of a bundle set."""
        return self.shared.pins if self.shared is not None else ()

    @property
    def begins_late(self) -> bool:
        """Does any thread begin in the middle?"""
        return any(thread.begins_late for thread in self.threads)

    @property
    def main(self) -> Thread:
        """Return the main thread; an empty thread if the file has none."""
        return self.threads[0] if self.threads else Thread("main")

    def thread(self, id: str) -> Thread:  # noqa: A002
        """Return the thread with this id. Raises KeyError."""
        for thread in self.threads:
            if thread.id == id:
                return thread
        raise KeyError(id)


def _with_own_ids(threads: Iterable[Thread]) -> tuple[Thread, ...]:
    ids = UniqueIds()
    return tuple(replace(thread, id=ids.claim(thread.id)) for thread in threads)


def exchange_places(session: Session) -> Mapping[int, ExchangePlace]:
    """Return the thread and request, or the side call, of each exchange, by the line of its request. O(requests)."""
    subs = {thread.id for thread in session.threads if thread.parent}
    places = {
        exchange.line: ExchangePlace(
            exchange.thread, kind=exchange.kind, is_sub=exchange.thread in subs
        )
        for exchange in session.side_calls
    }
    for thread in session.threads:
        is_sub = thread.id in subs
        places.update(
            (request.line, ExchangePlace(thread.id, request=request.index, is_sub=is_sub))
            for request in thread.requests
        )
    return places


def additions(
    requests: Sequence[Request], seen: set[str] | None = None, former: Request | None = None
) -> Iterator[tuple[Message, ...]]:
    """Yield the messages that each request adds, each message once, without recorded summaries.

    O(messages) in total, plus O(buffer) for each request at which a stretch begins.

    Args:
        requests: The requests, in order.
        seen: Ids of the messages of earlier requests. The ids of the yielded messages are added to it.
        former: The request before the first of them.
    """
    seen = set() if seen is None else seen
    last = former.view if former is not None else None
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


def first_place(thread: Thread) -> int:
    """Return the index of the first request whose earlier buffer is known.

    It is 1, or 0 if a proxy changed the client's first request.
    """
    return 0 if thread.requests and thread.requests[0].asked is not None else 1


def compaction_count(thread: Thread) -> int:
    """Count the compactions that a thread records after its beginning.

    Several compactions of one name before the same request (messages edited one by one) count as one. A compaction
    before the first request is the beginning of the file, and does not count.
    """
    first = first_place(thread)
    return len(
        {
            (compaction.before_request, compaction.name)
            for compaction in thread.compactions
            if compaction.before_request >= first
        }
    )


def seconds_between(before: str, now: str) -> float | None:
    """Return the seconds between two recorded times, at least 0; None if one is missing or they cannot be compared."""
    try:
        return max(
            0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(before)).total_seconds()
        )
    except (ValueError, TypeError):
        return None
