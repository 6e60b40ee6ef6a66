"""The current status of a run, and what the user wants it to do.

The status is what the window shows besides the journal: everything that lasts is there; only what is on its way is here
(streaming text, what is waited for). The controls are set from any thread, and obeyed by the run's own thread at the
next place where it can. The run asks (`reason`, `next_wish`, `reply`) and waits; nothing is polled. Whatever waits ends
at once with RunStopped when the run is stopped.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Literal, TypeAlias

from inspector.agent.tools.common import Question
from inspector.core.buffer import Buffer
from inspector.core.errors import InspectorError
from inspector.core.message import ToolCall
from inspector.core.needs import Answer, Failure, Need
from inspector.core.policies.verdict import Verdict
from inspector.core.tokens.pressure import Pressure, PressureKind

RunState: TypeAlias = Literal[
    "starting", "calling", "tool", "tier", "paused", "asking", "needing", "ended"
]
"""calling: the model answers; tool: a tool runs; tier: a tier runs; paused: the person may look and change; asking: a
permission is wanted (`permit`); needing: a tier's need is for the person (`answer`); ended: it is over."""
Stop: TypeAlias = Literal[
    "", "by hand", "step", "request", "watermark", "tier", "overflow", "tool", "error"
]
"""What made a run pause."""
End: TypeAlias = Literal["", "done", "error", "stopped", "max turns"]

ANY = "*"
"""Every tier, every tool."""


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """All off by default. They hold in sub-agents as well."""

    requests: bool = False
    """Before every model call."""
    watermark: float | None = None
    """Before a model call whose buffer has come to this share of the window (0.6), once each time it gets there."""
    tiers: frozenset[str] = frozenset()
    """Before one of these tiers fires; ANY = before any."""
    overflow: bool = False
    """When the model has refused the buffer as too long, before the policy reacts."""
    tools: frozenset[str] = frozenset()
    """Before a call of one of these tools; ANY = before any."""
    errors: bool = False
    """When a model call has failed for good. Going on asks again; without it the run ends there."""


Permit: TypeAlias = Literal["once", "always", "no"]


@dataclass(frozen=True, slots=True)
class Permission:
    """A call that wants to be allowed. `what` says exactly what it will do; `id` is of this question alone: those of
    calls may come again."""

    id: str
    call: ToolCall
    what: Question


@dataclass(frozen=True, slots=True)
class TurnReport:
    """A model call that is over, with its tools: a line of `run`."""

    number: int
    """Counts through all threads, from 1."""
    turn: int
    """Of its thread, from 0."""
    thread: str
    reported: int | None
    """Prompt tokens as the provider counted them."""
    estimated: int
    calibrated: int
    """By the policy's own estimator, before the call: raw, and as it believed."""
    expected: Pressure
    """What was said of the prompt before the call."""
    output: int | None
    window: int | None
    fired: tuple[str, ...]
    """Tiers that did something in this turn, in order."""
    tools: tuple[str, ...]
    finish: str
    text: str
    error: str = ""

    @property
    def ratio(self) -> float | None:
        return self.tokens / self.window if self.window else None

    @property
    def tokens(self) -> int:
        """Of the prompt: as reported, else as predicted, else estimated."""
        return (self.expected.tokens or 0) if self.reported is None else self.reported

    @property
    def kind(self) -> PressureKind:
        return self.expected.kind if self.reported is None else "reported"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run at one moment."""

    state: RunState = "starting"
    why: str = ""
    """A sentence for people: why it is paused, what is waited for, when it asks again."""
    stop: Stop = ""
    end: End = ""
    thread: str = "main"
    """The thread at work: main, or the id of the call that started a sub-agent."""
    turn: int = 0
    text: str = ""
    """What the model has said so far in the call that is under way."""
    calls: tuple[ToolCall, ...] = ()
    """Tool calls of the last answer that have not been run yet, the next one first."""
    asked: Permission | None = None
    need: Need | None = None
    """The need that waits for `answer`."""
    verdict: Verdict | None = None
    """The tier that is about to fire, where the run paused for it."""
    buffer: Buffer = field(default_factory=lambda: Buffer(()))
    """What the thread holds now: what `replace` changes."""
    running: Any = None
    """The policy's running state that goes with it."""
    tokens: int = 0
    """Of the buffer: what the next prompt would come to."""
    kind: PressureKind = "unknown"
    believed: int = 0
    """Of the buffer, as the policy reckons: what its tiers go by."""
    window: int | None = None
    error: str = ""
    """The sentence of what went wrong; kept when the run has ended by it."""
    report: TurnReport | None = None
    """The newest turn that is over; its `number` tells whether it was published before."""


Publish: TypeAlias = Callable[[RunStatus], None]
PACE_S = 1 / 30
"""Between two that only have more text."""


