"""Everything that the window shows, as one frozen value. State flows down; intents go up to the Workbench."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from inspector.core.buffer import EMPTY_VIEW, Buffer, View
from inspector.core.errors import InspectorError
from inspector.core.needs import Need
from inspector.core.policies.catalogue import DEFAULT_POLICY
from inspector.core.policies.place import PolicyChoice
from inspector.core.policies.settings import SettingPairs
from inspector.core.session import Request, Session, Thread
from inspector.core.tokens.believing import OwnCounts
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR
from inspector.core.tokens.pressure import Pressures
from inspector.core.tokens.windows import Window
from inspector.workbench.live import ProxyView, ReceiverView, RunView
from inspector.workbench.previews import Preview, Previews
from inspector.workbench.steps import Origin, RecordedBranch, Step, Steps

if TYPE_CHECKING:
    from inspector.core.drops import Drops


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpeningProgress:
    """A transcript that is being opened: `done` of `total` bytes are read."""

    path: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Choices(PolicyChoice):
    """The user's choices for the stepper. With the current place they determine everything else about a step."""

    policy: str = DEFAULT_POLICY
    scale: SettingPairs = ()
    """The settings by which the user moved the product's own lines, while another policy is chosen."""
    answer_by: str = "offline"
    """The answerer of needs: offline, simulated, anthropic, openai, a URL, or `hand` for the user."""
    model: str = ""
    """The model that answers; empty for the session's own model at the current place."""
    policy_loads: int = 0
    """How many times the chosen policy's file was loaded again because it had changed."""
    usual: tuple[str, SettingPairs] | None = None
    """The user's own policy and settings while the open session brings its own (`adopt`); otherwise None."""

    @property
    def usual_policy(self) -> str:
        """Return the policy that the user chose, even if the open session brings its own."""
        return self.policy if self.usual is None else self.usual[0]

    def adopt(self, policy: str, settings: SettingPairs, remote: bool = False) -> "Choices":
        """Use the policy of the open session. The user's own choice is restored with the next session."""
        usual = self.usual or (self.policy, self.settings)
        brings_own = usual != (policy, settings)
        return replace(
            self,
            policy=policy,
            settings=settings,
            remote=remote,
            usual=usual if brings_own else None,
        )

    def for_next_session(self) -> "Choices":
        """Return the choices to use for the next session: the user's own policy with its settings, and the answerer."""
        policy, settings = self.usual or (self.policy, self.settings)
        return Choices(
            policy=policy,
            settings=settings,
            scale=self.scale,
            answer_by=self.answer_by,
            model=self.model,
        )


@dataclass(frozen=True, slots=True)
class PendingNeed:
    """A tier that waits for an answer. `busy`: an answerer is at work; otherwise the user has to answer."""

    tier: str
    need: Need
    number: int
    """Number of the need within the tier, from 1."""
    busy: bool = False
    who: str = ""
    """Name of the answerer while `busy`."""


@dataclass(frozen=True, slots=True)
class PolicyBelief:
    """The chosen policy's own count at every request of the thread (`beliefs`)."""

    key: tuple[object, ...]
    """Everything that the counts depend on: thread, policy, settings."""
    thread: Thread
    tokens: tuple[int, ...] = ()
    """One count per request; empty if it would take too long to compute."""
    end: int | None = None
    """The own count of the buffer after the last record."""
    counts: OwnCounts | None = None
    """The selected estimator's counts at every request."""
    late: dict[object, str] = field(default_factory=dict, compare=False)
    """Sentences about lines that are reached late, by line; cached because they are the same at every request."""


Following: TypeAlias = Literal["", "file", "project"]
"""What is followed while it is written: nothing, the open transcript, or the newest transcript of its project's
folder.
"""


