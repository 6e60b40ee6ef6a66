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
    """Something in the transcript that could not be read as it stands. Listed, never fatal."""

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
    """stop reason in the provider's own word, empty where none was recorded."""
    line: int = 0
    window: int | None = None
    """The model's window, where the file records it for this call."""
    edits: Sequence[Mapping[str, Any]] = ()
    """What the provider says it cleared of the buffer before the model read it, in its own words (`applied_edits`)."""
    asked: View | None = None
    """What the client sent, where a proxy forwarded `view` instead."""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that a proxy predicted while it held the request."""
    elapsed_ms: float | None = None
    """From sending it to the end of the answer; None where that is not recorded."""
    first_byte_ms: float | None = None
    """From sending it to the beginning of the answer; None where that is not recorded."""

    def buffer(self) -> Buffer:
        """The buffer that was sent, laid out. O(messages)."""
        return Buffer(self.view.messages(), self.prompt)


BEGINS_LATE = "The file begins in the middle: what came before is not in it."
SERVER_SIDE = "server-side"
"""Trigger of a compaction that the provider made inside a call, whose price that call's is."""
CompactionKind: TypeAlias = Literal["summary", "micro", "edit"]
"""summary: history replaced by a summary; micro: old tool results cleared; edit: single messages edited or removed."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Tokens that a client puts into the buffer after its compaction and does not record: files that it reads again,
    its reminders. As measured over sessions of that client's versions, never of this one."""

    usual: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction that the transcript records, or one that its figures cannot be explained without."""

    before_request: int
    """Index of the first request that was sent after it; == number of requests where none was."""
    trigger: str
    """auto, manual, micro, ... in the harness's own word; empty where it does not say."""
    kind: CompactionKind = "summary"
    tokens_before: int | None = None
    """As the harness records it; None where it does not."""
    tokens_after: int | None = None
    """As the harness records it: seldom the context of the next call (see `tokens.change_sizes`)."""
    summary: Message | None = None
    kept: int = 0
    """Messages from before that stay word for word."""
    cleared: tuple[str, ...] = ()
    """Message ids whose content was cleared (micro) or edited."""
    line: int = 0
    time: str = ""
    attached: Attached | None = None
    """What this client attaches again without recording it; None if it records all that it sends."""
    evidence: str = ""
    """Why it must have happened, where the file does not record it and we infer it; empty where it does."""
    predicted: tuple[int, int, int] | None = None
    """(tokens, least, most) that we predicted of the buffer that was cut, where our own recording holds them: a held
    request, a tier of a run. No provider ever counted that buffer."""
    unrecorded: int = 0
    """Tokens of content that it removed and the file does not hold, as the client estimated them; 0 if the file holds
    all of it."""

    @property
    def name(self) -> str:
        """The harness's own word for it, else its kind."""
        return self.trigger or self.kind

    @property
    def is_readable(self) -> bool:
        """Is what came in place of the messages there to be read? A summary may be encrypted, or not in the file."""
        return self.kind != "summary" or (
            self.summary is not None and bool(self.summary.text.strip())
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the file as its own harness looks at it, where that is not simply a message that was sent."""

    kind: str
    """In the harness's own word."""
    id: str = ""
    message: Message | None = None
    """Its content; None for metadata, and for content that is in the buffer unchanged."""
    counted: int | None = None
    """UTF-16 units that the harness counts for it, where these are not those of the message."""
    first_kept: str = ""
    """For a compaction: id of the first record that stays."""


@dataclass(frozen=True, slots=True)
class Filed:
    """What a file says about a buffer beside its messages, for a harness whose own rules look at it."""

    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """By message id: the records between it and the message before it, and then its own."""
    trailing: Sequence[Record] = ()
    """The records after the last message."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """By id of a recorded summary: how many messages after it are older than it."""


NOTHING_FILED = Filed()


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event that a tier sent while the session ran, as the transcript records it."""

    before_request: int
    """Index of the first request after it; == number of requests where none was sent."""
    tier: str
    event: Event
    line: int = 0


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The running state of the policy that ran an agent, as the transcript records it."""

    policy: str
    """What names the policy (`Policy.reference`)."""
    data: Mapping[str, Any]
    """As `Policy.dump` writes it."""
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
    """Thread that started this one; empty for `main`."""
    parent_call: str = ""
    """Id of the tool call that started it, where known."""
    events: Sequence[RecordedEvent] = ()
    """Of tiers that fired while it ran, those that failed among them; only our own journals hold any."""
    window: int | None = None
    """Tokens of the next call's window, where the transcript records it before the call is made."""
    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """As in `Filed`. Only for what it adds: most messages are not in it."""
    trailing: Sequence[Record] = ()
    """Records after the last message of `end`."""
    client: str = ""
    """The program that made the calls, where one transcript holds those of several."""
    keeps_instructions: bool = False
    """A proxy forwards its requests: a policy leaves the client's instructions among the messages where they are."""
    states: Sequence[PolicyState] = ()
    """Before each request, and at last after the last record; only our own journals hold any."""
    begins_late: bool = False
    """The file begins in the middle: messages that were sent stand before its first record."""
    typed: Sequence[View] = ()
    """What the user typed, by request, if the file records that and nothing else of the buffers; else empty."""

    def compactions_at(self, at: int) -> list[Compaction]:
        """Return the recorded compactions right before request `at`, in order."""
        return [compaction for compaction in self.compactions if compaction.before_request == at]

    def place(self, at: int | None) -> Request:
        """Return request `at`; for None, or after the last one, the request that would be next."""
        count = len(self.requests)
        return (
            Request(count, self.end, self.prompt)
            if at is None or at >= count
            else self.requests[at]
        )


@dataclass(frozen=True, slots=True)
class SideCall:
    """A call beside the conversation: a title, a token count, the call for a summary, a refusal. No request."""

    kind: str
    """In a word or two: title, quota probe, token count, router, compaction, prewarm, models, refused, ..."""
    thread: str = ""
    """The thread that it was made for; empty where nothing tells."""
    before_request: int = 0
    """Index of that thread's first request after it; == number of requests where there is none."""
    made: int | None = None
    """For a call that compacted: index of the thread's compaction that came of it."""
    what: str = ""
    """Where it went, or why it was refused."""
    model: str = ""
    usage: Usage | None = None
    status: int | None = None
    """Of HTTP; None where there is no answer (yet)."""
    line: int = 0
    time: str = ""


SignKind: TypeAlias = Literal["restart", "tools", "settings"]


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that the file records beside the messages, and after which a client may call in another way: it was
    started again, its tools or its settings changed."""

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
    """The path that opens it: `FILE#ID`, or a separate file; empty while only the reader knows of it."""


@dataclass(frozen=True, slots=True)
class SharedWork:
    """What came along with a session in a bundle."""

    note: str = ""
    """What the sender says about it."""
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
    """The program that wrote it, with its version, as far as the file says."""
    policy: str = ""
    """The policy that it ran with, where the transcript says so: our own journals."""
    id: str = ""
    notes: tuple[str, ...] = field(default=())
    """Sentences a reader should know: a file that begins in the middle, a thread that was redacted."""
    side_calls: Sequence[SideCall] = ()
    """Calls that are requests of no thread, in the order of the file."""
    signs: Sequence[Sign] = ()
    """In the order of the file."""
    held: Sequence[HeldSession] = ()
    """The sessions of a file or folder that holds many, this one among them; empty where it holds one."""
    exchanges: Sequence[ExchangeSummary] = ()
    """What passed a proxy, in the order in which it came; only its recordings and other captures hold any."""
    shared: SharedWork | None = None
    """Set for a session that was read from a bundle."""

    def __post_init__(self) -> None:
        """Number the threads that share an id with an earlier one: an id names one thread, whatever the file says."""
        if len({thread.id for thread in self.threads}) < len(self.threads):
            object.__setattr__(self, "threads", _with_own_ids(self.threads))

    @property
    def shared_pins(self) -> tuple[str, ...]:
        """Return the pins that came along in a bundle."""
        return self.shared.pins if self.shared is not None else ()

    @property
    def begins_late(self) -> bool:
        """Does any thread begin in the middle?"""
        return any(thread.begins_late for thread in self.threads)

    @property
    def main(self) -> Thread:
        """The main thread. An empty one where the file has none."""
        return self.threads[0] if self.threads else Thread("main")

    def thread(self, id: str) -> Thread:  # noqa: A002
        """The thread of that id. Raises KeyError."""
        for thread in self.threads:
            if thread.id == id:
                return thread
        raise KeyError(id)


def _with_own_ids(threads: Iterable[Thread]) -> tuple[Thread, ...]:
    ids = UniqueIds()
    return tuple(replace(thread, id=ids.claim(thread.id)) for thread in threads)


def exchange_places(session: Session) -> Mapping[int, ExchangePlace]:
    """Where each exchange belongs, by the line of its request. O(requests)."""
    subs = {thread.id for thread in session.threads if thread.parent}
    places = {
        exchange.line: ExchangePlace(exchange.thread, None, exchange.kind, exchange.thread in subs)
        for exchange in session.side_calls
    }
    for thread in session.threads:
        is_sub = thread.id in subs
        places.update(
            (request.line, ExchangePlace(thread.id, request.index, "", is_sub))
            for request in thread.requests
        )
    return places


def additions(
    requests: Sequence[Request], seen: set[str] | None = None, former: Request | None = None
) -> Iterator[tuple[Message, ...]]:
    """Yield the messages that each request brings, each message once, recorded summaries left out.

    O(messages) in all, but for a walk over the buffer where a stretch begins.

    Args:
        requests: The requests, in order.
        seen: Ids of the messages that came before them; those that come now are added.
        former: The request before them.
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
    """Return the first request with a buffer before it: the very first if a proxy changed what the client sent."""
    return 0 if thread.requests and thread.requests[0].asked is not None else 1


def compaction_count(thread: Thread) -> int:
    """Count the compactions that a thread records after its beginning.

    Several of one name in front of one request (messages edited one by one) are one. What was compacted before the
    first request is where the file begins, and does not count.
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
    """Seconds between two recorded times; None where one is missing or they do not compare."""
    try:
        return max(
            0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(before)).total_seconds()
        )
    except (ValueError, TypeError):
        return None