class StatusPublisher:
    """Publishes one status after the other, never two at a time; streamed text at a pace for the eye."""

    def __init__(self, publish: Publish, first: RunStatus) -> None:
        self._publish = publish
        self._lock = threading.RLock()
        self.status = first
        self._due = 0.0
        self._pieces: list[str] | None = None

    def publish(self, **changes: Any) -> None:
        """The status has changed in these fields."""
        with self._lock:
            self.status = replace(self.status, **changes)
            self._publish(self.status)

    def begin_text(self) -> Callable[[str], None]:
        """Takes each bit of an answer's text, on whatever thread. Bits that come after `end_text` are dropped."""
        with self._lock:
            pieces: list[str] = []
            self._pieces = pieces

        def hear(piece: str) -> None:
            with self._lock:
                if self._pieces is not pieces:
                    return
                pieces.append(piece)
                if monotonic() >= self._due:
                    self._due = monotonic() + PACE_S
                    self.publish(text="".join(pieces))

        return hear

    def end_text(self) -> None:
        """End the streamed text: the call has ended, and its text is in the buffer or dropped."""
        with self._lock:
            self._pieces = None
            if self.status.text:
                self.status = replace(self.status, text="")


_Mode: TypeAlias = Literal["go", "pause", "model", "tool", "stepped"]
_GOING = ("go", "model", "tool")
NEED = "need"


class RunStopped(Exception):
    """The person has ended the run."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Another buffer for the thread that is paused; `running` None = as it was."""

    buffer: Buffer
    running: Any = None


class Controls:
    """One run's. Every method returns at once, but for those of the run itself, which say so."""

    def __init__(self, breakpoints: Breakpoints) -> None:
        self._changed = threading.Condition()
        self._mode: _Mode = "go"
        self._stopped = False
        self._paused = False
        self._breakpoints = breakpoints
        self._wishes: deque[Replacement] = deque()
        self._asked = ""
        """The question that waits for an answer: the id of a permission, or NEED."""
        self._reply: Permit | Answer | Failure | None = None

    # what the person does

    def go(self) -> None:
        """Run on, to the next breakpoint or to the end."""
        self._set_mode("go")

    def pause(self) -> None:
        """Stop at the next place where one can: before a tier, a model call or a tool call."""
        self._set_mode("pause")

    def step_model(self) -> None:
        """Run on until one model call has been answered."""
        self._set_mode("model")

    def step_tool(self) -> None:
        """Run on until one tool call has its result."""
        self._set_mode("tool")

    def _set_mode(self, mode: _Mode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def stop(self) -> None:
        """End the run now: the model call is cancelled, a running command is killed with its children."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def break_at(self, breakpoints: Breakpoints) -> None:
        """Other breakpoints from now on."""
        with self._changed:
            self._breakpoints = breakpoints

    def permit(self, id: str, how: Permit) -> None:  # noqa: A002
        """Answer the permission of that id; one that is no longer asked for is ignored."""
        with self._changed:
            if id == self._asked:
                self._reply = how
                self._changed.notify_all()

    def replace(self, buffer: Buffer, running: Any = None) -> None:
        """Put another buffer (and running state) into the thread that is paused. Its prompt stays.

        Raises InspectorError if none is paused.
        """
        with self._changed:
            if not self._paused or self._mode in _GOING:
                raise InspectorError("The buffer can be replaced only while the run is paused.")
            self._wishes.append(Replacement(buffer, running))
            self._changed.notify_all()

    def answer(self, reply: Answer | Failure) -> None:
        """Meet the need that is open, or fail it. Raises InspectorError where none is."""
        with self._changed:
            if self._asked != NEED:
                raise InspectorError("The run is not waiting for an answer.")
            self._reply = reply
            self._changed.notify_all()

    # what the run does, on its own thread

    @property
    def breakpoints(self) -> Breakpoints:
        with self._changed:
            return self._breakpoints

    def is_stopped(self) -> bool:
        """For those who cancel what is under way."""
        return self._stopped

    def check(self) -> None:
        """Return at once unless the run is stopped. Raises RunStopped."""
        if self._stopped:
            raise RunStopped

    def reason(self) -> Stop:
        """Does the person want a pause here, and why? Empty = no. Raises RunStopped."""
        with self._changed:
            self.check()
            return {"pause": "by hand", "stepped": "step"}.get(self._mode, "")  # type: ignore[return-value]

    def done(self, what: Literal["model", "tool"]) -> None:
        """A model call was answered, a tool call has its result: a step may be over."""
        with self._changed:
            if self._mode == what:
                self._mode = "stepped"

    def begin_pause(self) -> None:
        """From here on the person may replace."""
        with self._changed:
            if self._mode in _GOING:
                self._mode = "pause"
            self._paused = True

    def next_wish(self) -> Replacement | None:
        """Wait, paused, for another buffer; None = run on. Raises RunStopped."""
        with self._changed:
            while not self._wishes:
                self.check()
                if self._mode in _GOING:
                    self._paused = False
                    return None
                self._changed.wait()
            return self._wishes.popleft()

    def ask(self, question: str) -> None:
        """From here on its answer is listened to. To be called before the status says that it is asked."""
        with self._changed:
            self._asked, self._reply = question, None

    def reply(self) -> Any:
        """Wait for the answer. Raises RunStopped."""
        with self._changed:
            while self._reply is None:
                self.check()
                self._changed.wait()
            reply, self._asked, self._reply = self._reply, "", None
            return reply

    def rest(self, seconds: float) -> None:
        """Wait. Raises RunStopped as soon as the run is stopped."""
        with self._changed:
            self._changed.wait_for(self.is_stopped, seconds)
            self.check()