@dataclass(frozen=True, slots=True)
class BufferFilter:
    """A set of messages to which the buffer list is reduced."""

    name: str
    """What the messages have in common, in words."""
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class FoundText:
    """The hits of the search: for each thread, the number of messages by the request that first sent them."""

    text: str
    places: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class State:
    """What is open, and the current place in it. The Workbench computes derived values (`pressures`, `window`)."""

    session: Session | None = None
    opening: OpeningProgress | None = None
    """Set while a transcript is being read; `session` may then already hold its first requests."""
    following: Following = ""
    behind: int = 0
    """Number of requests of the followed session that were read but are not shown yet."""
    failure: str = ""
    """The sentence of the last expected failure; empty after the user has dismissed it."""
    note: str = ""
    """A sentence that is not a failure, for example where steps were kept; empty after the user has read it."""
    thread_id: str = "main"
    at: int | None = None
    """Index of the current request; None: the buffer after the last record."""
    selected: str = ""
    """Id of the selected message, empty for none."""
    pins: tuple[str, ...] = ()
    """Texts of this session that the user pinned."""
    part: tuple[str, ...] = ()
    """The selected part of the buffer, as names in its breakdown from the category down; empty for the whole buffer."""
    among: BufferFilter | None = None
    """The messages that the buffer list shows; None shows all."""
    hits: FoundText | None = None
    """The hits of the search; None without a search."""
    user_window: int | None = None
    """The window that the user chose, in tokens."""
    estimator: str = DEFAULT_ESTIMATOR
    pressures: Pressures | None = None
    """The pressures of the chosen thread."""
    believed: PolicyBelief | None = None
    """The chosen policy's own counts. Until they are computed: None, or counts for other settings."""
    drops: "Drops | None" = None
    """The changes of the chosen thread's buffer other than by appending."""
    window: Window | None = None
    choices: Choices = field(default_factory=Choices)
    trees: Mapping[Origin, Steps] = field(default_factory=lambda: MappingProxyType({}))
    """Trees of steps by the place and policy that they start from."""
    branch: RecordedBranch | None = None
    """The recorded change of the buffer before the current request; None if the buffer only grew."""
    asking: PendingNeed | None = None
    """Set while a tier waits for an answer."""
    previews: Previews | None = None
    """The previews of all tiers at the current place; None until they are requested (`Workbench.previews`)."""
    pointed: str | None = None
    """The tier whose preview the user selected; empty for none; None if the program chooses (`looked_at`)."""
    preview: Preview | None = None
    """The preview that is shown (`looked_at`); None until it is computed."""
    run: RunView | None = None
    """The run of the product's own agent, until the user dismisses it."""
    proxy: ProxyView | None = None
    """The proxy; None while no proxy is running."""
    receiver: ReceiverView | None = None
    """The receiver of spans; None while none is running."""

    def is_open(self, record: str) -> bool:
        """Is `record` the path of the open transcript?"""
        return bool(record) and self.session is not None and self.session.path == record

    @property
    def is_being_read(self) -> bool:
        """Is the open session the beginning of a transcript that is still being read?"""
        return self.opening is not None and self.is_open(self.opening.path)

    @property
    def run_is_open(self) -> bool:
        """Is the journal of the run open?"""
        return self.run is not None and self.is_open(self.run.record)

    @property
    def proxy_is_open(self) -> bool:
        """Is the recording of the proxy open?"""
        return self.proxy is not None and self.is_open(self.proxy.record)

    @property
    def receiver_is_open(self) -> bool:
        """Is the recording of the receiver open?"""
        return self.receiver is not None and self.is_open(self.receiver.record)

    @property
    def waits(self) -> bool:
        """Does a held request or a question of the run wait for the user?"""
        return bool(self.proxy and self.proxy.holds) or (
            self.run is not None and self.run.now.state in ("asking", "needing")
        )

    @property
    def run_steps(self) -> Steps | None:
        """Return the steps taken on the buffer of a paused run; None if there are none."""
        if self.run is None or self.run.now.state != "paused" or not self.run_is_open:
            return None
        steps = self.trees.get((self.run.now.thread, None, self.choices.policy))
        return steps if steps is not None and steps.stepped else None

    @property
    def taken(self) -> Steps | None:
        """Return the steps of the chosen policy that start at the current place; None if the user took none."""
        return self.trees.get((self.thread_id, self.at, self.choices.policy))

    @property
    def steps(self) -> Steps | None:
        """Return the user's steps at the current place, or else the recorded change there; None if there is neither."""
        return self.taken or (self.branch.steps if self.branch is not None else None)

    @property
    def stepped(self) -> bool:
        """Is the shown buffer the result of a step, not the recorded buffer?"""
        steps = self.steps
        return steps is not None and steps.stepped

    @property
    def shown_step(self) -> Step | None:
        """Return the user's step that is shown; None if the recorded buffer, or the recorded change, is shown."""
        steps = self.steps
        if (
            steps is None
            or steps.step is None
            or not steps.stepped
            or steps.step.recorded is not None
        ):
            return None
        return steps.step

    @property
    def stepped_buffer(self) -> Buffer | None:
        """Return the buffer of the shown step, always the same object; None if the recorded buffer is shown."""
        steps = self.steps
        return None if steps is None or not steps.stepped else steps.buffer

    @property
    def place(self) -> int:
        """Return the index of the current request; the number of requests at the end of the thread."""
        thread = self.thread
        if self.at is not None:
            return self.at
        return len(thread.requests) if thread else 0

    @property
    def thread(self) -> Thread | None:
        """Return the chosen thread; None while nothing is open."""
        if self.session is None:
            return None
        return next(
            (thread for thread in self.session.threads if thread.id == self.thread_id),
            self.session.main,
        )

    @property
    def request(self) -> Request | None:
        """Return the current request; None at the end of the thread or while nothing is open."""
        thread = self.thread
        if thread is None or self.at is None or not 0 <= self.at < len(thread.requests):
            return None
        return thread.requests[self.at]

    @property
    def view(self) -> View:
        """Return the recorded messages at the current place."""
        return self.thread.place(self.at).view if self.thread else EMPTY_VIEW

    def buffer(self) -> Buffer:
        """Return the shown buffer: that of the current step, or else the recorded one. O(messages)."""
        steps = self.steps
        return self.recorded() if steps is None else steps.buffer

    def recorded(self) -> Buffer:
        """Return the recorded buffer at the current place, ignoring steps. O(messages)."""
        return self.thread.place(self.at).buffer() if self.thread else Buffer(())

    def move(self, at: int | None) -> "State":
        """Return the State at another request (clamped)."""
        thread = self.thread
        if thread is None or at is None:
            return replace(self, at=None)
        return replace(
            self, at=max(0, min(at, len(thread.requests) - 1)) if thread.requests else None
        )


def newest_message(state: State) -> str:
    """Return the id of the newest message of the recorded buffer; empty if there are no messages."""
    view = state.view
    stretch = view.stretch
    length = view.length
    base = view.stretch.base
    while base is not None and length <= base.length:
        stretch = base.stretch
        base = base.stretch.base
    return stretch.own[length - 1 - (base.length if base else 0)].id if length else ""


def is_message_recorded(state: State) -> bool:
    """Does the transcript hold the selected message? Steps add messages that it does not hold. O(messages)."""
    thread = state.thread
    if thread is None:
        return False
    summaries = (
        compaction.summary for compaction in thread.compactions if compaction.summary is not None
    )
    return any(message.id == state.selected for message in chain(thread.messages, summaries))


class Bench(Protocol):
    """The part of the Workbench that its helpers for intents need."""

    @property
    def state(self) -> State: ...
    def show(self, state: State) -> None: ...
    def select(self, message_id: str) -> None: ...
    def failed(self, sentence: str) -> None: ...
    def work(
        self,
        job: Callable[[], Any],
        done: Callable[[Any], None],
        fell: Callable[[], None] = ...,
        *,
        waits: bool = ...,
        first: bool = ...,
    ) -> Callable[[], object] | None: ...


def attempt(job: Callable[[], T]) -> T | InspectorError:
    """Return the result of a job, or the expected failure that it raises. Any other error is unexpected, and raised."""
    try:
        return job()
    except InspectorError as failure:
        return failure


class Subscribers:
    """Passes every State to all subscribers, in order.

    If a subscriber causes a change, the new State is passed on after all subscribers got the previous one. If a
    subscriber fails, the others still get the State, and its exception is raised at the end. `then` is called after the
    last of them.
    """

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self._callbacks: list[Callable[[State], None]] = []
        self._then = then
        self._telling = False

    def add(self, callback: Callable[[State], None], now: State) -> Callable[[], None]:
        """Call `callback` now and with every later State. Return a function that unsubscribes it."""
        self._callbacks.append(callback)
        callback(now)
        return lambda: self._callbacks.remove(callback)

    def tell(self, newest: Callable[[], State]) -> None:
        """Pass on the newest State, until there is no newer one."""
        if self._telling:
            return  # the running call looks for a newer State when it is done
        self._telling, failures, state = True, list[Exception](), None
        while state is not newest():
            state = newest()
            calls: list[Callable[[], None]] = [
                partial(callback, state) for callback in self._callbacks
            ]
            for call in (*calls, self._then):
                try:
                    call()
                except Exception as failure:  # noqa: BLE001  # raised after all subscribers are informed
                    failures.append(failure)
        self._telling = False
        if failures:
            raise failures[0]
